"""Random points of any manifold from an explicit generator, also where pymanopt knows none."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np


@contextmanager
def global_numpy_randomness(rng: np.random.Generator) -> Iterator[None]:
    """Seed numpy's global state, which pymanopt draws from, and put it back at the end.

    So a run is reproducible, and the caller's own random stream is untouched. It takes longer than
    most draws: around many of them it is used once, and does nothing inside for the same generator.
    """
    if _seeded_by and _seeded_by[-1] is rng:
        yield
        return
    saved = np.random.get_state()  # noqa: NPY002
    np.random.seed(int(rng.integers(2**32)))  # noqa: NPY002
    _seeded_by.append(rng)
    try:
        yield
    finally:
        _seeded_by.pop()
        np.random.set_state(saved)  # noqa: NPY002


_seeded_by: list[np.random.Generator] = []


def takes_generator(method: Any) -> bool:
    """Whether a manifold draws from an explicit generator, as pymanopt's do not."""
    return _takes_generator(getattr(method, "__func__", method))


@lru_cache
def _takes_generator(function: Any) -> bool:
    return "rng" in inspect.signature(function).parameters


def random_point(manifold: Any, rng: np.random.Generator) -> Any:
    """Draw a random point of any manifold from an explicit generator."""
    if takes_generator(manifold.random_point):
        return manifold.random_point(rng=rng)
    with global_numpy_randomness(rng):
        return manifold.random_point()
