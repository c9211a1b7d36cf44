"""Search of the hyperparameters: objective, priors, record for the next search, and starts.

Starts are at the scale of the data, and from fits to a subset of the rows.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import attrgetter, itemgetter

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rv_continuous
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from .._validation import check_random_state, invalid
from .._values import extents_of_most
from .._warnings import warn_caller
from ..kernels import ChordalMatern, Forgetting, ProportionalMatern
from ._conditioned import LOG_2PI
from ._exact_posterior import Dense
from ._quasi_newton import Minimum, completed, minimize, predicted_gain

# A search ends when its model predicts a smaller gain in nats: the first number without a Hessian,
# the second with that of an earlier search. Smaller gains are below what data can distinguish.
_LEAST_GAIN, _LEAST_GAIN_AGAIN = 1e-8, 1e-3

# Step in theta of the finite differences of priors.
_STEP = 1e-5

# This part of the average information on a hyperparameter is added to the information on each: at
# the start some may have almost none.
_DAMPING = 0.1

# A model explains little if it gains at most this many nats a row over pure noise.
_LITTLE = 0.25

# A stopped search has converged if no relative derivative is larger.
_FLAT = 1e-3


def search(
    criterion,
    covariance,
    start=None,
    *,
    optimizer,
    n_restarts,
    hyperpriors,
    random_state,
    warn=False,
    hessian=None,
):
    """Search the hyperparameters that maximize a criterion, and priors: a computation in parts.

    Parameters
    ----------
    criterion : Criterion
    covariance : SeparableCovariance
    start : ndarray of shape (n_theta,) or (n_starts, n_theta), default=None
        Starts, clipped to the bounds; None: theta of the covariance.
    optimizer : "fmin_l_bfgs_b" or callable
        A search by a callable is a single part.
    n_restarts : int
        Number of further searches, from uniform starts within the bounds of theta.
    hyperpriors : dict of str to frozen scipy.stats distribution, or None
    random_state : int, RandomState, Generator or None
    warn : bool, default=False
        Warn if the search did not converge.
    hessian : ndarray of shape (n_theta, n_theta), default=None
        Approximate Hessian of minus the criterion at the first start.

    Returns
    -------
    covariance : SeparableCovariance
    hessian : ndarray of shape (n_theta, n_theta) or None
        Approximate Hessian at the end of the search; None if unknown.

    Raises
    ------
    ValueError
        Bounds that are not finite, or a prior without density at the start.
    """
    bounds = covariance.bounds
    if not len(bounds):
        return covariance, None
    if not np.isfinite(bounds).all():
        got = f"{np.exp(bounds).tolist()}"
        raise invalid("The bounds of all hyperparameters to be searched", "finite", got=got)
    objective = Objective(criterion, covariance, hyperpriors)
    starts = list(np.clip(np.atleast_2d(covariance.theta if start is None else start), *bounds.T))
    if n_restarts:
        rng = check_random_state(random_state)
        starts.extend((yield partial(rng.uniform, *bounds.T, (n_restarts, len(bounds)))))
    functions, minima = (objective.value, objective.slope), []
    for theta in starts:
        objective.check(theta)
        if callable(optimizer):
            known = yield partial(optimizer, objective, theta, bounds=bounds.copy())
            minima.append(Minimum(*known, slope=None, hessian=None))
            continue
        options = {"hessian": hessian, "least_gain": _LEAST_GAIN_AGAIN}
        if hessian is None or minima:  # it is that of the first start
            options = {"hessian": objective.information, "least_gain": _LEAST_GAIN}
        minima.append((yield from minimize(*functions, theta, bounds, **options)))
    best = min(minima, key=attrgetter("value"))
    if warn and best.message and not _is_flat(best, bounds):
        warn_caller(
            "The search of the hyperparameters stopped before it converged "
            f"({best.message}). Scale X and y to moderate ranges, raise n_restarts_optimizer, or "
            "check the gradient of a custom kernel.",
            ConvergenceWarning,
        )
    return covariance.with_theta(best.x), best.hessian


def _is_flat(minimum, bounds):
    """Return True if a search that was stopped has converged."""
    uphill = minimum.x - np.clip(minimum.x - minimum.slope, *bounds.T)
    return np.abs(uphill).max() <= _FLAT * max(1.0, abs(minimum.value))


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """Record of a search, for the next one.

    Attributes
    ----------
    hessian : ndarray of shape (n_theta, n_theta) or None
        Approximate Hessian of minus the objective at the end of the search.
    n : int
        Number of rows.
    n_failed : int
        Number of consecutive searches from the previous result whose model `explains_little`.
    other : tuple of (ndarray of shape (n_theta,), SearchRecord), or None
        Result and record of the latest search with the other choice of prior mean, if any.
    """

    hessian: np.ndarray | None = None
    n: int = 0
    n_failed: int = 0
    other: tuple | None = None

    def hessian_for(self, n_theta, n):
        """Return the Hessian if it has this size and n differs by at most a tenth, or None."""
        if self.hessian is None or len(self.hessian) != n_theta:
            return None
        return self.hessian if 0.9 * self.n <= n <= 1.1 * self.n else None

    def start_of_other(self, other, covariance):
        """Return the start of a search with the other prior mean for the same rows, and its record.

        From that of its latest search, or else from the ``covariance`` that this search has found.
        """
        start, known = other or (covariance.theta, self)
        if len(start) != len(covariance.theta):
            start, known = covariance.theta, self
        hessian = known.scaled_to(self.n)
        return np.clip(start, *covariance.bounds.T), SearchRecord(hessian, self.n, self.n_failed)

    def scaled_to(self, n):
        """Return the Hessian scaled to n equally informative rows, or None."""
        return None if self.hessian is None else self.hessian * (n / self.n)

    def predicted_gain(self, gp, hyperpriors):
        """Return the predicted gain of a search for a GP, in nats; infinite if unknown."""
        bounds, theta = gp.covariance.bounds, gp.covariance.theta
        if not len(theta):
            return 0.0
        hessian = self.hessian_for(len(theta), gp.rows.n)
        if hessian is None:
            return np.inf
        slope = gp.gradient + HyperPrior(hyperpriors, gp.covariance.names).gradient(theta)
        return predicted_gain(-slope, hessian, theta, bounds)


def log_posterior(gp, hyperpriors):
    """Return the log likelihood of a conditioned GP plus the log density of its priors."""
    covariance = gp.covariance
    return gp.objective + HyperPrior(hyperpriors, covariance.names)(covariance.theta)


def explains_little(gp):
    """Return True if a GP has hardly more evidence than the best constant plus noise."""
    z = gp.rows.targets
    with np.errstate(over="ignore"):
        power = z.var() if gp.mean.is_learnt else np.mean(z * z)
    if not power > gp.covariance.noise_variance:
        return False  # y is pure noise
    return gp.objective < len(z) * (_LITTLE - 0.5 * (LOG_2PI + 1.0 + np.log(power)))


class Objective:
    """Minus a criterion and priors, as a function of theta.

    Slope and information at a place reuse the evaluation of the value there, if it was the last.

    Parameters
    ----------
    criterion, covariance, hyperpriors
        See `search`.
    """

    def __init__(self, criterion, covariance, hyperpriors):
        self._criterion, self._covariance = criterion, covariance
        self.prior = HyperPrior(hyperpriors, covariance.names)
        self._theta = self._gradient = None

    def check(self, start):
        """Raise an error if the priors have no density at the start of a search."""
        if self.prior(start) == -np.inf:
            expected = "distributions with a density at the start of the search"
            got = f"no density at {self.prior.excluded(start)}"
            advice = "Start elsewhere, or use a distribution that covers the bounds."
            raise invalid("hyperpriors", expected, got=got, advice=advice)

    def __call__(self, theta, eval_gradient=True):
        """Return the value, or value and slope."""
        value = self.value(theta, eval_gradient and "later")
        return (value, self.slope(theta)) if eval_gradient else value

    def value(self, theta, eval_gradient="later"):
        value, gradient = self._criterion(self._covariance.with_theta(theta), eval_gradient)
        self._theta, self._gradient = (theta, gradient) if eval_gradient else (None, None)
        return -(value + self.prior(theta))

    def slope(self, theta):
        self._evaluate(theta)
        gradient = self._gradient
        return -(gradient() if callable(gradient) else gradient) - self.prior.gradient(theta)

    def information(self, theta):
        """Return the damped information of the criterion, or None."""
        self._evaluate(theta)
        H = self._criterion.information()
        if H is None:
            return None
        damping = _DAMPING * np.trace(H) / len(H)
        return H + damping * np.eye(len(H)) if 0.0 < damping < np.inf else None

    def _evaluate(self, theta):
        if self._theta is None or not np.array_equal(theta, self._theta):
            self.value(theta)


class HyperPrior:
    """Log density of hyperparameters as a function of theta, their logarithms.

    Parameters
    ----------
    distributions : dict of str to frozen scipy.stats distribution, or None
        Distributions of the hyperparameters themselves, not their logarithms; the same one for all
        lengthscales of a kernel.
    names : list of str
        Name of each entry of theta.
    """

    def __init__(self, distributions, names):
        self._terms = []
        for name, distribution in (distributions or {}).items():
            if not hasattr(distribution, "logpdf"):
                expected = "a frozen scipy.stats distribution"
                expected += ", such as scipy.stats.gamma(3, scale=0.1)"
                raise invalid(f"hyperpriors[{name!r}]", expected, distribution)
            if isinstance(distribution, rv_continuous) and distribution.shapes:
                shapes = "".join(f"{shape}=..., " for shape in distribution.shapes.split(", "))
                kind = f"scipy.stats.{distribution.name}"
                advice = f"Give its parameters: {kind}({shapes}scale=...)."
                expected = "a frozen distribution"
                raise invalid(f"hyperpriors[{name!r}]", expected, got=kind, advice=advice)
            where = [i for i, known in enumerate(names) if known == name]
            if not where:
                known = ", ".join(dict.fromkeys(names)) or "none"
                expected = f"the name of a hyperparameter that is learnt ({known})"
                raise invalid("A key of hyperpriors", expected, name)
            self._terms.append((name, distribution, where))

    def __call__(self, theta):
        """Return the log density at theta."""
        values, total = np.exp(theta), 0
        for _, distribution, i in self._terms:
            total += float(np.add.reduce(distribution.logpdf(values[i]), axis=None))
        return total

    def gradient(self, theta):
        """Return derivatives (n_theta,).

        Distributions without a ``log_slope``, as those of scipy.stats, have central differences.
        """
        gradient, values = np.zeros(len(theta)), np.exp(theta)
        for _, distribution, i in self._terms:
            if hasattr(distribution, "log_slope"):
                gradient[i] = distribution.log_slope(values[i])
                continue
            up, down = (distribution.logpdf(np.exp(theta[i] + h)) for h in (_STEP, -_STEP))
            # 0 at an edge of the support.
            inside = np.isfinite(up) & np.isfinite(down)
            gradient[i] = np.subtract(up, down, out=np.zeros(len(i)), where=inside) / (2.0 * _STEP)
        return gradient

    def excluded(self, theta):
        """Return names and values of the hyperparameters without density at theta."""
        densities = [(name, d.logpdf(np.exp(theta[i])), i) for name, d, i in self._terms]
        return ", ".join(
            f"{name} = {np.exp(theta[i])}"
            for name, values, i in densities
            if not np.isfinite(values).all()
        )


# --- starts ---------------------------------------------------------------------------------------

# A lengthscale is far from the data's scale, where the likelihood is flat, if neighbours are more
# than the first number of lengthscales apart, or all rows less than the second.
_TOO_SHORT, _TOO_LONG = 10.0, 1e-3

# Number of rows whose nearest neighbours are computed.
_N_ANCHORS = 50

# Number of rows of an exact fit to a subset: from all starts, then from the best result.
_N_FIRST, _N_PART = 250, 500

# A third of the subset are neighbours of this many rows, which determine short lengthscales.
_N_CLUSTERS = 8

# Starts: lengthscales in space and time, relative to the data's extents, and noise relative to y².
_STARTS = (
    (0.5, 0.25, 0.1),
    (0.5, 0.05, 0.3),
    (1.5, 0.25, 0.1),
    (1.5, 0.05, 0.1),
    (0.2, 0.05, 0.3),
)

# Lengthscales are compared from this many rows on, using a third of the rows within these limits.
_N_SCREENED, _N_SCREENING = 64, (100, 250)

# Ratio of successive lengthscales compared.
_SCALE_RATIO = 4.0

# The extent of a column is that of this part of its rows; a skewed column has a narrow and a wide
# one as well. Default lengthscales have the ratios of these extents, the likeliest ones of those
# that differ by more than the factor.
MOST, _NARROW, _WIDE = 0.8, 0.5, 0.95
_SHARES, _SAME_RATIO = (MOST, _NARROW, 1.0), 2.0

# Noise variances of the comparison, relative to the variance of y.
_LEVELS = ((1.0, 0.4), (1.0, 0.05), (1.0, 0.003), (30.0, 0.003))
_MOST_SCALES, _N_STARTS, _ROUGH_GAIN = 6, 2, 1.0

# Kernels whose lengthscale is in units of the columns.
_IN_UNITS = (RBF, RationalQuadratic)


def default_spatial(rows, follow_data):
    """Return default kernels in space, the first of which is the usual one.

    Bounds may follow the data. Lengthscales then have the ratios of the columns' extents, and there
    is one kernel for each measure of these that makes a difference.
    """
    if not follow_data:
        return [Matern(nu=2.5)]
    kernels, ratios = [], []
    for share in _SHARES:
        extents = extents_of_most(rows.S, share)
        extent = extents.max() or 1.0
        extents = np.where(extents > 0.0, extents, extent)
        bounds = (0.01 * extent, 10.0 * max(np.ptp(rows.S, axis=0).max(), extent))
        ratio = np.log(extents / extent)
        if all(np.abs(ratio - known).max() > np.log(_SAME_RATIO) for known in ratios):
            ratios.append(ratio)
            if len(extents) == 1:
                kernels.append(Matern(0.5 * extent, bounds, nu=2.5))
            else:
                kernels.append(ProportionalMatern(0.5 * extents, bounds, nu=2.5))
    return kernels


def default_temporal(rows, follow_data):
    """Return the default kernel in time, whose bounds may follow the data."""
    if not follow_data:
        return Matern(nu=1.5)
    gaps = np.diff(np.unique(rows.t))
    interval, span = (np.median(gaps), gaps.sum()) if gaps.size else (1.0, 1.0)
    bounds = (interval, 10.0 * max(interval, span))
    typical = extents_of_most(rows.t[:, np.newaxis], MOST)[0] or span
    return Matern(np.clip(0.25 * typical, *bounds), bounds, nu=1.5)


def likeliest(covariances, rows, hyperpriors):
    """Return the covariance that explains a subset of the rows best at some lengthscales."""
    if len(covariances) == 1:
        return covariances[0]
    criterion, largest = Dense.criterion(canonical_subset(rows, _screening_size(rows.n))), []
    power = np.var(rows.targets) or 1.0
    for covariance in covariances:
        objective = Objective(criterion, covariance, hyperpriors)
        largest.append(min(objective.value(np.clip(theta, *covariance.bounds.T), False) for theta in _cells(covariance, rows, power, 0.1 * power)))
    return covariances[np.argmin(largest)]


def far_lengthscales(kernels):
    """Return the lengthscales that are far from the data's scale: {name: value}.

    ``kernels`` are those of `scaled_kernels`.
    """
    lengthscales = {}
    for part, kernel, columns in kernels:
        lengths = np.broadcast_to(kernel.length_scale, columns.shape[1])
        scaled = columns / lengths
        extent = np.ptp(scaled, axis=0).max(initial=0.0)
        # Neighbours are at most a diagonal apart.
        wide = extent * np.sqrt(scaled.shape[1]) > _TOO_SHORT
        if extent > 0.0 and (extent < _TOO_LONG or (wide and _median_spacing(scaled) > _TOO_SHORT)):
            lengthscales[f"{part}__length_scale"] = kernel.length_scale
    return lengthscales


def default_starts(covariance, rows):
    """Return starts (n_starts, n_theta): the covariance's, and one at the data's scale if far."""
    starts, names = [covariance.theta], far_lengthscales(_whole_kernels(covariance, rows))
    if names:
        starts.append(_theta_at_scale(covariance, rows, 0.5, 0.25, names))
    return np.array(starts)


def screened_starts(criterion, covariance, rows, hyperpriors):
    """Return starts of a search, likeliest first: a computation in parts.

    A search does not find distant lengthscales: the likelihood is flat between them. Cells of a
    grid over the box are compared on a subset of the rows. Short searches begin at the likeliest
    ones that a barrier separates, first on the subset, then on all rows. Those of their results
    that may be the likeliest are starts.

    Parameters
    ----------
    criterion : Criterion
        Of the rows.
    covariance : SeparableCovariance
    rows : Rows
    hyperpriors : dict of str to frozen scipy.stats distribution, or None

    Returns
    -------
    starts : ndarray of shape (n_starts, n_theta)
    hessian : ndarray of shape (n_theta, n_theta) or None
        Approximate Hessian of minus the criterion at the first start.
    """
    few = canonical_subset(rows, _screening_size(rows.n))
    objective, bounds = Objective(Dense.criterion(few), covariance, hyperpriors), covariance.bounds
    starts = yield from _likeliest_cells(objective, covariance, rows)
    given = np.clip(covariance.theta, *bounds.T)
    minima = yield from _rough_minima(objective, [*starts, given], bounds, needed=given)
    if few is not rows:
        objective = Objective(criterion, covariance, hyperpriors)
        starts = [*(minimum.x for minimum in minima), *starts, given]
        values = []
        for theta in starts:
            values.append((yield partial(objective.value, theta, False)))
        starts = [starts[i] for i in np.argsort(values, kind="stable")[:_N_STARTS]]
        minima = yield from _rough_minima(objective, starts, bounds)
    if not minima:
        return given[np.newaxis], None  # `search` gives the error
    close = [m.x for m in minima if m.value <= minima[0].value + _ROUGH_GAIN]
    return np.array(close), minima[0].hessian


def _likeliest_cells(objective, covariance, rows):
    """Return the likeliest cell of a grid for each level of the variances, the likeliest first."""
    best, power = [], np.var(rows.targets) or 1.0
    for signal, noise in _LEVELS:
        cells = _cells(covariance, rows, signal * power, noise * power)
        cells = np.clip(list(cells), *covariance.bounds.T)
        values = np.empty(len(cells))
        for i, cell in enumerate(cells):
            values[i] = yield partial(objective.value, cell, False)
        best.append((np.min(values), cells[np.argmin(values)]))
    return [cell for value, cell in sorted(best, key=itemgetter(0)) if value < np.inf]


def _rough_minima(objective, starts, bounds, needed=None):
    """Return the results of searches that stop early, the lowest first, one for each optimum.

    A start or a result has the optimum of an earlier result if no barrier is between them: if the
    objective half way is not larger than at the higher one. The start ``needed`` has a search.
    """
    options, minima = {"hessian": objective.information, "least_gain": _ROUGH_GAIN}, []
    for start in starts:
        value = yield partial(objective.value, start)
        if not value < np.inf:
            continue
        if start is not needed and (yield from _same_optimum(objective, start, value, minima)) is not None:
            continue
        new = yield from minimize(objective.value, objective.slope, start, bounds, **options)
        same = yield from _same_optimum(objective, new.x, new.value, minima)
        if same is None:
            minima.append(new)
        elif new.value < minima[same].value:
            minima[same] = new
    return sorted(minima, key=attrgetter("value"))


def _same_optimum(objective, theta, value, minima):
    """Return the index of the first of some minima that no barrier separates from theta, or None."""
    for i, known in enumerate(minima):
        between = yield partial(objective.value, 0.5 * (theta + known.x), False)
        if between <= max(value, known.value):
            return i
    return None


def _screening_size(n):
    """Return the number of rows by which starts are compared."""
    return int(np.clip(n // 3, *_N_SCREENING))


def _cells(covariance, rows, signal, noise):
    """Yield theta of a grid over the scales of space and time, with variances."""
    theta = _with_entries(covariance, covariance.theta, "noise_variance", noise)
    start = _with_entries(covariance, theta, "signal_variance", signal)
    scales = [_scales(covariance, rows, part) for part in ("spatial_kernel", "temporal_kernel")]
    for space, time in product(*scales):
        theta = start
        for name, values in (space | time).items():
            theta = _with_entries(covariance, theta, name, values)
        yield theta


def _scales(covariance, rows, part):
    """Return values of the lengthscales of a spatial or temporal kernel: a list of dicts by name.

    Those of a sum or product have the ratios of the given ones. Of a lengthscale for each column,
    there are also values at which one column alone matters.
    """
    kernel, in_time = getattr(covariance, part.partition("_")[0]), part == "temporal_kernel"
    if isinstance(kernel, Forgetting):
        # The lengthscale of a forgetting kernel is l = -2 / log(1 - ε).
        scales = _levels(rows, rows.t[:, np.newaxis], in_time)
        return [{f"{part}__epsilon": -np.expm1(-2.0 / scale)} for scale in scales]
    given = {
        f"{name}__length_scale": (leaf, columns)
        for name, leaf, columns in scaled_kernels(covariance, rows)
        if name.startswith(part) and f"{name}__length_scale" in covariance.names
    }
    if not given:
        return [{}]
    columns = next(iter(given.values()))[1]
    extents = extents_of_most(columns, MOST)
    if not extents.max() > 0.0:
        return [{}]
    levels = _levels(rows, columns, in_time)
    if f"{part}__length_scale" not in given:
        longest = max(np.max(leaf.length_scale) for leaf, _ in given.values())
        shares = {name: leaf.length_scale / longest for name, (leaf, _) in given.items()}
        scales = [{name: level * share for name, share in shares.items()} for level in levels]
        for long in given:
            scales.append({name: levels[0] * (1.0 if name == long else 1/16) for name in given})
        return scales
    name = f"{part}__length_scale"
    units = np.where(extents > 0.0, extents, extents.max()) / extents.max()
    scales = [{name: level * units} for level in levels]
    n_learnt = covariance.names.count(name)
    if n_learnt > 1:
        long = np.full(n_learnt, 4.0)
        scales += [
            {name: extents.max() * units * np.where(np.arange(n_learnt) == j, 0.5, long)}
            for j in range(n_learnt)
        ]
    return scales


def _levels(rows, columns, in_time):
    """Return lengthscales from the columns' extent down to the shortest that rows can show."""
    extent = extents_of_most(columns, MOST).max()
    if not extent > 0.0:
        return [1.0]
    if in_time:
        largest, least = 1.0, 1.5 * np.median(np.diff(np.unique(columns))) / extent
    else:
        largest, least = 2.0, max(0.1, rows.n ** (-1.0 / rows.S.shape[1]))
    n_levels = 1 + max(int(np.log(largest / least) / np.log(_SCALE_RATIO)), 0)
    return extent * largest * _SCALE_RATIO ** -np.arange(min(n_levels, _MOST_SCALES))


