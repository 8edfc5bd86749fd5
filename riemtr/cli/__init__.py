"""L7: the command line; parsing and wiring only."""

from __future__ import annotations

import sys
from importlib import import_module

from riemtr.cli.broken_pipe import PatientStream
from riemtr.errors import MissingExtraError, require

USAGE_ERROR = 2
INTERRUPTED = 130  # what shells report of a command that Ctrl-C ended


def main() -> int:
    """Run the command line on ``sys.argv``; what the command ``riemtr`` calls.

    Returns
    -------
    int
        Exit code 2 where the extra ``cli`` is missing, 130 where Ctrl-C came before the command
        had begun; otherwise the command exits with its own.
    """
    try:
        extra = "demo" if sys.argv[1:2] == ["demo"] else "cli"  # `demo` includes `cli`
        for module in ("typer", "rich"):
            require(module, extra)
        import_module("riemtr.cli.app")
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted, before the command had begun", file=sys.stderr)
        return INTERRUPTED
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets a question mark, not a traceback.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if sys.stdout is not None:  # as it is where the shell closed it
        sys.stdout = PatientStream(sys.stdout)

    from riemtr.cli.app import app

    app(prog_name="riemtr")
    return 0
