"""What speaks against a row: a table of doubts, the most serious first."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from riemtr.recovery.errors import DEVIATIONS
from riemtr.recovery.evidence import RULE, SampleCounts, dependence_limit
from riemtr.recovery.report import Atom


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows together, in whose light each row is judged.

    Attributes
    ----------
    atoms : sequence of Atom
    counts : SampleCounts
        How many samples there are, and how many they are worth.
    noise_flatness : float
        The flatness of noise whose samples are as long as these.
    residual : float
        What a reduction of the rank left of the data, relative to the data.
    """

    atoms: Sequence[Atom]
    counts: SampleCounts
    noise_flatness: float = 1.0
    residual: float = 0.0

    @property
    def others(self) -> int:
        """How many other rows each row has."""
        return len(self.atoms) - 1

    @property
    def all_exact(self) -> bool:
        """Whether every row is exact."""
        return all(row.exact for row in self.atoms)

    @cached_property
    def some_exact(self) -> bool:
        """Whether half of the rows are exact and have a good share of zeros."""
        constants = sum(row.exact and not row.zeros for row in self.atoms)
        return 2 * sum(row.exact for row in self.sparse) >= len(self.atoms) - constants

    @cached_property
    def error_of_exact(self) -> float:
        """The largest standard error of an exact row's atom, which other rows make."""
        return max((row.standard_error for row in self.atoms if row.exact), default=0.0)

    @cached_property
    def model_holds(self) -> bool:
        """The same, or whether zeros hold a row many times over in half of the directions."""
        return self.some_exact or any(2 * row.forced < self.others for row in self.sparse)

    @property
    def has_repeats(self) -> bool:
        """Whether rows only complete the dictionary, so that they depend on others."""
        return any(row.repeats for row in self.atoms)

    @property
    def has_sparse_exact(self) -> bool:
        """Whether an exact row has a good share of zeros."""
        return any(row.exact for row in self.sparse)

    @property
    def sparse(self) -> list[Atom]:
        """The rows that have a good share of zeros."""
        return [row for row in self.atoms if row.zeros >= RULE.sparse * self.counts.nonzero]

    @cached_property
    def are_like_noise(self) -> bool:
        """Whether more than one row is like noise: the last one is what the others leave."""
        return sum(self.is_flat(row) for row in self.atoms) > 1

    def is_flat(self, row: Atom) -> bool:
        """Whether a row is neither sparser nor flatter than noise can be made."""
        most = RULE.noise * math.sqrt(len(self.atoms) / self.counts.worth)
        return abs(row.flatness / self.noise_flatness - 1.0) <= most

    @cached_property
    def depend(self) -> bool:
        """Whether a row depends on others, which refutes what all standard errors rest on."""
        return any(self.is_dependent(row) for row in self.atoms)

    def is_dependent(self, row: Atom) -> bool:
        """Whether a row depends on others more than chance makes it."""
        return row.dependence > dependence_limit(len(self.atoms))


_DEPENDENT = (
    "magnitudes of rows depend on each other more than chance makes them: there may be more "
    "sources than rows, or none"
)
_RANK = (
    "the rank kept leaves a residual of {rows.residual:.1%}: rows of what was dropped are mixed "
    "into it"
)
_NOT_CONVERGED = "the solver did not converge ({row.result.status})"


@dataclass(frozen=True)
class Doubt:
    """A reason not to trust a row.

    Attributes
    ----------
    name : str
    applies : callable
        Whether a row, among all rows, gives that reason.
    sentence : str
        The reason in words, with fields of ``row`` and ``rows`` in braces.
    """

    name: str
    applies: Callable[[Atom, Rows], bool]
    sentence: str


def _has_error(row: Atom, rows: Rows) -> bool:
    """Whether an estimate may rest on a standard error: beside exact rows, where it is known."""
    return not row.repeats and not (rows.some_exact and math.isnan(row.standard_error))


