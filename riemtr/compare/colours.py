"""One colour for each solver, in every figure and on every page, whatever the order it came in."""

from __future__ import annotations

from collections.abc import Iterable

PALETTE = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"),
    *("#E69F00", "#8C8C8C", "#8C6D31", "#332288", "#882255"),
)
"""Okabe and Ito's, distinct also to the colour-blind; their yellow and black do not suit every
background. The last two are Tol's."""

_PLACES = {
    "exact": 0,
    "riemtr-exact": 0,
    "practical": 1,
    "riemtr": 1,
    "pymanopt-tr": 2,
    "pymanopt-cg": 3,
    "picard-o": 3,
    "pymanopt-sd": 4,
    "fastica": 4,
    "l-bfgs-b": 5,
    "msp": 5,
    "lbfgs": 8,
    "arc": 9,
    "pymanopt-nelder-mead": 6,
    "pymanopt-pso": 7,
}


def places(solvers: Iterable[str]) -> dict[str, int]:
    """Return a number for each solver: that of its colour in the palette, beyond it the next round.

    Those with a name have a place of their own; others get what is free, in the order of the
    alphabet.

    Examples
    --------
    >>> places(["practical", "mine", "exact"])
    {'practical': 1, 'mine': 2, 'exact': 0}
    """
    names = list(solvers)
    found = {name: _PLACES[name] for name in names if name in _PLACES}
    free = iter(sorted(set(range(len(names) + len(_PLACES))) - set(found.values())))
    found.update({name: next(free) for name in sorted(set(names) - set(found))})
    return {name: found[name] for name in names}


def colour(place: int) -> str:
    """Return the colour of a place."""
    return PALETTE[place % len(PALETTE)]


ENDING_COLOURS = {
    "certified": "#22314F",
    "narrow": "#C3CCE6",
    "deceived": "#B00020",
    "unconfirmed": "#F2B8B5",
    "stuck": "#6B0F1A",
    "unfinished": "#D0D0D0",
    "timed out": "#B9A8D6",
    "failed": "#000000",
}
"""One colour for each way a run can end, none of them like a solver's."""
