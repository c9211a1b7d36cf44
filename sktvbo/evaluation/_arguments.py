"""Checks of the arguments of a run, and its seeds."""

import numpy as np

from .._validation import check_int, check_random_state, check_real, invalid


def check_problem(problem):
    """Raise TypeError unless this has the members of a `sktvbo.problems.Problem`."""
    if not all(hasattr(problem, name) for name in ("domain", "horizon", "observe", "optimum")):
        expected, advice = "a sktvbo.problems.Problem", "Make one with sktvbo.problems.make(name)."
        raise invalid("problem", expected, problem, advice=advice, error=TypeError)


def check_horizon(horizon, problem, owner=None):
    """Return the end of a run on a problem, as a float; None is the problem's own horizon."""
    if horizon is None:
        return problem.horizon
    interval = f"(0, {problem.horizon}]"
    advice = f"The horizon of {problem.name!r} is {problem.horizon}."
    return check_real(horizon, "horizon", owner, interval=interval, advice=advice)


def check_run_options(n_initial, expert, owner=None):
    """Raise an error unless these options, which do not depend on the problem, are valid."""
    check_int(n_initial, "n_initial", owner, low=0)
    is_problem = isinstance(expert, str) and expert == "problem"
    if not (expert is None or is_problem or callable(expert)):
        expected = "a callable (X, t) -> y, 'problem' or None"
        raise invalid("expert", expected, expert, owner, error=TypeError)


def random_seeds(random_state, n):
    """Return a list of n seeds, int. The first ones do not depend on n."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n).tolist()
