"""What a recovery found, row by row, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from riemtr.data.dask_arrays import is_dask_array
from riemtr.recovery.encoding import Encoder
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.rows import Solve
from riemtr.summary import BAD, DOUBTFUL, GOOD, Cell, Summarised, Summary, Table, plural

# Share of the mean from which rows without zeros may be its fault.
_OFF_CENTRE = 0.2
# Condition number from which noise of a percent or so may mix rows.
_AMPLIFIED = 30.0
# Rows of the table in a terminal or notebook; `atoms` has them all.
_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Atom:
    """One row of X with the atom that goes with it, and the evidence for it.

    Attributes
    ----------
    result : Solve
        What the solver found on the deflated sphere.
    rounding : Rounding or None
        The linear program's solution on all of the (whitened) data, with its duality gap; without
        its dual, which ``riemtr.round_direction(riemtr.precondition(Y).data, result.direction)``
        gives again. None where rounding was turned off.
    direction : ndarray, shape (r,)
        The unit vector q for which q' (whitened Y) is the row, up to scale.
    zeros : int
        Entries of the row that vanish to rounding where the sample does not: zeros of X.
    exact : bool
        Whether they are far more than any vertex of the linear program has, and hold the row where
        it is many times over: it is sparse by itself, not by force.
    attempt : int
        0 if found in the first pass, above if it was solved for again.
    doubts : tuple of str
        Reasons not to trust the row; none until it is compared with the others.
    forced : int
        How many of the r - 1 other directions are held by one zero alone, or by none: r - 1 at any
        vertex of the linear program, k - 1 in a mixture of k sparse rows, 0 in a sparse row.
    flatness : float
        The mean magnitude of the row's entries over their root mean square, without what a single
        sample may have in it, relative to that of Gaussian noise: some 1 for noise, sqrt(theta)
        for rows of the paper's model.
    """

    result: Solve
    rounding: Rounding | None
    direction: np.ndarray
    zeros: int
    exact: bool
    attempt: int
    doubts: tuple[str, ...] = ()
    forced: int = 0
    flatness: float = 0.0

    @property
    def certified(self) -> bool:
        """Whether the rounding is proved optimal: relative duality gap at most 1e-9."""
        return self.rounding is not None and self.rounding.certified

    @property
    def trusted(self) -> bool:
        """Whether nothing speaks against the row.

        An exactly sparse row of data that follow the model, with no more sources than rows and
        coefficients of many values, is right. One that is not is trusted only where no row is
        exactly sparse, there are samples enough, and it is sparser than noise of that shape can be
        made (or the only one that is not): it is then the best near its direction, and no more is
        known.
        """
        return not self.doubts

    @property
    def verdict(self) -> str:
        """The evidence in a few words."""
        if self.doubts:
            return f"doubtful: {'; '.join(self.doubts)}"
        if self.exact:
            return "exactly sparse" + (", certified" if self.certified else "")
        return "certified" if self.certified else "not rounded"

    def __repr__(self) -> str:
        gap = "none" if self.rounding is None else f"{self.rounding.duality_gap:.1e}"
        return f"<Atom: {self.verdict}; {self.zeros} zeros, duality gap {gap}>"


def in_units_of(atom: Atom, unit: float) -> Atom:
    """Return the atom of Y, from that of unit * Y."""
    solve, rounding = atom.result, atom.rounding
    solve = replace(solve, cost=solve.cost / unit, gradient_norm=solve.gradient_norm / unit)
    if rounding is not None:
        rounding = replace(rounding, objective=rounding.objective / unit)
    return replace(atom, result=solve, rounding=rounding)


def ranges(numbers: list[int]) -> str:
    """Return increasing numbers in words, those in sequence as a range.

    Examples
    --------
    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7, 8'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs
    )


