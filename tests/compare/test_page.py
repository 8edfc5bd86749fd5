"""The page in a real browser: what it draws, what it does when asked, and what it refuses."""

from __future__ import annotations

import re
import shutil
import statistics
import sys
from dataclasses import replace

import numpy as np
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from riemtr.compare.page import page_html, write_page
from riemtr.compare.profiles import performance_profile
from riemtr.compare.records import Comparison, Run
from riemtr.errors import MissingExtraError
from tests.compare.page_examples import (
    EVIL,
    TRICKY,
    hostile_comparison,
    recovery_comparison,
    solver_comparison,
    solver_run,
)

FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
)
PLOTS = ("verdicts", "profile", "curves", "first", "second")


class Browser:
    """A page in chromium, asked in words."""

    def __init__(self, driver):
        self.driver = driver
        self.usual = None  # the address of the usual page, once it was opened

    def open(self, comparison, folder):
        path = write_page(comparison, folder / "page.html")
        self.driver.get(path.as_uri())
        self.wait("return Boolean(document.querySelector('.plot.js-plotly-plot'))")
        return path.as_uri()

    def pretend(self, width=1280, scheme="light"):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def reset(self):
        """Put every choice back to what it is when a page opens."""
        self.ask(
            """for (const select of document.querySelectorAll('select')) {
              const chosen = { 'profile-tolerance': '1', 'second-measure': '3' }[select.id];
              const before = select.value;
              select.value = chosen ?? select.options[0].value;
              if (select.value !== before) select.dispatchEvent(new Event('change'));
            }"""
        )

    def ask(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def wait(self, script, *arguments):
        WebDriverWait(self.driver, 10, 0.05).until(lambda _: self.ask(script, *arguments))

    def traces(self, plot):
        return self.ask(
            f"return JSON.parse(JSON.stringify(document.getElementById('{plot}').data))"
        )

    def choose(self, name, text):
        Select(self.driver.find_element(By.ID, name)).select_by_visible_text(text)

    def column(self, key):
        """The texts of a column of the table, without its heading."""
        return self.ask(
            """const keys = [...document.querySelectorAll('#table thead button')];
            const place = keys.findIndex((button) => button.dataset.key === arguments[0]);
            return [...document.querySelectorAll('#table tbody tr')]
              .map((line) => line.cells[place].textContent);""",
            key,
        )

    def click(self, selector, number=0):
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)[number]
        self.ask("arguments[0].scrollIntoView({block: 'center'})", found)  # not below the filters
        found.click()

    def sort(self, key):
        self.click(f"#table button[data-key='{key}']")

    def shown(self, name):
        return self.driver.find_element(By.ID, name).is_displayed()

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    missing = [name for name, path in programs.items() if path is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}; on Debian: apt install chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(programs["chromedriver"]))
    yield Browser(driver)
    driver.quit()


@pytest.fixture
def page(browser, tmp_path):
    """The page of the usual comparison as it opens, with no error before and none after."""
    browser.pretend()
    if browser.usual is None or browser.driver.current_url != browser.usual:
        browser.usual = browser.open(solver_comparison(), tmp_path)
    browser.reset()
    yield browser
    assert browser.errors() == []


def needs(comparison, solver, measure, tolerance=None, problem=None, kind=None):
    """What a solver needed at each instance, inf where it did not succeed.

    To a gradient norm, or else to the end of a certified run.
    """
    found = {}
    for run in comparison.runs:
        if problem in (None, run.problem) and kind in (None, run.kind):
            key = (run.problem, run.start)
            found.setdefault(key, np.inf)
            if run.solver == solver and tolerance is None and run.certified:
                found[key] = getattr(run, measure)
            elif run.solver == solver:
                for reach in run.reached:
                    if reach.tolerance == tolerance:
                        found[key] = getattr(reach, measure)
    return np.array(list(found.values()))


def assert_profile_drawn(page, comparison, measure, tolerance=None, **chosen):
    solvers = ["swift", "steady", "blind", "broken"]
    rows = [needs(comparison, name, measure, tolerance, **chosen) for name in solvers]
    best = np.min(rows, axis=0)
    traces = {trace["name"]: trace for trace in page.traces("profile")}
    assert list(traces) == solvers
    for name, row in zip(solvers, rows, strict=True):
        ratios = np.sort((row / best)[np.isfinite(row)])
        x, y = np.array(traces[name]["x"]), np.array(traces[name]["y"])
        steps, counts = np.unique(ratios, return_counts=True)
        np.testing.assert_allclose(x[1:-1], steps, rtol=1e-12)
        np.testing.assert_allclose(y[1:-1], 100 * np.cumsum(counts) / len(best), rtol=1e-12)
        assert (x[0], y[0]) == (1, 0)
        assert y[-1] == pytest.approx(100 * len(ratios) / len(best))


