"""The surrogates of the algorithms, for a domain scaled to the unit box."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from ..gaussian_process import QuadraticMean, TimeVaryingGPRegressor
from ..staleness import KeepAll

# Of a domain with at most this many members, a power of two, the posterior is kept at each.
_MAX_PLACES = 4096


@dataclass(frozen=True)
class Times:
    """Times that the bounds of a surrogate's temporal kernel may follow.

    Attributes
    ----------
    kept : ndarray of shape (n,)
        Of the data set that is learnt from, the new observation included.
    recent : ndarray of shape (m,)
        Of the latest observations told, removed ones and the new one included.
    pending : tuple of float
        Of queries that were asked for and not told yet.
    n_unit : int
        Coordinates of a place, and of its context, in the unit box.
    has_context : bool
        Whether some of them are given and not chosen.
    is_constrained : bool
        Whether constraints forbid a part of the box.
    """

    kept: np.ndarray
    recent: np.ndarray
    pending: tuple = ()
    n_unit: int = 1
    has_context: bool = False
    is_constrained: bool = False


def default_surrogate(temporal_kernel, kind=TimeVaryingGPRegressor, longest=2.0, **options):
    """Matérn 5/2 in space, with bounds for the unit box and standardized observations.

    The bounds are close to those of TuRBO (Eriksson et al. 2019), and matter more than they seem
    to: after the function has jumped, or when all recent queries are at one place, the likelihood
    alone is content with a lengthscale of many boxes, and exploration ends. The mean is learnt: who
    tracks well has seen little but good values, and what is unexplored is worse than these.
    """
    return kind(
        Matern(length_scale=0.5, length_scale_bounds=(0.01, longest), nu=2.5),
        temporal_kernel,
        signal_variance_bounds=(0.05, 20.0),
        noise_variance_bounds=(1e-4, 1.0),
        normalize_y=True,
        mean_prior_std=1.0,
        **options,
    )


def static_surrogate(**options):
    """The default surrogate of a function that does not change."""
    return default_surrogate(ConstantKernel(1.0, "fixed"), **options)


def smooth_surrogate(times):
    """The default surrogate of a function that changes smoothly.

    Its lengthscale in space is at most half of a side of the box in one and two dimensions, and
    √(d/8) sides in more, as the distances between places grow; never above 2, and 2 beside a
    context. A longer one takes what it does not fit for noise. After a jump that may explain
    everything: queries then alternate between two corners, and what they observe never says
    otherwise. Contexts come from elsewhere, and do not stay in corners.

    The best places are expected inside of the box, wherever that is likelier than that they are
    anywhere; but not with constraints, which are made for places that would be better.
    """
    longest = 2.0
    if not times.has_context:
        longest = min(np.sqrt(max(times.n_unit, 2) / 8.0), longest)
    prior_mean = None if times.is_constrained else QuadraticMean(only_if_likelier=True)
    return default_surrogate(smooth_kernel(times), longest=longest, prior_mean=prior_mean)


def smooth_kernel(times, nu=2.5):
    """Matérn in time, of at least five sampling intervals and at most ten times the span.

    What changes faster than that cannot be tracked by one query an interval. Without the lower
    bound a few odd observations make the likelihood believe in pure change: each interval then buys
    the removal of what little is known, and what is left supports no better belief.
    """
    gaps = np.diff(np.unique(times.recent))
    lowest = 5.0 * (np.median(gaps) if gaps.size else 1.0)
    span = np.ptp(times.kept)
    bounds = (lowest, max(10.0 * span, 2.0 * lowest))
    return Matern(np.clip(0.25 * span, *bounds), bounds, nu=nu)


def suited(surrogate, domain, policy):
    """An unfitted surrogate with what an optimizer knows of time, of places, and of what it keeps.

    Where there are finitely many places and nothing is forgotten, a regressor whose ``solver`` is
    "auto" may take the Kalman filter; queries that never repeat have no use for it, and it cannot
    forget single rows. A quadratic prior mean is one of the continuous coordinates.
    """
    parameters = surrogate.get_params(deep=False)
    # A fit warns its user, and would of each fit of the optimizer's.
    ours = {"time_column": -1, "warn": False}
    surrogate.set_params(**{name: ours[name] for name in ours.keys() & parameters.keys()})
    prior_mean = parameters.get("prior_mean")
    if prior_mean is not None and prior_mean.columns is None:
        continuous = np.flatnonzero(domain.continuous).tolist()
        suited_mean = clone(prior_mean).set_params(columns=continuous) if continuous else None
        surrogate.set_params(prior_mean=suited_mean)
    if "solver" in parameters and "sites" in parameters and surrogate.solver != "dense":
        places = domain.members(_MAX_PLACES)
        forgets = type(policy) is not KeepAll
        if surrogate.solver == "auto" and (places is None or forgets):
            surrogate.set_params(solver="dense")
        elif surrogate.sites is None and places is not None:
            surrogate.set_params(sites=places)
    return surrogate
