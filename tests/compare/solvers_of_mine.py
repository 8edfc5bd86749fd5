"""Solvers as users write them, for import paths."""

from types import SimpleNamespace

import numpy as np

import riemtr


class GradientDescent:
    """Knows nothing of riemtr's results, and takes the tolerance of the comparison."""

    def __init__(self, tolerance=1e-3, step=0.3):
        self.tolerance = tolerance
        self.step = step

    def solve(self, problem, start, rng=None):
        point = start
        while True:
            here = problem.at(point)
            if here.gradient_norm <= self.tolerance:
                return SimpleNamespace(point=point, converged=True)
            point = problem.manifold.retraction(point, -self.step * here.gradient)


class Failing:
    def solve(self, problem, start):
        raise ZeroDivisionError("a bug\nof mine")


class Hanging:
    """Catches whatever it can, and knows no time limit."""

    def solve(self, problem, start):
        while True:
            try:
                problem.at(start)
            except Exception:
                continue


class NotMade:
    """Cannot even be made."""

    def __init__(self):
        raise RuntimeError("no licence")


class Nonsense:
    def solve(self, problem, start):
        return SimpleNamespace(point=np.full(3, np.nan))


class Interrupted:
    """Stands for Ctrl-C in the middle of a run."""

    def solve(self, problem, start):
        raise KeyboardInterrupt


class Elsewhere:
    def solve(self, problem, start):
        raise riemtr.compare.DoesNotApply("only for tori")


def trust_region(tolerance, max_seconds):
    """A factory."""
    return riemtr.PracticalTRM(tolerance=tolerance, max_seconds=max_seconds)


made = riemtr.PracticalTRM(tolerance=1e-9)
number = 3
