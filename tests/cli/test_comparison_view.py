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


@pytest.mark.parametrize("width", [60, 100])
def test_a_long_name_is_folded_and_no_figure_is_lost(width):
    name = "my_package.my_module:a_solver_with_a_long_name"
    text = printed(comparison(run(name, 0, 10)), width)
    assert name not in text
    assert "".join(line.split(" ")[0] for line in text.splitlines()[3:8]).startswith(name[:30])
    assert "200 ms" in text
    assert max(map(len, text.splitlines())) <= width


def test_one_line_for_all():
    assert summary_line(example()) == "certified: fast 2/3 (1 deceived), slow 3/3"


def test_the_bar_says_who_ran():
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    with ProgressBar(console).shown() as bar:
        bar(run("[fast]", 0, 10), 1, 4)
    assert "easy, [fast]" in console.file.getvalue()
    assert "1/4" in console.file.getvalue()
