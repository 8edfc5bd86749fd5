"""Critical points against closed forms: all of them, none else, each with its index."""

import itertools
import math
from collections import Counter
from dataclasses import replace

import autograd.numpy as anp
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.optimize

import riemtr
from riemtr.data import BernoulliGaussian, Identity
from riemtr.errors import ArgumentError
from riemtr.problems.random_data import symmetric_matrix
from riemtr.theory import critical_points


def quadratic(manifold, matrix, weights=1.0, **options):
    """trace X'AXD, with its derivatives by hand."""
    return riemtr.Problem(
        manifold,
        lambda x: float(np.sum(x * (matrix @ x) * weights)),
        euclidean_gradient=lambda x: 2.0 * (matrix @ x) * weights,
        euclidean_hessian=lambda x, v: 2.0 * (matrix @ v) * weights,
        **options,
    )


def tilted(tilt=0.1):
    """-x^2 + tilt x on the circle: minimizers at (-1, 0) and, spurious, at (1, 0)."""
    return riemtr.Problem(riemtr.Sphere(2), lambda x: -(x[0] ** 2) + tilt * x[0])


@pytest.mark.parametrize(("n", "mu"), [(3, 0.1), (3, 0.01), (3, 1.0), (4, 0.1)])
def test_the_separable_log_cosh_cost_has_all_sign_patterns_and_no_others(n, mu):
    # A nonzero entry z has tanh(z / mu) / z = const, which decreases in |z|: all are equal.
    found = critical_points(riemtr.dictionary_problem(np.eye(n), mu), rng=1, starts=60)
    assert len(found) == 3**n - 1
    patterns = np.sign(np.round([each.point for each in found], 6)).astype(int)
    assert len({tuple(row) for row in patterns}) == 3**n - 1
    for each, pattern in zip(found, patterns, strict=True):
        k = np.count_nonzero(pattern)
        np.testing.assert_allclose(each.point, pattern / math.sqrt(k), atol=1e-7)
        assert (each.index, each.flat_directions, each.isolated) == (k - 1, 0, True)
        assert each.gradient_norm <= 1e-9 / mu
    assert [(kind[0].index, len(kind)) for kind in found.kinds] == [
        (k - 1, math.comb(n, k) * 2**k) for k in range(1, n + 1)
    ]
    assert found.settled
    assert not found.spurious
    assert found.alternating_sum == found.euler_characteristic == 1 - (-1) ** n


