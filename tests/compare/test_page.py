"""The page: what it says, what its figures draw, and what the browser refuses."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from importlib import resources

import pytest

import riemtr.page
from riemtr.compare.figures import PALETTE
from riemtr.compare.page import page_html, write_page
from riemtr.compare.page_figures import (
    ENDING_COLOURS,
    STARTS_DRAWN,
    curves_figure,
    endings_figure,
    marks_figure,
    profiles_figure,
)
from riemtr.compare.profiles import performance_profile
from riemtr.compare.records import ENDINGS, Comparison, Run
from riemtr.errors import MissingExtraError
from tests.compare.page_examples import (
    EVIL,
    TRICKY,
    hostile_comparison,
    recovery_comparison,
    solver_comparison,
    solver_run,
)

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
FIGURES = (endings_figure, profiles_figure, curves_figure, marks_figure)


@pytest.fixture(scope="module")
def page():
    return page_html(solver_comparison())


def words(page):
    """The text of the page without scripts, styles and tags."""
    text = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def shown(figure, label=None):
    """The traces of an entry of a figure's menu, by name."""
    number = 0
    if label is not None:
        (menu,) = figure["layout"]["updatemenus"]
        number = [button["label"] for button in menu["buttons"]].index(label)
        visible = menu["buttons"][number]["args"][0]["visible"]
    else:
        visible = [trace["visible"] for trace in figure["data"]]
    traces = [trace for trace, on in zip(figure["data"], visible, strict=True) if on]
    return {trace["name"]: trace for trace in reversed(traces)}


def test_it_says_who_was_certified_and_who_was_not(page):
    text = words(page)
    assert "64 runs · 2 problems · 4 solvers" in text
    assert "Certified in every run: swift, steady." in text
    assert "blind 8/16 (8 “converged” at a saddle point), broken 0/16 (16 failed)" in text
    assert "riemtr compare rayleigh brockett" in text
    assert "the swift one" in text
    assert "python 3.x" in text


def test_the_table_is_the_one_of_the_comparison(page):
    assert solver_comparison().summary().html() in page


