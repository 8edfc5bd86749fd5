"""The paper, executable: its constants, its regions and its bounds, beside what really happens.

Names are imported when they are first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from riemtr.theory.chart import frame_of as frame_of
    from riemtr.theory.checks import Checks as Checks
    from riemtr.theory.checks import check as check
    from riemtr.theory.constants import DictionaryConstants as DictionaryConstants
    from riemtr.theory.constants import dictionary_constants as dictionary_constants
    from riemtr.theory.constants import slips as slips
    from riemtr.theory.distance import DistanceLemma as DistanceLemma
    from riemtr.theory.distance import distance_lemma as distance_lemma
    from riemtr.theory.regions import RunRegions as RunRegions
    from riemtr.theory.regions import regions as regions
    from riemtr.theory.third_region import ThirdRegion as ThirdRegion
    from riemtr.theory.third_region import third_region as third_region

# The module that each name comes from.
_HOMES = {
    "Checks": "checks",
    "DictionaryConstants": "constants",
    "DistanceLemma": "distance",
    "RunRegions": "regions",
    "ThirdRegion": "third_region",
    "check": "checks",
    "dictionary_constants": "constants",
    "distance_lemma": "distance",
    "frame_of": "chart",
    "regions": "regions",
    "slips": "constants",
    "third_region": "third_region",
}
__all__ = sorted(_HOMES)  # type: ignore[type-var]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
