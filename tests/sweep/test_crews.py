import pytest

from riemtr.sweep.cells import make_cells
from riemtr.sweep.crews import SerialCrew, check_backend, hire
from tests.sweep import tasks

CELLS = make_cells("draw", {"n": [1, 2]}, seeds=[0])


def test_this_process_runs_a_cell_only_while_somebody_waits():
    crew = hire(tasks.draw, "serial", None, None)
    for cell in CELLS:
        crew.submit(cell)
    assert crew.collect(wait=False) == []
    assert [crew.collect(wait=True)[0].cell for _ in CELLS] == list(CELLS)
    assert crew.collect(wait=True) == []
    crew.close()


def test_cells_have_one_thread_of_blas_and_others_have_theirs():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    crew = SerialCrew(tasks.threads)
    with threadpoolctl.threadpool_limits(2):
        crew.submit(make_cells("threads", [{}], seeds=[0])[0])
        assert crew.collect(wait=True)[0].values == {"threads": 1}
        assert tasks.threads(None) == {"threads": 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("threads", None, None), "backend must be one of 'dask', 'processes', 'serial'"),
        (("processes", 0, None), "workers must be an integer of at least 1; got 0"),
        (("processes", 2, "tcp://a:1"), "backend is 'processes'; use backend='dask' with it"),
        (("dask", 2, "tcp://a:1"), "workers is for a cluster that is started here.*leave out one"),
        (("serial", 2, None), "workers must be 1 or None where backend is 'serial'; got 2; for"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        check_backend(*options)


@pytest.mark.parametrize(
    "options",
    [
        ("serial", None, None),
        ("serial", 1, None),
        ("processes", 3, None),
        ("dask", None, "tcp://a"),
    ],
)
def test_options_that_do_are_not(options):
    check_backend(*options)
