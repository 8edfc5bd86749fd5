"""How often a run asked the cost for something."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass
class Counts:
    """Exact numbers of oracle calls.

    Attributes
    ----------
    costs, gradients : int
        Evaluations of the cost and of its gradient: at most one each per visited point.
    hessian_products : int
        Hessian-vector products, those spent on the certificate included. A Hessian matrix
        assembled from products counts as that many products.
    hessian_matrices : int
        Hessian matrices formed by a cost that offers them, in whole or in part.
    """

    costs: int = 0
    gradients: int = 0
    hessian_products: int = 0
    hessian_matrices: int = 0

    def snapshot(self) -> Counts:
        """Return a copy that further evaluations leave alone."""
        return Counts(self.costs, self.gradients, self.hessian_products, self.hessian_matrices)

    def as_dict(self) -> dict[str, int]:
        """Return the counts by name."""
        return asdict(self)
