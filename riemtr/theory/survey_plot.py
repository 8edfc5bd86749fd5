"""Critical points as a picture: the Morse index against the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from riemtr.errors import require
from riemtr.summary import plural

if TYPE_CHECKING:
    from riemtr.theory.survey import CriticalPoints

# Colours of points that are isolated, of points with flat directions, and of spurious minimizers.
_ISOLATED, _FLAT, _SPURIOUS = "C0", "C1", "C3"
# Area of the mark of a single point, in square points; that of many grows with their root.
_AREA = 30.0


def plot_critical_points(found: CriticalPoints, axes: Any = None) -> Any:
    """Draw a mark for each kind of point, the larger the more points are of it.

    Parameters
    ----------
    found : CriticalPoints
    axes : matplotlib Axes, optional
        Where to draw; new axes if not given.

    Returns
    -------
    matplotlib Axes
    """
    if axes is None:
        _, axes = require("matplotlib.pyplot", extra="plot").subplots(figsize=(7, 4))
    spurious = set(map(id, found.spurious))
    for kind in found.kinds:
        first = kind[0]
        colour = _ISOLATED if first.isolated else _FLAT
        colour = _SPURIOUS if any(id(each) in spurious for each in kind) else colour
        area = _AREA * np.sqrt(len(kind))
        axes.scatter(first.cost, first.index, s=area, color=colour, alpha=0.7, edgecolor="white")
        if len(kind) > 1:
            place = {"textcoords": "offset points", "xytext": (6, 6), "fontsize": 8}
            axes.annotate(str(len(kind)), (first.cost, first.index), **place)
    for colour, label in (
        (_ISOLATED, "isolated"),
        (_FLAT, "with flat directions"),
        (_SPURIOUS, "spurious minimizer"),
    ):
        axes.scatter([], [], color=colour, label=label)
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("cost")
    axes.set_ylabel("Morse index")
    axes.set_title(
        f"{plural(len(found.points), 'critical point')} from {plural(found.starts, 'start')}; "
        f"numbers: points in one place"
    )
    axes.legend(fontsize=8)
    return axes
