"""Recovery from a Dask array against recovery from the same array in memory, without a cluster."""

import dask
import dask.array as da
import numpy as np
import pytest
from dask.callbacks import Callback

import riemtr
import riemtr.recovery.complement as complement
from riemtr.data import BernoulliGaussian, Conditioned, dictionary_error
from riemtr.data.dask_arrays import Partitioned
from riemtr.recovery import precondition, recover_dictionary, recover_row

pytestmark = pytest.mark.usefixtures("chunks_as_they_come")


def draw(n=5, p=600, theta=0.2, condition_number=10.0, seed=0, **options):
    dictionary = Conditioned(condition_number)
    model = BernoulliGaussian(n=n, p=p, theta=theta, dictionary=dictionary, **options)
    return model.draw(seed)


def partitioned(Y, width=250):
    return da.from_array(Y, chunks=(Y.shape[0], width))


def compare(found, expected, tolerance=1e-10):
    """The same result, and of the same shape, but for the coefficients, which stay with Dask."""
    assert isinstance(found.coefficients, da.Array)
    for name in ("dictionary", "directions", "unmixing", "coefficients"):
        size = np.abs(getattr(expected, name)).max()
        np.testing.assert_allclose(
            np.asarray(getattr(found, name)), getattr(expected, name), atol=tolerance * size
        )
    assert [atom.verdict for atom in found.atoms] == [atom.verdict for atom in expected.atoms]
    assert [atom.zeros for atom in found.atoms] == [atom.zeros for atom in expected.atoms]
    assert found.objective == pytest.approx(expected.objective, rel=1e-10)
    assert found.seed == expected.seed


# --- the same result -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sample", "options"),
    [
        (draw(n=8, p=1000), {}),
        (draw(n=2, p=100), {}),
        (draw(n=1, p=20, condition_number=1.0), {}),
        (draw(condition_number=1e4), {}),
        (draw(condition_number=1.0), {"precondition": False}),
        (draw(n=4, p=45, theta=0.3), {}),  # so few that rounding gathers them all
        (draw(noise=1e-3, p=900), {"refine": None}),  # vertices, and nothing vanishes
        (draw(), {"n_jobs": 3, "mu": 0.02}),
        (draw(n=3, p=300, theta=0.3), {"solver": riemtr.ExactTRM(radius=0.1, tolerance=1e-3)}),
        (draw(n=6, p=1200), {"order": "rows"}),
        (draw(n=4, p=800), {"order": "rounded"}),
        (draw(n=6, p=1200), {"offset": True}),
        (draw(n=6, p=1200), {"surrogate": "huber"}),
    ],
    ids=[
        *("plain", "n=2", "n=1", "ill", "white", "few", "noise", "jobs", "exact solver"),
        *("rows", "rounded", "offset", "huber"),
    ],
)
def test_it_is_that_of_the_array_in_memory(sample, options):
    Y = sample.observations
    expected = recover_dictionary(Y, rng=1, **options)
    found = recover_dictionary(partitioned(Y), rng=1, **options)
    compare(found, expected)
    assert found.certified
    assert found.coefficients.chunks[1] == partitioned(Y).chunks[1]


def test_exact_zeros_and_the_truth():
    sample = draw(n=6, p=900)
    found = recover_dictionary(partitioned(sample.observations), rng=0)
    assert dictionary_error(found.dictionary, sample.dictionary) < 1e-12
    X = found.coefficients.compute()
    assert np.count_nonzero(X) == np.count_nonzero(sample.coefficients)
    np.testing.assert_allclose(found.dictionary @ X, sample.observations, atol=1e-12)
    for text in ("6 x 6, from 900 samples", "6 of 6", "exactly sparse"):
        assert text in repr(found)


def test_without_rounding_it_is_that_in_memory_to_the_tolerance_of_the_solver():
    Y = draw(condition_number=1.0).observations
    solver = riemtr.PracticalTRM(tolerance=1e-9)
    options = {"rng": 0, "rounding": False, "solver": solver, "refine": None}
    expected = recover_dictionary(Y, **options)
    found = recover_dictionary(partitioned(Y), **options)
    np.testing.assert_allclose(found.dictionary, expected.dictionary, atol=1e-7)
    assert all(atom.rounding is None for atom in found.atoms)
    assert not any(atom.trusted for atom in found.atoms)


