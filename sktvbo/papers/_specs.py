"""Parser of names, lists of names, and ``NAME:key=value,key=value``."""

import ast
import difflib
import re

from .. import evaluation, optimizers
from .._validation import invalid
from ._tasks import Task

# The optimizers' classes by their labels. A composition of the user's parts has none.
ALGORITHMS = {
    algorithm.label: algorithm
    for algorithm in (getattr(optimizers, name) for name in optimizers.__all__)
    if getattr(algorithm, "label", None) is not None
}

# These parameters of optimizers are no options: the bench sets them, or text cannot say them.
_NOT_FOR_OPTIONS = (
    "domain",
    "surrogate",
    "acquisition",
    "maximize",
    "clock",
    "random_state",
    "history",
    "journal",
    "constraints",
    "start_points",
    "query_timeout",
    "time_unit",
)


def split_list(text):
    """Entries of a comma-separated list; a comma before ``key=`` belongs to an entry's options."""
    return [entry.strip() for entry in re.split(r",(?![^,:=]*=)", text)]


def parse(text):
    """Name and options of ``NAME`` or ``NAME:key=value,...``; numbers become numbers."""
    name, colon, rest = text.partition(":")
    options = {}
    for option in re.split(r",(?=[^,=]*=)", rest) if colon else ():
        key, equals, value = (part.strip() for part in option.partition("="))
        if not (key and equals and value):
            raise invalid("Options", "written NAME:key=value,key=value", text)
        try:
            options[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[key] = value
    return name.strip(), options


def choose(text, known, what):
    """Return the known name that equals a text up to case, hyphens and other signs."""

    def plain(name):
        return re.sub(r"[^a-z0-9]", "", name.lower())

    for name in known:
        if plain(name) == plain(text):
            return name
    close = difflib.get_close_matches(text.lower(), {name.lower(): name for name in known}, n=1)
    hint = "".join(f"Did you mean {name!r}?" for name in known if [name.lower()] == close)
    raise invalid(what, f"one of {', '.join(known)}", text, advice=hint)


def configured(labels, common, own):
    """Optimizers of `ALGORITHMS`, by label.

    Parameters
    ----------
    labels : sequence of str
    common : dict
        Parameters for all that have them.
    own : dict of str to dict
        Parameters by label, for those that need others.
    """
    chosen = {}
    for label in labels:
        optimizer = ALGORITHMS[label]()
        known = optimizer.get_params(deep=False)
        shared = {name: value for name, value in common.items() if name in known}
        chosen[label] = optimizer.set_params(**shared | own.get(label, {}))
    return chosen


def make_optimizer(text):
    """Optimizer of ``NAME`` or ``NAME:key=value,...``."""
    name, options = parse(text)
    optimizer = ALGORITHMS[choose(name, ALGORITHMS, "An algorithm")]()
    own = [p for p in optimizer.get_params(deep=False) if p not in _NOT_FOR_OPTIONS]
    for option in options:
        if option not in own:
            expected = f"among {', '.join(own) or 'none'}"
            raise invalid(f"The options of the algorithm {name!r}", expected, option)
    return optimizer.set_params(**options)


def make_task(text, algorithms, clock, horizon):
    """Task of a problem, ``NAME`` or ``NAME:key=value,...``, with algorithms of `ALGORITHMS`."""
    name, options = parse(text)
    chosen = {}
    for entry in split_list(algorithms):
        # The full specification, where there is one, tells variants of an algorithm apart.
        shown = entry if ":" in entry else choose(entry, ALGORITHMS, "An algorithm")
        chosen[shown] = make_optimizer(entry)
    return Task(text, evaluation.Fresh(name, **options), chosen, clock, horizon)
