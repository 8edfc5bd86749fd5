import io
import signal
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from riemtr.cli.recovery_view import (
    ProgressBars,
    explain_effort,
    explain_fit,
    explain_proof,
    explain_sparsity,
    explain_trust,
    rows_table,
    shared_remarks,
    summary_line,
    summary_panel,
)
from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.recovery import Progress, recover_dictionary

Y = BernoulliGaussian(n=5, p=600, theta=0.2, dictionary=Conditioned(10.0)).draw(0).observations


@pytest.fixture(scope="module")
def found():
    return recover_dictionary(Y, rng=0)


def with_doubts(found, *numbers):
    atoms = [
        replace(atom, doubts=("looks [odd]",)) if number in numbers else atom
        for number, atom in enumerate(found.atoms)
    ]
    return replace(found, atoms=type(found.atoms)(atoms))


def printed(shown):
    console = Console(file=io.StringIO(), width=120)
    console.print(shown)
    return console.file.getvalue().splitlines()


def test_every_row_and_what_is_said_of_it(found):
    lines = printed(rows_table(with_doubts(found, 2)))
    assert len(lines) == 1 + 5
    assert lines[1].split()[-2:] == ["exactly", "sparse"]
    assert "looks [odd]" in lines[3]
    assert [line.split()[4] for line in lines[1:]] == ["yes", "yes", "no", "yes", "yes"]


def test_of_many_rows_the_doubtful_ones_are_shown(found):
    many = replace(found, atoms=type(found.atoms)([*found.atoms] * 3))
    many = with_doubts(many, 13)
    object.__setattr__(many, "coefficients", np.vstack([found.coefficients] * 3))
    lines = printed(rows_table(many))
    assert len(lines) == 1 + 12 + 1 + 1
    assert lines[-2].split()[0] == "13"
    assert "2 more, all trusted" in lines[-1]
    lines = printed(rows_table(with_doubts(many, 13, 14)))
    assert len(lines) == 1 + 12 + 1  # what they share is said once, elsewhere
    assert "3 more, all trusted but those below" in lines[-1]


def test_words_for_all_and_for_some(found):
    assert explain_proof(found).startswith("every row is certified")
    assert explain_trust(found) == "nothing speaks against any row"
    assert "do not rely on row 2 of X" in explain_trust(with_doubts(found, 2))
    assert "do not rely on rows 1, 3 of X" in explain_trust(with_doubts(found, 1, 3))
    assert "do not rely on any row of X" in explain_trust(with_doubts(found, *range(5)))
    zeros = np.mean(found.coefficients == 0)
    assert explain_sparsity(found, Y).endswith(f"{zeros:.0%} of its entries are zero")
    assert "5 solves on the sphere" in explain_effort(found)
    assert summary_line(with_doubts(found, 0)).startswith(
        "5 atoms of 5 numbers: 5 rows certified, 4 trusted, "
    )


def test_without_exact_zeros_nothing_is_called_proved(found):
    noisy = Y + 0.01 * np.random.default_rng(0).standard_normal(Y.shape)
    steep = np.diag([1e3, 1.0, 1.0, 1.0, 1.0]) @ noisy
    for data, warned in ((noisy, False), (steep, True)):
        seen = recover_dictionary(data, rng=0)
        assert seen.trusted
        assert explain_trust(seen).startswith("no row is exactly sparse, so nothing can prove any")
        lines = printed(summary_panel(seen, data, 0.0, "title"))
        assert any("caution" in line for line in lines) is warned
    assert "not that the row is right" in explain_proof(found)


def test_remarks_of_several_rows_are_said_once(found):
    doubted = with_doubts(found, 0, 1, 2, 4)
    assert shared_remarks(doubted) == ["rows 0-2, 4: looks [odd]"]
    assert "looks" not in " ".join(printed(rows_table(doubted)))
    assert shared_remarks(with_doubts(found, 2)) == []


def test_one_is_not_many():
    one = recover_dictionary(Y[:1], rng=0)
    assert summary_line(one).startswith("1 atom of 1 number: 1 row certified")
    assert explain_fit(one, 0.0).startswith("1 atom (the column of A)")


def test_an_offset_is_hinted_at_where_it_may_be_at_fault(found):
    noise = np.random.default_rng(0).standard_normal(Y.shape)
    data = Y + 0.01 * noise + 10.0
    shown = summary_panel(recover_dictionary(data, rng=0), data, 0.0, "title")
    panel = " ".join(" ".join(printed(shown)).replace("│", " ").split())
    assert "try --center" in panel
    assert "hint" not in "\n".join(printed(summary_panel(found, Y, 0.0, "title")))


def test_ctrl_c_ends_the_run_at_the_next_row():
    bars = ProgressBars(Console(file=io.StringIO()))
    row = Progress("solve", 1, 5, 0, 0.1)
    with bars.shown():
        bars(row)
        signal.raise_signal(signal.SIGINT)  # is caught
        with pytest.raises(KeyboardInterrupt):
            bars(row)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)  # the second one is not
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
