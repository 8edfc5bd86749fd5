"""The paper, executable: its constants, its regions and its bounds, beside what really happens."""

from riemtr.theory.chart import REGIONS, frame_of
from riemtr.theory.checks import Checks, check
from riemtr.theory.concavity import ThirdRegion, third_region
from riemtr.theory.constants import DictionaryConstants, dictionary_constants
from riemtr.theory.distance import DistanceLemma, distance_lemma
from riemtr.theory.errata import slips
from riemtr.theory.run_regions import RunRegions, regions
from riemtr.theory.survey import CriticalPoint, CriticalPoints, critical_points

__all__ = [
    "REGIONS",
    "Checks",
    "CriticalPoint",
    "CriticalPoints",
    "DictionaryConstants",
    "DistanceLemma",
    "RunRegions",
    "ThirdRegion",
    "check",
    "critical_points",
    "dictionary_constants",
    "distance_lemma",
    "frame_of",
    "regions",
    "slips",
    "third_region",
]
