"""Time that can be paused."""

from riemtr.solvers import stopwatch


def test_pauses_do_not_count(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: now[0])
    watch = stopwatch.Stopwatch()
    now[0] += 2.0
    assert watch.seconds == 2.0
    with watch.paused():
        now[0] += 5.0
    assert watch.seconds == 2.0
    now[0] += 1.0
    assert watch.seconds == 3.0
