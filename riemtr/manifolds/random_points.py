"""Random points of any manifold from an explicit generator, also where pymanopt knows none."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


@contextmanager
def global_numpy_randomness(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global state, which pymanopt draws from, and put it back at the end.

    So a run is reproducible, and the caller's own random stream is untouched.
    """
    saved = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(saved)  # noqa: NPY002


def takes_generator(method: Any) -> bool:
    """Whether a manifold draws from an explicit generator, as pymanopt's do not."""
    return "rng" in inspect.signature(method).parameters


def random_point(manifold: Any, rng: np.random.Generator) -> Any:
    """Draw a random point of any manifold from an explicit generator."""
    if takes_generator(manifold.random_point):
        return manifold.random_point(rng=rng)
    with global_numpy_randomness(rng):
        return manifold.random_point()
