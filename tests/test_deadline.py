import signal
import threading
import time

import pytest

from riemtr.interrupts import OutOfTime, deadline


def test_code_that_never_ends_is_ended():
    def forever():
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                continue

    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(OutOfTime), deadline(0.02):
        forever()
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_code_that_ends_is_left_alone():
    with deadline(60.0):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_an_alarm_while_it_is_taken_back_does_no_harm(monkeypatch):
    real = signal.setitimer

    def ringing(which, seconds, interval=0.0):
        if seconds == 0.0:  # the alarm goes off just before it is taken back
            signal.getsignal(signal.SIGALRM)(signal.SIGALRM, None)
        return real(which, seconds, interval)

    before = signal.getsignal(signal.SIGALRM)
    monkeypatch.setattr(signal, "setitimer", ringing)
    with deadline(60.0):
        pass
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_without_alarms_nothing_happens():
    ended = []

    def work():
        with deadline(0.0):
            ended.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ended == [True]
    with deadline(float("inf")):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
