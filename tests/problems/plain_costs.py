"""The cost of every registered problem once more, as its formula says, for autograd.

They are written from the docstrings alone, without the shortcuts of the problems themselves.
"""

from __future__ import annotations

import autograd.numpy as np
from autograd.scipy.special import logsumexp


def rayleigh(details, x):
    return x @ details["matrix"] @ x


def invariant_subspace(details, x):
    return np.trace(x.T @ details["matrix"] @ x)


def brockett(details, x):
    return np.trace(x.T @ details["matrix"] @ x @ np.diag(details["weights"]))


def covariance(details, x):
    return np.linalg.slogdet(x)[1] + np.trace(np.linalg.inv(x) @ details["second_moment"])


def singular_vectors(details, u, v):
    return -np.sum(np.outer(u, v) * details["matrix"])


def low_rank(details, u, s, vt):
    return 0.5 * np.sum((u @ np.diag(s) @ vt - details["matrix"]) ** 2)


def dictionary_learning(details, q):
    mu = details["mu"]
    observations = details["dictionary"] @ details["coefficients"]
    return np.mean(mu * np.log(np.cosh(q @ observations / mu)))


def max_cut(details, x):
    weights = details["weights"].toarray()
    differences = x[:, :, None] - x[:, None, :]
    return -0.125 * np.sum(weights * np.sum(differences**2, axis=0))


def phase_synchronisation(details, x):
    real, imaginary = details["matrix"].real, details["matrix"].imag
    first, second = x
    form = first @ real @ first + second @ real @ second
    return -0.5 * (form - first @ imaginary @ second + second @ imaginary @ first)


def rotation_averaging(details, r):
    heads, tails = r[details["heads"]], r[details["tails"]]
    return 0.5 * np.sum((heads - np.matmul(tails, details["measured"])) ** 2)


def pose_graph(details, r, t):
    graph = details["graph"]
    heads, tails = r[graph.heads], r[graph.tails]
    turns = np.sum((heads - np.matmul(tails, graph.turns)) ** 2, axis=(1, 2))
    along = np.matmul(tails, graph.moves[:, :, None])[:, :, 0]
    moves = np.sum((t[graph.heads] - t[graph.tails] - along) ** 2, axis=1)
    return 0.5 * np.sum(graph.turn_weights * turns + graph.move_weights * moves)


def matrix_completion(details, u, s, vt):
    known = details["known"].tocoo()
    whole = np.dot(u * s, vt)
    return 0.5 * np.sum((whole[known.row, known.col] - known.data) ** 2)


def _squared_distances(matrices, x):
    inverses = np.linalg.inv(np.linalg.cholesky(matrices))
    squares = []
    for inverse in inverses:
        values, _ = np.linalg.eigh(inverse @ x @ inverse.T)
        squares.append(np.sum(np.log(values) ** 2))
    return np.array(squares)


def karcher_mean(details, x):
    return 0.5 * np.mean(_squared_distances(details["matrices"], x))


def geometric_median(details, x):
    squares = _squared_distances(details["matrices"], x)
    return np.mean(np.sqrt(squares + details["smoothing"] ** 2))


def gaussian_mixture(details, moments, logits):
    data = details["data"]
    samples, d = data.shape
    augmented = np.hstack([data, np.ones((samples, 1))])
    logits = np.concatenate([logits, np.zeros(1)])
    weights = logits - logsumexp(logits)
    terms = []
    for j in range(len(logits)):
        quadratic = np.sum((augmented @ np.linalg.inv(moments[j])) * augmented, axis=1)
        determinant = np.linalg.slogdet(moments[j])[1]
        terms.append(weights[j] + 0.5 - 0.5 * quadratic - 0.5 * determinant)
    likelihoods = logsumexp(np.array(terms), axis=0) - 0.5 * d * np.log(2.0 * np.pi)
    return -np.mean(likelihoods)


def joint_diagonalisation(details, x):
    total = 0.0
    for matrix in details["matrices"]:
        turned = x.T @ matrix @ x
        total = total + np.sum(turned**2) - np.sum(np.diag(turned) ** 2)
    return 0.5 * total


def joint_dictionary(details, q):
    mu = details["mu"]
    rows = q.T @ details["data"]
    return np.sum(mu * np.log(np.cosh(rows / mu))) / rows.shape[1]


def full_dictionary(details, b):
    return joint_dictionary(details, b) - np.linalg.slogdet(b)[1]


def ica(details, x):
    return np.sum(np.log(np.cosh(x.T @ details["data"]))) / details["data"].shape[1]


def tensor_decomposition(details, x):
    return -np.sum(np.einsum("abcd,aj,bj,cj,dj->j", details["tensor"], x, x, x, x))


def phase_retrieval(details, z):
    real, imaginary = details["vectors"].real, details["vectors"].imag
    squares = (real @ z[0] - imaginary @ z[1]) ** 2 + (real @ z[1] + imaginary @ z[0]) ** 2
    return 0.25 * np.mean((squares - details["squares"]) ** 2)


def sparse_pca(details, x):
    norm = np.sum(np.sqrt(x**2 + details["smoothing"] ** 2))
    return details["penalty"] * norm - 0.5 * x @ details["covariance"] @ x


def robust_pca(details, x):
    residuals = details["data"] - x @ (x.T @ details["data"])
    return np.mean(np.sqrt(np.sum(residuals**2, axis=0) + details["smoothing"] ** 2))


def procrustes(details, x):
    return 0.5 * np.sum((details["design"] @ x - details["target"]) ** 2)


def generalised_eigenvalues(details, x):
    size = x.T @ details["second"] @ x
    return np.trace(np.linalg.solve(size, x.T @ details["first"] @ x))


def _pairs(x):
    above = np.triu_indices(x.shape[1], 1)
    return x[:, above[0]], x[:, above[1]]


def thomson(details, x):
    first, second = _pairs(x)
    return np.sum(1.0 / np.sqrt(np.sum((first - second) ** 2, axis=0)))


def packing(details, x):
    first, second = _pairs(x)
    smoothing = details["smoothing"]
    return smoothing * logsumexp(np.sum(first * second, axis=0) / smoothing)


def hyperbolic_embedding(details, x):
    first, second = _pairs(x.T)
    room = (1.0 - np.sum(first**2, axis=0)) * (1.0 - np.sum(second**2, axis=0))
    distances = np.arccosh(1.0 + 2.0 * np.sum((first - second) ** 2, axis=0) / room)
    wanted = details["distances"][np.triu_indices(len(x), 1)]
    return 0.25 * np.mean((distances**2 - wanted**2) ** 2)


def plain_cost(case):
    """Return the plain cost of a case, a function of the arrays of a point."""
    formula = globals()[case.name.replace("-", "_")]
    details = {**case.parameters, **case.truth.details}
    return lambda *arrays: formula(details, *arrays)
