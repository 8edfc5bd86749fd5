"""What people see of a recovery: tables, verdicts, progress."""

from dataclasses import replace

import numpy as np
import pytest

from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.recovery import Atom, Rounding, Solve, recover_dictionary

# As recover_dictionary documents them.
STAGES = {"precondition", "solve", "probe", "round", "inspect", "polish", "unmix", "starts"} | {
    "refine",
    "report",
}


def draw(n, p=1000):
    return BernoulliGaussian(n=n, p=p, theta=0.2, dictionary=Conditioned(10.0)).draw(0)


def atom(gap=0.0, exact=True, doubts=(), **evidence):
    q = np.array([1.0, 0.0])
    rounding = None if gap is None else Rounding(q, q, 1.0, gap, np.empty(0), 1, "test")
    solve = Solve(q, 2, 0.0, 0.0, 1, 0.0, True, "fine")
    return Atom(solve, rounding, q, 9, exact, 0, doubts, **evidence)


@pytest.mark.parametrize(
    ("found", "verdict", "remark"),
    [
        (atom(), "proved", "exactly sparse"),
        (atom(gap=None), "proved", "exactly sparse"),
        (atom(unproved="few values", starts=3, came_back=2), "plausible", "exactly sparse, 3 st"),
        (atom(gap=None, exact=False, standard_error=2e-3), "plausible", "standard error 2.0e-03"),
        (atom(doubts=("this", "that")), "doubtful", "this; that"),
        (atom(exact=False, doubts=("this",)), "doubtful", "this"),
    ],
)
def test_verdicts_say_how_far_a_row_is_known(found, verdict, remark):
    assert found.verdict == verdict
    assert remark in found.remark
    assert verdict in repr(found)
    assert remark in repr(found)
    assert found.trusted == (verdict != "doubtful")
    assert found.certified == (found.rounding is not None and found.rounding.duality_gap <= 1e-9)


def test_report_and_progress(capsys):
    Y = draw(15, p=1500).observations
    seen = []
    found = recover_dictionary(Y, rng=0, progress=seen.append)
    stages = list(dict.fromkeys(each.stage for each in seen))
    assert stages[:2] == ["precondition", "solve"]
    assert stages[-1] == "report"
    assert {"inspect", "unmix"} < set(stages) <= STAGES
    solves = [each for each in seen if each.stage == "solve"]
    assert (solves[-1].done, solves[-1].total) == (15, 15)
    assert (seen[-1].stage, seen[-1].done) == ("report", seen[-1].total)
    assert [each.seconds for each in seen] == sorted(each.seconds for each in seen)
    text, page = repr(found), found._repr_html_()
    for part in ("15 x 15, from 1500 samples", "15 of 15", "15 proved", "exactly sparse", "3 more"):
        assert part in text
        assert part in page
    assert found.objective == pytest.approx(np.abs(found.coefficients).sum())
    assert "proved" in repr(found.atoms[0])
    assert capsys.readouterr() == ("", "")
    recover_dictionary(Y[:3, :50], rng=0, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "solve" in err
    assert "3/3" in err


def test_rows_are_counted_by_verdict():
    found = recover_dictionary(draw(4).observations, rng=0)
    assert [found.count(each) for each in ("proved", "plausible", "doubtful")] == [4, 0, 0]
    mixed = replace(found, atoms=(*found.atoms[:3], replace(found.atoms[3], doubts=("why",))))
    assert [mixed.count(each) for each in ("proved", "plausible", "doubtful")] == [3, 0, 1]
    assert not mixed.trusted
    assert mixed.doubts == {"why": [3]}
    assert "3 proved, 1 doubtful" in repr(mixed)
    assert "all rows but 3" in repr(mixed)


def test_plausible_rows_are_called_estimates_with_their_standard_errors():
    sample = BernoulliGaussian(n=5, p=8000, theta=0.2, noise=0.02).draw(0)
    found = recover_dictionary(sample.observations, rng=0)
    assert found.trusted
    assert found.count("plausible") == 5
    text = repr(found)
    assert "estimates that nothing proves" in text
    assert f"{np.median(found.standard_errors):.2%}" in text
    assert found.refined in text
    assert "estimates" not in repr(recover_dictionary(draw(4).observations, rng=0))


def test_a_certificate_is_said_to_be_about_the_linear_program_only():
    found = recover_dictionary(np.random.default_rng(0).laplace(size=(6, 1000)), rng=0, refine=None)
    assert found.certified
    assert "not that the row is right" in repr(found)


def test_where_no_row_is_to_be_trusted_it_says_none():
    noise = np.random.default_rng(0).standard_normal((4, 400))
    pairs = dict(recover_dictionary(noise, rng=0).summary().pairs)
    assert pairs["trust"].startswith("none: ")


def test_it_is_said_what_the_mean_holds_and_what_was_done():
    Y = draw(5, p=2000).observations
    found = recover_dictionary(Y + 10.0, rng=0)
    size, share = np.linalg.norm(found.offset), found.mean_share
    assert f"recovered along, of length {size:.3g}; the mean of the samples holds {share:.1%}" in (
        repr(found)
    )
    assert "offset" not in repr(recover_dictionary(Y, rng=0))
    plain = recover_dictionary(Y + 10.0, rng=0, offset=False)
    assert f"none was looked for; the mean of the samples holds {share:.1%}" in repr(plain)
    dense = np.random.default_rng(0).laplace(size=(4, 2000)) + 10.0
    found = recover_dictionary(dense, rng=0)
    np.testing.assert_allclose(found.offset, dense.mean(axis=1), rtol=1e-12)
    assert f"the mean of the samples, of length {np.linalg.norm(found.offset):.3g}" in repr(found)
    positive = recover_dictionary(np.abs(draw(5, p=2000).coefficients), rng=0)
    assert positive.offset is None
    assert "none: rows are exactly sparse without one" in repr(positive)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e200])
