import sys

import pytest

from riemtr import blas_threads
from riemtr.blas_threads import one_blas_thread
from tests.sweep.tasks import threads

threadpoolctl = pytest.importorskip("threadpoolctl")


def in_use():
    return threads(None)["threads"]


@pytest.fixture
def two_threads():
    with threadpoolctl.threadpool_limits(2):
        yield


def test_one_thread_until_the_context_ends(two_threads):
    with one_blas_thread():
        assert in_use() == 1
        with one_blas_thread():
            assert in_use() == 1
        assert in_use() == 1
    assert in_use() == 2


def test_who_never_enters_it_keeps_it(two_threads):
    one_blas_thread()
    assert in_use() == 1


def test_libraries_are_looked_for_where_modules_were_imported(monkeypatch):
    looked = []

    class Controller:
        def __init__(self):
            looked.append(len(sys.modules))

        def limit(self, *, limits):
            assert limits == 1

    monkeypatch.setattr(blas_threads, "_known", (0, None))
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", Controller)
    for _ in range(3):
        one_blas_thread()
    assert len(looked) == 1
    monkeypatch.setitem(sys.modules, "a_module_with_another_blas", sys)
    one_blas_thread()
    assert len(looked) == 2


def test_without_threadpoolctl_nothing_is_held(two_threads, monkeypatch):
    monkeypatch.setattr(blas_threads, "_known", (0, None))
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with one_blas_thread():
        monkeypatch.undo()
        assert in_use() == 2