def restarts(covariance, rows, hyperpriors):
    """Return a list of starts independent of earlier results, one of them for fast change.

    That one helps where a few old rows make the extent in time a hundred times longer. Starts
    without density are excluded.
    """
    starts = [*default_starts(covariance, rows), _theta_at_scale(covariance, rows, 0.5, 0.025)]
    prior = HyperPrior(hyperpriors, covariance.names)
    return [start for start in starts if prior(start) > -np.inf]


def learn_from_subset(covariance, rows, options, rng):
    """Return the covariance of an exact fit to a subset, from several starts, and its record.

    Parameters
    ----------
    covariance : SeparableCovariance
    rows : Rows
    options : dict
        Arguments of `search`. Starts without density are excluded.
    rng : RandomState

    Returns
    -------
    covariance : SeparableCovariance
    record : SearchRecord
    """
    hyperpriors = options["hyperpriors"]
    prior = HyperPrior(hyperpriors, covariance.names)
    theta, bounds = covariance.theta, covariance.bounds
    if not len(theta):
        return covariance, SearchRecord()
    few = _clustered_subset(rows, _N_FIRST, rng)
    criterion = Dense.criterion(few)
    starts = list(completed(screened_starts(criterion, covariance, few, hyperpriors))[0])
    if not any(np.array_equal(start, theta) for start in starts):
        starts.insert(0, theta)
    with np.errstate(over="ignore"):
        power = np.mean(rows.targets**2) or 1.0
    for space, time, noise in _STARTS:
        start = _theta_at_scale(covariance, rows, space, time)
        start = _with_entries(covariance, start, "signal_variance", power)
        starts.append(_with_entries(covariance, start, "noise_variance", noise * power))
    starts = [start for start in np.clip(starts, *bounds.T) if prior(start) > -np.inf] or [theta]
    covariance, hessian = completed(search(criterion, covariance, np.array(starts), **options))
    record = SearchRecord(hessian, few.n)
    if few.n == rows.n:
        return covariance, record
    part = _clustered_subset(rows, _N_PART, rng)
    options = options | {"n_restarts": 0, "hessian": record.scaled_to(part.n)}
    again = search(Dense.criterion(part), covariance, covariance.theta, **options)
    covariance, hessian = completed(again)
    return covariance, SearchRecord(hessian, part.n)


