"""Search of the hyperparameters: objective, priors, record for the next search, and starts.

Starts are at the scale of the data, and from fits to a subset of the rows.
"""

from dataclasses import dataclass, field
from functools import partial
from itertools import product
from operator import attrgetter, itemgetter

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import rv_continuous
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from .._durations import is_duration
from .._validation import check_random_state, invalid
from .._values import extents_of_most, replaced
from .._warnings import warn_caller
from ..kernels import ChordalMatern, Forgetting, ProportionalMatern
from ._exact_posterior import Dense
from ._quasi_newton import Minimum, completed, minimize, predicted_gain

# A search ends when its model predicts a smaller gain in nats: the first number without a Hessian,
# the second with that of an earlier search. Smaller gains are below what data can distinguish.
_LEAST_GAIN, _LEAST_GAIN_AGAIN = 1e-6, 1e-3

# More noise is tried if the slope in its logarithm promises it, by this step in theta.
_LEAST_SLOPE, _MORE_NOISE = 1e-4, 2.0

# Step in theta of the finite differences of priors.
_STEP = 1e-5

# This part of the average information on a hyperparameter is added to the information on each: at
# the start some may have almost none.
_DAMPING = 0.1

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
    start : ndarray of shape (n_theta,), or list of those and of `Minimum`, default=None
        Starts, clipped to the bounds, and searches to be continued; None: theta of the covariance.
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
    gain : float
        Increase of the objective from the first start, in nats; 0 if unknown.

    Raises
    ------
    ValueError
        Bounds that are not finite, or a prior without density at the start.
    """
    bounds = covariance.bounds
    if not len(bounds):
        return covariance, None, 0.0
    if not np.isfinite(bounds).all():
        got = f"{np.exp(bounds).tolist()}"
        raise invalid("The bounds of all hyperparameters to be searched", "finite", got=got)
    objective = Objective(criterion, covariance, hyperpriors)
    starts = start if isinstance(start, list) else [covariance.theta if start is None else start]
    n_given, starts = len(starts), list(starts)
    if n_restarts:
        rng = check_random_state(random_state)
        starts.extend((yield partial(rng.uniform, *bounds.T, (n_restarts, len(bounds)))))
    functions, minima = (objective.value, objective.slope), []
    for i, known in enumerate(starts):
        theta = known.x if isinstance(known, Minimum) else np.clip(known, *bounds.T)
        objective.check(theta)
        if callable(optimizer):
            known = yield partial(optimizer, objective, theta, bounds=bounds.copy())
            minima.append(Minimum(*known, slope=None, hessian=None, first_value=np.nan))
            continue
        options = {"hessian": objective.information, "least_gain": _LEAST_GAIN}
        if hessian is not None and i == 0:
            options = {"hessian": hessian, "least_gain": _LEAST_GAIN_AGAIN}
        elif 0 < i < n_given:
            options["least_gain"] = _LEAST_GAIN_AGAIN
        begin = known if isinstance(known, Minimum) else theta
        minima.append((yield from minimize(*functions, begin, bounds, **options)))
    best = min(minima, key=attrgetter("value"))
    if not callable(optimizer) and "noise_variance" in covariance.names:
        best = yield from _with_noise(objective, best, covariance.names.index("noise_variance"))
    if warn and best.message and not _is_flat(best, bounds):
        warn_caller(
            "The search of the hyperparameters stopped before it converged "
            f"({best.message}). Scale X and y to moderate ranges, raise n_restarts_optimizer, or "
            "check the gradient of a custom kernel.",
            ConvergenceWarning,
        )
    gain = minima[0].first_value - best.value if minima[0].slope is not None else 0.0
    return covariance.with_theta(best.x), best.hessian, gain


def _with_noise(objective, minimum, i):
    """Return a result, or that of a search with more noise, theta_i, if it is lower.

    Where noise is negligible the objective is flat in its logarithm, and a search ends.
    """
    start, value, highest = minimum.x, minimum.value, objective.bounds[i, 1]
    while minimum.slope[i] < -_LEAST_SLOPE and start[i] < highest:
        more = start.copy()
        more[i] = min(start[i] + _MORE_NOISE, highest)
        known, value = value, (yield partial(objective.value, more, False))
        if not value < known:
            break
        start = more
    if start is minimum.x:
        return minimum
    options = {"hessian": objective.information, "least_gain": _LEAST_GAIN}
    functions = objective.value, objective.slope
    found = yield from minimize(*functions, start, objective.bounds, **options)
    return min(minimum, found, key=attrgetter("value"))


def _is_flat(minimum, bounds):
    """Return True if a search that was stopped has converged."""
    uphill = minimum.x - np.clip(minimum.x - minimum.slope, *bounds.T)
    return np.abs(uphill).max() <= _FLAT * max(1.0, abs(minimum.value))


@dataclass(frozen=True)
class Screening:
    """Schedule of the screenings of the whole box, which `screened_starts` does.

    One is due at once when a search gains more than two nats for each hyperparameter, as where new
    rows contradict the model. Others follow after the same number of new rows, after twice as many,
    and so on, up to the number of all rows: rows after a change are few at first.

    Attributes
    ----------
    wait : int
        Number of new rows between the latest screening and the next one: after the first one, the
        number of its rows.
    n_new : int
        Number of new rows from the latest screening to the latest search.
    """

    wait: int = 0
    n_new: int = 0

    def after(self, n, n_new, gain, n_theta):
        """Return the schedule after a search of n rows, and True if a screening is due.

        Parameters
        ----------
        n, n_new : int
            Number of rows, and of those since the search before.
        gain : float
            Gain of the search, in nats.
        n_theta : int
            Number of hyperparameters.
        """
        contradicts, n_new_before = gain > 2.0 * n_theta, self.n_new + n_new
        if not contradicts and n_new_before < self.wait:
            return Screening(self.wait, n_new_before), False
        wait = n_new if contradicts else 2 * self.wait
        return Screening(min(max(wait, 1), n)), True


@dataclass(frozen=True, eq=False)
class SearchRecord:
    """Record of a search, for the next one.

    Attributes
    ----------
    hessian : ndarray of shape (n_theta, n_theta) or None
        Approximate Hessian of minus the objective at the end of the search.
    n : int
        Number of rows.
    latest : float
        Latest time of a row.
    screening : Screening
        Schedule of the screenings of the whole box.
    other : tuple of (ndarray of shape (n_theta,), SearchRecord), or None
        Result and record of the latest search with the other choice of prior mean, if any.
    points : ndarray of shape (m, d + 1), or None
        Inducing points of the result, for a sparse model.
    """

    hessian: np.ndarray | None = None
    n: int = 0
    latest: float = -np.inf
    screening: Screening = field(default_factory=Screening)
    other: tuple | None = None
    points: np.ndarray | None = None

    def hessian_for(self, n_theta, n):
        """Return the Hessian if it has this size and n differs by at most a tenth, or None."""
        if self.hessian is None or len(self.hessian) != n_theta:
            return None
        return self.hessian if 0.9 * self.n <= n <= 1.1 * self.n else None

    def start_of_other(self, other, covariance):
        """Return the start of a search with the other prior mean for the same rows, and its record.

        The start is the result of its latest search, or else the ``covariance`` of this search.
        """
        start, known = other or (covariance.theta, self)
        if len(start) != len(covariance.theta):
            start, known = covariance.theta, self
        hessian = known.scaled_to(self.n)
        return np.clip(start, *covariance.bounds.T), replaced(self, hessian=hessian)

    def n_new(self, rows):
        """Return the number of rows that are later, or more, than those of this search."""
        later = np.count_nonzero(rows.X[:, rows.layout.position] > self.latest)
        return max(later, rows.n - self.n)

    def scaled_to(self, n):
        """Return the Hessian scaled to n equally informative rows, or None."""
        return None if self.hessian is None else scaled(self.hessian, n / self.n)

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


def scaled(hessian, factor):
    """Return a Hessian scaled to another number of rows; None for None."""
    return None if hessian is None else hessian * factor


def log_posterior(gp, hyperpriors):
    """Return the log likelihood of a conditioned GP plus the log density of its priors."""
    covariance = gp.covariance
    return gp.objective + HyperPrior(hyperpriors, covariance.names)(covariance.theta)


class Objective:
    """Minus a criterion and priors, as a function of theta.

    Slope and information at a theta reuse the evaluation of its value, if it was the last one.

    Parameters
    ----------
    criterion, covariance, hyperpriors
        See `search`.
    """

    def __init__(self, criterion, covariance, hyperpriors):
        self._criterion, self._covariance = criterion, covariance
        self.prior, self.bounds = HyperPrior(hyperpriors, covariance.names), covariance.bounds
        self.names = covariance.names
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
            given = *getattr(distribution, "args", ()), *getattr(distribution, "kwds", {}).values()
            for duration in filter(is_duration, given):
                expected = "a distribution of numbers, in the time_unit"
                advice = "Divide it by the unit: duration / pandas.Timedelta('1h')."
                got = f"the duration {duration}"
                raise invalid(f"hyperpriors[{name!r}]", expected, got=got, advice=advice)
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

# A screening needs the first number of rows. From more than the second on it begins with a third of
# them, within the limits.
_MIN_SCREENED, _ALL_SCREENED, _N_SCREENING = 20, 150, (80, 250)

# Screened lengthscales in space and time: the longest ones, relative to the extents, and the
# shortest ones, relative to the distance of neighbours on a regular grid, and to the median
# interval. Then the ratio of successive ones, and their largest number.
_LONGEST, _SHORTEST, _SCALE_RATIO, _MAX_SCALES = (2.0, 1.0), (2.0, 1.5), 4.0, 6

# Lengthscales, relative to the extents, where a single column matters: its own and the others'.
# Then the lengthscale of the other parts of a sum or product, relative to that of a long one.
_STRONG, _WEAK, _FAST = 0.5, 4.0, 1.0 / 16.0

# Screened variances of signal and noise, relative to that of y, and the part of the lengthscales in
# time, the longest first, that go with them. A smooth function has a large signal variance and long
# lengthscales; outliers may be a fast signal with little noise.
_VARIANCES = ((1.0, 0.3, 0.0, 1.0), (1.0, 0.003, 0.4, 1.0), (30.0, 0.003, 0.0, 0.6))

# Those of typical functions, and those of smooth functions with little noise.
_TYPICAL, _SMOOTH = (1.0, 0.1, 0.0, 1.0), (30.0, 0.003, 0.3, 1.0)

# Short searches end when their model predicts a smaller gain in nats. Their largest numbers of
# steps, before and after a comparison with earlier ones.
_ROUGH_GAIN, _STEPS = 1.0, (1, 30)

# Number of searches on all rows, and the difference in nats up to which they are completed.
_N_ROUGH, _CLOSE = 2, 12.0

# The same for a comparison of two kernels on all rows, after some steps from each start.
_FINE_GAIN, _FIRST_STEPS = 0.1, 3

# The extent of a column is that of this part of its rows; a skewed column has a narrow and a wide
# one as well. Default lengthscales have the ratios of these extents, the likeliest ones of those
# that differ by more than the factor.
MOST, _NARROW, _WIDE = 0.8, 0.5, 0.95
_SHARES, _SAME_RATIO = (MOST, _NARROW, 1.0), 2.0

# Bounds of the variance of the rough part in time, relative to the smooth one. With the lower one,
# it explains nothing; with the upper one, all.
_ROUGH_VARIANCE = (1e-3, 1e2)

# Hyperparameters of the smooth and the rough part in time: variances and lengthscales.
_OF_PARTS = (
    "signal_variance",
    "temporal_kernel__k1__length_scale",
    "temporal_kernel__k2__k1__constant_value",
    "temporal_kernel__k2__k2__length_scale",
)

# Lengthscale of a slow part in time, relative to the upper bound: a quarter of the span.
_SLOW = 0.025

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


def with_rough_part(covariance):
    """Return a covariance whose default kernel in time gets a rough part.

    Measured values are often rough from one time to the next. The lengthscale of that part is at
    least half the median interval.
    """
    smooth = covariance.temporal
    interval, longest = smooth.length_scale_bounds
    bounds = (0.5 * interval, longest)
    rough = ConstantKernel(0.1, _ROUGH_VARIANCE) * Matern(3.0 * interval, bounds, nu=0.5)
    kernels = covariance.spatial, smooth + rough, covariance.n_dims, covariance.level
    return covariance.with_kernels(*kernels)


def likeliest(covariances, rows, hyperpriors):
    """Return the covariance that explains a subset of the rows best at some lengthscales."""
    if len(covariances) == 1:
        return covariances[0]
    criterion, lowest = Dense.criterion(canonical_subset(rows, _screening_size(rows.n))), []
    for covariance in covariances:
        objective = Objective(criterion, covariance, hyperpriors)
        cells = _cells(covariance, rows, *_TYPICAL)
        lowest.append(min(objective.value(theta, False) for theta in cells))
    return covariances[np.argmin(lowest)]


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


def screened_starts(criterion, covariance, rows, hyperpriors):
    """Return starts of a search: a computation in parts.

    A search does not find distant lengthscales: the likelihood is flat between them. So a grid over
    the box is compared on a subset of the rows. Short searches from the given theta and from the
    likeliest cells follow, and then searches on all rows from the likeliest of their results.

    Parameters
    ----------
    criterion : Criterion
        Criterion of the rows.
    covariance : SeparableCovariance
    rows : Rows
    hyperpriors : dict of str to frozen scipy.stats distribution, or None

    Returns
    -------
    starts : list of Minimum, or None
        Short searches: the likeliest first, and others if their optima may be as likely; None
        with few rows, and if nothing has a density.
    """
    given = np.clip(covariance.theta, *covariance.bounds.T)
    if rows.n < _MIN_SCREENED or not len(given):
        return None
    few = canonical_subset(rows, _screening_size(rows.n))
    objective = Objective(Dense.criterion(few), covariance, hyperpriors)
    cells = yield from _likeliest_cells(objective, covariance, rows)
    minima = yield from _rough_minima(objective, [(x, None) for x in (given, *cells)])
    if few is not rows:
        objective = Objective(criterion, covariance, hyperpriors)
        starts = [(m.x, scaled(m.hessian, rows.n / few.n)) for m in minima]
        starts.append((given, None))
        values = yield from _values(objective, [x for x, _ in starts])
        order = np.argsort(values, kind="stable")[:_N_ROUGH]
        minima = yield from _rough_minima(objective, [starts[i] for i in order])
    return [m for m in minima[:_N_ROUGH] if m.value <= minima[0].value + _CLOSE] or None


def rough_start(criterion, covariance, rows, hyperpriors):
    """Return a covariance with a rough part in time that is likelier, and the record of its search.

    A computation in parts. Short searches on a subset of the rows are followed by one on all. The
    rough part must be likelier by more than the corrected Akaike criterion asks for its two
    hyperparameters: 2 nats with many rows, 4 with 20.

    Parameters
    ----------
    criterion : Criterion
        Criterion of the rows.
    covariance : SeparableCovariance
        With the default kernel in time, and the likeliest hyperparameters.
    rows : Rows
    hyperpriors : dict of str to frozen scipy.stats distribution, or None

    Returns
    -------
    covariance : SeparableCovariance or None
        Start of a search; None if the rough part is not likelier, or with too few rows.
    record : SearchRecord or None

    References
    ----------
    C. Hurvich, C.-L. Tsai, "Regression and Time Series Model Selection in Small Samples",
    Biometrika 1989.
    """
    n, n_theta, rough = rows.n, len(covariance.bounds), with_rough_part(covariance)
    if n < max(_MIN_SCREENED, n_theta + 4):  # with fewer the criterion is infinite
        return None, None
    few, needed = canonical_subset(rows, _screening_size(n)), _akaike(n_theta + 2, n)
    needed -= _akaike(n_theta, n)
    smooth, objective = (
        Objective(Dense.criterion(few), known, hyperpriors) for known in (covariance, rough)
    )
    value = yield partial(smooth.value, covariance.theta, False)
    starts, to_reach = _rough_starts(covariance, rough, rows), value - needed * few.n / n
    minima = yield from _lowest_minima(objective, starts, to_reach)
    if few is not rows:
        smooth, objective = (
            Objective(criterion, known, hyperpriors) for known in (covariance, rough)
        )
        value = yield partial(smooth.value, covariance.theta, False)
        minima = yield from _continued_on_all(objective, minima, n / few.n, value - needed)
    found = minima[0]
    if not found.value < value - needed:
        return None, None
    return rough.with_theta(found.x), SearchRecord(found.hessian, n, rows.latest)


def _lowest_minima(objective, starts, to_reach):
    """Return the results of searches, the lowest first; a few steps choose among the starts."""
    functions, minima = (objective.value, objective.slope), []
    options = {"hessian": objective.information, "least_gain": _ROUGH_GAIN, "to_reach": to_reach}
    for start in starts:
        first = minimize(*functions, start, objective.bounds, max_steps=_FIRST_STEPS, **options)
        minima.append((yield from first))
    minima = sorted(minima, key=attrgetter("value"))[:_N_ROUGH]
    for i, minimum in enumerate(minima):
        minima[i] = yield from minimize(*functions, minimum, objective.bounds, **options)
    best = min(minima, key=attrgetter("value"))
    if best.value < to_reach:
        swapped = _with_swapped_parts(objective, best.x)
        minima.append((yield from minimize(*functions, swapped, objective.bounds, **options)))
    return sorted(minima, key=attrgetter("value"))


def _continued_on_all(objective, minima, factor, to_reach):
    """Return the results of searches on all rows from the lowest minima of a subset.

    Hessians are scaled by ``factor``. The second minimum follows if it is close, and if the first
    search reaches its value.
    """
    values = yield from _values(objective, [minimum.x for minimum in minima])
    results = []
    for i in np.argsort(values, kind="stable")[:_N_ROUGH]:
        if values[i] > values.min() + _CLOSE:
            break
        hessian = scaled(minima[i].hessian, factor)
        options = {"hessian": hessian, "least_gain": _FINE_GAIN, "to_reach": to_reach}
        known = objective.value, objective.slope, minima[i].x, objective.bounds
        found = yield from minimize(*known, **options)
        results.append(found)
        if not found.value < to_reach:
            break
        to_reach = found.value
    return sorted(results, key=attrgetter("value"))


def _with_swapped_parts(objective, theta):
    """Return theta with scales and variances of the smooth and the rough part exchanged."""
    index = objective.names.index
    signal, smooth, ratio, rough = (index(name) for name in _OF_PARTS)
    theta = theta.copy()
    theta[signal] += theta[ratio]
    theta[ratio] *= -1.0
    theta[[smooth, rough]] = theta[[rough, smooth]]
    return np.clip(theta, *objective.bounds.T)


def _rough_starts(covariance, rough, rows):
    """Return theta (5, n_theta) with a rough part in time, from a covariance without one.

    The rough part explains most of the signal. It changes as fast, or more slowly, and the smooth
    part is slow; or it hardly changes, an effect of space alone, and the smooth part is fast.
    """
    interval, longest = covariance.temporal.length_scale_bounds
    fast, slow = covariance.temporal.length_scale, _SLOW * longest
    signal, noise = covariance.signal_variance, covariance.noise_variance
    # A slow part alone explains the effect of space as a trend.
    extents, power = extents_of_most(rows.S, MOST), np.var(rows.targets) or 1.0
    lengths = np.where(extents > 0.0, extents, extents.max(initial=1.0))
    starts = []
    for values in (
        (0.2 * signal, 8.0 * fast, 4.0, 2.0 * fast, 0.5 * noise),
        (0.2 * signal, slow, 4.0, fast, 0.5 * noise),
        (0.2 * signal, slow, 4.0, 4.0 * slow, 0.5 * noise),
        (0.05 * signal, 0.5 * fast, 20.0, longest, 0.5 * noise),
        (0.1 * power, 4.0 * interval, 20.0, longest, 0.5 * noise),
    ):
        theta = rough.theta
        for name, value in zip((*_OF_PARTS, "noise_variance"), values):
            theta = with_entries(rough, theta, name, value)
        starts.append(theta)
    starts[-1] = with_entries(rough, starts[-1], "spatial_kernel__length_scale", lengths)
    return np.clip(starts, *rough.bounds.T)


def _akaike(k, n):
    """Return half the corrected Akaike penalty of k hyperparameters learnt from n rows, in nats."""
    return k * n / (n - k - 1.0)


def _likeliest_cells(objective, covariance, rows):
    """Return the likeliest cell for each pair of variances, the likeliest first."""
    chosen = []
    for variances in _VARIANCES:
        cells = _cells(covariance, rows, *variances)
        values = yield from _values(objective, cells)
        chosen.append((np.min(values), cells[np.argmin(values)]))
    return [cell for _, cell in sorted(chosen, key=itemgetter(0))]


def _values(objective, thetas):
    """Return the objective at some theta: a computation in parts."""
    values = np.empty(len(thetas))
    for i, theta in enumerate(thetas):
        values[i] = yield partial(objective.value, theta, False)
    return np.where(np.isnan(values), np.inf, values)


def _rough_minima(objective, starts):
    """Return the results of short searches, the lowest first, one for each optimum.

    Starts are pairs of theta and an approximate Hessian, or None. After its first step, a search
    ends if no barrier separates it from an earlier result.
    """
    functions, bounds, minima = (objective.value, objective.slope), objective.bounds, []
    for found, hessian in starts:
        options = {"hessian": hessian if hessian is not None else objective.information}
        for max_steps in _STEPS:
            options |= {"least_gain": _ROUGH_GAIN, "max_steps": max_steps}
            found = yield from minimize(*functions, found, bounds, **options)
            same = yield from _same_optimum(objective, found, minima)
            if same is not None or not found.message:
                break
        if same is not None:
            minima[same] = min(minima[same], found, key=attrgetter("value"))
        elif found.value < np.inf:
            minima.append(found)
    return sorted(minima, key=attrgetter("value"))


def _same_optimum(objective, found, minima):
    """Return the index of the first minimum that no barrier separates from ``found``, or None."""
    for i, known in enumerate(minima):
        between = yield partial(objective.value, 0.5 * (found.x + known.x), False)
        if between <= max(found.value, known.value):
            return i
    return None


def _screening_size(n):
    """Return the number of rows on which a grid is compared."""
    return n if n <= _ALL_SCREENED else int(np.clip(n // 3, *_N_SCREENING))


def _cells(covariance, rows, signal, noise, first, last):
    """Return theta (k, n_theta) of a grid over the scales of space and time.

    The variances of signal and noise are relative to that of y. A part of the scales in time is
    used, from the ``first`` to the ``last`` share of them.
    """
    power, cells = np.var(rows.targets) or 1.0, []
    theta = with_entries(covariance, covariance.theta, "signal_variance", signal * power)
    theta = with_entries(covariance, theta, "noise_variance", noise * power)
    spatial = _scales(covariance, rows, "spatial_kernel")
    temporal = _scales(covariance, rows, "temporal_kernel")
    temporal = temporal[int(first * len(temporal)) : int(np.ceil(last * len(temporal)))]
    for space, time in product(spatial, temporal):
        cell = theta
        for name, values in (space | time).items():
            cell = with_entries(covariance, cell, name, values)
        cells.append(cell)
    return np.clip(cells, *covariance.bounds.T)


def _scales(covariance, rows, part):
    """Return the screened lengthscales of a spatial or temporal kernel: a list of dicts by name.

    With a lengthscale for each column, there are also values at which one column alone matters.
    """
    in_time, whole = part == "temporal_kernel", f"{part}__length_scale"
    if in_time and isinstance(covariance.temporal, Forgetting):
        # The lengthscale of a forgetting kernel is l = -2 / log(1 - ε).
        levels = _levels(rows.t[:, np.newaxis], rows, in_time)
        return [{f"{part}__epsilon": -np.expm1(-2.0 / level)} for level in levels] or [{}]
    names = {name for name in covariance.names if name.startswith(part)}
    given = {f"{name}__length_scale": known for name, *known in scaled_kernels(covariance, rows)}
    given = {name: known for name, known in given.items() if name in names}
    if not given:
        return [{}]
    columns = next(iter(given.values()))[1]
    levels, extents = _levels(columns, rows, in_time), extents_of_most(columns, MOST)
    if not levels:
        return [{}]
    if whole not in given:
        return _scales_of_parts({name: kernel for name, (kernel, _) in given.items()}, levels)
    extents = np.where(extents > 0.0, extents, extents.max())
    scales = [{whole: level * extents / extents.max()} for level in levels]
    if covariance.names.count(whole) > 1:
        strong = np.where(np.eye(len(extents), dtype=bool), _STRONG, _WEAK)
        scales += [{whole: row * extents} for row in strong]
    return scales


def _scales_of_parts(kernels, levels):
    """Return the screened lengthscales of the parts of a sum or product: a list of dicts by name.

    They have the ratios of the given ones, or a single one is long.
    """
    longest = max(np.max(kernel.length_scale) for kernel in kernels.values())
    scales = [
        {name: level / longest * kernel.length_scale for name, kernel in kernels.items()}
        for level in levels
    ]
    if len(kernels) > 1:
        shares = [dict.fromkeys(kernels, _FAST) | {name: 1.0} for name in kernels]
        scales += [{name: levels[0] * x for name, x in each.items()} for each in shares]
    return scales


def _levels(columns, rows, in_time):
    """Return a list of lengthscales from the extent of columns (n, d) to the shortest of use."""
    extent = extents_of_most(columns, MOST).max()
    if not extent > 0.0:
        return []
    longest, shortest = _LONGEST[in_time], _SHORTEST[in_time]
    if in_time:
        shortest *= np.median(np.diff(np.unique(columns))) / extent
    else:
        shortest *= rows.n ** (-1.0 / rows.S.shape[1])
    n_levels = 1 + max(int(np.log(longest / shortest) / np.log(_SCALE_RATIO)), 0)
    levels = _SCALE_RATIO ** -np.arange(min(n_levels, _MAX_SCALES))
    return list(extent * longest * levels)


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
    if not len(covariance.bounds):
        return covariance, SearchRecord()
    few = _clustered_subset(rows, _N_FIRST, rng)
    criterion = Dense.criterion(few)
    starts = completed(screened_starts(criterion, covariance, few, hyperpriors))
    covariance, hessian, _ = completed(search(criterion, covariance, starts, **options))
    record = SearchRecord(hessian, few.n)
    if few.n == rows.n:
        return covariance, record
    part = _clustered_subset(rows, _N_PART, rng)
    criterion = Dense.criterion(part)
    thetas = [covariance.theta, *(minimum.x for minimum in starts or ())]
    values = completed(_values(Objective(criterion, covariance, hyperpriors), thetas))
    order = np.argsort(values, kind="stable")[:_N_ROUGH]
    starts = [thetas[i] for i in order if values[i] <= values.min() + _CLOSE]
    hessian = record.scaled_to(part.n) if order[0] == 0 else None
    options = options | {"n_restarts": 0, "hessian": hessian}
    learnt, hessian, _ = completed(search(criterion, covariance, starts, **options))
    return learnt, SearchRecord(hessian, part.n)


def cells_of_bound(covariance, rows):
    """Return theta (n_cells, n_theta) of a grid of typical functions, and of one of smooth ones.

    A few inducing points suffice for smooth functions, which their bound favours.
    """
    smooth = _cells(covariance, rows, *_SMOOTH)
    in_space = [
        name.startswith("spatial") and name.endswith("length_scale") for name in covariance.names
    ]
    longer = np.clip(smooth + np.log(_SCALE_RATIO) * np.array(in_space), *covariance.bounds.T)
    return _cells(covariance, rows, *_TYPICAL), np.concatenate([smooth, longer])


def with_added_noise(covariance, variance):
    """Return theta with the noise variance increased, within the bounds."""
    theta = covariance.theta
    theta = with_entries(covariance, theta, "noise_variance", covariance.noise_variance + variance)
    return np.clip(theta, *covariance.bounds.T)


def random_subset(rows, n, rng):
    """Return at most n of the rows, drawn uniformly, with the scale of all."""
    if rows.n <= n:
        return rows
    return _subset(rows, _canonical_order(rows)[rng.choice(rows.n, int(n), replace=False)])


def _canonical_order(rows):
    """Return the rows (n,) in the order of their values: draws do not depend on the order given."""
    return np.lexsort((rows.y, *rows.S.T, rows.t))


def canonical_subset(rows, n):
    """Return at most n of the rows, independent of their order.

    They are from two intervals of time: the latest, and one around the most extreme y of the
    others. Consecutive rows show fast changes, which would be noise in rows spread over all times,
    and a few outliers decide which hyperparameters are likely. Rows at the same time are drawn.
    """
    if rows.n <= n:
        return rows
    known = _canonical_order(rows)
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
    order = _canonical_order(rows)
    spread = rng.choice(rows.n, n - n // 3, replace=False)
    extents = extents_of_most(np.column_stack([rows.S, rows.t]), MOST)
    columns = np.column_stack([rows.S, rows.t])[order] / np.where(extents > 0.0, extents, 1.0)
    size = n // 3 // _N_CLUSTERS
    centres = columns[rng.choice(rows.n, _N_CLUSTERS, replace=False)]
    near = [np.argpartition(d, size)[:size] for d in cdist(centres, columns, "sqeuclidean")]
    return _subset(rows, order[np.concatenate([spread, *near])])


def leaves(covariance, rows):
    """Yield (name, kernel, columns (n, d)) for the kernels that sums and products consist of."""
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
    """Yield the `leaves` that have a lengthscale, with the columns that it scales."""
    for name, kernel, columns in leaves(covariance, rows):
        if isinstance(kernel, ChordalMatern):
            columns = kernel.positions(columns)
        if isinstance(kernel, _IN_UNITS):
            yield name, kernel, columns


def with_entries(covariance, theta, name, values):
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
