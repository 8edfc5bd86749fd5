"""One version everywhere, and nothing in the packages' metadata that a release would trip over."""

import configparser
import re
from pathlib import Path

import riemtr

ROOT = Path(__file__).resolve().parents[1]


def stated(file, pattern):
    return re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)[1]


def test_one_version():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    versions = {
        riemtr.__version__,
        setup["metadata"]["version"],
        stated("CITATION.cff", r"^version: (\S+)$"),
        stated("conda/meta.yaml", r'version = "(\S+)"'),
    }
    assert len(versions) == 1


def test_conda_asks_for_what_pip_asks_for():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    recipe = (ROOT / "conda/meta.yaml").read_text(encoding="utf-8")
    needed = setup["options"]["install_requires"] + setup["options.extras_require"]["cli"]
    for requirement in needed.split():
        name, minimum = requirement.split(">=")
        assert f"- {name} >={minimum}\n" in recipe


def test_figures_of_the_paper_are_those_of_the_benchmarks():
    """Every script that the article names exists."""
    article = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
    scripts = re.findall(r"`benchmarks\.(\w+)", article)
    assert scripts
    for script in scripts:
        assert (ROOT / f"benchmarks/{script}.py").exists(), script
