"""The one store under attack: nothing lost but the record being written, nothing wrong accepted."""

import errno
import json
import os
import random
import signal
import sqlite3
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from riemtr.errors import OtherRunError
from riemtr.files import partial_path
from riemtr.store import InUseError, Store, StoreError, _create, read_store

IDENTITY = {"seed": 2**120, "mu": 0.01, "rank": None}
FAULTS = int(os.environ.get("RIEMTR_FAULTS", 500))
posix = pytest.mark.skipif(os.name != "posix", reason="needs fork, kill -9 and limits")


def record(number):
    return {
        "number": number,
        "third": number / 3,
        "odd": [float("nan"), float("-inf"), 'quote " and\nü'],
        "array": np.array([number, np.pi, -0.0, np.nan]),
        "matrix": np.arange(6, dtype=np.float32).reshape(2, 3) + number,
    }


def key(number):
    return f"solve/{number}"


def is_right(name, found):
    """Whether a record is the one that was kept, bit for bit."""
    wanted = record(int(name.split("/")[1]))
    arrays = [k for k, part in wanted.items() if isinstance(part, np.ndarray)]
    return (
        found.keys() == wanted.keys()
        and all(found[k].tobytes() == wanted[k].tobytes() for k in arrays)
        and all(found[k].dtype == wanted[k].dtype for k in arrays)
        and all(repr(found[k]) == repr(part) for k, part in wanted.items() if k not in arrays)
    )


def fill(path, numbers, **options):
    with Store(path, IDENTITY, **options) as store:
        for number in numbers:
            store.keep({key(number): record(number)})


def known(path):
    """The numbers of the records of a store, each of which is right."""
    identity, records, damaged = read_store(path)
    assert identity == IDENTITY
    assert damaged == 0
    assert all(is_right(name, found) for name, found in records.items())
    return {int(name.split("/")[1]) for name in records}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.sqlite"


def test_everything_comes_back_bit_for_bit_and_nothing_else_is_left(path):
    fill(path, range(5))
    assert known(path) == set(range(5))
    assert os.listdir(path.parent) == [path.name]


def test_work_is_done_once(path):
    calls = []
    for _ in range(2):
        with Store(path, IDENTITY, resume=True) as store:
            found = [store.recall("a", lambda: calls.append(1) or {"x": 0.1}) for _ in range(2)]
            assert found == [{"x": 0.1}] * 2
    assert calls == [1]


def test_without_a_path_it_is_in_memory():
    with Store(None, IDENTITY) as store:
        store.keep({"a": {"x": 1}})
        assert store.recall("a", lambda: pytest.fail("was known")) == {"x": 1}


def test_the_last_record_of_a_key_counts(path):
    with Store(path, IDENTITY) as store:
        store.keep({"a": {"x": 1}})
        store.keep({"a": {"x": 2}, "b": {"x": 3}})
    assert read_store(path)[1] == {"a": {"x": 2}, "b": {"x": 3}}


def test_a_record_is_on_the_disk_before_it_is_called_kept(path):
    with Store(path, IDENTITY) as store:
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
        assert store._connection.execute("PRAGMA journal_mode").fetchone() == (b"delete",)


def test_it_is_continued_only_when_asked_to(path):
    fill(path, [1])
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match=r"run.sqlite' holds 1 records already.*with resume"):
        fill(path, [2])
    assert path.read_bytes() == before
    fill(path, [2], resume=True)
    assert known(path) == {1, 2}


def test_another_identity_is_refused_in_words(path):
    fill(path, [1])
    before = path.read_bytes()
    with pytest.raises(OtherRunError, match=r"another run \(mu: 0.01 there, 0.02 here\)"):
        Store(path, {**IDENTITY, "mu": 0.02}, resume=True)
    assert path.read_bytes() == before
    fill(path, [2], resume=True)  # what was refused holds no lock


def test_a_store_killed_before_its_first_record_is_begun_anew(path):
    fill(path, [1])
    _create(path.with_name("other"), {"seed": 1}, "store")
    os.replace(path.with_name("other"), path)
    fill(path, [2])
    assert known(path) == {2}


def test_only_what_killed_writers_left_is_removed(path):
    names = {
        ".run.sqlite.12-34.partial": False,
        ".run.sqlite.2024-notes.partial": True,
        "a.partial": True,
    }
    for name in names:
        path.with_name(name).touch()
    fill(path, [1])
    assert {name: path.with_name(name).exists() for name in names} == names


