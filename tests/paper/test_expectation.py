"""The expected cost against samples, quadrature and closed forms; and its pictures."""

import math

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.integrate import quad

import riemtr
from riemtr.data import BernoulliGaussian, Identity
from riemtr.paper.expectation import ExpectedCost, landscape, smoothed
from riemtr.paper.landscape_figures import (
    exponential_figure,
    landscape_figure,
    landscape_page,
)
from riemtr.problems.dictionary_learning import DictionaryCost


@pytest.fixture(scope="module")
def scene():
    return landscape()


def unit(rng, *shape):
    points = rng.standard_normal(shape)
    return points / np.linalg.norm(points, axis=-1, keepdims=True)


def log_cosh(z, mu):
    return mu * (np.logaddexp(z / mu, -z / mu) - math.log(2.0))


@pytest.mark.parametrize("mu", [1e-3, 0.05, 1.0, 10.0])
@pytest.mark.parametrize("deviation", [0.0, 1e-3, 0.02, 0.3, 1.0])
def test_the_integrals_are_those_of_adaptive_quadrature(mu, deviation):
    def mean(function):
        bends = [t for t in mu / max(deviation, 1e-9) * np.array([1.0, 5.0, 20.0]) if t < 12.0]
        density = 2.0 / math.sqrt(2.0 * math.pi)
        return quad(
            lambda t: density * math.exp(-0.5 * t * t) * function(deviation * t),
            0.0,
            12.0,
            points=bends or None,
            limit=200,
            epsabs=1e-15,
        )[0]

    value, second, _ = smoothed(np.array(deviation), mu)
    assert value == pytest.approx(mean(lambda z: log_cosh(z, mu)), abs=1e-13 * max(mu, 1.0))
    sech = 1.0 / mu * mean(lambda z: 1.0 / math.cosh(min(z / mu, 300.0)) ** 2)
    assert second == pytest.approx(sech, rel=1e-11)


@pytest.mark.parametrize(("n", "theta", "mu"), [(3, 0.3, 0.05), (5, 0.1, 0.01), (4, 0.5, 0.5)])
def test_the_expectation_is_the_mean_over_many_samples(n, theta, mu):
    samples = 200_000
    data = BernoulliGaussian(n, samples, theta, Identity()).draw(0).observations
    cost, sampled = ExpectedCost(n, theta, mu), DictionaryCost(data, mu)
    for q in unit(np.random.default_rng(1), 6, n):
        error = np.std(log_cosh(q @ data, mu)) / math.sqrt(samples)
        assert abs(cost.at(q).value - sampled.at(q).value) < 4.5 * error
        slopes = data * np.tanh(q @ data / mu)
        errors = slopes.std(axis=1) / math.sqrt(samples)
        assert np.all(np.abs(cost.at(q).gradient - sampled.at(q).gradient) < 4.5 * errors)
        v = unit(np.random.default_rng(2), n)
        bends = (v @ data) ** 2 / (mu * np.cosh(np.minimum(np.abs(q @ data) / mu, 300.0)) ** 2)
        error = bends.std() / math.sqrt(samples)
        assert abs(v @ cost.at(q).hessian(v) - bends.mean()) < 4.5 * error


def test_without_smoothing_it_is_the_expected_magnitude():
    # E |q'x| = sqrt(2 / pi) E |q_S|, here for two coordinates.
    theta, q = 0.3, np.array([0.6, 0.8])
    expected = theta * (1 - theta) * (0.6 + 0.8) + theta**2
    value = ExpectedCost(2, theta, 1e-10).at(q).value
    assert value == pytest.approx(math.sqrt(2 / math.pi) * expected, abs=1e-9)


def test_derivatives_are_those_of_the_cost():
    problem = riemtr.Problem(riemtr.Sphere(4), ExpectedCost(4, 0.25, 0.05))
    assert riemtr.check_gradient(problem, rng=0).ok
    assert riemtr.check_hessian(problem, rng=0).ok