def test_draws_everything_without_an_error(page):
    for plot in PLOTS:
        traces = page.traces(plot)
        assert traces
        assert all(any(value is not None for value in trace["x"]) for trace in traces)
        assert page.ask(f"return document.querySelectorAll('#{plot} .main-svg').length") > 0
    assert page.ask("return document.querySelectorAll('#profile .scatterlayer .trace').length") == 4
    assert not page.shown("trouble")


def test_loads_nothing(page):
    assert page.ask("return performance.getEntriesByType('resource').map((e) => e.name)") == []
    buttons = page.ask(
        "return [...new Set([...document.querySelectorAll('.modebar-btn')]"
        ".map((b) => b.dataset.title))]"
    )
    assert len(buttons) == 4  # none of them uploads anything
    assert not [title for title in buttons if re.search("cloud|share|edit", title, re.I)]


def test_html_refers_to_nothing_outside():
    text = page_html(solver_comparison())
    outside = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert "http:" not in outside
    assert "https:" not in outside
    assert "//" not in re.sub(r"<style>.*?</style>", "", outside, flags=re.S)


def test_the_browser_refuses_scripts_and_requests_of_others(page):
    refused = page.driver.execute_async_script(
        """const [done] = arguments, refused = [];
        document.addEventListener('securitypolicyviolation', (event) => {
          refused.push(event.effectiveDirective);
          if (refused.length === 3) done(refused.sort());
        });
        const script = document.createElement('script');
        script.textContent = 'window.hacked = 1';
        const image = new Image();
        image.src = 'http://127.0.0.1:9/x.png';
        document.body.append(script, image);
        fetch('http://127.0.0.1:9/').catch(() => 0);"""
    )
    assert refused == ["connect-src", "img-src", "script-src-elem"]
    assert page.ask("return window.hacked === undefined")
    assert page.errors()  # the browser's own, of what it refused


def test_profiles_are_those_of_a_plain_computation(page):
    comparison = solver_comparison()
    assert_profile_drawn(page, comparison, "seconds")
    assert_same_profile(page, performance_profile(comparison, "seconds"))
    assert "to the end of the run" in page.driver.find_element(By.ID, "profile-note").text
    assert not page.shown("profile-tolerance")  # what is certified is certified to the tightest
    page.choose("profile-measure", "oracle calls")
    assert_profile_drawn(page, comparison, "oracles")
    page.choose("profile-success", "a small gradient, saddle or not")
    assert_profile_drawn(page, comparison, "oracles", 1e-6)
    page.choose("profile-tolerance", "0.01")
    assert_profile_drawn(page, comparison, "oracles", 1e-2)
    note = page.driver.find_element(By.ID, "profile-note").text
    assert note == "Measured until the gradient norm was at most 0.01 for good."
    page.choose("profile-measure", "seconds")
    reached = performance_profile(comparison, "seconds", solved="reached", tolerance=1e-2)
    assert_same_profile(page, reached)


def assert_same_profile(page, profile):
    for trace in page.traces("profile"):
        ratios = profile.ratios[trace["name"]]
        np.testing.assert_allclose(trace["x"][1:-1], np.unique(ratios[np.isfinite(ratios)]))


def test_profiles_of_an_interrupted_comparison_are_of_what_all_came_to(browser, tmp_path):
    whole = solver_comparison(1)
    settings = {**whole.settings, "interrupted": True}
    cut = replace(whole, runs=whole.runs[:-1], settings=settings)
    browser.open(cut, tmp_path)
    assert_same_profile(browser, performance_profile(cut))
    assert browser.traces("profile")[0]["y"][-1] == 100
    assert browser.errors() == []


