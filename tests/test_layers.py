"""Imports go downward only: the layers of the architecture, read off the source."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "riemtr"
LAYERS = {
    "manifolds": 0,
    "data": 0,
    "problem": 1,
    "subproblem": 2,
    "problems": 2,
    "solvers": 3,
    "recovery": 4,
    "interop": 5,
    "testing": 5,
    "compare": 6,
    "sweep": 6,
    "paper": 7,
    "cli": 8,
}
# They serve every layer, and know none.
SHARED = {
    "arguments",
    "blas_threads",
    "environment",
    "errors",
    "executors",
    "files",
    "identity",
    "imports",
    "interrupts",
    "page",
    "progress",
    "store",
    "summary",
}
# Ground truth must never leak into a stopping rule.
FORBIDDEN = {"solvers": {"problems", "data"}}
EXTRAS = {
    "PIL",
    "clarabel",
    "dask",
    "distributed",
    "joblib",
    "matplotlib",
    "picard",
    "plotly",
    "rich",
    "skimage",
    "sklearn",
    "threadpoolctl",
    "typer",
}
# Modules that are about an extra, and that nothing imports before a user asks for them.
ABOUT = {"interop/sklearn.py": {"sklearn", "joblib"}}
# They join the layers for the user, and stand above all of them.
FRONTS = {"__init__.py", "__main__.py", "theory.py"}
SOURCES = sorted(path for path in PACKAGE.rglob("*.py"))


def imported(node, path):
    """Dotted names an import statement refers to."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    base = node.module or ""
    if node.level:
        parts = path.relative_to(ROOT).with_suffix("").parts[: -node.level]
        base = ".".join([*parts, base]).rstrip(".")
    return [f"{base}.{alias.name}" for alias in node.names]


def imports(path, *, top_level_only=False):
    """Yield the dotted names a module imports, those for type checkers aside."""
    pending = list(ast.parse(path.read_text(), str(path)).body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from imported(node, path)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
        elif top_level_only and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        else:
            pending.extend(ast.iter_child_nodes(node))


def package_of(path):
    """The part of riemtr a file belongs to; None for riemtr's own front."""
    parts = path.relative_to(PACKAGE).parts
    if len(parts) == 1:
        return None if parts[0] in FRONTS else path.stem
    return parts[0]


def extras(path):
    """The extras that a module imports as soon as it is imported itself."""
    return {name.split(".")[0] for name in imports(path, top_level_only=True)} & EXTRAS


def violations(path):
    """What a file imports against the rules."""
    mine = package_of(path)
    found = []
    for name in imports(path):
        root, _, rest = name.partition(".")
        if root in ("tests", "benchmarks"):
            found.append(f"{name}: no test or benchmark is part of the package")
        if root != "riemtr" or mine is None:
            continue
        theirs = rest.split(".")[0]
        if theirs == mine or theirs in SHARED or (mine == "cli" and theirs in ("", "__version__")):
            continue
        if mine in SHARED or theirs not in LAYERS:
            found.append(f"{name}: {theirs!r} is on no layer below {mine!r}")
        elif LAYERS[theirs] >= LAYERS[mine]:
            found.append(f"{name}: {mine!r} may import from lower layers only")
        elif theirs in FORBIDDEN.get(mine, ()):
            found.append(f"{name}: {mine!r} must not know {theirs!r}")
    return found


def test_imports_go_downward_only():
    parts = {package_of(path) for path in SOURCES}
    assert parts <= {None, *SHARED, *LAYERS}, "every part has a layer"
    broken = {str(path): violations(path) for path in SOURCES}
    assert {path: found for path, found in broken.items() if found} == {}


def test_extras_are_imported_where_they_are_used():
    early = {}
    for path in SOURCES:
        where = str(path.relative_to(PACKAGE))
        if package_of(path) != "cli":
            early[where] = extras(path) - ABOUT.get(where, set())
    assert {where: found for where, found in early.items() if found} == {}, (
        "extras must be imported inside the function that needs them"
    )


def test_works_without_any_extra():
    code = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(EXTRAS)!r}))
import riemtr
case = riemtr.problems.build("rayleigh", rng=0, n=5)
assert riemtr.PracticalTRM().solve(case.problem, rng=0).converged
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("where", "line", "broken"),
    [
        ("solvers", "from riemtr.problems import build", True),
        ("solvers", "from riemtr import problems", True),
        ("solvers", "from riemtr.data.images import patches", True),
        ("solvers", "from ..data import patches", True),
        ("solvers", "def f():\n    import riemtr.recovery", True),
        ("solvers", "from riemtr.subproblem import Step", False),
        ("solvers", "from . import radius", False),
        ("solvers", "from riemtr.errors import require", False),
        ("subproblem", "from riemtr.problems import build", True),
        ("problems", "import riemtr.subproblem", True),
        ("problems", "from riemtr.data import patches", False),
        ("manifolds", "from riemtr.data import patches", True),
        ("manifolds", "import numpy, tests.manifolds", True),
        ("cli", "from benchmarks import timing", True),
        ("compare", "from riemtr.sweep import grid", True),
        ("compare", "from riemtr.interop.pymanopt import pymanopt_solvers", False),
        ("sweep", "from riemtr.recovery import pipeline", False),
        ("recovery", "from riemtr.paper.chart import frame_of", True),
        ("paper", "from riemtr.recovery import precondition", False),
        ("problem", "import riemtr", True),
        ("testing", "from riemtr.recovery import recover_dictionary", False),
        ("testing", "from riemtr.interop.pymanopt import to_pymanopt", True),
        ("problem", "if TYPE_CHECKING:\n    from riemtr.solvers import Result", False),
    ],
)
def test_the_rules_catch_what_breaks_them(where, line, broken, monkeypatch):
    path = PACKAGE / where / "example.py"
    monkeypatch.setattr(Path, "read_text", lambda self: line)
    assert bool(violations(path)) == broken


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import matplotlib.pyplot as plt", {"matplotlib"}),
        ("try:\n    import rich\nexcept ImportError:\n    rich = None", {"rich"}),
        ("class A:\n    import sklearn", {"sklearn"}),
        ("def f():\n    import joblib", set()),
    ],
)
def test_extras_are_seen_at_top_level_only(line, found, monkeypatch):
    monkeypatch.setattr(Path, "read_text", lambda self: line)
    assert extras(PACKAGE / "data" / "example.py") == found
