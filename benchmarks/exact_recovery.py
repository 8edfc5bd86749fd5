"""Exact recovery: every row of X, every atom of A, certified, from data that follow the model.

Bernoulli-Gaussian coefficients, p = 5 n^2 log n samples, orthogonal dictionaries and complete ones
of condition number 10. A run counts as exact if all rows are certified and trusted and the aligned
relative errors of A and of X are at most 1e-8; the truth serves for measuring only.

    python -m benchmarks.exact_recovery [--quick] [--n 10 30 50] [--seeds 10]
"""

from __future__ import annotations

import argparse
import statistics

from benchmarks.timing import one_blas_thread, settings

one_blas_thread()

from riemtr.data import (  # noqa: E402
    BernoulliGaussian,
    Conditioned,
    Orthogonal,
    align,
    coefficient_error,
    dictionary_error,
    paper_sample_size,
)
from riemtr.recovery import recover_dictionary  # noqa: E402

ALLOWED = 1e-8


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 10 and 30, 2 seeds")
    parser.add_argument("--n", type=int, nargs="+", default=[10, 30, 50])
    parser.add_argument("--seeds", type=int, default=10)
    arguments = parser.parse_args()
    sizes = [10, 30] if arguments.quick else arguments.n
    seeds = 2 if arguments.quick else arguments.seeds
    print(settings())
    print(
        f"{'n':>4}{'p':>8}{'theta':>7}  {'dictionary':<14}{'exact':>8}{'certified':>11}"
        f"{'error of A':>12}{'of X':>10}{'again':>7}{'seconds':>9}"
    )
    for n in sizes:
        for theta in (0.1, 0.2, 0.3):
            for name, dictionary in (
                ("orthogonal", Orthogonal()),
                ("condition 10", Conditioned(10.0)),
            ):
                report(n, theta, name, dictionary, seeds)


def report(n: int, theta: float, name: str, dictionary: object, seeds: int) -> None:
    p = paper_sample_size(n)
    exact = certified = again = 0
    errors, seconds = [], []
    for seed in range(seeds):
        sample = BernoulliGaussian(n=n, p=p, theta=theta, dictionary=dictionary).draw(seed)
        found = recover_dictionary(sample.observations, rng=seed)
        match = align(found.dictionary, sample.dictionary)
        pair = (
            dictionary_error(found.dictionary, sample.dictionary),
            coefficient_error(found.coefficients, sample.coefficients, match),
        )
        errors.append(pair)
        seconds.append(found.seconds)
        certified += found.certified
        exact += found.certified and found.trusted and max(pair) <= ALLOWED
        again += sum(atom.attempt > 0 for atom in found.atoms)
    worst_A, worst_X = (max(column) for column in zip(*errors, strict=True))
    print(
        f"{n:>4}{p:>8}{theta:>7.1f}  {name:<14}{f'{exact}/{seeds}':>8}{f'{certified}/{seeds}':>11}"
        f"{worst_A:>12.1e}{worst_X:>10.1e}{again:>7}{statistics.median(seconds):>9.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
