"""Every inequality of the analysis at a thousand points or more: where it holds, and where not.

The dictionary is the identity, orthogonal, or complete and preconditioned.
"""

from __future__ import annotations

import numpy as np
import pytest

import riemtr
from riemtr.errors import ArgumentError
from riemtr.paper.chart import OUTER_RADIUS, frame_of, in_region, local
from riemtr.paper.checks import constants_of, minimizer_near
from riemtr.theory import check

CURVATURE = ("eqn:curvature-uni-orth", "eqn:curvature-uni-comp")


@pytest.fixture(scope="module")
def checks(make):
    """The inequalities for each kind of dictionary, checked once."""
    kinds = ("identity", "orthogonal", "preconditioned")
    return {kind: check(make(kind, p=2000), points=1000, rng=0) for kind in kinds}


def test_a_thousand_points_and_more(checks, kind):
    found = checks[kind].found
    assert len(found) == 22
    assert all(each.observed.size == each.lengths.size >= 1000 for each in found)
    assert all(np.isfinite(each.observed).all() for each in found)


@pytest.mark.parametrize("dictionary", ["identity", "orthogonal"])
def test_all_but_the_curvature_of_region_three_hold_for_orthogonal_dictionaries(checks, dictionary):
    failing = checks[dictionary].failing
    assert [each.label for each in failing] == [CURVATURE[0]]
    # In the mean it fails for every direction up to sqrt(theta) concave_from, and for none from
    # concave_from on; between the two it depends on the direction. Samples blur both ends.
    (curvature,) = failing
    constants = checks[dictionary].constants
    near = curvature.lengths < np.sqrt(constants.theta) * constants.concave_from
    far = curvature.lengths > constants.concave_from
    assert curvature.fails[near].mean() >= 0.95
    assert curvature.fails[far].mean() <= 0.03
    assert curvature.worst < 0.0


def test_preconditioned_data_fail_where_their_perturbation_is_too_large(checks):
    found = checks["preconditioned"]
    assert not {said: met for said, _, met in found.constants.hypotheses}[
        f"|Xi| at most {found.constants.Xi_largest:.3g} "
        f"(lem:pert_key_mag: {found.constants.Xi:.3g})"
    ]
    allowed = {*CURVATURE, "eqn:grad-uni-comp"}
    assert {each.label for each in found.failing} <= allowed
    for each in found["eqn:grad-uni-comp"]:
        # The minimizer is off the atom by about the perturbation: beyond, the gradient is large.
        assert not each.fails[each.lengths > found.perturbation].any()


def test_smoothness_decrease_and_convergence_hold_for_every_dictionary(checks, kind):
    for label in (
        "eq:main_obj",
        "lem:mag_lip_fq",
        "lem:TRM-lemma-iii",
        "lem:rie_hess_lip",
        "lem:alg_approx_bd2",
        "prop:lip-gradient",
        "prop:lip-hessian-negative",
        "prop:lip-hessian-zero",
        "lem:alg_gradient_lb",
        "eqn:TRM-lemma-iii-4",
        "eqn:TRM-decrease-d-i",
        "eq:alg_thm_r23_dec",
        "lem:TR-step",
        "lem:TR-grad-opt",
        "lem:alg_strcvx_lb",
    ):
        assert checks[kind][label], label
        assert all(each.holds for each in checks[kind][label]), label


def test_measured_constants_are_sharper_and_still_bound_what_was_seen(checks, kind):
    bounds, measured = checks[kind].constants, checks[kind].measured()
    assert measured.eta_f < 1e-2 * bounds.eta_f
    assert measured.largest_radius > 1e3 * bounds.largest_radius
    assert measured.iterations() < 1e-10 * bounds.iterations()
    assert measured.m_H > bounds.m_H
    assert measured.beta_concave == bounds.beta_concave, "its inequality fails, so it stays"


def test_the_table_says_where_an_inequality_fails(checks):
    text = repr(checks["identity"])
    assert "region III: none" in text
    assert f"({CURVATURE[0]}) fails at |w| from" in text
    assert "p = 2e+03 at least" in text
    assert "eqn:grad-uni-orth" in checks["identity"]._repr_html_()
    assert checks["identity"].c_star["region I"] > 0.3


def test_with_smaller_smoothing_and_more_samples_the_curvature_is_negative(make):
    shares = []
    for p in (3_000, 40_000):
        case = make("identity", n=3, p=p, theta=0.3, mu=1e-3)
        frame, rng = frame_of(case), np.random.default_rng(0)
        bounds = constants_of(case, frame)
        assert bounds.concave_from <= OUTER_RADIUS
        found = [local(frame, in_region(frame, 2, rng)).radial_curvature for _ in range(1000)]
        shares.append(np.mean(np.array(found) <= -bounds.beta_concave))
    assert shares[0] < shares[1]
    assert shares[1] >= 0.99


def test_the_wrong_constants_are_found_out(make):
    # Bounds of data that are ten times smaller: the check must see that they fail.
    case = make("identity", p=500)
    bounds = riemtr.theory.dictionary_constants(5, 0.2, 0.02, 500, largest_entry=0.05)
    failing = {each.label for each in check(case, bounds, points=50).failing}
    assert {"eq:main_obj", "lem:mag_lip_fq", "lem:TRM-lemma-iii"} <= failing


def test_constants_of_another_dimension_are_refused(make):
    other = riemtr.theory.dictionary_constants(7, 0.2, 0.02, 500)
    with pytest.raises(ArgumentError, match="constants must be those of dimension 5"):
        check(make("identity", p=300), other)
    with pytest.raises(ArgumentError, match="constants must be those"):
        check(make("identity", p=300), 3)


def test_without_a_region_two_there_is_nothing_to_check(make):
    with pytest.raises(ArgumentError, match=r"mu below 0\.1265"):
        check(make("identity", p=300, mu=0.2))


def test_minimizers_are_as_near_to_the_atoms_as_the_theorem_says(make):
    # A thousand minimizers of 200 draws; |w| <= mu / 16 (thm:geometry_orth).
    inside = []
    for seed in range(200):
        case = make("identity", p=1000, mu=0.04, seed=seed)
        frame = frame_of(case)
        for number in range(5):
            chart = frame.chart(number)
            q = minimizer_near(frame, chart.atom)
            assert np.linalg.norm(local(frame, q).gradient) < 1e-12
            inside.append(np.linalg.norm(chart.w(q)) <= 0.04 / 16.0)
    # It needs p of 2e6 here, of which there are 1000: the rest is sampling, as 1/sqrt(p).
    assert 0.3 < np.mean(inside) < 1.0
