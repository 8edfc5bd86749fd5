"""Semidefinite programs with identity blocks: other solvers, enumeration, closed forms, torture."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import riemtr
from riemtr.errors import ArgumentError, DoesNotApply
from riemtr.problem.relaxation import Relaxation
from riemtr.solvers import semidefinite, verify_certificate
from riemtr.solvers.semidefinite import relaxed_start
from tests.solvers.interior_point import by_clarabel


def random_form(seed, n, kind=float):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((n, n)).astype(kind)
    if kind is complex:
        matrix = matrix + 1j * rng.standard_normal((n, n))
    return 0.5 * (matrix + matrix.conj().T)


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_the_minimum_is_that_of_an_interior_point_method(seed, block):
    pytest.importorskip("clarabel")
    matrix = random_form(seed, 12)
    solution = riemtr.solve_semidefinite(matrix, block, rng=seed)
    assert solution.certified
    assert solution.value == pytest.approx(by_clarabel(matrix, block), rel=1e-7)
    assert solution.lower_bound <= solution.value
    blocks = solution.factor.reshape(12 // block, block, -1)
    np.testing.assert_allclose(
        blocks @ blocks.swapaxes(1, 2), np.tile(np.eye(block), (12 // block, 1, 1)), atol=1e-12
    )


@pytest.mark.parametrize(("n", "block"), [(10, 1), (10, 2)])
def test_complex_forms_are_their_real_forms(n, block):
    pytest.importorskip("clarabel")
    matrix = random_form(7, n, complex)
    solution = riemtr.solve_semidefinite(matrix, block)
    order = np.arange(2 * n).reshape(2, -1, block).swapaxes(0, 1).ravel()
    real = np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]])
    assert solution.certified
    expected = 0.5 * by_clarabel(real[np.ix_(order, order)], 2 * block)
    assert solution.value == pytest.approx(expected, rel=1e-7)
    # The smallest eigenvalue of the dual matrix, by LAPACK.
    dual = Relaxation(matrix, block).dual_matrix(solution.multipliers)
    assert np.linalg.eigvalsh(dual)[0] >= -1e-8 * abs(solution.value)


@pytest.mark.parametrize("seed", range(4))
def test_cuts_and_bounds_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.random((13, 13)) * (rng.random((13, 13)) < 0.5), 1)
    weights = weights + weights.T
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=13)))
    best = np.sum(signs * (signs @ weights), axis=1).min()
    solution = riemtr.solve_semidefinite(weights)
    assert solution.lower_bound <= best
    cut = solution.rounded()
    assert set(np.unique(cut.point)) == {-1.0, 1.0}
    assert best - 1e-12 <= cut.value == pytest.approx(np.vdot(cut.point, weights @ cut.point))
    assert cut.gap == pytest.approx(cut.value - solution.lower_bound)
    # Goemans and Williamson: the weight that is cut is 0.878 of the best or more.
    assert weights.sum() - cut.value >= 0.878 * (weights.sum() - best)


@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_matrix, aslinearoperator])
@pytest.mark.parametrize("diagonal", [0.0, 5.0])
def test_no_single_flip_improves_rounded_signs(form, diagonal):
    rng = np.random.default_rng(5)
    weights = np.triu(rng.standard_normal((300, 300)) * (rng.random((300, 300)) < 0.05), 1)
    weights = weights + weights.T + np.diag(diagonal * rng.standard_normal(300))
    solution = riemtr.solve_semidefinite(form(weights))
    cut = solution.rounded()
    signs = cut.point[:, 0]
    assert set(np.unique(signs)) == {-1.0, 1.0}
    assert cut.value == pytest.approx(signs @ weights @ signs)
    for number in range(300):
        flipped = signs.copy()
        flipped[number] *= -1.0
        assert flipped @ weights @ flipped >= cut.value - 1e-9


def test_flips_end_where_flips_change_nothing():
    # All flips of the zero matrix are ties, as are most flips of a single edge.
    edge = np.zeros((40, 40))
    edge[3, 7] = edge[7, 3] = 1.0
    assert riemtr.solve_semidefinite(edge).rounded().value == pytest.approx(-2.0)
    assert riemtr.solve_semidefinite(0.0 * edge).rounded().value == 0.0


def test_planted_phases():
    phases = np.exp(2j * np.pi * np.random.default_rng(0).random(30))
    solution = riemtr.solve_semidefinite(-np.outer(phases, phases.conj()))
    assert solution.certified
    assert solution.rank == 1
    assert solution.value == pytest.approx(-900.0)
    assert abs(np.vdot(phases, solution.rounded().point[:, 0])) == pytest.approx(30.0)


def test_planted_rotations_and_what_noise_does_to_them():
    gaps = {}
    for noise in (0.0, 0.1, 3.0):
        case = riemtr.problems.build("rotation-averaging", rng=1, k=40, degree=3, noise=noise)
        solution = riemtr.solve_semidefinite(case.problem.cost.normal, block=3)
        assert solution.certified
        rounded = solution.rounded()
        blocks = rounded.point.reshape(40, 3, 3)
        np.testing.assert_allclose(np.linalg.det(blocks), 1.0)
        gaps[noise] = rounded.gap / max(rounded.value, 1.0)
        if noise == 0.0:
            turned = case.problem.cost.rows.split(rounded.point)
            assert case.truth.error(turned) < 1e-6
    assert max(gaps[0.0], gaps[0.1]) < 1e-8
    assert gaps[3.0] > 1e-3  # the relaxation is not tight, and the gap says so


def test_all_forms_of_a_matrix():
    matrix = random_form(3, 60)
    values = [
        riemtr.solve_semidefinite(each, 2).value
        for each in (matrix, scipy.sparse.csr_matrix(matrix), aslinearoperator(matrix), [*matrix])
    ]
    np.testing.assert_allclose(values, values[0], rtol=1e-8)


def test_the_same_seed_gives_the_same_bits():
    matrix = random_form(4, 40)
    first, second = (riemtr.solve_semidefinite(matrix, rng=5) for _ in range(2))
    np.testing.assert_array_equal(first.factor, second.factor)
    assert first.lower_bound == second.lower_bound


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_a_factor_before_the_matrix_changes_nothing(scale):
    matrix = random_form(5, 30)
    plain, scaled = riemtr.solve_semidefinite(matrix), riemtr.solve_semidefinite(scale * matrix)
    assert scaled.certified
    assert scaled.value == pytest.approx(scale * plain.value, rel=1e-8)


def test_matrices_without_anything_to_find():
    assert riemtr.solve_semidefinite([[2.0]]).value == pytest.approx(2.0)
    assert riemtr.solve_semidefinite(np.zeros((3, 3))).certified
    assert riemtr.solve_semidefinite(scipy.sparse.csr_matrix((300, 300))).certified
    assert riemtr.solve_semidefinite(np.eye(4), 2).value == pytest.approx(4.0)


def test_time_that_is_up_leaves_a_bound():
    solution = riemtr.solve_semidefinite(random_form(0, 80), max_seconds=0.0)
    assert not solution.certified
    exact = riemtr.solve_semidefinite(random_form(0, 80))
    assert solution.lower_bound <= exact.value <= solution.value
    assert "proved to" in str(solution)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0, 2.0]],), "C must be a square matrix"),
        (([[1.0, 2.0], [3.0, 4.0]],), "C must be symmetric"),
        (([[np.nan]],), "C must have finite entries"),
        (("abc",), "C must be"),
        ((np.eye(5), 2), "block must divide the number of rows, 5; got 2"),
        ((aslinearoperator(np.triu(np.ones((3, 3)))),), "C must be a symmetric"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        riemtr.solve_semidefinite(*arguments)


# -- false certificates of others -----------------------------------------------------------------


@pytest.mark.parametrize("tolerance", [1e-7, 1e-4, 1e-1, 1.0])
def test_a_tolerance_that_is_too_large_makes_no_claim_false(tolerance):
    matrix = random_form(9, 30)
    exact = riemtr.solve_semidefinite(matrix)
    loose = riemtr.solve_semidefinite(matrix, tolerance=tolerance)
    assert loose.lower_bound <= exact.value
    assert loose.value - exact.value <= loose.gap + 1e-12 * abs(exact.value)


def test_zero_multipliers_prove_no_more_than_zero():
    # S = C is positive semidefinite at any point, and says nothing of any.
    root = np.random.default_rng(0).standard_normal((20, 5))
    form = Relaxation(root @ root.T)
    point = np.ones((20, 1))
    found = form.bound(point, np.zeros((20, 1, 1)))
    assert found.lower_bound <= 0.0
    assert found.gap >= form.value(point) > 1.0


def test_symmetric_points_hide_nothing():
    # All rows are the same: the gradient vanishes, and so does the cost's change along symmetric
    # directions. Signs alone (rank 1) are critical points all of them.
    case = riemtr.problems.build("max-cut", rng=0, n=40)
    point = np.zeros_like(case.start)
    point[0] = 1.0
    certificate = riemtr.certify(case.problem, point)
    least = riemtr.PracticalTRM().solve(case.problem, case.start).cost
    assert certificate.gradient_norm < 1e-12
    assert certificate.verdict in ("saddle", "maximizer")
    assert certificate.lower_bound <= least
    assert certificate.gap >= case.problem.at(point).cost - least
    solution = riemtr.solve_semidefinite(case.problem.cost.matrix, rank=1)
    assert solution.certified
    assert solution.ascents >= 1
    assert 0.5 * solution.value == pytest.approx(least, rel=1e-6)


def test_small_eigenvalues_count_for_each_row():
    # A dual matrix with eigenvalues of about -1e-6 looks definite, and is off by that in each row.
    rows = 1000
    edges = scipy.sparse.block_diag([np.array([[0.0, 1.0], [1.0, 0.0]])] * (rows // 2)).tocsr()
    signs = np.tile([[1.0], [-1.0]], (rows // 2, 1))
    uneven = np.tile([math.sqrt(2e-6), -math.sqrt(2e-6)], rows // 2)
    found = Relaxation(edges).bound(signs, (uneven - 1.0).reshape(rows, 1, 1))
    assert found.value == -rows
    assert rows * 0.99e-6 <= found.gap <= 2.0 * rows * 1e-6


# -- proofs in files ------------------------------------------------------------------------------

SCRIPT = Path(verify_certificate.__file__)


def checked(path):
    """Run the script as somebody without riemtr would."""
    return subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.modules['riemtr'] = None\n"
            f"sys.argv = ['verify', {str(path)!r}]\nimport runpy\n"
            f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')",
        ],
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def claims(tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "proof.npz"
    riemtr.solve_semidefinite(random_form(2, 24), 2).save(path)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def test_the_script_is_short_and_imports_nothing_else():
    lines = SCRIPT.read_text().splitlines()
    assert len(lines) <= 60
    imported = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import", "from"))
    }
    assert imported == {"math", "sys", "numpy", "scipy"}


@pytest.mark.parametrize("kind", ["real", "complex", "sparse", "large and sparse"])
def test_a_proof_is_verified_without_riemtr(kind, tmp_path):
    if "sparse" in kind:
        rows = 3000 if "large" in kind else 60
        ring = scipy.sparse.diags([1.0, 1.0], [1, -1], shape=(rows, rows)).tolil()
        ring[0, rows - 2] = ring[rows - 2, 0] = 1.0
        solution = riemtr.solve_semidefinite(ring.tocsr())
    else:
        solution = riemtr.solve_semidefinite(
            random_form(1, 20, complex if kind == "complex" else float)
        )
    solution.save(tmp_path / "proof.npz")
    outcome = checked(tmp_path / "proof.npz")
    assert outcome.returncode == 0, outcome.stderr
    assert outcome.stdout.startswith("verified: value")
    with pytest.raises(FileExistsError):
        solution.save(tmp_path / "proof.npz")


def raised(claims, name, by):
    return {**claims, name: claims[name] + by}


TAMPERED = {
    "a bound raised by a millionth": lambda c: raised(c, "lower_bound", 1e-6 * abs(c["value"])),
    "a bound above the value": lambda c: raised(c, "lower_bound", 1.0),
    "a lower value": lambda c: raised(c, "value", -1e-3),
    "a factor that is too long": lambda c: {**c, "factor": 1.001 * c["factor"]},
    "another factor": lambda c: {**c, "factor": np.roll(c["factor"], 2, axis=0)},
    "multipliers of other blocks": lambda c: {
        **c,
        "multipliers": np.roll(c["multipliers"], 1, axis=0),
    },
    "multipliers that are not symmetric": lambda c: raised(
        c, "multipliers", np.triu(np.ones((2, 2)), 1)
    ),
    "another matrix": lambda c: raised(c, "matrix", 1e-3 * np.ones((24, 24))),
    "a matrix that is not symmetric": lambda c: raised(c, "matrix", np.triu(np.ones((24, 24)), 1)),
    "numbers that are none": lambda c: raised(c, "multipliers", np.nan),
    "a factor of NaN": lambda c: raised(c, "factor", np.nan),
    "an infinite bound": lambda c: raised(c, "lower_bound", np.inf),
    "a bound of NaN": lambda c: raised(c, "lower_bound", np.nan),
    "blocks of another size": lambda c: {**c, "multipliers": c["multipliers"][:, :1, :1]},
    "fewer rows": lambda c: {**c, "factor": c["factor"][:-2]},
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_proof_is_refused(how, claims):
    with pytest.raises((ArithmeticError, ValueError)):  # LinAlgError is a ValueError
        verify_certificate.verify(**TAMPERED[how](claims))


def test_a_tampered_file_is_refused(claims, tmp_path):
    np.savez(tmp_path / "tampered.npz", **TAMPERED["a bound above the value"](claims))
    outcome = checked(tmp_path / "tampered.npz")
    assert outcome.returncode != 0
    assert "verified" not in outcome.stdout


# -- problems with a relaxation -------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["max-cut", "phase-synchronisation", "rotation-averaging", "pose-graph"]
)
def test_a_start_from_the_relaxation_is_the_solution(name):
    case = riemtr.problems.build(name, rng=0)
    start, solution = relaxed_start(case.problem)
    result = riemtr.PracticalTRM().solve(case.problem, start)
    assert result.cost == pytest.approx(case.problem.at(start).cost, rel=1e-7)
    assert 0.5 * solution.lower_bound <= result.cost
    assert result.certificate.gap <= 1e-6 * abs(result.cost)


def test_most_problems_have_no_relaxation():
    with pytest.raises(DoesNotApply, match="relaxation"):
        relaxed_start(riemtr.problems.build("rayleigh", rng=0).problem)


def test_a_start_that_is_too_narrow_is_left(monkeypatch):
    # The first rank is smaller than that of the solution, which is found all the same.
    matrix = random_form(11, 80)
    monkeypatch.setattr(semidefinite, "_SHARE", 0.1)
    solution = riemtr.solve_semidefinite(matrix)
    assert solution.certified
    assert solution.ascents > 0
