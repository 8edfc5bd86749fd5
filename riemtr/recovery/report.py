"""The dictionary in normal form, and what a recovery found, row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from riemtr.data.blocks import column_lengths, is_dask_array
from riemtr.recovery.evidence import Sparser
from riemtr.recovery.rounding import Rounding
from riemtr.recovery.solving import Solve
from riemtr.recovery.zeros import clear_rounding, threshold
from riemtr.summary import BAD, DOUBTFUL, GOOD, Cell, Summarised, Summary, Table, plural


@dataclass(frozen=True, eq=False)
class NormalForm:
    """A (n x r) and the map X = unmixing Y (r x n), normalised; how the rows were reordered."""

    dictionary: np.ndarray
    unmixing: np.ndarray
    directions: np.ndarray
    scales: np.ndarray
    order: np.ndarray


def normal_form(
    directions: np.ndarray, matrix: np.ndarray, inverse: np.ndarray, gram: np.ndarray
) -> NormalForm:
    """Return dictionary and unmixing matrix for directions q_i on the sphere of whitened data.

    With X = Q'(W Y), the rows q_i'(W Y), the paper's step 4, A = Y X'(X X')^-1, equals
    W^+ (Q')^-1, since Y = W^+ (W Y). That form squares no condition number.

    Order, signs and scales, which the data leave open, are chosen thus: the atoms, columns of A,
    have unit length and :func:`column_signs`; rows of X come in the order of decreasing length,
    the atoms that explain most of Y first.

    Parameters
    ----------
    directions : ndarray, shape (r, r)
        Q, unit columns.
    matrix, inverse : ndarray, shapes (r, n) and (n, r)
        W and W^+.
    gram : ndarray, shape (r, r)
        (W Y)(W Y)'.
    """
    dictionary = inverse.astype(np.float64) @ np.linalg.inv(directions.T)
    exponents = np.frexp(np.abs(dictionary).max(axis=0))[1]  # or squares over- or underflow
    lengths = np.ldexp(np.linalg.norm(np.ldexp(dictionary, -exponents), axis=0), exponents)
    signs = column_signs(dictionary)
    row_lengths = np.sqrt(np.einsum("ij,ij->j", directions, gram @ directions))
    order = np.argsort(-lengths * row_lengths, kind="stable")
    scales = (signs * lengths)[order]
    unmixing = scales[:, None] * (directions.T[order] @ matrix.astype(np.float64))
    dictionary = dictionary[:, order] / scales
    return NormalForm(
        dictionary, unmixing, directions[:, order] * np.sign(scales), np.abs(scales), order
    )


def mean_share(mean: np.ndarray, inverse: np.ndarray, gram: np.ndarray, samples: int) -> float:
    """Return the share of the average sample in the sum of squares of Y = W^+ (W Y).

    Parameters
    ----------
    mean : ndarray, shape (r,)
        The average of the whitened samples.
    inverse, gram
        As for :func:`normal_form`.
    samples : int

    Examples
    --------
    >>> Y = np.array([[3.0, 5.0], [1.0, -1.0]])
    >>> round(mean_share(Y.mean(axis=1), np.eye(2), Y @ Y.T, 2), 3)  # 32 of 36
    0.889
    """
    back = inverse.astype(np.float64)
    back = np.ldexp(back, -np.frexp(np.abs(back).max())[1])  # or squares over- or underflow
    offset = back @ mean
    return float(samples * (offset @ offset) / np.einsum("ij,jk,ik->", back, gram, back))


def column_signs(matrix: np.ndarray) -> np.ndarray:
    """Return signs, 1 or -1, that make the entry of largest magnitude of each column positive.

    Of several that agree to 1e-8 it is the first, so that rounding does not choose.

    Examples
    --------
    >>> column_signs(np.array([[0.5, 1.0], [-0.5 - 1e-16, -2.0]]))
    array([ 1., -1.])
    """
    size = np.abs(matrix)
    first = np.argmax(size >= (1.0 - 1e-8) * size.max(axis=0), axis=0)
    return np.where(matrix[first, np.arange(matrix.shape[1])] < 0, -1.0, 1.0)


# Condition number from which noise of a percent or so may mix rows.
_AMPLIFIED = 30.0
# Share of the mean in the sum of squares of Y that is worth a line where no offset was looked for.
_MEAN_SHARE = 0.01
# Rows of the table in a terminal or notebook; `atoms` has them all.
_SHOWN = 12
# Rows of the table where many of them have something of their own to say.
_MOST_SHOWN = 24


@dataclass(frozen=True, eq=False, repr=False)
class Atom:
    """One row of X with the atom that goes with it, and the evidence for it.

    Attributes
    ----------
    result : Solve
        What the solver found on the deflated sphere.
    rounding : Rounding or None
        The linear program's solution on all of the (whitened) data, with its duality gap, without
        its dual. None where rounding was turned off, where rows were refined together instead, and
        where the row only completes the dictionary.
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
    unproved : str
        Why exact zeros do not prove the row; empty if they do, or if it has none.
    standard_error : float
        Of the atom, relative to its length; 0 if all rows are exact to rounding, NaN if not known.
    starts, came_back : int
        From how many random starts all rows were solved for, and how many of the others had led to
        this row.
    dependence : float
        How far its magnitude depends on that of the other rows: some 1 for independent sources.
    repeats : float
        The cosine between a better row and the row that was found here, if that was none of its
        own and the direction given only completes the dictionary; else 0.
    sparser : Sparser or None
        The combination with another row that has more zeros, if there is one.
    mixtures : int
        How many exactly sparse rows of the same data were mixtures and had to be replaced.
    shares : bool
        Whether the row is in proportion to another exactly sparse one on many samples.
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

    unproved: str = ""
    standard_error: float = math.nan
    starts: int = 1
    came_back: int = 0
    dependence: float = 0.0
    repeats: float = 0.0
    sparser: Sparser | None = None
    mixtures: int = 0
    shares: bool = False

    @property
    def is_found_again(self) -> bool:
        """Whether another start, and every one there was, led to the row."""
        return self.came_back >= max(self.starts - 1, 1)

    @property
    def found_again(self) -> str:
        """How often other starts led to the row, in words."""
        if self.starts < 2:
            return "found from one start only: seeds=3 shows whether others lead there"
        return f"found again from {self.came_back} of {plural(self.starts - 1, 'other start')}"

    @property
    def certified(self) -> bool:
        """Whether the row's linear program is proved solved: relative duality gap at most 1e-9.

        It says nothing of whether the row is right: see :attr:`verdict`.
        """
        return self.rounding is not None and self.rounding.certified

    @property
    def verdict(self) -> str:
        """How far the row is known to be right: "proved", "plausible" or "doubtful".

        A proved row is exactly sparse, and its zeros hold it in place many times over: it is right
        if the data follow the model with no more sources than rows. A plausible one has nothing
        against it: four standard errors of at most 1 %, other starts that lead there as well, and a
        magnitude independent of the other rows'. All others are doubtful.
        """
        if self.doubts:
            return "doubtful"
        return "proved" if self.exact and not self.unproved else "plausible"

    @property
    def trusted(self) -> bool:
        """Whether the row is proved or plausible."""
        return not self.doubts

    @property
    def remark(self) -> str:
        """The evidence in a few words."""
        if self.doubts:
            return "; ".join(self.doubts)
        if self.exact:
            return "exactly sparse" + (f", {self.came_back + 1} starts" if self.unproved else "")
        return f"standard error {self.standard_error:.1e}, {self.came_back + 1} starts"

    def __repr__(self) -> str:
        gap = "none" if self.rounding is None else f"{self.rounding.duality_gap:.1e}"
        return f"<Atom: {self.verdict}: {self.remark}; {self.zeros} zeros, duality gap {gap}>"


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


@dataclass(frozen=True, eq=False)
class Encoder:
    """The map from samples to coefficients, and what counts as zero in each of them.

    Attributes
    ----------
    unmixing : ndarray, shape (r, n)
        The inverse of A: X = unmixing Y.
    whitening : ndarray, shape (r, n)
        W; what counts as zero is relative to the length of W y, which no units change.
    scales : ndarray, shape (r,)
        Those of X = scales * Q'W Y, with unit directions q.
    conditions : ndarray, shape (r,)
        What rounding errors of samples are multiplied by in each row of Q'W Y.
    precision : float
        What the zeros of data with few digits have left, over the length of W y.
    constant : int or None
        The row of ones that stand below Y for its offset; None where there are none.
    """

    unmixing: np.ndarray
    whitening: np.ndarray
    scales: np.ndarray
    conditions: np.ndarray
    precision: float = 0.0
    constant: int | None = None

    def vanishing(self, dtype: np.dtype) -> np.ndarray:
        """Return what counts as zero in each row, over the length of W y, in a type of numbers."""
        rounding = [threshold(dtype, each) for each in self.conditions]
        return np.maximum(rounding, self.precision)

    def encode(self, Y: np.ndarray) -> np.ndarray:
        """Return the coefficients of samples, the columns of an n x p array.

        Examples
        --------
        >>> from riemtr.data import BernoulliGaussian
        >>> from riemtr.recovery import recover_dictionary
        >>> Y = BernoulliGaussian(n=6, p=800, theta=0.2).draw(0).observations
        >>> found = recover_dictionary(Y, rng=0)
        >>> np.array_equal(found.encoder.encode(Y) == 0, found.coefficients == 0)
        True
        """
        if self.constant is not None:
            Y = np.vstack([Y, np.ones((1, Y.shape[1]), dtype=Y.dtype)])
        X = self.unmixing @ Y
        coarser = max(Y.dtype, self.unmixing.dtype, key=lambda kind: np.finfo(kind).eps)
        clear_rounding(X, column_lengths(self.whitening @ Y), self.scales, self.vanishing(coarser))
        return X if self.constant is None else np.delete(X, self.constant, axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class Recovery(Summarised):
    """A dictionary A and coefficients X with Y = A X, and the evidence for every row.

    Atoms have unit length, the entry of largest magnitude of each is positive, and they are
    ordered by the length of their row of X, longest first.

    Verdicts are about rows of X. A column of A is right where all rows are: one wrong row of X
    disturbs every column of A but its own. Proved are rows that are exactly sparse, if there are no
    more sources than rows; where there is one with many zeros, a row that is not is doubtful. Where
    no row is exactly sparse, as on images or under noise, all rows are refined together, and a row
    is plausible at best: see :attr:`Atom.verdict`. A certificate proves that a row is the sparsest
    near its direction (in the l1 norm), and no more.

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
        The share of the samples' common mean in the sum of squares of Y, as it was passed.
    offset : ndarray, shape (n,), or None
        The offset b of Y = A X + b. If rows are not exactly sparse, b is the mean of the samples.
        None if the mean is zero by chance, if rows are exactly sparse without an offset, or if
        offset=False was passed.
    refined : str
        The form in which all rows were refined together; empty where they were not.
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
    offset: np.ndarray | None = None
    refined: str = ""

    @property
    def standard_errors(self) -> np.ndarray:
        """The standard error of every atom, relative to its length; NaN where not known."""
        return np.array([atom.standard_error for atom in self.atoms])

    @property
    def unmixing(self) -> np.ndarray:
        """The inverse of A."""
        if self.encoder.constant is None:
            return self.encoder.unmixing
        return np.delete(self.encoder.unmixing, self.encoder.constant, axis=0)[:, :-1]

    @property
    def certified(self) -> bool:
        """Whether the linear program of every row is proved solved; not whether rows are right."""
        return all(atom.certified for atom in self.atoms)

    @property
    def trusted(self) -> bool:
        """Whether every row is proved or plausible."""
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

    def without_constant(self, row: int) -> Recovery:
        """Return the same for Y, from that of Y with ones below: their atom is the offset."""
        others = np.delete(np.arange(len(self.atoms)), row)
        constant = self.coefficients[row, :1]
        value = float(np.asarray(constant)[0])
        return replace(
            self,
            dictionary=np.ascontiguousarray(self.dictionary[:-1, others]),
            coefficients=self.coefficients[others],
            directions=self.directions[:, others],
            encoder=replace(self.encoder, constant=row),
            atoms=tuple(self.atoms[i] for i in others),
            offset=self.dictionary[:-1, row] * value,
        )

    @property
    def offset_is_rounding(self) -> bool:
        """Whether all rows are exactly sparse, and the constant part of each is zero to rounding.

        The constant part is compared with what counts as zero in a sample of typical length.
        """
        encoder = self.encoder
        if encoder.constant is None or not all(atom.exact for atom in self.atoms):
            return False
        constants = np.delete(np.abs(encoder.unmixing[:, -1] / encoder.scales), encoder.constant)
        vanishing = np.delete(encoder.vanishing(encoder.unmixing.dtype), encoder.constant)
        return bool(np.all(constants <= math.sqrt(len(encoder.scales)) * vanishing))

    def count(self, verdict: str) -> int:
        """Count the rows of a verdict: "proved", "plausible" or "doubtful"."""
        return sum(atom.verdict == verdict for atom in self.atoms)

    def summary(self) -> Summary:
        """Return what was found and how far to trust it, in words and row by row."""
        atoms, (n, rank), p = self.atoms, self.dictionary.shape, self.coefficients.shape[1]
        certified = sum(atom.certified for atom in atoms)
        trusted = sum(atom.trusted for atom in atoms)
        exact = sum(atom.exact for atom in atoms)
        again = sum(atom.attempt > 0 for atom in atoms)
        amplified = self.condition_number > _AMPLIFIED and not exact and trusted > 0
        verdicts = [
            f"{self.count(each)} {each}"
            for each in ("proved", "plausible", "doubtful")
            if self.count(each)
        ]
        effort = f"{self.seconds:.3g} s"
        effort += f"; {plural(again, 'row')} solved for again" if again else ""
        proof = "a duality gap proves its linear program solved, not that the row is right"
        errors = self.standard_errors
        known = errors[np.isfinite(errors)]
        pairs = (
            ("dictionary", f"{n} x {rank}, from {p} samples"),
            ("rows", ", ".join(verdicts)),
            *([("certified", f"{certified} of {rank}: {proof}")] if certified else []),
            *([("refined", self._refined())] if self.refined else []),
            *(
                [("standard errors", f"{np.median(known):.2%}, at most {known.max():.2%}")]
                if len(known) and not exact
                else []
            ),
            *([("offset", self._offset())] if self._has_mean else []),
            ("trust", self._trust()),
            *([("caution", self._amplification())] if amplified else []),
            ("effort", effort),
        )
        shared = {doubt: rows for doubt, rows in self.doubts.items() if len(rows) > 1}
        rows = [
            self._row(number, [doubt for doubt in atom.doubts if doubt not in shared])
            for number, atom in enumerate(atoms)
            if number < _SHOWN or any(doubt not in shared for doubt in atom.doubts)
        ][:_MOST_SHOWN]
        headings = ("row", "verdict", "zeros", "standard error", "duality gap", "remarks")
        notes = [f"rows {ranges(rows)}: {doubt}" for doubt, rows in shared.items()]
        if len(rows) < rank:
            notes.insert(0, f"... {rank - len(rows)} more in .atoms")
        return Summary(
            "Recovery",
            pairs,
            Table(headings, tuple(rows), "rlrrrl"),
            tuple(notes),
            tone=GOOD if trusted == rank and not amplified else DOUBTFUL,
            line=f"{plural(rank, 'atom')} of {plural(n, 'number')}: {', '.join(verdicts)}, "
            f"{self.seconds:.3g} s",
        )

    def _row(self, number: int, doubts: list[str]) -> tuple[Cell, ...]:
        """Return the cells of a row, with the doubts that it shares with no other."""
        atom = self.atoms[number]
        remarks = doubts or (["see below"] if atom.doubts else [atom.remark])
        tone = {"proved": GOOD, "plausible": GOOD, "doubtful": BAD}[atom.verdict]
        error = atom.standard_error
        return (
            str(number),
            (atom.verdict, tone),
            f"{self.count_zeros(number) / self.coefficients.shape[1]:.1%}",
            "" if math.isnan(error) else "exact" if error == 0.0 else f"{error:.2%}",
            "" if atom.rounding is None else f"{atom.rounding.duality_gap:.1e}",
            "; ".join(remarks),
        )

    def _trust(self) -> str:
        """Say which rows to trust, and what to do about the others."""
        doubtful = [number for number, atom in enumerate(self.atoms) if atom.doubts]
        plausible = self.count("plausible")
        unproved = "plausible rows are estimates that nothing proves"
        if not doubtful:
            return f"all rows; {unproved}" if plausible else "all rows"
        wrong = "a wrong row disturbs A; more samples help most, or other seeds, mu or rank"
        if len(doubtful) == len(self.atoms):
            return f"none: {wrong}"
        which = f"all rows but {ranges(doubtful)}: {wrong}"
        return f"{which}; {unproved}" if plausible else which

    def _refined(self) -> str:
        return f"all rows together, {self.refined}"

    @property
    def _has_mean(self) -> bool:
        """Whether something is to be said of the samples' common mean."""
        looked_for = self.encoder.constant is not None
        return looked_for or self.offset is not None or self.mean_share >= _MEAN_SHARE

    def _offset(self) -> str:
        """Say what share of the data the mean holds, and what was done about it."""
        holds = f"{self.mean_share:.1%} of the sum of squares of Y"
        if self.offset is None and self.encoder.constant is None:
            return f"none was looked for; the mean of the samples holds {holds}: see offset=True"
        if self.offset is None:
            return f"none: rows are exactly sparse without one, and their mean holds {holds}"
        length = f"of length {np.linalg.norm(self.offset):.3g}"
        if any(atom.exact for atom in self.atoms):
            return f"recovered along, {length}; the mean of the samples holds {holds}"
        return f"the mean of the samples, {length}; it holds {holds}, and A X is the rest"

    def _amplification(self) -> str:
        """Say what the condition number of the data does to noise."""
        return (
            f"the data have condition number {self.condition_number:.0f}, by which noise may be "
            f"amplified, also in directions that mix the rows"
        )
