"""Watching a solver that keeps no history of its own: a problem that counts and takes notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from riemtr.problem import Clock, Counts, Evaluation, Problem
from riemtr.problem.books import is_known

Row = tuple[float, float, float, Counts]
"""Seconds, cost, gradient norm and counts at one point of a run."""

# The value, or the function that a plain cost was made of, and so on.
_COLUMNS = {
    "value": "costs",
    "cost": "costs",
    "gradient": "gradients",
    "hessian": "hessian_products",
    "hessian_matrix": "hessian_matrices",
}


class Watched:
    """A cost, or what it knows at a point, that counts what is asked of it; all else is its own.

    Every call of a function counts, and a value that is no function once. ``on_gradient`` is called
    with what :meth:`at` returned, once its gradient is known.
    """

    def __init__(
        self,
        watched: Any,
        counts: Counts,
        on_gradient: Callable[[Watched], None] = lambda point: None,
    ):
        self.watched = watched
        self._counts = counts
        self._on_gradient = on_gradient

    def __getattr__(self, name: str) -> Any:
        if name in ("watched", "_counts", "_on_gradient"):  # while it is being copied
            raise AttributeError(name)
        found = getattr(self.watched, name)
        if name == "easier":
            return self._easier
        if name not in _COLUMNS or found is None:
            return found
        if callable(found):
            found = self._counted(found, name)
        else:
            self._count(name)
        # Kept, since looking for it takes longer than many a product.
        self.__dict__[name] = found
        if name == "gradient":
            self._on_gradient(self)
        return found

    def at(self, point: Any) -> Watched:
        """Return what the cost knows at a point, counted."""
        return Watched(self.watched.at(point), self._counts, self._on_gradient)

    def _easier(self) -> Iterator[tuple[Watched, float]]:
        for cost, tolerance in self.watched.easier():
            yield Watched(cost, self._counts), tolerance

    def _count(self, name: str) -> None:
        column = _COLUMNS[name]
        setattr(self._counts, column, getattr(self._counts, column) + 1)

    def _counted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            value = function(*arguments, **options)
            self._count(name)
            return value

        return call


class WatchedProblem(Problem):
    """A problem that counts and times whatever a solver asks of it.

    A point gets a row of notes if the solver asks for the gradient there: seconds and counts at the
    moment the gradient is known, as in riemtr's own histories, and not when the solver leaves the
    point, perhaps after a look at its curvature. Easier versions of the cost count as well, but no
    notes are taken of their points.
    """

    def __init__(self, problem: Problem):
        self.__dict__.update(problem.__dict__)
        self.counts = Counts()  # all calls so far
        self.cost = Watched(problem.cost, self.counts, self._stamp)
        self.watch = Clock()
        self.rows: list[Row] = []
        self._last: Evaluation | None = None
        self._when: tuple[float, Counts] | None = None  # the gradient there became known

    def at(
        self, point: Any, counts: Counts | None = None, clock: Clock | None = None
    ) -> Evaluation:
        """Return the evaluation at a point; what it asks of the cost counts here as well."""
        self.note()
        self._last = super().at(point, counts, clock)
        return self._last

    def begin(self) -> None:
        """Start the clock anew."""
        self.watch = Clock()

    def _stamp(self, point: Watched) -> None:
        seconds = self.watch.seconds
        with self.watch.paused():
            # Not of the points around it that differences are taken of.
            if self._last is not None and vars(self._last).get("_local") is point:
                self._when = seconds, self.counts.snapshot()

    def note(self) -> None:
        """Complete the notes of the last point, off the clock."""
        here, when = self._last, self._when
        self._last = self._when = None
        if here is None or when is None or not is_known(here, "gradient"):
            return
        with self.watch.paused():
            cost = here.cost if is_known(here, "cost") else math.nan
            self.rows.append((when[0], cost, here.gradient_norm, when[1]))