@pytest.mark.parametrize("form", ["auto", "orthogonal", "full"])
def test_rows_refined_together_are_those_in_memory_to_single_precision(form):
    Y = draw(noise=0.05, p=2000, condition_number=1.0).observations
    expected = recover_dictionary(Y, rng=0, refine=form)
    found = recover_dictionary(partitioned(Y), rng=0, refine=form)
    assert found.refined == expected.refined != ""
    errors = expected.standard_errors
    difference = np.linalg.norm(found.dictionary - expected.dictionary, axis=0)
    assert np.all(difference < 0.02 * errors)
    np.testing.assert_allclose(found.standard_errors, errors, rtol=0.02)
    assert [a.verdict for a in found.atoms] == [a.verdict for a in expected.atoms]


def test_an_offset_is_recovered_along():
    sample = draw(n=5, p=1500)
    b = np.arange(1.0, 6.0)
    found = recover_dictionary(partitioned(sample.observations + b[:, None]), rng=0)
    np.testing.assert_allclose(found.offset, b, atol=1e-11)
    assert dictionary_error(found.dictionary, sample.dictionary) < 1e-12
    X = found.coefficients.compute()
    assert X.shape == (5, 1500)
    assert np.count_nonzero(X) == np.count_nonzero(sample.coefficients)


def test_what_is_solved_for_on_some_samples_is_proved_on_all_of_them(monkeypatch):
    monkeypatch.setattr("riemtr.recovery.task._FEWEST_ENTRIES", 10)
    monkeypatch.setattr("riemtr.recovery.task._SAMPLES_PER_POWER", 60.0)
    sample = draw(n=5, p=9000)
    found = recover_dictionary(partitioned(sample.observations, 2000), rng=0)
    compare(found, recover_dictionary(sample.observations, rng=0))
    assert found.certified
    assert found.count("proved") == 5
    X = found.coefficients.compute()
    assert np.count_nonzero(X) == np.count_nonzero(sample.coefficients)


def test_rank_deficient_data():
    tall = np.random.default_rng(0).standard_normal((7, 4))
    Y = tall @ draw(n=4).observations
    with pytest.raises(ValueError, match="some rows are combinations of others"):
        recover_dictionary(partitioned(Y))
    with pytest.raises(ValueError, match="row 1 is zero"):
        recover_dictionary(partitioned(np.insert(Y[:4], 1, 0.0, axis=0)))
    for rank in ("auto", 4):
        compare(
            recover_dictionary(partitioned(Y), rng=0, rank=rank),
            recover_dictionary(Y, rng=0, rank=rank),
        )


def test_chunks_over_the_features_integers_and_zero_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, (4, 400)) * (rng.random((4, 400)) < 0.25)
    A = np.array([[2, 1, 0, 0], [0, 1, -1, 0], [0, 0, 1, 3], [1, 0, 0, 1]])
    found = recover_dictionary(da.from_array(A @ X, chunks=(2, 300)), rng=0)
    assert dictionary_error(found.dictionary, A) < 1e-12
    assert found.coefficients.chunks == ((4,), (150, 150, 100))
    compare(found, recover_dictionary(A @ X, rng=0))


def test_float32():
    Y = draw(n=4, p=500).observations.astype(np.float32)
    found = recover_dictionary(partitioned(Y), rng=0)
    assert found.dictionary.dtype == found.coefficients.dtype == np.float32
    assert found.coefficients.compute().dtype == np.float32
    np.testing.assert_allclose(found.dictionary, recover_dictionary(Y, rng=0).dictionary, atol=1e-4)
    assert all(atom.exact for atom in found.atoms)


def test_data_that_would_overflow_are_whitened_all_the_same():
    Y = draw(n=3, p=300, theta=0.3).observations
    expected = recover_dictionary(Y, rng=0).dictionary
    for unit in (2.0**600, 2.0**-600):
        found = recover_dictionary(partitioned(Y * unit), rng=0)
        np.testing.assert_allclose(found.dictionary, expected, atol=1e-12)


def test_threads_give_the_same_bits():
    Y = partitioned(draw(n=3, p=300, theta=0.3).observations, width=40)
    one = recover_dictionary(Y, rng=0)
    with dask.config.set(scheduler="threads", num_workers=3):
        other = recover_dictionary(Y, rng=0, n_jobs=2)
    np.testing.assert_array_equal(one.dictionary, other.dictionary)
    np.testing.assert_array_equal(one.coefficients, other.coefficients)


def test_one_row_and_the_preconditioning():
    Y = draw(n=4).observations
    atom, expected = recover_row(partitioned(Y), rng=3), recover_row(Y, rng=3)
    np.testing.assert_allclose(atom.direction, expected.direction, atol=1e-12)
    white, plain = precondition(partitioned(Y)), precondition(Y)
    assert isinstance(white.data, da.Array)
    np.testing.assert_allclose(white.data.compute(), plain.data, atol=1e-12)
    np.testing.assert_allclose(white.matrix, plain.matrix, rtol=1e-12)


# --- nobody holds all of it ----------------------------------------------------------------------