def test_rayleigh_quotients_have_all_eigenpairs():
    case = riemtr.problems.build("rayleigh", rng=3, n=7)
    found = critical_points(case.problem, starts=60)
    values, vectors = (case.truth.details[name] for name in ("eigenvalues", "eigenvectors"))
    assert [each.cost for each in found] == pytest.approx(np.repeat(values, 2))
    assert [each.index for each in found] == list(np.repeat(np.arange(7), 2))
    for number, each in enumerate(found):
        assert abs(vectors[:, number // 2] @ each.point) == pytest.approx(1.0)
        smaller = 2.0 * (np.delete(values, number // 2) - values[number // 2])
        np.testing.assert_allclose(each.evaluation.eigh[0], smaller, atol=1e-7)
    kinds = Counter(each.kind for each in found)
    assert kinds == {"minimizer": 2, "saddle": 10, "maximizer": 2}
    assert found.minimizers[0].certificate.verdict == "minimizer"
    assert found.points[-1].certificate.verdict == "maximizer"


def test_brockett_has_all_orders_and_signs_of_eigenvectors():
    values, weights = np.array([1.0, 2.0, 4.0]), np.array([2.0, 1.0])
    found = critical_points(quadratic(riemtr.Stiefel(3, 2), np.diag(values), weights), starts=60)
    assert len(found) == math.factorial(3) * 2**2
    expected = Counter()
    for chosen in itertools.permutations(range(3), 2):
        # Across: (l_j - l_i) d_i for each j left out; within: (l_i - l_j)(d_j - d_i) for each pair.
        left = set(range(3)) - set(chosen)
        bends = [
            (values[j] - values[i]) * d for i, d in zip(chosen, weights, strict=True) for j in left
        ]
        bends.append((values[chosen[0]] - values[chosen[1]]) * (weights[1] - weights[0]))
        expected[values[list(chosen)] @ weights, int(np.sum(np.array(bends) < 0.0))] += 4
    assert Counter((round(each.cost, 9), each.index) for each in found) == expected
    for each in found:
        np.testing.assert_allclose(np.sort(np.abs(each.point), axis=0)[:2], 0.0, atol=1e-6)


def test_on_the_grassmann_manifold_each_invariant_subspace_is_one_point():
    matrix = symmetric_matrix(np.random.default_rng(0), 5)
    values, vectors = np.linalg.eigh(matrix)
    found = critical_points(quadratic(riemtr.Grassmann(5, 2), matrix), starts=60)
    subsets = list(itertools.combinations(range(5), 2))
    expected = sorted((values[list(chosen)].sum(), sum(chosen) - 1) for chosen in subsets)
    assert [each.cost for each in found] == pytest.approx([cost for cost, _ in expected])
    # Each member of the subset leads down to the smaller ones that are left out.
    assert [each.index for each in found] == [index for _, index in expected]
    for each in found:
        inside = np.linalg.norm(vectors.T @ each.point, axis=1) ** 2
        np.testing.assert_allclose(np.sort(inside), [0, 0, 0, 1, 1], atol=1e-9)
    assert found.alternating_sum == found.euler_characteristic == 2


def test_products_and_rotations():
    case = riemtr.problems.build("singular-vectors", rng=0, m=3, n=2)
    found = critical_points(case.problem, starts=30)
    # Plus and minus each singular pair, with either sign.
    assert [each.cost for each in found] == pytest.approx(
        [sign * value for sign in (-1, 1) for value in _singular(case)[::-sign] for _ in range(2)]
    )
    slopes = np.diag([1.0, 2.0, 3.5])
    rotations = riemtr.Problem(
        riemtr.Rotations(3),
        lambda x: float(np.sum(slopes * x)),
        euclidean_gradient=lambda x: slopes,
        euclidean_hessian=lambda x, v: np.zeros((3, 3)),
    )
    found = critical_points(rotations, starts=40)
    assert [each.cost for each in found] == pytest.approx([-4.5, -2.5, 0.5, 6.5])
    assert [each.index for each in found] == [0, 1, 2, 3]
    assert found.euler_characteristic == 0


def _singular(case):
    matrix = np.array([[-case.problem.at([u, v]).cost for v in np.eye(2)] for u in np.eye(3)])
    return np.linalg.svd(matrix, compute_uv=False)


def test_a_known_spurious_minimizer_is_found():
    found = critical_points(tilted(), starts=40)
    assert [(each.index, each.cost) for each in found] == [
        (0, pytest.approx(-1.1)),
        (0, pytest.approx(-0.9)),
        (1, pytest.approx(0.0025)),
        (1, pytest.approx(0.0025)),
    ]
    assert [tuple(each.point.round(6)) for each in found.spurious] == [(1.0, 0.0)]
    assert "1 spurious minimizer found (above the lowest cost; is_solution was not" in repr(found)
    assert "no spurious minimizer found" in repr(critical_points(tilted(3.0), starts=20))


def six_humps():
    """The six-hump camel: 15 critical points, among them 4 spurious minimizers."""

    def cost(z):
        x, y = z
        return 4 * x**2 - 2.1 * x**4 + x**6 / 3 + x * y - 4 * y**2 + 4 * y**4

    def gradient(z):
        x, y = z
        return np.array([8 * x - 8.4 * x**3 + 2 * x**5 + y, x - 8 * y + 16 * y**3])

    def hessian(z, v):
        x, y = z
        bend = np.array([[8 - 25.2 * x**2 + 10 * x**4, 1.0], [1.0, -8 + 48 * y**2]])
        return bend @ v

    return riemtr.Problem(
        riemtr.Euclidean(2), cost, euclidean_gradient=gradient, euclidean_hessian=hessian
    )


def test_without_bounds_searches_to_infinity_end():
    found = critical_points(six_humps(), starts=80, draw=lambda rng: rng.uniform(-2.0, 2.0, 2))
    # The gradient's roots: y in terms of x, and a polynomial of degree 15 in x.
    y = np.polynomial.Polynomial([0.0, -8.0, 0.0, 8.4, 0.0, -2.0])
    x = np.polynomial.Polynomial([0.0, 1.0])
    roots = (x - 8.0 * y + 16.0 * y**3).roots()
    real = np.sort(roots[np.abs(roots.imag) < 1e-6].real)
    assert len(real) == 15
    np.testing.assert_allclose(np.sort([each.point[0] for each in found]), real, atol=1e-6)
    assert Counter(each.index for each in found) == {0: 6, 1: 7, 2: 2}
    assert len(found.spurious) == 4
    assert found.euler_characteristic is None
    assert found.lost > 0
    assert f"{found.lost} of both ended at no critical point" in repr(found)


def test_truth_says_what_is_spurious():
    sample = BernoulliGaussian(5, 80, 0.2, dictionary=Identity()).draw(2)
    problem = riemtr.dictionary_problem(sample.observations, 0.1)
    found = critical_points(
        problem, starts=60, indices=[0, 1], is_solution=lambda q: np.abs(q).max() > 0.95
    )
    assert len(found.minimizers) == 10
    assert len(found.spurious) == 2
    # From beside them an independent method falls back to them, along all directions.
    for each in found.spurious:
        beside = each.point + 0.02 * np.random.default_rng(0).standard_normal(5)
        back = scipy.optimize.minimize(
            lambda z: problem.at(z / np.linalg.norm(z)).cost, beside, method="Nelder-Mead", tol=1e-9
        ).x
        np.testing.assert_allclose(back / np.linalg.norm(back), each.point, atol=1e-3)
    assert {each.index for each in found} <= {0, 1, 2}
    assert found.euler_characteristic is None


@pytest.mark.parametrize("named", [True, False])
def test_flat_directions_are_counted_and_symmetries_are_followed(named):
    turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    problem = quadratic(
        riemtr.Stiefel(3, 2),
        np.diag([1.0, 2.0, 4.0]),
        symmetries=(lambda x: [x @ turn]) if named else None,
    )
    found = critical_points(problem, starts=20)
    # Two orientations of each of three planes where turns are named, else one set for each.
    assert [each.cost for each in found] == pytest.approx(np.repeat([3.0, 5.0, 6.0], 1 + named))
    assert [each.index for each in found] == list(np.repeat([0, 1, 2], 1 + named))
    assert all(each.flat_directions == 1 and each.isolated == named for each in found)
    assert found.points[-1].kind == "maximizer"
    assert found.euler_characteristic is None
    assert ("told apart by cost and index" in repr(found)) == (not named)


def test_says_what_it_rests_on():
    found = critical_points(riemtr.dictionary_problem(np.eye(3), 0.1), starts=50)
    assert found.starts == 50 * found.rounds
    assert found.quiet_starts >= 50
    assert found.chance_of_another == pytest.approx(
        math.log(found.rounds / 0.05) / found.quiet_starts
    )
    assert sum(each.count for each in found) + sum(each.walks for each in found) == (
        found.starts + found.walks - found.lost
    )
    text = repr(found)
    assert text.startswith("26 critical points on Sphere(3), 6 minimizers among them; no spurious")
    assert f"{found.starts} random starts" in text
    assert "Euler characteristic" in text
    assert "26" in found.summary().html()
    assert "some are missing" in repr(replace(found, points=found.points[1:]))
    once = critical_points(riemtr.dictionary_problem(np.eye(3), 0.1), starts=5, max_rounds=1)
    assert not once.settled
    assert once.chance_of_another == 1.0
    assert "before it was settled" in repr(once)


def test_the_same_seed_finds_the_same():
    problem = riemtr.dictionary_problem(np.eye(3), 0.1)
    one, two = (critical_points(problem, rng=5, starts=20) for _ in range(2))
    for first, second in zip(one, two, strict=True):
        assert first.point.tobytes() == second.point.tobytes()
        assert (first.count, first.walks) == (second.count, second.walks)


def test_progress_and_plot():
    seen = []
    found = critical_points(tilted(), starts=10, progress=seen.append)
    assert {record.stage for record in seen} >= {"starts of round 1", "points walked from"}
    axes = found.plot()
    assert axes.get_ylabel() == "Morse index"
    plt.close(axes.figure)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"starts": 0}, "starts"),
        ({"indices": [9]}, "indices"),
        ({"indices": []}, "indices"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"rng": "a"}, "rng"),
    ],
)
def test_wrong_arguments(options, parameter):
    with pytest.raises(ArgumentError) as caught:
        critical_points(tilted(), **options)
    assert caught.value.parameter == parameter


