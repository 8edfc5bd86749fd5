"""A comparison with numbers chosen by hand."""

from riemtr.compare import Comparison, Reach, Run


def run(solver, start, need=None, *, kind="random", problem="easy", **changes):
    """A run that reached 1e-6 with so many oracle calls, at 10 ms each; None: it did not.

    To its end it took 10 calls more.
    """
    reached = () if need is None else (Reach(1e-6, need / 100, {"costs": need}, need),)
    known = {
        "outcome": "ended",
        "status": "as it should",
        "claimed": need is not None,
        "verdict": "not-critical" if need is None else "minimizer",
        "success": need is not None,
        "seconds": 1.0 if need is None else (need + 10) / 100,
        "counts": {"costs": 9 if need is None else need + 10},
        "oracles": 9 if need is None else need + 10,
        "reached": reached,
        "trajectory": {
            "seconds": [0.0, 0.5, 1.0],
            "oracles": [0, 5, 9],
            "cost": [1.0, 0.5, 0.1],
            "gradient_norm": [1.0, 1e-3, 0.0],
        },
    }
    return Run(problem, solver, start, kind, **{**known, **changes})


def comparison(*runs, **settings):
    """All of them, in a comparison to 1e-6."""
    names = dict.fromkeys(one.solver for one in runs)
    return Comparison(
        {"tolerances": [1e-2, 1e-6], "solvers": {n: n for n in names}, "problems": {}, **settings},
        {"python": "3"},
        tuple(runs),
    )


def example():
    """Three instances: fast wins two and is deceived at the third, slow solves all."""
    return comparison(
        run("fast", 0, 10),
        run("slow", 0, 20),
        run("fast", 1, 10),
        run("slow", 1, 40),
        run("fast", 2, 1, kind="saddle", verdict="saddle", success=False),
        run("slow", 2, 30, kind="saddle"),
    )
