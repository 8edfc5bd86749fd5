import pytest
import typer

from riemtr.cli import USAGE_ERROR
from riemtr.cli.console import refusing


def test_what_can_be_mended_is_one_line_and_an_exit_code(capsys):
    with pytest.raises(typer.Exit) as left, refusing(ValueError):
        raise ValueError("n must be\n  [bold]positive[/]")
    assert left.value.exit_code == USAGE_ERROR
    assert capsys.readouterr().err == "error: n must be [bold]positive[/]\n"


def test_what_cannot_goes_through():
    with pytest.raises(KeyError), refusing(ValueError, OSError):
        raise KeyError("a mistake of ours")
