r"""The constants of the paper's analysis (sections II.D and II.E), each with its equation.

The paper states most results up to constants that it leaves unnamed. Here they are computed: every
lemma is evaluated as it is proved, before its constants are gathered into a letter. Three numbers
remain that no line of the paper determines, and they are parameters: :math:`c_\star` of the
geometry (thm:geometry_orth), :math:`c_a` of the smoothing parameter and C of the number of samples.
Slips of the paper are put right at the line that they concern, and listed by
:func:`riemtr.theory.slips`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, overload

from riemtr.arguments import check_positive, integer, real
from riemtr.errors import ArgumentError
from riemtr.paper.chart import OUTER_RADIUS, edge_radius, inner_radius
from riemtr.summary import BAD, GOOD, Cell, Summarised, Summary, Table

C_STAR = 1.0 / (12.0 * math.sqrt(2.0 * math.pi))
"""The largest c_star for which the paper proves strong convexity (proof of lem:alg_strcvx_lb)."""

HESSIAN_REACH = 0.5
"""Length of a step up to which lem:rie_hess_lip is stated."""

# Lengths of w down to which Lipschitz constants are asked for, as a share of those where regions
# II and III begin: balls around their points reach a little further inwards.
_REACH = 0.5
# Factor by which entries of preconditioned data exceed those of X (section II.E).
_PERTURBED_ENTRIES = 1.5
# Share of c_star that preconditioning leaves (thm:geometry_comp).
_PERTURBED_GEOMETRY = 0.5
# Ranges of the settings within which no constant overflows.
_LARGEST_N = 10**9
_MOST_SAMPLES = 10**300
_SMALLEST_THETA = 1e-6
_SMALLEST_MU = 1e-30
# A worse condition number cannot be represented in double precision.
_WORST = 1e15
# math.cbrt is of Python 3.11.
_THIRD = 1.0 / 3.0
# The factor 9/10 of lem:alg_gradient_lb; its proof gives sqrt(1999/2000).
_GRADIENT_SHARE = 0.9


class constant:
    """A constant of the paper: a read-only attribute that knows its equation.

    A value that was measured takes its place where there is one, and whatever is made of it
    follows.

    Parameters
    ----------
    label : str
        The label of the equation, lemma or theorem in the paper's source.
    group : str
        The heading under which it is listed.
    """

    def __init__(self, label: str, group: str):
        self.label, self.group = label, group

    def __call__(self, function: Callable[[Any], float]) -> constant:
        """Take the function that computes it; its docstring has the meaning and the formula."""
        self.function, self.name, self.__doc__ = function, function.__name__, function.__doc__
        return self

    @overload
    def __get__(self, owner: None, kind: type) -> constant: ...
    @overload
    def __get__(self, owner: DictionaryConstants, kind: type) -> float: ...
    def __get__(self, owner: Any, kind: type) -> Any:
        if owner is None:
            return self
        return owner.measured.get(self.name, self.function(owner))

    def __set__(self, owner: Any, value: Any) -> None:
        raise AttributeError(f"{self.name} follows from the others; use dataclasses.replace")

    def equation(self, complete: bool) -> str:
        """Return the label, for complete dictionaries that of the statement about them."""
        if not complete:
            return self.label
        label = re.sub("orth$", "comp", self.label)
        return f"{label}_comp" if label == "eq:trm_proof_assumed_cond" else label

    def said(self, complete: bool) -> str:
        """Return the meaning and the formula, in a sentence; that of complete dictionaries."""
        paragraphs = [" ".join(part.split()) for part in (self.__doc__ or "").split("\n\n")]
        said = paragraphs[0]
        for part in paragraphs[1:]:
            if complete and part.startswith(_COMPLETE):
                said = f"{said.partition(':')[0]}{part[len(_COMPLETE) :].partition('.')[0]}"
        return said.replace("``", "").rstrip(".")


# Begins the paragraph of a docstring that has the formula for complete dictionaries.
_COMPLETE = "Complete dictionaries"
_SMOOTH = "smoothness of the cost"
_GEOMETRY = "the three regions"
_RADIUS = "the radius of the trust region, at most"
_DECREASE = "decrease of the cost per step, at least"
_DATA = "what the theorems ask for"
_PIPELINE = "preconditioning, rounding, deflation"


@dataclass(frozen=True, repr=False)
class DictionaryConstants(Summarised):
    r"""The constants of the paper's analysis for one setting, by the paper's symbols.

    Made by :func:`dictionary_constants`. Every attribute below the settings is a
    :class:`constant`: its docstring has the formula, ``DictionaryConstants.eta_f.label`` the
    equation. Printed, they are a table.

    Symbols of the paper: n is the dimension, p the number of samples, theta the share of nonzeros,
    mu the smoothing parameter, ``X`` the largest entry of the coefficients, ``D`` the radius of the
    trust region, kappa the condition number of the dictionary, ``beta`` is
    :math:`c_\star\theta`, of preconditioned data half of that.

    Attributes
    ----------
    n, p : int
    theta, mu : float
    condition_number : float or None
        That of a complete dictionary, whose data are preconditioned; None for an orthogonal one.
    c_star, c_a, C : float
        The three constants that the paper leaves open.
    given_entry, given_radius : float or None
        The largest entry of the data and the radius, where they were given.
    measured : dict
        Values of constants that were measured and take the place of the paper's bounds.
    """

    n: int
    p: int
    theta: float
    mu: float
    condition_number: float | None = None
    c_star: float = C_STAR
    c_a: float = 1.0
    C: float = 1.0
    given_entry: float | None = None
    given_radius: float | None = None
    measured: Mapping[str, float] = field(default_factory=dict)

    # -- what everything is made of -----------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether the dictionary is complete and the data are preconditioned."""
        return self.condition_number is not None

    @constant("lem:X-infinty-tail-bound", _SMOOTH)
    def X(self) -> float:
        """Largest entry of the data: ``4 sqrt(log(n p))``, 3/2 of that if preconditioned.

        With probability at least ``1 - theta (n p)^-7 - exp(-0.3 theta n p)``. A largest entry that
        was given is taken as it is: it is that of the data already.
        """
        if self.given_entry is not None:
            return self.given_entry
        factor = _PERTURBED_ENTRIES if self.complete else 1.0
        return factor * 4.0 * math.sqrt(math.log(self.n * self.p))

    @constant("eq:main_obj", _SMOOTH)
    def M_f(self) -> float:
        """Largest cost: ``sqrt(n) X``, since ``0 <= h(z) <= |z|``."""
        return math.sqrt(self.n) * self.X

    @constant("lem:mag_lip_fq", _SMOOTH)
    def M_gradient(self) -> float:
        """Largest Euclidean gradient: ``sqrt(n) X``."""
        return math.sqrt(self.n) * self.X

    @constant("lem:mag_lip_fq", _SMOOTH)
    def M_hessian(self) -> float:
        """Largest Euclidean Hessian: ``n X^2 / mu``."""
        return self.n * self.X**2 / self.mu

    @constant("lem:mag_lip_fq", _SMOOTH)
    def L_gradient(self) -> float:
        """Lipschitz constant of the Euclidean gradient: ``n X^2 / mu``."""
        return self.n * self.X**2 / self.mu

    @constant("lem:mag_lip_fq", _SMOOTH)
    def L_hessian(self) -> float:
        """Lipschitz constant of the Euclidean Hessian: ``2 n^(3/2) X^3 / mu^2``."""
        return 2.0 * self.n**1.5 * self.X**3 / self.mu**2

    @constant("lem:alg_approx_bd2", _SMOOTH)
    def eta_f(self) -> float:
        """Error of the quadratic model, over ``|step|^3 / 6``:
        ``M_gradient + 2 M_hessian + L_gradient + L_hessian``.
        """
        return self.M_gradient + 2.0 * self.M_hessian + self.L_gradient + self.L_hessian

    @constant("lem:TRM-lemma-iii", _SMOOTH)
    def M_H(self) -> float:
        """Largest Riemannian Hessian: ``M_hessian + M_gradient``.

        The display before the proposition bounds the sum by ``2 n X^2 / mu``, and that by
        ``16 n log(n p) / mu``. With ``X = 4 sqrt(log(n p))`` it is 32, not 16. Of preconditioned
        data it is 72, where section II.E has ``36 log(n p) / mu`` and lacks the n as well. The sum
        itself, which is used here, is about half of that bound.
        """
        return self.M_hessian + self.M_gradient

    @constant("lem:rie_hess_lip", _SMOOTH)
    def L_H(self) -> float:
        """Lipschitz constant of the Riemannian Hessian:
        ``5/2 n^1.5 X^3/mu^2 + 9 n X^2/mu + 9 sqrt(n) X``.

        The lemma holds for steps up to 1/2. Lem:TR-step, which rests on it, allows a radius of 1.
        """
        root = math.sqrt(self.n) * self.X
        return 2.5 * root**3 / self.mu**2 + 9.0 * root**2 / self.mu + 9.0 * root

    @constant("prop:lip-gradient", _SMOOTH)
    def L_g(self) -> float:
        """Lipschitz constant of w'g'/|w|: ``2 sqrt(n) X / r + 8 n^1.5 X + 4 n^2 X^2 / mu``.

        With ``r = mu / (8 sqrt 2)``, half the length where region II begins: balls around its
        points reach inwards.
        """
        n, X, mu = self.n, self.X, self.mu
        r = _REACH * self.inner_radius
        return 2.0 * math.sqrt(n) * X / r + 8.0 * n**1.5 * X + 4.0 * n**2 * X**2 / mu

    @constant("prop:lip-hessian-negative", _SMOOTH)
    def L_concave(self) -> float:
        """The same of w'g''w/|w|^2:
        ``16 n^3 X^3/mu^2 + 8 n^1.5 X^2/(mu r) + 48 n^2.5 X^2/mu + 96 n^2.5 X``.

        With ``r = 1 / (40 sqrt 5)``, half the length where region III begins.
        """
        n, X, mu = self.n, self.X, self.mu
        r = _REACH * OUTER_RADIUS
        return (
            16.0 * n**3 * X**3 / mu**2
            + 8.0 * n**1.5 * X**2 / (mu * r)
            + 48.0 * n**2.5 * X**2 / mu
            + 96.0 * n**2.5 * X
        )

    @constant("prop:lip-hessian-zero", _SMOOTH)
    def L_convex(self) -> float:
        """The same of g'' near 0: ``4n^2X^3/mu^2 + 4nX^2/mu + 8 sqrt(2n) X^2/mu + 8X``."""
        n, X, mu = self.n, self.X, self.mu
        return (
            4.0 * n**2 * X**3 / mu**2
            + 4.0 * n * X**2 / mu
            + 8.0 * math.sqrt(2.0 * n) * X**2 / mu
            + 8.0 * X
        )

    # -- the regions ---------------------------------------------------------------------------

    @constant("eqn:hess-zero-uni-orth", _GEOMETRY)
    def inner_radius(self) -> float:
        """Length of w where region I ends and II begins: ``mu / (4 sqrt 2)``."""
        return inner_radius(self.mu)

    @constant("eqn:grad-uni-orth", _GEOMETRY)
    def outer_radius(self) -> float:
        """Length of w where region II ends and III begins: ``1 / (20 sqrt 5)``."""
        return OUTER_RADIUS

    @constant("eqn:curvature-uni-orth", _GEOMETRY)
    def edge_radius(self) -> float:
        """Length of w where the chart ends: ``sqrt((4n - 1) / (4n))``."""
        return edge_radius(self.n)

    @property
    def _beta(self) -> float:
        return (_PERTURBED_GEOMETRY if self.complete else 1.0) * self.c_star * self.theta

    @constant("eqn:grad-uni-orth", _GEOMETRY)
    def beta_g(self) -> float:
        """Radial gradient w'g'/|w| in region II, at least:
        ``c_star theta``, or half of it if preconditioned.
        """
        return self._beta

    @constant("eqn:curvature-uni-orth", _GEOMETRY)
    def beta_concave(self) -> float:
        """Minus the radial curvature in region III, at least: ``c_star theta``, or half of it."""
        return self._beta

    @constant("lem:alg_strcvx_lb", _GEOMETRY)
    def m_H(self) -> float:
        """Smallest Riemannian curvature in region I: ``c_star theta / mu``, or half of it."""
        return self._beta / self.mu

    @constant("eqn:TRM-lemma-iii-4", _GEOMETRY)
    def beta_grad(self) -> float:
        """Riemannian gradient in region II, at least: ``9/10 beta_g``."""
        return _GRADIENT_SHARE * self.beta_g

    @constant("thm:geometry_orth", _GEOMETRY)
    def minimizer_distance(self) -> float:
        """Length of w at the minimizer, at most: ``mu / 16``, or ``mu / 7`` if preconditioned."""
        return self.mu / (7.0 if self.complete else 16.0)

    @constant("eqn:curvature-uni-orth", _GEOMETRY)
    def concave_from(self) -> float:
        r"""Length of w from which the mean radial curvature is negative:
        ``(pi^2 mu^2/12)^(1/3) / sqrt(theta)`` for small mu, which is not in the paper.

        For a dense direction and mu small beside it, samples without the
        atom bend the cost upwards by :math:`(1-\theta)\frac{\pi^2}{6\sqrt{2\pi}}
        \mu^2/(\sqrt\theta |w|^3)`, those with it downwards by
        :math:`(1-\theta)\theta\sqrt{2/\pi}`. For sparse directions the length is
        :math:`\sqrt\theta` times this. Where it exceeds the inner end of region III, the inequality
        of that region fails between the two, however many samples there are.
        """
        return (math.pi**2 * self.mu**2 / 12.0) ** _THIRD / math.sqrt(self.theta)

    # -- the radius ----------------------------------------------------------------------------

    @constant("eqn:TRM-lemma-ii-iii-0", _RADIUS)
    def radius_II(self) -> float:
        """So that the model's error leaves half of d_II: ``eta_f D^3 / 3 <= d_II``."""
        fixed, slope = self._gains_II
        return min((1.5 * fixed / self.eta_f) ** _THIRD, math.sqrt(1.5 * slope / self.eta_f))

    @constant("eqn:TRM-lemma-ii-iii-0", _RADIUS)
    def radius_III(self) -> float:
        """So that the model's error leaves half of d_III: ``eta_f D^3 / 3 <= d_III``."""
        fixed, bend = self._gains_III
        return min((1.5 * fixed / self.eta_f) ** _THIRD, 1.5 * bend / self.eta_f)

    @constant("eqn:TRM-lemma-ii-0", _RADIUS)
    def radius_I(self) -> float:
        """So that the model's error leaves half of d_I: ``m_H^2 / (2 M_H eta_f)``."""
        return self.m_H**2 / (2.0 * self.M_H * self.eta_f)

    @constant("eqn:Delta-bound-1", _RADIUS)
    def radius_stay(self) -> float:
        """So that an unconstrained step from region I ends there:
        ``m_H/M_H sqrt(2 beta_grad/L_H)``.

        Written out in the proof of lem:TRM-lemma-iv, it lacks a factor mu; a smaller bound beside
        it makes that harmless.
        """
        return self.m_H / self.M_H * math.sqrt(2.0 * self.beta_grad / self.L_H)

    @constant("eqn:Delta-bound-2", _RADIUS)
    def radius_next(self) -> float:
        """So that the step after it is unconstrained too: ``2 m_H^3 / (L_H M_H^2)``."""
        return 2.0 * self.m_H**3 / (self.L_H * self.M_H**2)

    @constant("eqn:trust-region-size-v", _RADIUS)
    def radius_rate(self) -> float:
        """So that convergence is quadratic at once: ``m_H^2 / (L_H M_H)``."""
        return self.m_H**2 / (self.L_H * self.M_H)

    @constant("lem:TRM-lemma-iv", _RADIUS)
    def radius_chart(self) -> float:
        """So that a step from region I ends in I or II: ``1 / (20 sqrt 5) - mu / (4 sqrt 2)``.

        It is also at most 1/2, up to which lem:rie_hess_lip holds, and so small that balls of
        ``3D / (2 pi sqrt n)`` in the chart stay where the bounds above hold.
        """
        room = _REACH * min(self.inner_radius, self.outer_radius)
        ball = 2.0 * math.pi * math.sqrt(self.n) / 3.0 * room
        return max(0.0, min(HESSIAN_REACH, ball, self.outer_radius - self.inner_radius))

    @constant("thm:trm_orth", _RADIUS)
    def largest_radius(self) -> float:
        """The rule: the smallest of these; in the paper
        ``c (c_star theta)^3 mu^2 / (n log(np))^3.5``.
        """
        return min(
            self.radius_I,
            self.radius_II,
            self.radius_III,
            self.radius_stay,
            self.radius_next,
            self.radius_rate,
            self.radius_chart,
        )

    @constant("thm:trm_orth", _DECREASE)
    def radius(self) -> float:
        """The radius D that decreases are for: the largest one allowed, unless one was given."""
        return self.largest_radius if self.given_radius is None else self.given_radius

    # -- decreases -----------------------------------------------------------------------------

    @property
    def _gains_II(self) -> tuple[float, float]:
        """Decrease in region II: a fixed one, or one per length (lem:alg_gradient_func)."""
        slope = 3.0 * self.beta_g / (4.0 * math.pi * math.sqrt(self.n))
        return self.beta_g**2 / (2.0 * self.L_g), slope

    @property
    def _gains_III(self) -> tuple[float, float]:
        """Decrease in region III: a fixed one, or one per squared length (lem:alg_neg_cuv_func)."""
        bend = 3.0 * self.beta_concave / (8.0 * math.pi**2 * self.n)
        return 2.0 * self.beta_concave**3 / (3.0 * self.L_concave**2), bend

    @constant("eqn:TRM-decrease-d-i", _DECREASE)
    def d_I(self) -> float:
        """A constrained step in region I: ``m_H^2 D^2 / (4 M_H)``.

        Lem:alg_strcvx_func loses the 1/2 of its own proof: the decrease is
        ``m_H^2 D^2 / (2 M_H)`` less the error of the model, ``eta_f D^3 / 2`` in all, which takes
        half of it.
        """
        return self.m_H**2 * self.radius**2 / (4.0 * self.M_H)

    @constant("eq:alg_thm_r23_dec", _DECREASE)
    def d_II(self) -> float:
        """A step in region II: ``1/2 min(beta_g^2 / (2 L_g), 3 beta_g D / (4 pi sqrt n))``."""
        fixed, slope = self._gains_II
        return 0.5 * min(fixed, slope * self.radius)

    @constant("eq:alg_thm_r23_dec", _DECREASE)
    def d_III(self) -> float:
        """In region III: ``1/2 min(2 beta^3 / (3 L_concave^2), 3 beta D^2 / (8 pi^2 n))``."""
        fixed, bend = self._gains_III
        return 0.5 * min(fixed, bend * self.radius**2)

    @constant("lem:TR-step", _DECREASE)
    def rate(self) -> float:
        """Gradient after an unconstrained step in I over the square of that before:
        ``L_H / (2 m_H^2)``.
        """
        return self.L_H / (2.0 * self.m_H**2)

    # -- samples and smoothing -----------------------------------------------------------------

    @constant("eq:trm_proof_assumed_cond", _DATA)
    def mu_largest(self) -> float:
        """Smoothing parameter, below: ``c_a min(theta / n, n^(-5/4))``."""
        return self.c_a * min(self.theta / self.n, self.n**-1.25)

    @constant("eq:trm_proof_assumed_cond", _DATA)
    def p_smallest(self) -> float:
        """Samples, at least: ``C n^3 log(n / (mu theta)) / (mu theta)^2``.

        Complete dictionaries:
        ``C max(n^4/mu^4, n^5/mu^2) kappa^8 log(kappa n / (mu theta))^4 / (c_star theta)^2``.
        """
        n, mu, theta = self.n, self.mu, self.theta
        if self.condition_number is None:
            return self.C * n**3 * _log(n / (mu * theta)) / (mu * theta) ** 2
        return self._complete_samples / (self.c_star * theta) ** 2

    @property
    def _complete_samples(self) -> float:
        kappa = self.condition_number or 1.0
        powers = max(self.n**4 / self.mu**4, self.n**5 / self.mu**2)
        return self.C * powers * kappa**8 * _log(kappa * self.n / (self.mu * self.theta)) ** 4

    # -- the pipeline --------------------------------------------------------------------------

    @constant("lem:pert_key_mag", _PIPELINE)
    def Xi(self) -> float:
        """Error of preconditioning, at most:
        ``20 kappa^4 sqrt(theta n log(p) / p)``; 0 if orthogonal.
        """
        if self.condition_number is None:
            return 0.0
        spread = math.sqrt(self.theta * self.n * math.log(self.p) / self.p)
        return 20.0 * self.condition_number**4 * spread

    @constant("eq:pert_upper_bound", _PIPELINE)
    def Xi_largest(self) -> float:
        """Error that the analysis allows: ``c_star theta / (4 n^1.5 X^3 / mu^2 + 6 n X^2 / mu)``.

        It keeps both derivatives within ``c_star theta / 2`` of those of X itself, X being the
        largest coefficient. The display in section II.E has ``n X^2`` in place of ``n^1.5 X^3``,
        and lacks a 1/p; its conclusion, eq. (pert_upper_bound), is that of the right powers. A
        largest entry of the data that was given stands for that of the coefficients.
        """
        bounded = self.complete and self.given_entry is None
        X = self.X / (_PERTURBED_ENTRIES if bounded else 1.0)
        root = math.sqrt(self.n) * X
        allowed = self.c_star * self.theta / (4.0 * root**3 / self.mu**2 + 6.0 * root**2 / self.mu)
        return min(allowed, 0.5 / math.sqrt(self.n))

    @constant("lem:alg_rounding_orth", _PIPELINE)
    def rounding_cosine(self) -> float:
        """Cosine with the target from which rounding is exact: ``249/250``.

        The proof needs no more than ``15 / sqrt(229)``, which is 0.9912.
        """
        return 249.0 / 250.0

    @constant("lem:alg_rounding_orth", _PIPELINE)
    def rounding_samples(self) -> float:
        """Samples that rounding needs: ``C max(n^2/theta, n/theta^2) log(n/theta)``.

        The second of the two is what lem:rounding-0 asks for; the lemma itself has the first alone,
        which is less where theta is below 1/n.

        Complete dictionaries: ``theta p_smallest``.
        """
        n, theta = self.n, self.theta
        if self.condition_number is not None:
            return self._complete_samples / (self.c_star**2 * theta)
        return self.C * max(n**2 / theta, n / theta**2) * _log(n / theta)

    @constant("lem:deflation-bound", _PIPELINE)
    def deflation_error(self) -> float:
        """Perturbation of the deflated data over that of X: ``16 |Xi|``, for ``|Xi| <= 1/20``.

        Eq. (delta-3-bound) in its proof has ``25 / (2 delta)`` for ``25 delta / 2``.
        """
        return 16.0 * self.Xi

    # -- iterations ----------------------------------------------------------------------------

    def iterations(self, value: float | None = None, accuracy: float | None = None) -> float:
        """Return the theorem's bound on iterations (eqs. cplx_orth and cplx_comp).

        ``value / min(d_I, d_II, d_III) + log2 log2(2 m_H / (L_H accuracy))``: the first while the
        cost falls by a fixed amount, the second while convergence is quadratic.

        Parameters
        ----------
        value : float, optional
            The cost at the start; by default its largest value, ``M_f``.
        accuracy : float, optional
            The distance from the minimizer to reach; by default mu, as the paper suggests.
        """
        value = self.M_f if value is None else real("value", value, low=0.0)
        accuracy = self.mu if accuracy is None else accuracy
        check_positive("accuracy", accuracy, ", or None")
        within = 2.0 * self.m_H / (self.L_H * accuracy)
        # Convergence begins within that distance already if the logarithms are not positive.
        last = math.log2(math.log2(within)) if within > 2.0 else 0.0
        least = min(self.d_I, self.d_II, self.d_III)
        return value / least + last if least > 0.0 else math.inf

    @property
    def hypotheses(self) -> tuple[tuple[str, str, bool], ...]:
        """What the theorems assume: in words, the equation, and whether it is so."""
        p, mu = f"{self.p:.3g}", f"{self.mu:.3g}"
        needed, largest = f"{self.p_smallest:.3g}", f"{self.mu_largest:.3g}"
        kind = type(self)
        condition = kind.mu_largest.equation(self.complete)
        found = [
            (f"theta = {self.theta:.3g} below 1/2", condition, self.theta < 0.5),
            (f"mu = {mu} below {largest}", condition, self.mu < self.mu_largest),
            (f"p = {p} at least {needed}", condition, self.p >= self.p_smallest),
            (
                f"curvature negative from |w| = {OUTER_RADIUS:.3g} "
                f"(in the mean from {self.concave_from:.3g})",
                kind.beta_concave.equation(self.complete),
                self.concave_from <= OUTER_RADIUS,
            ),
            (
                f"radius {self.radius:.3g} at most {self.largest_radius:.3g}",
                kind.largest_radius.equation(self.complete),
                self.radius <= self.largest_radius,
            ),
        ]
        if self.complete:
            error = f"|Xi| at most {self.Xi_largest:.3g} (lem:pert_key_mag: {self.Xi:.3g})"
            found.append((error, "eq:pert_upper_bound", self.Xi <= self.Xi_largest))
        return tuple(found)

    # -- in words ------------------------------------------------------------------------------

    def with_measured(self, values: Mapping[str, float]) -> DictionaryConstants:
        """Return the constants with measured values in place of some bounds; the rest follows."""
        unknown = set(values) - {each.name for each in constants()}
        if unknown:
            raise ArgumentError("values", "be of constants by their names", sorted(unknown))
        for name, value in values.items():
            check_positive(f"values[{name!r}]", value)
        return replace(self, measured={**self.measured, **values})

    def summary(self) -> Summary:
        """Return all constants in a table, with their equations."""
        rows: list[tuple[Cell, ...]] = []
        group = ""
        for each in constants():
            if each.group != group:
                group = each.group
                rows.append((group,))
            value = f"{each.__get__(self, type(self)):.4g}"
            mark = " (measured)" if each.name in self.measured else ""
            given = self.given_radius if each.name == "radius" else self.given_entry
            if each.name in ("X", "radius") and given is not None:
                mark = " (given)"
            rows.append(
                (each.name, value, each.equation(self.complete), each.said(self.complete) + mark)
            )
        rows.append(("hypotheses",))
        for said, label, met in self.hypotheses:
            rows.append((said, ("yes", GOOD) if met else ("no", BAD), label, ""))
        setting = f"n = {self.n}, p = {self.p}, theta = {self.theta:.4g}, mu = {self.mu:g}"
        kind = (
            "orthogonal"
            if self.condition_number is None
            else f"complete, of condition number {self.condition_number:g}, preconditioned"
        )
        bound = f"{self.iterations():.4g}, from any start to within mu of a minimizer"
        return Summary(
            "The constants of the paper's analysis",
            (
                ("setting", setting),
                ("dictionary", kind),
                (
                    "left open by the paper",
                    f"c_star = {self.c_star:.4g}, c_a = {self.c_a:g}, C = {self.C:g}",
                ),
                ("iterations, at most", bound),
            ),
            Table(("constant", "value", "equation", "meaning: formula"), tuple(rows), "lrll"),
            notes=("riemtr.theory.slips() lists where the paper is put right.",),
            line=f"{setting}: radius {self.radius:.3g}, iterations {self.iterations():.3g}",
        )