def with_added_noise(covariance, variance):
    """Return theta with the noise variance increased, within the bounds."""
    theta = covariance.theta
    theta = _with_entries(covariance, theta, "noise_variance", covariance.noise_variance + variance)
    return np.clip(theta, *covariance.bounds.T)


def random_subset(rows, n, rng):
    """Return at most n of the rows, drawn uniformly, with the scale of all."""
    if rows.n <= n:
        return rows
    return _subset(rows, rng.choice(rows.n, int(n), replace=False))


def canonical_subset(rows, n):
    """Return at most n of the rows, independent of their order.

    Those of two intervals of time: the latest, and one around the most extreme y of the others.
    Consecutive rows show fast changes, which rows spread over all times leave to noise, and a few
    outliers decide which hyperparameters are likely. Rows at the same time are drawn.
    """
    if rows.n <= n:
        return rows
    known = np.lexsort((rows.y, *rows.S.T, rows.t))
    order = known[np.lexsort((np.random.RandomState(0).uniform(size=rows.n), rows.t[known]))]
    earlier, latest = np.split(order, [rows.n - n // 2])
    distances = np.abs(rows.y[earlier] - np.median(rows.y))
    first = np.clip(np.argmax(distances) - n // 4, 0, len(earlier) - n // 2)
    return _subset(rows, np.concatenate([earlier[first : first + n // 2], latest]))


def _subset(rows, indices):
    """Return some of the rows, with the scale of all."""
    return rows.drop(np.setdiff1d(np.arange(rows.n), indices), standardize=False)


def _clustered_subset(rows, n, rng):
    """Return at most n of the rows: two thirds drawn uniformly, and neighbours of a few rows."""
    if rows.n <= n:
        return rows
    spread = rng.choice(rows.n, n - n // 3, replace=False)
    extents = extents_of_most(rows.X, MOST)
    columns = rows.X / np.where(extents > 0.0, extents, 1.0)
    size = n // 3 // _N_CLUSTERS
    centres = columns[rng.choice(rows.n, _N_CLUSTERS, replace=False)]
    near = [np.argpartition(d, size)[:size] for d in cdist(centres, columns, "sqeuclidean")]
    return _subset(rows, np.concatenate([spread, *near]))


def leaves(covariance, rows):
    """Yield (name, kernel, columns (n, d)) of the kernels that sums and products consist of."""
    t = rows.t[:, np.newaxis]
    parts = [
        ("level_kernel", covariance.level, t),
        ("temporal_kernel", covariance.temporal, t),
        ("spatial_kernel", covariance.spatial, rows.S),
    ]
    while parts:
        name, kernel, columns = parts.pop()
        names = [key for key in ("k2", "k1", "kernel") if hasattr(kernel, key)]
        parts.extend((f"{name}__{key}", getattr(kernel, key), columns) for key in names)
        if not names and kernel is not None:
            yield name, kernel, columns


def scaled_kernels(covariance, rows):
    """Yield the `leaves` that have a lengthscale, with the columns of which it is one."""
    for name, kernel, columns in leaves(covariance, rows):
        if isinstance(kernel, ChordalMatern):
            columns = kernel.positions(columns)
        if isinstance(kernel, _IN_UNITS):
            yield name, kernel, columns


def _whole_kernels(covariance, rows):
    """Return those of `scaled_kernels` that are no parts of sums and products."""
    whole = ("spatial_kernel", "temporal_kernel")
    return [(part, *rest) for part, *rest in scaled_kernels(covariance, rows) if part in whole]


def _theta_at_scale(covariance, rows, space, time, names=None):
    """Return theta with lengthscales, all or those in ``names``, relative to the extents."""
    theta = covariance.theta
    for part, _, columns in _whole_kernels(covariance, rows):
        name = f"{part}__length_scale"
        if names is None or name in names:
            share = space if part == "spatial_kernel" else time
            extents = share * extents_of_most(columns, MOST)
            theta = _with_entries(covariance, theta, name, np.where(extents > 0.0, extents, 1.0))
    return np.clip(theta, *covariance.bounds.T)


def _with_entries(covariance, theta, name, values):
    """Return theta with the entries of one name replaced; a single entry gets the largest value."""
    where = [i for i, known in enumerate(covariance.names) if known == name]
    theta, values = theta.copy(), np.atleast_1d(values)
    if where:
        theta[where] = np.log(values if len(values) == len(where) else values.max())
    return theta


def _median_spacing(columns):
    """Return the median distance of some rows (n, d) to their nearest distinct row."""
    anchors = columns[:: max(len(columns) // _N_ANCHORS, 1)]
    if columns.shape[1] == 1:
        x = anchors[:, 0]
        known = np.concatenate([[-np.inf], np.sort(columns[:, 0], kind="stable"), [np.inf]])
        before = x - known[np.searchsorted(known, x) - 1]
        after = known[np.searchsorted(known, x, side="right")] - x
        return np.median(np.minimum(before, after))
    distances = cdist(anchors, columns)
    nearest = np.min(distances, axis=1, where=distances > 0.0, initial=np.inf)
    return np.median(nearest)
