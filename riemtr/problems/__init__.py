"""L2: the registry of problems, and the problems in it."""

from riemtr.problems import (  # noqa: F401 - they fill the registry
    catalogue,
    completion,
    components,
    frames,
    hyperbolic,
    joint_dictionary,
    max_cut,
    mixture,
    orthogonal_frames,
    phase_retrieval,
    pose_graph,
    positive_definite,
    spheres,
    synchronisation,
)
from riemtr.problems.dictionary_learning import DictionaryCost, dictionary_problem
from riemtr.problems.registry import Case, Truth, available, build, describe, register

__all__ = [
    "Case",
    "DictionaryCost",
    "Truth",
    "available",
    "build",
    "describe",
    "dictionary_problem",
    "register",
]
