"""Hessian products by autograd, JAX and PyTorch: which way of differentiating is the fastest.

Per point, the gradient and ten Hessian products. By autograd: one traced gradient and a backward
pass per product (what riemtr does), forward-over-reverse, double reverse of <gradient, v> (what
pymanopt does). By riemtr's other backends, if they are installed; JAX's programs are compiled
before.

    python -m benchmarks.autodiff [--quick]
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from benchmarks.timing import interleaved, one_blas_thread, settings

one_blas_thread()

import autograd.numpy as anp  # noqa: E402
import numpy as np  # noqa: E402
from autograd import grad  # noqa: E402
from autograd.differential_operators import make_jvp  # noqa: E402

from riemtr.problem.autodiff import AutogradCost, JaxCost, TorchCost  # noqa: E402

PRODUCTS = 10


def costs(
    math: ModuleType, data: Callable[[np.ndarray], Any]
) -> dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]]:
    """Return costs, each with the shape of its points, written with a library that holds data."""
    rng = np.random.default_rng(0)
    matrix = data(rng.standard_normal((200, 200)))
    samples = data(rng.standard_normal((64, 4096)))
    block = data(rng.standard_normal((60, 60)))
    return {
        "quadratic form, n = 200": (lambda x: x @ matrix @ x, (200,)),
        "log-cosh, 64 x 4096": (
            lambda x: math.mean(math.log(math.cosh(x @ samples))),
            (64,),
        ),
        "trace x'Ax, 60 x 5": (lambda x: math.trace(x.T @ (block @ x)), (60, 5)),
    }


Method = Callable[[np.ndarray, list[np.ndarray]], list[Any]]


def shared_work(cost: Any) -> Method:
    def method(point: np.ndarray, vectors: list[np.ndarray]) -> list[Any]:
        here = cost.at(point)
        return [here.gradient, *(here.hessian(vector) for vector in vectors)]

    return method


def forward_over_reverse(cost: Callable[[Any], Any]) -> Method:
    def method(point: np.ndarray, vectors: list[np.ndarray]) -> list[Any]:
        product = make_jvp(grad(cost))(point)
        return [grad(cost)(point), *(product(vector)[1] for vector in vectors)]

    return method


def double_reverse(cost: Callable[[Any], Any]) -> Method:
    def method(point: np.ndarray, vectors: list[np.ndarray]) -> list[Any]:
        gradient = grad(cost)
        along = grad(lambda x, v: anp.sum(gradient(x) * v))
        return [gradient(point), *(along(point, vector) for vector in vectors)]

    return method


def libraries() -> dict[str, tuple[ModuleType, Any, Any]]:
    """The installed ones of riemtr's further backends, with how they hold data."""
    found = {}
    for name, module, holder, kind in (
        ("jax", "jax.numpy", "asarray", JaxCost),
        ("torch", "torch", "tensor", TorchCost),
    ):
        try:
            math = importlib.import_module(module)
        except ImportError:
            print(f"{name} is not installed and left out: pip install 'riemtr[{name}]'")
            continue
        found[name] = math, getattr(math, holder), kind
    if "torch" in found:
        found["torch"][0].set_num_threads(1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="3 repeats, not 30")
    repeats = 3 if parser.parse_args().quick else 30
    print(settings())
    further = libraries()
    print(f"\nmilliseconds for a gradient and {PRODUCTS} Hessian products, {repeats} repeats")
    labels = ["traced once", "forward/reverse", "double reverse", *further]
    print(f"{'cost':<26}" + "".join(f"{label:>17}" for label in labels))
    rng = np.random.default_rng(1)
    for name, (cost, shape) in costs(anp, np.asarray).items():
        methods = {
            "traced once": shared_work(AutogradCost(cost, 1)),
            "forward/reverse": forward_over_reverse(cost),
            "double reverse": double_reverse(cost),
        }
        for label, (math, data, kind) in further.items():
            methods[label] = shared_work(kind(costs(math, data)[name][0], 1))
        point, *vectors = rng.standard_normal((PRODUCTS + 1, *shape)) / 8
        for method in methods.values():
            method(point, vectors)  # compiles
        tasks = {
            label: lambda method=method: method(point, vectors)  # noqa: B023
            for label, method in methods.items()
        }
        seconds, values = interleaved(tasks, repeats)
        reference = values["double reverse"]
        for found in values.values():
            for ours, theirs in zip(found, reference, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)
        print(
            f"{name:<26}"
            + "".join(
                f"{1e3 * seconds[label]:>8.2f} ({seconds[label] / seconds['traced once']:>4.2f}x)"
                for label in labels
            )
        )


if __name__ == "__main__":
    main()
