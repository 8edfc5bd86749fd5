"""A reader who leaves takes no results along."""

import json
import os
import subprocess
import sys

import pytest


@pytest.mark.skipif(os.name == "nt", reason="pipes end in other ways there")
def test_results_are_saved_though_nobody_reads_on(tmp_path):
    target = tmp_path / "run.json"
    command = [sys.executable, "-m", "riemtr", "solve", "rayleigh", "--out", str(target)]
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == b""
    assert json.loads(target.read_text())["converged"] is True
