"""The problems by name, and families of problems that share their options."""

from __future__ import annotations

import difflib
from inspect import Parameter, signature
from typing import TYPE_CHECKING

from .._validation import invalid

if TYPE_CHECKING:
    from typing import Any

    from ._base import Problem

_FACTORIES = {}


def register(name, factory):
    """Enter a problem: ``factory`` takes the options as keywords and returns the `Problem`."""
    _FACTORIES[name] = factory


def member(method, name, **defaults):
    """Class decorator that registers a problem of a family, in which an option is said once.

    The base class of the family says what is common, ``__init__(self, name, *, common options,
    **own)``, and hands ``own`` on to a method that each problem defines. A problem's options are
    the keyword-only ones of that method, and then the common ones.

    Parameters
    ----------
    method : str
        Name of that method.
    name : str
        Of the problem.
    **defaults
        Of the common options, where the problem has others than the family.
    """

    def decorate(cls):
        common = cls.__init__

        def __init__(self, **options):
            common(self, name, **(defaults | options))

        own = _keywords(getattr(cls, method))
        shared = [p.replace(default=defaults.get(p.name, p.default)) for p in _keywords(common)]
        itself = Parameter("self", Parameter.POSITIONAL_ONLY)
        __init__.__signature__ = signature(common).replace(parameters=[itself, *own, *shared])
        cls.__init__ = __init__
        register(name, cls)
        return cls

    return decorate


def _keywords(function):
    parameters = signature(function).parameters.values()
    return [p for p in parameters if p.kind is Parameter.KEYWORD_ONLY]


def available() -> list[str]:
    """Names that `make` knows.

    Returns
    -------
    list of str
        Sorted.

    Examples
    --------
    >>> from sktvbo import problems
    >>> "ackley" in problems.available()
    True
    """
    return sorted(_FACTORIES)


def make(name: str, **options: Any) -> Problem:
    """Make a problem by its name.

    Parameters
    ----------
    name : str
        One of `available`.
    **options
        ``horizon=600.0`` (seconds; the function's own time coordinate spans its full range over
        [0, horizon]), ``noise=0.05`` (variance of the noise as a fraction of the objective's
        variance over domain x [0, horizon]) or ``noise_variance`` in its place (in squared units of
        f), ``random_state=None`` (of the noise). The sensor problems also take ``day=0``, a day or
        the (first, last) of several, and ``data_dir``. "markov-gp", "gp-abrupt", "gp-slow",
        "moving-bump" and "moving-peaks" count ``horizon`` in steps and have no ``noise``, but a
        ``noise_variance``. Other options are named in the error about one that a problem does not
        have.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        An unknown name, or an option out of its range.
    TypeError
        An option that the problem does not have.
    MissingDataError
        The problem needs a data file that is not at hand.

    Notes
    -----
    The defaults are those of W-DBO appendix G.1: 600 seconds, and 5 % of noise as its
    text may be read; BOLT's table 2 prints other variances, most of them smaller.

    Examples
    --------
    >>> from sktvbo import problems
    >>> problem = problems.make("ackley", horizon=600.0, noise=0.05, random_state=0)
    >>> x_star, f_star = problem.optimum(300.0)
    >>> x_star
    array([0.5, 0.5, 0.5])
    """
    if name not in _FACTORIES:
        close = difflib.get_close_matches(str(name), _FACTORIES, n=1)
        hint = f"Did you mean {close[0]!r}?" if close else ""
        raise invalid(
            "The name of a problem", f"one of {', '.join(available())}", name, advice=hint
        )
    factory = _FACTORIES[name]
    known = signature(factory).parameters
    for option in options:
        if option not in known:
            expected = f"among {', '.join(known)}"
            raise invalid(f"The options of the problem {name!r}", expected, option, error=TypeError)
    return factory(**options)
