"""Peak memory of recovering the first row, as a multiple of the size of Y.

n = 100, p = 1,000,000: Y takes 800 MB. Preconditioning, solve and rounding run in a process of
their own, whose peak resident set is read at its end; what Python and its libraries take before
there is any data is counted in.

    python -m benchmarks.memory [--quick] [--p 1000000]
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

from benchmarks.timing import one_blas_thread

one_blas_thread()


def peak() -> int:
    """Return the largest resident set of this process so far, in bytes."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest


def measure(n: int, p: int) -> dict[str, object]:
    """Draw Y row by row, so that nothing but Y is ever in memory, and recover a row of it."""
    import numpy as np

    from riemtr.data import Conditioned
    from riemtr.recovery import recover_row

    rng = np.random.default_rng(0)
    A = Conditioned(10.0).matrix(n, rng)
    Y = np.empty((n, p))
    for first in range(0, p, 10_000):
        count = min(10_000, p - first)
        X = rng.standard_normal((n, count)) * (rng.random((n, count)) < 0.1)
        Y[:, first : first + count] = A @ X
    before, begin = peak(), time.perf_counter()
    atom = recover_row(Y, rng=0)
    return {
        "size": Y.nbytes,
        "before": before,
        "peak": peak(),
        "seconds": time.perf_counter() - begin,
        "verdict": atom.verdict,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="p = 100,000")
    parser.add_argument("--p", type=int, default=1_000_000)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    n, p = 100, 100_000 if arguments.quick else arguments.p
    if arguments.child:
        print(json.dumps(measure(n, p)))
        return
    command = [sys.executable, "-m", "benchmarks.memory", "--child", "--p", str(p)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    multiple, before = found["peak"] / found["size"], found["before"] / found["size"]
    print(
        f"n = {n}, p = {p}: Y takes {found['size'] / 1e6:.0f} MB; peak {multiple:.2f} x Y "
        f"({before:.2f} x Y before the call); {found['seconds']:.1f} s; {found['verdict']}"
    )


if __name__ == "__main__":
    main()
