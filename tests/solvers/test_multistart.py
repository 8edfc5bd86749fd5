"""Many starts: known minimizers, how often they are reached, the same bits in any process."""

import os
import signal
import threading
import time

import autograd.numpy as anp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import riemtr
from riemtr.errors import NonFiniteCostError
from riemtr.solvers.distinct import distinct
from riemtr.solvers.orbits import Orbits


def fourth_powers(n=3):
    """Minus the sum of fourth powers: the minimizers are plus and minus the axes."""
    return riemtr.Problem(riemtr.Sphere(n), lambda x: -anp.sum(x**4))


def test_the_axes_are_found_and_counted():
    runs = riemtr.multistart(fourth_powers(), starts=60, rng=1)
    assert len(runs.results) == 60
    assert len(runs.minimizers) == 6
    found = np.array([one.point for one in runs.minimizers])
    np.testing.assert_allclose(np.sort(np.abs(found), axis=1)[:, :2], 0.0, atol=1e-6)
    assert {tuple(row) for row in found.round().astype(int)} == {
        tuple(sign * axis) for axis in np.eye(3, dtype=int) for sign in (1, -1)
    }
    # Every run ended at one of them, and each is nearest to the start's own octant.
    members = sorted(member for one in runs.minimizers for member in one.members)
    assert members == list(range(60))
    for one in runs.minimizers:
        for member in one.members:
            np.testing.assert_allclose(runs.results[member].point, one.point, atol=1e-5)
    assert all(one.isolated and one.alike == 0 for one in runs.minimizers)
    assert all(one.result.certified for one in runs.minimizers)
    assert runs.best.cost == min(result.cost for result in runs.results) == pytest.approx(-1.0)


def test_different_costs_are_different_minimizers():
    # On the circle, with a tilt: minima at 0 and pi of different height, among others.
    problem = riemtr.Problem(riemtr.Sphere(2), lambda x: -(x[0] ** 2) + 0.1 * x[0])
    runs = riemtr.multistart(problem, starts=20, rng=0)
    assert [one.cost for one in runs.minimizers] == pytest.approx([-1.1, -0.9])
    assert [one.alike for one in runs.minimizers] == [0, 1]
    assert [one.point[0] for one in runs.minimizers] == pytest.approx([-1.0, 1.0])


def invariant(symmetries):
    """trace X'AX on Stiefel(6, 2), the same for all XQ."""
    matrix = np.diag(np.arange(1.0, 7.0))

    def turned(x):
        return [x @ np.array([[0.0, 1.0], [-1.0, 0.0]])]

    return riemtr.Problem(
        riemtr.Stiefel(6, 2),
        lambda x: float(np.sum(x * (matrix @ x))),
        euclidean_gradient=lambda x: 2.0 * matrix @ x,
        euclidean_hessian=lambda x, v: 2.0 * matrix @ v,
        symmetries=turned if symmetries else None,
    )


def test_symmetries_that_are_named_are_followed():
    runs = riemtr.multistart(invariant(True), starts=12, rng=0)
    # Turns lead to all frames of one orientation; a reflection, which nobody named, to the others.
    assert len(runs.minimizers) == 2
    assert [one.alike for one in runs.minimizers] == [0, 0]
    assert all(one.isolated for one in runs.minimizers)
    assert sum(one.count for one in runs.minimizers) == 12
    signs = {member: np.sign(np.linalg.det(runs.results[member].point[:2])) for member in range(12)}
    for one in runs.minimizers:
        assert len({signs[member] for member in one.members}) == 1


class CountedEnergy:
    """The energy of charges on a sphere; it counts how often it is asked."""

    def __init__(self):
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return anp.sum(1.0 / (2.0 - 2.0 * anp.dot(x.T, x)[np.triu_indices(x.shape[1], 1)]))


def charges(**named):
    cost = CountedEnergy()
    return cost, riemtr.Problem(riemtr.Oblique(3, 12), cost, **named)


def turns(x):
    units = np.zeros((3, 3, 3))
    for number, (one, other) in enumerate(((0, 1), (0, 2), (1, 2))):
        units[number, one, other], units[number, other, one] = 1.0, -1.0
    return units @ x


def images(point, count, seed, relabelled=False):
    """Turn a point in many ways, and perhaps number its columns anew."""
    rng = np.random.default_rng(seed)
    turned = [np.linalg.qr(rng.standard_normal((3, 3)))[0] for _ in range(count)]
    turned = [turn * np.sign(np.linalg.det(turn)) for turn in turned]
    columns = [rng.permutation(12) if relabelled else np.arange(12) for _ in range(count)]
    return [turn @ point[:, order] for turn, order in zip(turned, columns, strict=True)]


