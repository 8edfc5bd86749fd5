"""Every code block of the pages in docs/ runs as it stands; links to files lead somewhere."""

import doctest
import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

import riemtr

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# The reference and the gallery are generated; their examples are tested where they come from.
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if not {"_build", "gallery"} & set(path.parts)]
PAGES = [path for path in PAGES if path.name not in ("gallery.md", "README.md")]
OTHERS = [*ROOT.glob("*.md"), ROOT / "benchmarks/README.md", *(ROOT / "paper").glob("*.md")]
FENCE = re.compile(r"^```(\S[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
# Commands that .ci/run runs, or that need what a test does not have.
ELSEWHERE = ("pip ", "pytest", "python -m ", "sphinx-build ", "dask ", "git ", "asv ", "bash ")
# Blocks that are no code.
TEXT = ("text", "toml", "csv")


class Block(NamedTuple):
    """A fenced block: its language, its file's name if it is one, the text, and its line."""

    language: str
    file: str
    text: str
    line: int


def blocks(path):
    text = path.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        head, body = found[1].strip(), found[2]
        language, file = head, ""
        if head.startswith("{code-block}"):
            language = head.split()[1]
            caption = re.match(r":caption: (\S+)\n+", body)
            file, body = caption[1], body[caption.end() :]
        elif head.startswith("{"):  # a directive
            continue
        yield Block(language, file, body, text[: found.start()].count("\n") + 1)


class LooseChecker(doctest.OutputChecker):
    """Compares texts but for times and numbers with an exponent, which depend on rounding."""

    def check_output(self, want, got, optionflags):
        loose = (re.sub(r"-?\d(\.\d+)?e[+-]\d+|[\d.]+ s\b", "#", text) for text in (want, got))
        return super().check_output(*loose, optionflags)


def name(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_the_code_of_a_page_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    names = {}
    for block in blocks(path):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif block.language == "python":
            run_examples(path, block, names)
        elif block.language == "sh":
            run_commands(block)
        else:
            assert block.language in TEXT, f"line {block.line}: {block.language}"


def run_examples(path, block, names):
    examples = doctest.DocTestParser().get_examples(block.text)
    assert examples, f"line {block.line}: code without a prompt >>> is not executed"
    needs = re.findall(r"^>>> import (jax|torch)\b", block.text, re.MULTILINE)
    if any(importlib.util.find_spec(need) is None for need in needs):
        return
    test = doctest.DocTest(examples, names, path.name, str(path), block.line, block.text)
    said = []
    runner = doctest.DocTestRunner(LooseChecker(), optionflags=FLAGS)
    failed = runner.run(test, out=said.append, clear_globs=False).failed
    names.update(test.globs)
    assert not failed, "".join(said)


def run_commands(block):
    testing = pytest.importorskip("typer.testing")
    from riemtr.cli.app import app

    for line in block.text.replace("\\\n", " ").splitlines():
        command = line.partition(" #")[0].strip()
        if not command or command.startswith(ELSEWHERE):
            continue
        program, *arguments = shlex.split(command)
        assert program == "riemtr", command
        outcome = testing.CliRunner().invoke(app, arguments, prog_name="riemtr")
        assert outcome.exit_code == 0, f"{command}\n{outcome.output}"


@pytest.mark.parametrize("path", [*PAGES, *OTHERS], ids=name)
def test_links_to_files_lead_somewhere(path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        file = target.partition("#")[0]
        generated = {"reference", "gallery", "gallery.md"} & set(Path(file).parts)
        if "://" in target or not file or (generated and DOCS in path.parents):
            continue
        assert (path.parent / file).exists(), target


def test_the_reference_has_all_public_names(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    import generate

    pages = {id(name.object) for name in generate.public_names().values()}
    for name in riemtr.__all__:
        found = getattr(riemtr, name)
        assert isinstance(found, ModuleType) or id(found) in pages, name
