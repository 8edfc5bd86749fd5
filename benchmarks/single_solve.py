"""One solve of the dictionary-learning cost on real image patches, against the alternatives.

The registered problem on the 8 x 8 patches of four of scikit-image's pictures (n = 64, whitened,
mu = 1e-2), entries of order 1/sqrt(p) and of order 1, random starts, to a gradient norm of 1e-8.
Every solver gets the same starts; each time is the median over interleaved repeats, and the table
shows the median over starts. Each solve is done twice in a row: "ms" is the first, with caches that
the solver before has filled, "again" the second. "time/kernels" is the time over that of the
kernels (products with Y, exponentials and the like), watched in runs of their own, of first and
second solves alike.

    python -m benchmarks.single_solve [--quick] [--images camera astronaut]
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable

from benchmarks.timing import interleaved, one_blas_thread, settings

one_blas_thread()

import numpy as np  # noqa: E402
import pymanopt  # noqa: E402
from pymanopt.optimizers import TrustRegions  # noqa: E402
from scipy.optimize import minimize  # noqa: E402

import riemtr  # noqa: E402
from riemtr.problem.books import lazy  # noqa: E402
from riemtr.problems.dictionary_learning import DictionaryCost, DictionaryPoint  # noqa: E402

TOLERANCE = 1e-8
MU = 1e-2
IMAGES = ("camera", "astronaut", "coffee", "brick")
MEDIANS = ("ms", "ms again", "products", "matrices", "ratio", "ratio again")


class PlainCost:
    """The cost as three plain numpy functions, as a user would write them."""

    def __init__(self, data: np.ndarray):
        self.data = data
        self.samples = data.shape[1]
        self.products = 0

    def cost(self, q: np.ndarray) -> float:
        self.products += 1
        magnitude = np.abs(q @ self.data)
        decay = np.exp(-2.0 * magnitude / MU)
        return float(np.mean(magnitude + MU * np.log1p(decay)) - MU * np.log(2.0))

    def gradient(self, q: np.ndarray) -> np.ndarray:
        self.products += 2
        return self.data @ np.tanh(q @ self.data / MU) / self.samples

    def hessian(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        self.products += 3
        weights = 1.0 - np.tanh(q @ self.data / MU) ** 2
        return self.data @ (weights * (v @ self.data)) / (MU * self.samples)


class ProductCounter:
    """Counts products with Y, and the time spent in the kernels of the fused cost."""

    def __init__(self) -> None:
        self.products = 0
        self.matrices = 0
        self.seconds = 0.0
        self.inside = False
        self._originals = {}

    def __enter__(self) -> ProductCounter:
        for name, weight in (
            ("__init__", 1),
            ("value", 0),
            ("gradient", 1),
            ("_weights", 0),
            ("hessian", 2),
            ("hessian_matrix", 0),
        ):
            self._wrap(name, weight)
        return self

    def _wrap(self, name: str, weight: int) -> None:
        original = vars(DictionaryPoint)[name]
        self._originals[name] = original
        function = getattr(original, "func", original)

        def timed(*arguments: object, **options: object) -> object:
            outer, self.inside = self.inside, True
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.inside = outer
                if not outer:
                    self.seconds += time.perf_counter() - begin
                self.products += weight
                self.matrices += name == "hessian_matrix"

        timed.__name__ = name
        setattr(DictionaryPoint, name, lazy(timed) if isinstance(original, lazy) else timed)

    def __exit__(self, *exception: object) -> None:
        for name, original in self._originals.items():
            setattr(DictionaryPoint, name, original)


def fused_lbfgs(cost: DictionaryCost, start: np.ndarray) -> tuple[np.ndarray, int]:
    """SciPy's L-BFGS-B on f(x/|x|), stopped at the same Riemannian gradient norm."""
    evaluations = 0
    best = {"norm": np.inf, "q": start}

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal evaluations
        evaluations += 1
        length = np.sqrt(x @ x)
        q = x / length
        here = cost.at(q)
        gradient = here.gradient - (here.gradient @ q) * q
        norm = np.sqrt(gradient @ gradient)
        if norm < best["norm"]:
            best.update(norm=norm, q=q)
        return here.value, gradient / length

    def reached(_: np.ndarray) -> None:
        if best["norm"] <= TOLERANCE:
            raise StopIteration

    minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=reached,
        options={"maxiter": 5000, "maxfun": 20000, "ftol": 0.0, "gtol": 0.0},
    )
    return best["q"], evaluations


def count(task: Callable[[], object], plain: PlainCost) -> ProductCounter:
    """Run a task and return what it asked of the fused and of the plain cost."""
    plain.products = 0
    with ProductCounter() as kernels:
        task()
    kernels.products += plain.products
    return kernels


def timed_and_watched(
    tasks: dict[str, Callable[[], np.ndarray]], plain: PlainCost, repeats: int
) -> tuple[dict[str, float], dict[str, np.ndarray], dict[str, list[ProductCounter]]]:
    """Time the tasks, and in runs of their own, under the same load, watch their kernels.

    Watching costs a little time itself.
    """
    twice = {each: task for name, task in tasks.items() for each in (name, again(name))}
    counters: dict[str, list[ProductCounter]] = {name: [] for name in twice}

    def watch(name: str) -> Callable[[], None]:
        return lambda: counters[name].append(count(twice[name], plain))

    watched = {f"{name}, watched": watch(name) for name in twice}
    seconds, points = interleaved({**twice, **watched}, repeats)
    return seconds, points, counters


