"""The site: ``sphinx-build -W -n docs docs/_build/html``; ``generate.py`` has its pages."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import generate  # noqa: E402 - beside this file
from docutils.nodes import SkipNode  # noqa: E402
from docutils.utils.math import MathError  # noqa: E402
from docutils.utils.math.latex2mathml import tex2mathml  # noqa: E402
from sphinx.util import logging  # noqa: E402
from sphinx.util.nodes import make_refnode  # noqa: E402

import riemtr  # noqa: E402

project = "riemtr"
author = "The riemtr founders"
copyright = f"2026, {author}"
version = release = riemtr.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build"]
# Folders and pages of results, which the site does not have, are named without a link.
nitpick_ignore_regex = [("myst", r"\.\./benchmarks/results(/[\w./]+)?")]

# -- the reference --------------------------------------------------------------------------------

# Docstrings state types in words; signatures stay short enough to read.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autosummary_generate = False  # generate.py writes the pages
add_module_names = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_preprocess_types = False
# A list of attributes in place of an entry for each: properties have entries of their own.
napoleon_custom_sections = [("Attributes", "params_style")]

# -- pages and notebooks --------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
# Notebooks are stored with their outputs, and executed in the tests: a build only renders them.
nb_execution_mode = "off"
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"

# -- appearance -----------------------------------------------------------------------------------

html_theme = "furo"
html_title = "riemtr"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b6e8a",
        "color-brand-content": "#0b6e8a",
        "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#59c2dd",
        "color-brand-content": "#59c2dd",
    },
}
html_show_sourcelink = False
html_math_renderer = "mathml"
pygments_style = "friendly"
pygments_dark_style = "monokai"


def resolve(app, env, node, content):
    """Resolve a reference by any import path of a public name, or by the name alone.

    Types of parameters are written in words, many of them names of Python, numpy or pymanopt: names
    outside riemtr stay plain text. A name of riemtr that does not exist is an error of the build.
    """
    target = node["reftarget"]
    if node.get("refdomain") != "py":
        return None
    name = generate.canonical(target)
    if name is not None:
        page = generate.page_of(name)
        return make_refnode(app.builder, node["refdoc"], page, name, content)
    module = generate.module_of(target)
    if module is not None:
        anchor = f"module-{module}"
        return make_refnode(app.builder, node["refdoc"], "reference/modules", anchor, content)
    return None if target.startswith("riemtr.") else content


# Docstrings of properties as they are written, until Napoleon has had its turn.
SENTENCES = {}


def keep_sentences(app, what, name, found, options, lines):
    """Keep the docstring of a property: Napoleon takes words before a colon for its type."""
    if what in ("attribute", "property") and not any(line.startswith("---") for line in lines):
        SENTENCES[name] = list(lines)


def mend_docstring(app, what, name, found, options, lines):
    """Escape what Sphinx would take for markup, and let types of parameters link to public names.

    The bars of absolute values are no substitutions, and ``components_`` is no link. A type is
    written in words, of which Sphinx would look up each among all attributes of all classes.
    """
    lines[:] = SENTENCES.pop(name, lines)
    within = None  # the indentation of a block of formulas or code
    for number, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        if within is not None and line.strip() and depth <= within:
            within = None
        if within is None and not line.lstrip().startswith((">>>", "...", "| ", "+-")):
            parts = re.split(r"(``.*?``|:\w+:`[^`]*`|`[^`]*`)", line)
            parts[::2] = [
                re.sub(r"(?<!\\)\||(?<=\w)_(?=[\s,.;:)*]|$)", r"\\\g<0>", part)
                for part in parts[::2]
            ]
            lines[number] = linked_type("".join(parts))
        if line.rstrip().endswith("::") or line.lstrip().startswith(".. math::"):
            within = depth if within is None else within


def linked_type(line):
    """Return the line of a parameter's type with links to the public classes that it names."""
    field, separator, text = line.partition(": ")
    if not (field.startswith(":type ") and separator) or "`" in text:
        return line
    linked = re.sub(r"[A-Za-z_.]*\b[A-Z]\w+\b", lambda word: class_role(word[0]), text)
    return f"{field}: {linked}" if linked != text else f"{field}: *{text}*"


def class_role(word):
    """Return a link to a public class of riemtr, or the word as it is."""
    return f":class:`{word}`" if generate.canonical(word) is not None else word


# Commands that docutils does not know, and what stands for them; spaces and sizes are left out.
MATHML = {"dots": r"\ldots"}


def write_formula(writer, node):
    """Write a formula as MathML, which browsers know: no script, and nothing from a network."""
    block = node.tagname == "math_block"
    try:
        # TeX takes \frac12 for a half, docutils for twelve over what follows.
        formula = re.sub(r"\\([td]?frac)(\d)(\d)", r"\\\1{\2}{\3}", node.astext())
        formula = re.sub(
            r"\\(dots|[bB]ig[lrg]?|!)(?![a-z])", lambda known: MATHML.get(known[1], ""), formula
        )
        markup = tex2mathml(formula, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula: %s", error, location=node)
        markup = f"<code>{writer.encode(node.astext())}</code>"
    if block and node["number"]:
        markup += f'<span class="eqno">({node["number"]})</span>'
    writer.body.append(f'<div class="math">{markup}</div>' if block else markup)
    raise SkipNode


def setup(app):
    """Write the generated pages before Sphinx looks for sources."""
    generate.write_all(HERE)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("missing-reference", resolve)
    app.connect("autodoc-process-docstring", keep_sentences, priority=1)  # before Napoleon
    app.connect("autodoc-process-docstring", mend_docstring, priority=900)
