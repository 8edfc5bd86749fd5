"""Cases of dictionary learning: the identity, an orthogonal dictionary, a preconditioned one."""

from __future__ import annotations

import pytest

import riemtr
from riemtr.data import BernoulliGaussian, Conditioned, Identity, Orthogonal

KINDS = {"identity": Identity(), "orthogonal": Orthogonal(), "preconditioned": Conditioned(3.0)}


def build(kind="identity", n=5, p=5000, theta=0.2, mu=0.02, seed=0):
    """A case whose coefficients are known; complete dictionaries are preconditioned."""
    sample = BernoulliGaussian(n, p, theta, dictionary=KINDS[kind]).draw(seed)
    data = sample.observations
    if kind == "preconditioned":
        data = riemtr.precondition(data, theta=theta).data
    problem = riemtr.dictionary_problem(data, mu)
    details = {"coefficients": sample.coefficients, "dictionary": sample.dictionary}
    truth = riemtr.problems.Truth(details=details)
    return riemtr.problems.Case(problem, problem.random_point(seed + 1), truth)


@pytest.fixture(params=list(KINDS))
def kind(request):
    return request.param


@pytest.fixture(scope="session")
def make():
    return build
