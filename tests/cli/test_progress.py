import signal

import pytest

from riemtr.cli.console import shown, stopping_at_the_next
from riemtr.progress import Progress


def test_bars_say_how_far_it_is_in_words(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "150")
    with shown(True) as watch:
        watch(Progress("solve", 5, 5, 1.0))
        watch(Progress("round", 2, 2, 1.0, "again, attempt 1"))
        watch(Progress("runs", 1, 4, 1.0, "easy, [fast]\x1b[31m"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("finding sparse directions")
    assert "again, attempt 1" in lines[1]
    assert "1/4" in lines[2]
    assert "easy, [fast]\ufffd[31m" in lines[2]


def test_nothing_is_shown_where_nothing_is_wanted(capsys):
    with shown(False) as watch:
        watch(Progress("runs", 1, 4, 1.0))
    assert capsys.readouterr().out == ""


def test_ctrl_c_ends_the_run_at_the_next_row():
    seen = []
    with stopping_at_the_next("row") as watching:
        watch = watching(seen.append)
        watch(1)
        signal.raise_signal(signal.SIGINT)  # is caught
        with pytest.raises(KeyboardInterrupt):
            watch(2)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # the second one is not
    assert seen == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