OF_ESTIMATES: tuple[tuple[Doubt, ...], ...] = (
    (
        Doubt(
            "repeats",
            lambda row, rows: row.repeats > 0.0,
            "depends on better rows (cosine {row.repeats:.3f} with the nearest) however often it "
            "is solved for: what is given instead only completes the dictionary",
        ),
        Doubt(
            "not exact",
            lambda row, rows: rows.some_exact and math.isnan(row.standard_error),
            "not exactly sparse, though others are, or not held in place by its zeros: it may mix "
            "several",
        ),
        Doubt(
            "held by few zeros",  # but by more than a vertex of the linear program forces
            lambda row, rows: (
                not (rows.has_sparse_exact and math.isfinite(row.standard_error))
                and (rows.model_holds or row.forced < rows.others)
            ),
            "a single zero, or none, holds it in {row.forced} of {rows.others} directions: it may "
            "mix several rows, or {rows.counts} are too few to tell",
        ),
        Doubt(
            "few samples",
            lambda row, rows: rows.counts.worth < RULE.few_samples * len(rows.atoms),
            "not exactly sparse, and {rows.counts} are too few for {row.direction.size} "
            "dimensions: any vertex of the linear program would look as sparse",
        ),
        Doubt(
            "like noise",
            lambda row, rows: rows.is_flat(row) and rows.are_like_noise,
            "no more zeros than any vertex of the linear program has, and otherwise it is "
            "no sparser than noise can be made whose samples are as long, and no flatter",
        ),
    ),
    (Doubt("dependent", lambda row, rows: _has_error(row, rows) and rows.depend, _DEPENDENT),),
    (
        Doubt(
            "error unknown",
            lambda row, rows: _has_error(row, rows) and math.isnan(row.standard_error),
            "its standard error is not known: refined rows have one, unless samples do not tell "
            "them from other rows, as two Gaussian ones",
        ),
        Doubt(
            "error large",
            lambda row, rows: (
                _has_error(row, rows)
                and DEVIATIONS * max(row.standard_error, rows.error_of_exact) > RULE.error
            ),
            f"its error, or the error that it causes in the atoms of exact rows, may be above "
            f"{RULE.error:.0%}: that is {DEVIATIONS:.0f} standard errors",
        ),
    ),
    (
        Doubt(
            "not found again",
            lambda row, rows: _has_error(row, rows) and not row.is_found_again,
            "{row.found_again}",
        ),
    ),
    (Doubt("rank", lambda row, rows: not row.repeats and rows.residual >= RULE.lost, _RANK),),
    (Doubt("not converged", lambda row, rows: not row.result.converged, _NOT_CONVERGED),),
)
"""What speaks against a row that is not exactly sparse."""

OF_EXACT: tuple[tuple[Doubt, ...], ...] = (
    (
        Doubt(
            "mixes",
            lambda row, rows: row.sparser is not None,
            "less {row.sparser.factor:.3g} times row {row.sparser.other} it has "
            "{row.sparser.gain} more zeros: it mixes several",
        ),
    ),
    (
        Doubt(
            "shares",
            lambda row, rows: row.shares,
            "it is in proportion to another row on many samples: they have a source in common, as "
            "where there are more sources than rows",
        ),
    ),
    (
        Doubt(
            "dependent",
            lambda row, rows: (
                rows.depend
                if row.unproved
                else rows.is_dependent(row) and not (rows.all_exact or rows.has_repeats)
            ),
            _DEPENDENT,
        ),
    ),
    (Doubt("rank", lambda row, rows: rows.residual >= RULE.lost_exact, _RANK),),
    (
        Doubt(
            "like mixtures",
            lambda row, rows: row.mixtures > 0,
            "exactly sparse, as mixtures were that had to be replaced ({row.mixtures} of them): "
            "coefficients of few values, an offset or more sources than rows make such",
        ),
        Doubt(
            "unproved",
            lambda row, rows: bool(row.unproved) and not row.is_found_again,
            "{row.unproved}; {row.found_again}",
        ),
    ),
    (
        Doubt(
            "not certified",
            lambda row, rows: row.rounding is not None and not row.certified,
            "rounding not certified (duality gap {row.rounding.duality_gap:.1e})",
        ),
    ),
)
"""What speaks against an exactly sparse row, which is a row of X wherever the solver stopped."""

OF_ONE: tuple[tuple[Doubt, ...], ...] = (
    (Doubt("rank", lambda row, rows: rows.residual >= RULE.lost, _RANK),),
    (Doubt("not converged", lambda row, rows: not row.result.converged, _NOT_CONVERGED),),
)
"""What speaks against a single row, which is all there is to choose."""


def doubts(row: Atom, rows: Rows) -> tuple[str, ...]:
    """Return the reasons not to trust a row, the most serious first.

    The tables have them in groups. Of each group only the first that applies counts.
    """
    reasons = []
    for group in OF_EXACT if row.exact else OF_ESTIMATES if rows.others else OF_ONE:
        for doubt in group:
            if doubt.applies(row, rows):
                reasons.append(doubt.sentence.format(row=row, rows=rows))
                break
    return tuple(reasons)
