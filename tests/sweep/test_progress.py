import pytest

from riemtr.sweep.cells import make_cells
from riemtr.sweep.outcomes import Failure, Outcome
from riemtr.sweep.progress import Estimate, largest_first

CELLS = make_cells("t", {"n": [10, 20, 40, 80], "word": ["a"]}, seeds=range(5))


def seconds(cell):
    return 1e-4 * cell.settings["n"] ** 3


def ended(cell, failure=None):
    return Outcome(cell, {}, failure, seconds(cell))


def run(cells, cost, workers=1, past=()):
    """Let cells end one after the other on so many workers; yield each progress and the truth."""
    now = [100.0]
    estimate = Estimate(CELLS, cost, {o.cell.key: o for o in past}, workers, clock=lambda: now[0])
    left = sum(map(seconds, cells))
    yield estimate.progress(), left / workers
    for cell in cells:
        now[0] += seconds(cell) / workers
        left -= seconds(cell)
        yield estimate.note(ended(cell)), left / workers


def test_with_the_right_cost_the_estimate_is_exact_from_the_first_cell_on():
    order = largest_first(CELLS, lambda settings: settings["n"] ** 3)
    steps = list(run(order, lambda settings: 7.0 * settings["n"] ** 3))
    assert steps[0][0].remaining is None
    assert steps[0][0].share == 0.0
    total = sum(map(seconds, CELLS))
    for progress, left in steps[1:]:
        assert progress.remaining == pytest.approx(left, rel=1e-9, abs=1e-9)
        assert progress.share == pytest.approx(1.0 - left / total)
    assert steps[-1][0].done == steps[-1][0].total == 20
    assert steps[-1][0].remaining == 0.0


def test_without_a_cost_the_power_law_is_learned():
    order = [cell for cell in CELLS if cell.settings["n"] < 80]
    rest = [cell for cell in CELLS if cell.settings["n"] == 80]
    *_, (progress, _) = run(order, None, workers=2)
    # Extrapolated by a factor of eight from smaller cells, which took an eighth of the time.
    assert progress.remaining == pytest.approx(sum(map(seconds, rest)) / 2, rel=0.15)


def test_a_wrong_cost_is_corrected():
    order = largest_first(CELLS, lambda settings: settings["n"])
    for progress, left in list(run(order, lambda settings: settings["n"]))[12:-1]:
        assert progress.remaining == pytest.approx(left, rel=0.6)  # uncorrected: 15 times as long


def test_earlier_runs_count():
    past, order = [ended(cell) for cell in CELLS[:10]], CELLS[10:]
    (progress, left), *_ = run(order, None, past=past)
    assert (progress.done, progress.total) == (10, 20)
    assert progress.seconds == 0.0
    assert progress.remaining == pytest.approx(left, rel=0.25)


def test_workers_that_wait_are_noticed():
    now = [0.0]
    cells = make_cells("t", {"n": range(100)}, [0])
    estimate = Estimate(cells, None, {}, 2, clock=lambda: now[0])
    for cell in cells[:50]:
        now[0] += 1.0  # two workers should need half of that
        progress = estimate.note(Outcome(cell, {}, None, 1.0))
    assert progress.remaining == pytest.approx(50.0)


def test_failures_are_counted_and_teach_nothing():
    estimate = Estimate(CELLS, None, {}, 1)
    progress = estimate.note(ended(CELLS[0], Failure("KeyError", "")))
    assert (progress.done, progress.failed, progress.remaining) == (1, 1, None)
    assert progress.latest.failure.kind == "KeyError"


def test_the_largest_come_first_and_ties_keep_their_order():
    order = largest_first(CELLS, lambda settings: settings["n"])
    assert order == CELLS[15:] + CELLS[10:15] + CELLS[5:10] + CELLS[:5]
    assert largest_first(CELLS, None) == CELLS


@pytest.mark.parametrize("cost", [0.0, -1.0, float("nan"), float("inf")])
def test_a_cost_must_be_positive(cost):
    with pytest.raises(
        ValueError, match=f"cost must be positive and finite .* got {cost!r} for n=10"
    ):
        largest_first(CELLS, lambda settings: cost)
