"""Problems by name, and families of problems with common options."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from .._validation import choose, invalid
from ._base import Problem

_FACTORIES = {}


def register(name, factory):
    """Register a problem: ``factory`` takes the options as keywords and returns the `Problem`."""
    _FACTORIES[name] = factory


def member(method, name, **defaults):
    """Class decorator that registers a problem of a family.

    The base class of the family has ``__init__(self, name, *, common options, **own)``, and passes
    ``own`` to a method that each problem defines. The options of a problem are the keyword-only
    ones of that method, then the common ones.

    Parameters
    ----------
    method : str
        Name of that method.
    name : str
        Name of the problem.
    **defaults
        Defaults of common options that differ from the family's.
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
    """Return the names of all problems.

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
    """Return a problem by its name.

    Parameters
    ----------
    name : str
        One of `available`, up to case and hyphens.
    **options
        Options of the problem; see Notes. The error of an unknown option lists them all.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        An unknown name, or an option out of its range.
    TypeError
        An option that the problem does not have.

    Notes
    -----
    Common options:

    - ``horizon=600.0``: seconds, over which a function's time coordinate spans its full range;
    - ``noise=0.05``: variance of the noise as a fraction of the objective's variance over
      domain x [0, horizon], or ``noise_variance``, in squared units of f;
    - ``random_state=None``: random state of the noise.

    "markov-gp", "gp-abrupt", "gp-slow" and "moving-peaks" count ``horizon`` in steps and have
    ``noise_variance``, without ``noise``.

    The defaults are those of W-DBO appendix G.1: 600 seconds, and 5 % of noise as a reading of its
    text. BOLT's table 2 has other variances, most of them smaller.

    Examples
    --------
    >>> from sktvbo import problems
    >>> problem = problems.make("ackley", horizon=600.0, noise=0.05, random_state=0)
    >>> x_star, f_star = problem.optimum(300.0)
    >>> x_star
    array([0.5, 0.5, 0.5])
    """
    factory = _FACTORIES[choose(str(name), available(), "The name of a problem")]
    known = signature(factory).parameters
    for option in options:
        if option not in known:
            expected = f"among {', '.join(known)}"
            raise invalid(f"The options of the problem {name!r}", expected, option, error=TypeError)
    return factory(**options)
