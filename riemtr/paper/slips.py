"""Slips of the paper, found while its constants were computed; none of its theorems falls."""

from __future__ import annotations

from dataclasses import dataclass

from riemtr.summary import Summarised, Summary, Table


@dataclass(frozen=True)
class Slip:
    """A slip of the paper.

    Attributes
    ----------
    where : str
        The label of the equation, lemma or section.
    printed, right : str
        The text as it is, and as it must be.
    matters : str
        What follows from it.
    """

    where: str
    printed: str
    right: str
    matters: str


@dataclass(frozen=True, repr=False)
class Slips(Summarised):
    """Slips of the paper that were found on the way; printed, they are a table.

    Attributes
    ----------
    found : tuple of Slip
    """

    found: tuple[Slip, ...]

    def summary(self) -> Summary:
        """Return the table."""
        rows = tuple((each.where, each.printed, each.right, each.matters) for each in self.found)
        headings = ("where", "printed", "right", "what follows")
        note = "No theorem of the paper falls: each of them leaves its constants open."
        return Summary("Slips of the paper", table=Table(headings, rows, "llll"), notes=(note,))


def slips() -> Slips:
    """Return the slips of the paper, with what is right.

    Examples
    --------
    >>> slips().found[0].where
    'lem:alg_strcvx_func'
    """
    return Slips(_SLIPS)


_SLIPS = (
    Slip(
        "lem:alg_strcvx_func",
        "m_H^2 D^2 / M_H",
        "m_H^2 D^2 / (2 M_H)",
        "d_I is half as large; its proof has the 1/2 until the last line",
    ),
    Slip(
        "before lem:TRM-lemma-iii",
        "M_H <= 16 n log(np) / mu",
        "M_H <= 32 n log(np) / mu",
        "2 n X^2 / mu with X^2 <= 16 log(np); the sum that it bounds is half as large, and is "
        "what riemtr uses",
    ),
    Slip(
        "lem:TRM-lemma-iii, proof",
        "d_I from c_star^2 theta^2 / (2 mu n log(np))",
        "c_star^2 theta^2 / (64 mu n log(np))",
        "m_H^2 / (2 M_H) with the constant of M_H; only c changes",
    ),
    Slip(
        "section II.E, lem:TRM-lemma-iii",
        "36 log(np) / mu",
        "72 n log(np) / mu",
        "9/4 of M_H; the n is missing as well",
    ),
    Slip(
        "eqn:delta-3-bound",
        "25 / (2 delta)",
        "25 delta / 2",
        "none: lem:deflation-bound uses the right one",
    ),
    Slip(
        "eq:strcvx_qsp_key3",
        ">= theta / (4 sqrt(2 pi) mu) for mu <= theta / 10",
        "for mu <= theta / 19, by this estimate",
        "lem:alg_strcvx_lb stands: E|q'x| <= sqrt(2/pi) (theta + |w| sqrt theta) is far below the "
        "4 / sqrt(2 pi) subtracted",
    ),
    Slip(
        "eq:strcvx_qsp_key2",
        "mu / sqrt(31/32) <= mu",
        "<= 1.02 mu",
        "none, as above",
    ),
    Slip(
        "lem:TR-step",
        "for D <= 1",
        "for D <= 1/2",
        "lem:rie_hess_lip, which it rests on, is proved up to 1/2; the theorem's D is far smaller",
    ),
    Slip(
        "lem:TRM-lemma-iv, end of proof",
        "c_1 (c_star theta)^1.5 / (n log(np))^1.75",
        "the same times mu",
        "none: the bound beside it is smaller",
    ),
    Slip(
        "lem:alg_neg_cuv_func, proof",
        "sigma = sign(w'g')",
        "1 where that is 0",
        "else the step is none where the radial gradient vanishes",
    ),
    Slip(
        "section II.E, lem:alg_strcvx_lb",
        "L_h'' n X^2 and L_h' sqrt(n) X, sums without 1/p",
        "L_h'' n^1.5 X^3 and L_h' n X^2, means",
        "none: eq:pert_upper_bound has the right powers",
    ),
    Slip(
        "lem:alg_rounding_orth",
        "p >= C n^2 log(n/theta) / theta",
        "and p >= C n log(n/theta) / theta^2",
        "lem:rounding-0 asks for it; the first is less where theta < 1/n",
    ),
    Slip(
        "lem:alg_rounding_orth, proof",
        "exp(-theta^2 p / 2)",
        "exp(-theta^2 p / 32)",
        "Hoeffding's inequality for an excess of theta p / 8; only the failure probability",
    ),
    Slip(
        "section II.C, after eqn:SDP_relaxation",
        "xi is the first n - 1 coordinates of the principal eigenvector",
        "these, divided by its last coordinate",
        "else the step comes out short",
    ),
    Slip(
        "section II.C, eqn:SDP_relaxation",
        "E_{n+1} = e_{n+1} e_{n+1}^*",
        "E_n = e_n e_n^*",
        "none: xi is in R^(n-1), and the lifted vector [xi; 1] has n entries",
    ),
    Slip(
        "section II.C, before eqn:SDP_relaxation",
        "b = U^* grad nabla f",
        "b = U^* grad f",
        "none: one gradient too many",
    ),
    Slip(
        "section IV.A, footnote",
        "positive correlation with the gradient",
        "negative correlation with the gradient",
        "else the step along negative curvature climbs first",
    ),
    Slip(
        "section I",
        "-|lambda| |delta|^2",
        "-|lambda| |delta|^2 / 2",
        "none: the decrease of the model along negative curvature",
    ),
)