def constants() -> Iterator[constant]:
    """Yield the constants with their equations and formulas, in the order of the paper.

    Examples
    --------
    >>> {each.name: each.label for each in constants()}["eta_f"]
    'lem:alg_approx_bd2'
    """
    for value in vars(DictionaryConstants).values():
        if isinstance(value, constant):
            yield value


def _log(ratio: float) -> float:
    """Logarithm of a ratio that the paper takes to be large; at least that of e."""
    return math.log(max(ratio, math.e))


def dictionary_constants(
    n: int,
    theta: float,
    mu: float,
    p: int | None = None,
    *,
    condition_number: float | None = None,
    radius: float | None = None,
    largest_entry: float | None = None,
    c_star: float = C_STAR,
    c_a: float = 1.0,
    C: float = 1.0,
) -> DictionaryConstants:
    r"""Return the constants of the paper's analysis, each with its equation.

    Parameters
    ----------
    n : int
        Dimension, at least 2.
    theta : float
        Share of nonzeros, between 0 and 1; the theorems ask for less than 1/2.
    mu : float
        Smoothing parameter.
    p : int, optional
        Number of samples; by default as many as the theorem asks for.
    condition_number : float, optional
        That of a complete dictionary, whose data are preconditioned (thm:trm_comp); by default the
        dictionary is orthogonal (thm:trm_orth).
    radius : float, optional
        Radius of the trust region; by default the largest that the theorem allows.
    largest_entry : float, optional
        The largest entry of the data by magnitude, where it is known; by default the bound
        :math:`4\sqrt{\log(np)}` (lem:X-infinty-tail-bound), 3/2 of it for preconditioned data.
    c_star : float
        The constant of the geometry. The paper proves strong convexity on the sphere for at most
        :math:`1/(12\sqrt{2\pi}) = 0.033` (proof of lem:alg_strcvx_lb), takes the same for all
        three regions, and that is the default. :func:`riemtr.theory.check` says which one holds
        on data.
    c_a, C : float
        The factors of the smoothing parameter and the number of samples that the theorems ask for.
        The paper does not determine them; with the default of 1 they are the rates alone.

    Examples
    --------
    >>> import riemtr
    >>> found = riemtr.theory.dictionary_constants(n=10, theta=0.2, mu=0.01)
    >>> found.d_III < found.d_II, found.largest_radius < 1e-12, found.iterations() > 1e20
    (True, True, True)
    >>> riemtr.theory.DictionaryConstants.d_II.label
    'eq:alg_thm_r23_dec'
    """
    n = integer("n", n, low=2, high=_LARGEST_N)
    theta = real("theta", theta, low=_SMALLEST_THETA, high=1.0)
    if theta == 1.0:
        raise ArgumentError("theta", "be below 1, so that there are zeros", theta)
    real("mu", mu, low=_SMALLEST_MU, high=1.0 / _SMALLEST_MU)
    for name, value in (("c_star", c_star), ("c_a", c_a), ("C", C)):
        check_positive(name, value)
    for name, given in (("radius", radius), ("largest_entry", largest_entry)):
        if given is not None:
            check_positive(name, given, ", or None")
    if condition_number is not None:
        condition_number = real("condition_number", condition_number, low=1.0, high=_WORST)
    samples = 2 if p is None else integer("p", p, low=2, high=_MOST_SAMPLES)
    found = DictionaryConstants(
        n,
        samples,
        theta,
        float(mu),
        condition_number,
        c_star,
        c_a,
        C,
        largest_entry,
        radius,
    )
    return found if p is not None else replace(found, p=max(2, math.ceil(found.p_smallest)))
