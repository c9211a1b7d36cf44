"""Table of the methods of a class, inherited ones too: each links to the page that documents it."""

import importlib
import inspect

from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from sktvbo.optimizers import BayesianOptimizer


def documented_in(cls, name, bases):
    """The class on whose page a method is documented: cls, BayesianOptimizer, or none."""
    for owner in cls.__mro__:
        if owner is not cls and owner.__name__ in bases:
            ours = owner.__module__.startswith("sktvbo.optimizers")
            return BayesianOptimizer if ours and hasattr(BayesianOptimizer, name) else None
        if name in vars(owner):
            return cls
    return None


def methods(cls):
    """The names of the public methods, the class's own ones first."""
    for name in dict.fromkeys(name for base in cls.__mro__[:-1] for name in vars(base)):
        value = inspect.getattr_static(cls, name)
        requests = name.endswith("_request") or name == "get_metadata_routing"
        public = not name.startswith("_") and not requests
        if public and inspect.isfunction(getattr(value, "__func__", value)):
            yield name


def row(cls, name, bases):
    """A row of the table, in reStructuredText."""
    owner, link = documented_in(cls, name, bases), f"``{name}``"
    if owner is not None:
        room = ".".join(part for part in owner.__module__.split(".") if not part.startswith("_"))
        link = f":py:meth:`{name} <{room}.{owner.__name__}.{name}>`"
    summary = (inspect.getdoc(getattr(cls, name)) or "").partition("\n\n")[0]
    return [f"   * - {link}", "     - " + summary.replace("\n", " ")]


class Members(SphinxDirective):
    """``.. members:: sktvbo.optimizers.WDBO``; bases are documented on pages of their own."""

    required_arguments = 1
    option_spec = {"bases": directives.unchanged}  # noqa: RUF012

    def run(self):
        module, _, name = self.arguments[0].rpartition(".")
        cls = getattr(importlib.import_module(module), name)
        bases = {base.strip() for base in self.options.get("bases", "").split(",")}
        rows = [line for name in methods(cls) for line in row(cls, name, bases)]
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
