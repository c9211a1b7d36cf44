"""Warnings of a user's call of fit, each with a remedy."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Matern, RationalQuadratic, Sum

from .._durations import is_duration
from .._values import extents_of_most
from .._warnings import warn_caller
from ..exceptions import ModelWarning
from ..kernels import Wiener
from ._dates import parts_of
from ._hyperparameters import MOST, far_lengthscales, leaves, scaled_kernels
from ._kernel_families import parameters
from ._outliers import MIN_ROWS, are_too_many, limit, smooth_distances
from ._time_scales import far_rates, interval_and_span, rates, starts_early

# Without a mean, y is far from 0 if its average exceeds this many standard deviations.
_FAR_FROM_ZERO = 3.0

# A few rows carry the range of a column if it is the first number times that of the others, and
# they are at most the second fraction of all rows. Reported from the third number of rows on.
_CARRIED, _FEW, _MIN_ROWS = 10.0, 0.05, 10

# The sampling interval is this quantile of the gaps between distinct times: irregular times show
# shorter periods than regular ones.
_SHORT_GAP = 0.1

# A single lengthscale does not suit columns whose extents have a larger ratio.
_MAX_RATIO = 30.0

# Inducing points are too few if they leave more than this part of the variance of y to noise.
_LITTLE = 0.03

# A standard deviation below this part of the largest value is rounding.
_ROUNDING = 16.0 * np.finfo(float).eps

# Rows are too many if a search takes longer, in seconds on one core.
LONG = 10.0

# Meaning of a hyperparameter at its lower and upper bound, by the end of its name.
_REMEDIES = {
    "noise_variance": (
        "y has hardly any noise. If that is true, lower the bound",
        "the model explains y as noise. Raise the bound",
    ),
    "signal_variance": (
        "the model explains y as noise. If it is not, start the kernels at f's lengthscales, or "
        "raise n_restarts_optimizer",
        "f is smooth and hardly changes between the rows. Raise the bound",
    ),
    "constant_value": (
        "this part of the kernel explains nothing. Leave it out, or lower the bound",
        "Raise the bound, or fix it",
    ),
    "length_scale": (
        "f changes faster than the rows can show, or the bound is in another unit. Lower the "
        "bound if the rows are dense enough, or start nearer to the data",
        "f hardly changes in these columns. Leave them out, or raise the bound if it is in another "
        "unit",
    ),
}
_IN_TIME = (
    "f hardly changes over the times of these rows. If more rows follow, they may show a change. "
    "Otherwise make the model static by temporal_kernel=ConstantKernel(1.0, 'fixed'), or raise "
    "the bound if it is in another unit"
)
_SEASONS = ", or give hyperpriors=season_priors(period)"
# Meaning if y is not standardized, which may be the reason.
_UNSCALED = {
    ("noise_variance", 1): "the model explains y as noise, or y has a large scale. Use "
    "normalize_y=True, or raise the bound",
    ("signal_variance", 0): "the model explains y as noise, or y has a small scale. Use "
    "normalize_y=True, start the kernels at f's lengthscales, or lower the bound",
    ("signal_variance", 1): "y has a large scale, or hardly changes between the rows. Use "
    "normalize_y=True, or raise the bound",
}
_IN_THEIR_UNIT = "Give it, and its bounds, in their unit (of dates: time_unit)"
_PER_UNIT = "Give it, and its bounds, per unit of the times (of dates: time_unit)"
# Side of the bound at which a rate changes nothing: 0 is the lower.
_SLOW = {"epsilon": 0, "drift_variance": 0, "rate": 0, "discount": 1}
_RAISED = (
    "The bound is raised for the Kalman filter and for relevancies: use solver='dense', or start "
    "below it, to use the bound given"
)
_OTHER = ("Lower the bound, or fix it", "Raise the bound, or fix it")


def advise_on_rows(rows, owner, has_mean, seconds):
    """Warn if y is far from 0, no mean is learnt and y is not centred; and of too many rows.

    ``owner`` is the name of the estimator's class, ``seconds`` the estimated duration of a search.
    """
    if seconds > LONG:
        _warn(
            f"The search of the hyperparameters takes about {seconds:.0f} s with {rows.n} rows, "
            "and eight times as long with twice as many. Use SparseTimeVaryingGPRegressor, or fit "
            "fewer rows (max_size bounds those that partial_fit keeps). A kernel in "
            "time with a Kalman filter is faster for few sites."
        )
    # y is divided by its largest value first: squares of large numbers overflow.
    peak = np.abs(rows.y).max() or 1.0
    mean, std = peak * np.mean(rows.y / peak), peak * np.std(rows.y / peak)
    if not has_mean and rows.n > 1 and abs(mean) > _FAR_FROM_ZERO * std:
        _warn(
            f"y is far from 0, on average {mean:.4g} with a standard deviation of {std:.4g}, and "
            f"{owner} predicts 0 where it has no data. Use normalize_y=True, or "
            "mean_prior_std=np.inf to learn a mean."
        )


def advise_on_columns(rows, names, kernel):
    """Warn of columns that suit no lengthscale.

    Parameters
    ----------
    rows : Rows
    names : sequence of str
        Names of the columns of X, or empty.
    kernel : Kernel or None
        Spatial kernel as given.
    """
    labels = [repr(name) for name in names] or [str(i) for i in range(rows.X.shape[1])]
    for label, column in zip(labels, rows.X.T):
        _advise_on_range(label, column)
    labels = [labels[i] for i in rows.layout.inside(len(labels))]
    shares_one = (
        type(kernel) in (RBF, RationalQuadratic, Matern) and np.size(kernel.length_scale) == 1
    )
    extents = extents_of_most(rows.S, MOST)
    if shares_one and (extents > 0.0).any():
        least, largest = np.argmin(np.where(extents > 0.0, extents, np.inf)), np.argmax(extents)
        if extents[largest] > _MAX_RATIO * extents[least]:
            _warn(
                "spatial_kernel has one lengthscale for columns of different extents, "
                f"{extents[least]:.4g} of column {labels[least]} and {extents[largest]:.4g} of "
                f"column {labels[largest]}. Scale X to similar extents, give a lengthscale for "
                "each column, or use spatial_kernel=None, whose lengthscales follow the extents."
            )


def advise_on_time_alone(spatial_kernel, prior_mean):
    """Warn of parameters that have no effect because time is the only column."""
    given = {"spatial_kernel": spatial_kernel, "prior_mean": prior_mean}
    for name in [name for name, value in given.items() if value is not None]:
        remedy = "Give the kernel of time as temporal_kernel" * (name == "spatial_kernel")
        _warn(
            f"{name} has no effect, because X has no column but time. {remedy or 'Leave it out'}."
        )


def advise_on_durations(*kernels):
    """Warn of durations in kernels of time, beside times that are numbers."""
    given = [v for kernel in kernels if kernel is not None for v in parameters(kernel).values()]
    durations = [part for value in given for part in parts_of(value) if is_duration(part)]
    if durations:
        _warn(
            f"A kernel has the duration {durations[0]}, and the times are numbers, taken as "
            "seconds. Set time_unit, the unit of the times."
        )


def _advise_on_range(label, column):
    """Warn if few rows of a column (n,) are far from all others."""
    n, extent = len(column), extents_of_most(column[:, np.newaxis], MOST)[0]
    far = np.flatnonzero(np.abs(column - np.median(column)) > _CARRIED * extent)
    if n < _MIN_ROWS or not 0 < len(far) <= max(_FEW * n, 1.0):
        return
    whole, rest = np.ptp(column), np.ptp(np.delete(column, far))
    if whole > _CARRIED * rest:
        _warn(
            f"Column {label} extends over {whole:.4g}, and over {rest:.4g} without {len(far)} of "
            f"{n} rows, such as row {far[0]} with {column[far[0]]:.6g}. If these are errors, or "
            "stand for missing values, correct or drop them: they are far from all other rows."
        )


def advise_on_fit(
    covariance, rows, searched, is_standardized, has_priors, is_default_in_time=False
):
    """Warn of hyperparameters at their bounds, and of lengthscales far from the data's scale.

    The latter only if they are fixed, or if there was no search. ``is_standardized`` refers to y,
    ``has_priors`` to the hyperparameters. No bound is reported for the parts of a default kernel in
    time: the sum may be a random walk, or leave nothing to noise.
    """
    learnt = set(covariance.names if searched else ())
    scaled = scaled_kernels(covariance, rows)
    held = [(part, *rest) for part, *rest in scaled if f"{part}__length_scale" not in learnt]
    for name, value in far_lengthscales(held).items():
        extent = _extents_of(covariance, rows)[name]
        _warn(
            f"{name} is {value}, far from the scale of the data: its columns extend over "
            f"{extent:.4g}. {_IN_THEIR_UNIT}, or let it be learnt."
        )
    _advise_on_periods(covariance, rows)
    _advise_on_rates(covariance, rows, learnt)
    values = _at_bounds(covariance, rows) if searched else {}
    if is_default_in_time and isinstance(covariance.temporal, Sum):
        hidden = ("noise_variance", 0)
        values = {k: v for k, v in values.items() if k != hidden and "temporal_kernel" not in k[0]}
    if not values:
        return
    extents = _extents_of(covariance, rows)
    kernels = {name: kernel for name, kernel, _ in leaves(covariance, rows)}
    scales, span = {rate.name: rate.scale for rate in rates(covariance, rows)}, np.ptp(rows.t)
    for (name, side), value in values.items():
        in_time = name.startswith(("temporal", "level"))
        remedies = [text for end, text in _REMEDIES.items() if name.endswith(end)] or [_OTHER]
        remedy = remedies[0][side]
        if not is_standardized:
            remedy = _UNSCALED.get((name, side), remedy)
        if side and name.endswith("length_scale") and in_time:
            remedy = _IN_TIME
        own = name.rpartition("__")[2]
        if name in scales and side == _SLOW.get(own):
            remedy = _of_slow_rate(scales[name], span, in_time)
        elif own in ("epsilon", "drift_variance"):
            remedy = _REMEDIES["length_scale"][0]
        if covariance.periodic_bounds and name.startswith("temporal") and not has_priors:
            remedy += _SEASONS
        if side == 0 and name in covariance.periodic_bounds:
            raised = value > 1.01 * covariance.periodic_bounds[name]
            remedy = f"the season is sharper. {_RAISED if raised else 'Lower the bound'}"
        if side and extents.get(name, 0.0) > value:
            remedy = f"its columns extend over {extents[name]:.4g}. {_IN_THEIR_UNIT}"
        _warn(
            f"{_described(name, kernels)} ended at its {('lower', 'upper')[side]} bound, "
            f"{value:.4g}: {remedy}.",
            ConvergenceWarning,
        )


def _of_slow_rate(scale, span, in_time):
    """Return the meaning of a rate at the bound of slow change."""
    if scale < span:
        extents = f"its time scale there is {scale:.4g}, and the times extend over {span:.4g}"
        return f"{extents}. {_PER_UNIT}"
    return _IN_TIME if in_time else "observations hardly age. Leave noise_model out"


def _extents_of(covariance, rows):
    """Return the extents of the columns that have lengthscales: {name: extent}."""
    return {
        f"{part}__length_scale": np.ptp(columns, axis=0).max(initial=0.0)
        for part, _, columns in scaled_kernels(covariance, rows)
    }


def _at_bounds(covariance, rows):
    """Return values of hyperparameters at a bound by name and side: 0 is the lower, 1 the upper.

    Those that are arbitrary, because of the rows or of others at a bound, are left out.
    """
    bounds, values = covariance.bounds, {}
    at_bound = np.isclose(covariance.theta[:, np.newaxis], bounds) & (bounds[:, :1] < bounds[:, 1:])
    for name, value, sides in zip(covariance.names, np.exp(covariance.theta), at_bound):
        if sides.any():
            values.setdefault((name, int(sides[1])), value)
    # Rows at one time do not show how f changes in time, nor do rows at one input in space.
    t = rows.t[:, np.newaxis]
    columns = {"spatial": rows.S, "temporal": t, "level": t}
    same = tuple(f"{part}_kernel__" for part, x in columns.items() if not np.ptp(x, axis=0).any())
    amplitudes = {key for key in values if key[0].endswith("constant_value")}
    values = {k: v for k, v in values.items() if not k[0].startswith(same) or k in amplitudes}
    if ("signal_variance", 0) in values:
        # Lengthscales of a model without a signal are arbitrary.
        values = {key: value for key, value in values.items() if "length_scale" not in key[0]}
    if any(side == 0 and name in covariance.periodic_bounds for name, side in values):
        # Amplitudes of seasons that are too smooth for the data are arbitrary.
        values = {key: value for key, value in values.items() if key not in amplitudes}
    return values


def _described(name, kernels):
    """Return the name of a hyperparameter, with its kernel if that is part of a sum or product.

    ``kernels`` are the `leaves` by name.
    """
    owner, _, own = name.rpartition("__")
    whole, _, side = owner.rpartition("__")
    kernel = kernels.get(owner)
    if own == "constant_value":
        kernel = kernels.get(f"{whole}__{'k1' if side == 'k2' else 'k2'}")
    return f"{name} (of {kernel!r})" if side in ("k1", "k2") and kernel is not None else name


def _advise_on_periods(covariance, rows):
    """Warn of seasons in time that the rows cannot show."""
    gaps = np.diff(np.unique(rows.t))
    if not gaps.size:
        return
    interval, span = np.quantile(gaps, _SHORT_GAP), gaps.sum()
    for name, kernel, _ in leaves(covariance, rows):
        if not isinstance(kernel, ExpSineSquared) or name.startswith("spatial"):
            continue
        period, relation = kernel.periodicity, ""
        if period < 2.0 * interval * (1.0 - _ROUNDING):
            relation = f"less than two intervals of the times, {interval:.4g} each"
        elif period > 2.0 * span:
            relation = f"more than twice the span of the times, {span:.4g}"
        if relation:
            _warn(f"{name}__periodicity is {period:.6g}, {relation}. {_IN_THEIR_UNIT}.")


def _advise_on_rates(covariance, rows, learnt):
    """Warn of rates that are not learnt, and of random walks whose start is far from the times."""
    for name, value, scale in far_rates(covariance, rows, learnt):
        interval, span = interval_and_span(rows.t)
        _warn(
            f"{name} is {value}, with a time scale of {scale:.4g}, far from the times: they extend "
            f"over {span:.4g}, at intervals of {interval:.4g}. {_PER_UNIT}, or let it be learnt."
        )
    for name, kernel, _ in leaves(covariance, rows):
        if isinstance(kernel, Wiener) and starts_early(kernel, rows.t):
            _warn(
                f"{name}__start is {kernel.start:.10g}, far before the times, from "
                f"{rows.t.min():.10g} to {rows.t.max():.10g}: the function would hardly change. "
                "Set start to the earliest time, also as a date."
            )


def advise_on_level(level, is_static, gain):
    """Warn of a level that all inputs share.

    Parameters
    ----------
    level : Kernel or None
        Level of a likelier model, see `likely_level`. None: no warning.
    is_static : bool
        True if the rest of f is static in that model.
    gain : float
        Increase of the log likelihood, in nats.
    """
    if level is None:
        return
    scale, (low, high) = level.k2.length_scale, level.k2.length_scale_bounds
    given = f"level_kernel={level.k1.constant_value:g} * Matern({scale:g}, ({low:g}, {high:g}), "
    given += "nu=0.5)" + " and temporal_kernel=ConstantKernel(1.0, 'fixed')" * is_static
    _warn(
        "All inputs share a level that changes in time, like readings of a sensor whose "
        f"calibration drifts: the log likelihood is {gain:.1f} nats larger with {given}. Set "
        f"{'them' if is_static else 'it'}, unless f changes independently at each input."
    )


def advise_on_outliers(gp):
    """Warn if robust regression has left all weights at 1."""
    rows = gp.rows
    if rows.n < MIN_ROWS:
        _warn(
            f"robust=True has no effect with {rows.n} rows: outliers are recognized from "
            f"{MIN_ROWS} rows on."
        )
        return
    if (rows.weights < 1.0).any():
        return
    distance, largest = smooth_distances(rows.X, rows.y, rows.layout.position)
    residual = rows.scale * np.abs(gp.leave_one_out()[0])
    far = (distance > largest) & (residual > 0.5 * distance)
    large = np.abs(rows.scores) > limit(rows.n, rows.heavy_tails)
    if are_too_many(far) or are_too_many(large):
        _warn(
            "robust=True has no effect, because more than a quarter of the rows would be outliers: "
            "they are far from neighbouring rows or from the predictions. Remove known outliers, "
            "check the kernels, or raise the bounds of noise_variance."
        )


def advise_on_points(gp, noise_variance, auto):
    """Warn of a sparse model with too few points.

    Parameters
    ----------
    gp : Inducing
    noise_variance : float
        Noise variance of an exact fit, in units of the standardized y.
    auto : bool
        True if the regressor chose the number of points.
    """
    targets = gp.rows.targets
    variance = np.var(targets)
    if variance <= (_ROUNDING * np.abs(targets).max()) ** 2:
        return  # y is constant
    left = (gp.covariance.noise_variance - noise_variance + gp.unresolved) / variance
    if left > _LITTLE:
        _warn(
            f"The {len(gp.Z)} inducing points do not suffice: they leave {min(left, 1.0):.0%} of "
            f"the variance of y to noise, in addition to true noise. Set n_inducing to more than "
            f"{len(gp.Z)}{' instead of auto' * auto}, or fit only the latest rows."
        )


def _warn(message, category=ModelWarning):
    warn_caller(message, category)
