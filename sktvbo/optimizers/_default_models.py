"""Default surrogates of the algorithms, for a domain scaled to the unit box."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from ..gaussian_process import LinearMean, QuadraticMean, TimeVaryingGPRegressor
from ..gaussian_process._future import with_decaying_bounds
from ..gaussian_process._regressor import without_advice
from ..kernels import LogNormal, ProportionalMatern, season, season_priors
from ..staleness import KeepAll

# Largest number of members of a domain on which a Kalman filter may track the function.
MAX_SITES = 4096

# Start and bounds of the smoothness of seasons. Sharper ones have more harmonics, which makes
# relevancies slower.
_SMOOTHNESS = 1.0, (0.5, 10.0)

# Prior of the lengthscale in space, in sides of the box, and its upper bound.
_MEDIAN_SCALE, _SPREAD_OF_SCALE, _LONGEST = 0.4, 0.7, 4.0

# Its lower bound, and the largest lower bound from the step of an integer.
_SHORTEST, _LARGEST_STEP = 0.01, 0.25

# Depth of the quadratic prior mean, and spread of its static part.
_DEPTH, _SPREAD_OF_STATIC = 0.5, 1.0

# Other parameters of the surrogates, for standardized y.
SCALES = {
    "signal_variance_bounds": (0.05, 20.0),
    "noise_variance_bounds": (1e-5, 1.0),
    "normalize_y": True,
    "mean_prior_std": 1.0,
}

# Bounds of the noise without reals. Equal observations of a few members, such as 0/1 rewards that
# are all 0, make the smallest noise the likeliest. Queries would then settle at these members.
_NOISE_OF_MEMBERS = 1e-4, 1.0

# Start, bounds and prior of the variance of the rough part, relative to that of the smooth one.
_ROUGH_VARIANCE, _ROUGH_PRIOR = (0.4, (1e-3, 10.0)), LogNormal(0.3, 1.5)

# Its lengthscale in sampling intervals: lower bound, start and upper bound.
_ROUGH_SCALE = 0.5, 3.0, 30.0

# Prior of the lengthscale in time with a context, in sampling intervals.
_SLOW, _SPREAD_OF_SLOW = 1000.0, 1.5

_OF_TIME = "temporal_kernel__"


@dataclass(frozen=True)
class Times:
    """Times of a run, and properties of its domain, that determine a default surrogate.

    Attributes
    ----------
    data : ndarray of shape (n,)
        Times of the data set, the new observation included.
    recent : ndarray of shape (m,)
        Times of the latest observations told, removed ones and the new one included.
    pending : tuple of float
        Times of pending queries.
    n_unit : int
        Number of coordinates in the unit box, those of a context included.
    groups : tuple of int
        The first coordinate of each parameter.
    steps : tuple of float
        Distance between neighbouring values of each parameter, see `Domain.steps`.
    has_context : bool
        True if some coordinates are measured and not chosen.
    is_constrained : bool
        True if constraints, or limits of outcomes, exclude a part of the box.
    of_outcome : bool
        True for the surrogate of a limited outcome.
    keeps_all : bool
        True if no observation is ever removed from the data set.
    """

    data: np.ndarray
    recent: np.ndarray
    pending: tuple = ()
    n_unit: int = 1
    groups: tuple = (0,)
    steps: tuple = (0.0,)
    has_context: bool = False
    is_constrained: bool = False
    of_outcome: bool = False
    keeps_all: bool = False

    @cached_property
    def interval(self):
        """Median interval between the latest observations; 1 if all have the same time."""
        gaps = np.diff(np.unique(self.recent))
        return np.median(gaps) if gaps.size else 1.0


def default_surrogate(times, temporal_kernel, kind=TimeVaryingGPRegressor, **options):
    """Return a surrogate with a Matérn 5/2 kernel in space, on standardized observations.

    Each parameter has a lengthscale, in sides of the box. Its prior is log-normal with a median of
    0.4 in one and two dimensions, and 0.28 √d in more, where distances are larger. A model with a
    longer one explains misfits as noise: after a jump, queries could alternate between two corners,
    whose observations never contradict it. Where a level moves all values, the data show that the
    lengthscale is long.

    The other bounds are close to those of TuRBO (Eriksson et al. 2019). After a jump, or when all
    recent queries are at one input, the likelihood alone admits values that end exploration. The
    mean is learnt, because a run that tracks well has observed mostly good values, and unexplored
    inputs are worse.
    """
    median = _MEDIAN_SCALE * float(np.sqrt(max(times.n_unit, 2) / 2.0))
    prior = {"spatial_kernel__length_scale": LogNormal(median, _SPREAD_OF_SCALE)}
    return kind(
        spatial_kernel(times, _LONGEST),
        temporal_kernel,
        hyperpriors=prior | options.pop("hyperpriors", {}),
        **_scales(times) | options,
    )


def _scales(times):
    """Return the other parameters of a surrogate of y, or of an outcome."""
    has_reals = 0.0 in times.steps
    return SCALES if has_reals else SCALES | {"noise_variance_bounds": _NOISE_OF_MEMBERS}


def spatial_kernel(times, longest):
    """Return a Matérn kernel in space with a lengthscale for each parameter.

    The lengthscale of integers and ordinals is at least their step. Rows at two or three distinct
    values are as likely with a far shorter one. Neighbours would then have nothing in common, and
    queries would not follow a best member that moves from one to the next.
    """
    shortest = np.clip(np.nan_to_num(times.steps), _SHORTEST, _LARGEST_STEP)
    bounds = np.column_stack([shortest, np.full(len(shortest), longest)])
    if (shortest == shortest[0]).all():
        bounds = float(shortest[0]), longest
    return ProportionalMatern(np.full(times.n_unit, 0.5), bounds, nu=2.5, groups=times.groups)


def static_surrogate(times, **options):
    """Return the default surrogate of a function that does not change."""
    return default_surrogate(times, ConstantKernel(1.0, "fixed"), **options)


def drifting_surrogate(times):
    """Return the default surrogate of a function that changes with time."""
    priors = {"temporal_kernel__k2__k1__constant_value": _ROUGH_PRIOR}
    return _surrogate_with_mean(times, drifting_kernel(times), priors)


def _surrogate_with_mean(times, temporal_kernel, priors):
    """Return a default surrogate with a prior mean.

    The quadratic prior mean, used where it is likelier than none, expects the best inputs inside of
    the box. With constraints or limits it is flat, because these often exclude better inputs.
    Removed observations leave their information about it.
    """
    depth = 0.0 if times.is_constrained else _DEPTH
    mean = QuadraticMean(depth, only_if_likelier=True, spread=_SPREAD_OF_STATIC)
    return default_surrogate(times, temporal_kernel, hyperpriors=priors, prior_mean=mean)


def smooth_surrogate(times):
    """Return the default surrogate with seasons, and with a context.

    It changes smoothly with time. A rough kernel could explain the effect of a season or a context
    as a jump. Each parameter and each coordinate of a context has a lengthscale. A shared one would
    suit the coordinates that matter, and make all inputs look new in the others.

    With a context, noise may hide everything else. The likelihood of 100 observations is then the
    same for all lengthscales in time, and a short one would forget informative observations. So the
    prior expects a long one; observed changes overrule it.
    """
    priors = {}
    if times.has_context:
        priors[f"{_OF_TIME}length_scale"] = LogNormal(_SLOW * times.interval, _SPREAD_OF_SLOW)
    return _surrogate_with_mean(times, smooth_kernel(times), priors)


def outcome_surrogate(times):
    """Return the default surrogate of a limited outcome.

    It changes smoothly with time. A rough kernel could explain a rising outcome as a jump, and
    certify an input farther uphill. All parameters share a lengthscale without a prior, which is
    more cautious than one for each. It is at least a step of integers and ordinals if there are no
    reals. It is at most half a side of the box in one and two dimensions, and √(d/8) sides, but at
    most 2, in more. With a context the upper bound is 2, as contexts are not chosen.
    """
    steps = [step for step in times.steps if not np.isnan(step)]
    shortest = _SHORTEST
    if all(steps):
        shortest = float(np.clip(max(steps, default=0.0), _SHORTEST, _LARGEST_STEP))
    longest = 2.0
    if not times.has_context:
        longest = min(np.sqrt(max(times.n_unit, 2) / 8.0), longest)
    space = Matern(length_scale=0.5, length_scale_bounds=(shortest, longest), nu=2.5)
    return TimeVaryingGPRegressor(space, smooth_kernel(times), **_scales(times))


def drifting_kernel(times):
    """Return the sum of a smooth and a rough kernel in time.

    Influences on a live system, such as load and weather, are often rough from one observation to
    the next, while the best input moves smoothly. The rough part has a variance relative to the
    smooth one, and a lengthscale of half a sampling interval to 30 of them. In a long run a longer
    one would grow to the span of the data, as a part that never changes, and all observations would
    stay relevant. The prior mean has such a part instead. It does not depend on integers, ordinals
    and categories, and it learns only from removed observations. So with these parameters, and
    where no observation is removed, the lengthscale may be ten times the span of the data.
    """
    shortest, start, longest = (scale * times.interval for scale in _ROUGH_SCALE)
    if times.keeps_all or any(step != 0.0 for step in times.steps):
        longest = max(longest, 10.0 * np.ptp(times.data))
    return smooth_kernel(times) + ConstantKernel(*_ROUGH_VARIANCE) * Matern(
        start, (shortest, longest), nu=0.5
    )


def smooth_kernel(times, nu=2.5):
    """Return a Matérn kernel in time, of five sampling intervals to ten times the span of the data.

    Faster changes cannot be tracked by one query per interval. Without the lower bound, a few
    outliers may lead to a very short lengthscale. Each interval then makes most observations
    irrelevant, and those that remain cannot correct the lengthscale.
    """
    lowest = 5.0 * times.interval
    span = np.ptp(times.data)
    bounds = (lowest, max(10.0 * span, 2.0 * lowest))
    return Matern(np.clip(0.25 * span, *bounds), bounds, nu=nu)


def seasonal(surrogate, periods):
    """Return an unfitted surrogate with seasons added to its kernel in time, and their priors."""
    kernel = surrogate.temporal_kernel
    for period in periods:
        kernel = kernel + season(period, *_SMOOTHNESS)
    priors = _renamed(surrogate.hyperpriors or {}, _OF_TIME, _inner(len(periods)))
    priors |= season_priors(*periods)
    return surrogate.set_params(temporal_kernel=kernel, hyperpriors=priors)


def _inner(n_seasons):
    """Return the prefix of the parameters' names of the kernel to which seasons are added."""
    return _OF_TIME + n_seasons * "k1__"


