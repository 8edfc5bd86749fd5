from riemtr.compare import Comparison, solver_names
from riemtr.compare.entrants import DEFAULT
from riemtr.compare.figures import PALETTE, looks, places
from riemtr.compare.recovery_methods import METHODS


def test_named_solvers_have_looks_of_their_own_in_any_company():
    for names in (solver_names(), list(METHODS)):
        drawn = looks(Comparison({"solvers": dict.fromkeys(names)}, {}, ()), ("-", "--"))
        assert len(set(drawn.values())) == len(names)
        for name in names:
            assert places([name]) == {name: places(names)[name]}


def test_others_get_what_is_free_whatever_the_order():
    names = ["zebra", "exact", "ape", "l-bfgs-b"]
    found = places(names)
    assert list(found) == names
    assert (found["exact"], found["l-bfgs-b"]) == (0, 5)
    assert (found["ape"], found["zebra"]) == (1, 2)
    assert places(names[::-1]) == found


def test_more_solvers_than_colours_begin_anew():
    found = places(f"solver{i:02}" for i in range(20))
    assert list(found.values()) == list(range(20))
    drawn = looks(Comparison({"solvers": found}, {}, ()), "-.")
    assert (drawn["solver00"], drawn["solver10"]) == ((PALETTE[0], "-"), (PALETTE[0], "."))


def test_the_default_ones_have_colours_of_their_own():
    assert len({PALETTE[place] for place in places(DEFAULT).values()}) == len(DEFAULT)
