"""Run every benchmark: ``python -m benchmarks.run``; ``--quick`` is the smoke run of CI."""

from __future__ import annotations

import argparse
import os
import pkgutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import benchmarks

NOT_BENCHMARKS = {
    "run",
    "timing",
    "torture_cases",
    "torture_kinks",
    "torture_manifolds",
    "torture_scales",
    "torture_smooth",
    "torture_symmetries",
    "torture_trials",
    "torture_variants",
    "tracked",
    "zoo_against",
    "zoo_problems",
}


def names() -> list[str]:
    """Names of the benchmark scripts."""
    found = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)}
    return sorted(found - NOT_BENCHMARKS)


def passes(name: str, quick: bool) -> bool:
    """Run a benchmark, and say whether it ended well; a smoke run prints when it has ended."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if quick else [])]
    heading = f"\n=== {' '.join(command[1:])}"
    if not quick:
        print(heading, flush=True)
    begin = time.perf_counter()
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if quick else {}
    ended = subprocess.run(command, check=False, text=True, **options)
    said = f"{heading}\n{ended.stdout}" if quick else ""
    print(f"{said}--- {time.perf_counter() - begin:.0f} s", flush=True)
    return ended.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small run of each")
    parser.add_argument(
        "only", nargs="*", help=f"which to run; all of {', '.join(names())} if none"
    )
    arguments = parser.parse_args()
    unknown = set(arguments.only) - set(names())
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names())}")
    # Times are measured one benchmark after the other; a smoke run measures nothing.
    workers = os.cpu_count() if arguments.quick else 1
    chosen = arguments.only or names()
    with ThreadPoolExecutor(workers) as pool:
        ended = list(pool.map(lambda name: passes(name, arguments.quick), chosen))
    failed = [name for name, passed in zip(chosen, ended, strict=True) if not passed]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
