"""Pages that are made of the code itself, so that they cannot go stale.

Every public name gets a page, every registered problem and every command as well, and every
notebook is put where Sphinx finds it, with a thumbnail. A name is public if a package of riemtr
lists it in ``__all__``: a new one appears on the site by itself. ``conf.py`` calls
:func:`write_all` before each build; files that would not change are left alone.
"""

from __future__ import annotations

import base64
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from itertools import groupby
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import riemtr

# Titles of the reference by layer, in the order of a reader's interest; others come after these.
_LAYERS = {
    "problem": "Problems and their derivatives",
    "manifolds": "Manifolds",
    "solvers": "Solvers, results and certificates",
    "subproblem": "Subproblems",
    "problems": "Registered problems",
    "recovery": "Dictionary recovery",
    "theory": "The paper's theory",
    "compare": "Comparisons",
    "sweep": "Sweeps",
    "interop": "pymanopt and scikit-learn",
    "data": "Data and error measures",
    "testing": "Checks for third parties",
    "errors": "Exceptions",
    "progress": "Progress",
}
# Layers whose names are not for users of the package.
_PRIVATE_LAYERS = {"cli"}
# Modules that are public beside the packages, with whatever they define themselves.
_MODULES = (
    "riemtr.errors",
    "riemtr.interop.pymanopt",
    "riemtr.interop.sklearn",
    "riemtr.problem.shared_work",
    "riemtr.solvers.observers",
    "riemtr.testing",
)


# Letters in a line of help, as many as a page shows without scrolling.
_HELP_WIDTH = 84


# -- public names ---------------------------------------------------------------------------------


class Name(NamedTuple):
    """A public name: how users write it, the object, and the layer that defines it."""

    path: str
    object: Any
    layer: str


@cache
def public_names() -> dict[str, Name]:
    """Return all public names by path, each object once, under its shortest path."""
    paths: dict[int, Name] = {}
    for module in _public_modules():
        for name, found in _members(module):
            # observers have a path of their own in riemtr
            owner = (
                "riemtr.observers" if module.__name__.endswith(".observers") else module.__name__
            )
            paths.setdefault(id(found), Name(f"{owner}.{name}", found, _layer(found, module)))
    return {name.path: name for name in paths.values()}


def _public_modules() -> Iterator[ModuleType]:
    """Yield ``riemtr``, its packages and the public modules: the shortest paths first."""
    yield riemtr
    for found in pkgutil.iter_modules(riemtr.__path__):
        if found.ispkg and found.name not in _PRIVATE_LAYERS:
            yield importlib.import_module(f"riemtr.{found.name}")
    for name in _MODULES:
        yield importlib.import_module(name)


