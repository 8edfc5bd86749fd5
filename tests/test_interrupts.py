import os
import signal
import subprocess
import sys
import threading

import pytest

from riemtr.interrupts import (
    interrupts_deferred,
    interrupts_ignored,
    interrupts_insisted_on,
    interrupts_noticed,
)

CHILD = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('unharmed')"


def press():
    os.kill(os.getpid(), signal.SIGINT)


def child():
    run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True)
    return run.stdout + run.stderr


@pytest.fixture(autouse=True)
def handler_is_put_back():
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_an_interrupt_that_was_swallowed_is_noticed():
    with interrupts_noticed() as interrupted:
        assert not interrupted()
        with pytest.raises(KeyboardInterrupt):
            press()
        assert interrupted()


def test_ignored_here_and_in_children():
    with interrupts_ignored():
        press()
        assert child() == "unharmed\n"


def test_deferred_here_and_ignored_in_children():
    done = []

    def started():
        with interrupts_deferred():
            press()
            done.append(child())

    # Another thread lets the signal in even while this one blocks it.
    stop = threading.Event()
    threading.Thread(target=stop.wait, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        started()
    stop.set()
    assert done == ["unharmed\n"]
    with interrupts_deferred():
        done.append("nothing happened")
    assert len(done) == 2


@pytest.mark.parametrize("manager", [interrupts_noticed, interrupts_ignored, interrupts_deferred])
def test_other_threads_may_not_change_signals_and_need_not(manager):
    entered = []

    def run():
        with manager():
            entered.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert entered == [signal.default_int_handler]


def make_of_it(error):
    try:
        press()
    except KeyboardInterrupt:
        if error is not None:
            raise error from None


@pytest.mark.parametrize("error", [None, RuntimeError, SystemExit])
def test_what_was_made_of_ctrl_c_is_undone(error):
    with pytest.raises(KeyboardInterrupt), interrupts_insisted_on():
        make_of_it(error)


def test_without_ctrl_c_nothing_is_raised_and_errors_are_what_they_are():
    with interrupts_insisted_on():
        pass
    with pytest.raises(RuntimeError), interrupts_insisted_on():
        raise RuntimeError
