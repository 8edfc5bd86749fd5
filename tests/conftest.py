"""Settings for all tests: the same examples in every run, no pictures on a screen."""

from __future__ import annotations

import matplotlib
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
