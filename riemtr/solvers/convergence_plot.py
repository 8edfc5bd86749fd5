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
    norms = history["gradient_norm"]
    positive = np.concatenate([norms[norms > 0], gap[np.isfinite(gap)]])
    # What is exactly zero has no place on the axis; it is drawn just below all the rest.
    floor = 0.1 * positive.min() if len(positive) else 1.0
    norms = np.maximum(norms, floor)
    axes.semilogy(number, norms, ".-", color="C0", label="gradient norm")
    axes.semilogy(number, gap, ".-", color="C1", label="cost above the final one")
    escaped = np.flatnonzero(history["escaped"])
    if len(escaped):
        # The row of a step shows the point after it: the saddle is one row earlier.
        axes.semilogy(
            number[escaped - 1],
            norms[escaped - 1],
            "*",
            markersize=14,
            color="C3",
            label="saddle point, left along negative curvature",
        )
    if (history["gradient_norm"] == 0).any():
        axes.axhline(floor, color="0.8", linewidth=1, linestyle=":", zorder=0)
        axes.annotate("exactly 0", (number[-1], floor), ha="right", va="bottom", color="0.5")
    for change in np.flatnonzero(np.diff(history["stage"])):
        axes.axvline(number[change], color="0.8", linewidth=1, zorder=0)
    axes.set(xlabel="iteration", title="Convergence")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return axes
