"""Dictionaries of photographs: how sparse the code is, how long it takes, and do starts agree?

8 x 8 patches of pictures that come with scikit-image, whitened. In the *orthogonal* form the
figure is |Q'Z|_1 / (n p) for orthonormal directions Q of the whitened data Z, against Picard-O with
the tanh of alpha = 1 and 10. In the *full* form, where directions B are free, it is the same for
rows scaled so that |det B| = 1, against Picard: the exponential of the mean of log(|b_i'Z|_1 / p),
less log|det B| / n. Smaller is sparser. ``starts`` is riemtr's option ``seeds``: the best of so
many is kept. The spread is (max - min) / mean over recoveries with different seeds; the paper
reports "a relative difference less than 1e-3" over its own.

    python -m benchmarks.images [--quick] [--runs 20] [--starts 12] [--images camera ...]
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
from picard import picard  # noqa: E402
from picard.densities import Tanh  # noqa: E402

from riemtr.data import load_image, patches  # noqa: E402
from riemtr.recovery import Recovery, precondition, recover_dictionary  # noqa: E402

IMAGES = ("camera", "brick", "grass", "gravel", "moon")


def sparsity(directions: np.ndarray, Z: np.ndarray) -> float:
    """Return the mean magnitude of rows, scaled so that the determinant is 1."""
    sizes = np.abs(directions.T @ Z).mean(axis=1)
    return float(np.exp(np.mean(np.log(sizes)) - np.linalg.slogdet(directions)[1] / len(Z)))


def orthogonal(directions: np.ndarray, Z: np.ndarray) -> float:
    """Return the mean magnitude of the rows of the nearest orthonormal directions."""
    left, _, right = np.linalg.svd(directions)
    return float(np.abs((left @ right).T @ Z).mean())


def by_picard(Z: np.ndarray, ortho: bool, alpha: float, seed: int) -> tuple[np.ndarray, float]:
    """Return Picard's directions and its seconds."""
    begin = time.perf_counter()
    _, rows, _ = picard(
        Z,
        ortho=ortho,
        whiten=False,
        centering=False,
        fun=Tanh(params={"alpha": alpha}),
        tol=1e-6,
        max_iter=3000,
        random_state=seed,
    )
    return rows.T, time.perf_counter() - begin


def ours(Y: np.ndarray, form: str, seed: int, starts: int) -> tuple[Recovery, float]:
    """Return a recovery and its seconds."""
    begin = time.perf_counter()
    found = recover_dictionary(Y, rng=seed, rank="auto", offset=False, refine=form, seeds=starts)
    return found, time.perf_counter() - begin


def compare(name: str, starts: int, runs: int) -> dict[str, Any]:
    """Print the lines of one picture."""
    Y = patches(load_image(name))
    Z = precondition(Y, rank="auto").data
    found = None
    for form, measure in (("orthogonal", orthogonal), ("full", sparsity)):
        found, seconds = ours(Y, form, 0, starts)
        value = measure(found.directions, Z)
        peers = {a: by_picard(Z, form == "orthogonal", a, 0) for a in (1.0, 10.0)}
        values = {a: measure(directions, Z) for a, (directions, _) in peers.items()}
        best = min(values, key=lambda alpha: values[alpha])
        print(
            f"{name:<8}{len(Z):>4}  {form:<11}{value:>10.5f}{seconds:>8.1f} s"
            f"{values[best]:>12.5f} (alpha {best:.0f}){peers[best][1]:>8.1f} s"
            f"{peers[1.0][1]:>8.1f} s{100 * (1 - value / values[best]):>+9.2f} %",
            flush=True,
        )
    sums = [
        orthogonal(ours(Y, "orthogonal", seed, starts)[0].directions, Z) for seed in range(runs)
    ]
    spread = (max(sums) - min(sums)) / np.mean(sums)
    single = [orthogonal(ours(Y, "orthogonal", seed, 1)[0].directions, Z) for seed in range(runs)]
    alone = (max(single) - min(single)) / np.mean(single)
    print(f"{name:<8} spread over {runs} seeds: {spread:.1e}; with a single start {alone:.1e}")
    return {"found": found}


def draw(folder: Path, name: str, found: Recovery) -> None:
    """Save the atoms as a grid of patches, each scaled to its largest entry."""
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    side = int(np.sqrt(len(found.dictionary)))
    figure, axes = pyplot.subplots(8, 8, figsize=(6, 6))
    for axis, atom in zip(axes.flat, found.dictionary.T, strict=False):
        largest = np.abs(atom).max()
        axis.imshow(atom.reshape(side, side), "gray", vmin=-largest, vmax=largest)
    for axis in axes.flat:
        axis.axis("off")
    figure.savefig(folder / f"{name}.png", dpi=100)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1 image, 2 runs, 2 starts")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--images", nargs="+", default=list(IMAGES))
    parser.add_argument("--out", type=Path, help="a folder for figures of the atoms")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of ICA that did not converge
    quick = arguments.quick
    print(settings())
    starts, runs = (2, 2) if quick else (arguments.starts, arguments.runs)
    print(f"{starts} starts of riemtr's; Picard's best of alpha 1 and 10, and its time at alpha 1")
    for name in ["moon"] if quick else arguments.images:
        found = compare(name, starts, runs)["found"]
        if arguments.out is not None:
            draw(arguments.out, name, found)


if __name__ == "__main__":
    main()
