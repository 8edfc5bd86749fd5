"""Work shared between the owner's thread and helpers."""

import threading

import pytest

from riemtr.recovery.helper_threads import Helpers


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_outcomes_come_in_order_and_are_counted_one_by_one(jobs):
    helpers, told = Helpers(jobs), []
    tasks = [helpers.begin(lambda i=i: i * i) for i in range(20)]
    assert helpers.finish(tasks, told.append) == [i * i for i in range(20)]
    assert told == list(range(1, 21))
    assert helpers.finish([], told.append) == []
    helpers.close()


def test_a_helper_begins_at_once_and_the_owner_works_along():
    helpers, threads = Helpers(2), {}
    begun, released = threading.Event(), threading.Event()

    def first():
        threads["first"] = threading.get_ident()
        begun.set()
        assert released.wait(timeout=60)

    def last():
        threads["last"] = threading.get_ident()
        released.set()

    tasks = [helpers.begin(first)]
    assert begun.wait(timeout=60)  # before anybody asks for it
    tasks.append(helpers.begin(last))
    helpers.finish(tasks, lambda done: None)  # would not end if the owner only waited
    helpers.close()
    assert threads["last"] == threading.get_ident() != threads["first"]


def test_one_job_needs_no_other_thread():
    helpers, seen = Helpers(1), []
    task = helpers.begin(lambda: seen.append(threading.get_ident()))
    assert not task.done
    helpers.finish([task], lambda done: None)
    helpers.close()
    assert seen == [threading.get_ident()]


@pytest.mark.parametrize("jobs", [1, 2])
def test_errors_arrive(jobs):
    helpers = Helpers(jobs)
    tasks = [helpers.begin(lambda i=i: 1 // i) for i in range(3)]
    with pytest.raises(ZeroDivisionError):
        helpers.finish(tasks, lambda done: None)
    helpers.close()


def test_the_error_of_a_helper_does_not_wait_for_the_others():
    helpers, done, failed = Helpers(2), [], threading.Event()

    def fail():
        failed.set()
        raise ZeroDivisionError

    tasks = [helpers.begin(fail)]
    assert failed.wait(timeout=60)
    with pytest.raises(ZeroDivisionError):
        tasks[0].outcome()
    tasks += [helpers.begin(lambda: done.append(1)) for _ in range(5)]
    with pytest.raises(ZeroDivisionError):
        tasks[0].check()
    told = []
    with pytest.raises(ZeroDivisionError):
        helpers.finish(tasks, told.append)
    assert told == []
    helpers.close()
