"""The zoo by two versions of riemtr, interleaved: this tree's, and that of another tree.

Each tree has one process, which imports riemtr from there and the problems from here. The processes
take turns: each round solves a problem to a certificate and to first order in one process, then in
the other, and every other round begins with the other tree. The medians are compared. Time is that
of the processor, which other programs on a busy machine change little.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.timing import geometric_mean
from benchmarks.zoo import (
    CERTIFIED,
    FIRST_ORDER,
    ROUND,
    TOLERANCE,
    WORSE,
    End,
    Row,
    by_riemtr,
    cell,
    has_goal,
    riemtr,
    shares_in_words,
)
from benchmarks.zoo_problems import ZOO, Pair

HERE = Path(__file__).resolve().parents[1]
THIS, OTHER = "here", "there"
# What a process runs: riemtr is found in the tree, in whose folder the process begins; only then
# are the benchmarks of this tree put before it.
PROCESS = """
import sys
import riemtr
sys.path.insert(0, sys.argv[1])
from benchmarks.zoo_against import serve
serve()
"""
# Seconds for one solve.
MAX_SECONDS = 60.0
# Problems whose first round takes less than so many seconds have more rounds, times as many.
SHORT, MORE = 0.5, 5


def solved(pair: Pair, certified: bool) -> dict[str, Any]:
    """Solve a problem of the zoo by this process's riemtr, and time it."""
    options = {} if certified else {"goal": "first-order"}
    solver = riemtr.PracticalTRM(tolerance=TOLERANCE, max_seconds=MAX_SECONDS, **options)
    begin = time.process_time()
    end = by_riemtr(solver, pair, certified)
    return {"seconds": time.process_time() - begin, **end.__dict__}


def serve() -> None:
    """Solve what is asked for, line by line, until the input ends."""
    print(json.dumps({"riemtr": str(Path(riemtr.__file__).parent), "goal": has_goal()}), flush=True)
    name, size, pair = "", "", None
    for line in sys.stdin:
        asked = json.loads(line)
        if (asked["name"], asked["size"]) != (name, size):
            name, size = asked["name"], asked["size"]
            pair = ZOO[name].pair(size)
        assert pair is not None
        print(json.dumps(solved(pair, asked["certified"])), flush=True)


class Tree:
    """A process with the riemtr of one tree."""

    def __init__(self, folder: Path):
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(HERE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
        )
        known = self._answer()
        self.has_goal = bool(known["goal"])
        if Path(known["riemtr"]) != folder / "riemtr":
            raise SystemExit(f"there is no riemtr in {folder}: {known['riemtr']} was imported")

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process ended before its answer: its error is printed above")
        return json.loads(line)

    def solve(self, name: str, size: str, certified: bool) -> tuple[float, End]:
        """Return the seconds of a solve, and where it ended."""
        asked = {"name": name, "size": size, "certified": certified}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        return answer.pop("seconds"), End(**answer)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


@dataclass(frozen=True)
class Comparison:
    """One problem by both trees: the row of each."""

    rows: dict[str, Row]

    def ratio(self, solver: str) -> float | None:
        """Return how many times this tree's time is the other's."""
        times = [self.rows[tree].seconds.get(solver) for tree in (OTHER, THIS)]
        if times[0] is None or times[1] is None:
            return None
        return times[0] / times[1]

    @property
    def notes(self) -> list[str]:
        """Verdicts that differ, ends that differ in cost."""
        ends = {tree: self.rows[tree].ends[CERTIFIED] for tree in (OTHER, THIS)}
        found = []
        if ends[OTHER].verdict != ends[THIS].verdict:
            found.append(f"{ends[OTHER].verdict} there, {ends[THIS].verdict} here")
        change = ends[THIS].cost - ends[OTHER].cost
        if abs(change) > WORSE * max(abs(ends[OTHER].cost), WORSE):
            found.append(f"ends {'higher' if change > 0.0 else 'lower'} by {abs(change):.0e}")
        found += [f"gradient norm {e.gradient_norm:.0e} {t}" for t, e in ends.items()][
            : 2 * (not all(end.reached for end in ends.values()))
        ]
        return found


def measure(trees: dict[str, Tree], name: str, size: str, repeats: int) -> Comparison:
    """Solve a problem in turns, and take medians."""
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    ends: dict[tuple[str, str], End] = {}
    for tree in trees.values():  # what is done but once, as imports, is not measured
        tree.solve(name, "quick", True)
    rounds, number = repeats, 0
    while number < rounds:
        begin = time.perf_counter()
        for label in (OTHER, THIS) if number % 2 == 0 else (THIS, OTHER):
            for solver in (CERTIFIED, FIRST_ORDER):
                if solver == FIRST_ORDER and not trees[label].has_goal:
                    continue
                used, end = trees[label].solve(name, size, solver == CERTIFIED)
                seconds[label, solver].append(used)
                ends[label, solver] = end
        taken = time.perf_counter() - begin
        if number == 0 and taken < SHORT and repeats > 1:
            rounds = MORE * repeats
        number = rounds if taken > ROUND else number + 1
    rows = {}
    for label in trees:
        ran = [solver for solver in (CERTIFIED, FIRST_ORDER) if (label, solver) in ends]
        rows[label] = Row(
            name,
            0,
            0.0,
            {solver: statistics.median(seconds[label, solver]) for solver in ran},
            {solver: ends[label, solver] for solver in ran},
        )
    return Comparison(rows)


HEADER = (
    f"{'problem':<24}{'there s':>10}{'here s':>10}{'ratio':>8}{'1st order':>11}"
    f"{'products':>18}{'for cert.':>16}  notes"
)


def line(name: str, compared: Comparison) -> str:
    rows = [compared.rows[tree] for tree in (OTHER, THIS)]
    times = "".join(f"{row.seconds[CERTIFIED]:>10.4f}" for row in rows)
    products = " -> ".join(str(row.ends[CERTIFIED].products) for row in rows)
    spent = " -> ".join("-" if row.share is None else f"{row.share:.0%}" for row in rows)
    return (
        f"{name:<24}{times}{cell(compared.ratio(CERTIFIED), 8, '.2f')}"
        f"{cell(compared.ratio(FIRST_ORDER), 11, '.2f')}{products:>18}{spent:>16}"
        f"  {'; '.join(compared.notes)}"
    )


def compare(folder: Path, names: list[str], size: str, repeats: int) -> None:
    """Print what this tree's riemtr takes beside that of another tree."""
    trees = {OTHER: Tree(folder), THIS: Tree(HERE)}
    print(
        f"\n{size} sizes, gradient norm {TOLERANCE:.0e}, medians of {repeats} interleaved rounds "
        f"({MORE} times as many below {SHORT} s), processor time; above 1 is a ratio where "
        "riemtr is faster here than there"
    )
    print(HEADER)
    compared = {}
    try:
        for name in names:
            compared[name] = measure(trees, name, size, repeats)
            print(line(name, compared[name]), flush=True)
    finally:
        for tree in trees.values():
            tree.close()
    print()
    for solver in (CERTIFIED, FIRST_ORDER):
        ratios = [pair.ratio(solver) for pair in compared.values()]
        known = [ratio for ratio in ratios if ratio is not None]
        if known:
            slower = sum(ratio < 1.0 for ratio in known)
            print(
                f"time there / time here, {solver}: geometric mean {geometric_mean(known):.3f} "
                f"over {len(known)} problems, smallest {min(known):.2f}, below 1 on {slower}"
            )
    for label in (OTHER, THIS):
        rows = [pair.rows[label] for pair in compared.values()]
        print(f"{label}: {shares_in_words(rows)}")
