"""The package as Python looks at it: complete with the extras, whole without them."""

from __future__ import annotations

import inspect
import subprocess
import sys
import textwrap

import riemtr


def run_without_scikit_learn(code):
    blocked = "import sys; sys.modules['sklearn'] = None; import riemtr\n"
    command = [sys.executable, "-c", blocked + textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_everything_listed_is_there():
    assert "CompleteDictionaryLearning" in riemtr.__all__
    assert all(hasattr(riemtr, name) for name in riemtr.__all__)


def test_without_an_extra_the_package_can_be_looked_at():
    process = run_without_scikit_learn(
        """
        import inspect, pydoc
        from riemtr import *
        assert PracticalTRM is riemtr.PracticalTRM
        assert not hasattr(riemtr, "CompleteDictionaryLearning")
        assert getattr(riemtr, "CompleteDictionaryLearning", None) is None
        assert "PracticalTRM" in dict(inspect.getmembers(riemtr))
        assert "PracticalTRM" in pydoc.render_doc(riemtr)
        """
    )
    assert process.returncode == 0, process.stderr


def test_asking_for_what_is_missing_names_the_extra():
    for code, kind in (
        ("riemtr.CompleteDictionaryLearning", "AttributeError"),
        ("from riemtr import CompleteDictionaryLearning", "riemtr.errors.MissingExtraError"),
    ):
        last = run_without_scikit_learn(code).stderr.splitlines()[-1]
        assert last.startswith(f"{kind}: ")
        assert "pip install 'riemtr[learn]'" in last


def test_comparisons_and_sweeps_are_called_by_their_names():
    found = riemtr.compare(("rayleigh", {"n": 4}), ["practical"], starts=1, saddles=0)
    assert found.runs[0].certified
    assert riemtr.compare.load is not None
    assert "starts" in inspect.signature(riemtr.compare).parameters
    code = """
        import riemtr
        def task(rng, n):
            return {"twice": 2 * n}
        assert list(riemtr.sweep(task, {"n": [1]}).columns["twice"]) == [2]
        assert riemtr.sweep.read is not None
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
