"""Types that a user's own type checker sees: points of native manifolds are arrays."""

from __future__ import annotations

import re

import pytest

SCRIPT = """
import riemtr
import pymanopt

problem = riemtr.Problem(riemtr.Sphere(3), lambda x: float(x @ x))
reveal_type(riemtr.PracticalTRM().solve(problem).point)
reveal_type(riemtr.Stiefel(3, 2).random_point(0))
reveal_type(riemtr.PracticalTRM().solve(problem).certificate.strict)
theirs = riemtr.Problem(pymanopt.manifolds.Sphere(3), lambda x: float(x @ x))
reveal_type(riemtr.ExactTRM().solve(theirs).cost)
riemtr.PracticalTRM(tol=1e-3)
"""


def test_what_mypy_reveals(tmp_path):
    api = pytest.importorskip("mypy.api")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    out, _, _ = api.run([str(script), "--cache-dir", str(tmp_path / "cache")])
    found = re.findall(r'Revealed type is "(.*)"', out)
    assert [re.split(r"[\[\]]", each)[0].removeprefix("builtins.") for each in found] == [
        "numpy.ndarray",
        "numpy.ndarray",
        "bool",
        "float",
    ]
    assert 'Unexpected keyword argument "tol"' in out
