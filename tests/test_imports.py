import os
import sys

import pytest

from riemtr.imports import imported, look_here


def test_attributes_of_attributes():
    assert imported("os:path.join", "the function") is os.path.join


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:f", "No module named 'no_such_module'; .*installed or a file in the work"),
        ("os:nothing", "has no attribute 'nothing'; it must be 'package.module:attribute'$"),
        ("os", "cannot import the task 'os': "),
        ("needy:f", "No module named 'no_such_module'; it must be 'package.module:attribute'$"),
        ("broken:f", "RuntimeError: oh no"),
        ("leaving:f", "SystemExit: 3"),
    ],
)
def test_what_goes_wrong_is_said(path, message, tmp_path, monkeypatch):
    (tmp_path / "needy.py").write_text("import no_such_module")
    (tmp_path / "broken.py").write_text("raise RuntimeError('oh no')")
    (tmp_path / "leaving.py").write_text("exit(3)")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match=message):
        imported(path, "the task")


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
