"""How a solver says that a problem is not for it."""

from __future__ import annotations


class DoesNotApply(ValueError):
    """A solver's word that it is not made for a problem; no failure, and shown as such.

    A solver of your own may raise it too. Python's ``NotImplementedError``, which pymanopt raises
    where a manifold lacks what an optimizer needs, is taken the same way.
    """
