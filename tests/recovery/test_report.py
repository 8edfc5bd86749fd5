"""What people see of a recovery: tables, verdicts, progress."""

from dataclasses import replace

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.recovery import Atom, Rounding, Solve, recover_dictionary


def draw(n, p=1000):
    return BernoulliGaussian(n=n, p=p, theta=0.2, dictionary=Conditioned(10.0)).draw(0)


def atom(gap=0.0, exact=True, doubts=()):
    q = np.array([1.0, 0.0])
    rounding = None if gap is None else Rounding(q, q, 1.0, gap, np.empty(0), 1, "test")
    return Atom(Solve(q, 2, 0.0, 0.0, 1, 0.0, True, "fine"), rounding, q, 9, exact, 0, doubts)


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (atom(), "exactly sparse, certified"),
        (atom(gap=1e-3), "exactly sparse"),
        (atom(exact=False), "certified"),
        (atom(gap=None, exact=False), "not rounded"),
        (atom(doubts=("this", "that")), "doubtful: this; that"),
    ],
)
def test_verdicts_say_what_is_proved(found, verdict):
    assert found.verdict == verdict
    assert verdict in repr(found)
    assert found.trusted == (not found.doubts)
    assert found.certified == (found.rounding is not None and found.rounding.duality_gap <= 1e-9)


def test_report_and_progress(capsys):
    Y = draw(15, p=1500).observations
    seen = []
    found = recover_dictionary(Y, rng=0, progress=seen.append)
    stages = [s.stage for s in seen]
    assert list(dict.fromkeys(stages)) == [
        "precondition",
        "solve",
        "round",
        "inspect",
        "unmix",
        "report",
    ]
    assert stages[2:17] == ["solve"] * 15
    assert (seen[31].stage, seen[31].done, seen[31].total) == ("round", 15, 15)
    assert (seen[-1].stage, seen[-1].done, seen[-1].total) == ("report", 1, 1)
    text, page = repr(found), found._repr_html_()
    for part in ("15 x 15, from 1500 samples", "15 of 15", "exactly sparse", "3 more"):
        assert part in text
        assert part in page
    assert found.objective == pytest.approx(np.abs(found.coefficients).sum())
    assert "certified" in repr(found.atoms[0])
    assert capsys.readouterr() == ("", "")
    recover_dictionary(Y[:3, :50], rng=0, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "solve" in err
    assert "3/3" in err


def test_a_dictionary_without_exact_rows_is_not_praised():
    found = recover_dictionary(np.random.default_rng(0).laplace(size=(6, 4000)), rng=0)
    assert found.certified
    assert "none is exactly sparse, so nothing can prove any" in repr(found)
    assert "none is exactly sparse" not in repr(recover_dictionary(draw(4).observations, rng=0))


def test_where_no_row_is_to_be_trusted_it_says_none():
    noise = np.random.default_rng(0).standard_normal((4, 400))
    assert "trust:           none: " in repr(recover_dictionary(noise, rng=0))


def test_an_offset_is_hinted_at_unless_rows_have_zeros_to_lose():
    Y = BernoulliGaussian(n=5, p=1000, theta=0.2, noise=0.01).draw(0).observations
    offset = recover_dictionary(Y + 10.0, rng=0)
    mean = (Y + 10.0).mean(axis=1)
    expected = Y.shape[1] * (mean @ mean) / np.sum((Y + 10.0) ** 2)
    assert offset.mean_share == pytest.approx(expected, rel=1e-9)
    assert offset.off_centre
    assert f"mean is {expected:.0%} of the sum of squares" in repr(offset)
    assert "hint" in offset._repr_html_()
    assert not recover_dictionary(Y, rng=0).off_centre
    sparse = replace(recover_dictionary(draw(5).observations, rng=0), mean_share=0.9)
    assert not sparse.off_centre
    assert "hint" not in repr(sparse)


def test_doubts_of_many_rows_are_said_once():
    found = recover_dictionary(np.random.default_rng(0).standard_normal((15, 2000)), rng=0)
    [rows] = found.doubts.values()
    assert rows == list(range(15))
    for shown in (repr(found), found._repr_html_()):
        assert shown.count("no sparser than noise") == 1
        assert "rows 0-14: no more zeros" in shown
    assert "0   0.7%" in repr(found)
    assert "... 3 more in .atoms" in repr(found)
