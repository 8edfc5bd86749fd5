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
        return max(row.dependence for row in self.atoms) > dependence_limit(len(self.atoms))


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


def _is_estimate(row: Atom, rows: Rows) -> bool:
    return not row.exact and rows.others > 0  # a single row is all there is to choose


def _is_beside(row: Atom, rows: Rows) -> bool:
    """Whether a row is an estimate beside exact rows."""
    return _is_estimate(row, rows) and any(each.exact for each in rows.sparse)


def _rests_on_errors(row: Atom, rows: Rows) -> bool:
    unknown = rows.some_exact and math.isnan(row.standard_error)
    return _is_estimate(row, rows) and not unknown and not row.repeats


def _is_dependent(row: Atom, rows: Rows) -> bool:
    if _is_estimate(row, rows):
        return _rests_on_errors(row, rows) and rows.depend
    if row.unproved:
        return rows.depend
    return row.dependence > dependence_limit(len(rows.atoms)) and not rows.all_exact


DOUBTS: tuple[tuple[Doubt, ...], ...] = (
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
            "repeats",
            lambda row, rows: row.repeats > 0.0,
            "depends on better rows (cosine {row.repeats:.3f} with the nearest) however often it "
            "is solved for: what is given instead only completes the dictionary",
        ),
        Doubt(
            "not exact",
            lambda row, rows: (
                _is_estimate(row, rows) and rows.some_exact and math.isnan(row.standard_error)
            ),
            "not exactly sparse, though others are, or not held in place by its zeros: it may mix "
            "several",
        ),
        Doubt(
            "held by few zeros",  # but by more than a vertex of the linear program forces
            lambda row, rows: (
                _is_estimate(row, rows)
                and not (_is_beside(row, rows) and math.isfinite(row.standard_error))
                and (rows.model_holds or row.forced < rows.others)
            ),
            "a single zero, or none, holds it in {row.forced} of {rows.others} directions: it may "
            "mix several rows, or {rows.counts} are too few to tell",
        ),
        Doubt(
            "few samples",
            lambda row, rows: (
                _is_estimate(row, rows) and rows.counts.worth < RULE.few_samples * len(rows.atoms)
            ),
            "not exactly sparse, and {rows.counts} are too few for {row.direction.size} "
            "dimensions: any vertex of the linear program would look as sparse",
        ),
        Doubt(
            "like noise",
            lambda row, rows: _is_estimate(row, rows) and rows.is_flat(row) and rows.are_like_noise,
            "no more zeros than any vertex of the linear program has, and otherwise no sparser and "
            "no flatter than noise can be made whose samples are as long",
        ),
    ),
    (
        Doubt(
            "dependent",
            _is_dependent,
            "magnitudes of rows depend on each other more than chance makes them: there may be "
            "more sources than rows, or none",
        ),
    ),
    (
        Doubt(
            "error unknown",
            lambda row, rows: _rests_on_errors(row, rows) and math.isnan(row.standard_error),
            "its standard error is not known: refined rows have one, unless samples do not tell "
            "them from other rows, as two Gaussian ones",
        ),
        Doubt(
            "error large",
            lambda row, rows: (
                _rests_on_errors(row, rows)
                and DEVIATIONS * max(row.standard_error, rows.error_of_exact) > RULE.error
            ),
            f"its error, or what it makes of it in the atoms of exact rows, may be above "
            f"{RULE.error:.0%}: that is {DEVIATIONS:.0f} standard errors",
        ),
    ),
    (
        Doubt(
            "not found again",
            lambda row, rows: _rests_on_errors(row, rows) and not row.is_found_again,
            "{row.found_again}",
        ),
    ),
    (
        Doubt(
            "rank",
            lambda row, rows: (
                not row.repeats and rows.residual >= (RULE.lost_exact if row.exact else RULE.lost)
            ),
            "the rank kept leaves a residual of {rows.residual:.1%}: rows of what was dropped are "
            "mixed into it",
        ),
    ),
    (
        Doubt(
            "like mixtures",
            lambda row, rows: row.exact and row.mixtures > 0,
            "exactly sparse, as mixtures were that had to be replaced ({row.mixtures} of them): "
            "coefficients of few values, an offset or more sources than rows make such",
        ),
        Doubt(
            "unproved",
            lambda row, rows: row.exact and bool(row.unproved) and not row.is_found_again,
            "{row.unproved}; {row.found_again}",
        ),
    ),
    (
        Doubt(
            "not certified",
            lambda row, rows: row.exact and row.rounding is not None and not row.certified,
            "rounding not certified (duality gap {row.rounding.duality_gap:.1e})",
        ),
    ),
    (
        Doubt(
            "not converged",  # what is exactly sparse is a row of X wherever the solver stopped
            lambda row, rows: not row.exact and not row.result.converged,
            "the solver did not converge ({row.result.status})",
        ),
    ),
)
"""Doubts in groups, the most serious first: of each group only the first that applies counts."""


def doubts(row: Atom, rows: Rows) -> tuple[str, ...]:
    """Return the reasons not to trust a row, the most serious first."""
    reasons = []
    for group in DOUBTS:
        applying = (doubt for doubt in group if doubt.applies(row, rows))
        reasons += [doubt.sentence.format(row=row, rows=rows) for doubt in applying][:1]
    return tuple(reasons)
