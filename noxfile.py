#!/usr/bin/env -S uv run --script

# /// script
# dependencies = ["nox>=2025.10.14"]
# ///
"""Tasks by name, each in an environment of its own: ``nox -s docs``; ``nox -l`` lists them."""

import nox

nox.needs_version = ">=2025.10.14"
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session
def lint(session):
    """Style and types."""
    session.install("-e", ".[test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session
def tests(session):
    """The tests; ``nox -s tests -- tests/solvers`` for some of them."""
    session.install("-e", ".[test]")
    session.run("pytest", "-n", "2", *session.posargs, env={"OPENBLAS_NUM_THREADS": "1"})


@nox.session
def docs(session):
    """The site, in docs/_build/html."""
    session.install("-e", ".[docs]")
    session.run("sphinx-build", "-W", "-n", "-q", "docs", "docs/_build/html")


@nox.session(default=False)
def everything(session):
    """What CI runs, in fresh environments."""
    session.run("bash", ".ci/run", external=True)


if __name__ == "__main__":
    nox.main()