def test_every_solver_is_named_below_its_marks(browser, tmp_path):
    names = ["practical", "pymanopt-particle-swarm", "pymanopt-tr", "pymanopt-nelder-mead"]
    runs = [solver_run("rayleigh", name, 0, "random", 1.0) for name in names]
    browser.pretend()
    browser.open(Comparison({}, {}, tuple(runs)), tmp_path)
    for plot in ("first", "second"):
        labels = f"return [...document.querySelectorAll('#{plot} .xtick text')]"
        assert browser.ask(f"{labels}.map((t) => t.textContent)") == names
        places = browser.ask(f"{labels}.map((t) => t.getBoundingClientRect()).map((b) => b.right)")
        edge = browser.ask(
            f"return document.getElementById('{plot}').getBoundingClientRect().right"
        )
        assert max(places) <= edge
        shown = browser.ask(
            f"{labels}.map((t) => t.style.opacity !== '0' && "
            "getComputedStyle(t).display !== 'none')"
        )
        assert all(shown)


def test_profiles_of_a_selection(page):
    comparison = solver_comparison()
    page.choose("problem", "brockett")
    assert_profile_drawn(page, comparison, "seconds", problem="brockett")
    page.choose("kind", "saddle")
    assert_profile_drawn(page, comparison, "seconds", problem="brockett", kind="saddle")
    blind = page.traces("profile")[2]
    assert blind["y"] == [0, 0]  # it solves nothing from saddle starts
    page.choose("profile-success", "a small gradient, saddle or not")
    assert page.traces("profile")[2]["y"][-1] == 100  # and would look perfect


def test_bars_count_the_verdicts(page):
    bars = {trace["meta"]: trace for trace in page.traces("verdicts")}
    assert list(bars) == ["certified", "deceived", "failed"]
    assert bars["certified"]["text"] == ["16", "16", "8", ""]
    assert bars["deceived"]["text"] == ["", "", "8", ""]
    assert bars["failed"]["x"] == [0, 0, 0, 100]
    page.choose("kind", "random")
    assert [trace["meta"] for trace in page.traces("verdicts")] == ["certified", "failed"]


def test_curves_are_the_trajectories(page):
    comparison = solver_comparison()
    page.choose("curves-problem", "brockett")
    lines = [trace for trace in page.traces("curves") if trace["mode"] == "lines"]
    assert [trace["name"] for trace in lines] == ["swift", "steady", "blind"]  # the other has none
    runs = [r for r in comparison.runs if r.problem == "brockett" and r.solver == "steady"]
    drawn = [value for value in lines[1]["y"] if value is not None]
    np.testing.assert_allclose(drawn, np.tile(runs[0].trajectory["gradient_norm"], len(runs)))
    page.choose("curves-x", "oracle calls")
    page.choose("curves-y", "cost above the lowest found")
    line = page.traces("curves")[2]
    np.testing.assert_allclose(line["y"][:9], [2.0**-i for i in range(9)], rtol=1e-3)
    assert line["x"][:9] == [0.5, *range(1, 9)]  # zero has no place on a logarithmic axis
    ends = [trace for trace in page.traces("curves") if trace["mode"] == "markers"]
    assert ends[2]["marker"]["symbol"] == ["circle"] * 4 + ["x"] * 4


def test_a_click_on_a_solver_shows_it_alone(page):
    page.click("#curves .legendtoggle", 1)
    visible = "return document.getElementById('curves')._fullData.map((t) => t.visible === true)"
    page.wait(f"return !({visible.removeprefix('return ')})[0]")
    assert page.ask(visible) == [False, False, True, True, False, False]
    page.choose("curves-y", "cost above the lowest found")  # a redrawing leaves that alone
    assert page.ask(visible) == [False, False, True, True, False, False]


def test_table_has_the_figures_and_sorts(page):
    comparison = solver_comparison()
    assert page.column("certified") == ["4/4", "4/4", "4/4", "0/4", "4/4", "4/4", "0/4", "0/4"] * 2
    assert page.column("deceived")[6] == "4"
    swift = [
        (run.seconds, run.reached[-1].seconds)
        for run in comparison.runs
        if (run.problem, run.solver, run.kind) == ("rayleigh", "swift", "random")
    ]
    whole, gradient = map(statistics.median, zip(*swift, strict=True))
    assert float(page.column("seconds")[0]) == pytest.approx(whole, rel=1e-2)
    assert float(page.column("toGradient")[0]) == pytest.approx(gradient, rel=1e-2)
    before = page.column("seconds")
    page.sort("seconds")
    known = [float(text) for text in page.column("seconds") if text != "–"]
    assert known == sorted(known)
    assert page.column("seconds")[len(known) :] == ["–"] * 6  # what has no value comes last
    head = "return document.querySelector('th[aria-sort]')?.ariaSort"
    assert page.ask(head) == "ascending"
    page.sort("seconds")
    known = [float(text) for text in page.column("seconds") if text != "–"]
    assert known == sorted(known, reverse=True)
    assert page.column("seconds")[len(known) :] == ["–"] * 6
    assert page.ask(head) == "descending"
    page.sort("seconds")
    assert page.column("seconds") == before
    assert page.ask(head) is None