def test_turned_points_are_one_and_relabelled_ones_only_with_invariants():
    cost, problem = charges(symmetries=turns)
    icosahedron = riemtr.PracticalTRM().solve(problem, rng=0).point
    turned = riemtr.multistart(problem, images(icosahedron, 15, 1))
    assert len(turned.minimizers) == 1
    assert turned.minimizers[0].isolated
    # Twenty random labellings of an icosahedron are no turns of one another. Their
    # turns are, and all are of one kind.
    relabelled = images(icosahedron, 20, 2, relabelled=True)
    again = [image for point in relabelled for image in images(point, 2, 3)]
    runs = riemtr.multistart(problem, relabelled + again)
    assert len(runs.minimizers) == 20
    assert all(one.count == 3 for one in runs.minimizers)
    assert len(runs.kinds) == 1
    assert "Problem(..., invariants=) names it" in repr(runs)
    named = riemtr.Problem(
        riemtr.Oblique(3, 12), cost, symmetries=turns, invariants=lambda x: np.sort(x.T @ x, None)
    )
    assert len(riemtr.multistart(named, relabelled + again).minimizers) == 1
    assert len(riemtr.multistart(named, 12, rng=0).minimizers) == 1


def test_merging_asks_for_no_cost():
    cost, problem = charges(symmetries=turns)
    icosahedron = riemtr.PracticalTRM().solve(problem, rng=0).point
    results = [riemtr.PracticalTRM().solve(problem, image) for image in images(icosahedron, 8, 4)]
    verdicts = {result.certificate.verdict for result in results}
    assert verdicts == {"minimizer"}
    cost.calls = 0
    (minimizer,) = distinct(problem, results)
    assert minimizer.count == 8
    assert cost.calls == 0


def test_thomson_with_twelve_charges_is_one_icosahedron():
    case = riemtr.problems.build("thomson", rng=0)
    runs = riemtr.multistart(case.problem, 100)
    assert len(runs.minimizers) == 1
    assert runs.minimizers[0].count == 100
    solving = sum(result.seconds for result in runs.results)
    assert runs.seconds < 5.0 * solving  # 200 times as much once, where each pair was solved again


def test_sixteen_charges_have_two_arrangements():
    case = riemtr.problems.build("thomson", rng=0, n=16)
    runs = riemtr.multistart(case.problem, 40)
    # Wales and Ulker (2006): 92.911655302 and 92.920353962.
    assert [one.cost for one in runs.minimizers] == pytest.approx([92.911655302, 92.920353962])


@pytest.mark.parametrize("invariants", [None, lambda x: np.ones(3)])
def test_false_invariants_merge_no_different_costs(invariants):
    problem = riemtr.Problem(
        riemtr.Sphere(2), lambda x: -(x[0] ** 2) + 0.1 * x[0], invariants=invariants
    )
    assert len(riemtr.multistart(problem, 12, rng=0).minimizers) == 2


def test_invariants_of_another_length_are_refused():
    problem = riemtr.Problem(
        riemtr.Sphere(3),
        lambda x: -anp.sum(x**4),
        invariants=lambda x: np.ones(1 + int(np.argmax(np.abs(x)))),
    )
    with pytest.raises(ValueError, match=r"invariants must return \d numbers at every point"):
        riemtr.multistart(problem, 30, rng=0)


def test_an_orbit_with_several_nearest_points_is_one():
    # The cost depends on b - 3 a alone, for angles a and b; the orbit winds three times.
    def cost(p):
        a, b = p[0][0] + 1j * p[0][1], p[1][0] + 1j * p[1][1]
        return -anp.real(b * anp.conj(a**3))

    def along(p):
        quarter = np.array([[0.0, -1.0], [1.0, 0.0]])
        return [[quarter @ p[0], 3.0 * quarter @ p[1]]]

    circle = riemtr.Sphere(2)
    problem = riemtr.Problem(
        riemtr.Product([circle, circle]), lambda x, y: cost((x, y)), symmetries=along
    )
    runs = riemtr.multistart(problem, 25, rng=0)
    assert len(runs.minimizers) == 1
    assert runs.best.cost == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("name", "count"),
    [("pose-graph", 1), ("hyperbolic-embedding", 2), ("phase-synchronisation", 1)],
)
@pytest.mark.parametrize("by_invariants", [False, True])
def test_motions_of_registered_problems(name, count, by_invariants):
    problem = riemtr.problems.build(name, rng=0).problem
    if not by_invariants:
        problem.invariants = None
    runs = riemtr.multistart(problem, 6, rng=0)
    assert len(runs.minimizers) == count  # trees of points in the plane have mirror images


