import errno
import json
import math
import os

import pytest

from riemtr.sweep import store as module
from riemtr.sweep.cells import make_cells
from riemtr.sweep.outcomes import Failure, Outcome
from riemtr.sweep.store import StoreError, open_store, read_store
from riemtr.sweep.table import read

CELLS = make_cells("t", {"n": [1, 2, 3, 4]}, seeds=[0])
VALUES = [
    {"x": 0.1 + 0.2, "word": 'quote " and\nnewline ü'},
    {"x": math.nan, "y": -math.inf},
    {"x": 5e-324, "flag": True, "none": None},
    {},
]
FAILURES = [None, None, None, Failure("KeyError", "'a'", "line 1\nline 2")]
OUTCOMES = [
    Outcome(cell, values, failure, 1.5, 0.5)
    for cell, values, failure in zip(CELLS, VALUES, FAILURES, strict=True)
]


def fill(path, outcomes=OUTCOMES, *, resume=False, cells=CELLS, task="t"):
    with open_store(path, task, cells, resume=resume) as store:
        for outcome in outcomes:
            store.append([outcome])


def known(path):
    """What is in a store, NaN being equal to itself."""
    return {str(o.cell): repr(o) for o in read_store(path).outcomes.values()}


def expected(outcomes):
    return {str(outcome.cell): repr(outcome) for outcome in outcomes}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cells.jsonl"


def test_everything_comes_back_bit_for_bit(path):
    fill(path)
    assert known(path) == expected(OUTCOMES)
    assert read_store(path).damaged == 0
    for line in path.read_text().splitlines():
        json.loads(line, parse_constant=lambda text: pytest.fail(f"{text} is not strict JSON"))


def test_a_file_cut_anywhere_keeps_every_whole_line_and_is_mended(path):
    fill(path)
    whole = path.read_bytes()
    header = whole.index(b"\n") + 1
    for size in range(header, len(whole)):
        path.write_bytes(whole[:size])
        lines = whole[:size].count(b"\n") - 2  # the header, and what opened it
        kept = OUTCOMES[: max(lines, 0)]
        assert known(path) == expected(kept)
        if size % 50 == 0:  # opening flushes to the disk, which takes its time
            fill(path, OUTCOMES[len(kept) :], resume=True)
            assert known(path) == expected(OUTCOMES)
            assert read_store(path).damaged == 0


def test_a_damaged_line_costs_its_own_cell_only(path):
    fill(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for number, outcome in enumerate(OUTCOMES, start=2):
        for place in (0, 20, len(lines[number]) // 2, len(lines[number]) - 4):
            damaged = bytearray(lines[number])
            damaged[place] ^= 1
            path.write_bytes(b"".join([*lines[:number], bytes(damaged), *lines[number + 1 :]]))
            others = [other for other in OUTCOMES if other is not outcome]
            assert known(path) == expected(others)
            assert read_store(path).damaged == 1
    assert read(path).damaged == 1
    fill(path, [OUTCOMES[-1]], resume=True)
    assert known(path) == expected(OUTCOMES)


@pytest.mark.parametrize("damage", ["first", "second", "both", "gone"])
def test_damaged_first_lines_cost_no_cell(path, damage):
    fill(path)
    lines = path.read_bytes().splitlines(keepends=True)
    for number in {"first": [0], "second": [1], "both": [0, 1]}.get(damage, []):
        lines[number] = lines[number].replace(b'"task"', b'"tusk"')
    path.write_bytes(b"".join(lines[2:] if damage == "gone" else lines))
    assert read_store(path, "t").damaged == {"first": 1, "second": 1, "both": 2, "gone": 0}[damage]
    assert len(read(path)) == len(OUTCOMES)
    fill(path, OUTCOMES[:1], resume=True)
    assert known(path) == expected(OUTCOMES)
    assert read_store(path).task == "t"  # the new run says it again


def test_results_of_other_code_are_refused(path):
    def run(outcomes, code, **options):
        with open_store(path, "t", CELLS, code=f"python:{code}", **options) as store:
            store.append(outcomes)

    run(OUTCOMES[:2], "a", resume=False)
    run(OUTCOMES[2:], "a", resume=True)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"changed since 4 of its 4 cells .* accept_changes=True"):
        run([], "b", resume=True)
    assert path.read_bytes() == before
    run(OUTCOMES[2:3], "b", resume=True, accept_changes=True)
    with pytest.raises(ValueError, match="changed since 3 of its 4 cells were run"):
        run([], "b", resume=True)
    with pytest.raises(ValueError, match="changed since 2 of its 3 cells"):  # the other one failed
        run([], "b", resume=True, retry_failed=True)


def test_a_store_that_does_not_know_its_code_is_continued(path):
    fill(path, OUTCOMES[:2])
    with open_store(path, "t", CELLS, resume=True, code="python:b") as store:
        store.append(OUTCOMES[2:])
    assert known(path) == expected(OUTCOMES)


def test_a_record_of_a_later_time_counts(path):
    fill(path, OUTCOMES[3:])
    mended = Outcome(CELLS[3], {"x": 1.0})
    fill(path, [mended], resume=True)
    assert known(path) == expected([mended])


def test_a_store_with_cells_is_continued_only_when_asked_to(path):
    fill(path, [])
    fill(path, OUTCOMES[:1])  # nothing was in it yet
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="holds 1 cells already: continue it with resume"):
        fill(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"precious\n", b"precious", b'{"format":1}\n', b"\xff\n"])
