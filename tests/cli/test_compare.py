import json
import shlex

import pytest
from typer.testing import CliRunner

from riemtr.cli.app import app
from riemtr.compare import folder, load, runner, solver_names
from riemtr.compare.measuring import measure
from riemtr.environment import environment

LATE = ["--max-seconds", 1e-9]
QUICK = ["rayleigh:n=6", "--starts", 2, "--saddles", 1]


@pytest.fixture
def no_pictures(monkeypatch):
    """They take their time, and have tests of their own."""
    for name in ("_write_figures", "_write_page"):
        monkeypatch.setattr(folder, name, lambda comparison, path: [])


def compare(*arguments):
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def words(outcome):
    return " ".join(outcome.output.split())


def test_late_is_timed_out_and_not_certified():
    solver = "tests.compare.solvers_of_mine:GradientDescent"  # ends at the minimizer
    outcome = compare("rayleigh:n=6", "--solvers", solver, "--starts", 2, "--saddles", 0, *LATE)
    assert outcome.exit_code == 0
    # A long name is folded; it does not push the figures out of a narrow window.
    assert solver not in outcome.output.split("solver ")[1]
    assert ["0/2", "2/2", "2", "timed", "out"] in [
        line.split()[1:] for line in outcome.output.splitlines()
    ]


def test_the_table_tells_who_was_deceived():
    outcome = compare(*QUICK, "--solvers", "practical,l-bfgs-b")
    assert outcome.exit_code == 0
    lines = [line.split() for line in outcome.output.splitlines()]
    assert ["rayleigh:n=6,", "2", "random", "starts"] in lines
    assert [line[:3] for line in lines if line[:1] == ["practical"]] == [
        ["practical", "2/2", "2/2"],
        ["practical", "1/1", "1/1"],
    ]
    assert ["l-bfgs-b", "0/1", "1", "0/1"] in lines
    assert "deceived: called itself converged at a saddle point or a maximizer" in words(outcome)
    assert "\x1b" not in outcome.output


def test_settings_reach_the_comparison(tmp_path, no_pictures):
    outcome = compare(
        *("rayleigh", "brockett:k=1", "-p", "n=5", "--solvers", "exact:radius=0.2,practical"),
        *("--starts", 1, "--saddles", 1, "--tolerances", "1e-3,1e-8", "--max-seconds", 5),
        *("--repeats", 2, "--rng", 3, "--curvature-tolerance", 1e-5, "--out", tmp_path, "-q"),
    )
    assert outcome.exit_code == 0
    found = load(tmp_path / "comparison.json")
    settings = found.settings
    assert found.problems == ["rayleigh:n=5", "brockett:n=5:k=1"]
    assert "radius=0.2" in settings["solvers"]["exact:radius=0.2"]
    assert settings["tolerances"] == [1e-3, 1e-8]
    assert (settings["max_seconds"], settings["repeats"], settings["seed"]) == (5.0, 2, 3)
    assert settings["curvature_tolerance"] == 1e-5
    assert json.loads((tmp_path / "environment.json").read_text()).keys() == environment().keys()
    # The command that it notes gives the same comparison.
    command = shlex.split(settings["command"])
    again = CliRunner().invoke(app, [*command[1:], "--out", f"{tmp_path}/b"])
    assert again.exit_code == 0
    same = load(tmp_path / "b" / "comparison.json")
    assert [run.cost for run in same.runs] == [run.cost for run in found.runs]


def test_quiet_is_one_line():
    outcome = compare(*QUICK, "--solvers", "practical,l-bfgs-b", "--quiet")
    assert outcome.output == (
        "certified: practical 3/3, l-bfgs-b 2/3 (1 “converged” at a saddle point)\n"
    )


