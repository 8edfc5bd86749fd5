"""Cells given to a crew until all have ended, whatever happens to its workers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

from riemtr.sweep.cells import Cell
from riemtr.sweep.crews import Crew, Died
from riemtr.sweep.outcomes import Failure, Outcome

Keep = Callable[[Sequence[Outcome]], None]


def run_all(cells: Sequence[Cell], crew: Crew, keep: Keep, tries: int) -> None:
    """Run cells, keeping what ends as soon as it ends.

    When a worker dies, any of the cells given out may have killed it. They become suspects, and
    are run alone once all others have ended: one that then kills its workers ``tries`` times has
    failed, and no other cell suffers from it.

    Parameters
    ----------
    cells : sequence of Cell
        In the order to start them in.
    crew : Crew
    keep : callable
        Gets outcomes; also those that had ended when Ctrl-C was pressed.
    tries : int
    """
    waiting, suspects = deque(cells), deque[Cell]()
    deaths: Counter[str] = Counter()
    running = 0
    alone: Cell | None = None
    try:
        while waiting or suspects or running:
            while waiting and running < crew.room:
                crew.submit(waiting.popleft())
                running += 1
            if running == 0:
                alone = suspects.popleft()
                crew.submit(alone)
                running = 1
            ended = crew.collect(wait=True)
            running -= len(ended)
            keep([one for one in ended if isinstance(one, Outcome)])
            for dead in (one for one in ended if isinstance(one, Died)):
                deaths[dead.cell.key] += dead.cell is alone
                if deaths[dead.cell.key] >= tries:
                    keep([_gave_up(dead, tries)])
                else:
                    suspects.append(dead.cell)
    except KeyboardInterrupt:
        keep([one for one in crew.collect(wait=False) if isinstance(one, Outcome)])
        raise


def _gave_up(dead: Died, tries: int) -> Outcome:
    times = "once" if tries == 1 else f"{tries} times in succession"
    message = f"the worker died {times} when it ran this cell alone: {dead.reason}"
    return Outcome(dead.cell, {}, Failure("WorkerDied", message))
