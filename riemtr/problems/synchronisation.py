"""Synchronisation: phases or rotations from noisy ratios of pairs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from riemtr.arguments import check_nonnegative, integer
from riemtr.manifolds import Oblique, Rotations
from riemtr.manifolds.arrays import as_real
from riemtr.problem import Problem
from riemtr.problem.quadratic import (
    ComplexRows,
    FrameRows,
    LeastSquaresCost,
    QuadraticCost,
    block_rows,
)
from riemtr.problem.relaxation import Relaxation
from riemtr.problems.random_data import (
    apart,
    nearest_rotations,
    perturbed,
    random_graph,
    skew_units,
)
from riemtr.problems.registry import Case, Truth, register


@register("phase-synchronisation")
def phase_synchronisation(rng: np.random.Generator, n: int = 60, noise: float = 0.3) -> Case:
    r"""Phases of n complex numbers from noisy products of all pairs.

    Unknown numbers :math:`z_i` of modulus 1 are seen through a Hermitian matrix
    :math:`H = \frac1n zz^* + \sigma W`, where W has a Gaussian spectrum of about [-2, 2]. The
    estimate of maximum likelihood is

    .. math:: \min_{|z_1| = \dots = |z_n| = 1} -\tfrac12 z^* H z.

    A complex number is a column of real and imaginary part, so that the manifold is
    ``Oblique(2, n)``: a point has the shape (2, n). The cost is the same for all multiples of z by
    a number of modulus 1, which is named as a symmetry.

    The relaxation to positive semidefinite matrices of unit diagonal is tight with high
    probability as long as the noise is below about 1: ``certificate.lower_bound`` is then the cost
    of the point found, which so is proved to be a global minimizer. ``truth.error`` is the root
    mean square distance of phases from the planted ones, as good as one factor makes it; without
    noise it vanishes, and the minimum is :math:`-n/2`.

    Parameters
    ----------
    n : int
        How many phases.
    noise : float
        The number sigma.

    References
    ----------
    Singer, *Angular synchronization by eigenvectors and semidefinite programming*, Applied and
    Computational Harmonic Analysis 30 (2011). Boumal, *Nonconvex phase synchronization*, SIAM
    Journal on Optimization 26 (2016). Bandeira, Boumal and Singer, *Tightness of the maximum
    likelihood semidefinite relaxation for angular synchronization*, Mathematical Programming 163
    (2017).
    """
    rng = apart(rng)
    n = integer("n", n, low=2)
    check_nonnegative("noise", noise)
    planted = np.exp(2j * math.pi * rng.random(n))
    drawn = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    hermitian = np.outer(planted, planted.conj()) / n
    hermitian += noise * (drawn + drawn.conj().T) / math.sqrt(4.0 * n)
    manifold = Oblique(2, n)
    problem = Problem(
        manifold,
        QuadraticCost(-hermitian, ComplexRows(), relaxation=Relaxation(-hermitian)),
        symmetries=lambda point: [np.stack([-point[1], point[0]])],
        invariants=_relative_phases,
    )

    def error(point: np.ndarray) -> float:
        return _phase_distance(point[0] + 1j * point[1], planted)

    truth = Truth(
        cost=-0.5 * n if noise == 0.0 else None,
        distance=error if noise == 0.0 else None,
        details={"matrix": hermitian},
        point=np.stack([planted.real, planted.imag]),
        error=error,
    )
    return Case(problem, manifold.random_point(rng), truth)


def _phase_distance(phases: np.ndarray, planted: np.ndarray) -> float:
    factor = np.vdot(phases, planted)
    factor = factor / abs(factor) if factor != 0.0 else 1.0
    return float(np.linalg.norm(phases * factor - planted)) / math.sqrt(len(planted))


@register("rotation-averaging")
def rotation_averaging(
    rng: np.random.Generator, k: int = 30, d: int = 3, degree: int = 6, noise: float = 0.1
) -> Case:
    r"""Rotations of k frames from noisy relative rotations, along the edges of a graph.

    For an edge (i, j) a rotation :math:`M_{ij}`, about :math:`R_i' R_j`, is known. Averaging finds

    .. math:: \min_{R_1, \dots, R_k \in SO(d)} \tfrac12 \sum_{(i,j)} |R_j - R_i M_{ij}|_F^2

    on the manifold ``Rotations(d, k)``; with all :math:`R_i'` one above the other as Y it is a
    quadratic form of Y, whose matrix is the sparse connection Laplacian. All frames may be turned
    at once, :math:`R_i \to G R_i`, which is named as d(d-1)/2 symmetries.

    ``certificate.lower_bound`` is a bound by duality; with noise as moderate as the default it is
    the cost of the point found, which so is proved to be a global minimizer. ``truth.error`` is the
    root mean square distance (Frobenius) from the planted rotations after one turn of all; without
    noise it vanishes, and so does the minimum.

    Parameters
    ----------
    k : int
        How many rotations.
    d : int
        Their size, 2 or 3 for those of the plane or of space.
    degree : int
        Edges per node of the random graph, about.
    noise : float
        Standard deviation of the noise on each entry of a relative rotation, before the nearest
        rotation is taken.

    References
    ----------
    Hartley, Trumpf, Dai and Li, *Rotation averaging*, International Journal of Computer Vision 103
    (2013). Eriksson, Olsson, Kahl and Chin, *Rotation averaging and strong duality*, CVPR 2018.
    Rosen, Carlone, Bandeira and Leonard, *SE-Sync: a certifiably correct algorithm for
    synchronization over the special Euclidean group*, International Journal of Robotics Research
    38 (2019).
    """
    rng = apart(rng)
    k, d = integer("k", k, low=2), integer("d", d, low=2)
    degree = integer("degree", degree, low=1)
    check_nonnegative("noise", noise)
    manifold = Rotations(d, k)
    tails, heads = random_graph(rng, k, degree)
    planted = manifold.random_point(rng)
    exact = planted[tails].swapaxes(1, 2) @ planted[heads]
    measured = perturbed(rng, exact, noise) if noise > 0.0 else exact
    rows = FrameRows(d, k)
    residuals = turn_residuals(tails, heads, measured, np.ones(len(tails)), k)
    cost = LeastSquaresCost(residuals, rows, partial(Relaxation, block=d))
    problem = Problem(manifold, cost, symmetries=turned_together, invariants=relative_rotations)

    def error(point: np.ndarray) -> float:
        return turn_distance(point, planted)

    truth = Truth(
        cost=0.0 if noise == 0.0 else None,
        distance=error if noise == 0.0 else None,
        details={"tails": tails, "heads": heads, "measured": measured},
        point=planted,
        error=error,
    )
    return Case(problem, manifold.random_point(rng), truth)


def turn_residuals(
    tails: np.ndarray, heads: np.ndarray, measured: np.ndarray, weights: np.ndarray, k: int
):
    """Return the sparse matrix of the residuals R_j' - M_ij' R_i', each times the root of a weight.

    Parameters
    ----------
    tails, heads : ndarray of int, shape (edges,)
    measured : ndarray, shape (edges, d, d)
    weights : ndarray, shape (edges,)
    k : int
        Number of rotations; the columns are the rows of all their transposes.
    """
    count, d, _ = measured.shape
    roots = np.sqrt(weights)[:, None, None]
    first, shape = d * np.arange(count), (d * count, d * k)
    at_heads = block_rows(first, d * heads, roots * np.eye(d), shape)
    at_tails = block_rows(first, d * tails, roots * measured.swapaxes(1, 2), shape)
    return at_heads - at_tails


def _relative_phases(point: np.ndarray) -> np.ndarray:
    """Return the phases relative to the first, which turns of all at once leave as they are."""
    phases = point[0] + 1j * point[1]
    return as_real(phases * phases[0].conj())


def relative_rotations(point: np.ndarray) -> np.ndarray:
    """Return the rotations relative to the first, which a turn of all at once leaves as it was."""
    return point[0].T @ point


def turned_together(point: np.ndarray) -> np.ndarray:
    """Return the directions in which all rotations are turned at once, as the manifold has them."""
    units = skew_units(point.shape[-1])[:, None]
    return point.swapaxes(1, 2) @ units @ point


def turn_distance(point: np.ndarray, planted: np.ndarray) -> float:
    """Return the root mean square distance of rotations from others after one turn of all."""
    turn = nearest_rotations(np.sum(planted @ point.swapaxes(1, 2), axis=0))
    return float(np.linalg.norm(turn @ point - planted)) / math.sqrt(len(planted))
