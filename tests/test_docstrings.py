"""Docstrings: all parameters are said where one looks for them, and numpydoc finds nothing."""

import importlib
import inspect

import pytest

import sktvbo
from sktvbo._docstrings import described_like


class Shared:
    """The one that says it.

    Parameters
    ----------
    rate : float, default=1.0
        How fast.
    depth, width : int, default=3
        How far.
    unused : int, default=0

    Attributes
    ----------
    n_ : int
        How many.

    Notes
    -----
    Not of the other.
    """


def test_what_a_class_does_not_say_is_taken_from_the_other():
    @described_like(Shared)
    class Own:
        """The other one.

        Parameters
        ----------
        alpha : float, default=0.5
            Its own.
        rate : float, default=2.0
            Twice as fast.

        References
        ----------
        Nobody.
        """

        def __init__(self, rate=2.0, depth=3, width=3, alpha=0.5):
            pass

    assert Own.__doc__ == inspect.cleandoc("""
        The other one.

        Parameters
        ----------
        rate : float, default=2.0
            Twice as fast.
        depth, width : int, default=3
            How far.
        alpha : float, default=0.5
            Its own.

        Attributes
        ----------
        n_ : int
            How many.

        References
        ----------
        Nobody.
    """) + "\n"  # fmt: skip


def test_prose_that_begins_with_a_name_is_no_entry():
    prose = "rate, depth and width, see :doc:`/theory`.\nrate, or else\ndepth"
    doc = inspect.cleandoc(Shared.__doc__).replace("Not of the other.", prose)
    assert prose.partition("\n")[0] in doc
    assert entries(doc) == ["rate", "depth", "width", "unused", "n_"]


@pytest.mark.parametrize("name", sktvbo.__all__)
def test_each_class_says_all_its_parameters(name):
    owner = getattr(sktvbo, name)
    said = entries(owner.__doc__)
    for parameter in inspect.signature(owner).parameters.values():
        if parameter.kind is not parameter.VAR_KEYWORD:
            assert said.count(parameter.name) == 1, parameter


# What numpydoc asks for and this package does not: a summary on a line of its own (GL01); sections
# that say nothing (See Also, Examples, an extended summary of what one line says); a description
# where name and type say it (PR07, RT03); capitals of Greek letters (PR08, RT04, SS02); names of
# results without a type (RT02); nor is every word that ends in s a third person (SS05).
NOT_ASKED = {"GL01", "SA01", "EX01", "ES01", "PR07", "RT03", "PR08", "RT04", "SS02", "RT02", "SS05"}
# Sections that a method leaves to the one that it overrides.
INHERITED = {"GL08", "PR01", "RT01", "YD01"}
ROOMS = [f"sktvbo.{room}" for room in sktvbo._SUBMODULES if room != "integrations"]
ROOMS += ["sktvbo.integrations.optuna", "sktvbo.integrations.gest", "sktvbo"]


def entries(doc):
    """Names that begin an entry of any section: a line ``name : type``."""
    lines = inspect.cleandoc(doc or "").split("\n")
    found = [line.partition(" : ")[0].split(", ") for line in lines if " : " in line]
    return [name for names in found for name in names]


def public_objects():
    """(path, owner, object) of each public name, and of what its classes define in the open."""
    seen = set()
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            owner = getattr(module, name)
            if room == "sktvbo" and owner in seen:
                continue  # described where it is defined
            seen.add(owner)
            yield f"{room}.{name}", None, owner
            for base in inspect.getmro(owner) if inspect.isclass(owner) else ():
                if not base.__module__.startswith("sktvbo"):
                    continue
                for member, value in vars(base).items():
                    ours = inspect.isroutine(value) or isinstance(
                        value, property | classmethod | staticmethod
                    )
                    if not member.startswith("_") and ours and (base, member) not in seen:
                        seen.add((base, member))
                        yield f"{room}.{name}.{member}", owner, value


def overridden(owner, member):
    """Whether what a class defines is described by one that it is derived from."""
    defined = [base for base in owner.__mro__ if member in vars(base)]
    return any(inspect.getdoc(vars(base)[member]) for base in defined[1:])


def complaints(path, owner, value):
    """What numpydoc finds, but for what is not asked of it."""
    from numpydoc.validate import validate

    member = path.rpartition(".")[2]
    if isinstance(value, property) and member in entries(owner.__doc__):
        return []  # an attribute, which the class describes
    codes = NOT_ASKED | (INHERITED if owner is not None and overridden(owner, member) else set())
    found = [(code, text) for code, text in validate(path)["errors"] if code not in codes]
    if inspect.isclass(value) and "PR01" in dict(found):
        # Of what one gets, and does not make, the attributes are described; a protocol has neither.
        said = set(entries(value.__doc__))
        made = (
            set() if getattr(value, "_is_protocol", False) else inspect.signature(value).parameters
        )
        if said.issuperset(made):
            found = [(code, text) for code, text in found if code != "PR01"]
    return found


def test_numpydoc_finds_nothing():
    pytest.importorskip("numpydoc")
    found = {path: complaints(path, owner, value) for path, owner, value in public_objects()}
    assert len(found) > 300
    assert {path: texts for path, texts in found.items() if texts} == {}