def test_a_foreign_file_is_left_alone(path, content):
    path.write_bytes(content)
    for resume in (False, True):
        with pytest.raises(ValueError, match="is something else, and was left as it is"):
            fill(path, resume=resume)
    assert path.read_bytes() == content
    assert list(path.parent.iterdir()) == [path]


def test_another_task_is_another_experiment(path):
    fill(path)
    with pytest.raises(ValueError, match="another experiment: the task is 't' there, 'u' here"):
        fill(path, resume=True, task="u", cells=make_cells("u", {"n": [1]}, [0]))


@pytest.mark.parametrize(
    ("grid", "seeds", "message"),
    [
        ({"n": [1, 2]}, [0], "another experiment: n = 3, 4 there, 1, 2 here;"),
        ({"n": [1, 2, 3, 4]}, [1], "another experiment: seed = 0 there, 1 here;"),
        ({"n": [1, 2, 3, 4], "k": [1]}, [0], "another experiment: k = not set there, 1 here;"),
        ({"m": [1]}, [0], "n = 1, 2, 3, 4 there, not set here; m = not set there, 1 here"),
        (
            [{"n": n, "k": 5 - n} for n in range(1, 5)],
            [0],
            "another experiment: k = not set there, 4, 3, 2, 1 here;",
        ),
    ],
)
def test_another_grid_is_refused_with_what_differs(path, grid, seeds, message):
    fill(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=message):
        fill(path, [], resume=True, cells=make_cells("t", grid, seeds))
    assert path.read_bytes() == before


def test_a_cell_whose_values_all_occur_elsewhere_is_named(path):
    pairs = make_cells("t", {"n": [1, 2], "k": [1, 2]}, [0])
    fill(path, [Outcome(cell, {}) for cell in pairs], cells=pairs)
    fewer = make_cells("t", [{"n": 1, "k": 1}, {"n": 1, "k": 2}, {"n": 2, "k": 1}], [0])
    with pytest.raises(
        ValueError, match="another experiment: n=2 k=2 seed=0 is there and not here"
    ):
        fill(path, [], resume=True, cells=fewer)


def test_every_line_is_flushed_to_the_disk(path, monkeypatch):
    flushed = []
    monkeypatch.setattr(module.os, "fsync", flushed.append)
    with open_store(path, "t", CELLS, resume=False) as store:
        before = len(flushed)
        store.append(OUTCOMES[:2])
        store.append(OUTCOMES[2:])
        assert flushed[before:] == [store.descriptor] * 2


def test_a_store_says_with_what_its_outcomes_were_made(path, monkeypatch):
    for version, outcomes in (
        ("1", OUTCOMES[:2]),
        ("2", []),
        ("1", OUTCOMES[2:3]),
        ("3", OUTCOMES[3:]),
        ("4", OUTCOMES[2:3]),  # the latest of a cell counts
    ):
        monkeypatch.setattr(module, "environment", lambda *packages, v=version: {"riemtr": v})
        fill(path, outcomes, resume=True)
    assert read_store(path).environments == ({"riemtr": "1"}, {"riemtr": "4"}, {"riemtr": "3"})


def test_a_larger_grid_is_the_same_experiment(path):
    fill(path)
    more = make_cells("t", {"n": [0, 1, 2, 3, 4, 5]}, seeds=[0, 1])
    fill(path, [Outcome(more[0], {"x": 1})], resume=True, cells=more)
    assert len(known(path)) == 5


def test_two_runs_do_not_mix(path):
    with open_store(path, "t", CELLS, resume=False) as store:
        with pytest.raises(OSError, match="in use by another run"):
            fill(path, resume=True)
        store.append(OUTCOMES)
    assert known(path) == expected(OUTCOMES)


def test_on_a_full_disk_the_store_is_what_it_was(path, monkeypatch):
    real = os.write
    room = [10**9]

    def write(descriptor, content):
        taken = real(descriptor, content[: room[0]]) if room[0] else 0
        room[0] -= taken
        if taken == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return taken

    monkeypatch.setattr(module.os, "write", write)
    with open_store(path, "t", CELLS, resume=False) as store:
        store.append(OUTCOMES[:2])
        before = path.read_bytes()
        room[0] = 37  # it fills up in the middle of a line
        message = "No space left on device; the 2 cells that were kept before are safe: make room"
        with pytest.raises(StoreError, match=message):
            store.append(OUTCOMES[2:3])
        assert path.read_bytes() == before
        assert len(store.outcomes) == 2
        room[0] = 10**9
        store.append(OUTCOMES[2:])
    assert known(path) == expected(OUTCOMES)


def test_a_limit_of_the_operating_system_is_like_a_full_disk(path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(path, "t", CELLS, resume=False) as store:
        store.append(OUTCOMES[:2])
        before = path.read_bytes()
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, hard))
        try:
            with pytest.raises(StoreError, match="File too large; the 2 cells"):
                store.append(OUTCOMES[2:])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_is_an_error_at_once(path, monkeypatch):
    def refuse(*arguments):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(module, "durable_file", refuse)
    with pytest.raises(StoreError, match=r"cannot create store .*Permission denied"):
        fill(path)
    assert list(path.parent.iterdir()) == []
