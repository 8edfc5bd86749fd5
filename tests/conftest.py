"""Settings for all tests: the same examples in every run, no pictures on a screen."""

from __future__ import annotations

import signal

import matplotlib
import pytest
from hypothesis import settings

matplotlib.use("Agg")
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a job in the background, to which Ctrl-C does not get; some tests send it themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def window(monkeypatch):
    """A window of the usual size, whatever terminal pytest runs in: commands fold their lines."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")


@pytest.fixture
def chunks_as_they_come(monkeypatch):
    """Dask in this thread, and a block for every chunk, however small."""
    import dask

    monkeypatch.setattr("riemtr.data.dask_arrays._JOINED", 0)
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def visits(monkeypatch):
    """Names of the functions sent to the blocks of partitioned data, in order."""
    from riemtr.data.dask_arrays import Partitioned

    seen = []

    def counted(self, function, *arguments, **options):
        seen.append(function.__name__)
        return original(self, function, *arguments, **options)

    original = Partitioned.total
    monkeypatch.setattr(Partitioned, "total", counted)
    return seen
