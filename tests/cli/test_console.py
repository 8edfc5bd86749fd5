import pytest
import typer

from riemtr.cli import USAGE_ERROR
from riemtr.cli.console import refusing, tracing


def test_what_can_be_mended_is_one_line_and_an_exit_code(capsys):
    with pytest.raises(typer.Exit) as left, refusing(ValueError):
        raise ValueError("n must be\n  [bold]positive[/]")
    assert left.value.exit_code == USAGE_ERROR
    assert capsys.readouterr().err == "error: n must be [bold]positive[/]\n"


def test_what_cannot_goes_through():
    with pytest.raises(KeyError), refusing(ValueError, OSError):
        raise KeyError("a mistake of ours")


def test_errors_in_the_users_code_are_traced_and_refusals_pass(capsys):
    with pytest.raises(typer.Exit) as left, tracing():
        raise KeyError("theirs")
    assert left.value.exit_code == USAGE_ERROR
    assert "KeyError: 'theirs'" in capsys.readouterr().err
    with pytest.raises(typer.Exit) as left, tracing():
        raise typer.Exit(7)
    assert left.value.exit_code == 7
    assert capsys.readouterr().err == ""
