import io

import pytest
from rich.console import Console

from riemtr.cli.comparison_view import ProgressBar, comparison_table, summary_line
from riemtr.compare.legend import legend
from tests.compare.made_up import comparison, example, run


def printed(found, width):
    console = Console(file=io.StringIO(), width=width)
    console.print(comparison_table(found, width))
    return console.file.getvalue()


def test_the_table_has_the_blocks_and_the_legend():
    text = printed(example(), 120)
    lines = [line.split() for line in text.splitlines()]
    assert ["easy,", "2", "random", "starts"] in lines
    assert ["fast", "2/2", "2/2", "200", "ms", "20", "100", "ms"] in lines
    assert all(sentence.split()[0] in text for sentence in legend(example()))


NAME = "my_package.my_module:a_solver_with_a_long_name"


def test_a_long_name_is_folded_and_no_figure_is_lost():
    text = printed(comparison(run(NAME, 0, 10)), 100)
    assert NAME not in text
    assert "".join(line.split(" ")[0] for line in text.splitlines()[3:8]).startswith(NAME[:30])
    assert "200 ms" in text
    assert max(map(len, text.splitlines())) <= 100


def test_in_a_narrow_window_names_stand_above_the_figures_and_nothing_is_cut():
    late = run(NAME, 1, 10, outcome="timed out")
    text = printed(comparison(run(NAME, 0, 10), late, run("pymanopt-tr", 0, 10)), 60)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[0] == "solver  otherwise"
    assert lines[1].split("  ")[-2:] == ["calls", "to 1e-06"]
    assert f"{NAME}  1 timed out" in lines
    below = lines[lines.index("pymanopt-tr") + 1]
    assert below.split() == ["1/1", "1/1", "200", "ms", "20", "100", "ms"]
    assert all(len(lines[place]) == len(lines[1]) for place in range(5, 8, 2))


def test_what_does_not_fit_at_all_is_said():
    text = printed(comparison(run("a", 0, 10)), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert "not shown, for want of room: calls, to 1e-06; widen the window" in " ".join(
        text.split()
    )


def test_one_line_for_all():
    assert summary_line(example()) == (
        "certified: fast 2/3 (1 “converged” at a saddle point), slow 3/3"
    )


def test_after_an_error_the_bar_is_gone():
    console = Console(file=io.StringIO(), width=100, color_system=None)
    with pytest.raises(ValueError), ProgressBar(console).shown():
        raise ValueError
    assert "preparing" not in console.file.getvalue()


def test_the_bar_says_who_ran():
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    with ProgressBar(console).shown() as bar:
        bar(run("[fast]", 0, 10), 1, 4)
    assert "easy, [fast]" in console.file.getvalue()
    assert "1/4" in console.file.getvalue()
