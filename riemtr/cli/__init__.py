"""L7: the command line; parsing and wiring only."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import Any, TextIO

from riemtr.errors import MissingExtraError, require

USAGE_ERROR = 2
INTERRUPTED = 130  # what shells report of a command that Ctrl-C ended


def main() -> int:
    """Run the command line on ``sys.argv``; what the command ``riemtr`` calls.

    Returns
    -------
    int
        That of the command; 2 where the extra ``cli`` is missing or the output cannot be written,
        130 where Ctrl-C came before the command had begun.
    """
    try:
        extra = "demo" if sys.argv[1:2] == ["demo"] else "cli"  # `demo` includes `cli`
        for module in ("typer", "rich"):
            require(module, extra)
        app = import_module("riemtr.cli.app").app
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
    if os.environ.get("COLUMNS", "1").strip() in ("", "0"):  # rich would print nothing
        del os.environ["COLUMNS"]
    if sys.stdout is None:  # as it is where the shell closed it
        app(prog_name="riemtr")
    sys.stdout = patient = PatientStream(sys.stdout)
    code = 0
    try:
        app(prog_name="riemtr")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else bool(ended.code)
    patient.flush()
    if patient.error is not None:
        said = f"error: the output cannot be written: {patient.error.strerror}"
        print(f"{said}; files that were asked for are complete", file=sys.stderr)
        return USAGE_ERROR
    return code


class PatientStream:
    """Output that goes on when it cannot be written, as of ``riemtr recover ... | head``.

    The work is not lost with its reader or with a full disk: what is printed after that goes
    nowhere, and the files that were asked for are written all the same. ``error`` is why it failed;
    a reader who left is no failure.
    """

    def __init__(self, stream: TextIO):
        self._stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or nothing where that has failed."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._to_nowhere(error)
            return len(text)

    def flush(self) -> None:
        """Pass on what was written."""
        try:
            self._stream.flush()
        except OSError as error:
            self._to_nowhere(error)

    def _to_nowhere(self, error: OSError) -> None:
        reader_left = isinstance(error, BrokenPipeError) or (
            os.name == "nt" and error.errno == errno.EINVAL
        )
        if not reader_left:
            self.error = error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self._stream.fileno())
        os.close(nowhere)