def test_table_follows_the_selection(page):
    page.choose("problem", "brockett")
    assert set(page.column("problem")) == {"brockett"}
    page.choose("kind", "saddle")
    assert page.column("solver") == ["swift", "steady", "blind", "broken"]
    page.choose("problem", "all problems")
    assert page.column("problem") == ["rayleigh"] * 4 + ["brockett"] * 4


def test_marks_show_what_is_chosen(page):
    page.choose("second-measure", "smallest eigenvalue at the end")
    values = [value for trace in page.traces("second") for value in trace["y"]]
    assert sorted(set(values)) == [-0.5, 0.5]
    assert page.ask("return document.getElementById('second').layout.yaxis.type") == "linear"
    assert page.ask("return document.getElementById('first').layout.yaxis.type") == "log"


def test_colours_belong_to_solvers(page):
    lines = {t["name"]: t["line"]["color"] for t in page.traces("profile")}
    curves = {t["name"]: t["line"]["color"] for t in page.traces("curves") if t["mode"] == "lines"}
    marks = {t["name"]: t["marker"]["color"] for t in page.traces("first")}
    assert len(set(lines.values())) == 4
    assert lines == marks
    assert curves == {name: lines[name] for name in curves}


def test_says_what_went_wrong_and_how_to_do_it_again(page):
    text = page.driver.find_element(By.TAG_NAME, "main").text
    assert "ValueError: <b>no</b>" in text
    assert "riemtr compare rayleigh brockett" in text
    assert "n = 6, k = 2" in text
    assert "the steady one" in text


def test_names_are_not_broken(browser, tmp_path):
    long = "a-problem-with-a-long-name:n=100"
    runs = [solver_run(long, "pymanopt-particle-swarm", i, "random", 1.0) for i in range(2)]
    runs += [Run(long, "pymanopt-particle-swarm", 2, "random", "failed", "no " * 90, False)]
    runs += [solver_run("rayleigh", "exact", i, "random", 1.0) for i in range(2)]
    browser.pretend(width=1200)
    browser.open(Comparison({"tolerances": [1e-6]}, {}, tuple(runs)), tmp_path)
    heights = browser.ask(
        """return [...document.querySelectorAll('#table tbody tr, #troubles tr')]
          .flatMap((row) => [...row.cells].slice(0, 2))
          .map((cell) => cell.firstChild ? [cell.textContent, (() => {
            const range = document.createRange();
            range.selectNodeContents(cell);
            return range.getBoundingClientRect().height;
          })()] : null)"""
    )
    assert {text for text, _ in heights} > {long, "pymanopt-particle-swarm"}
    assert all(height < 30 for _, height in heights)
    assert browser.errors() == []


def test_fits_a_phone(page):
    page.pretend(width=390)
    page.wait("return document.querySelector('#profile .main-svg').clientWidth <= 390")
    assert page.ask("return document.documentElement.scrollWidth") <= 390


def test_dark_where_that_is_preferred_and_by_the_button(page):
    colours = """return [getComputedStyle(document.body).backgroundColor,
                         document.getElementById('profile').layout.font.color].join(' ')"""
    light, dark = "rgb(255, 255, 255) #1b1f24", "rgb(20, 23, 27) #e8eaed"
    assert page.ask(colours) == light
    page.pretend(scheme="dark")
    page.wait("return document.documentElement.dataset.theme === 'dark'")
    assert page.ask(colours) == dark
    page.click("#theme")
    assert page.ask(colours) == light


def test_names_do_no_harm(browser, tmp_path):
    browser.open(hostile_comparison(), tmp_path)
    assert browser.ask("return window.hacked === undefined")
    assert browser.column("solver") == [EVIL, TRICKY]
    assert browser.ask("return document.querySelectorAll('img').length") == 0
    legend = browser.ask(
        "return [...document.querySelectorAll('#profile .legendtext')].map((t) => t.textContent)"
    )
    assert legend == [EVIL, TRICKY]
    assert EVIL in browser.driver.find_element(By.TAG_NAME, "h1").text
    assert browser.errors() == []