@pytest.mark.parametrize("offset", ["auto", True, False])
def test_the_share_of_the_mean_is_that_of_the_data_in_any_unit(offset, unit):
    """Not that of data with a row of ones below."""
    Y = draw(5, p=2000).observations + 10.0
    found = recover_dictionary(unit * Y, rng=0, offset=offset)
    mean = Y.mean(axis=1)
    expected = Y.shape[1] * (mean @ mean) / np.sum(Y**2)
    assert found.mean_share == pytest.approx(expected, rel=1e-9)


def test_doubts_of_many_rows_are_said_once():
    noise = np.random.default_rng(0).standard_normal((15, 2000))
    found = recover_dictionary(noise, rng=0, refine=None)
    words = [doubt for doubt in found.doubts if "no sparser than noise" in doubt]
    [rows] = [found.doubts[each] for each in words]
    assert rows == list(range(15))
    for shown in (repr(found), found._repr_html_()):
        assert shown.count("no sparser than noise") == 1
        assert "rows 0-14: no more zeros" in shown
    assert "0.7%" in repr(found)
    assert "... 3 more in .atoms" in repr(found)


# --- new samples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("precondition", [True, False])
def test_samples_left_out_are_encoded_as_if_they_had_been_there(condition, precondition):
    model = BernoulliGaussian(n=6, p=1000, theta=0.2, dictionary=Conditioned(condition))
    if not precondition:
        model = BernoulliGaussian(n=6, p=1000, theta=0.2)
    Y = model.draw(0).observations
    known = recover_dictionary(Y[:, :800], rng=0, precondition=precondition)
    X = known.encoder.encode(Y)
    np.testing.assert_array_equal(X[:, :800] == 0, known.coefficients == 0)
    np.testing.assert_allclose(known.dictionary @ X, Y, atol=1e-8 * np.abs(Y).max())
    assert np.mean(X[:, 800:] == 0) == pytest.approx(0.8, abs=0.05)


def test_samples_of_lower_precision_have_zeros_too():
    Y = BernoulliGaussian(n=6, p=1000, theta=0.2).draw(0).observations
    found = recover_dictionary(Y, rng=0)
    narrow = found.encoder.encode(Y.astype(np.float32))
    np.testing.assert_array_equal(narrow == 0, found.coefficients == 0)


def test_samples_are_encoded_less_the_offset():
    sample = BernoulliGaussian(n=6, p=1500, theta=0.2, dictionary=Conditioned(5.0)).draw(0)
    Y = sample.observations + np.arange(6.0)[:, None]
    found = recover_dictionary(Y[:, :1200], rng=0, offset=True)
    X = found.encoder.encode(Y)
    assert X.shape == (6, 1500)
    np.testing.assert_array_equal(X[:, :1200] == 0, found.coefficients == 0)
    back = found.dictionary @ X + found.offset[:, None]
    np.testing.assert_allclose(back, Y, atol=1e-10)
    plain = found.unmixing @ (Y - found.offset[:, None])
    np.testing.assert_allclose(plain, X, atol=1e-10)
    np.testing.assert_allclose(found.unmixing @ found.dictionary, np.eye(6), atol=1e-10)
