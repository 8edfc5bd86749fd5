import numpy as np
import pytest

from riemtr.sweep.cells import Cell, make_cells, scalar


def test_the_key_is_that_of_the_first_release():
    # Stores of earlier versions must be recognised: a change here orphans them all.
    assert Cell("t", {"n": 10, "theta": 0.1}, 2).key == "73062edc22c24288b6d8ab4f2ac87e08"
    assert Cell("t", {"n": 10, "theta": 0.1}, 2).rng().random() == 0.6788005664330713


def test_the_key_depends_on_task_settings_and_seed_but_not_on_their_order():
    cell = Cell("t", {"n": 1, "k": 2}, 0)
    assert Cell("t", {"k": 2, "n": 1}, 0).key == cell.key
    others = [
        Cell("u", {"n": 1, "k": 2}, 0),
        Cell("t", {"n": 2, "k": 1}, 0),
        Cell("t", {"n": 1, "k": 2}, 1),
        Cell("t", {"n": 1}, 0),
        Cell("t", {"n": 1.0, "k": 2}, 0),
        Cell("t", {"n": True, "k": 2}, 0),
        Cell("t", {"n": "1", "k": 2}, 0),
    ]
    assert len({other.key for other in [cell, *others]}) == 8


def test_numpy_numbers_are_the_same_cells_as_python_numbers():
    ours = make_cells("t", {"n": np.arange(1, 3), "x": np.array([0.5])}, seeds=np.arange(2))
    theirs = make_cells("t", {"n": [1, 2], "x": [0.5]}, seeds=[0, 1])
    assert [cell.key for cell in ours] == [cell.key for cell in theirs]
    assert type(ours[0].settings["n"]) is int


def test_settings_one_by_one():
    cells = make_cells("t", [{"n": 1, "k": 1}, {"n": 2, "k": 1}, {"n": 2, "k": 2}], seeds=[7])
    assert [str(cell) for cell in cells] == [
        "n=1 k=1 seed=7",
        "n=2 k=1 seed=7",
        "n=2 k=2 seed=7",
    ]


@pytest.mark.parametrize(
    ("grid", "seeds", "message"),
    [
        ({"n": []}, [0], "grid must not be empty"),
        ({"n": [1]}, [], "seeds must not be empty"),
        ({"n": [1]}, [-1], "seeds must be an integer of at least 0; got -1"),
        ({"n": 5}, [0], r"for a single value write \[5\]"),
        ({"n": "abc"}, [0], r"for a single value write \['abc'\]"),
        ({"n": [1, 1]}, [0], "each cell once; got n=1 seed=0 twice"),
        ({"seed": [1]}, [0], "got 'seed'"),
        ({"rng": [1]}, [0], "got 'rng'"),
        ({"a b": [1]}, [0], "got 'a b'"),
        ({"n": [float("nan")]}, [0], "finite values; got nan for 'n'"),
        ([{"n": 1}, {"k": 1}], [0], r"same names everywhere; got \['n'\] and \['k'\]"),
    ],
)
def test_what_is_no_grid_is_refused(grid, seeds, message):
    with pytest.raises(ValueError, match=message):
        make_cells("t", grid, seeds)


def test_values_that_no_file_could_keep_are_refused():
    with pytest.raises(TypeError, match="values of 'n': expected a number, a string"):
        make_cells("t", {"n": [np.zeros(2)]}, [0])
    assert scalar(np.array(3.0)) == 3.0
