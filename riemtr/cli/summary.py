"""A result in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from riemtr.cli.wording import SOLVE, in_options
from riemtr.compare.truth import nearness
from riemtr.problems import Truth
from riemtr.solvers import Certificate, Result


def explain_status(result: Result) -> str:
    """Say how the run ended and what to do about it, in terms of the command line."""
    return in_options(str(result.reason), SOLVE)


def explain_certificate(certificate: Certificate) -> str:
    """Say what the verdict means, in a sentence."""
    slope = f"the slope is zero to tolerance ({certificate.gradient_norm:.1e})"
    known = certificate.curvature_in_words
    if certificate.verdict == "not-critical":
        return (
            f"none yet: the slope here is {certificate.gradient_norm:.1e}, above the tolerance "
            f"{certificate.tolerance:.1e}, so the run ended on its way down"
        )
    if certificate.verdict == "saddle":
        return f"a saddle point, not a solution: {slope}, but one way still leads down ({known})"
    if certificate.verdict == "maximizer":
        return f"a maximizer, not a solution: {slope}, and every way leads down ({known})"
    if certificate.verdict == "unresolved":
        return f"undecided, perhaps a saddle point: {slope}, but {known}"
    if certificate.strict:
        return f"a strict minimizer: {slope}, and every way leads up ({known})"
    return (
        f"a minimizer: {slope}, and no way leads down, though some are flat ({known}), as in "
        "problems with symmetries"
    )


def explain_truth(result: Result, truth: Truth) -> str:
    """Compare the result with what is known about the solution."""
    parts = []
    found = nearness(truth, result.point, result.cost)
    if found.distance is not None:
        parts.append(f"distance {found.distance:.2e} from the known solution")
    if found.excess is not None:
        parts.append(
            f"cost within {abs(found.excess):.1e} of the known minimum"
            if found.lowest
            else f"cost {found.excess:.1e} above the known minimum"
        )
        if not found.lowest and result.converged:
            parts.append("a local minimum, not the lowest: try another --seed")
    return "; ".join(parts)


def explain_effort(result: Result) -> str:
    """Say what the run cost, leaving out what it did not use."""
    names = ("costs", "gradients", "Hessian products", "Hessian matrices")
    counts = result.counts.as_dict().values()
    used = ", ".join(f"{count} {name}" for name, count in zip(names, counts, strict=True) if count)
    return f"{_plural(result.iterations, 'iteration')} in {result.seconds:.3g} s: {used}"


def show_point(point: Any) -> str:
    """Show the first and last entries of a point, or the shapes of its parts."""
    if isinstance(point, np.ndarray) and point.ndim == 1:
        with np.printoptions(precision=3, threshold=8, edgeitems=3, suppress=True):
            return f"{point} ({_plural(point.size, 'number')})"
    if isinstance(point, np.ndarray):
        return f"an array of {' x '.join(str(length) for length in point.shape)} numbers"
    return "\n".join(show_point(part) for part in point)


def summary_line(result: Result) -> str:
    """Return the result in one line, for ``--quiet``."""
    return (
        f"{result.status.name.lower().replace('_', ' ')}: {result.certificate.verdict}, cost "
        f"{result.cost:.12g}, gradient norm {result.gradient_norm:.1e}, "
        f"{_plural(result.iterations, 'iteration')}, {result.seconds:.3g} s"
    )


def summary_panel(result: Result, truth: Truth | None, title: str) -> Panel:
    """Return the result in words, in a frame whose colour says how it ended."""
    colour = "green" if result.certified else "yellow"
    manifold = result.evaluation.manifold
    rows = [
        ("searched", f"{escape(str(manifold))} (dimension {manifold.dim})"),
        ("ended", f"[bold {colour}]{escape(explain_status(result))}[/]"),
        ("verdict", escape(explain_certificate(result.certificate))),
        ("cost", f"{result.cost:.12g}"),
    ]
    if truth is not None:
        rows.append(("truth", explain_truth(result, truth)))
    rows.append(("effort", explain_effort(result)))
    escapes = int(np.count_nonzero(result.history["escaped"]))
    if escapes:
        rows.append(
            ("escapes", f"left {_plural(escapes, 'saddle point')} along negative curvature")
        )
    rows.append(("point", escape(show_point(result.point))))
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for name, text in rows:
        table.add_row(name, text)
    return Panel(table, title=escape(title), title_align="left", border_style=colour)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
