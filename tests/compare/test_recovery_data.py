import inspect

import numpy as np
import pytest

from riemtr.compare import compare_recovery
from riemtr.compare.recovery_methods import PARAMETERS, of_image, of_model
from riemtr.data import paper_sample_size


def test_the_parameters_are_those_of_the_comparison():
    assert set(PARAMETERS) < set(inspect.signature(compare_recovery).parameters)
    assert {*inspect.signature(of_model).parameters, "image"} == set(PARAMETERS)


def test_made_up_data_are_white_and_follow_from_the_seed_alone():
    described, draw = of_model(n=5)
    assert described["p"] == paper_sample_size(5)
    (white, truth), (again, _) = (draw(np.random.SeedSequence(3)) for _ in range(2))
    assert np.array_equal(white.data, again.data)
    np.testing.assert_allclose(
        white.data @ white.data.T / described["p"], np.eye(5), rtol=0, atol=1e-12
    )
    assert np.linalg.cond(truth) == pytest.approx(10.0)
    # Whitened and with the dictionary taken off, a fifth of the entries is left.
    sparse = np.linalg.solve(truth, white.inverse @ white.data)
    assert np.mean(np.abs(sparse) > 1e-9) == pytest.approx(0.2, abs=0.05)


def test_an_image_has_no_truth_and_always_the_same_patches():
    image = np.random.default_rng(0).exponential(size=(160, 160))
    described, draw = of_image(image, {})
    assert described == {"image": "array (160, 160)", "n": 64, "p": 400}
    (white, truth), (again, _) = (draw(np.random.SeedSequence(k)) for k in range(2))
    assert truth is None
    assert again is white


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name != "image"])
def test_an_image_leaves_nothing_to_choose(name):
    with pytest.raises(ValueError, match=f"{name} must be left out where image is given"):
        of_image("camera", {name: 1})