def test_imprecise_minimizers_of_vanishing_cost_are_one():
    # All rotations of one diagonal matrix; the cost is so flat that eigenvalues are off by 1e-4.
    def cost(x):
        square = anp.dot(x, x)
        traces = anp.trace(x), anp.trace(square), anp.trace(anp.dot(x, square))
        return (traces[0] - 6.0) ** 2 + (traces[1] - 14.0) ** 2 + (traces[2] - 36.0) ** 2

    def turned(x):
        for one, other in ((0, 1), (0, 2), (1, 2)):
            turn = np.zeros((3, 3))
            turn[one, other], turn[other, one] = 1.0, -1.0
            yield turn @ x - x @ turn

    problem = riemtr.Problem(riemtr.PositiveDefinite(3), cost, symmetries=turned)
    runs = riemtr.multistart(problem, 10)
    assert len(runs.minimizers) == 1
    assert runs.minimizers[0].isolated


def test_directions_that_are_arranged_as_no_point_is_are_not_followed():
    matrix = np.random.default_rng(6).standard_normal((5, 4))

    def turned(x):
        u, s, _ = x
        turn = np.zeros((5, 5))
        turn[0, 1], turn[1, 0] = 1.0, -1.0
        moved = turn @ u * s
        return [[moved - u @ (u.T @ moved), u.T @ moved, np.zeros((4, 2))]]

    manifold = riemtr.FixedRank(5, 4, 2)
    # The cost asks for the last three rows alone.
    problem = riemtr.Problem(
        manifold,
        lambda u, s, vt: anp.sum((anp.dot(u * s, vt) - matrix)[2:] ** 2),
        symmetries=turned,
    )
    point = manifold.random_point(0)
    assert not Orbits(problem).follow(point)
    assert Orbits(charges(symmetries=turns)[1]).follow(riemtr.Oblique(3, 12).random_point(0))


def test_without_names_a_flat_set_is_one():
    runs = riemtr.multistart(invariant(False), starts=12, rng=0)
    assert len(runs.minimizers) == 1
    assert not runs.minimizers[0].isolated
    assert runs.minimizers[0].cost == pytest.approx(3.0)
    assert "told apart by their costs alone" in repr(runs)


def test_on_a_quotient_bases_do_not_matter():
    case = riemtr.problems.build("invariant-subspace", rng=0, n=8, k=2)
    runs = riemtr.multistart(case.problem, starts=10, rng=0)
    assert len(runs.minimizers) == 1
    assert runs.minimizers[0].isolated


def test_factors_of_low_rank_matrices_do_not_matter():
    case = riemtr.problems.build("low-rank", rng=0)
    runs = riemtr.multistart(case.problem, starts=8, rng=0)
    assert len(runs.minimizers) == 1
    assert runs.best.cost == pytest.approx(case.truth.cost)


def test_the_same_bits_whatever_the_number_of_processes():
    weights = np.linspace(1.0, 2.0, 6)
    problem = riemtr.Problem(riemtr.Sphere(6), lambda x: -anp.sum(weights * x**4))
    one, many = (riemtr.multistart(problem, 14, rng=3, n_jobs=n) for n in (1, 3))
    for first, second in zip(one.results, many.results, strict=True):
        assert first.point.tobytes() == second.point.tobytes()
        assert first.cost == second.cost
        assert first.counts == second.counts
        assert first.certificate.verdict == second.certificate.verdict
        assert first.certificate.min_eigenvalue == second.certificate.min_eigenvalue
        for name in ("cost", "gradient_norm", "radius"):
            np.testing.assert_array_equal(first.history[name], second.history[name])
    assert [each.members for each in one.minimizers] == [each.members for each in many.minimizers]
    assert repr(one) == repr(many)
    # Nothing is missing of what comes from other processes.
    assert many.best.solver == one.best.solver
    assert many.best.evaluation.cost == many.best.cost


class Unsendable:
    """A cost that cannot be pickled."""

    def __reduce_ex__(self, protocol):
        raise TypeError("no")

    def __call__(self, x):
        return -anp.sum(x**4)


