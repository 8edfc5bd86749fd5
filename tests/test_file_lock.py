import multiprocessing
import os
import signal

import pytest

from riemtr import file_lock as lock
from riemtr.file_lock import InUseError


def only_writer(path):
    return lock.only_writer(path, "store")


@pytest.fixture(params=["flock", "existence"])
def kind(request, monkeypatch):
    if request.param == "existence":
        monkeypatch.setattr(lock, "fcntl", None)
    elif lock.fcntl is None:
        pytest.skip("no such locks here")
    return request.param


def test_the_second_writer_is_told_who_the_first_is(tmp_path, kind):
    store = tmp_path / "a.jsonl"
    with only_writer(store):
        message = f"in use by another run .process {os.getpid()}"
        with pytest.raises(InUseError, match=message), only_writer(store):
            pass
        with only_writer(tmp_path / "b.jsonl"):
            pass
    with only_writer(store):
        pass
    assert list(tmp_path.iterdir()) == []


def test_the_lock_is_released_after_an_error(tmp_path, kind):
    with pytest.raises(ZeroDivisionError), only_writer(tmp_path / "a"):
        raise ZeroDivisionError
    with only_writer(tmp_path / "a"):
        pass


def hold(path, ready):
    with only_writer(path):
        ready.set()
        signal.pause()


def test_a_killed_holder_leaves_no_lock(tmp_path):
    fork = multiprocessing.get_context("fork")
    ready = fork.Event()
    holder = fork.Process(target=hold, args=(tmp_path / "a", ready))
    holder.start()
    assert ready.wait(30)
    with pytest.raises(InUseError, match=f"process {holder.pid}"), only_writer(tmp_path / "a"):
        pass
    holder.kill()
    holder.join()
    assert len(list(tmp_path.iterdir())) == 1
    with only_writer(tmp_path / "a"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_file_left_behind_is_named_where_only_its_existence_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    (tmp_path / ".a.lock").write_text("process 1 on nowhere")
    message = r"process 1 on nowhere.*if that run is gone, remove"
    with pytest.raises(InUseError, match=message), only_writer(tmp_path / "a"):
        pass


def test_a_file_that_is_no_lock_is_neither_signed_nor_removed(tmp_path, kind):
    (tmp_path / ".a.lock").write_text("my notes")
    with pytest.raises(InUseError, match="my notes"), only_writer(tmp_path / "a"):
        pass
    assert (tmp_path / ".a.lock").read_text() == "my notes"


def test_a_lock_on_a_file_that_was_removed_meanwhile_does_not_count(tmp_path, monkeypatch):
    # Another run ends between our opening its lock and our locking it: what we hold is gone.
    if lock.fcntl is None:
        pytest.skip("no such locks here")
    path, real, calls = tmp_path / ".a.lock", lock.fcntl.flock, []

    def flock(descriptor, operation):
        calls.append(descriptor)
        if len(calls) == 1:
            path.unlink()
        real(descriptor, operation)

    monkeypatch.setattr(lock.fcntl, "flock", flock)
    with only_writer(tmp_path / "a"):
        assert len(calls) == 2
        assert path.exists()
