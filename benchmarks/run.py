"""Run every benchmark: ``python -m benchmarks.run``; ``--quick`` is the smoke run of CI."""

from __future__ import annotations

import argparse
import pkgutil
import subprocess
import sys
import time

import benchmarks

NOT_BENCHMARKS = {
    "run",
    "timing",
    "torture_cases",
    "torture_manifolds",
    "torture_variants",
    "tracked",
    "zoo_problems",
}


def names() -> list[str]:
    """Names of the benchmark scripts."""
    found = {module.name for module in pkgutil.iter_modules(benchmarks.__path__)}
    return sorted(found - NOT_BENCHMARKS)


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
    failed = []
    for name in arguments.only or names():
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        command += ["--quick"] if arguments.quick else []
        print(f"\n=== {' '.join(command[1:])}", flush=True)
        begin = time.perf_counter()
        if subprocess.run(command, check=False).returncode != 0:
            failed.append(name)
        print(f"--- {time.perf_counter() - begin:.0f} s", flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
