import json

import numpy as np
import pytest
from matplotlib.figure import Figure

from riemtr.data import BernoulliGaussian, Conditioned
from riemtr.recovery import recover_dictionary
from riemtr.recovery.resultfiles import atomic_file, relative_residual, save_figure, save_recovery

Y = BernoulliGaussian(n=5, p=400, theta=0.2, dictionary=Conditioned(5.0)).draw(0).observations


@pytest.fixture(scope="module")
def found():
    return recover_dictionary(Y, rng=0)


def test_files_give_back_the_same_arrays(tmp_path, found):
    mean = np.arange(5.0)
    saved = save_recovery(tmp_path / "new" / "folder", found, {"source": "made up"}, mean)
    folder = tmp_path / "new" / "folder"
    assert sorted(folder.iterdir()) == sorted(saved)
    assert np.array_equal(np.load(folder / "A.npy"), found.dictionary)
    assert np.array_equal(np.load(folder / "X.npy"), found.coefficients)
    assert np.array_equal(np.load(folder / "mean.npy"), mean)


def test_the_report_says_what_was_found(tmp_path, found):
    save_recovery(tmp_path, found, {"source": "made up"})
    text = (tmp_path / "report.json").read_text()
    report = json.loads(text, parse_constant=pytest.fail)
    assert report["source"] == "made up"
    assert report["shape"] == [5, 400]
    assert report["rank"] == 5
    assert report["trusted"] is True
    assert report["rows_certified"] == report["rows_exactly_sparse"] == 5
    assert report["objective"] == pytest.approx(np.abs(found.coefficients).sum())
    for row, atom, coefficients in zip(
        report["rows"], found.atoms, found.coefficients, strict=True
    ):
        assert row["zeros"] == np.count_nonzero(coefficients == 0)
        assert row["duality_gap"] == atom.rounding.duality_gap <= 1e-9
        assert row["verdict"] == "exactly sparse, certified"
        assert row["solver"]["iterations"] == atom.result.iterations


def test_results_without_a_mean_leave_none_behind(tmp_path, found):
    save_recovery(tmp_path, found, {}, np.zeros(5))
    save_recovery(tmp_path, found, {})
    assert not (tmp_path / "mean.npy").exists()


def test_what_is_not_finite_is_null(tmp_path, found):
    save_recovery(tmp_path, found, {"a": np.float64("nan"), "b": [np.inf, np.int64(3)]})
    report = json.loads((tmp_path / "report.json").read_text(), parse_constant=pytest.fail)
    assert report["a"] is None
    assert report["b"] == [None, 3]


def test_the_residual_is_that_of_the_whole(found):
    direct = np.linalg.norm(Y + 1 - found.dictionary @ found.coefficients) / np.linalg.norm(Y + 1)
    assert relative_residual(Y + 1, found) == pytest.approx(direct)
    assert relative_residual(Y, found) < 1e-13


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "A.npy"
    path.write_bytes(b"old")

    def write():
        with atomic_file(path) as file:
            file.write(b"half of the")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert [file.name for file in tmp_path.iterdir()] == ["A.npy"]
    assert path.read_bytes() == b"old"


def test_figures_are_png_files(tmp_path):
    figure = Figure()
    figure.subplots().plot([1, 2])
    assert save_figure(tmp_path / "a.png", figure).read_bytes().startswith(b"\x89PNG")
