"""One line that shows how far long work is: rewritten in place, or written now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Writer = Callable[[str, int, int], Any]
"""Called with the line, how much is done, and how much there will be."""


def line_writer() -> Writer:
    """Return what shows a line on the standard error stream, or in a notebook."""
    shell = _notebook()
    if shell is not None:
        display = shell.display_pub
        state: dict[str, Any] = {
            "transient": {"display_id": f"riemtr-{time.perf_counter_ns()}"},
            "update": False,
        }

        def publish(line: str, done: int, total: int) -> None:
            display.publish({"text/plain": line}, **state)
            state["update"] = True

        return publish
    return _rewrite if sys.stderr.isatty() else _now_and_then


def _notebook() -> Any:
    """The shell of a notebook, None where there is none."""
    found = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return found if hasattr(found, "kernel") else None


def _rewrite(line: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r{line}\x1b[K" + ("\n" if done == total else ""))
    sys.stderr.flush()


def _now_and_then(line: str, done: int, total: int) -> None:
    """Write ten lines in all to a file or a pipe, where each stays."""
    if done == total or 10 * done // total > 10 * (done - 1) // total:
        print(line, file=sys.stderr, flush=True)
