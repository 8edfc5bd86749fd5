import os
import sys

import pytest

from riemtr.imports import imported, look_here, place


def test_attributes_of_attributes():
    assert imported("os:path.join", "the function") is os.path.join


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:f", "No module named 'no_such_module'; .*installed or a file in the work"),
        ("os:nothing", "has no attribute 'nothing'; it must be 'package.module:attribute'$"),
        ("os", "cannot import the task 'os': "),
        ("needy:f", r"No module named 'no_such_module' \(.*needy\.py, line 1\)$"),
        ("broken:f", r"RuntimeError: oh no \(.*broken\.py, line 2\)$"),
        ("healthy.py:f", "; write healthy:f, without '\\.py'$"),
        ("./folder/healthy.py:f", "; write folder\\.healthy:f, without '\\.py'$"),
        ("leaving:f", "SystemExit: 3"),
    ],
)
def test_what_goes_wrong_is_said(path, message, tmp_path, monkeypatch):
    (tmp_path / "needy.py").write_text("import no_such_module")
    (tmp_path / "broken.py").write_text("import json\nraise RuntimeError('oh no')")
    (tmp_path / "healthy.py").write_text("f = 3")
    (tmp_path / "leaving.py").write_text("exit(3)")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match=message):
        imported(path, "the task")


def test_the_place_of_an_error_is_the_users_innermost_line(tmp_path, monkeypatch):
    (tmp_path / "of_the_user.py").write_text(
        "import json, numpy\n"
        "def helper(text):\n"
        "    return json.loads(text)\n"
        "def outer():\n"
        "    helper('{')\n"
        "def shape():\n"
        "    numpy.ones(2) @ numpy.linalg.inv(numpy.ones(2))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, line in (("outer", 3), ("shape", 7)):
        with pytest.raises(ValueError) as caught:
            imported(f"of_the_user:{name}", "the function")()
        caught.value.__traceback__ = caught.value.__traceback__.tb_next  # without this test's own
        assert place(caught.value) == f" ({tmp_path / 'of_the_user.py'}, line {line})"
    with pytest.raises(ValueError) as caught:
        imported("no_such_module:f", "the function")
    caught.value.__traceback__ = caught.value.__traceback__.tb_next
    assert place(caught.value) == ""


def test_modules_of_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "module_of_this_folder.py").write_text("number = 3")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError):
        imported("module_of_this_folder:number", "the number")
    look_here()
    look_here()
    assert sys.path.count(str(tmp_path)) == 1
    assert imported("module_of_this_folder:number", "the number") == 3
