"""Where a search for hyperparameters starts: near the data's scale, and from a part of the rows."""

from itertools import product

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from ..kernels import Forgetting, ProportionalMatern
from ._conditioned import LOG_2PI, Dense
from ._search import HyperPrior, Knowledge

# A lengthscale is far from the data's scale if neighbours are more than the first number of it
# apart, or all rows within less than the second: the likelihood is flat there.
_TOO_SHORT, _TOO_LONG = 10.0, 1e-3

# A kernel hardly changes along a column of less than the first number of lengthscales, and does
# along one of more than the second.
_FLAT, _CHANGES = 0.1, 0.5

# Neighbours are looked for of this many rows.
_N_ANCHORS = 50

# Of an exact fit to a part of the rows: how many, first from all starts, then from the best.
_N_FIRST, _N_PART = 250, 500

# A third of the part are neighbours of this many rows: by them short lengthscales are known.
_N_CLUSTERS = 8

# Starts: lengthscales in space and time in extents of the data, and the noise's part of y².
_STARTS = (
    (0.5, 0.25, 0.1),
    (0.5, 0.05, 0.3),
    (1.5, 0.25, 0.1),
    (1.5, 0.05, 0.1),
    (0.2, 0.05, 0.3),
)

# Lengthscales are compared from this many rows on, on a third of the rows within these limits.
_N_SCREENED, _N_SCREENING = 64, (48, 250)

# The largest lengthscale compared, in extents of the data, and the factor between one and the next.
_COARSEST, _APART = 0.3, 3.0

# They are not compared where a start has this many nats a row more than noise alone.
_MUCH = 0.5

# The noise's parts of the variance of y that they are compared with.
_NOISE_SHARES = (0.03, 0.15, 0.6)

# The kernels whose lengthscale is in units of the columns.
_IN_UNITS = (RBF, RationalQuadratic)


def kernels_or_defaults(spatial, temporal, rows, follow_data):
    """The kernels, or defaults for None, whose bounds may follow the data; no space, no kernel."""
    if rows.S.shape[1] == 0:
        spatial = None
    elif spatial is None:
        spatial = Matern(nu=2.5)
        if follow_data:
            extents = np.ptp(rows.S, axis=0)
            extent = extents.max() or 1.0
            bounds = (0.01 * extent, 10.0 * extent)
            if len(extents) == 1:
                spatial = Matern(0.5 * extent, bounds, nu=2.5)
            else:
                extents = np.where(extents > 0.0, extents, extent)
                spatial = ProportionalMatern(0.5 * extents, bounds, nu=2.5)
    if temporal is None:
        temporal = Matern(nu=1.5)
        if follow_data:
            gaps = np.diff(np.unique(rows.t))
            interval, span = (np.median(gaps), gaps.sum()) if gaps.size else (1.0, 1.0)
            bounds = (interval, 10.0 * max(interval, span))
            temporal = Matern(np.clip(0.25 * span, *bounds), bounds, nu=1.5)
    return spatial, temporal


def extents_of(covariance, rows):
    """The extents of the columns of which there are lengthscales: {name: extent}."""
    return {
        f"{part}__length_scale": np.ptp(columns, axis=0).max(initial=0.0)
        for part, _, columns in _parts(covariance, rows)
    }


def far_lengthscales(covariance, rows):
    """The lengthscales that are far from the data's scale: {name: value}."""
    found = {}
    for part, kernel, columns in _parts(covariance, rows):
        lengths = np.broadcast_to(kernel.length_scale, columns.shape[1])
        scaled = columns / lengths
        extent = np.ptp(scaled, axis=0).max(initial=0.0)
        # No neighbour is farther away than the diagonal.
        wide = extent * np.sqrt(scaled.shape[1]) > _TOO_SHORT
        if extent > 0.0 and (extent < _TOO_LONG or (wide and _spacing(scaled) > _TOO_SHORT)):
            found[f"{part}__length_scale"] = kernel.length_scale
    return found


def flat_columns(covariance, rows):
    """The extents of spatial columns along which a kernel with one lengthscale hardly changes.

    Only where it changes along others: NaN elsewhere, and for other kernels. Shape (d,).
    """
    kernel, nothing = covariance.spatial, np.full(rows.S.shape[1], np.nan)
    if not isinstance(kernel, _IN_UNITS) or np.size(kernel.length_scale) > 1:
        return nothing
    extents, length = np.ptp(rows.S, axis=0), np.max(kernel.length_scale)
    if extents.max() < _CHANGES * length:
        return nothing
    return np.where((extents > 0.0) & (extents < _FLAT * length), extents, np.nan)