def test_costs_that_cannot_be_sent_run_in_threads():
    problem = riemtr.Problem(riemtr.Sphere(3), Unsendable())
    one, two = (riemtr.multistart(problem, 6, rng=0, n_jobs=n) for n in (1, 2))
    for first, second in zip(one.results, two.results, strict=True):
        assert first.point.tobytes() == second.point.tobytes()


def test_starts_and_solver_of_ones_own():
    problem = fourth_powers()
    starts = [np.array([0.9, 0.3, np.sqrt(1 - 0.9)]), np.array([0.0, 0.6, 0.8])]
    runs = riemtr.multistart(problem, starts, solver=riemtr.LBFGS(goal="second-order"))
    assert [result.point.round(4).tolist() for result in runs.results] == [[1, 0, 0], [0, 0, 1]]
    assert repr(runs.results[0].solver) == "LBFGS(goal='second-order')"


def test_runs_that_end_elsewhere_are_told():
    solver = riemtr.PracticalTRM(max_iterations=0)
    runs = riemtr.multistart(fourth_powers(), 5, solver=solver)
    assert runs.minimizers == ()
    assert runs.best.cost == min(result.cost for result in runs.results)
    assert "5 runs ended at no certified minimizer: 5 max_iterations, not-critical" in repr(runs)


def test_starts_where_the_cost_is_not_finite_are_told():
    problem = riemtr.Problem(
        riemtr.Sphere(2), lambda x: anp.where(x[0] > 0, -x[1], anp.nan) + 0.0 * x[0]
    )
    runs = riemtr.multistart(problem, 12, rng=0)
    missing = sum(result is None for result in runs.results)
    assert 0 < missing < 12
    assert f"{missing} no finite cost at the start" in repr(runs)
    never = riemtr.Problem(riemtr.Sphere(2), lambda x: anp.nan * x[0])
    with pytest.raises(NonFiniteCostError, match="at any of the starts"):
        riemtr.multistart(never, 3)


def test_errors_of_the_cost_are_raised():
    def broken(x):
        raise RuntimeError("broken")

    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="broken"):
            riemtr.multistart(
                riemtr.Problem(riemtr.Sphere(3), broken, euclidean_gradient=lambda x: x),
                4,
                n_jobs=n_jobs,
            )


class Disturbed:
    """Fourth powers, with something that happens at some of the calls or in some region."""

    def __init__(self, happens, calls=(), region=lambda x: False):
        self.happens, self.calls, self.region, self.count = happens, calls, region, 0

    def __call__(self, x):
        self.count += 1
        if self.count in self.calls or self.region(x):
            self.happens()
        return -anp.sum(x**4)

    def gradient(self, x):
        return -4.0 * x**3

    def hessian(self, x, v):
        return -12.0 * x**2 * v

    def problem(self):
        return riemtr.Problem(
            riemtr.Sphere(3),
            self,
            euclidean_gradient=self.gradient,
            euclidean_hessian=self.hessian,
        )


def interrupt():
    raise KeyboardInterrupt


def signal_interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def complain():
    raise RuntimeError("broken here")


def far_down(x):
    return x[2] < -0.9


# Of eight starts the fifth is in the region that disturbs.
EIGHT = [*riemtr.Sphere(3).random_points(np.random.default_rng(2), 8)]
for _number, _point in enumerate(EIGHT):
    EIGHT[_number] = np.array([*_point[:2], abs(_point[2])])
EIGHT[4] = np.array([0.2, 0.1, -np.sqrt(0.95)])


@pytest.mark.parametrize("happens", [interrupt, signal_interrupt])
def test_an_interruption_keeps_the_starts_that_have_ended(happens):
    whole = riemtr.multistart(Disturbed(happens).problem(), EIGHT)
    costs = sum(result.counts.costs for result in whole.results[:5])
    runs = riemtr.multistart(Disturbed(happens, calls=[costs + 3]).problem(), EIGHT)
    done = [result is not None for result in runs.results]
    assert runs.status is riemtr.solvers.Status.INTERRUPTED
    assert 1 <= sum(done) < 8
    assert done == sorted(done, reverse=True)
    for first, second in zip(runs.results, whole.results, strict=False):
        assert first is None or first.point.tobytes() == second.point.tobytes()
    assert sum(one.count for one in runs.minimizers) == sum(done)
    assert f"{sum(done)} of 8 starts: " in repr(runs)
    assert "interrupted from the keyboard" in repr(runs)


