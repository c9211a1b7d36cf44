"""Docstrings of classes that share parameters: complete for users, without copies in the source."""

import inspect
import re

# A section's title, and the line under it.
_TITLE = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)


def described_like(shared):
    """Return a decorator that adds parameters and attributes of one docstring to another.

    Parameters
    ----------
    shared : type
        Class whose numpydoc docstring describes what the decorated class does not.

    Returns
    -------
    callable
    """

    def describe(cls):
        if cls is not shared and cls.__doc__ and shared.__doc__:
            cls.__doc__ = _complete(cls.__doc__, shared.__doc__, inspect.signature(cls).parameters)
        return cls

    return describe


def _complete(doc, shared, parameters):
    """Return a docstring with missing ``parameters``, and all missing attributes, of another."""
    head, sections = _split(doc)
    _, shared_sections = _split(shared)
    for title in ("Attributes", "Parameters"):
        # Under python -OO a dataclass has its signature for a docstring, without sections.
        own, others = (_entries(some.pop(title, "")) for some in (sections, shared_sections))
        described = {name for names in own for name in names}
        for names, entry in others.items():
            if not described.intersection(names) and (
                title == "Attributes" or names[0] in parameters
            ):
                own[names] = entry
        if title == "Parameters":
            order = list(parameters)
            own = dict(sorted(own.items(), key=lambda entry: order.index(entry[0][0])))
        if own:
            sections = {title: "\n".join(own.values()), **sections}
    bodies = (f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items())
    return "\n\n".join([head, *bodies]) + "\n"


def _split(doc):
    """Return the text before the first section, and the text of each section by its title."""
    head, *rest = _TITLE.split(inspect.cleandoc(doc))
    return head.strip(), {title: text.strip("\n") for title, text in zip(rest[::2], rest[1::2])}


def _entries(section):
    """Return the entries of a section by the names that they describe."""
    entries = re.split(r"\n(?=\S)", section) if section else []
    return {tuple(entry.partition(" :")[0].split(", ")): entry.rstrip() for entry in entries}