def again(name: str) -> str:
    return f"{name}, again"


def pymanopt_problem(plain: PlainCost) -> pymanopt.Problem:
    sphere = pymanopt.manifolds.Sphere(plain.data.shape[0])
    numpy = pymanopt.function.numpy(sphere)
    return pymanopt.Problem(
        sphere,
        numpy(lambda q: plain.cost(q)),
        euclidean_gradient=numpy(lambda q: plain.gradient(q)),
        euclidean_hessian=numpy(lambda q, v: plain.hessian(q, v)),
    )


def run(image: str, smooth: bool, starts: int, repeats: int) -> list[dict[str, object]]:
    case = riemtr.problems.build("dictionary-learning", rng=0, image=image, mu=MU)
    data = case.problem.cost.data
    data = data * ((1.0 / np.sqrt(data.shape[1]) if smooth else 1.0) / np.sqrt(np.mean(data**2)))
    problem = riemtr.dictionary_problem(data, MU)
    cost = problem.cost
    plain = PlainCost(cost.data)
    theirs = pymanopt_problem(plain)
    custom = riemtr.Problem(
        riemtr.Sphere(cost.data.shape[0]),
        plain.cost,
        euclidean_gradient=plain.gradient,
        euclidean_hessian=plain.hessian,
    )
    practical = riemtr.PracticalTRM(tolerance=TOLERANCE)
    peer = TrustRegions(min_gradient_norm=TOLERANCE, max_iterations=5000, verbosity=0)
    rows: dict[str, dict[str, list[float]]] = {}
    for seed in range(starts):
        start = problem.manifold.random_point(np.random.default_rng(seed))
        tasks = {
            "riemtr PracticalTRM": lambda start=start: practical.solve(problem, start).point,
            "SciPy L-BFGS-B, fused": lambda start=start: fused_lbfgs(cost, start)[0],
            "riemtr, plain callables": lambda start=start: practical.solve(custom, start).point,
            "pymanopt TrustRegions": lambda start=start: (
                peer.run(theirs, initial_point=start).point
            ),
        }
        seconds, points, counters = timed_and_watched(tasks, plain, repeats)
        for name in tasks:
            kernels = counters[name][-1]
            certificate = riemtr.certify(problem, points[name], tolerance=TOLERANCE * 1.01)
            row = rows.setdefault(
                name,
                {k: [] for k in (*MEDIANS, "cost", "min")},
            )
            for which, task in (("", name), (" again", again(name))):
                alone = statistics.median(each.seconds for each in counters[task])
                row[f"ms{which}"].append(1e3 * seconds[task])
                row[f"ratio{which}"].append(seconds[task] / alone if alone > 0.0 else np.nan)
            row["products"].append(kernels.products)
            row["matrices"].append(kernels.matrices)
            row["cost"].append(problem.at(points[name]).cost)
            row["min"].append(certificate.verdict == "minimizer")
    return [
        {
            "solver": name,
            **{k: statistics.median(row[k]) for k in MEDIANS},
            "cost": statistics.mean(row["cost"]),
            "minimizers": f"{sum(row['min'])}/{starts}",
        }
        for name, row in rows.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one picture, 2 starts, 1 repeat")
    parser.add_argument("--images", nargs="+", default=IMAGES, help=f"default: {' '.join(IMAGES)}")
    arguments = parser.parse_args()
    starts, repeats = (2, 1) if arguments.quick else (10, 7)
    images = arguments.images[:1] if arguments.quick else arguments.images
    print(settings())
    for image, (label, smooth) in itertools.product(images, (("1/sqrt(p)", True), ("1", False))):
        print(f"\n{image}, entries of order {label}, mu = {MU}, {starts} starts")
        rows = run(image, smooth, starts, repeats)
        ours = rows[0]["ms"]
        print(
            f"{'solver':<26}{'ms':>8}{'again':>8}{'vs ours':>9}{'products':>10}{'matrices':>10}"
            f"{'time/kernels':>14}{'again':>8}{'mean cost':>12}{'minimizers':>12}"
        )
        for row in rows:
            print(
                f"{row['solver']:<26}{row['ms']:>8.2f}{row['ms again']:>8.2f}"
                f"{row['ms'] / ours:>9.2f}{row['products']:>10.0f}{row['matrices']:>10.0f}"
                f"{row['ratio']:>14.2f}{row['ratio again']:>8.2f}{row['cost']:>12.6f}"
                f"{row['minimizers']:>12}"
            )
        for column in ("ms", "ms again"):
            practical, lbfgs, plain, peer = (row[column] for row in rows)
            label = column.split()[-1]
            print(
                f"{label:<6} pymanopt / PracticalTRM: {peer / practical:.1f}x; L-BFGS-B / "
                f"PracticalTRM: {lbfgs / practical:.2f}x; pymanopt / riemtr with the same plain "
                f"callables: {peer / plain:.1f}x"
            )


if __name__ == "__main__":
    main()
