"""Observers: callables that get every iteration of a run. Solvers never print; these do.

An observer is any callable that takes an :class:`~riemtr.solvers.iteration.Iteration`; if it
returns something true, the run stops with the point it has reached. A :class:`Display` is begun and
ended by the solver.

>>> import riemtr
>>> case = riemtr.problems.build("rayleigh", rng=0, n=50)
>>> early = lambda iteration: iteration.number == 2
>>> riemtr.PracticalTRM().solve(case.problem, rng=0, observers=[early]).status
Status.STOPPED
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from riemtr.arguments import integer
from riemtr.errors import require
from riemtr.solvers.iteration import HISTORY_COLUMNS, Iteration, history_row

D = TypeVar("D", bound="Display")


class LogToFile:
    """Append each iteration to a CSV file as it happens, so that a killed run leaves its log.

    Parameters
    ----------
    path : path-like
        A new file; an existing one is not overwritten.

    Examples
    --------
    >>> import riemtr, tempfile, pathlib
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> with riemtr.observers.LogToFile(path) as log:
    ...     result = riemtr.PracticalTRM().solve(case.problem, rng=0, observers=[log])
    >>> len(path.read_text().splitlines()) == result.iterations + 2
    True
    """

    def __init__(self, path: Any):
        self.path = Path(path)
        if self.path.exists():
            raise FileExistsError(f"{self.path} exists; choose a new path, or remove it first")
        self._file: IO[str] = self.path.open("x", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(HISTORY_COLUMNS)

    def __call__(self, iteration: Iteration) -> None:
        """Write one row."""
        self._writer.writerow(history_row(iteration))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> LogToFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Display:
    """An observer that shows something for as long as a run takes.

    Solvers enter it as a context. Entered by the caller as well, it stays for all runs inside.
    """

    _depth = 0

    def __enter__(self: D) -> D:
        if self._depth == 0:
            self._begin()
        self._depth += 1
        return self

    def __exit__(self, *exception: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._end()

    def _begin(self) -> None:
        """Show it."""

    def _end(self) -> None:
        """Leave what is to stay."""


@contextmanager
def showing(observers: Iterable[Any]) -> Iterator[None]:
    """Begin and end the displays among the observers of a run."""
    with ExitStack() as shown:
        for observer in observers:
            if isinstance(observer, Display):
                shown.enter_context(observer)
        yield


class LiveTable(Display):
    """A table in the terminal that follows the run; needs the extra ``cli``.

    Parameters
    ----------
    rows : int
        How many of the last iterations to show; all of them where the output is a file.
    console : rich.console.Console, optional
        Where to print.

    Examples
    --------
    >>> import riemtr
    >>> case = riemtr.problems.build("rayleigh", rng=0, n=3)
    >>> table = riemtr.observers.LiveTable()
    >>> result = riemtr.PracticalTRM().solve(case.problem, case.start, observers=[table])
    iteration ...
    """

    _HEADINGS = ("iteration", "cost", "gradient norm", "radius", "ratio", "step")

    def __init__(self, rows: int = 12, console: Any = None):
        self._rich_table = require("rich.table", extra="cli")
        live = require("rich.live", extra="cli")
        self._rows: list[tuple[str, ...]] = []
        self._keep = integer("rows", rows)
        self._live = live.Live(console=console, refresh_per_second=8, transient=False)

    def _begin(self) -> None:
        self._rows.clear()
        if self._is_live:
            self._live.start()

    def _end(self) -> None:
        if self._is_live:
            self._live.update(self._table(self._keep), refresh=True)
            self._live.stop()
        else:
            self._live.console.print(self._table(len(self._rows)))

    @property
    def _is_live(self) -> bool:
        return self._live.console.is_terminal or self._live.console.is_jupyter

    def __call__(self, iteration: Iteration) -> None:
        """Show one more iteration."""
        step = iteration.step
        if step is None:
            ended = "start" if iteration.number == 0 else "next stage"
        else:
            ended = str(step.ended) if iteration.accepted else f"{step.ended}, rejected"
            if iteration.escaped:
                ended = "[bold red]left a saddle point[/]"
        self._rows.append(
            (
                str(iteration.number),
                f"{iteration.cost:.10g}",
                f"{iteration.gradient_norm:.2e}",
                f"{iteration.radius:.2g}",
                "" if step is None else f"{iteration.ratio:.2f}",
                ended,
            )
        )
        self._live.update(self._table(self._keep))

    def _table(self, keep: int) -> Any:
        table = self._rich_table.Table(box=None, header_style="bold", pad_edge=False)
        for heading in self._HEADINGS:  # the last may be folded, but no number cut
            last = heading == self._HEADINGS[-1]
            table.add_column(heading, justify="left" if last else "right", no_wrap=not last)
        if len(self._rows) > keep:
            table.add_row("…", style="dim")
        for row in self._rows[-keep:]:
            table.add_row(*row)
        return table


class ProgressBar(Display):
    """One line in the terminal: iteration, cost, gradient norm; needs the extra ``cli``."""

    def __init__(self, console: Any = None):
        progress = require("rich.progress", extra="cli")
        self._progress = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}"),
            progress.TimeElapsedColumn(),
            console=console,
        )
        self._task = self._progress.add_task("starting")

    def _begin(self) -> None:
        self._progress.start()

    def _end(self) -> None:
        self._progress.stop()

    def __call__(self, iteration: Iteration) -> None:
        """Update the line."""
        self._progress.update(
            self._task,
            description=(
                f"iteration {iteration.number}: cost {iteration.cost:.8g}, gradient norm "
                f"{iteration.gradient_norm:.2e}"
            ),
        )


class LivePlot(Display):
    """A figure that follows the run; needs the extra ``plot`` and an interactive backend.

    Parameters
    ----------
    every : int
        Draw every so many iterations.
    """

    def __init__(self, every: int = 5):
        self._pyplot = require("matplotlib.pyplot", extra="plot")
        self.figure, self.axes = self._pyplot.subplots(figsize=(7, 4))
        self._every = integer("every", every)
        self._numbers: list[int] = []
        self._norms: list[float] = []
        (self._line,) = self.axes.semilogy([], [], ".-", label="gradient norm")
        self.axes.set(xlabel="iteration", ylabel="gradient norm")

    def _begin(self) -> None:
        self._numbers.clear()
        self._norms.clear()

    def _end(self) -> None:
        self.draw()

    def __call__(self, iteration: Iteration) -> None:
        """Add a point, and redraw now and then."""
        self._numbers.append(iteration.number)
        self._norms.append(max(iteration.gradient_norm, 1e-300))
        if iteration.number % self._every == 0:
            self.draw()

    def draw(self) -> None:
        """Redraw the figure with all iterations so far."""
        self._line.set_data(self._numbers, self._norms)
        self.axes.relim()
        self.axes.autoscale_view()
        self.figure.canvas.draw_idle()
        self._pyplot.pause(0.001)
