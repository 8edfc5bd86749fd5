import importlib.metadata

import pytest
from typer.testing import CliRunner

import riemtr
from riemtr.cli.app import app
from riemtr.problems import registry


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_every_problem_is_listed_with_its_sentence_and_its_defaults():
    outcome = run("problems")
    assert outcome.exit_code == 0
    text = " ".join(outcome.output.split())
    for name in riemtr.problems.available():
        sentence, parameters = riemtr.problems.describe(name)
        assert name in text
        assert sentence in text
        for parameter in parameters:
            assert f"{parameter}=" in text
    assert "theta=0.2" in text


@pytest.mark.parametrize("name", riemtr.problems.available())
def test_details_of_one_say_where_it_is_searched_and_how_to_solve_it(name):
    outcome = run("problems", name)
    assert outcome.exit_code == 0
    text = " ".join(outcome.output.split())
    manifold = riemtr.problems.build(name, rng=0).problem.manifold
    assert f"{manifold}, dimension {manifold.dim}" in text
    assert f"riemtr solve {name}" in text


def test_the_suggested_command_works():
    suggestion = run("problems", "brockett").output.split("riemtr ")[1].split("│")[0]
    assert run(*suggestion.split(), "--quiet").exit_code == 0


def test_what_is_known_of_the_solution_is_told(monkeypatch):
    def unknown(rng, level=None):
        sphere = riemtr.Sphere(3)
        return registry.Case(riemtr.Problem(sphere, lambda x: x[0]), sphere.random_point(rng))

    monkeypatch.setitem(registry._BUILDERS, "unknown-solution", unknown)
    assert "not known" in run("problems", "unknown-solution").output
    assert "known, with its cost" in run("problems", "rayleigh").output


def test_a_broken_package_spoils_only_its_own_line(monkeypatch):
    entry = importlib.metadata.EntryPoint("gone-problem", "math:gone", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [entry])
    assert "gone-problem" in riemtr.problems.available()
    outcome = run("problems")
    assert outcome.exit_code == 0
    text = " ".join(outcome.output.split())
    assert "gone-problem cannot load the problem 'gone-problem' from 'math:gone': Attr" in text
    assert riemtr.problems.describe("rayleigh")[0] in text
    outcome = run("problems", "gone-problem")
    assert outcome.exit_code == 2
    assert len(outcome.stderr.splitlines()) == 1


def test_the_help_says_how_to_add_ones_own(tmp_path, monkeypatch):
    text = run("problems", "--help").output
    assert '@riemtr.problems.register("my-problem")' in text
    assert f'[project.entry-points."{registry.ENTRY_POINT_GROUP}"]' in text
    assert 'my-problem = "my_module:my_problem"' in text
    # What pip makes of those two lines works.
    info = tmp_path / "mine-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[{registry.ENTRY_POINT_GROUP}]\nmy-problem = my_module:my_problem\n"
    )
    monkeypatch.setattr(registry, "_BUILDERS", dict(registry._BUILDERS))
    (tmp_path / "my_module.py").write_text(
        "import riemtr\n"
        "def my_problem(rng, n=10):\n"
        "    return riemtr.Problem(riemtr.Sphere(n), lambda x: x[0])\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("solve", "my-problem", "-q").exit_code == 0


def test_unknown_name_is_one_line_that_lists_the_valid_ones():
    outcome = run("problems", "ralleigh")
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert len(outcome.stderr.splitlines()) == 1
    assert "'rayleigh'" in outcome.stderr
    assert "did you mean 'rayleigh'?" in outcome.stderr
