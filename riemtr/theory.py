"""The paper, executable: its constants, its regions and its bounds, beside what really happens."""

from riemtr.paper.chart import REGIONS, frame_of
from riemtr.paper.checks import Checks, check
from riemtr.paper.constants import DictionaryConstants, dictionary_constants
from riemtr.paper.expectation import ExpectedCost, Landscape, landscape
from riemtr.paper.lemmas import DistanceLemma, ThirdRegion, distance_lemma, third_region
from riemtr.paper.regions import RunRegions, regions
from riemtr.paper.slips import slips
from riemtr.solvers.critical_points import CriticalPoint, CriticalPoints, critical_points

__all__ = [
    "REGIONS",
    "Checks",
    "CriticalPoint",
    "CriticalPoints",
    "DictionaryConstants",
    "DistanceLemma",
    "ExpectedCost",
    "Landscape",
    "RunRegions",
    "ThirdRegion",
    "check",
    "critical_points",
    "dictionary_constants",
    "distance_lemma",
    "frame_of",
    "landscape",
    "regions",
    "slips",
    "third_region",
]
