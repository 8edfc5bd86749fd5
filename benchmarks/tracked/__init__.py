"""Counters of oracle calls, tracked by asv from commit to commit: ``asv run``, ``asv publish``."""
