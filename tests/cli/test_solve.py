import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from typer.testing import CliRunner

import riemtr
from riemtr.cli.app import app
from riemtr.problems import registry


def solve(*arguments):
    return CliRunner().invoke(app, ["solve", *map(str, arguments)])


def words(outcome):
    """The output without frames and line breaks."""
    lines = (line.strip("│╭╮╰╯─ ") for line in outcome.output.splitlines())
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("name", ["practical", "exact", "printed"])
def test_the_optimum_is_found_and_explained(name):
    case = riemtr.problems.build("rayleigh", rng=3, n=12)
    outcome = solve("rayleigh", "-p", "n=12", "--rng", 3, "--solver", name)
    assert outcome.exit_code == 0
    text = words(outcome)
    assert f"cost {case.truth.cost:.9f}"[:-1] in text
    assert "a strict minimizer" in text
    assert "converged" in text
    assert "from the known solution" in text
    assert "gradient norm" in text  # the table


@pytest.mark.parametrize("name", riemtr.problems.available())
def test_every_problem_is_solved_as_it_is(name):
    small = ["-p", "n=8", "-p", "p=2000"] if name == "dictionary-learning" else []
    outcome = solve(name, *small)
    assert outcome.exit_code == 0, outcome.output
    text = words(outcome)
    assert "a strict minimizer" in text
    case = riemtr.problems.build(name, rng=0)
    offer = getattr(case.problem.cost, "dual_bound", None)
    truth, bound = case.truth, None if offer is None else offer(case.start)
    for known, said in (
        (truth.cost, "of the known minimum"),
        (truth.distance, "from the known solution"),
        (None if truth.distance else truth.error, "from what the noisy data were made from"),
        (bound, "no point anywhere is lower by more than"),
    ):
        assert (said in text) == (known is not None)


def test_the_saved_point_is_the_truth(tmp_path):
    path = tmp_path / "run.npz"
    assert solve("rayleigh", "-p", "n=12", "--tolerance", 1e-10, "--out", path).exit_code == 0
    case = riemtr.problems.build("rayleigh", rng=0, n=12)
    saved = riemtr.load_result(path)
    assert case.truth.distance(saved.point) < 1e-7
    assert saved.cost == pytest.approx(case.truth.cost, abs=1e-12)
    assert saved.certified is riemtr.Certified.STRICT
    assert saved.solver == repr(riemtr.PracticalTRM(tolerance=1e-10))
    with ZipFile(path) as archive:
        about = json.loads(archive.read("about.json"))
    assert about["problem"] == "rayleigh"
    assert about["parameters"] == {"n": 12}


def test_parameters_reach_the_problem(tmp_path):
    path = tmp_path / "run.json"
    settings = ["-p", "n=6", "--parameter", "theta=0.1", "-p", "k=none", "-p", "p=800"]
    outcome = solve("dictionary-learning", *settings, "--out", path, "--quiet")
    assert outcome.exit_code == 0
    saved = json.loads(path.read_text())
    assert len(saved["point"]) == 6
    assert saved["parameters"]["theta"] == 0.1
    assert saved["parameters"]["k"] is None


def test_the_same_seed_gives_the_same_result(tmp_path):
    for name in ("a", "b", "c"):
        solve("rayleigh", "--rng", int(name == "c"), "--out", tmp_path / f"{name}.json", "-q")
    points = [json.loads((tmp_path / f"{name}.json").read_text())["point"] for name in "abc"]
    assert points[0] == points[1] != points[2]


def test_running_out_of_iterations_is_exit_code_1_with_the_remedy():
    outcome = solve("rayleigh", "--max-iterations", 2)
    assert outcome.exit_code == 1
    assert "raise --max-iterations" in words(outcome)
    assert "none yet: the slope is above the tolerance" in words(outcome)


def test_running_out_of_time_is_exit_code_1():
    outcome = solve("rayleigh", "--max-seconds", 0)
    assert outcome.exit_code == 1
    assert "raise --max-seconds" in words(outcome)


def test_too_large_a_fixed_radius_is_explained():
    outcome = solve("rayleigh", "--solver", "exact", "--radius", 3)
    assert outcome.exit_code == 1
    assert "use a smaller radius, or an adaptive one" in words(outcome)


def test_tolerances_reach_the_solver(tmp_path):
    path = tmp_path / "run.json"
    solve("rayleigh", "--tolerance", 1e-3, "--curvature-tolerance", 1e-4, "--out", path)
    certificate = json.loads(path.read_text())["certificate"]
    assert certificate["tolerance"] == 1e-3
    assert certificate["curvature_tolerance"] == 1e-4


def test_quiet_is_one_line():
    outcome = solve("rayleigh", "-p", "n=12", "--quiet")
    cost = riemtr.problems.build("rayleigh", rng=0, n=12).truth.cost
    assert len(outcome.output.splitlines()) == 1
    assert outcome.output.startswith(f"converged: minimizer, cost {cost:.6f}"[:-1])


