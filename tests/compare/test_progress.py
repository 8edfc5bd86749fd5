from riemtr.compare import compare_recovery
from riemtr.compare.progress import watcher
from tests.compare.made_up import run


def test_what_is_called_is_what_was_given():
    def own(run, done, total):
        raise AssertionError

    assert watcher(own) is own
    assert watcher(False) is None


def test_a_line_that_is_rewritten_until_all_is_done(capsys):
    show = watcher(True)
    show(run("fast", 0), 1, 2)
    show(run("slow", 0), 2, 2)
    first, second = capsys.readouterr().err.split("\r")[1:]
    assert first.startswith(f"[{'#' * 12}{' ' * 12}] 1/2 easy, fast, ")
    assert second.startswith(f"[{'#' * 24}] 2/2 easy, slow, 0 s left")
    assert second.endswith("\n")


def test_recoveries_show_it_too(capsys):
    compare_recovery(["msp"], starts=1, n=4, p=300, progress=True)
    assert "1/1 dictionary-recovery, msp, 0 s left" in capsys.readouterr().err
