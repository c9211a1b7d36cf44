"""Checks of what is run on what, shared by all that make runs; and their seeds."""

import numpy as np
from sklearn.utils import check_random_state

from .._validation import check_int, check_real, invalid

# A run sets these parameters of an optimizer, whatever they were.
SET_BY_RUN = ("domain", "maximize", "random_state")


def check_optimizer(optimizer, name="optimizer", owner=None):
    """Raise TypeError unless this is an ask/tell optimizer that a run can clone and set up."""
    known = all(hasattr(optimizer, method) for method in ("ask", "tell", "get_params"))
    if not known or isinstance(optimizer, type):
        raise invalid(
            name,
            "an ask/tell optimizer that is a scikit-learn estimator",
            optimizer,
            owner,
            advice="Use for example sktvbo.WDBO().",
            error=TypeError,
        )
    lacking = set(SET_BY_RUN).difference(optimizer.get_params(deep=False))
    if lacking:
        raise invalid(
            name,
            f"an optimizer with the parameters {', '.join(SET_BY_RUN)}, which a run sets",
            owner=owner,
            got=f"{type(optimizer).__name__} without {', '.join(sorted(lacking))}",
            error=TypeError,
        )


def check_problem(problem):
    """Raise TypeError unless this looks like a `sktvbo.problems.Problem`."""
    if not all(hasattr(problem, name) for name in ("domain", "horizon", "observe", "optimum")):
        raise invalid(
            "problem",
            "a sktvbo.problems.Problem",
            problem,
            advice="Make one with sktvbo.problems.make(name).",
            error=TypeError,
        )


def check_horizon(horizon, problem, owner=None):
    """The end of a run on a problem, as a float; None is the problem's own horizon."""
    if horizon is None:
        return problem.horizon
    interval = f"(0, {problem.horizon}]"
    advice = f"The horizon of {problem.name!r} is {problem.horizon}."
    return check_real(horizon, "horizon", owner, interval=interval, advice=advice)


def check_run_options(n_initial, expert, owner=None):
    """Raise unless these options of a run, which do not depend on the problem, make sense."""
    check_int(n_initial, "n_initial", owner, low=0)
    if not (
        expert is None or callable(expert) or (isinstance(expert, str) and expert == "problem")
    ):
        raise invalid(
            "expert", "a callable (X, t) -> y, 'problem' or None", expert, owner, error=TypeError
        )


def random_seeds(random_state, n):
    """A list of n seeds, int; the first ones do not depend on how many follow."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n).tolist()
