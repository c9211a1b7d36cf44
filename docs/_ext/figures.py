"""Figures of a page's own programs.

A page with the comment of MARK has its doctests run in their order, each with the figures that it
makes below it. In the source they are plain doctests, which a code host shows and pytest runs.
"""

import re

MARK = ".. The figures of this page are those of its programs.\n"
BLOCK = re.compile(r"^>>> .*\n(?:\S.*\n)*", re.MULTILINE)


def described(paragraph):
    """Return a paragraph in one line without markup, which describes the figures that follow."""
    words = re.sub(r":[\w:]+:`~?([^`<]*?)\s*(<[^`]*>)?`", r"\1", paragraph)
    return re.sub(r"\s+", " ", re.sub(r"[`*]", "", words)).strip(" :") or "Figure"


def with_figures(text):
    """Return the text of a page with its doctests as plot directives, but for those of errors."""
    contexts = iter(["reset"])

    def directive(match):
        block = match.group()
        if "Traceback" in block:
            return block
        said = text[: match.start()].rstrip().rpartition("\n\n")[2]  # the paragraph before
        head = [
            ".. plot::",
            f"   :context: {next(contexts, 'close-figs')}",
            "   :include-source:",
            f"   :alt: {described(said)}",
        ]
        return "\n".join([*head, "", *("   " + line for line in block.splitlines()), ""])

    return BLOCK.sub(directive, text)


def _read(app, docname, source):
    if MARK in source[0]:
        source[0] = with_figures(source[0])


def setup(app):
    """Rewrite pages as they are read."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
