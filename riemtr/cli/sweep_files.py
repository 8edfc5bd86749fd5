"""What ``riemtr sweep`` writes beside its stores, told from the files of others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from riemtr.sweep.cells import FAILURE, SECONDS
from riemtr.sweep.phase_report import FIGURE, SUMMARY
from riemtr.sweep.phase_transition import NAME


def check_files(paths: Iterable[Path]) -> None:
    """Raise an error where a file to be written exists and is not one that a sweep wrote."""
    for path in paths:
        if path.exists() and not _is_ours(path):
            raise FileExistsError(
                f"{path} exists, and no sweep wrote it: move it elsewhere, or choose another "
                f"folder for --out"
            )


def _is_ours(path: Path) -> bool:
    # By what they hold, so that results of any earlier version are known too.
    if path.name == FIGURE:
        # A picture does not say whose it is; it is drawn together with the summary.
        return _is_ours(path.with_name(SUMMARY))
    try:
        if path.name == SUMMARY:
            content = json.loads(path.read_text())
            return isinstance(content, dict) and content.get("experiment") == NAME
        with path.open() as file:
            return file.readline().rstrip("\n").endswith(f",{SECONDS},{FAILURE}")
    except (OSError, ValueError):  # a folder, or what is no text
        return False