@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Summarised):
    """A dictionary A and coefficients X with Y = A X, and the evidence for every row.

    Atoms have unit length, the entry of largest magnitude of each is positive, and they are
    ordered by the length of their row of X, longest first.

    Trust is about rows of X. A column of A is right where all rows are: one wrong row of X
    disturbs every column of A but its own. A certificate proves that a row is the sparsest near
    its direction (in the l1 norm), not that the data follow the model. That they do shows in rows
    that are exactly sparse: those are right if there are no more sources than rows, and where there
    is one with many zeros, a row that is not is doubtful.
    Where no row is exactly sparse, as on images, a trusted row is sparser than any of noise of the
    same shape; there may be other dictionaries as good.

    Attributes
    ----------
    dictionary : ndarray, shape (n, r)
        A, one atom per column; r = n unless the rank was reduced.
    coefficients : ndarray, shape (r, p)
        X, a Dask array where Y is one. What is rounding is set to zero.
    directions : ndarray, shape (r, r)
        Unit vectors q as columns, on the sphere of the whitened data (of Y itself without
        preconditioning).
    encoder : Encoder
        ``encoder.encode(Y)`` gives the coefficients of new samples, by the rule of X for zeros.
    unmixing : ndarray, shape (r, n)
        The inverse of A: X = unmixing Y, and the same for new samples.
    atoms : tuple of Atom
        One per row, in the same order.
    condition_number : float
        Of the data that were whitened (1 without preconditioning).
    mu : float
        The smoothing parameter.
    seed : int
        Passed as ``rng`` it gives this recovery again.
    seconds : float
        Wall time.
    mean_share : float
        The share of the samples' common mean in the sum of squares of Y.
    """

    dictionary: np.ndarray
    coefficients: Any
    directions: np.ndarray
    encoder: Encoder
    atoms: tuple[Atom, ...]
    condition_number: float
    mu: float
    seed: int
    seconds: float = field(default=0.0)
    mean_share: float = 0.0

    @property
    def unmixing(self) -> np.ndarray:
        """The inverse of A."""
        return self.encoder.unmixing

    @property
    def certified(self) -> bool:
        """Whether every row's rounding is proved optimal."""
        return all(atom.certified for atom in self.atoms)

    @property
    def trusted(self) -> bool:
        """Whether nothing speaks against any row."""
        return all(atom.trusted for atom in self.atoms)

    @property
    def doubts(self) -> dict[str, list[int]]:
        """What speaks against rows, and against which."""
        found: dict[str, list[int]] = {}
        for number, atom in enumerate(self.atoms):
            for doubt in atom.doubts:
                found.setdefault(doubt, []).append(number)
        return found

    @property
    def off_centre(self) -> bool:
        """Whether an offset may hide that the data are sparse.

        The model has none, and an offset makes the sparsest rows mixtures. It may be so if the
        samples' common mean has a good share in the data, and no row has more zeros than any vertex
        of the linear program: without the mean there would be none left.
        """
        others = len(self.atoms) - 1
        at_vertices = others > 0 and all(atom.forced == others for atom in self.atoms)
        return self.mean_share >= _OFF_CENTRE and at_vertices

    @property
    def objective(self) -> float:
        """The sum of the magnitudes of X, \\|A^-1 Y\\|_1 for invertible A."""
        if is_dask_array(self.coefficients):
            return float(np.abs(self.coefficients).sum())
        return float(sum(np.abs(row).sum() for row in self.coefficients))

    def count_zeros(self, row: int) -> int:
        """Count the zeros of a row of X, where all of the sample is zero included.

        A Dask array is not visited for that: there only the others count.
        """
        known = self.atoms[row].zeros
        if is_dask_array(self.coefficients):
            return known
        return max(known, int(np.count_nonzero(self.coefficients[row] == 0)))

    def summary(self) -> Summary:
        """Return what was found and how far to trust it, in words and row by row."""
        atoms, (n, rank), p = self.atoms, self.dictionary.shape, self.coefficients.shape[1]
        certified = sum(atom.certified for atom in atoms)
        trusted = sum(atom.trusted for atom in atoms)
        exact = sum(atom.exact for atom in atoms)
        again = sum(atom.attempt > 0 for atom in atoms)
        proof = "a duality gap proves its linear program solved, not that the row is right"
        solves = f"{self.seconds:.3g} s, {plural(rank, 'solve')} on the sphere"
        amplified = self.condition_number > _AMPLIFIED and not exact and trusted > 0
        pairs = (
            ("dictionary", f"{n} x {rank}, from {p} samples"),
            ("certified", f"{certified} of {plural(rank, 'row')}: {proof}"),
            ("exactly sparse", f"{exact} of {plural(rank, 'row')}"),
            ("trust", self._trust()),
            *([("hint", self._offset())] if self.off_centre else []),
            *([("caution", self._amplification())] if amplified else []),
            ("effort", f"{solves}; {plural(again, 'row')} solved for again" if again else solves),
        )
        shared = {doubt: rows for doubt, rows in self.doubts.items() if len(rows) > 1}
        rows = [
            self._row(number, [doubt for doubt in atom.doubts if doubt not in shared])
            for number, atom in enumerate(atoms)
            if number < _SHOWN or any(doubt not in shared for doubt in atom.doubts)
        ]
        headings = ("row", "zeros", "iterations", "duality gap", "certified", "trusted", "remarks")
        notes = [f"rows {ranges(rows)}: {doubt}" for doubt, rows in shared.items()]
        if len(rows) < rank:
            notes.insert(0, f"... {rank - len(rows)} more in .atoms")
        return Summary(
            "Recovery",
            pairs,
            Table(headings, tuple(rows), "rrrrlll"),
            tuple(notes),
            tone=GOOD if trusted == rank and not amplified else DOUBTFUL,
            line=f"{plural(rank, 'atom')} of {plural(n, 'number')}: {plural(certified, 'row')} "
            f"certified, {trusted} trusted, {self.seconds:.3g} s",
        )

    def _row(self, number: int, doubts: list[str]) -> tuple[Cell, ...]:
        """Return the cells of a row, with the doubts that it shares with no other."""
        atom = self.atoms[number]
        remarks = doubts or (["see below"] if atom.doubts else ["exactly sparse"] * atom.exact)
        return (
            str(number),
            f"{self.count_zeros(number) / self.coefficients.shape[1]:.1%}",
            str(atom.result.iterations),
            "" if atom.rounding is None else f"{atom.rounding.duality_gap:.1e}",
            "yes" if atom.certified else ("no", DOUBTFUL),
            ("yes", GOOD) if atom.trusted else ("no", BAD),
            "; ".join(remarks),
        )

    def _trust(self) -> str:
        """Say which rows to trust, and what to do about the others."""
        doubtful = [number for number, atom in enumerate(self.atoms) if atom.doubts]
        unproved = (
            "none is exactly sparse, so nothing can prove any: they are sparser than noise can be "
            "made, and no more is known; see if another seed gives the same"
        )
        exact = any(atom.exact for atom in self.atoms)
        if not doubtful:
            return "nothing speaks against any row" if exact else f"all rows, but {unproved}"
        wrong = "a wrong row disturbs A; more samples help most, or another seed, mu or rank"
        if len(doubtful) == len(self.atoms):
            return f"none: {wrong}"
        which = f"all rows but {ranges(doubtful)}: {wrong}"
        return which if exact else f"{which}; of the others, {unproved}"

    def _offset(self) -> str:
        """Say what an offset does, and how to take it away."""
        return (
            f"the samples' mean is {self.mean_share:.0%} of the sum of squares: either an offset, "
            f"which hides sparsity (subtract the mean; --center in a terminal), or the mean of the "
            f"coefficients themselves (then leave it, and take more samples)"
        )

    def _amplification(self) -> str:
        """Say what the condition number of the data does to noise."""
        return (
            f"the data have condition number {self.condition_number:.0f}, by which noise may be "
            f"amplified: it may have mixed the rows, though every seed gives the same"
        )