def within_reach(covariance, rows):
    """Starts (n_starts, n_theta): the covariance's, and one at the data's scale if that is far."""
    starts, names = [covariance.theta], far_lengthscales(covariance, rows)
    if names:
        starts.append(_scaled(covariance, rows, 0.5, 0.25, names))
    return np.array(starts)


def screened_starts(criterion, covariance, rows, hyperpriors):
    """Starts of a search (n_starts, n_theta): `within_reach`, or a likelier one at other scales.

    A search from one lengthscale does not find another one that is far away: between them the
    likelihood is flat. So where a start explains little, lengthscales, with several levels of
    much noise, are compared on a part of the rows, and the best of each lengthscale on all rows. In
    all this takes as long as a few steps of a search.
    """
    starts = within_reach(covariance, rows)
    scales = _scales(covariance, rows) if rows.n >= _N_SCREENED else {}
    if not scales:
        return starts
    prior = HyperPrior(hyperpriors, covariance.names)

    def likelihoods(criterion, thetas):
        values = [criterion(covariance.with_theta(theta), False)[0] for theta in thetas]
        return np.array([value + prior(theta) for value, theta in zip(values, thetas)])

    known, power = likelihoods(criterion, starts), np.var(rows.targets) or 1.0
    noise_alone = -0.5 * rows.n * (LOG_2PI + 1.0 + np.log(power))
    if known.max() > noise_alone + _MUCH * rows.n:
        return starts
    n_part = int(np.clip(rows.n // 3, *_N_SCREENING))
    part = _with_neighbours(rows, n_part, np.random.RandomState(0))
    grid, axes = _grid(covariance, scales, power)
    values, chosen = likelihoods(Dense.criterion(part), grid), set()
    for places in axes:
        for k in np.unique(places):
            those = np.flatnonzero(places == k)
            chosen.add(int(those[np.argmax(values[those])]))
    found = grid[sorted(chosen)]
    likely = likelihoods(criterion, found)
    return found[[np.argmax(likely)]] if likely.max() > known.max() else starts


def _grid(covariance, scales, power):
    """Thetas (k, n_theta) at all combinations of scales, and their places (k,) on each axis."""
    names = covariance.names
    places = list(product(*(range(len(values)) for values in scales.values()), _NOISE_SHARES))
    *axes, shares = np.array(places).T
    columns = {name: values[i.astype(int)] for (name, values), i in zip(scales.items(), axes)}
    columns["signal_variance"] = np.log((1.0 - shares) * power)[:, np.newaxis]
    columns["noise_variance"] = np.log(shares * power)[:, np.newaxis]
    grid = np.tile(covariance.theta, (len(places), 1))
    for name, values in columns.items():
        if name in names:
            grid[:, [i for i, known in enumerate(names) if known == name]] = values
    return np.clip(grid, *covariance.bounds.T), axes


def _scales(covariance, rows):
    """Theta (k, 1) or (k, d) of the lengthscales that rows may tell apart, by name."""
    found = {}
    parts = [(f"{part}__length_scale", *rest) for part, *rest in _parts(covariance, rows)]
    if isinstance(covariance.temporal, Forgetting):
        parts.append(("temporal_kernel__epsilon", covariance.temporal, rows.t[:, np.newaxis]))
    for name, kernel, columns in parts:
        n_learnt, extents = covariance.names.count(name), np.ptp(columns, axis=0)
        largest = extents.max()
        if not (n_learnt and largest > 0.0):
            continue
        if name.startswith("temporal"):
            least = np.median(np.diff(np.unique(columns))) / largest
        else:
            least = 2.0 * rows.n ** (-1.0 / len(extents))
        n_scales = 1 + max(int(np.ceil(np.log(_COARSEST / least) / np.log(_APART))), 0)
        units = np.where(extents > 0.0, extents, largest) if n_learnt > 1 else [largest]
        lengths = np.multiply.outer(_COARSEST * _APART ** -np.arange(n_scales), units)
        # Its lengthscale is l = -2 / log(1 - ε).
        forgets = isinstance(kernel, Forgetting)
        found[name] = np.log(-np.expm1(-2.0 / lengths) if forgets else lengths)
    return found


def restarts(covariance, rows, hyperpriors):
    """List of starts that do not depend on earlier results, one of them for fast change.

    A few old rows may make the extent in time a hundred times that of the others. Starts without a
    density are left out.
    """
    starts = [*within_reach(covariance, rows), _scaled(covariance, rows, 0.5, 0.025)]
    prior = HyperPrior(hyperpriors, covariance.names)
    return [start for start in starts if prior(start) > -np.inf]


def learnt_from_part(covariance, rows, searched, hyperpriors, rng):
    """The covariance of an exact fit to some of the rows, from several starts, and what it leaves.

    Parameters
    ----------
    covariance : SeparableCovariance
    rows : Rows
    searched : callable
        ``searched(criterion, covariance, start)`` is the covariance learnt, with the Hessian;
        ``n_restarts=0`` means that it is from this start alone, ``hessian`` that one is known.
    hyperpriors : dict or None
        Starts without a density are left out.
    rng : RandomState

    Returns
    -------
    covariance : SeparableCovariance
    knowledge : Knowledge
    """
    prior = HyperPrior(hyperpriors, covariance.names)
    theta, bounds = covariance.theta, covariance.bounds
    if not len(theta):
        return covariance, Knowledge()
    few = _with_neighbours(rows, _N_FIRST, rng)
    criterion = Dense.criterion(few)
    starts = list(screened_starts(criterion, covariance, rows, hyperpriors))
    if not any(np.array_equal(start, theta) for start in starts):
        starts.insert(0, theta)
    with np.errstate(over="ignore"):
        power = np.mean(rows.targets**2) or 1.0
    for space, time, noise in _STARTS:
        start = _scaled(covariance, rows, space, time)
        start = _replaced(covariance, start, "signal_variance", power)
        starts.append(_replaced(covariance, start, "noise_variance", noise * power))
    starts = [start for start in np.clip(starts, *bounds.T) if prior(start) > -np.inf] or [theta]
    covariance, hessian = searched(criterion, covariance, np.array(starts))
    knowledge = Knowledge(hessian, few.n)
    if few.n == rows.n:
        return covariance, knowledge
    part = _with_neighbours(rows, _N_PART, rng)
    options = {"n_restarts": 0, "hessian": knowledge.scaled_to(part.n)}
    covariance, hessian = searched(Dense.criterion(part), covariance, covariance.theta, **options)
    return covariance, Knowledge(hessian, part.n)


def with_more_noise(covariance, variance):
    """Theta of the covariance with its noise variance raised, within the bounds."""
    theta = covariance.theta
    theta = _replaced(covariance, theta, "noise_variance", covariance.noise_variance + variance)
    return np.clip(theta, *covariance.bounds.T)


def drawn(rows, n, rng):
    """At most n of the rows, drawn uniformly, with the scale of all."""
    if rows.n <= n:
        return rows
    return _only(rows, rng.choice(rows.n, int(n), replace=False))


def _only(rows, indices):
    """Some of the rows, with the scale of all."""
    return rows.drop(np.setdiff1d(np.arange(rows.n), indices), standardize=False)


def _with_neighbours(rows, n, rng):
    """At most n of the rows: drawn uniformly, and with neighbours of some."""
    if rows.n <= n:
        return rows
    spread = rng.choice(rows.n, n - n // 3, replace=False)
    extents = np.ptp(rows.X, axis=0)
    columns = rows.X / np.where(extents > 0.0, extents, 1.0)
    size = n // 3 // _N_CLUSTERS
    centres = columns[rng.choice(rows.n, _N_CLUSTERS, replace=False)]
    near = [np.argpartition(d, size)[:size] for d in cdist(centres, columns, "sqeuclidean")]
    return _only(rows, np.concatenate([spread, *near]))


def _parts(covariance, rows):
    """(name, kernel, its columns (n, d)) of the kernels that have a lengthscale."""
    for part, kernel, columns in (
        ("spatial_kernel", covariance.spatial, rows.S),
        ("temporal_kernel", covariance.temporal, rows.t[:, np.newaxis]),
    ):
        if isinstance(kernel, _IN_UNITS):
            yield part, kernel, columns


def _scaled(covariance, rows, space, time, names=None):
    """Theta of the covariance with lengthscales, all or some, that are parts of the extents."""
    theta = covariance.theta
    for part, _, columns in _parts(covariance, rows):
        name = f"{part}__length_scale"
        if names is None or name in names:
            share = space if part == "spatial_kernel" else time
            extents = share * np.ptp(columns, axis=0)
            theta = _replaced(covariance, theta, name, np.where(extents > 0.0, extents, 1.0))
    return np.clip(theta, *covariance.bounds.T)


def _replaced(covariance, theta, name, values):
    """Theta with the entries of one name replaced: the largest value where there is one entry."""
    where = [i for i, known in enumerate(covariance.names) if known == name]
    theta, values = theta.copy(), np.atleast_1d(values)
    if where:
        theta[where] = np.log(values if len(values) == len(where) else values.max())
    return theta


def _spacing(columns):
    """Median distance of some of the rows (n, d) to the nearest that is elsewhere."""
    anchors = columns[:: max(len(columns) // _N_ANCHORS, 1)]
    distances = cdist(anchors, columns)
    nearest = np.min(distances, axis=1, where=distances > 0.0, initial=np.inf)
    return np.median(nearest)
