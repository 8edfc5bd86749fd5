"""The data of a comparison of recovery methods, whitened: made up, or the patches of an image."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from riemtr.data import BernoulliGaussian, Conditioned, load_image, paper_sample_size, patches
from riemtr.recovery import Preconditioned, precondition

PARAMETERS = ("n", "p", "theta", "condition", "noise", "image")
"""What can be chosen of them."""

Draw = Callable[[np.random.SeedSequence], tuple[Preconditioned, np.ndarray | None]]
"""Returns whitened data, and the true dictionary where it is known."""


def of_model(
    n: int = 20,
    p: int | None = None,
    theta: float = 0.2,
    condition: float = 10.0,
    noise: float = 0.0,
) -> tuple[dict[str, Any], Draw]:
    """Return a description of made-up data, and what draws them with their true dictionary."""
    samples = paper_sample_size(n) if p is None else p
    model = BernoulliGaussian(n, samples, theta, Conditioned(condition), noise)

    def draw(state: np.random.SeedSequence) -> tuple[Preconditioned, np.ndarray | None]:
        sample = model.draw(np.random.default_rng(state))
        return precondition(sample.observations), sample.dictionary

    parameters = {"n": n, "p": samples, "theta": theta, "condition": condition, "noise": noise}
    return parameters, draw


def of_image(
    image: str | Path | np.ndarray, chosen: Mapping[str, Any]
) -> tuple[dict[str, Any], Draw]:
    """Return the same for the patches of an image, whose true dictionary nobody knows."""
    for name, value in chosen.items():
        raise ValueError(
            f"{name} must be left out where image is given, whose patches are the data; got "
            f"{value!r}: leave out one of them"
        )
    pixels = image if isinstance(image, np.ndarray) else load_image(image)
    white = precondition(patches(pixels), rank="auto")
    named = f"array {pixels.shape}" if pixels is image else str(image)
    rank, samples = white.data.shape
    return {"image": named, "n": rank, "p": samples}, lambda _: (white, None)