def _renamed(priors, before, after):
    """Return priors with the prefix ``before`` of their names replaced by ``after``."""
    return {
        after + name.removeprefix(before) if name.startswith(before) else name: prior
        for name, prior in priors.items()
    }


def started_without_seasons(surrogate, n_seasons, *data):
    """Return a surrogate with seasons whose search starts at the optimum without them.

    Parameters
    ----------
    surrogate : TimeVaryingGPRegressor
        As returned by `seasonal`.
    n_seasons : int
    *data : ndarrays X (n, d + 1), y (n,) and optionally variances (n,)
    """
    kernel = surrogate.temporal_kernel
    for _ in range(n_seasons):
        kernel = kernel.k1
    known = surrogate.hyperpriors.items()
    inner = _inner(n_seasons)
    priors = {n: p for n, p in known if n.startswith(inner) or not n.startswith(_OF_TIME)}
    priors = _renamed(priors, inner, _OF_TIME)
    plain = without_advice(clone(surrogate)).set_params(temporal_kernel=kernel, hyperpriors=priors)
    plain.fit(*data)
    learnt, theta = plain.temporal_kernel_.theta, surrogate.temporal_kernel.theta.copy()
    theta[: len(learnt)] = learnt
    return surrogate.set_params(
        spatial_kernel=plain.spatial_kernel_,
        temporal_kernel=surrogate.temporal_kernel.clone_with_theta(theta),
        signal_variance=plain.signal_variance_,
        noise_variance=plain.noise_variance_,
    )