def test_a_store_without_records_leaves_no_file(path):
    fill(path, [])
    assert os.listdir(path.parent) == []


def test_readers_see_what_is_kept_while_a_run_is_writing(path):
    with Store(path, IDENTITY) as store:
        for number in range(30):
            store.keep({key(number): record(number)})
            assert known(path) == set(range(number + 1))
        with pytest.raises(InUseError):  # reading took the lock from nobody
            Store(path, IDENTITY, resume=True)


@pytest.mark.parametrize("content", [b"", b"my thesis", b"SQLite format 3\0", b"\xff" * 5000])
@pytest.mark.parametrize("resume", [False, True])
def test_a_foreign_file_is_left_alone(path, content, resume):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"run.sqlite' is something else, and was left as it is"):
        Store(path, IDENTITY, resume=resume)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_database_of_somebody_else_is_left_alone(path):
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE records (key)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(ValueError, match="is something else"):
        Store(path, IDENTITY, resume=True)
    assert path.read_bytes() == before


def test_links_folders_and_journals_of_others_are_left_alone(path):
    target = path.with_name("target")
    path.symlink_to(target)
    for content in (None, b"", b"precious"):
        if content is not None:
            target.write_bytes(content)
        with pytest.raises(ValueError, match="is a link, and was left as it is"):
            Store(path, IDENTITY, resume=True)
        assert (target.read_bytes() if target.exists() else None) == content
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match="is something else"):
        Store(path, IDENTITY)
    path.rmdir()
    path.with_name("run.sqlite-journal").write_text("precious")
    with pytest.raises(ValueError, match="journal' is something else"):
        Store(path, IDENTITY)
    assert path.with_name("run.sqlite-journal").read_text() == "precious"


def test_files_of_older_versions_are_refused_with_what_to_do(path):
    settings = json.dumps({"format": "riemtr recovery checkpoint 1"}).encode()
    with open(path, "wb") as file:
        np.savez(file, json=np.frombuffer(settings, dtype=np.uint8))
    olds = [path.read_bytes(), b'{"format":"riemtr sweep 1","task":"t"}\n', b'{"comparison": {}}\n']
    for old in olds:
        path.write_bytes(old)
        with pytest.raises(ValueError, match=r"run.sqlite' was written by an older version.*anew"):
            Store(path, IDENTITY, resume=True)
        with pytest.raises(ValueError, match="older version"):
            read_store(path)
        assert path.read_bytes() == old


def test_a_folder_that_does_not_exist_or_cannot_be_written_is_found_out_at_once(path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"a folder that exists; .*: create it first"):
        Store(path.parent / "no" / "such", IDENTITY)
    with pytest.raises(FileNotFoundError, match=r"run.sqlite' does not exist"):
        read_store(path)

    def refuse(*_, **__):
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(StoreError, match=r"run.sqlite' cannot be created: unable to open"):
        Store(path, IDENTITY)
    assert os.listdir(path.parent) == []


# --- many random faults of each kind -------------------------------------------------------------


@posix
def test_killed_at_any_moment_nothing_is_lost_but_the_record_being_written(path):
    rng = random.Random(0)
    done = 0  # the number of records that were kept for sure
    for fault in range(FAULTS):
        if done > 40:
            path.unlink()
            done = 0
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                with Store(path, IDENTITY, resume=True) as store:
                    os.write(writing, b"o")
                    for number in range(len(store.records), 10**6):
                        store.keep({key(number): record(number)})
                        os.write(writing, b".")
            finally:
                os._exit(1)
        os.close(writing)
        if fault % 10:  # now and then it is killed while it opens the store
            assert os.read(reading, 1) == b"o"
        time.sleep(rng.uniform(0.0, 0.006))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said = b""
        while more := os.read(reading, 4096):
            said += more
        os.close(reading)
        done += said.count(b".")
        if done and fault % 2:
            found = known(path)
            assert found in (set(range(done)), set(range(done + 1)))
            done = len(found)
        elif os.path.exists(path):
            with Store(path, IDENTITY, resume=True) as store:
                assert len(store.records) in (done, done + 1)
                assert store.damaged == 0
                done = len(store.records)