def test_ones_own_solver_from_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "my_own_solver.py").write_text(
        "import riemtr\n\ndef make(tolerance, loud=False):\n"
        "    return riemtr.PracticalTRM(tolerance=tolerance)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # undoes what the command adds
    outcome = compare(*QUICK, "--solvers", "my_own_solver:make:loud=true", "-q")
    assert outcome.output == "certified: my_own_solver:make:loud=true 3/3\n"


def test_a_folder_is_replaced_only_by_force(tmp_path, no_pictures):
    arguments = [*QUICK, "--solvers", "practical", "--out", tmp_path]
    outcome = compare(*arguments)
    assert outcome.exit_code == 0
    assert f"saved in {tmp_path}: comparison.json, runs.csv" in outcome.output
    refused = compare(*arguments)
    assert refused.exit_code == 2
    assert "pass --force to replace them" in refused.stderr
    assert refused.stdout == ""
    assert compare(*arguments, "--force").exit_code == 0


def test_ctrl_c_shows_and_saves_what_is_finished(tmp_path, no_pictures):
    solvers = "practical,tests.compare.solvers_of_mine:Interrupted"
    outcome = compare(*QUICK, "--solvers", solvers, "--out", tmp_path)
    assert outcome.exit_code == 130
    assert "interrupted: these are the runs that were finished" in words(outcome)
    assert [run.solver for run in load(tmp_path / "comparison.json").runs] == ["practical"]


def test_a_comparison_that_is_stopped_before_it_is_saved_leaves_its_runs(tmp_path, monkeypatch):
    def stopped(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("riemtr.cli.compare.write_folder", stopped)
    arguments = [*QUICK, "--solvers", "practical,l-bfgs-b", "--out", tmp_path]
    outcome = compare(*arguments)
    assert outcome.exit_code == 130
    assert "interrupted while saving; all runs are in" in words(outcome)
    assert {run.solver for run in load(tmp_path / "runs.sqlite").runs} == {"practical", "l-bfgs-b"}
    refused = compare(*arguments)
    assert refused.exit_code == 2
    assert "holds the runs of a comparison that was not finished" in refused.stderr
    assert "continue it with --resume, choose another folder, or pass --force to replace it" in (
        refused.stderr
    )
    monkeypatch.undo()
    kept = load(tmp_path / "runs.sqlite").runs
    assert compare(*arguments, "--resume", "-q").exit_code == 0
    assert load(tmp_path / "comparison.json").runs == kept
    assert not (tmp_path / "runs.sqlite").exists()


def test_a_comparison_that_ctrl_c_ended_continues(tmp_path, monkeypatch, no_pictures):
    def pressed(task, one):
        if (one.name, task.number) == ("l-bfgs-b", 1):
            raise KeyboardInterrupt
        return measure(task, one)

    arguments = [*QUICK, "--solvers", "practical,l-bfgs-b", "--out", tmp_path]
    monkeypatch.setattr(runner, "measure", pressed)
    outcome = compare(*arguments)
    assert outcome.exit_code == 130
    assert "repeat with --resume to run the others" in words(outcome)
    part = load(tmp_path / "comparison.json")
    assert len(part.runs) == 3
    monkeypatch.setattr(runner, "measure", measure)
    refused = compare(*arguments, "--resume", "--rng", 1)
    assert refused.exit_code == 2
    assert "belongs to another run" in refused.stderr
    assert "choose another" in refused.stderr
    outcome = compare(*arguments, "--resume")
    assert outcome.exit_code == 0
    assert "interrupted" not in outcome.output
    whole = load(tmp_path / "comparison.json")
    assert whole.runs[:3] == part.runs
    assert [(run.solver, run.start) for run in whole.runs] == [
        (name, start) for start in range(3) for name in ("practical", "l-bfgs-b")
    ]
    assert not whole.settings["interrupted"]


def test_whole_recovery_methods(tmp_path):
    outcome = compare(
        *("dictionary-recovery:n=5", "--solvers", "riemtr,msp", "--starts", 1, "-p", "p=1000"),
        *("--out", tmp_path),
    )
    assert outcome.exit_code == 0, outcome.output
    found = load(tmp_path / "comparison.json")
    assert found.solvers == ["riemtr", "msp"]
    assert found.settings["problems"]["dictionary-recovery"]["n"] == 5
    assert "of the whole run" in words(outcome)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["raleigh"], "did you mean 'rayleigh'?"),
        (["rayleigh", "rayleigh"], "'rayleigh' comes twice: give it once"),
        (["rayleigh:n=-1"], "cannot build the problem 'rayleigh:n=-1': "),
        (["rayleigh", "--starts", "0", "--saddles", "0"], "starts and saddles must not both"),
        (["rayleigh", "--solvers", "exact:radius=-1"], "solver 'exact:radius=-1' cannot be made"),
        (["rayleigh", "--tolerances", "1e-3,abc"], "error: --tolerances must be numbers"),
        (["rayleigh", "--tolerances", "inf"], "tolerances must be a list of positive, f"),
        (["rayleigh", "--out", "/dev/null/x"], "/dev/null is a file; choose a folder"),
        (["rayleigh:m=3"], "has no parameter 'm'"),
        (["rayleigh:n"], "must look like name=value"),
        (["rayleigh", "--solvers", "practial"], "did you mean 'practical'?"),
        (["rayleigh", "--solvers", "l-bfgs-b,l-bfgs-b"], "'l-bfgs-b' comes twice: give it once"),
        (["rayleigh", "--solvers", "exact:size=1"], "has no option 'size'; it takes radius"),
        (["rayleigh", "--solvers", "nowhere:Solver"], "cannot import the solver"),
        (["rayleigh", "--tolerances", "small"], "--tolerances must be numbers separated"),
        (["rayleigh", "--tolerances", "0"], "tolerances must be a list of positive"),
        (["rayleigh", "--max-seconds", "0"], "--max-seconds must be a positive finite number"),
        (["dictionary-recovery", "rayleigh"], "dictionary-recovery must be given alone"),
        (
            ["dictionary-recovery", "--saddles", "2"],
            "--saddles must be left out for dictionary-recovery",
        ),
        (["dictionary-recovery", "--solvers", "exact"], "--solvers must be one of"),
        (["dictionary-recovery", "--solvers", "msp,msp"], "'msp' comes twice"),
        (["dictionary-recovery:image=camera:n=5"], "n must be left out where image is given"),
        (["dictionary-recovery", "-p", "k=2"], "must be one of 'condition', 'image', 'n', 'noise'"),
        (
            ["rayleigh", "--resume"],
            "--resume must continue what is in a folder; name it with --out",
        ),
        (
            ["rayleigh", "--out", "new", "--resume", "--force"],
            "--resume must not go with --force",
        ),
        (["dictionary-recovery", "-p", "starts=2"], "must be one of 'condition', 'image', 'n'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(arguments, message):
    outcome = compare(*arguments)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("error: ")
    assert message in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_any_error_of_values_is_one_line(monkeypatch):
    def undecodable(*given, **options):
        raise UnicodeDecodeError("utf-8", b"x", 0, 1, "of no use")

    monkeypatch.setattr("riemtr.cli.compare.compare_solvers", undecodable)
    outcome = compare("rayleigh")
    assert (outcome.exit_code, len(outcome.stderr.splitlines())) == (2, 1)
    assert "of no use" in outcome.stderr


def test_where_nothing_applies_it_says_why(tmp_path):
    outcome = compare("covariance:n=2", "--solvers", "l-bfgs-b", "--saddles", 0, "--out", tmp_path)
    assert outcome.exit_code == 2
    assert "no runs: nothing that was asked for could be run" in words(outcome)
    assert "l-bfgs-b on covariance:n=2: L-BFGS-B on f(x/|x|) needs a sphere" in words(outcome)
    assert "no page: there are no runs to show" in words(outcome)
    assert load(tmp_path / "comparison.json").problems == ["covariance:n=2"]


def test_help_names_every_solver():
    outcome = CliRunner().invoke(app, ["compare", "--help"], env={"COLUMNS": "200"})
    assert all(name in outcome.output for name in solver_names())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dictionary-learning:n=8,p=1500"], "by colons: dictionary-learning:n=8:p=1500; got"),
        (
            ["rayleigh", "--solvers", "exact:radius=0.1,tolerance=1e-8"],
            "with options after colons, as in exact:radius=0.05; got 'tolerance",
        ),
    ],
)
def test_separators_are_explained(arguments, message):
    outcome = compare(*arguments)
    assert outcome.exit_code == 2
    assert message in outcome.stderr


def test_many_problems_are_shown_together_and_each_on_the_page(tmp_path):
    names = [f"rayleigh:n={n}" for n in range(3, 8)]
    asked = (*names, "--solvers", "practical,lbfgs", "--starts", 1, "--saddles", 0)
    alone = compare(*asked)
    assert "5 problems, 5 random starts" in alone.output
    assert "rayleigh:n=3, 1 random start" in alone.output
    kept = compare(*asked, "--out", tmp_path / "found")
    assert "5 problems, 5 random starts" in kept.output
    assert "rayleigh:n=3, 1 random start" not in kept.output
    assert "rayleigh:n=3, 1 random start" in (tmp_path / "found" / "page.html").read_text()
