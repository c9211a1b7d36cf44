"""Parser of names, lists of names, and ``NAME:key=value,key=value``."""

import ast
import re

from _tasks import Task
from problems import Fresh

from sktvbo._validation import invalid
from sktvbo.optimizers._names import ALGORITHMS, label_of

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
    "outcome_constraints",
    "safety",
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
    optimizer = ALGORITHMS[label_of(name)]()
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
        shown = entry if ":" in entry else label_of(entry)
        chosen[shown] = make_optimizer(entry)
    return Task(text, Fresh(name, **options), chosen, clock, horizon)
