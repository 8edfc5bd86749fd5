"""Recovery methods side by side: what each finds, and what becomes of those that do not end."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, suppress
from dataclasses import replace

import numpy as np
import pytest

import riemtr
from riemtr.compare import records, recovery_methods
from riemtr.compare.recovery_methods import METHODS, compare_recovery
from riemtr.compare.recovery_peers import Estimate

ROUNDED = ("riemtr", "riemtr-exact", "pymanopt-tr")


@pytest.fixture(scope="module")
def comparison():
    seen = []
    found = compare_recovery(
        starts=2, rng=3, n=6, p=1500, progress=lambda now: seen.append((now.done, now.total))
    )
    assert seen == [(i, 14) for i in range(1, 15)]
    return found


def test_every_method_runs_on_every_draw(comparison):
    assert comparison.solvers == list(METHODS)
    assert {run.outcome for run in comparison.runs} == {"ended"}
    assert {run.problem for run in comparison.runs} == {"dictionary-recovery"}
    assert [run.start for run in comparison.runs] == [0] * 7 + [1] * 7
    assert all(run.claimed and run.seconds > 0 and run.iterations > 0 for run in comparison.runs)


@pytest.mark.parametrize("name", ROUNDED)
def test_methods_that_round_recover_exactly(comparison, name):
    for run in comparison.runs:
        if run.solver == name:
            assert run.certified
            assert run.success
            assert run.distance < 1e-12
            assert run.details["rows_certified"] == 6


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(ROUNDED)))
def test_methods_that_do_not_round_come_near(comparison, name):
    for run in comparison.runs:
        if run.solver == name:
            assert run.verdict == "not-critical"
            assert run.success is False
            assert 1e-4 < run.distance < 0.2
            assert run.details["dictionary_error"] == run.distance
            assert run.details["rounded_error"] < 1e-12  # that is all they lack
            assert run.details["rows_certified"] < 6


def test_settings_reproduce_it(comparison):
    settings = comparison.settings
    parameters = settings["problems"]["dictionary-recovery"]
    assert parameters == {"n": 6, "p": 1500, "theta": 0.2, "condition": 10.0, "noise": 0.0}
    assert settings["solvers"]["msp"].startswith("matching, stretching, projection")
    only = compare_recovery(["msp"], starts=2, rng=3, n=6, p=1500)
    again = eval(only.settings["command"], {"riemtr": riemtr})
    for found in (only, again):
        runs = [replace(run, seconds=0.0) for run in comparison.runs if run.solver == "msp"]
        assert [replace(run, seconds=0.0) for run in found.runs] == runs


def test_saved_and_loaded(comparison, tmp_path):
    assert records.load(comparison.save(tmp_path / "found.json")) == comparison


def test_all_get_the_same_whitened_data_and_cannot_spoil_them():
    seen = []

    def spy():
        def method(data, seed):
            seen.append((data.copy(), seed))
            data[:] = 0.0
            return Estimate(np.eye(len(data)), False, "looked", 1)

        return method

    found = compare_recovery({"one": spy, "two": spy}, starts=2, n=4, p=300)
    assert np.array_equal(seen[0][0], seen[1][0])
    assert seen[0][1] == seen[1][1] != seen[2][1]
    assert not np.array_equal(seen[0][0], seen[2][0])
    np.testing.assert_allclose(seen[0][0] @ seen[0][0].T / 300, np.eye(4), atol=1e-12)
    assert {(run.status, run.claimed) for run in found.runs} == {("looked", False)}


def test_ctrl_c_keeps_what_is_finished():
    def interrupted():
        raise KeyboardInterrupt

    methods = {"msp": METHODS["msp"], "ctrl-c": interrupted}
    found = compare_recovery(methods, starts=2, n=4, p=300)
    assert [run.solver for run in found.runs] == ["msp"]
    assert found.settings["interrupted"]
    with pytest.raises(KeyboardInterrupt):
        compare_recovery({"ctrl-c": interrupted}, starts=1, n=4, p=300)


def test_ctrl_c_that_a_method_keeps_to_itself_is_noticed():
    def caught():
        def method(data, seed):
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
            return METHODS["msp"]()(data, seed)

        return method

    methods = {"msp": METHODS["msp"], "caught": caught}
    found = compare_recovery(methods, starts=2, n=4, p=300)
    assert [run.solver for run in found.runs] == ["msp"]
    assert found.settings["interrupted"]


def test_the_environment_is_that_of_the_runs(monkeypatch):
    held = []

    @contextmanager
    def holding(entries):
        held.append(entries)
        yield
        held.clear()

    monkeypatch.setattr(recovery_methods, "blas_threads_for", holding)
    monkeypatch.setattr(recovery_methods, "environment", lambda *names: {"held": list(held)})
    assert compare_recovery(["msp"], starts=1, n=4, p=300).environment == {"held": [1200]}


def test_what_a_call_would_do_otherwise_has_no_command():
    own = {"msp": lambda: METHODS["msp"]()}
    assert compare_recovery(own, starts=1, n=4, p=300).settings["command"] is None


@pytest.mark.parametrize("name", METHODS)
def test_runs_out_of_time(name):
    run = compare_recovery([name], starts=1, n=6, p=500, max_seconds=1e-9).runs[0]
    assert run.outcome == "timed out"


def test_a_method_that_never_ends_is_stopped():
    def endless():
        def method(data, seed):
            while True:
                pass

        return method

    methods = {"endless": endless, "msp": METHODS["msp"]}
    stopped, ended = compare_recovery(methods, starts=1, n=4, p=300, max_seconds=0.5).runs
    assert (stopped.outcome, stopped.claimed, stopped.verdict) == ("timed out", False, None)
    assert stopped.status == "stopped after 0.5 s, without a result"
    assert ended.outcome == "ended"


def test_a_failing_method_does_not_stop_the_others():
    def broken():
        raise RuntimeError("no start")

    def wrong():
        return lambda data, seed: Estimate(np.ones((2, 3)), True, "", 0)

    def leaving():
        return lambda data, seed: sys.exit("bye")

    methods = {"broken": broken, "wrong": wrong, "leaving": leaving, "msp": METHODS["msp"]}
    runs = compare_recovery(methods, starts=1, n=4, p=300).runs
    assert [run.outcome for run in runs] == ["failed", "failed", "failed", "ended"]
    assert runs[2].status == "SystemExit: bye"
    assert runs[0].status == "RuntimeError: no start"
    assert "rows must be 4 directions" in runs[1].status


@pytest.mark.parametrize(
    ("name", "module"), [("picard-o", "picard"), ("fastica", "sklearn.decomposition")]
)
def test_a_missing_package_is_a_failure_that_names_the_extra(name, module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    run = compare_recovery([name], starts=1, n=4, p=300).runs[0]
    assert run.outcome == "failed"
    assert "pip install 'riemtr[ica]'" in run.status


def test_ica_that_does_not_converge_says_so(monkeypatch):
    monkeypatch.setattr("riemtr.compare.recovery_peers.MAX_ITERATIONS", 1)
    for run in compare_recovery(["picard-o", "fastica"], starts=1, n=6, p=500).runs:
        assert not run.claimed
        assert "did not converge" in run.status


def test_noise_leaves_an_error_of_its_size():
    errors = []
    for noise in (1e-4, 1e-2):
        run = compare_recovery(["riemtr"], starts=1, n=6, p=1500, noise=noise).runs[0]
        assert run.success is False
        errors.append(run.distance)
    assert errors[0] < 1e-3 < errors[1] < 0.1


def test_patches_of_an_image_have_no_truth():
    image = np.random.default_rng(0).exponential(size=(160, 160)).cumsum(axis=1)
    image[::8] = 0.0  # eight pixels of every patch: rank 56
    found = compare_recovery(["msp"], starts=1, image=image)
    run = found.runs[0]
    described = {"image": "array (160, 160)", "n": 56, "p": 400}
    assert found.settings["problems"]["dictionary-recovery"] == described
    assert found.settings["command"] is None
    assert (run.outcome, run.success, run.distance) == ("ended", None, None)
    assert run.details["rows"] == 56


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"methods": ["riemtr", "nothing"]}, "methods must be one of 'adm', .*got 'nothing'"),
        ({"methods": ["mps"]}, r"got 'mps': did you mean 'msp'\?"),
        ({"rng": -1}, "rng must be an integer of at least 0; got -1"),
        ({"n": 0}, "n must be"),
        ({"image": "camera", "n": 6}, "n must be left out where image is given.*got 6: leave out"),
        ({"image": "camera", "noise": 0.0}, "noise must be left out where image is given"),
        ({"methods": "msp"}, "methods must be a list of at least one name; got 'msp'"),
        ({"methods": []}, "methods must be a list of at least one name"),
        ({"methods": ["msp", "msp"]}, "methods must have names of their own; 'msp' comes twice"),
        ({"starts": 0}, "starts must be"),
        ({"max_seconds": None}, "max_seconds must be a positive finite number or inf; got None"),
        ({"max_seconds": -1.0}, r"max_seconds must be a positive finite number or inf; got -1\.0"),
        ({"theta": 2.0}, "theta must be"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        compare_recovery(**arguments)