def test_a_flipped_bit_costs_the_record_it_hits_and_is_never_taken_for_a_result(path):
    fill(path, range(20))
    whole, rng = path.read_bytes(), random.Random(1)
    lost = []
    for _ in range(FAULTS):
        damaged = bytearray(whole)
        damaged[rng.randrange(len(whole))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        lost.append(20 - attacked(path, 20))
    assert sum(number <= 1 for number in lost) > 0.9 * FAULTS


def test_a_file_cut_anywhere_keeps_the_records_before_the_cut(path):
    fill(path, range(20))
    whole, rng = path.read_bytes(), random.Random(2)
    for _ in range(FAULTS):
        size = rng.randrange(1, len(whole))
        path.write_bytes(whole[:size])
        kept = attacked(path, 20)
        pages = size // 4096
        assert kept >= 4 * (pages - 4)  # the schema, the root, and what the last page cut


def attacked(path, count):
    """Open a store that was damaged, go on with it, and return how many records it still had."""
    kept = -1
    with (
        suppress(StoreError, ValueError),
        naming(path),
        Store(path, IDENTITY, resume=True) as store,
    ):
        assert all(is_right(name, found) for name, found in store.records.items())
        kept = len(store.records)
        store.keep({key(count): record(count)})
    if kept < 0:
        path.unlink()
        return 0
    assert len(known(path)) == kept + 1  # it was mended
    return kept


@contextmanager
def naming(path):
    """Errors must say which file they are about."""
    try:
        yield
    except (StoreError, ValueError) as error:
        if str(path) not in str(error):
            raise RuntimeError("an error without the path") from error
        raise


@posix
def test_on_a_full_disk_the_store_is_what_it_was(path):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    rng = random.Random(3)
    count = 0
    for _ in range(FAULTS):
        if count > 60:
            path.unlink()
            count = 0
        limit = rng.randrange(0, 60_000)
        errors = []
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
            with Store(path, IDENTITY, resume=True) as store:
                for number in range(count, count + 5):
                    try:
                        store.keep({key(number): record(number)})
                    except StoreError as error:
                        errors.append(error)
                        break
                    count += 1
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
                if errors:  # there is room again
                    store.keep({key(count): record(count)})
                    count += 1
        except StoreError as error:
            errors.append(error)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert all(str(path) in str(error) for error in errors)
        if path.exists():
            assert known(path) == set(range(count))


@posix
def test_two_writers_do_not_mix(path, monkeypatch):
    monkeypatch.setattr("riemtr.store._SECONDS_TO_WAIT", 0.0)
    rng = random.Random(4)
    children, refused, ended = [], 0, 0
    for fault in range(10 * FAULTS):
        if fault >= FAULTS and refused:
            break  # on a busy machine writers meet less often
        child = os.fork()
        if child == 0:
            code = 9
            try:
                with Store(path, IDENTITY, resume=True) as store:
                    for number in range(fault * 3, fault * 3 + 3):
                        store.keep({key(number): record(number)})
                code = 0
            except InUseError as error:
                code = 3 if str(path) in str(error) else 9
            finally:
                os._exit(code)
        children.append((fault, child))
        if len(children) == 4 or rng.random() < 0.3:
            for number, one in children:
                code = os.waitstatus_to_exitcode(os.waitpid(one, 0)[1])
                assert code in (0, 3)
                refused, ended = refused + (code == 3), ended + (code == 0)
                if code == 0:
                    assert set(range(number * 3, number * 3 + 3)) <= known(path)
            children = []
            if path.exists() and path.stat().st_size > 30_000:
                path.unlink()
    for _, one in children:
        assert os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) in (0, 3)
    assert refused
    assert ended > 0.2 * FAULTS


def test_a_link_in_place_of_a_new_store_is_not_followed(tmp_path):
    target, path = tmp_path / "target", tmp_path / "run.sqlite"
    target.write_text("precious")
    partial_path(path).symlink_to(target)
    fill(path, [1])
    assert target.read_text() == "precious"
    assert known(path) == {1}


def test_a_checkpoint_continues_without_an_option(tmp_path, monkeypatch):
    def full(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("riemtr.store.created", full)
    for kind, said in {"checkpoint": "repeat the same command", "store": "resume=True"}.items():
        with pytest.raises(StoreError, match=f"No space left on device; .* and .*{said}$"):
            Store(tmp_path / "run.sqlite", IDENTITY, kind=kind)


def test_long_names_of_stores_work(tmp_path):
    path = tmp_path / ("a" * 240 + ".sqlite")  # SQLite's journal has 8 bytes more
    fill(path, [1])
    assert known(path) == {1}