@pytest.mark.parametrize("known", [True, False])
def test_recovery_has_no_profiles_but_marks(browser, tmp_path, known):
    browser.open(recovery_comparison(known), tmp_path)
    for name in ("profile-section", "curves-section", "filters"):
        assert not browser.shown(name)
    values = [trace["y"] for trace in browser.traces("second")]
    if known:
        assert values == [[1e-15] * 3, [0.03] * 3]
    else:
        assert values[1] == [0.014] * 3
    assert [trace["y"] for trace in browser.traces("first")] == [[1, 2, 3]] * 2
    assert browser.column("certified") == ["3/3", "0/3"]
    if known:
        assert browser.column("rounded") == ["3/3", "3/3"]
    assert browser.errors() == []


@pytest.mark.parametrize(
    "run",
    [
        solver_run("rayleigh", "alone", 0, "random", 1.0, trajectory={}),
        solver_run("rayleigh", "alone", 0, "random", 0.0, reached=(), oracles=None, counts={}),
        Run("rayleigh", "alone", 0, "random", "failed", "KeyError: 1", False),
    ],
    ids=["no trajectory", "nothing reached", "failed"],
)
def test_one_run_makes_a_page(browser, tmp_path, run):
    browser.open(Comparison({}, {}, (run,)), tmp_path)
    assert browser.shown("curves-section") == bool(run.trajectory)
    assert browser.shown("profile-section") == bool(run.reached)
    assert len(browser.column("solver")) == 1
    assert browser.errors() == []


def test_runs_out_of_time_are_listed_together():
    runs = [
        solver_run(
            *("rayleigh", "slow", start, "random", 9.0),
            outcome="timed out",
            status=f"Terminated - max time reached after {start} iterations.",
        )
        for start in range(3)
    ]
    text = page_html(Comparison({}, {}, tuple(runs)))
    row = (
        "<td>timed out</td><td class='number'>3</td><td class='number'>1e-08</td>"
        "<td>Terminated - max time reached.</td>"
    )
    assert row in text


def test_every_run_that_was_not_certified_is_listed_with_its_reason():
    about = ("rayleigh", "exact", 0, "random", 1.0, "not-critical")
    own = solver_run(*about, claimed=False, status="cycling", gradient_norm=0.25)
    wrong = solver_run("rayleigh", "sd", 0, "random", 1.0, "not-critical", gradient_norm=0.5)
    late = "min grad norm reached after 7 iterations, 0.01 seconds"
    near = solver_run("rayleigh", "cg", 0, "random", 1.0, "not-critical", status=late, narrow=True)
    text = page_html(Comparison({}, {}, (own, wrong, near)))
    for solver, how, norm, said in (
        ("exact", "fell short", "0.25", "cycling"),
        ("sd", "“converged”, not confirmed", "0.5", "converged"),
        ("cg", "narrowly missed", "1e-08", "min grad norm reached"),
    ):
        assert (
            f"<th scope='row'>{solver}</th><td>rayleigh</td><td>{how}</td><td class='number'>1</td>"
            f"<td class='number'>{norm}</td><td>{said}</td>"
        ) in text


def test_interrupted_is_said():
    whole = solver_comparison(1)
    assert "Interrupted:" not in page_html(whole)
    settings = {**whole.settings, "interrupted": True}
    assert "Interrupted:" in page_html(replace(whole, settings=settings))


def test_nothing_to_show_is_an_error():
    with pytest.raises(ValueError, match="comparison must have at least one run; got none"):
        page_html(Comparison({}, {}, ()))


def test_missing_plotly_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(MissingExtraError, match=r"riemtr\[page\]"):
        page_html(solver_comparison(1))


def test_the_headline_is_who_succeeded_whatever_they_are_called():
    about = ("random", "ended", "")
    runs = (
        Run("rayleigh", "mine. Misses: none", 0, *about, True, verdict="minimizer"),
        Run("rayleigh", "other", 0, *about, True, verdict="saddle"),
    )
    page = page_html(Comparison({}, {}, runs))
    first = "mine. Misses: none ended at a certified minimizer in its only run."
    misses = "Misses: other 1 of 1 (1 “converged” at a saddle point)."
    assert f"<h1>{first}</h1><p>{misses}</p>" in page
