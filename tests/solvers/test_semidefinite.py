"""Semidefinite programs with identity blocks: other solvers, enumeration, closed forms, torture."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

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


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("seed", range(20))
def test_rounding_columns_do_not_count(kind, seed):
    # The solution has rank 1. Which seeds leave a column of 4e-16 depends on the kernels of BLAS.
    rng = np.random.default_rng(seed)
    planted = (
        np.exp(2j * np.pi * rng.random(20)) if kind is complex else rng.choice([-1.0, 1.0], 20)
    )
    solution = riemtr.solve_semidefinite(-np.outer(planted, planted.conj()))
    assert solution.certified
    assert solution.rank == 1


def test_a_small_column_that_is_needed_counts():
    rows = np.random.default_rng(0).standard_normal((30, 2))
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    for size, rank in [(1e-6, 2), (1e-11, 2), (1e-15, 1)]:
        factor = np.c_[rows * [1.0, size], np.zeros(30)] @ turn
        kept = semidefinite._principal(factor, 0.0, 1)
        assert kept.shape[1] == rank
        np.testing.assert_allclose(kept @ kept.T, factor @ factor.T, atol=1e-14)


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
    pair = scipy.sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
    edges = scipy.sparse.block_diag([pair] * (rows // 2)).tocsr()
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
    assert len(lines) <= 130
    imported = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import", "from"))
    }
    assert imported == {"math", "os", "sys", "zipfile", "numpy", "scipy"}


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
    "an infinite value": lambda c: {**c, "value": np.array(-np.inf)},
    "a value with axes": lambda c: {**c, "value": c["value"].reshape(1)},
    "a complex bound": lambda c: {**c, "lower_bound": c["lower_bound"].astype(complex)},
    "a bound as text": lambda c: {**c, "lower_bound": np.array("-100")},
    "a matrix of whole numbers too large for doubles": lambda c: {
        **c,
        "matrix": np.full((24, 24), 2**53 + 1),
    },
    "no rows": lambda c: {
        **c,
        "factor": np.zeros((0, 3)),
        "multipliers": np.zeros((0, 2, 2)),
        "matrix": np.zeros((0, 0)),
    },
}


@pytest.mark.parametrize("how", TAMPERED)
def test_a_tampered_proof_is_refused(how, claims):
    with pytest.raises((ArithmeticError, ValueError)):
        verify_certificate.verify(TAMPERED[how](claims))


def refused(path):
    """Return the sentence by which the script refuses a file."""
    outcome = checked(path)
    assert outcome.returncode == 1
    assert outcome.stdout == ""
    (sentence,) = outcome.stderr.splitlines()
    assert sentence.startswith("refused: ")
    return sentence


def test_a_tampered_file_is_refused_in_one_sentence(claims, tmp_path):
    path = tmp_path / "tampered.npz"
    for how, said in {
        "a bound above the value": "the bound is not proved",
        "a lower value": "the value is",
        "a bound of NaN": "lower_bound must be finite",
    }.items():
        np.savez(path, **TAMPERED[how](claims))
        assert said in refused(path)


def wrapping():
    """The sum of whole numbers wraps: the matrix of a graph seems to have an enormous bound."""
    edges = np.triu(np.random.default_rng(0).random((9, 9)) < 0.5, 1)
    matrix = (edges | edges.T).astype(np.uint8)
    signs = np.ones((9, 1))
    blocks = np.full((9, 1, 1), 250, np.uint8)
    value = float(matrix.sum())
    return {"factor": signs, "matrix": matrix, "multipliers": blocks, "value": value}, 100.0


def single_precision():
    """The trace is larger by rounding where it is summed in single precision."""
    blocks = np.array([np.diag([2.0**24, 1.5])] * 3, np.float32)
    matrix = scipy.linalg.block_diag(*blocks).astype(float)
    factor = np.tile(np.eye(2), (3, 1))
    value = float(np.trace(matrix))
    return {"factor": factor, "matrix": matrix, "multipliers": blocks, "value": value}, value + 1.4


def infinite_value(sign):
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]])
    value = sign * math.inf
    blocks = np.full((2, 1, 1), -1.0)
    factor = np.array([[1.0], [-1.0]])
    return {"factor": factor, "matrix": matrix, "multipliers": blocks, "value": value}, -2.1


def three_axes():
    """The product with a factor of three axes is another one, and the value false."""
    form = random_form(3, 4)
    vector = np.linalg.eigh(form)[1][:, 0]
    factor = np.repeat((2.0 * vector / np.linalg.norm(2.0 * vector))[None, :, None], 4, axis=0)
    value = float(np.vdot(factor, form @ factor).real)
    blocks = np.full((4, 1, 1), np.linalg.eigvalsh(form)[0] - 0.1)
    return {"factor": factor, "matrix": form, "multipliers": blocks, "value": value}, 4.0 * value


def summed_in_floats():
    """The trace of a block is below the sum of its diagonal in floats."""
    matrix = np.diag([1.0, 1.5 * 2.0**-53])
    claims = {"factor": np.eye(2), "matrix": matrix, "multipliers": matrix[None], "value": 1.0}
    return claims, 1.0 + 2.0**-52


def overflowing():
    """The dual matrix is not finite, though C and the multipliers are."""
    matrix = np.full((2, 2), 1e308) - np.diag([2e308 / 2, 2e308 / 2])
    blocks = np.full((2, 1, 1), 1.7e308)
    factor = np.array([[1.0], [-1.0]])
    claims = {"factor": factor, "matrix": -1.7 * matrix, "multipliers": blocks, "value": 0.0}
    return claims, -1.0


FALSE = {
    "numbers that overflow": overflowing,
    "a quarter of a unit too much": summed_in_floats,
    "whole numbers that wrap": wrapping,
    "single precision": single_precision,
    "a value of inf": lambda: infinite_value(1.0),
    "a value of -inf": lambda: infinite_value(-1.0),
    "a factor with three axes": three_axes,
}


@pytest.mark.parametrize("how", FALSE)
def test_a_false_claim_is_refused(how):
    claims, bound = FALSE[how]()
    with pytest.raises(ArithmeticError):
        verify_certificate.verify({**claims, "lower_bound": bound})


def test_a_file_with_two_matrices_is_refused(claims, tmp_path):
    path, other = tmp_path / "proof.npz", scipy.sparse.csr_matrix(-claims["matrix"])
    rows = {"data": other.data, "indices": other.indices, "indptr": other.indptr}
    unnamed = {"foo": other.data, "bar": other.indices, "baz": other.indptr}
    rest = {name: array for name, array in claims.items() if name != "matrix"}
    for arrays in ({**claims, **rows}, {**rest, **unnamed}, rest, {**claims, "about": 1.0}):
        np.savez(path, **arrays)
        assert "the file must hold" in refused(path)
    np.savez(path, **claims)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("matrix.npy", archive.read("matrix.npy"))
    assert "the file must hold" in refused(path)


@pytest.fixture(scope="module")
def sparse_claims(tmp_path_factory):
    path = tmp_path_factory.mktemp("proof") / "proof.npz"
    riemtr.solve_semidefinite(scipy.sparse.csr_matrix(random_form(4, 12))).save(path)
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def changed(array, place, value):
    array = array.astype(np.int64)
    array[place] = value
    return array


@pytest.mark.parametrize("index", [12, 13, 10**6, 10**9, -3, 2**62])
def test_an_index_out_of_range_is_refused(index, sparse_claims):
    indices = changed(sparse_claims["indices"], 5, index)
    with pytest.raises(ArithmeticError, match="an index is outside"):
        verify_certificate.verify({**sparse_claims, "indices": indices})


@pytest.mark.parametrize(
    "ends",
    [
        lambda ends: changed(ends, 3, 10**9),
        lambda ends: changed(changed(ends, 3, 2**63 - 1), 4, -2),  # whose differences wrap
        lambda ends: changed(ends, 0, 1),
        lambda ends: changed(ends, -1, 7),
        lambda ends: ends[:-1],
        lambda ends: ends.astype(float),
        lambda ends: ends[:0],
    ],
)
def test_inconsistent_rows_are_refused(ends, sparse_claims):
    with pytest.raises(ArithmeticError):
        verify_certificate.verify({**sparse_claims, "indptr": ends(sparse_claims["indptr"])})


def test_an_entry_that_is_given_twice_is_refused(sparse_claims):
    indices = changed(sparse_claims["indices"], 1, sparse_claims["indices"][0])
    with pytest.raises(ArithmeticError, match="twice"):
        verify_certificate.verify({**sparse_claims, "indices": indices})


def saved_as(content):
    def save(path):
        path.write_bytes(content)

    return save


def directory(path):
    path.mkdir()


def pickled(path):
    np.savez(path, factor=np.array([{}], dtype=object))


@pytest.mark.parametrize(
    "save", [saved_as(b""), saved_as(b"PK\x03\x04"), saved_as(b"[1]"), directory, pickled, None]
)
def test_a_file_that_is_no_proof_is_refused(save, tmp_path):
    if save is not None:
        save(tmp_path / "proof.npz")
    refused(tmp_path / "proof.npz")


def test_an_archive_that_would_fill_the_memory_is_refused(tmp_path):
    path = tmp_path / "proof.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("factor.npy", b"")
        archive.filelist[0].file_size = 2**31  # as the list of members then says
    assert "fill the memory" in refused(path)


def test_a_file_that_was_cut_short_is_refused(claims, tmp_path):
    np.savez(tmp_path / "proof.npz", **claims)
    content = (tmp_path / "proof.npz").read_bytes()
    (tmp_path / "short.npz").write_bytes(content[: len(content) // 2])
    refused(tmp_path / "short.npz")


DIAGONAL = np.diag(np.random.default_rng(5).standard_normal(6) * 10.0 ** np.arange(-3, 3))
OWN = {
    "diagonal": lambda: (DIAGONAL, 2),
    "diagonal, sparse": lambda: (scipy.sparse.csr_matrix(DIAGONAL), 1),
    "nothing": lambda: (np.zeros((6, 6)), 2),
    "nothing, sparse": lambda: (scipy.sparse.csr_matrix((6, 6)), 3),
    "a single block": lambda: (random_form(6, 6), 6),
    "a single block, complex": lambda: (random_form(7, 4, complex), 4),
    "a single number": lambda: (np.array([[-0.3]]), 1),
    "whole numbers": lambda: (
        np.triu(np.ones((5, 5), int), 1) + np.tril(np.ones((5, 5), int), -1),
        1,
    ),
    "an operator": lambda: (aslinearoperator(random_form(8, 12)), 3),
    "a complex operator": lambda: (aslinearoperator(random_form(9, 8, complex)), 2),
    "an operator with cancellation": lambda: (cancelling(random_form(9, 8)), 2),
    "sparse, complex": lambda: (scipy.sparse.coo_matrix(random_form(10, 9, complex)), 3),
    "sparse, entries in parts": lambda: (in_parts(random_form(11, 6)), 2),
    "of rank one": lambda: (-np.ones((8, 8)), 2),
    "small": lambda: (1e-306 * random_form(12, 9), 3),
    "large": lambda: (1e250 * random_form(12, 9), 1),
    "sizes of all kinds": lambda: (
        random_form(13, 9) * np.outer(*2 * [10.0 ** np.arange(-8, 1)]),
        3,
    ),
}


def cancelling(form):
    return LinearOperator(form.shape, lambda x: (form @ x + 1e5 * x) - 1e5 * x, dtype=float)


def in_parts(form):
    """Return a sparse matrix whose entries are sums of two."""
    matrix = scipy.sparse.csr_matrix(form)
    arrays = (np.repeat(0.5 * matrix.data, 2), np.repeat(matrix.indices, 2), 2 * matrix.indptr)
    return scipy.sparse.csr_matrix(arrays, shape=form.shape)


@pytest.mark.parametrize("kind", OWN)
def test_every_proof_that_is_saved_is_verified(kind, tmp_path):
    solution = riemtr.solve_semidefinite(*OWN[kind]())
    solution.save(tmp_path / "proof.npz")
    words = verify_certificate.verify(verify_certificate.read(tmp_path / "proof.npz"))
    assert f"nothing is below {solution.lower_bound!r}" in words


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