def _members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [name for name in vars(module) if not name.startswith("_")]
        listed = [
            name
            for name in listed
            if getattr(getattr(module, name), "__module__", "") == module.__name__
        ]
    for name in listed:
        found = getattr(module, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            yield name, found


def _layer(found: Any, module: ModuleType) -> str:
    parts = found.__module__.split(".")
    return parts[1] if len(parts) > 1 else module.__name__.split(".")[-1]


@cache
def _by_object() -> dict[int, str]:
    return {id(name.object): path for path, name in public_names().items()}


@cache
def _by_last_part() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in public_names():
        found.setdefault(path.rpartition(".")[2], []).append(path)
    return found


@cache
def canonical(target: str) -> str | None:
    """Return the public path of what an import path or a bare name means; None if nothing."""
    if target in public_names():
        return target
    paths = _by_last_part().get(target, [])
    if paths:
        return min(paths, key=lambda path: path.count("."))
    if not target.startswith("riemtr."):
        return None
    module, _, attribute = target.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return None
    return _by_object().get(id(found))


@cache
def module_of(target: str) -> str | None:
    """Return the module of an object that is not public; None if there is no such object."""
    module, _, attribute = target.rpartition(".")
    if not module.startswith("riemtr"):
        return None
    try:
        return module if hasattr(importlib.import_module(module), attribute) else None
    except ImportError:
        return None


def page_of(path: str) -> str:
    """Return the page of a public name; functions have one that no letter case can confuse."""
    kind = "" if inspect.isclass(public_names()[path].object) else "-function"
    return f"reference/names/{path}{kind}"


# -- the reference --------------------------------------------------------------------------------


def _name_page(name: Name) -> str:
    # Not in the tree of pages: a tree of hundreds is of no use, and takes half the build's time.
    lines = [":orphan:", "", name.path, "=" * len(name.path), ""]
    title = _LAYERS.get(name.layer, name.layer.capitalize())
    lines += [f":doc:`Reference </reference/index>` / :ref:`{title} <layer-{name.layer}>`", ""]
    module = name.path.rpartition(".")[0]
    if inspect.isclass(name.object):
        members = ", ".join(_own_members(name.object))
        lines += [f".. autoclass:: {name.path}"]
        if issubclass(name.object, BaseException):
            lines += ["   :show-inheritance:"]
        if issubclass(name.object, Enum):
            lines += ["   :members:", "   :undoc-members:"]
        elif members:
            lines += [f"   :members: {members}"]
    else:
        lines += [f".. autofunction:: {name.path}"]
    if name.object.__module__ != module:
        lines += ["", f"Defined in :mod:`{name.object.__module__}`."]
    return "\n".join(lines) + "\n"


def _own_members(found: type) -> list[str]:
    """Return the documented methods and properties that riemtr itself defines."""
    names: dict[str, None] = {}
    for kind in reversed(found.__mro__):
        if not kind.__module__.startswith("riemtr"):
            continue
        for name, member in vars(kind).items():
            if name.startswith("_") or not inspect.getdoc(member):
                continue
            # The default of a field may be a function, which is no method.
            foreign = inspect.isfunction(member) and "." not in member.__qualname__
            described = hasattr(member, "__get__") and not foreign
            if described and not inspect.ismemberdescriptor(member) and _is_ours(member):
                names[name] = None
    return list(names)


def _is_ours(member: Any) -> bool:
    """Whether a member has a docstring of its own, unlike a field of a named tuple."""
    return not (inspect.getdoc(member) or "").startswith("Alias for field")


def _reference_page(layers: dict[str, list[Name]]) -> str:
    lines = [
        "Reference",
        "=========",
        "",
        "Every public name has a page, with all its options. Names of ``riemtr`` come first, "
        "those of its packages, parts and types, follow. The :doc:`command line "
        "<commands>` and the :doc:`registered problems <problems>` have pages of their own, and "
        ":doc:`modules` is a map of the source.",
        "",
        ".. toctree::",
        "   :hidden:",
        "",
        "   commands",
        "   problems",
        "   modules",
        "",
    ]
    for layer, names in layers.items():
        title = _LAYERS.get(layer, layer.capitalize())
        lines += [f".. _layer-{layer}:", "", title, "-" * len(title), ""]
        for owner, part in groupby(names, key=lambda name: name.path.rpartition(".")[0]):
            if owner != "riemtr":
                lines += [f"In ``{owner}``:", ""]
            lines += [".. autosummary::", "   :nosignatures:", ""]
            lines += [f"   ~{name.path}" for name in part]
            lines += [""]
    return "\n".join(lines)


def _sorted_layers() -> dict[str, list[Name]]:
    layers: dict[str, list[Name]] = {layer: [] for layer in _LAYERS}
    for name in public_names().values():
        layers.setdefault(name.layer, []).append(name)
    return {
        layer: sorted(names, key=lambda name: (name.path.count("."), name.path.lower()))
        for layer, names in layers.items()
        if names
    }


def _modules_page() -> str:
    lines = [
        "Modules",
        "=======",
        "",
        "One idea per file: this is what each of them is for. :doc:`/explanation/architecture` has "
        "the layers, and the walk of one iteration through them.",
        "",
    ]
    layer = ""
    for found in sorted(pkgutil.walk_packages(riemtr.__path__, "riemtr."), key=lambda f: f.name):
        if found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        if not (module.__doc__ or "").strip():
            continue
        parts = found.name.split(".")
        here = parts[1] if len(parts) > 2 or found.ispkg else "Services"
        if here != layer and here != "Services":
            title = f"riemtr.{here}"
            lines += [title, "-" * len(title), ""]
        layer = here
        lines += [f".. rubric:: {found.name}", "", f".. automodule:: {found.name}"]
        lines += ["   :no-members:", ""]
    return "\n".join(lines)


def _problems_page() -> str:
    """Return a page of all registered problems, in the words of their builders."""
    names = [name for name in riemtr.problems.available() if _is_native(name)]
    lines = [
        "Registered problems",
        "===================",
        "",
        "Build one with ``riemtr.problems.build(name, rng=0, ...)``, solve it from the terminal "
        "with ``riemtr solve NAME -p PARAMETER=VALUE``, compare solvers on it with ``riemtr "
        "compare NAME``. Each knows its solution, a planted one, or a bound that no point beats.",
        "",
    ]
    for name in names:
        builder = riemtr.problems.registry._builder(name)
        lines += [f".. _problem-{name}:", "", name, "-" * len(name), ""]
        lines += [f".. autofunction:: {builder.__module__}.{builder.__qualname__}", ""]
    return "\n".join(lines)


def _is_native(name: str) -> bool:
    return riemtr.problems.registry._builder(name).__module__.startswith("riemtr.")


# -- the command line -----------------------------------------------------------------------------


def _commands_page() -> str:
    """Return a page of what ``riemtr --help`` and the help of every command print."""
    app = importlib.import_module("riemtr.cli.app").app
    lines = [
        "Command line",
        "============",
        "",
        "This page is what ``riemtr --help`` and ``riemtr COMMAND --help`` print.",
        "",
        *_help(),
    ]
    for command in app.registered_commands:
        title = f"riemtr {command.callback.__name__}"
        lines += [title, "-" * len(title), "", *_help(command.callback.__name__)]
    return "\n".join(lines)


def _help(*command: str) -> list[str]:
    runner = importlib.import_module("typer.testing").CliRunner()
    plain = {"COLUMNS": str(_HELP_WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    app = importlib.import_module("riemtr.cli.app").app
    text = runner.invoke(app, [*command, "--help"], env=plain, prog_name="riemtr").output
    kept = [f"   {line.rstrip()}".rstrip() for line in text.strip("\n").splitlines()]
    return [".. code-block:: text", "", *kept, ""]


# -- the gallery ----------------------------------------------------------------------------------

_INTRODUCTION = """\
# Gallery

Each page is a notebook of some five minutes, executed by the tests. They are in `notebooks/` of
the repository, to be run and changed.
"""


def _write_gallery(docs: Path) -> None:
    """Copy the notebooks, and make a page of cards, each with a picture of its notebook."""
    cards, entries, kept = [], [], set()
    for path in sorted((docs.parent / "notebooks").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        notebook = json.loads(text)
        _write(docs / "gallery" / path.name, text)
        title, sentence = _title(notebook)
        picture = _picture(notebook)
        image = ""
        if picture is not None:
            _write(docs / "gallery" / f"{path.stem}.png", picture)
            image = f":img-top: gallery/{path.stem}.png\n:img-alt: {title}\n"
        link = f":link: gallery/{path.stem}\n:link-type: doc\n"
        cards.append(f":::{{grid-item-card}} {title}\n{link}{image}\n{sentence}\n:::\n")
        entries.append(f"gallery/{path.stem}")
        kept |= {path.name, f"{path.stem}.png"}
    for path in (docs / "gallery").glob("*"):
        if path.name not in kept:
            path.unlink()
    grid = "::::{grid} 1 2 2 3\n:gutter: 3\n:class-container: gallery\n\n"
    tree = "```{toctree}\n:hidden:\n\n" + "\n".join(entries) + "\n```\n"
    _write(docs / "gallery.md", f"{_INTRODUCTION}\n{grid}" + "\n".join(cards) + f"::::\n\n{tree}")


def _title(notebook: dict[str, Any]) -> tuple[str, str]:
    """Return a notebook's title, and the first sentence after it."""
    cells = (cell for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    heading, _, rest = "".join(next(cells)["source"]).partition("\n")
    paragraph = " ".join(rest.strip().split("\n\n")[0].split())
    sentence = re.match(r".*?[.:?](?=\s|$)", paragraph)
    return heading.lstrip("# "), sentence[0].rstrip(":") if sentence else paragraph


def _picture(notebook: dict[str, Any]) -> bytes | None:
    """Return the picture of a cell with the tag "thumbnail", or else the last one."""
    pictures = []
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {}).get("image/png")
            if data is not None:
                chosen = "thumbnail" in cell["metadata"].get("tags", [])
                pictures.append((chosen, len(pictures), "".join(data)))
    return base64.b64decode(max(pictures)[2]) if pictures else None


# -- all of it ------------------------------------------------------------------------------------


def write_all(docs: Path) -> None:
    """Write all generated pages, and remove those of names that are gone."""
    layers = _sorted_layers()
    pages = {page_of(name.path): _name_page(name) for names in layers.values() for name in names}
    pages["reference/index"] = _reference_page(layers)
    pages["reference/modules"] = _modules_page()
    pages["reference/commands"] = _commands_page()
    pages["reference/problems"] = _problems_page()
    for page, text in pages.items():
        _write(docs / f"{page}.rst", text)
    for path in (docs / "reference/names").glob("*.rst"):
        if f"reference/names/{path.name[: -len('.rst')]}" not in pages:
            path.unlink()
    _write_gallery(docs)


def _write(path: Path, content: str | bytes) -> None:
    """Write a file if it changes, so that a second build has less to do."""
    encoded = content.encode() if isinstance(content, str) else content
    if not path.exists() or path.read_bytes() != encoded:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded)
