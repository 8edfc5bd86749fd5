"""How far long work is: one record for everybody, and a display that fits where it is shown."""

import io
import sys
from types import SimpleNamespace

import pytest
from rich.console import Console

import riemtr
from riemtr import progress
from riemtr.compare import compare
from riemtr.progress import Progress, bars, duration, watching
from riemtr.sweep import sweep
from tests.sweep.tasks import draw


def show(records):
    with watching(True) as watch:
        for record in records:
            watch(record)


def test_a_function_gets_every_record_and_nobody_gets_any():
    seen = []
    record = Progress("solve", 1, 2, 0.5)
    with watching(seen.append) as watch:
        watch(record)
    with watching(False) as watch:
        watch(record)
    assert seen == [record]


def test_in_a_file_it_is_a_few_lines_without_codes(capsys):
    show(Progress("round", done, 100, 0.5 * done, "last") for done in range(101))
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 11  # the beginning, and each tenth
    assert not any("\r" in line or "\x1b" in line for line in lines)
    assert lines[5] == "round [############            ] 50/100, 25.0 s, about 25 s left, last"
    assert lines[-1].endswith("] 100/100, 50.0 s, last")


def test_stages_of_unknown_length_say_something_now_and_then(capsys):
    show(Progress("unmix", number, None, 0.5 * number) for number in range(41))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("] ")[1] for line in lines] == [
        "0, 0.0 s",
        "10, 5.0 s",
        "20, 10.0 s",
        "30, 15.0 s",
        "40, 20.0 s",
    ]


def test_in_a_terminal_without_rich_it_is_the_same_lines(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    show([Progress("round", 1, 2, 0.5), Progress("round", 2, 2, 1.0, "again")])
    first, second = capsys.readouterr().err.splitlines()
    assert "1/2, 0.5 s" in first
    assert "2/2, 1.0 s, again" in second


def test_in_a_terminal_there_is_a_bar_for_each_stage():
    screen = io.StringIO()
    with bars(Console(file=screen, width=100)) as watch:
        watch(Progress("solve", 0, 10, 0.0))
        watch(Progress("solve", 5, 10, 1.0, "[red]row"))
        watch(Progress("unmix", 3, None, 1.0))
    first, second = screen.getvalue().splitlines()
    assert first.startswith("solve")
    assert "5/10" in first
    assert "about 1 s left [red]row" in first
    assert second.startswith("unmix")


def test_bars_are_gone_after_an_error():
    screen = io.StringIO()

    def fail():
        with bars(Console(file=screen)) as watch:
            watch(Progress("solve", 5, 10, 1.0))
            raise ValueError

    with pytest.raises(ValueError, match=r"^$"):
        fail()
    assert "solve" not in screen.getvalue()


def test_in_a_notebook_it_is_a_line_that_is_updated(monkeypatch):
    published = []
    display = SimpleNamespace(publish=lambda data, **state: published.append((data, state)))
    shell = SimpleNamespace(kernel=None, display_pub=display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    show(Progress("runs", done, 3, 1.0 * done) for done in range(4))
    assert [state["update"] for _, state in published] == [False, True, True, True]
    assert len({state["transient"]["display_id"] for _, state in published}) == 1
    assert "3/3, 3.0 s" in published[-1][0]["text/plain"]


def test_names_do_not_command_the_terminal(capsys):
    show([Progress("a\x1b[31m", 1, 2, 0.5, "b\x07")])
    assert not set("\x1b\x07") & set(capsys.readouterr().err)


@pytest.mark.parametrize(
    "run",
    [
        lambda watch: riemtr.recover_dictionary(
            riemtr.data.BernoulliGaussian(n=4, p=400, theta=0.2).draw(0).observations,
            rng=0,
            progress=watch,
        ),
        lambda watch: compare(
            ("rayleigh", {"n": 4}), "practical", starts=1, saddles=0, progress=watch
        ),
        lambda watch: sweep(draw, {"n": [1, 2]}, progress=watch),
    ],
)
def test_everything_reports_the_same_way(run, capsys):
    seen = []
    run(seen.append)
    assert all(isinstance(now, Progress) for now in seen)
    assert seen[-1].done == seen[-1].total
    assert [now.seconds for now in seen] == sorted(now.seconds for now in seen)
    run(True)
    assert seen[-1].stage in capsys.readouterr().err


def test_times_are_as_precise_as_estimates_are():
    assert [duration(seconds) for seconds in (0.0, 89, 91, 5399, 5401)] == [
        *("1 s", "89 s", "2 min", "90 min", "1.5 h")
    ]
