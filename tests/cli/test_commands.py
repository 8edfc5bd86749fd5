import sys

import pytest
from typer.testing import CliRunner

import riemtr.cli
from riemtr.cli import INTERRUPTED
from riemtr.cli.app import app
from riemtr.problems import registry

COMMANDS = [info.callback.__name__ for info in app.registered_commands]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_flags_name_no_type(command):
    outcome = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "120"})
    assert outcome.exit_code == 0
    assert "--help" in outcome.output
    assert "bool" not in outcome.output.lower()


@pytest.mark.parametrize("command", ["solve", "compare", "problems"])
def test_ctrl_c_while_data_are_made_is_said(command, monkeypatch):
    def interrupted(rng):
        raise KeyboardInterrupt

    monkeypatch.setitem(registry._BUILDERS, "slow", interrupted)
    outcome = CliRunner().invoke(app, [command, "slow"])
    assert outcome.exit_code == INTERRUPTED
    assert outcome.stderr == "interrupted\n"
    assert outcome.stdout.strip() == ""


def test_ctrl_c_during_the_imports_is_said(monkeypatch, capsys):
    def interrupted(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(riemtr.cli, "import_module", interrupted)
    monkeypatch.setattr(sys, "argv", ["riemtr", "problems"])
    assert riemtr.cli.main() == INTERRUPTED
    assert capsys.readouterr().err == "interrupted, before the command had begun\n"
