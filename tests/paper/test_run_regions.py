"""A run through the regions: phases, decreases, the quadratic rate, and the page of it."""

from __future__ import annotations

import re

import numpy as np
import pytest

import riemtr
from riemtr.errors import ArgumentError
from riemtr.paper.chart import frame_of
from riemtr.theory import regions


@pytest.fixture(scope="module")
def example(make):
    """A case of each kind, with as many samples as the error of preconditioning asks for."""

    def build(kind):
        return make(kind, p=40_000 if kind == "preconditioned" else 6000, mu=0.1)

    return build


def exact_run(case, start=None, radius=0.02):
    start = case.start if start is None else start
    result = riemtr.ExactTRM(radius=radius, tolerance=1e-13).solve(case.problem, start)
    return result, regions(result, case, start)


def test_a_run_goes_inwards_through_the_regions(example, kind):
    case = example(kind)
    result, run = exact_run(case)
    table = run.iterates
    assert run.steps == result.iterations == len(table["cost"]) - 1
    assert table["region"][0] == 2
    assert table["region"][-1] == 0
    assert (np.diff(table["region"]) <= 0).all()
    np.testing.assert_array_equal(table["cost"], result.history["cost"])
    np.testing.assert_array_equal(table["step"][:-1], result.history["step_norm"][1:])
    np.testing.assert_array_equal(table["constrained"][:-1], result.history["on_boundary"][1:])
    # Type A steps, then type B steps (proof of thm:trm_orth), and none of the first afterwards. An
    # unconstrained step in region II is of type A as well.
    assert run.settled is not None
    assert run.stays
    frame = frame_of(case)
    assert table["length"][-1] == pytest.approx(
        np.sqrt(1.0 - np.abs(frame.atoms.T @ result.point).max() ** 2), abs=1e-8
    )


def test_decreases_beside_those_of_the_theorem(example, kind):
    _, run = exact_run(example(kind))
    table = run.iterates
    promised = np.isfinite(table["guaranteed"])
    assert promised[: run.settled].all()
    assert not promised[run.settled :].any()
    assert (table["decrease"][promised] >= table["guaranteed"][promised]).all()
    differences = -np.diff(table["cost"])
    np.testing.assert_allclose(table["decrease"][:-1], differences, rtol=1e-9, atol=1e-15)
    assert run.steps < 1e-10 * run.bound_here < run.bound


def test_the_rate_in_the_last_region_is_quadratic(example, kind):
    # The constant that bounds e_(k+1) / e_k^2 is L_H / (2 m_H) with the curvature at the minimizer
    # (Kantorovich), with the Lipschitz constant that was measured; the theorem's is far larger.
    case = example(kind)
    frame = frame_of(case)
    measured = riemtr.theory.check(case, points=40).measured()
    independent = riemtr.PracticalTRM(tolerance=1e-13)
    seen = 0
    for number in range(2 * frame.n):  # from the edge of region I around every atom
        chart = frame.chart(number)
        w = np.random.default_rng(number).standard_normal(frame.n - 1)
        start = chart.q(0.99 * measured.inner_radius * w / np.linalg.norm(w))
        _, run = exact_run(case, start, radius=0.1)
        assert run.settled == 0
        assert run.stays
        assert run.steps <= 5
        end = independent.solve(case.problem, start).point
        np.testing.assert_allclose(run.minimizer, end, atol=1e-12)
        distance = np.linalg.norm(run.minimizer - start)
        assert run.iterates["distance"][0] == pytest.approx(distance)
        rates = run.iterates["rate"]
        rates = rates[np.isfinite(rates)]
        curvature = riemtr.certify(case.problem, run.minimizer).min_eigenvalue
        assert (rates <= measured.L_H / (2.0 * curvature)).all()
        gradient_rates = run.iterates["gradient_rate"]
        gradient_rates = gradient_rates[np.isfinite(gradient_rates)]
        assert (gradient_rates <= measured.rate).all()
        seen += rates.size
    assert seen >= 2 * frame.n, "a ratio or more for every atom"


def test_preconditioning_with_few_samples_moves_the_minimizer_out_of_region_one(make):
    _, run = exact_run(make("preconditioned", p=4000, mu=0.05))
    assert run.settled is None
    assert run.minimizer_length > run.constants.inner_radius > run.constants.minimizer_distance
    assert f"at |w| = {run.minimizer_length:.3g}; the theorem has at most" in repr(run)
    assert np.isfinite(run.iterates["rate"]).any(), "convergence is quadratic there too"


def test_order_of_convergence(make):
    _, run = exact_run(make("identity", n=8, p=20_000, mu=0.1), radius=0.05)
    e = run.iterates["distance"][run.settled :]
    e = e[e > 1e-13]
    assert len(e) >= 3
    assert np.log(e[2] / e[1]) / np.log(e[1] / e[0]) == pytest.approx(2.0, abs=0.7)


def test_runs_with_a_warm_up_and_rejected_steps(make):
    case = make("orthogonal", p=3000)
    result = riemtr.PracticalTRM().solve(case.problem, case.start)
    run = regions(result, case)
    assert run.warm_up > 0
    assert run.warm_up + run.steps == result.iterations
    assert "on easier costs, left out" in repr(run)
    adaptive = riemtr.TrustRegion().solve(case.problem, case.start)
    table = regions(adaptive, case).iterates
    moved = table["accepted"][:-1]
    assert (np.diff(table["cost"])[~moved] == 0.0).all()
    assert (table["decrease"][:-1][~moved] == 0.0).all()


def test_measured_constants_bring_the_bound_down(make):
    case = make("identity", p=3000)
    result, run = exact_run(case)
    measured = regions(result, case, constants=riemtr.theory.check(case, points=50).measured())
    assert result.iterations < measured.bound < 1e-8 * run.bound
    assert "with measured constants" in repr(measured)


def test_results_of_other_runs_are_refused(make, tmp_path):
    case = make("identity", p=500)
    solver = riemtr.ExactTRM(radius=0.02)
    elsewhere = solver.solve(case.problem, case.problem.random_point(9))
    with pytest.raises(ArgumentError, match=r"from case\.start"):
        regions(elsewhere, case)
    result = solver.solve(case.problem, case.start)
    result.save(tmp_path / "run.npz")
    with pytest.raises(ArgumentError, match="know its solver"):
        regions(riemtr.load_result(tmp_path / "run.npz"), case)


def test_page_and_figure(make, tmp_path):
    pytest.importorskip("matplotlib")
    result, run = exact_run(make("orthogonal", p=2000))
    assert len(run.plot().axes) == 3
    page = run.save_page(tmp_path / "run.html").read_text()
    assert f"{result.iterations} iterations; the theorem" in page
    for said in ("negative curvature", "lem:TRM-lemma-iv", "eq:cplx_orth", "next e / e^2", "<svg"):
        assert said in page
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=[\"']https?:", page), "nothing is loaded from elsewhere"
    with pytest.raises(FileExistsError, match="overwrite=True"):
        run.save_page(tmp_path / "run.html")
    assert run.save_page(tmp_path / "run.html", overwrite=True).exists()


def test_every_phase_is_in_the_table(make):
    _, run = exact_run(make("identity", p=2000))
    covered = [number for phase in run.phases() for number in range(phase.start, phase.stop)]
    assert covered == list(range(run.steps))
    text = repr(run)
    assert "III, negative curvature" in text
    assert "I, strongly convex" in text
    assert "unconstrained" in run._repr_html_()
