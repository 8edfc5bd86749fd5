"""Numbers and sources of randomness as users pass them, whatever the layer."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_real(value: Any) -> bool:
    """Whether a value is a real number, of Python's or numpy's, that comparisons work with.

    Examples
    --------
    >>> is_real(1), is_real(np.float32(0.5)), is_real("1e-3"), is_real(None)
    (True, True, False, False)
    """
    kind = np.asarray(value)
    return kind.ndim == 0 and kind.dtype.kind in "iuf"


def generator(rng: Any) -> np.random.Generator:
    """Return the generator that a user's seed stands for.

    Examples
    --------
    >>> generator("a")
    Traceback (most recent call last):
    ...
    ValueError: rng must be a nonnegative integer, a numpy.random.Generator or None; got 'a'
    """
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise ValueError(
            f"rng must be a nonnegative integer, a numpy.random.Generator or None; got {rng!r}"
        ) from None