def test_too_many_dimensions():
    with pytest.raises(ArgumentError, match="multistart"):
        critical_points(riemtr.problems.build("rayleigh", rng=0, n=600).problem)


def test_starts_that_were_lost_say_nothing():
    found = critical_points(riemtr.Problem(riemtr.Euclidean(2), lambda x: x[0]), starts=10)
    assert (len(found), found.lost, found.quiet_starts) == (0, 10, 0)
    assert (found.settled, found.stopped, found.chance_of_another) == (False, "nothing found", 1.0)
    assert "no minimizer found" in repr(found)


def test_infinitely_many_points_end_it():
    waves = riemtr.Problem(riemtr.Euclidean(1), lambda x: anp.sin(5.0 * x[0]))
    found = critical_points(waves, starts=5, max_points=30)
    assert 30 <= len(found) <= 40
    assert (found.settled, found.stopped) == (False, "points")
    np.testing.assert_allclose(np.abs([each.cost for each in found]), 1.0)


def test_what_was_found_is_kept_at_ctrl_c():
    def interrupt(now):
        if now.stage == "starts of round 2":
            raise KeyboardInterrupt

    found = critical_points(
        riemtr.dictionary_problem(np.eye(3), 0.1), starts=40, progress=interrupt
    )
    assert len(found) == 26
    assert (found.settled, found.stopped) == (False, "interrupted")
    assert "it was interrupted" in repr(found)


