"""Settings for all tests: the same examples in every run, no pictures on a screen."""

from __future__ import annotations

import signal

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a job in the background, to which Ctrl-C does not get; some tests send it themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