def test_an_interruption_of_the_first_start_is_raised():
    for calls in ([1], [3]):
        with pytest.raises(KeyboardInterrupt):
            riemtr.multistart(Disturbed(interrupt, calls).problem(), EIGHT)


@pytest.mark.parametrize("sendable", [True, False], ids=["processes", "threads"])
def test_an_interruption_in_parallel_keeps_what_has_ended(sendable):
    problem = Disturbed(interrupt, region=far_down).problem()
    if not sendable:
        problem.lock = threading.Lock()
    runs = riemtr.multistart(problem, EIGHT, n_jobs=2)
    assert runs.status is riemtr.solvers.Status.INTERRUPTED
    assert runs.results[4] is None
    assert any(result is not None for result in runs.results)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("sendable", [True, False], ids=["processes", "threads"])
def test_a_start_that_raises_is_recorded_and_the_others_go_on(n_jobs, sendable):
    problem = Disturbed(complain, region=far_down).problem()
    if not sendable:
        problem.lock = threading.Lock()
    runs = riemtr.multistart(problem, EIGHT, n_jobs=n_jobs)
    assert [result is None for result in runs.results] == [number == 4 for number in range(8)]
    assert list(runs.errors) == [4]
    assert isinstance(runs.errors[4], RuntimeError)
    assert str(runs.errors[4]) == "broken here"
    assert runs.status is None
    assert sum(one.count for one in runs.minimizers) == 7
    assert all(4 not in one.members for one in runs.minimizers)
    assert "1 raised RuntimeError, see .errors" in repr(runs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_starts_end_with_the_time(n_jobs):
    slow = Disturbed(lambda: time.sleep(0.02), region=lambda x: True).problem()
    begun = time.perf_counter()
    runs = riemtr.multistart(slow, 100, n_jobs=n_jobs, max_seconds=0.5)
    assert time.perf_counter() - begun < 10.0
    assert runs.status is riemtr.solvers.Status.MAX_SECONDS
    done = sum(result is not None for result in runs.results)
    assert 1 <= done < 100
    assert "out of time: raise max_seconds, or take fewer starts" in repr(runs)
    assert f"{done} of 100 starts: " in repr(runs)


def test_without_time_the_first_start_is_returned_as_it_is():
    runs = riemtr.multistart(fourth_powers(), EIGHT, max_seconds=0.0)
    assert runs.results[0].status is riemtr.solvers.Status.MAX_SECONDS
    assert runs.results[1:] == (None,) * 7
    assert runs.best is runs.results[0]
    plenty = riemtr.multistart(fourth_powers(), EIGHT, max_seconds=100.0)
    endless = riemtr.multistart(fourth_powers(), EIGHT)
    assert plenty.status is endless.status is None
    for first, second in zip(plenty.results, endless.results, strict=True):
        assert first.point.tobytes() == second.point.tobytes()
        assert first.status is second.status


def test_progress():
    seen = []
    riemtr.multistart(fourth_powers(), 4, progress=seen.append)
    steps = [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(one.done, one.total) for one in seen if one.stage == "solving"] == steps
    assert [(one.done, one.total) for one in seen if one.stage == "merging"] == steps
    assert [one.stage for one in seen] == 4 * ["solving"] + 4 * ["merging"]


def test_plot():
    runs = riemtr.multistart(fourth_powers(), 12, rng=0)
    axes = runs.plot()
    heights = [bar.get_height() for bar in axes.patches if bar.get_height()]
    assert sum(heights) == 12
    plt.close("all")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"starts": 0}, "starts must be a positive integer, or a list of points; got 0"),
        ({"starts": "many"}, "start"),
        ({"n_jobs": 0}, "n_jobs must be a positive integer"),
        ({"max_seconds": -1.0}, "max_seconds must be a number of at least 0; got -1.0"),
        ({"rng": "a"}, "rng must be"),
        ({"solver": 3}, "solver must have a method solve"),
        ({"starts": [np.ones(3)]}, "start must have norm 1"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        riemtr.multistart(fourth_powers(), **arguments)


def test_summary_folds_what_may_be_the_same():
    runs = riemtr.multistart(fourth_powers(), 30, rng=0)
    text = repr(runs)
    assert text.startswith("30 starts: 6 distinct minimizers, the lowest cost is -1, reached 30")
    assert len(runs.kinds) == 1
    assert "images of one another" in text
    short = riemtr.multistart(fourth_powers(), 2, solver=riemtr.PracticalTRM(), rng=0)
    assert short.summary().line.endswith("s")
