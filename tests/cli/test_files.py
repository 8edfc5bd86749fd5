import dataclasses
import json

import numpy as np
import pytest

import riemtr
from riemtr.cli.solve import check_target, save_plot, save_result

ABOUT = {"problem": "made up", "parameters": {"n": 4}}


def solved(name, **parameters):
    case = riemtr.problems.build(name, rng=0, **parameters)
    return riemtr.PracticalTRM().solve(case.problem, case.start)


def test_npz_gives_back_point_and_history_without_pickles(tmp_path):
    result = solved("rayleigh", n=8)
    save_result(tmp_path / "run.npz", result, ABOUT)
    saved = riemtr.load_result(tmp_path / "run.npz")
    assert np.array_equal(saved.point, result.point)
    for name, column in result.history.items():
        same = np.array_equal(saved.history[name], column, equal_nan=column.dtype == float)
        assert same, name
    assert saved.cost == result.cost
    assert saved.certificate.verdict == "minimizer"


def test_an_archive_is_replaced_only_by_force(tmp_path):
    first, second = solved("rayleigh", n=3), solved("rayleigh", n=4)
    save_result(tmp_path / "run.npz", first, ABOUT)
    with pytest.raises(FileExistsError):
        save_result(tmp_path / "run.npz", second, ABOUT)
    assert riemtr.load_result(tmp_path / "run.npz").cost == first.cost
    save_result(tmp_path / "run.npz", second, ABOUT, force=True)
    assert riemtr.load_result(tmp_path / "run.npz").cost == second.cost


def test_json_is_strict_and_gives_back_the_same_numbers(tmp_path):
    result = solved("rayleigh", n=8)
    save_result(tmp_path / "run.json", result, ABOUT)
    saved = json.loads(
        (tmp_path / "run.json").read_text(), parse_constant=lambda constant: pytest.fail(constant)
    )
    assert saved["point"] == result.point.tolist()
    assert saved["history"]["cost"] == result.history["cost"].tolist()
    assert saved["history"]["ratio"][0] is None
    assert saved["counts"] == result.counts.as_dict()
    assert saved["converged"] is saved["certified"] is True
    certificate = result.certificate
    assert saved["certificate"] == {
        "verdict": "minimizer",
        "gradient_norm": certificate.gradient_norm,
        "min_eigenvalue": certificate.min_eigenvalue,
        "error_bound": certificate.error_bound,
        "strict": True,
        "tolerance": certificate.tolerance,
        "curvature_tolerance": certificate.curvature_tolerance,
        "contradiction": "",
        "symmetries": 0,
        "open_question": "",
        "nearness": json.loads(json.dumps(dataclasses.asdict(certificate.nearness))),
        "distance_bound": certificate.distance_bound,
        "distance_bound_is": "proved",
        "cost_bound": certificate.cost_bound,
    }


def test_what_contradicts_a_certificate_is_saved(tmp_path):
    weights = np.linspace(-1.0, 1.0, 30)
    problem = riemtr.Problem(
        riemtr.Sphere(30),
        lambda x: x @ (weights * x),
        euclidean_gradient=lambda x: 2.0 * weights * x,
        euclidean_hessian=lambda x, v: 2.0 * weights * v + v,
    )
    result = riemtr.PracticalTRM().solve(problem, rng=0)
    save_result(tmp_path / "run.json", result, ABOUT)
    saved = json.loads((tmp_path / "run.json").read_text())
    assert saved["certified"] is False
    assert "check_hessian" in saved["certificate"]["contradiction"]


@pytest.mark.parametrize("name", ["singular-vectors", "low-rank"])
def test_points_with_parts_are_saved_part_by_part(tmp_path, name):
    result = solved(name)
    save_result(tmp_path / "run.npz", result, ABOUT)
    save_result(tmp_path / "run.json", result, ABOUT)
    read = json.loads((tmp_path / "run.json").read_text())
    saved = riemtr.load_result(tmp_path / "run.npz")
    for number, part in enumerate(result.point):
        assert np.array_equal(saved.point[number], part)
        assert np.array_equal(read["point"][number], part)


def test_parameters_unknown_to_json_are_written_as_text(tmp_path):
    save_result(tmp_path / "run.json", solved("rayleigh", n=3), {"parameters": {"a": {1}}})
    assert json.loads((tmp_path / "run.json").read_text())["parameters"] == {"a": "{1}"}


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_plots_are_files_of_their_kind(tmp_path, suffix):
    magic = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}
    save_plot(tmp_path / f"run{suffix}", solved("rayleigh", n=8), "title")
    assert (tmp_path / f"run{suffix}").read_bytes().startswith(magic[suffix])


def test_targets_are_checked_before_the_run(tmp_path):
    (tmp_path / "run.npz").write_text("precious")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(FileExistsError, match="--force"):
        check_target(tmp_path / "run.npz", (".npz",), force=False)
    with pytest.raises(ValueError, match=r"must end in \.npz or \.json"):
        check_target(tmp_path / "run.txt", (".npz", ".json"), force=False)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        check_target(tmp_path / "none" / "run.npz", (".npz",), force=False)
    with pytest.raises(IsADirectoryError):
        check_target(tmp_path / "folder.npz", (".npz",), force=True)
    check_target(tmp_path / "run.npz", (".npz",), force=True)
    check_target(tmp_path / "RUN.NPZ", (".npz",), force=False)