def test_poles_are_no_critical_points():
    # 1 / |x - e1| on the sphere has one critical point, the minimizer at -e1.
    away = riemtr.Problem(
        riemtr.Sphere(3), lambda x: 1.0 / anp.sqrt((x[0] - 1.0) ** 2 + x[1] ** 2 + x[2] ** 2)
    )
    (found,) = critical_points(away, starts=10, max_rounds=2)
    np.testing.assert_allclose(found.point, [-1.0, 0.0, 0.0], atol=1e-7)
    assert found.kind == "minimizer"


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        # Monkey saddles at the poles: 3 minimizers, 3 maximizers, and -2 for each of the two.
        (lambda x: x[0] ** 3 - 3.0 * x[0] * x[1] ** 2, ["minimizer"] * 3 + ["degenerate"]),
        # A circle of minimizers where the Hessian vanishes in both directions.
        (lambda x: x[0] ** 4, ["minimizer"]),
        (lambda x: (1.0 - x[2]) ** 2, ["minimizer"]),
    ],
)
def test_where_the_hessian_vanishes_a_point_is_flat(cost, expected):
    found = critical_points(riemtr.Problem(riemtr.Sphere(3), cost), starts=30)
    assert found.settled
    assert found.euler_characteristic is None
    low = [each for each in found if each.kind != "maximizer"]
    assert [each.kind for each in low] == expected
    assert low[-1].flat_directions == 2
    assert not found.spurious


def test_the_unseen_are_estimated_from_starts_alone():
    found = critical_points(riemtr.dictionary_problem(np.eye(3), 0.1), starts=50)
    counts = (1, 1, 1, 2, 0)
    points = tuple(replace(each, count=n) for each, n in zip(found, counts, strict=False))
    # Four were seen, three of them once and one twice: 4 + 3 * 2 / (2 * 2).
    assert replace(found, points=points).estimated_total == 5.5


def test_the_chance_of_another_is_right_in_most_surveys():
    # One common point and many rare ones; rounds of 20 starts until one shows nothing new.
    rng, wrong = np.random.default_rng(0), 0
    found = critical_points(riemtr.dictionary_problem(np.eye(3), 0.1), starts=50)
    rare = np.full(200, 0.3 / 200)
    for _ in range(2000):
        known, rounds, quiet = set(), 0, 0
        while not quiet:
            rounds += 1
            drawn = set(rng.choice(201, size=20, p=[0.7, *rare]))
            quiet, known = 0 if drawn - known else 20, known | drawn
        missing = sum(rare[each - 1] for each in range(1, 201) if each not in known)
        missing += 0.0 if 0 in known else 0.7
        wrong += missing > replace(found, rounds=rounds, quiet_starts=quiet).chance_of_another
    assert wrong <= 0.05 * 2000
