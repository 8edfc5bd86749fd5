"""The clock of a run."""

from __future__ import annotations

import time

from riemtr.problem import Clock


def test_time_passes_but_for_pauses():
    clock = Clock()
    time.sleep(0.01)
    before = clock.seconds
    assert before >= 0.01
    with clock.paused():
        time.sleep(0.05)
    assert before <= clock.seconds < before + 0.04


def test_a_limit_and_none():
    assert Clock(0.0).expired
    assert not Clock(1e3).expired
    assert not Clock().expired
