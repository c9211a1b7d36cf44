"""Docstrings of classes that share parameters: each says all of them, the source says each once."""

import inspect
import re

# A section's title, and the line under it.
_TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def described_like(shared):
    """Decorator of a class: parameters and attributes that it does not describe are as in another.

    Parameters
    ----------
    shared : type
        The class whose docstring has them, in numpydoc.

    Returns
    -------
    callable
    """

    def describe(cls):
        if cls is not shared and cls.__doc__ and shared.__doc__:  # python -OO has none
            cls.__doc__ = _complete(cls.__doc__, shared.__doc__, inspect.signature(cls).parameters)
        return cls

    return describe


def _complete(doc, shared, parameters):
    """The docstring, with what the other one says of these parameters, and of attributes."""
    head, sections = _split(doc)
    others = _split(shared)[1]
    for title in ("Attributes", "Parameters"):
        own, theirs = _entries(sections.pop(title, "")), _entries(others[title])
        said = {name for names in own for name in names}
        for names, entry in theirs.items():
            if not said.intersection(names) and (title == "Attributes" or names[0] in parameters):
                own[names] = entry
        if title == "Parameters":
            order = list(parameters)
            own = dict(sorted(own.items(), key=lambda entry: order.index(entry[0][0])))
        sections = {title: "\n".join(own.values()), **sections}
    bodies = (f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items())
    return "\n\n".join([head, *bodies]) + "\n"


def _split(doc):
    """What is before the first section, and the text of each."""
    head, *rest = _TITLE.split(inspect.cleandoc(doc))
    return head.strip(), {title: text.strip("\n") for title, text in zip(rest[::2], rest[1::2])}


def _entries(section):
    """The entries of a section, by the names that they are of."""
    entries = re.split(r"\n(?=\S)", section) if section else []
    return {tuple(entry.partition(" :")[0].split(", ")): entry.rstrip() for entry in entries}