def arrays_in(result):
    """The sizes of all arrays, in entries, in what a task or a visit returned."""
    if isinstance(result, (tuple, list)):
        return [size for part in result for size in arrays_in(part)]
    if hasattr(result, "__dataclass_fields__"):
        return arrays_in(list(vars(result).values()))
    return [np.size(result)]


class Largest(Callback):
    """The largest array that any task returned, and so the largest that any was given."""

    entries = 0

    def _posttask(self, key, result, dsk, state, worker_id):
        self.entries = max(self.entries, *arrays_in(result), 0)


def test_no_task_sees_more_than_a_block_and_little_comes_back(monkeypatch):
    """The data are made of chunks from the start; every value a task returns is measured."""
    n, p, width = 4, 8000, 1000
    monkeypatch.setattr("riemtr.recovery.task._FEWEST_ENTRIES", 10)
    monkeypatch.setattr("riemtr.recovery.task._SAMPLES_PER_POWER", 30.0)
    some = n * p // (p // 240)  # those to solve on: 30 n^1.5
    rng = da.random.default_rng(0)
    shape = {"size": (n, p), "chunks": (n, width)}
    X = rng.standard_normal(**shape) * (rng.random(**shape) < 0.2)
    returned = []

    def measured(self, *arguments, **options):
        result = original(self, *arguments, **options)
        returned.append(sum(arrays_in(result)))
        return result

    original = Partitioned.total
    monkeypatch.setattr(Partitioned, "total", measured)
    with Largest() as largest:
        found = recover_dictionary(X, rng=0)
    assert found.count("proved") == n
    assert largest.entries == n * width
    # The samples to solve on, once; otherwise sums, and nothing as long as a row.
    assert max(returned) <= 1.1 * some < p
    assert sum(entries > 32 * n * n for entries in returned) <= 1


# --- checkpoints ---------------------------------------------------------------------------------


def test_a_checkpoint_is_recalled_and_belongs_to_its_data_and_partition(tmp_path, monkeypatch):
    Y, path = draw(n=3, p=200, theta=0.3).observations, tmp_path / "run.sqlite"
    plain = recover_dictionary(partitioned(Y), rng=2, checkpoint=path)
    other = Y.copy()
    other[1, 150] = np.nextafter(other[1, 150], 9.0)
    for data in (other, partitioned(other), partitioned(Y, 30)):
        with pytest.raises(ValueError, match=r"another run \(Y: "):
            recover_dictionary(data, rng=2, checkpoint=path)
    for name in ("solve_deflated", "solve_jointly"):
        monkeypatch.setattr(complement, name, lambda *_: pytest.fail("was known"))
    again = recover_dictionary(partitioned(Y), checkpoint=path)
    np.testing.assert_array_equal(plain.dictionary, again.dictionary)
    np.testing.assert_array_equal(plain.coefficients, again.coefficients)


@pytest.mark.parametrize("order", ["joint", "rows"])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_an_interrupted_run_continues_bit_for_bit(tmp_path, order, noise):
    Y, path = partitioned(draw(n=4, p=400, noise=noise).observations), tmp_path / "run.sqlite"
    expected = recover_dictionary(Y, rng=2, order=order)
    for stage in ("inspect", "starts", "refine", "report"):

        def impatient(progress, stage=stage):
            if progress.stage == stage:
                raise KeyboardInterrupt

        try:
            recover_dictionary(Y, rng=2, order=order, checkpoint=path, progress=impatient)
        except KeyboardInterrupt:
            continue
    found = recover_dictionary(Y, rng=2, order=order, checkpoint=path)
    np.testing.assert_array_equal(found.dictionary, expected.dictionary)
    np.testing.assert_array_equal(found.coefficients, expected.coefficients)


# --- what is refused -----------------------------------------------------------------------------


def test_errors_are_those_in_memory():
    Y = draw(n=3, p=60, theta=0.3).observations
    bad = Y.copy()
    bad[1, 33] = np.nan
    for data, options, match in [
        (bad, {}, "row 1, column 33"),
        (Y[:, :2], {}, "transpose Y if its samples are rows"),
        (Y[:, :2], {"precondition": False}, "transpose Y if its samples are rows"),
        (np.zeros((2, 9)), {}, "zero everywhere"),
        (Y, {"mu": 0.0}, "mu must be"),
        (Y, {"rank": 0}, "rank must be"),
        (np.vstack([Y, Y[0]]), {"precondition": False}, "full rank"),
    ]:
        with pytest.raises(ValueError, match=match):
            recover_dictionary(data, **options)
        with pytest.raises(ValueError, match=match):
            recover_dictionary(partitioned(data, 25), **options)
