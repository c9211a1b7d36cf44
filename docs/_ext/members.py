"""Table of the methods of a class, inherited ones too: each links to the page that documents it."""

import importlib
import inspect
import itertools
import re

from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


def page_of(cls, name, bases):
    """The path of the class on whose page a method is documented, "" for that of cls, or None."""
    owner = next(base for base in cls.__mro__ if name in vars(base))
    own = itertools.takewhile(lambda base: base is cls or base.__name__ not in bases, cls.__mro__)
    if owner in own:
        return ""
    ours = owner.__module__.startswith("sktvbo.optimizers.")
    return "sktvbo.optimizers.BayesianOptimizer" if ours else None


# What users look for first; the others follow in the order of the source.
FIRST = ("fit", "ask", "tell", "suggest", "recommend", "predict", "plot")


def methods(cls):
    """The names of the public methods."""
    names = dict.fromkeys(name for base in cls.__mro__[:-1] for name in vars(base))
    for name in dict.fromkeys([*(name for name in FIRST if name in names), *names]):
        value = inspect.getattr_static(cls, name)
        theirs = name.endswith("_request") or name == "get_metadata_routing" or "model_" in name
        public = not name.startswith("_") and not theirs
        if public and inspect.isfunction(getattr(value, "__func__", value)):
            yield name


def row(path, cls, name, bases):
    """A row of the table, in reStructuredText."""
    page, link = page_of(cls, name, bases), f"``{name}``"
    if page is not None:
        link = f":py:meth:`{name} <{page or path}.{name}>`"
    summary = (inspect.getdoc(getattr(cls, name)) or "").partition("\n\n")[0].replace("\n", " ")
    # Labels of other packages, such as :ref:`a word <label>`.
    summary = re.sub(r":ref:`([^`<]*?)\s*<[^`]*>`", r"\1", summary)
    return [f"   * - {link}", f"     - {summary}"]


class Members(SphinxDirective):
    """``.. members:: sktvbo.optimizers.WDBO``; bases are documented on pages of their own."""

    required_arguments = 1
    option_spec = {"bases": directives.unchanged}  # noqa: RUF012

    def run(self):
        module, _, name = self.arguments[0].rpartition(".")
        cls = getattr(importlib.import_module(module), name)
        bases = {base.strip() for base in self.options.get("bases", "").split(",")}
        path = self.arguments[0]
        rows = [line for name in methods(cls) for line in row(path, cls, name, bases)]
        head = [
            ".. rubric:: Methods",
            "",
            ".. list-table::",
            "   :class: members",
            "   :widths: 28 72",
        ]
        return self.parse_text_to_nodes("\n".join([*head, "", *rows])) if rows else []


def setup(app):
    """Register the directive."""
    app.add_directive("members", Members)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
