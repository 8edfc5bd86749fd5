import sys
from types import SimpleNamespace

from riemtr.compare import compare_recovery
from riemtr.compare.progress import watcher
from tests.compare.made_up import run


def test_what_is_called_is_what_was_given():
    def own(run, done, total):
        raise AssertionError

    assert watcher(own) is own
    assert watcher(False) is None


def test_a_line_that_is_rewritten_until_all_is_done(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    show = watcher(True)
    show(run("fast", 0), 1, 2)
    show(run("slow", 0), 2, 2)
    first, second = capsys.readouterr().err.split("\r")[1:]
    assert first.startswith(f"[{'#' * 12}{' ' * 12}] 1/2 easy, fast, ")
    assert second.startswith(f"[{'#' * 24}] 2/2 easy, slow, 0 s left")
    assert second.endswith("\n")


def test_a_few_lines_where_each_stays(capsys):
    show = watcher(True)
    for done in range(1, 201):
        show(run("fast", 0), done, 200)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split()[1] for line in lines if "#" in line][-1] == "200/200"
    assert len(lines) == 10
    assert not any("\r" in line or "\x1b" in line for line in lines)


def test_in_a_notebook_one_output_is_updated_and_nothing_goes_to_stderr(capsys, monkeypatch):
    published = []
    shell = SimpleNamespace(
        kernel=None,
        display_pub=SimpleNamespace(publish=lambda data, **how: published.append((data, how))),
    )
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    show = watcher(True)
    show(run("fast", 0), 1, 2)
    show(run("slow", 0), 2, 2)
    assert capsys.readouterr().err == ""
    assert [how["update"] for _, how in published] == [False, True]
    assert len({how["transient"]["display_id"] for _, how in published}) == 1
    assert "2/2 easy, slow, 0 s left" in published[-1][0]["text/plain"]


def test_recoveries_show_it_too(capsys):
    compare_recovery(["msp"], starts=1, n=4, p=300, progress=True)
    assert "1/1 dictionary-recovery, msp, 0 s left" in capsys.readouterr().err
