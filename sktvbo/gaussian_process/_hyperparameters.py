"""Search of the hyperparameters: objective, priors, record for the next search, and starts.

Starts are at the scale of the data, and from fits to a subset of the rows.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from operator import attrgetter

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

# Starts of a subset: lengthscales in space and time, relative to the data's extents; signal and
# noise variance, relative to y². The likeliest scales of each pair of variances are used.
_SPACES, _TIMES = (2.0, 0.5, 0.125), (1.5, 0.25, 0.05)
_VARIANCES = ((1.0, 0.3), (1.0, 0.05), (30.0, 0.005))

# Lengthscales are compared from this many rows on, using a third of the rows within these limits.
_N_SCREENED, _N_SCREENING = 64, (48, 250)

# Largest lengthscale compared, relative to the data's extent, and ratio of successive ones.
_LARGEST_SCALE, _SCALE_RATIO = 0.3, 3.0

# The extent of a column is that of this part of its rows; a skewed column has a narrow and a wide
# one as well. Default lengthscales have the ratios of these extents, the likeliest ones of those
# that differ by more than the factor.
MOST, _NARROW, _WIDE = 0.8, 0.5, 0.95
_SHARES, _SAME_RATIO = (MOST, _NARROW, 1.0), 2.0

# No comparison if a start has this many nats a row more than pure noise.
_WELL_EXPLAINED = 0.5

# Noise variances of the comparison, relative to the variance of y.
_NOISE_SHARES = (0.03, 0.15, 0.6)

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
    criterion, power = Dense.criterion(_screening_subset(rows)), np.var(rows.targets) or 1.0
    largest = []
    for covariance in covariances:
        grid, _ = _grid(covariance, _scale_grid(covariance, rows), power, _NOISE_SHARES[1:2])
        largest.append(_likelihoods(criterion, covariance, grid, hyperpriors).max())
    return covariances[np.argmax(largest)]


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
    """Return starts of a search (n_starts, n_theta): `default_starts`, or a likelier one.

    A search does not find distant lengthscales: the likelihood is flat between them. If a start
    explains little, a grid of lengthscales and noise levels is compared on a subset of the rows,
    and the best of each lengthscale on all rows. The cost is that of a few search steps.
    """
    starts = default_starts(covariance, rows)
    scales = _scale_grid(covariance, rows) if rows.n >= _N_SCREENED else {}
    if not scales:
        return starts
    known = _likelihoods(criterion, covariance, starts, hyperpriors)
    power = np.var(rows.targets) or 1.0
    noise_alone = -0.5 * rows.n * (LOG_2PI + 1.0 + np.log(power))
    if known.max() > noise_alone + _WELL_EXPLAINED * rows.n:
        return starts
    grid, axes = _grid(covariance, scales, power)
    part, chosen = Dense.criterion(_screening_subset(rows)), set()
    values = _likelihoods(part, covariance, grid, hyperpriors)
    for places in axes:
        for k in np.unique(places):
            those = np.flatnonzero(places == k)
            chosen.add(int(those[np.argmax(values[those])]))
    candidates = grid[sorted(chosen)]
    likely = _likelihoods(criterion, covariance, candidates, hyperpriors)
    return candidates[[np.argmax(likely)]] if likely.max() > known.max() else starts


def _likelihoods(criterion, covariance, thetas, hyperpriors):
    """Return the criterion plus the log density of theta, of each row of thetas (k, n_theta)."""
    prior, values = HyperPrior(hyperpriors, covariance.names), np.empty(len(thetas))
    for i, theta in enumerate(thetas):
        values[i] = criterion(covariance.with_theta(theta), False)[0] + prior(theta)
    return values


def _screening_subset(rows):
    """Return the rows by which starts are compared."""
    n = int(np.clip(rows.n // 3, *_N_SCREENING))
    return _clustered_subset(rows, n, np.random.RandomState(0))


def _grid(covariance, scales, power, shares=_NOISE_SHARES):
    """Return theta (k, n_theta) of all combinations of scales, and their indices (k,) per axis."""
    names = covariance.names
    places = list(product(*(range(len(values)) for values in scales.values()), shares))
    *axes, shares = np.array(places).T
    columns = {name: values[i.astype(int)] for (name, values), i in zip(scales.items(), axes)}
    columns["signal_variance"] = np.log((1.0 - shares) * power)[:, np.newaxis]
    columns["noise_variance"] = np.log(shares * power)[:, np.newaxis]
    grid = np.tile(covariance.theta, (len(places), 1))
    for name, values in columns.items():
        if name in names:
            grid[:, [i for i, known in enumerate(names) if known == name]] = values
    return np.clip(grid, *covariance.bounds.T), axes


def _scale_grid(covariance, rows):
    """Return theta (k, 1) or (k, d) of the lengthscales that rows can distinguish, by name."""
    grids = {}
    parts = [(f"{part}__length_scale", *rest) for part, *rest in _whole_kernels(covariance, rows)]
    if isinstance(covariance.temporal, Forgetting):
        parts.append(("temporal_kernel__epsilon", covariance.temporal, rows.t[:, np.newaxis]))
    for name, kernel, columns in parts:
        n_learnt, extents = covariance.names.count(name), extents_of_most(columns, MOST)
        if not (n_learnt and extents.max() > 0.0):
            continue
        if name.startswith("temporal"):
            least = np.median(np.diff(np.unique(columns)))
        else:
            # Places of d coordinates, also where ``columns`` are their points in space.
            least = (
                2.0 * rows.n ** (-1.0 / rows.S.shape[1]) * extents_of_most(columns, _NARROW).max()
            )
        largest = _LARGEST_SCALE * extents_of_most(columns, _WIDE).max()
        n_scales = 1 + max(int(np.ceil(np.log(largest / least) / np.log(_SCALE_RATIO))), 0)
        units = np.where(extents > 0.0, extents, extents.max()) if n_learnt > 1 else extents.max()
        scales = largest / extents.max() * _SCALE_RATIO ** -np.arange(n_scales)
        lengths = np.multiply.outer(scales, np.atleast_1d(units))
        # The lengthscale of a forgetting kernel is l = -2 / log(1 - ε).
        forgets = isinstance(kernel, Forgetting)
        grids[name] = np.log(-np.expm1(-2.0 / lengths) if forgets else lengths)
    return grids


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
    starts = [theta, *screened_starts(criterion, covariance, rows, hyperpriors)]
    cells = cells_at_scale(covariance, rows)
    values = _likelihoods(criterion, covariance, cells.reshape(-1, len(theta)), hyperpriors)
    starts.extend(cells[range(len(cells)), values.reshape(cells.shape[:2]).argmax(axis=1)])
    starts = [start for start in np.clip(starts, *bounds.T) if prior(start) > -np.inf] or [theta]
    starts = list({start.tobytes(): start for start in starts}.values())
    covariance, hessian = completed(search(criterion, covariance, np.array(starts), **options))
    record = SearchRecord(hessian, few.n)
    if few.n == rows.n:
        return covariance, record
    part = _clustered_subset(rows, _N_PART, rng)
    criterion = Dense.criterion(part)

    def value(theta):
        return criterion(covariance.with_theta(theta), False)[0] + prior(theta)

    starts = with_another_optimum(value, covariance.theta, cells[1:].reshape(-1, len(theta)))
    options = options | {"n_restarts": 0, "hessian": record.scaled_to(part.n)}
    learnt, hessian = completed(search(criterion, covariance, starts, **options))
    return learnt, SearchRecord(hessian, part.n)


def with_another_optimum(value, first, others):
    """Return the first start, and the likeliest of others if it is near another optimum.

    That is if a barrier separates both: if the value is smaller half way than at either. More rows
    may make another optimum the likeliest.

    Parameters
    ----------
    value : callable, theta (n_theta,) -> float
    first : ndarray of shape (n_theta,)
    others : sequence of ndarray of shape (n_theta,)

    Returns
    -------
    starts : ndarray of shape (1, n_theta) or (2, n_theta)
    """
    values = [value(theta) for theta in others]
    most = max(values, default=-np.inf)
    if most > -np.inf:
        other = others[np.argmax(values)]
        if value(0.5 * (first + other)) < min(value(first), most):
            return np.array([first, other])
    return first[np.newaxis]


def cells_at_scale(covariance, rows):
    """Return theta of a grid of lengthscales for each pair of variances (k, n_cells, n_theta)."""
    with np.errstate(over="ignore"):
        power = np.mean(rows.targets**2) or 1.0
    cells = []
    for signal, noise in _VARIANCES:
        for space, time in product(_SPACES, _TIMES):
            theta = _theta_at_scale(covariance, rows, space, time)
            theta = _with_entries(covariance, theta, "signal_variance", signal * power)
            cells.append(_with_entries(covariance, theta, "noise_variance", noise * power))
    cells = np.clip(cells, *covariance.bounds.T)
    return cells.reshape(len(_VARIANCES), -1, len(covariance.theta))


def with_added_noise(covariance, variance):
    """Return theta with the noise variance increased, within the bounds."""
    theta = covariance.theta
    theta = _with_entries(covariance, theta, "noise_variance", covariance.noise_variance + variance)
    return np.clip(theta, *covariance.bounds.T)


def random_subset(rows, n, rng):
    """Return at most n of the rows, drawn uniformly, with the scale of all."""
    if rows.n <= n:
        return rows
    return _subset(rows, _canonical_order(rows)[rng.choice(rows.n, int(n), replace=False)])


def _canonical_order(rows):
    """Return the rows (n,) in the order of their values: draws do not depend on the order given."""
    return np.lexsort((rows.y, *rows.S.T, rows.t))


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
