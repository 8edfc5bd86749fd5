"""The convergence of a run as a picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from riemtr.errors import require


def plot_convergence(history: dict[str, np.ndarray], axes: Any = None) -> Any:
    """Draw gradient norm and cost gap against the iteration, saddle escapes marked.

    Parameters
    ----------
    history : dict of ndarray
        ``result.history``.
    axes : matplotlib Axes, optional
        Where to draw; new axes if not given.

    Returns
    -------
    matplotlib Axes
    """
    if axes is None:
        _, axes = require("matplotlib.pyplot", extra="plot").subplots(figsize=(7, 4))
    number = history["iteration"]
    last = history["stage"] == history["stage"][-1]
    gap = history["cost"] - history["cost"][last].min()
    gap = np.where(last & (gap > 0), gap, np.nan)
    axes.semilogy(number, history["gradient_norm"], ".-", color="C0", label="gradient norm")
    axes.semilogy(number, gap, ".-", color="C1", label="cost above the final one")
    escaped = np.flatnonzero(history["escaped"])
    if len(escaped):
        # The row of a step shows the point after it: the saddle is one row earlier.
        axes.semilogy(
            number[escaped - 1],
            np.maximum(history["gradient_norm"][escaped - 1], np.finfo(float).tiny),
            "*",
            markersize=14,
            color="C3",
            label="saddle point, left along negative curvature",
        )
    for change in np.flatnonzero(np.diff(history["stage"])):
        axes.axvline(number[change], color="0.8", linewidth=1, zorder=0)
    axes.set(xlabel="iteration", title="Convergence")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes
