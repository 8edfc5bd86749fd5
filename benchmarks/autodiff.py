"""Hessian products by autograd: which way of differentiating twice is the fastest.

Per point, the gradient and ten Hessian products: by one traced gradient and a backward pass per
product (what riemtr does), by forward-over-reverse, by double reverse of <gradient, v> (what
pymanopt does).

    python -m benchmarks.autodiff [--quick]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from benchmarks.timing import interleaved, one_blas_thread, settings

one_blas_thread()

import autograd.numpy as anp  # noqa: E402
import numpy as np  # noqa: E402
from autograd import grad  # noqa: E402
from autograd.differential_operators import make_jvp  # noqa: E402

from riemtr.problem.autodiff import AutogradCost  # noqa: E402

PRODUCTS = 10


def costs(rng: np.random.Generator) -> dict[str, tuple[Callable[[Any], Any], np.ndarray]]:
    matrix = rng.standard_normal((200, 200))
    data = rng.standard_normal((64, 4096))
    tall = rng.standard_normal((60, 5))
    return {
        "quadratic form, n = 200": (lambda x: x @ matrix @ x, rng.standard_normal(200)),
        "log-cosh, 64 x 4096": (
            lambda x: anp.mean(anp.log(anp.cosh(anp.dot(x, data)))),
            rng.standard_normal(64) / 8,
        ),
        "trace x'Ax, 60 x 5": (
            lambda x: anp.trace(anp.dot(x.T, anp.dot(matrix[:60, :60], x))),
            tall,
        ),
    }


def traced(cost: Callable[[Any], Any], point: np.ndarray, vectors: list[np.ndarray]) -> Any:
    here = AutogradCost(cost, 1).at(point)
    return [here.gradient, *(here.hessian(vector) for vector in vectors)]


def forward_over_reverse(
    cost: Callable[[Any], Any], point: np.ndarray, vectors: list[np.ndarray]
) -> Any:
    product = make_jvp(grad(cost))(point)
    return [grad(cost)(point), *(product(vector)[1] for vector in vectors)]


def double_reverse(cost: Callable[[Any], Any], point: np.ndarray, vectors: list[np.ndarray]) -> Any:
    gradient = grad(cost)
    along = grad(lambda x, v: anp.sum(gradient(x) * v))
    return [gradient(point), *(along(point, vector) for vector in vectors)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="3 repeats, not 30")
    repeats = 3 if parser.parse_args().quick else 30
    print(settings())
    rng = np.random.default_rng(0)
    print(f"\nmilliseconds for a gradient and {PRODUCTS} Hessian products, {repeats} repeats")
    methods = {
        "traced once": traced,
        "forward over reverse": forward_over_reverse,
        "double reverse": double_reverse,
    }
    print(f"{'cost':<26}" + "".join(f"{name:>22}" for name in methods))
    for name, (cost, point) in costs(rng).items():
        vectors = [rng.standard_normal(point.shape) for _ in range(PRODUCTS)]
        tasks = {
            label: lambda method=method: method(cost, point, vectors)  # noqa: B023
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
                f"{1e3 * seconds[label]:>13.2f} ({seconds[label] / seconds['traced once']:>4.1f}x)"
                for label in methods
            )
        )


if __name__ == "__main__":
    main()
