"""Output that goes on when it cannot be written, as of ``riemtr recover ... | head``.

The work is not lost with its reader or with a full disk: what is printed after that goes nowhere,
and the files that were asked for are written all the same.
"""

from __future__ import annotations

import errno
import os
from typing import Any, TextIO


class PatientStream:
    """A text stream that may fail.

    Parameters
    ----------
    stream : text stream
        With a file descriptor, as ``sys.stdout``.

    Attributes
    ----------
    error : OSError or None
        Why it failed; a reader who left is no failure.
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