def test_slope_and_curvature_along_rays_are_differences_of_the_cost():
    cost, step = ExpectedCost(3, 0.3, 0.05), 1e-4
    lengths, rays = np.array([0.005, 0.1, 0.7]), unit(np.random.default_rng(0), 4, 2)

    def g(t):
        w = t[:, None, None] * rays
        return cost.values(np.concatenate([w, np.sqrt(1 - (w**2).sum(-1, keepdims=True))], -1))

    value, slope, curvature = cost.along_rays(lengths, rays)
    assert value == pytest.approx(g(lengths), abs=1e-14)
    assert slope == pytest.approx((g(lengths + step) - g(lengths - step)) / (2 * step), abs=1e-6)
    second = (g(lengths + step) - 2 * g(lengths) + g(lengths - step)) / step**2
    assert curvature == pytest.approx(second, rel=1e-4, abs=1e-4)


def test_only_the_axes_are_minimizers_of_the_expectation():
    # The theorem's claim, in the limit of many samples: every start leads to an axis.
    problem = riemtr.Problem(riemtr.Sphere(3), ExpectedCost(3, 0.3, 0.05))
    for start in unit(np.random.default_rng(3), 20, 3):
        result = riemtr.PracticalTRM().solve(problem, start)
        assert result.certificate.verdict == "minimizer"
        assert np.abs(result.point).max() == pytest.approx(1.0, abs=1e-9)
    balanced = riemtr.certify(problem, np.full(3, 3**-0.5))
    assert balanced.verdict == "maximizer"
    assert riemtr.certify(problem, np.array([0.5**0.5, 0.5**0.5, 0.0])).verdict == "saddle"


def test_the_path_leads_from_beside_a_maximizer_to_a_minimizer(scene):
    assert scene.result.certificate.verdict == "minimizer"
    assert np.abs(scene.path[0] - 3**-0.5).max() < 0.1
    assert np.abs(scene.path[-1]).max() == pytest.approx(1.0, abs=1e-9)
    assert np.all(np.diff(scene.path_costs) < 1e-12)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="n must be"):
        ExpectedCost(13, 0.3, 0.05)
    with pytest.raises(ValueError, match="theta must be"):
        ExpectedCost(3, 1.3, 0.05)
    with pytest.raises(ValueError, match="mu must be"):
        ExpectedCost(3, 0.3, 0.0)


def test_the_figure_has_the_path_and_the_regions(scene):
    figure = landscape_figure(scene)
    FigureCanvasAgg(figure)
    ball, disk, *_ = figure.axes
    assert np.allclose(np.column_stack(ball.lines[0].get_data_3d()), scene.path)
    assert np.allclose(disk.lines[0].get_data_3d()[2], scene.path_costs)
    words = " ".join(text.get_text() for axes in figure.axes for text in axes.texts)
    assert all(part in words for part in ("strongly", "gradient", "curvature"))
    radii = [
        patch.get_radius()
        for axes in figure.axes
        for patch in axes.patches
        if hasattr(patch, "get_radius")
    ]
    wanted = [0.05 / (4 * math.sqrt(2)), 1 / (20 * math.sqrt(5)), math.sqrt(11 / 12)]
    assert sorted(set(radii)) == pytest.approx(wanted)
    figure.canvas.draw()


def test_the_curvature_is_negative_from_where_the_figure_says(scene):
    (said,) = (
        text.get_text()
        for axes in landscape_figure(scene).axes
        for text in axes.texts
        if "curvature negative" in text.get_text()
    )
    from_here = float(said.split("= ")[1])
    angles = np.linspace(0.0, np.pi / 4, 9)
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    lengths = np.array([0.97, 1.03]) * from_here
    _, _, curvatures = scene.cost.along_rays(lengths, rays)
    assert curvatures[0].max() > 0.0 > curvatures[1].max()


def test_the_page_stands_alone(scene):
    page = landscape_page(scene)
    assert "Plotly.newPlot" in page
    assert 'src="http' not in page
    assert "iterates: strongly convex" in page


def test_the_exponential_map_is_drawn():
    figure = exponential_figure()
    FigureCanvasAgg(figure)
    (axes,) = figure.axes
    curve = np.column_stack(axes.lines[0].get_data_3d())
    assert np.linalg.norm(curve, axis=1) == pytest.approx(1.0)
