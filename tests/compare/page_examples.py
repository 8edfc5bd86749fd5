"""Made-up comparisons with known figures, for the tests of the page."""

from __future__ import annotations

import numpy as np

from riemtr.compare.records import Comparison, Reach, Run

TOLERANCES = [1e-2, 1e-6]
EVIL = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>&amp;"
TRICKY = "%{x} $1 {{data}} \\1"  # to templates of plotly, JavaScript, the page and Python


def solver_run(problem, solver, start, kind, seconds, verdict="minimizer", **changes):
    """A run whose gradient norm falls by a tenth per row; figures of at most four digits."""
    reached = (
        Reach(1e-2, seconds / 4, {"costs": 3}, 3 + start),
        Reach(1e-6, seconds / 2, {"costs": 9}, 9 + 2 * start),
    )
    rows = 9
    fields = {
        "outcome": "ended",
        "status": "converged",
        "claimed": True,
        "verdict": verdict,
        "success": verdict == "minimizer",
        "distance": 1e-9 if verdict == "minimizer" else 1.0,
        "cost": 1.0 + (verdict != "minimizer"),
        "gradient_norm": 1e-8,
        "min_eigenvalue": 0.5 if verdict == "minimizer" else -0.5,
        "seconds": seconds + 1.0,  # once the gradient was small, a while for the curvature
        "iterations": rows - 1,
        "counts": {"costs": 9},
        "oracles": 19 + 5 * start,
        "reached": reached,
        "trajectory": {
            "seconds": [seconds * i / (rows - 1) for i in range(rows)],
            "oracles": list(range(rows)),
            "cost": [1.0 + 2.0**-i for i in range(rows)],
            "gradient_norm": [10.0**-i for i in range(rows)],
        },
    }
    return Run(problem, solver, start, kind, **{**fields, **changes})


def solver_comparison(starts=4):
    """Three solvers and a broken one on two problems; "blind" stays at saddle starts."""
    rng = np.random.default_rng(0)
    runs = []
    for problem in ("rayleigh", "brockett"):
        for start in range(2 * starts):
            kind = "random" if start < starts else "saddle"
            for scale, name in enumerate(("swift", "steady", "blind"), start=1):
                seconds = float(f"{scale * rng.uniform(0.5, 2.0):.3g}") * 4
                stays = name == "blind" and kind == "saddle"
                verdict = "saddle" if stays else "minimizer"
                runs.append(solver_run(problem, name, start, kind, seconds, verdict))
            broken = Run(problem, "broken", start, kind, "failed", "ValueError: <b>no</b>", False)
            runs.append(broken)
    settings = {
        "command": "riemtr compare rayleigh brockett",
        "problems": {"rayleigh": {"n": 5}, "brockett": {"n": 6, "k": 2}},
        "solvers": {name: f"the {name} one" for name in ("swift", "steady", "blind", "broken")},
        "seed": 7,
        "tolerances": TOLERANCES,
    }
    return Comparison(settings, {"python": "3.x", "cores": 2}, tuple(runs))


def recovery_comparison(known=True):
    """Two recovery methods, as compare_recovery reports them."""
    runs = []
    for start in range(3):
        for name, error in (("exact", 1e-15), ("near", 0.03)):
            exact = name == "exact"
            runs.append(
                Run(
                    "dictionary-recovery",
                    name,
                    start,
                    "random",
                    "ended",
                    "converged",
                    True,
                    verdict="minimizer" if exact else "not-critical",
                    success=exact if known else None,
                    distance=error if known else None,
                    cost=0.35,
                    seconds=1.0 + start,
                    iterations=5,
                    details={
                        "rows": 4,
                        "rows_certified": 4 * exact,
                        "median_excess": 0.0 if exact else 0.014,
                        "dictionary_error": error if known else None,
                        "rounded_error": 1e-15 if known else None,
                        "l1_objective": 0.35,
                    },
                )
            )
    return Comparison({"tolerances": []}, {}, tuple(runs))


def hostile_comparison():
    """Whatever a user can name, named to do harm."""
    run = solver_run(EVIL, EVIL, 0, "random", 1.0, status=EVIL, details={EVIL: 1.5})
    failed = Run(EVIL, TRICKY, 0, "random", "failed", EVIL, False)
    solvers = {EVIL: EVIL, TRICKY: TRICKY}
    settings = {"command": EVIL, "solvers": solvers, EVIL: {EVIL: EVIL}, "tolerances": [1e-6]}
    return Comparison(settings, {EVIL: [EVIL]}, (run, failed))