TABLE = """
const tell = (row) => row.cells.map((cell) => cell.textContent);
const rows = %s.map((texts) => ({
  cells: texts.map((textContent, cellIndex) => ({ textContent, cellIndex, dataset: {} })),
  querySelector: () => null,
}));
rows[0].cells.forEach((cell) => { cell.addEventListener = (_, act) => { cell.act = act; }; });
let shown = [];
const table = { rows, tBodies: [{ append: (...sorted) => { shown = sorted; } }] };
global.document = { querySelectorAll: () => [table] };
%s
for (const column of %s) rows[0].cells[column].act();
console.log(JSON.stringify(shown.map(tell)));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize(
    ("clicks", "order"),
    [([0], "abcd"), ([0, 0], "cbad"), ([1], "cbad"), ([2], "bacd"), ([2, 2], "abcd")],
)
def test_a_click_on_a_heading_sorts_the_rows_of_each_block(clicks, order):
    rows = [["solver", "certified", "time"], ["one"], ["c", "0/9", ""], ["a", "4/4", "4.5 s"]]
    rows += [["b", "3/4", "20 ms"], ["two"], ["d", "1/1", ""]]
    script = resources.files("riemtr").joinpath("page.js").read_text()
    command = ["node", "-e", TABLE % (json.dumps(rows), script, clicks)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    names = [row[0] for row in json.loads(ended.stdout)]
    assert names == ["one", *order[:3], "two", order[3]]


def test_it_refers_to_nothing_outside(page):
    outside = re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", outside)
    assert "url(" not in outside
    assert '"showSendToCloud": false' in page
    assert page.count('Plotly.newPlot("figure-') == 4


@pytest.mark.parametrize("made", [solver_comparison, hostile_comparison, recovery_comparison])
def test_only_scripts_of_its_own_may_run(made):
    page = page_html(made())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in scripts]
    assert re.findall(r"'sha256-([^']*)'", policy) == hashes
    assert "default-src 'none'" in policy
    assert "window.hacked" not in "".join(scripts[:1])
    assert all("<" not in script for script in scripts[1:-1])
    assert "<img src=x" not in re.sub(r"<script\b.*?</script>", "", page, flags=re.DOTALL)


def test_a_script_that_was_smuggled_into_the_body_has_no_hash():
    smuggled = "window.hacked = 1"
    made = riemtr.page.page("a page", f"<p><script>{smuggled}</script></p>", ["window.ours = 1"])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', made)[1]
    told = {
        script: base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
        for script in re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    }
    assert not told.pop(smuggled)
    assert len(told) == 2
    assert all(told.values())


DRAWING = """
const drawn = [];
const Plotly = { newPlot: (id, data, layout, config) => {
  if (!data.length || !layout.height || !config.responsive) throw id;
  drawn.push(id);
} };
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.parametrize("made", [solver_comparison, hostile_comparison, recovery_comparison])
def test_every_figure_is_drawn_where_its_place_is(made):
    page = page_html(made())
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[1:-1]
    program = "\n".join([DRAWING, *scripts, "console.log(JSON.stringify(drawn))"])
    command = ["node", "-"]
    ended = subprocess.run(
        command, input=program, capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(ended.stdout) == re.findall(r'<div id="(figure-\d)"', page)


def test_names_are_shown_as_they_are():
    text = words(page_html(hostile_comparison()))
    assert "&lt;/script&gt;&lt;script&gt;window.hacked = 1" in text
    assert TRICKY.replace("\\", "\\") in text
    figure = endings_figure(hostile_comparison())
    assert figure["data"][0]["y"][0].startswith("&lt;/script&gt;")
    assert EVIL not in str(figure)


def test_bars_count_the_endings():
    bars = shown(endings_figure(solver_comparison()))
    assert bars["“converged” at a saddle point"]["text"] == ["", "", "8", ""]
    assert bars["certified minimizer"]["x"] == [100.0, 100.0, 50.0, 0.0]
    chosen = shown(endings_figure(solver_comparison()), "rayleigh, random starts")
    assert chosen["certified minimizer"]["text"] == ["4", "4", "4", ""]


def test_profiles_are_those_of_the_comparison():
    found = solver_comparison()
    drawn = shown(profiles_figure(found), "oracle calls to a small gradient, saddle or not")
    profile = performance_profile(found, "oracles", solved="reached")
    for name, trace in drawn.items():
        for x, y in list(zip(trace["x"], trace["y"], strict=True))[1:-1]:
            assert y <= 100 * profile.share(name, x * 1.001) + 0.1
        assert trace["y"][-1] == pytest.approx(100 * profile.share(name, float("inf")))


def test_curves_are_the_trajectories_and_say_where_they_end():
    found = solver_comparison(starts=1)
    figure = curves_figure(found)
    lines = [trace for trace in figure["data"] if trace["mode"] == "lines"]
    run = next(run for run in found.runs if (run.problem, run.solver) == ("rayleigh", "blind"))
    line = next(trace for trace in lines if trace["name"] == "blind")
    assert line["y"][:9] == pytest.approx(run.trajectory["gradient_norm"])
    ends = next(t for t in figure["data"] if t["name"] == "blind" and t["mode"] == "markers")
    assert ends["marker"]["symbol"] == ["circle", "x"]
    assert None not in line["x"][:9]
    assert all(value is None or value > 0 for value in line["x"])


def test_only_so_many_starts_are_drawn():
    runs = [solver_run("rayleigh", "swift", start, "random", 1.0) for start in range(50)]
    figure = curves_figure(Comparison({"tolerances": [1e-6]}, {}, tuple(runs)))
    assert len(figure["data"][1]["x"]) == STARTS_DRAWN


def test_every_measure_can_be_chosen():
    figure = marks_figure(recovery_comparison())
    labels = [button["label"] for button in figure["layout"]["updatemenus"][0]["buttons"]]
    assert {"seconds", "distance from the known solution", "median excess"} <= set(labels)
    near = shown(figure, "median excess")["near"]
    assert near["y"] == [0.014] * 3
    assert near["marker"]["symbol"] == ["circle-open"] * 3


def test_no_ending_looks_like_a_solver():
    assert set(ENDING_COLOURS) == set(ENDINGS)

    def rgb(code):
        return [int(code[place : place + 2], 16) for place in (1, 3, 5)]

    for ending in ENDING_COLOURS.values():
        for solver in PALETTE:
            assert sum(abs(a - b) for a, b in zip(rgb(ending), rgb(solver), strict=True)) > 75


def test_solvers_have_one_colour_in_every_figure():
    found = solver_comparison()
    profiles, marks = shown(profiles_figure(found)), shown(marks_figure(found))
    for name in found.solvers:
        assert profiles[name]["line"]["color"] == marks[name]["marker"]["color"]


def test_recovery_has_no_profiles_but_words_of_its_own():
    found = recovery_comparison()
    assert profiles_figure(found) is None
    assert curves_figure(found) is None
    text = words(page_html(found))
    assert "6 runs · 1 problem · 2 methods" in text
    assert "performance profiles" not in text
    assert "by linear programming" in text


def test_every_run_that_was_not_certified_is_listed_with_its_reason():
    late = [
        Run("p", "s", start, "random", "timed out", f"out of time after {start} iterations", False)
        for start in range(3)
    ]
    absent = [{"solver": "t", "problem": "p", "reason": "not <made> for it"}]
    page = page_html(Comparison({"not_applicable": absent, "interrupted": True}, {}, tuple(late)))
    text = words(page)
    assert "s p timed out 3 out of time" in text
    assert "t p does not apply not &lt;made&gt; for it" in text
    assert "No solver has all its runs certified." in text
    assert "Interrupted: only the runs that were finished are here." in text
    certified = replace(late[0], outcome="ended", verdict="minimizer")
    assert "did not end well" not in words(page_html(Comparison({}, {}, (certified,))))


def test_a_solver_of_ones_own_has_a_name_and_no_address():
    run = solver_run("rayleigh", "mine", 0, "random", 1.0)
    solvers = {"mine": f"my solver, {object()} with {words}"}
    text = words(page_html(Comparison({"solvers": solvers}, {}, (run,))))
    assert "mine: my solver, object with words" in text
    assert "0x" not in text


def test_nothing_to_show_is_an_error():
    with pytest.raises(ValueError, match="at least one run; got none"):
        page_html(Comparison({}, {}, ()))


def test_missing_plotly_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "plotly.offline", None)
    with pytest.raises(MissingExtraError, match=r"riemtr\[page\]"):
        page_html(solver_comparison())


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("made", [solver_comparison, hostile_comparison, recovery_comparison])
def test_a_browser_draws_everything_and_runs_nothing_else(made, tmp_path):
    path = write_page(made(), tmp_path / "page.html")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000")
    command = [CHROMIUM, *flags, f"--user-data-dir={tmp_path}/profile", "--enable-logging=stderr"]
    ended = subprocess.run(
        [*command, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120
    )
    figures = [make(made()) for make in FIGURES]
    drawn = ended.stdout.count('class="main-svg" xmlns')
    assert drawn >= sum(figure is not None for figure in figures)
    assert "CONSOLE" not in ended.stderr  # where errors and refused scripts are told
    assert "<img src=" not in re.sub(r"<script\b.*?</script>", "", ended.stdout, flags=re.DOTALL)
