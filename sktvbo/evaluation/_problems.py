"""Problems of a comparison: fixed ones, and new ones for each replication."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from .._validation import invalid
from ..problems import Problem, available, make
from ._arguments import check_problem


class Fresh:
    """Problem with a new function in every replication, for `compare`.

    Called with the seed of a replication, it makes the problem. All optimizers of a replication get
    the same function. Any callable of a seed works in its place; this one makes problems by name.

    Parameters
    ----------
    problem : str
        One of `sktvbo.problems.available`, preferably one whose function is drawn from
        ``random_state``, such as "markov-gp", "gp-abrupt" or "gp-slow".
    **options
        Options of `sktvbo.problems.make`, without ``random_state``.

    Raises
    ------
    ValueError
        An unknown name.
    TypeError
        ``random_state`` among the options.

    Notes
    -----
    ``make`` gets ``RandomState([seed, 1])`` rather than the seed: `run` draws the initial design
    from the seed, and the function must be independent of the design.

    Examples
    --------
    >>> from sktvbo import evaluation
    >>> fresh = evaluation.Fresh("markov-gp", epsilon=0.03, n_grid=10, horizon=50)
    >>> fresh(1).value([0, 0], 0) == fresh(1).value([0, 0], 0)
    True
    >>> fresh(1).value([0, 0], 0) == fresh(2).value([0, 0], 0)
    False
    """

    def __init__(self, problem: str, **options: Any) -> None:
        if problem not in available():
            make(problem)  # raises an error that lists the names
        if "random_state" in options:
            expected = "without random_state, since every seed makes a problem"
            advice = f"Use sktvbo.problems.make({problem!r}, random_state=...) for one function."
            raise invalid("options", expected, options, self, advice=advice, error=TypeError)
        self.name = problem
        self.options = options

    def __call__(self, seed: int) -> Problem:
        """Make the problem.

        Parameters
        ----------
        seed : int

        Returns
        -------
        Problem
        """
        return make(self.name, random_state=np.random.RandomState([seed, 1]), **self.options)

    def __repr__(self):
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"{type(self).__name__}({self.name!r}{options})"


def named_problems(problems):
    """Return a dict of name to Problem or callable, from any form that `compare` accepts."""
    pairs = []
    for entry in [problems] if isinstance(problems, Mapping) else problems:
        if isinstance(entry, Mapping):
            for problem in entry.values():
                if not is_factory(problem):
                    check_problem(problem)
            pairs.extend(entry.items())
        else:
            if not isinstance(entry, Fresh):
                check_problem(entry)
            pairs.append((entry.name, entry))
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        advice = "Set problem.name, or give a dict of name to problem."
        raise invalid("problems", "of distinct names", got=", ".join(names), advice=advice)
    return dict(pairs)


def make_problem(problem, name, seed):
    """Return the problem of one replication, with its name in the comparison."""
    problem = problem(seed) if is_factory(problem) else copy(problem)
    check_problem(problem)
    problem.name = name
    return problem


def is_factory(entry):
    """Return True for a function of a seed, and False for a problem."""
    return callable(entry) and not hasattr(entry, "observe")
