"""The paper's figures and the maps past it: fits, spreads and times of what is in results/paper.

Prints the tables of results/paper/README.md from the files beside it. Nothing is run: each figure
is made again, or completed, by `riemtr paper NAME --grid coarse --resume --out FOLDER`. With
--quick every figure is made at small sizes first, in a temporary folder, and that is printed.

    python -m benchmarks.paper [--quick] [--bootstrap 100] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from itertools import product
from pathlib import Path

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

from riemtr.paper import image_starts  # noqa: E402
from riemtr.paper.figures import FIGURES, RATES, Work, make, read_rates  # noqa: E402
from riemtr.paper.phase_figures import PowerLaw, fit_power_law  # noqa: E402

RESULTS = Path(__file__).parent / "results" / "paper"
# The largest n of every map past the paper, so that their laws are fitted to the same range.
_COMMON = 40


def maps(folder: Path) -> None:
    """Print the laws of every map, by success and by basin, and those of the common range."""
    print(
        f"{'experiment':<16}{'map':<5}{'trials':>7}{'n to':>6}{'succeed':>9}  "
        f"{'half succeed at':<18}{'half in a basin':<18}{f'n <= {_COMMON}':<16}{'at it':>6}"
        f"{'iterations':>12}{'cpu s':>8}"
    )
    for path in sorted(folder.rglob(RATES)):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        found, near = read_rates(path), read_rates(path, "in_basin")
        common = read_rates(path, largest=_COMMON)
        for name, one in found.items():
            mine = [row for row in rows if row["map"] == name]
            trials = sum(int(row["trials"]) for row in mine)
            wins = sum(int(row["successes"]) for row in mine)
            cpu = sum(float(row["cpu_seconds"]) * int(row["trials"]) for row in mine)
            iterations = np.median([int(row["iterations"]) for row in mine])
            law = common[name].law
            at = f"{law(np.array(_COMMON)):.0f}" if law else ""
            print(
                f"{path.parent.name:<16}{name:<5}{trials:>7}{one.n[-1]:>6}"
                f"{100 * wins / trials:>8.0f}%  {_law(one.law):<18}{_law(near[name].law):<18}"
                f"{_law(law):<16}{at:>6}{iterations:>12.0f}{cpu:>8.0f}"
            )


def bootstrap(folder: Path, samples: int) -> None:
    """Print how far exponents, and boundaries at the largest n, vary if trials are drawn anew."""
    print(f"\n{'experiment':<16}{'map':<5}{'counted':<11}{'n to':>5}{'exponent':>16}{'there':>14}")
    for path in sorted(folder.rglob(RATES)):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        for name, count in product(
            dict.fromkeys(r["map"] for r in rows), ("successes", "in_basin")
        ):
            mine = [row for row in rows if row["map"] == name]
            for largest in sorted({_COMMON, max(int(row["n"]) for row in mine)}):
                laws = _drawn([r for r in mine if int(r["n"]) <= largest], name, count, samples)
                if len(laws) < samples:  # no law in some of the samples
                    continue
                powers = [law.exponent for law in laws]
                there = [float(law(np.array(largest))) for law in laws]
                print(
                    f"{path.parent.name:<16}{name:<5}{count:<11}{largest:>5}"
                    f"{np.mean(powers):>9.2f} ± {np.std(powers):.2f}"
                    f"{np.mean(there):>8.0f} ± {np.std(there):<4.0f}"
                )


def _drawn(rows: list[dict[str, str]], name: str, count: str, samples: int) -> list[PowerLaw]:
    """Fit laws to trials drawn with replacement."""
    trials = [int(row["trials"]) for row in rows]
    n, y = (np.repeat([int(row[key]) for row in rows], trials) for key in ("n", name[0]))
    wins = np.concatenate([np.arange(int(row["trials"])) < int(row[count]) for row in rows])
    rng = np.random.default_rng(0)
    laws = []
    for _ in range(samples):
        some = rng.integers(0, n.size, n.size)
        laws.append(fit_power_law(n[some], y[some], wins[some], rising=name == "p-n"))
    return [law for law in laws if law is not None]


def _law(law: PowerLaw | None) -> str:
    return f"{law.factor:.2f} n^{law.exponent:.2f}" if law else "none"


def starts(folder: Path) -> None:
    """Print how far the starts of every photograph agree."""
    for path in sorted(folder.rglob("starts.csv")):
        with path.open(newline="") as file:
            rows = [
                {**row, "l1": float(row["l1"]), "l4": float(row["l4"]), "seed": int(row["seed"])}
                | {"cell_seconds": float(row["cell_seconds"])}
                for row in csv.DictReader(file)
                if row["l1"]
            ]
        print(image_starts.summary(image_starts.starts(rows)).text())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="make small figures, print those")
    parser.add_argument("--folder", type=Path, default=RESULTS)
    parser.add_argument("--bootstrap", type=int, default=0, help="samples, for errors of the laws")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder
        if chosen.quick:
            folder = Path(temporary)
            for name in FIGURES:
                make(name, Work(folder / name, quick=True, largest=10, repetitions=1, starts=1))
        print(settings(), "\n")
        maps(folder)
        if chosen.bootstrap:
            bootstrap(folder, chosen.bootstrap)
        print()
        starts(folder)


if __name__ == "__main__":
    main()
