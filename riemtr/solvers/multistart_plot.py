"""Minimizers of many starts as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.errors import require
from riemtr.summary import plural

if TYPE_CHECKING:
    from riemtr.solvers.multistart import Multistart

# Colours of minimizers that are isolated, and of others.
_ISOLATED, _FLAT = "C0", "C1"


def plot_minimizers(runs: Multistart, axes: Any = None) -> Any:
    """Draw a bar for each cost: how many runs ended there, parted by minimizers.

    Parameters
    ----------
    runs : Multistart
    axes : matplotlib Axes, optional
        Where to draw; new axes if not given.

    Returns
    -------
    matplotlib Axes
    """
    if axes is None:
        _, axes = require("matplotlib.pyplot", extra="plot").subplots(figsize=(7, 4))
    kinds = runs.kinds
    for place, kind in enumerate(kinds):
        bottom = 0
        for one in kind:
            colour = _ISOLATED if one.isolated else _FLAT
            axes.bar(place, one.count, bottom=bottom, color=colour, edgecolor="white")
            bottom += one.count
    axes.set_xticks(np.arange(len(kinds)), [f"{kind[0].cost:.6g}" for kind in kinds], rotation=60)
    axes.set_xlabel("cost")
    axes.set_ylabel("runs that ended there")
    number = len(runs.minimizers)
    starts = sum(result is not None for result in runs.results)
    axes.set_title(f"{plural(number, 'minimizer')} from {plural(starts, 'start')}")
    axes.bar(0, 0, color=_ISOLATED, label="strict")
    axes.bar(0, 0, color=_FLAT, label="with flat directions")
    axes.legend()
    return axes
