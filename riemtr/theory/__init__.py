"""L4: the paper's theory beside what happens: landscapes."""

from riemtr.theory.landscape import ExpectedCost, Landscape, landscape

__all__ = ["ExpectedCost", "Landscape", "landscape"]