def test_no_control_characters_where_there_is_no_terminal():
    outcome = solve("rayleigh")
    assert "\x1b" not in outcome.output
    assert outcome.output.count("iteration  ") == 1


@pytest.mark.parametrize("option", ["--out", "--plot"])
def test_existing_files_are_replaced_only_by_force(tmp_path, option):
    path = tmp_path / {"--out": "run.json", "--plot": "run.png"}[option]
    path.write_text("precious")
    outcome = solve("rayleigh", option, path)
    assert outcome.exit_code == 2
    assert "--force" in outcome.stderr
    assert outcome.stdout == ""
    assert path.read_text() == "precious"
    assert solve("rayleigh", option, path, "--force").exit_code == 0
    assert path.read_bytes() != b"precious"
    assert len(list(tmp_path.iterdir())) == 1


def test_saved_files_are_named(tmp_path):
    outcome = solve("rayleigh", "--out", tmp_path / "a.npz", "--plot", tmp_path / "a.png")
    assert outcome.exit_code == 0
    assert f"saved {tmp_path / 'a.npz'}" in outcome.output
    assert f"saved {tmp_path / 'a.png'}" in outcome.output
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["raleigh"], "did you mean 'rayleigh'?"),
        (["rayleigh", "-p", "m=3"], "has no parameter 'm'; it takes n=50"),
        (["rayleigh", "-p", "n=[bold]"], "n must be an integer of at least 1; got '[bold]'"),
        (["rayleigh", "-p", "n=0"], "n must be an integer of at least 1; got 0"),
        (["rayleigh", "-p", "n"], "must look like name=value"),
        (["rayleigh", "--radius", "1"], "leave it out, or add --solver exact"),
        (["rayleigh", "--solver", "exact", "--radius", "-1"], "radius must be a positive"),
        (["rayleigh", "--tolerance", "-1"], "tolerance must be a nonnegative number"),
        (
            ["rayleigh", "--max-iterations", "-1"],
            "--max-iterations must be an integer of at least 0",
        ),
        (["rayleigh", "--out", "run.txt"], "must end in .npz or .json"),
        (["rayleigh", "--plot", "run.txt"], "must end in .png or .pdf or .svg"),
        (["dictionary-learning", "-p", "dictionary=round"], "got 'round'"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(arguments, message):
    outcome = solve(*arguments)
    assert outcome.exit_code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("error: ")
    assert message in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_an_unknown_solver_lists_the_known_ones():
    outcome = solve("rayleigh", "--solver", "newton")
    assert outcome.exit_code == 2
    assert "practical" in outcome.stderr


def register(monkeypatch, name, cost):
    def builder(rng):
        sphere = riemtr.Sphere(30)
        return registry.Case(riemtr.Problem(sphere, cost), sphere.random_point(rng))

    monkeypatch.setitem(registry._BUILDERS, name, builder)


def test_a_cost_that_is_not_finite_at_the_start_is_one_line(monkeypatch):
    register(monkeypatch, "not-finite", lambda x: x[0] * np.nan)
    outcome = solve("not-finite")
    assert outcome.exit_code == 2
    assert "both must be finite" in outcome.stderr


def test_a_bug_in_a_cost_is_not_hidden(monkeypatch):
    def broken(x):
        raise ZeroDivisionError("a bug")

    register(monkeypatch, "broken", broken)
    outcome = solve("broken")
    assert outcome.exit_code == 2  # 1 is for what did not converge
    assert "in broken" in outcome.stderr  # where
    assert outcome.stderr.splitlines()[-1] == "ZeroDivisionError: a bug"


def test_a_hessian_that_the_cost_contradicts_is_no_success(monkeypatch):
    weights = np.linspace(-1.0, 1.0, 30)

    def builder(rng):
        sphere = riemtr.Sphere(30)
        problem = riemtr.Problem(
            sphere,
            lambda x: x @ (weights * x),
            euclidean_gradient=lambda x: 2.0 * weights * x,
            euclidean_hessian=lambda x, v: 2.0 * weights * v + v,
        )
        return registry.Case(problem, sphere.random_point(rng))

    monkeypatch.setitem(registry._BUILDERS, "wrong", builder)
    outcome = solve("wrong")
    assert outcome.exit_code == 1
    assert "check_hessian" in words(outcome)


def test_ctrl_c_shows_and_saves_the_best_point_so_far(monkeypatch, tmp_path):
    weights = np.linspace(-1.0, 1.0, 30)
    visits = []

    def interrupted(x):
        visits.append(x)
        if len(visits) > 4:
            raise KeyboardInterrupt
        return x @ (weights * x)

    register(monkeypatch, "interrupted", interrupted)
    outcome = solve("interrupted", "--out", tmp_path / "run.json")
    assert outcome.exit_code == 1
    assert "interrupted from the keyboard" in words(outcome)
    assert "(30 numbers)" in words(outcome)
    saved = json.loads((tmp_path / "run.json").read_text())
    point = np.array(saved["point"])
    assert saved["status"] == "interrupted"
    assert saved["cost"] == pytest.approx(point @ (weights * point))
    assert saved["cost"] == min(saved["history"]["cost"])


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "users_problem.py").write_text(
        "import riemtr\n"
        "def pole(rng, n=3):\n"
        "    return riemtr.Problem(riemtr.Sphere(n), lambda x: x[0])\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # undoes what the command adds


def test_a_problem_of_ones_own_by_its_path(own_module):
    for arguments in (["users_problem:pole", "-p", "n=7"], ["users_problem:pole:n=7"]):
        outcome = solve(*arguments)
        assert outcome.exit_code == 0, outcome.output
        assert "Sphere(7)" in outcome.output
    compared = CliRunner().invoke(
        app, ["compare", "users_problem:pole:n=7", "--solvers", "practical", "-q", "--starts", "2"]
    )
    assert compared.exit_code == 0, compared.output
    assert compared.output.startswith("certified: practical ")
    shown = CliRunner().invoke(app, ["problems", "users_problem:pole"])
    assert "riemtr solve users_problem:pole -p n=3" in shown.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rayleigh", "--rng", -1], "--rng"),
        (["rayleigh:n=5", "-p", "n=6"], "--parameter must be given once; 'n' is set twice"),
        (["rayleigh", "-p", "n=abc"], "n must be an integer of at least 1; got 'abc'"),
        (["nothing"], "a function or a Problem of your own is module:name"),
    ],
)
def test_refusals_name_what_was_typed(arguments, message):
    outcome = solve(*arguments)
    assert outcome.exit_code == 2
    assert message in " ".join(outcome.stderr.split())


