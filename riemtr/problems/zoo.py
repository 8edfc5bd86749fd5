"""The zoo: every registered problem of riemtr's own at two sizes, to compare solvers on."""

from __future__ import annotations

from typing import Any

from riemtr.errors import ArgumentError, unknown_name

NAME = "zoo"

# Parameters of each problem, small ones and large ones: those of the small take a few hundredths
# of a second each by the fastest solver, those of the large up to a second.
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "brockett": {"small": {}, "large": {"n": 200, "k": 6}},
    "covariance": {"small": {}, "large": {"n": 20, "samples": 500}},
    "dictionary-learning": {"small": {"n": 10, "p": 2000}, "large": {"n": 40, "p": 10000}},
    "full-dictionary": {"small": {}, "large": {"n": 24, "p": 6000}},
    "gaussian-mixture": {
        "small": {},
        "large": {"d": 5, "components": 5, "samples": 5000},
    },
    "generalised-eigenvalues": {"small": {}, "large": {"n": 400, "k": 5}},
    "geometric-median": {"small": {}, "large": {"n": 12, "count": 40}},
    "hyperbolic-embedding": {"small": {}, "large": {"count": 80}},
    "ica": {"small": {}, "large": {"n": 20, "draws": 800}},
    "invariant-subspace": {"small": {}, "large": {"n": 400, "k": 5}},
    "joint-diagonalisation": {"small": {}, "large": {"n": 30, "count": 30}},
    "joint-dictionary": {"small": {}, "large": {"n": 24, "p": 6000}},
    "karcher-mean": {"small": {}, "large": {"n": 20, "count": 40}},
    "low-rank": {"small": {}, "large": {"m": 60, "n": 50, "rank": 4}},
    "matrix-completion": {"small": {}, "large": {"m": 1000, "n": 1200, "rank": 5}},
    "max-cut": {"small": {}, "large": {"n": 1000, "rank": 20}},
    "packing": {"small": {}, "large": {"n": 60}},
    "phase-retrieval": {"small": {}, "large": {"n": 150, "m": 2000}},
    "phase-synchronisation": {"small": {}, "large": {"n": 500}},
    "pose-graph": {"small": {}, "large": {"k": 500, "degree": 3}},
    "procrustes": {"small": {}, "large": {"n": 200, "p": 20}},
    "rayleigh": {"small": {}, "large": {"n": 1000}},
    "robust-pca": {"small": {}, "large": {"n": 200, "k": 5, "samples": 1000}},
    "rotation-averaging": {"small": {}, "large": {"k": 1000}},
    "singular-vectors": {"small": {}, "large": {"m": 300, "n": 200}},
    "sparse-pca": {"small": {}, "large": {"n": 600, "k": 20, "strength": 4.0}},
    "tensor-decomposition": {"small": {}, "large": {"n": 20, "rank": 15}},
    "thomson": {"small": {}, "large": {"n": 100}},
}


def zoo(size: str | None = None) -> list[tuple[str, dict[str, Any]]]:
    """Return all problems of the zoo, as pairs of a name and parameters.

    Parameters
    ----------
    size : {"small", "large"}, optional
        Only those of this size; both if not given.

    Examples
    --------
    >>> zoo("large")[0]
    ('brockett', {'n': 200, 'k': 6})
    """
    sizes = ("small", "large")
    if size is not None and size not in sizes:
        raise unknown_name("size", size, sizes)
    chosen = sizes if size is None else (size,)
    return [(name, own[one]) for one in chosen for name, own in SIZES.items()]


def expanded(problem: Any) -> list[Any]:
    """Return what stands for a problem: the whole zoo for its name, else the problem alone.

    Examples
    --------
    >>> expanded("rayleigh"), len(expanded(("zoo", {"size": "small"}))) == len(SIZES)
    (['rayleigh'], True)
    """
    if isinstance(problem, str) and problem == NAME:
        return list(zoo())
    if not (isinstance(problem, tuple) and len(problem) == 2 and problem[0] == NAME):
        return [problem]
    other = next((key for key in problem[1] if key != "size"), None)
    if other is not None:
        only = "be left out with the zoo, whose problems have sizes of their own"
        raise ArgumentError(other, only, problem[1][other], "size=small and size=large choose")
    return list(zoo(**problem[1]))
