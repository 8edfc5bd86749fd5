"""Complete dictionary learning as a scikit-learn estimator (extra ``learn``).

scikit-learn's samples are rows where the paper's are columns: its X is our Y', ``components_`` is
A', and what ``transform`` returns are the paper's X'.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from riemtr.errors import require
from riemtr.recovery import Recovery, numerical_rank, recover_dictionary

require("sklearn", extra="learn")  # before the imports below, so that the error says what to do

from joblib import effective_n_jobs  # noqa: E402
from sklearn.base import BaseEstimator, TransformerMixin  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.utils import Tags, check_array, check_random_state  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

__all__ = ["CompleteDictionaryLearning"]

_PRECISIONS = ("float64", "float32")  # what is fitted and returned as it came


class CompleteDictionaryLearning(TransformerMixin, BaseEstimator):
    """Write samples as sparse combinations of as many atoms as the data have dimensions.

    The model is ``X = codes @ components_`` with sparse codes and linearly independent atoms, the
    rows of ``components_``. Given enough samples of that kind, :func:`riemtr.recover_dictionary`
    finds the atoms exactly, up to order and sign, with a proof of optimality for every column of
    the codes. The codes of new samples are a linear map of them: nothing is solved.

    An offset that all samples have in common is recovered along, so that
    ``X = codes @ components_ + offset_``: there is no need to centre X.

    Parameters
    ----------
    n_components : int or None
        How many atoms to learn: below the rank of X, in the subspace of its leading principal
        directions (of X as it is, or centred if ``offset=True``). None learns as many as X has
        dimensions: n_features, or the numerical rank of X if that is less, and one less than that
        if the features combine to a constant, as parts that add up to 1, and an offset is
        recovered. Either way there must be more samples than that: otherwise they themselves would
        do as atoms.
    mu : float
        Smoothing parameter of the cost, relative to the size of the whitened data; the paper's
        1e-2.
    rounding : bool
        Make codes that are exactly sparse exact, with a proof of optimality.
    refine : {"auto", "orthogonal", "full", None}
        How all atoms are refined together where no code is exactly sparse, as under noise.
    seeds : int or None
        From how many random starts to solve: the best is kept, and every atom is looked for in
        the others. None is 3 where that can make atoms plausible, else 1.
    offset : {"auto", True, False}
        Whether to recover an offset along; "auto" if the mean of X is not zero by chance, as long
        as n_components is None. The atoms do not depend on it. If no code is exactly sparse, the
        offset is the mean.
    surrogate : {"log-cosh", "huber", "l4"} or object
        The smooth function in place of the l1 norm, as for :func:`riemtr.recover_dictionary`.
    order : {None, "joint", "rows", "rounded"}
        In which order atoms are solved for and rounded, as for :func:`riemtr.recover_dictionary`.
    solver : optional
        What minimizes over the sphere: any object with ``solve(problem, start, rng=...)``, such as
        ``riemtr.ExactTRM()``; its options set tolerances and limits. None is
        :class:`riemtr.PracticalTRM` with the tolerance of :func:`riemtr.recover_dictionary`.
    n_jobs : int or None
        Threads, as in joblib, for data of a million entries and more. It does not change the
        result.
    random_state : int, numpy.random.RandomState or None
        Source of the random starts. The same integer gives the same result, bit for bit.
    verbose : bool or int
        Show progress on the standard error stream.

    Attributes
    ----------
    components_ : ndarray, shape (n_components_, n_features)
        The atoms, of unit length, the entry of largest magnitude positive; those that explain most
        of X first.
    unmixing_ : ndarray, shape (n_components_, n_features)
        The codes of X are ``(X - offset_) @ unmixing_.T``; the pseudo-inverse of
        ``components_.T``.
    offset_ : ndarray, shape (n_features,)
        What all samples have in common beside the atoms; zero if there is no offset.
    standard_errors_ : ndarray, shape (n_components_,)
        That of every atom, relative to its length: 0 where its codes are exactly sparse, NaN where
        not known.
    encoder_ : riemtr.recovery.report.Encoder
        What ``transform`` uses: the map from samples to codes, and what counts as zero.
    n_components_ : int
        How many atoms were learned.
    atoms_ : tuple of riemtr.recovery.Atom
        The evidence for each atom: ``atoms_[k].verdict`` is "proved", "plausible" or "doubtful",
        and ``atoms_[k].doubts`` are the reasons not to trust it, if any.
    recovery_ : riemtr.recovery.Recovery
        The whole report, a table when printed. It holds the codes of X and is as large as X;
        nothing else depends on it.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        Where X has names.

    Warns
    -----
    sklearn.exceptions.ConvergenceWarning
        Where the solver stopped before it converged. Atoms that are doubtful for other reasons, as
        those of photographs are, make no warning: see ``atoms_`` and ``recovery_``.

    Notes
    -----
    X may be float64 or float32, and what is returned is the same; everything else becomes float64.
    Sparse matrices are refused: whitened, they are dense.

    Examples
    --------
    >>> from riemtr.data import BernoulliGaussian, dictionary_error
    >>> sample = BernoulliGaussian(n=6, p=800, theta=0.2).draw(0)
    >>> X = sample.observations.T
    >>> model = CompleteDictionaryLearning(random_state=0).fit(X)
    >>> dictionary_error(model.components_.T, sample.dictionary) < 1e-12
    True
    >>> codes = model.transform(X)
    >>> bool(np.mean(codes == 0) > 0.75), np.allclose(model.inverse_transform(codes), X)
    (True, True)
    """

    def __init__(
        self,
        n_components: int | None = None,
        mu: float = 1e-2,
        *,
        rounding: bool = True,
        refine: str | None = "auto",
        seeds: int | None = None,
        offset: bool | str = "auto",
        surrogate: Any = "log-cosh",
        order: str | None = None,
        solver: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ):
        self.n_components = n_components
        self.mu = mu
        self.rounding = rounding
        self.refine = refine
        self.seeds = seeds
        self.offset = offset
        self.surrogate = surrogate
        self.order = order
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> CompleteDictionaryLearning:
        """Learn the atoms.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)
            A Dask array is gathered into memory; :func:`riemtr.recover_dictionary` leaves one where
            it is.
        y : ignored

        Returns
        -------
        CompleteDictionaryLearning
            The estimator itself.
        """
        X = validate_data(self, X, dtype=_PRECISIONS, ensure_min_samples=2)
        rank = _choose_rank(X, self.n_components)
        # scikit-learn's seeds are those of the legacy generator: 32 bits, nonnegative.
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.recovery_ = recover_dictionary(
            X.T,
            mu=self.mu,
            rng=seed,
            solver=self.solver,
            surrogate=self.surrogate,
            offset=self.offset,
            order=self.order,
            rounding=self.rounding,
            refine=self.refine,
            seeds=self.seeds,
            rank=None if rank == X.shape[1] else rank,  # of full rank, it is not reduced
            n_jobs=effective_n_jobs(self.n_jobs),
            progress=bool(self.verbose),
        )
        self.atoms_ = self.recovery_.atoms
        self.components_ = np.ascontiguousarray(self.recovery_.dictionary.T)
        self.encoder_ = self.recovery_.encoder
        self.unmixing_ = self.recovery_.unmixing
        self.standard_errors_ = self.recovery_.standard_errors
        shift = self.recovery_.offset
        self.offset_ = np.zeros(X.shape[1], X.dtype) if shift is None else shift.astype(X.dtype)
        self.n_components_ = len(self.components_)
        _warn_of_convergence(self.recovery_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the codes of samples, ``(X - offset_) @ unmixing_.T``.

        Entries that cannot be told from rounding errors are set to zero, as in those that were
        learned: the codes of the samples fitted have the zeros of ``recovery_.coefficients``.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_features)

        Returns
        -------
        ndarray, shape (n_samples, n_components_)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=_PRECISIONS, reset=False)
        return np.ascontiguousarray(self.encoder_.encode(X.T).T)

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return the samples that codes stand for, ``X @ components_ + offset_``.

        For codes of samples these are the samples themselves, or their projection on the span of
        the atoms (around the offset) where there are fewer of them than features.

        Parameters
        ----------
        X : array_like, shape (n_samples, n_components_)

        Returns
        -------
        ndarray, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        codes = check_array(X, dtype=_PRECISIONS, input_name="X")
        if codes.shape[1] != self.n_components_:
            raise ValueError(
                f"X must be codes, one column for each of the {self.n_components_} components; "
                f"got shape {codes.shape}; transform gives the codes of samples"
            )
        return codes @ self.components_ + self.offset_.astype(codes.dtype, copy=False)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the codes: atom0, atom1 and so on.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str, shape (n_components_,)
        """
        check_is_fitted(self)
        return np.array([f"atom{number}" for number in range(self.n_components_)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = list(_PRECISIONS)
        return tags


def _choose_rank(X: np.ndarray, n_components: Any) -> int:
    """Return how many atoms to learn, at most the rank of X and fewer than samples."""
    samples, features = X.shape
    if not X.any():
        raise ValueError("X must not be zero everywhere; got only zeros")
    rank = numerical_rank(X.T)
    wanted = rank if n_components is None else _check_count(n_components)
    if wanted > rank:
        raise ValueError(
            f"n_components must be at most the rank of X; got {n_components} for X with "
            f"{samples} samples, {features} features and numerical rank {rank}; pass None for as "
            f"many as there can be"
        )
    if wanted >= samples:
        raise ValueError(
            f"X must have more samples than components, or the samples themselves would do as "
            f"atoms; got n_samples={samples} and {wanted} components; pass more samples, or "
            f"n_components well below their number"
        )
    return wanted


def _check_count(n_components: Any) -> int:
    try:
        count = operator.index(n_components)
    except TypeError:
        count = 0
    if isinstance(n_components, bool) or count < 1:
        raise ValueError(
            f"n_components must be None or an integer of at least 1; got {n_components!r}"
        )
    return count


def _warn_of_convergence(recovery: Recovery) -> None:
    atoms = recovery.atoms
    stopped = [i for i, atom in enumerate(atoms) if not (atom.result.converged or atom.exact)]
    if stopped:
        # A status names options of solvers, which are not the estimator's.
        reason = atoms[stopped[0]].result.status.partition(":")[0]
        warnings.warn(
            f"the solver did not converge for {len(stopped)} of {len(atoms)} atoms ({reason}): "
            f"fit more samples, or pass a solver with other limits, such as "
            f"solver=riemtr.PracticalTRM(max_iterations=5000)",
            ConvergenceWarning,
            stacklevel=3,
        )
