"""First state of a run, from the parameters of an optimizer."""

import copy

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._durations import number_of_duration
from .._validation import check_random_state, invalid
from ..domain import as_domain
from ..domain._constrained import constrained
from ..exceptions import DomainError, InvalidObservationError
from ..kernels import ChordalMatern
from ..staleness import MaximumSize
from ._clock import make_clock
from ._outcomes import check_names, limits_of, with_scales
from ._parts import begun_parts
from ._state import History, Log, PendingQueries, RunConfig, RunState, n_stored


def first_state(algorithm):
    """Return the state of a run before its first step.

    Parameters
    ----------
    algorithm : AskTell
        With checked parameters, which nothing else changes.
    """
    policy, size_limit = algorithm._make_policy(), None
    acquisition = algorithm._chosen_acquisition()
    _check_parts(algorithm, algorithm.surrogate, policy)
    if algorithm.max_size not in (None, policy.max_size):
        size_limit = MaximumSize(algorithm.max_size)
    domain = constrained(as_domain(algorithm.domain), algorithm.constraints, algorithm)
    limits = limits_of(algorithm.outcome_constraints, algorithm)
    check_names(limits, domain, algorithm)
    config = RunConfig(
        algorithm=algorithm,
        domain=domain,
        acquisition=acquisition,
        n_initial=algorithm._n_initial(domain),
        start_points=_start_points(algorithm, domain),
        size_limit=size_limit,
        limits=with_scales(limits, algorithm.outcome_scales, algorithm),
    )
    return RunState(
        config=config,
        clock=make_clock(algorithm.clock, algorithm),
        policy=policy,
        rng=_random_state(algorithm.random_state),
        pending=_no_queries(algorithm),
        history=History(Log(limit=n_stored(algorithm.history))),
        parts=begun_parts(config),
    )


def has_auto_timeout(optimizer):
    """Return True if an optimizer learns when queries expire."""
    timeout = getattr(optimizer, "query_timeout", None)
    return isinstance(timeout, str) and timeout == "auto"


def _no_queries(algorithm):
    """Return the pending queries before the first one."""
    if has_auto_timeout(algorithm):
        return PendingQueries(delays=())
    timeout = number_of_duration(algorithm.query_timeout, algorithm.time_unit)
    return PendingQueries(timeout=np.inf if timeout is None else float(timeout))


def _random_state(given):
    """Return a random state of the run's own."""
    if given is None:  # a copy of NumPy's global generator would be every optimizer's
        return np.random.RandomState()
    return copy.deepcopy(check_random_state(given))


def _start_points(algorithm, domain):
    """Return the start points (k, d) of an algorithm as rows of a domain."""
    if algorithm.start_points is None:
        return np.empty((0, domain.n_dims))
    try:
        start = domain.places(algorithm.start_points)
    except (DomainError, InvalidObservationError) as exc:
        # They are what the message calls X.
        raise type(exc)(f"start_points{str(exc).removeprefix('X')}") from exc
    allowed = domain.queryable(start)
    if not allowed.all():
        got = str(start[np.argmin(allowed)].tolist())
        expected = "points that satisfy the constraints"
        raise invalid("start_points", expected, owner=algorithm, got=got, error=DomainError)
    return start


def _check_parts(owner, surrogate, policy):
    """Raise unless an optimizer's surrogate, None for its own, and policy can work together."""
    if surrogate is not None:
        if not hasattr(surrogate, "fit") or isinstance(surrogate, type):
            expected = "None or an estimator, see sktvbo.staleness.Surrogate"
            raise invalid("surrogate", expected, surrogate, owner)
        if hasattr(surrogate, "check"):
            surrogate.check()
        if getattr(surrogate, "max_size", None) is not None:
            advice = "Use the optimizer's max_size, or a policy."
            raise invalid("max_size", "None", surrogate.max_size, surrogate, advice=advice)
        _check_places(surrogate)
    policy.check(surrogate)


def _check_places(surrogate):
    """Raise if a kernel of a surrogate takes degrees: places are scaled to the unit box."""
    spatial = getattr(surrogate, "spatial_kernel", None)
    parts = [spatial, *spatial.get_params().values()] if isinstance(spatial, Kernel) else []
    if any(isinstance(part, ChordalMatern) for part in parts):
        expected, got = "a kernel other than ChordalMatern", f"{spatial}"
        advice = "Optimizers scale places to the unit box: use Matern."
        raise invalid("spatial_kernel", expected, owner=surrogate, got=got, advice=advice)
