"""Comparisons that were stopped: what is kept, and what continues them."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import numpy as np
import pytest

import riemtr
from riemtr.compare import compare, compare_recovery, journal, load
from riemtr.files import plain
from tests.compare.solvers_of_mine import Elsewhere, GradientDescent

RAYLEIGH = ("rayleigh", {"n": 6})
SOLVERS = {"good": "practical", "mine": GradientDescent, "no": Elsewhere, "cg": "pymanopt-cg"}
FEW = {"starts": 2, "saddles": 1}


def timeless(found):
    """All that is saved of a comparison, but for times and addresses."""

    def without(value):
        if isinstance(value, dict):
            return {key: without(part) for key, part in value.items() if key != "seconds"}
        return [without(part) for part in value] if isinstance(value, (list, tuple)) else value

    text = json.dumps(plain(asdict(found)), default=str)
    return without(json.loads(re.sub(r"[\d.]+ seconds| at 0x\w+", "", text)))


def interrupt_after(count):
    """What stands for Ctrl-C after so many runs."""

    def progress(now):
        if now.done == count and now.detail and not isinstance(now.detail, str):
            raise KeyboardInterrupt

    return progress


@pytest.fixture
def counted(monkeypatch):
    """The runs that were really made."""
    made = []

    def measured(task, one, measure=riemtr.compare.runner.measure):
        made.append((task.label, one.name, task.number))
        return measure(task, one)

    monkeypatch.setattr(riemtr.compare.runner, "measure", measured)
    return made


@pytest.mark.parametrize("repeats", [1, 2])
def test_what_was_stopped_continues_as_if_it_had_not_been(tmp_path, counted, repeats):
    problems = [RAYLEIGH, ("brockett", {"n": 4})]
    asked = {**FEW, "repeats": repeats}
    whole = compare(problems, SOLVERS, **asked)
    counted.clear()
    path = tmp_path / "new" / "runs.sqlite"
    stop = interrupt_after(4)
    part = compare(problems, SOLVERS, **asked, store=path, progress=stop)
    assert part.settings["interrupted"]
    assert len(part.runs) == len(load(path).runs) == 4
    kept, made = load(path).runs, len(counted)
    resumed = compare(problems, SOLVERS, **asked, store=path, resume=True)
    assert timeless(resumed) == timeless(whole)
    assert resumed.runs[:4] == kept  # times and all
    done = {(run.problem, run.solver, run.start) for run in kept}
    assert not done & set(counted[made:])
    # Now nothing is missing, and nothing but what does not apply is tried.
    made = len(counted)
    again = compare(problems, SOLVERS, **asked, store=path, resume=True)
    assert again.runs == load(path).runs
    assert [run.seconds for run in again.runs] == [run.seconds for run in resumed.runs]
    assert {name for _, name, _ in counted[made:]} == {"no"}


def test_recovery_methods_continue_too(tmp_path):
    asked = {"starts": 2, "n": 5, "p": 1000}
    whole = compare_recovery(["riemtr", "msp"], **asked)
    path = tmp_path / "runs.sqlite"
    stop = interrupt_after(3)
    part = compare_recovery(["riemtr", "msp"], **asked, store=path, progress=stop)
    resumed = compare_recovery(["riemtr", "msp"], **asked, store=path, resume=True)
    assert timeless(resumed) == timeless(whole)
    assert resumed.runs[:3] == part.runs
    with pytest.raises(ValueError, match="data, p: 1000 there, 1100 here"):
        compare_recovery(["riemtr", "msp"], starts=2, n=5, p=1100, store=path, resume=True)


def test_the_pixels_of_an_image_are_looked_at(tmp_path):
    image = riemtr.data.load_image("camera")[:80, :80]
    asked = {"starts": 1, "store": tmp_path / "runs.sqlite"}
    kept = compare_recovery(["msp"], image=image, **asked)
    again = compare_recovery(["msp"], image=image.copy(), resume=True, **asked)
    assert again.runs == kept.runs
    with pytest.raises(ValueError, match="mean size of the image's data: 0"):
        compare_recovery(["msp"], image=image**2, resume=True, **asked)


class Descent(GradientDescent):
    """Of the same name, but not the same code."""

    def solve(self, problem, start, rng=None):
        return super().solve(problem, start, rng).point


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problems": ("rayleigh", {"n": 7})}, "problems: rayleigh:n=6 there, rayleigh:n=7 here"),
        ({"problems": ("covariance", {})}, "problems: rayleigh:n=6 there, covariance here"),
        ({"rng": 1}, "seed: 0 there, 1 here"),
        ({"starts": 3}, "starts: 2 there, 3 here"),
        ({"tolerances": [1e-3]}, "tolerances: "),
        ({"max_seconds": 3.0}, "max_seconds: 10.0 there, 3.0 here"),
        ({"repeats": 2}, "repeats: 1 there, 2 here"),
        ({"solvers": ["practical"]}, "solvers: practical, mine there, practical here"),
        (
            {"solvers": {"practical": riemtr.ExactTRM(), "mine": GradientDescent}},
            "solvers, practical, type: riemtr",
        ),
        (
            {"solvers": {"practical": "practical", "mine": lambda: GradientDescent(step=0.2)}},
            "solvers, mine, settings: ",
        ),
        ({"solvers": {"practical": "practical", "mine": Descent}}, "solvers, mine, type: "),
    ],
)
def test_another_comparison_is_refused_and_nothing_is_lost(tmp_path, change, message):
    path = tmp_path / "runs.sqlite"
    asked = {
        "problems": RAYLEIGH,
        "solvers": {"practical": "practical", "mine": lambda: GradientDescent(step=0.1)},
        **FEW,
    }
    compare(**asked, store=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="belongs to another run") as error:
        compare(**{**asked, **change}, store=path, resume=True)
    assert message in str(error.value)
    with pytest.raises(FileExistsError, match="holds 6 records already: continue it with resume"):
        compare(**asked, store=path)
    assert path.read_bytes() == before
    compare(**asked, store=path, resume=True)


def test_other_code_data_and_versions_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "runs.sqlite"
    matrix = np.diag([1.0, 2.0, 3.0])

    class Mine:
        def solve(self, problem, start):
            return start

    def run(resume=True):
        problem = riemtr.Problem(riemtr.Sphere(3), lambda x: x @ matrix @ x)
        asked = {"starts": 1, "saddles": 0, "store": path, "resume": resume}
        return compare({"p": problem}, {"mine": Mine}, **asked)

    kept = run(resume=False)
    assert run().runs == kept.runs
    with monkeypatch.context() as changed:
        changed.setattr(Mine, "solve", lambda self, problem, start: -start)
        with pytest.raises(ValueError, match="solvers, mine, code: "):
            run()
    with monkeypatch.context() as changed:
        changed.setattr(journal, "environment", lambda: {"packages": {"riemtr": "0.0.1"}})
        with pytest.raises(ValueError, match=r"environment: python, packages, .* there, packages"):
            run()
    matrix[0, 0] = 9.0
    with pytest.raises(ValueError, match="problems, p, cost at a random point: "):
        run()


def test_the_order_of_solvers_is_free(tmp_path):
    asked = {**FEW, "store": tmp_path / "runs.sqlite"}
    compare(RAYLEIGH, ["practical", "l-bfgs-b"], **asked)
    found = compare(RAYLEIGH, ["l-bfgs-b", "practical"], resume=True, **asked)
    assert [run.solver for run in found.runs[:2]] == ["l-bfgs-b", "practical"]


def test_resuming_needs_something_to_resume(tmp_path):
    with pytest.raises(ValueError, match="resume must come with a store"):
        compare(RAYLEIGH, "practical", **FEW, resume=True)
    # A store that is not there yet has nothing in it, as that of a sweep.
    found = compare(RAYLEIGH, "practical", **FEW, store=tmp_path / "runs.sqlite", resume=True)
    assert len(found.runs) == 3


def test_a_solver_that_cannot_be_made_has_an_identity(tmp_path):
    asked = {**FEW, "store": tmp_path / "runs.sqlite"}
    solvers = {"good": "practical", "none": lambda: {}["licence"]}
    assert compare(RAYLEIGH, solvers, **asked).runs[1].outcome == "failed"
    assert len(compare(RAYLEIGH, solvers, **asked, resume=True).runs) == 6
