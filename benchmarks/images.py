"""The paper's image experiment (section IV.C): does every start lead to the same dictionary?

8 x 8 patches of images that come with scikit-image, preconditioned as the paper does,
(Y Y')^(-1/2) Y, mu = 1e-2; N runs with independent starts. The figure is the relative spread of
|A^-1 Y|_1 over the runs; the paper reports "a relative difference less than 1e-3" for its images.
That sum depends on the scale of the atoms: the first columns take the paper's, rows q'Y of the
whitened data with <r, q> = 1; "unit atoms" is std/mean with atoms of unit length, riemtr's form.
With ``--mu-relative`` mu is 1e-2 of the size of the whitened data instead, riemtr's default, which
is sharper by a factor of sqrt(p).

    python -m benchmarks.images [--quick] [--runs 20] [--images camera ...] [--out DIR]
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402

from riemtr.data import load_image, patches  # noqa: E402
from riemtr.recovery import Recovery, recover_dictionary  # noqa: E402

IMAGES = ("camera", "brick", "grass", "gravel", "moon")
MU = 1e-2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2 images, 3 runs")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--images", nargs="+", default=list(IMAGES))
    parser.add_argument("--mu-relative", action="store_true", help="mu relative to the data's size")
    parser.add_argument("--out", type=Path, help="a folder for figures of the atoms")
    arguments = parser.parse_args()
    images = arguments.images[:2] if arguments.quick else arguments.images
    runs = 3 if arguments.quick else arguments.runs
    print(settings())
    scale = "the size of the whitened data" if arguments.mu_relative else "the paper's scale"
    print(f"mu = {MU} on {scale}, {runs} runs; the paper's spread is below 1e-3")
    print(
        f"{'image':<10}{'rank':>5}{'|A^-1 Y|_1 / (n p)':>20}{'(max-min)/mean':>16}"
        f"{'std/mean':>10}{'unit atoms':>12}{'certified':>11}{'trusted':>9}{'seconds':>9}"
    )
    for name in images:
        Y = patches(load_image(name))
        # sqrt(p) (Y Y')^(-1/2) Y at mu sqrt(p) is (Y Y')^(-1/2) Y at mu
        mu = MU if arguments.mu_relative else MU * np.sqrt(Y.shape[1])
        found = [recover_dictionary(Y, mu, rng=seed, rank="auto") for seed in range(runs)]
        report(name, Y, found)
        if arguments.out is not None:
            draw(arguments.out, name, found[0])


def report(name: str, Y: np.ndarray, found: list[Recovery]) -> None:
    """Print one line; the paper's rows of X are q'(whitened Y) as the linear program leaves q."""
    sums = np.array([sum(atom.rounding.objective for atom in each.atoms) for each in found])
    unit_atoms = np.array([each.objective for each in found])
    atoms = [atom for each in found for atom in each.atoms]
    certified, trusted = sum(a.certified for a in atoms), sum(a.trusted for a in atoms)
    rank = len(found[0].atoms)
    print(
        f"{name:<10}{rank:>5}{sums.mean() / (rank * Y.shape[1]):>20.5f}"
        f"{np.ptp(sums) / sums.mean():>16.1e}{sums.std() / sums.mean():>10.1e}"
        f"{unit_atoms.std() / unit_atoms.mean():>12.1e}{certified / len(atoms):>11.1%}"
        f"{trusted / len(atoms):>9.1%}{statistics.median(each.seconds for each in found):>9.2f}",
        flush=True,
    )


def draw(folder: Path, name: str, found: Recovery) -> None:
    """Save the atoms as a grid of patches, each scaled to its largest entry."""
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    side = int(np.sqrt(len(found.dictionary)))
    columns = int(np.ceil(np.sqrt(len(found.atoms))))
    figure, axes = pyplot.subplots(columns, columns, figsize=(6, 6))
    for panel in axes.flat:
        panel.axis("off")
    for panel, atom in zip(axes.flat, found.dictionary.T, strict=False):
        limit = np.abs(atom).max()
        panel.imshow(atom.reshape(side, side), cmap="gray", vmin=-limit, vmax=limit)
    figure.savefig(folder / f"atoms_{name}.png", dpi=120, bbox_inches="tight")
    pyplot.close(figure)


if __name__ == "__main__":
    main()