def configured(surrogate, domain, policy, time_unit):
    """Return an unfitted surrogate with parameters set for a domain, a policy and a unit of time.

    A ``solver="auto"`` may become the Kalman filter only on a finite domain without forgetting: the
    filter needs repeated inputs, and cannot remove single rows. A quadratic prior mean depends on
    the continuous coordinates alone. A linear one is left out: queries would follow its slope.
    """
    parameters = surrogate.get_params(deep=False)
    without_advice(surrogate)
    forgets = type(policy) is not KeepAll
    if forgets and parameters.get("temporal_kernel") is not None:
        kernel = with_decaying_bounds(surrogate.temporal_kernel, time_unit)
        surrogate.set_params(temporal_kernel=kernel)
    if "time_column" in parameters:
        surrogate.set_params(time_column=-1)
    if "time_unit" in parameters:
        surrogate.set_params(time_unit=time_unit)
    prior_mean = parameters.get("prior_mean")
    if isinstance(prior_mean, LinearMean):
        surrogate.set_params(prior_mean=None)
    elif prior_mean is not None and prior_mean.columns is None:
        continuous = np.flatnonzero(domain.continuous).tolist()
        prior_mean = clone(prior_mean).set_params(columns=continuous) if continuous else None
        surrogate.set_params(prior_mean=prior_mean)
    if "solver" in parameters and "sites" in parameters and surrogate.solver != "dense":
        sites = domain.members(MAX_SITES)
        if surrogate.solver == "auto" and (sites is None or forgets):
            surrogate.set_params(solver="dense")
        elif surrogate.sites is None and sites is not None:
            surrogate.set_params(sites=sites)
    return surrogate
