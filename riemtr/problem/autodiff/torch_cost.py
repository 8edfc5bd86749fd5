"""Derivatives by PyTorch.

As with autograd, value and gradient share one forward pass; the gradient is traced once per point,
and each Hessian product is one backward pass through that trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riemtr.errors import require
from riemtr.manifolds.arrays import flatten, unflatten
from riemtr.problem.books import lazy
from riemtr.problem.shared_work import NotDifferentiableError


class TorchCost:
    """A plain callable with PyTorch's derivatives; needs the extra ``torch``.

    Parameters
    ----------
    cost : callable
        Takes the arrays of a point as tensors on the CPU, of the point's own precision; returns a
        tensor of one real number.
    layout : int or sequence of int
        pymanopt's point layout.
    """

    def __init__(self, cost: Callable[..., Any], layout: Any):
        require("torch", extra="torch")
        self.cost = cost
        self.layout = layout
        self.is_smooth: bool | None = None  # not known yet

    def at(self, point: Any) -> TorchPoint:
        """Return the shared work at one point."""
        return TorchPoint(self, flatten(point, self.layout))

    def evaluate(self, *arrays: Any) -> float:
        """Return the cost alone, of numpy's arrays."""
        import torch

        with torch.no_grad():
            return _number(self.cost(*map(torch.tensor, arrays)))


class TorchPoint:
    """Value, gradient and Hessian products of one cost at one point."""

    def __init__(self, owner: TorchCost, arrays: Sequence[Any]):
        import torch

        self._owner = owner
        self._tensors = [torch.tensor(array, requires_grad=True) for array in arrays]

    @lazy
    def _forward(self) -> Any:
        import torch

        with torch.enable_grad():
            value = self._owner.cost(*self._tensors)
        if getattr(value, "requires_grad", False):
            return value
        raise NotDifferentiableError(
            "torch sees no dependence of the cost on the point; return a tensor computed from the "
            "tensors it gets, without detach(), item() or numpy(), or pass euclidean_gradient (and "
            "euclidean_hessian) to Problem"
        )

    @lazy
    def value(self) -> float:
        """The cost."""
        return _number(self._forward)

    @lazy
    def gradient(self) -> Any:
        """Euclidean gradient, from the same forward pass as the value."""
        return self._restore(self._backward(self._forward))

    @lazy
    def _traced_gradient(self) -> list[tuple[int, Any]]:
        """The gradient's arrays, each with its index, but those of arrays that are not used."""
        import torch

        # Functions that can be differentiated once only say so if the seed is to be followed, too.
        seed = torch.ones_like(self._forward, requires_grad=True)
        gradient = self._backward(self._forward, grad_outputs=seed, create_graph=True)
        traced = [(index, part) for index, part in enumerate(gradient) if part.requires_grad]
        if self._owner.is_smooth is None:
            self._owner.is_smooth = not _is_cut_off([part for _, part in traced])
        if not self._owner.is_smooth:
            raise NotDifferentiableError("a part of the cost is marked once_differentiable")
        return traced

    def hessian(self, vector: Any) -> Any:
        """Euclidean Hessian product: one backward pass through the traced gradient."""
        import torch

        vectors = flatten(vector, self._owner.layout)
        traced = self._traced_gradient
        along = [torch.tensor(vectors[index]).to(part.dtype) for index, part in traced]
        return self._restore(self._backward([part for _, part in traced], grad_outputs=along))

    def _backward(self, outputs: Any, **options: Any) -> Any:
        import torch

        try:
            return torch.autograd.grad(
                outputs, self._tensors, retain_graph=True, materialize_grads=True, **options
            )
        except (NotImplementedError, RuntimeError) as error:
            raise NotDifferentiableError(
                f"torch could not differentiate the cost ({error}); use operations that it can "
                "differentiate twice, or pass euclidean_gradient (and euclidean_hessian) to Problem"
            ) from error

    def _restore(self, tensors: Any) -> Any:
        # For complex z = x + iy, torch's derivatives are d/dx + i d/dy, the gradient itself.
        arrays = [tensor.detach().resolve_conj().numpy() for tensor in tensors]
        return unflatten(arrays, self._owner.layout)


def _is_cut_off(tensors: Sequence[Any]) -> bool:
    """Whether some part of what tensors were computed from cannot be differentiated again.

    torch itself would leave that part out, without a word.
    """
    waiting, seen = [tensor.grad_fn for tensor in tensors], set()
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        if node.name().endswith("Error"):
            return True
        seen.add(node)
        waiting.extend(following for following, _ in node.next_functions)
    return False


def _number(value: Any) -> Any:
    """Return a tensor of one number as that, and others as numpy's arrays."""
    if not hasattr(value, "detach"):
        return value
    array = value.detach().cpu().resolve_conj().numpy()
    return array.item() if array.size == 1 else np.array(array)
