"""Every notebook runs from top to bottom, on a temporary copy, and is stored small."""

import os
from pathlib import Path

import nbformat
import pytest
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST_BYTES = 300_000


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.fixture(scope="module")
def kernel():
    """One kernel for all notebooks: to start it and to import what riemtr imports takes longest."""
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": search}
    # The figures go into the notebook, as they do for a reader.
    environment.pop("MPLBACKEND", None)
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=environment)
    yield manager
    manager.shutdown_kernel(now=True)


# A reader's kernel has no names, no riemtr and no settings from the notebook before.
ANEW = """
%reset -f
import os, sys
import matplotlib.pyplot
matplotlib.pyplot.close("all")
matplotlib.rcdefaults()
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] == "riemtr":
        del sys.modules[name]
    getattr(module, "__warningregistry__", {{}}).clear()
os.chdir({folder!r})
%reset -f
__spec__ = None  # processes that are spawned look at it
"""


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_runs(path, tmp_path, kernel):
    notebook = nbformat.read(path, as_version=4)
    cell = nbformat.v4.new_code_cell(ANEW.format(folder=str(tmp_path)))
    notebook.cells.insert(0, cell)
    NotebookClient(notebook, km=kernel, timeout=120).execute()
    assert not cell.outputs
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert outputs
    warnings = [output for output in outputs if output.get("name") == "stderr"]
    assert not warnings, warnings


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_notebook_is_stored_valid_and_small(path):
    nbformat.validate(nbformat.read(path, as_version=4))
    assert path.stat().st_size <= LARGEST_BYTES
