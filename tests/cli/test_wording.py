"""What is reworded must occur in what the library says: a new text there needs a new one here."""

from __future__ import annotations

import re

import numpy as np
import pytest

import riemtr
from riemtr.cli.wording import COMPARE, RECOVER, SOLVE, SWEEP, in_options, reworded
from riemtr.compare import compare, compare_recovery
from riemtr.compare.folder import check_folder, journal_path
from riemtr.recovery.datafiles import read_data
from riemtr.sweep import sweep
from riemtr.sweep.phase_transition import PhaseTransition
from tests.sweep import tasks

WIDE = np.random.default_rng(0).standard_normal((2, 60))
QUICK = {"starts": 1, "saddles": 0}


def occupied_folder(folder):
    (folder / "comparison.json").write_text("{}")
    check_folder(folder)


def same_runs_twice(folder):
    for _ in range(2):
        compare("rayleigh", ["lbfgs"], **QUICK, store=folder / "runs.jsonl")


def other_comparison(folder):
    for seed in (0, 1):
        store = folder / "runs.jsonl"
        compare("rayleigh", ["lbfgs"], **QUICK, seed=seed, store=store, resume=True)


def same_problem_twice(folder):
    compare(["rayleigh", "rayleigh"], ["lbfgs"], **QUICK)


def same_solver_twice(folder):
    compare("rayleigh", ["lbfgs", "lbfgs"], **QUICK)


def read(source, patch_size=None, **options):
    read_data(str(source), patch_size=patch_size, **options)


def archive(folder, **options):
    np.savez(folder / "two.npz", first=WIDE, second=WIDE)
    read(folder / "two.npz", **options)


def array(folder, **options):
    np.save(folder / "one.npy", WIDE)
    read(folder / "one.npy", **options)


def other_run(folder):
    for seed in (0, 1):
        riemtr.recover_dictionary(WIDE, rng=seed, checkpoint=folder / "run.npz")


def repeated(folder):
    for _ in range(2):
        sweep(tasks.draw, {"n": [1]}, store=folder / "cells.jsonl", backend="serial")


def changed(folder):
    for task in (tasks.draw, tasks.products):
        path = folder / "cells.jsonl"
        sweep(task, {"n": [1]}, store=path, resume=True, name="the same", backend="serial")


def on(**options):
    """A sweep with these options of the backend."""
    return lambda folder: sweep(tasks.draw, {"n": [1]}, **options)


RAISED = [
    (COMPARE, "pass force=True to replace it", occupied_folder),
    (COMPARE, r"\bwith resume\b", same_runs_twice),
    (
        COMPARE,
        "^resume continues what force=True",
        lambda folder: journal_path(folder, force=True, resume=True),
    ),
    (COMPARE, "choose another store", other_comparison),
    (COMPARE, "curvature_tolerance must", lambda _: compare("rayleigh", curvature_tolerance=0)),
    (COMPARE, "max_seconds must", lambda _: compare("rayleigh", max_seconds=0)),
    (COMPARE, "max_seconds must", lambda _: compare_recovery(max_seconds=0)),
    (COMPARE, "tolerances must", lambda _: compare("rayleigh", tolerances=[0.0])),
    (COMPARE, "methods must", lambda _: compare_recovery(["nothing"])),
    (COMPARE, "starts and saddles must", lambda _: compare("rayleigh", starts=0, saddles=0)),
    (COMPARE, ": pass a dict by name", same_solver_twice),
    (COMPARE, ": pass a dict by label", same_problem_twice),
    (COMPARE, r"\[1e-2, 1e-6\]", lambda _: compare("rayleigh", tolerances=[0.0])),
    (RECOVER, "pass rank='auto'", lambda _: riemtr.precondition(np.vstack([WIDE, WIDE]))),
    (RECOVER, "pass a rank well below", lambda _: riemtr.precondition(WIDE.T)),
    (RECOVER, "pass a rank well below", lambda _: riemtr.recover_dictionary(WIDE.T, rank="auto")),
    (RECOVER, "rank='auto'", lambda _: riemtr.precondition(np.vstack([WIDE, WIDE]))),
    (RECOVER, "transpose Y if its samples are rows", lambda _: riemtr.precondition(WIDE.T)),
    (RECOVER, "patch_size", lambda folder: array(folder, patch_size=3)),
    (RECOVER, "variable must", archive),
    (RECOVER, "variable, of", lambda folder: archive(folder, variable="third")),
    (RECOVER, "variable is", lambda folder: array(folder, variable="first")),
    (RECOVER, "variable is", lambda _: read("camera", variable="first")),
    (RECOVER, "transpose is", lambda _: read("camera", transpose=True)),
    (RECOVER, "rank must", lambda _: riemtr.precondition(WIDE, rank="many")),
    (RECOVER, "rank must", lambda _: riemtr.precondition(WIDE, rank=3)),
    (RECOVER, "n_jobs", lambda _: riemtr.recover_dictionary(WIDE, n_jobs=0)),
    (RECOVER, "rng must", lambda _: riemtr.recover_dictionary(WIDE, rng=-1)),
    (
        RECOVER,
        r"a numpy\.random\.Generator or None; ",
        lambda _: riemtr.recover_dictionary(WIDE, rng=-1),
    ),
    (
        RECOVER,
        "pass the same data and settings to continue it, or another path to start anew",
        other_run,
    ),
    (SWEEP, r"\bwith resume\b", repeated),
    (SWEEP, "choose another store to run", changed),
    (SWEEP, "accept_changes=True", changed),
    *[
        (SWEEP, r"^(scheduler|workers|noise|mu) (?=is|must)", refused)
        for refused in (
            on(backend="serial", scheduler="tcp://a:1"),
            on(backend="dask", scheduler="tcp://a:1", workers=1),
            on(backend="processes", workers=0),
            lambda _: PhaseTransition(noise=-1.0),
            lambda _: PhaseTransition(mu=0.0),
        )
    ],
    (
        SWEEP,
        r"^condition_number (?=must)",
        lambda _: PhaseTransition(dictionary="conditioned", condition_number=0.5),
    ),
    (SWEEP, "must be 1 or None where backend", on(backend="serial", workers=2)),
    (SWEEP, r"\bbackend='", on(backend="serial", workers=2)),
    (SWEEP, r"\bbackend='", on(backend="serial", scheduler="tcp://a:1")),
    (SWEEP, r"^grid (?=must)", lambda _: sweep(tasks.draw, {"m": [1]}, backend="serial")),
]


@pytest.mark.parametrize(("table", "key", "provoke"), RAISED)
def test_what_is_reworded_is_what_the_library_raises(table, key, provoke, tmp_path):
    with pytest.raises((ValueError, OSError), match=key):
        provoke(tmp_path)


@pytest.mark.parametrize("key", SOLVE)
def test_what_is_reworded_is_what_a_run_says(key):
    assert any(re.search(key, str(status)) for status in riemtr.Status)


@pytest.mark.parametrize("table", [COMPARE, RECOVER, SWEEP])
def test_every_key_is_looked_for(table):
    assert {key for one, key, _ in RAISED if one is table} == set(table)


def test_errors_are_not_taken_for_options():
    said = "the Dask scheduler is gone; continue with resume"
    assert in_options(said, SWEEP) == "the Dask scheduler is gone; continue with --resume"


def test_only_the_kinds_asked_for_are_reworded():
    with pytest.raises(ValueError, match="--jobs must"), reworded(RECOVER, ValueError):
        raise ValueError("n_jobs must")
    with pytest.raises(OSError, match="n_jobs must"), reworded(RECOVER, ValueError):
        raise OSError("n_jobs must")