@pytest.mark.parametrize("name", ["lbfgs", "arc"])
def test_other_methods_by_name(name):
    case = riemtr.problems.build("rayleigh", rng=3, n=12)
    outcome = solve("rayleigh", "-p", "n=12", "--rng", 3, "--solver", name)
    assert outcome.exit_code == 0
    assert f"cost {case.truth.cost:.7f}" in words(outcome)
    assert "a strict minimizer" in words(outcome)


def test_many_starts(tmp_path):
    files = tmp_path / "best.npz", tmp_path / "minimizers.png"
    outcome = solve("rayleigh", "-p", "n=8", "--starts", 10, "--out", files[0], "--plot", files[1])
    assert outcome.exit_code == 0
    text = words(outcome)
    case = riemtr.problems.build("rayleigh", rng=0, n=8)
    # The eigenvector and its negative.
    assert "10 starts: 2 distinct minimizers" in text
    assert f"{case.truth.cost:.8g}"[:9] in text
    assert riemtr.load_result(files[0]).cost == pytest.approx(case.truth.cost)
    assert files[1].stat().st_size > 1000
    quiet = solve("rayleigh", "-p", "n=8", "--starts", 10, "--quiet")
    assert quiet.output.startswith("10 starts: 2 distinct minimizers")
    assert len(quiet.output.splitlines()) == 1


def test_many_starts_of_which_none_converges():
    assert solve("rayleigh", "--starts", 2, "--max-iterations", 0).exit_code == 1


def test_many_starts_that_make_no_sense(tmp_path):
    np.save(tmp_path / "start.npy", np.eye(50)[0])
    outcome = solve("rayleigh", "--starts", 3, "--start", tmp_path / "start.npy")
    assert outcome.exit_code == 2
    assert "--starts must be left out where a start is given" in words(outcome)
    outcome = solve("rayleigh", "--starts", 0)
    assert outcome.exit_code == 2
    assert "--starts must be a positive integer" in words(outcome)


def test_a_pose_graph_from_a_file_with_a_picture(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)  # headings are cut short where names are long
    # A square that was walked twice, and whose corners were recognised.
    lines = [f"EDGE_SE2 {i} {i + 1} 1 0 {1.5708 + 0.02 * (-1) ** i} 9 0 0 9 0 9" for i in range(7)]
    lines += [f"EDGE_SE2 {i} {i + 4} 0 0 0.01 9 0 0 9 0 9" for i in range(4)]
    Path("square.g2o").write_text("\n".join(lines))
    picture = Path("square.png")
    options = ("-p", "file=square.g2o", "--picture", picture)
    outcome = solve("pose-graph", *options)
    assert outcome.exit_code == 0, outcome.output
    text = words(outcome)
    assert "staircase solver" in text
    assert "no point anywhere is lower by more than" in text
    assert picture.stat().st_size > 10_000
    assert solve("pose-graph", *options).exit_code == 2  # the picture exists


def test_the_staircase_is_for_problems_with_a_relaxation(tmp_path):
    outcome = solve("rayleigh", "--solver", "staircase")
    assert outcome.exit_code == 2
    assert "rayleigh has no semidefinite relaxation" in words(outcome)
    outcome = solve("rayleigh", "--picture", tmp_path / "none.png")
    assert outcome.exit_code == 2
    assert "rayleigh draws none" in words(outcome)
