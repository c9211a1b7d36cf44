"""What a user's own fit warns of, each with its remedy."""

import warnings
from datetime import timedelta

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..exceptions import ModelWarning
from ._conditioned import Dense
from ._dates import NAIVE, number_of_duration
from ._starts import extents_of, far_lengthscales, flat_columns

# Without a mean, y is far from 0 when its average is more than this many standard deviations away.
_FAR = 3.0

# Up to this many rows exact regression takes some seconds.
_MANY = 5_000

# Inducing points do not suffice if they leave more than this part of the variance of y to noise; a
# model has learnt nothing if it explains less than this.
_LITTLE = 0.03

# A standard deviation below this part of the largest value is a rounding error.
_ROUNDING = 16.0 * np.finfo(float).eps

# What a hyperparameter at its lower and at its upper bound means, by the end of its name.
_REMEDIES = {
    "noise_variance": (
        "y has hardly any noise. If that is so, lower the bound",
        "y is noise to the model. Raise the bound",
    ),
    "signal_variance": (
        "y is noise to the model. If it is not, start the kernels at the lengthscales of f, or "
        "raise n_restarts_optimizer",
        "f is smooth and hardly changes within its rows. Raise the bound",
    ),
    "length_scale": (
        "f changes faster than the rows tell, or is in another unit. Lower the bound if the rows "
        "are dense enough, or start nearer to the data",
        "f hardly changes in these columns. Leave them out, or in time make the model static by "
        "temporal_kernel=ConstantKernel(1.0, 'fixed'); or raise the bound, if it is in another "
        "unit",
    ),
}
# The same where y is not standardized, which may be the reason.
_UNSCALED = {
    ("noise_variance", 1): "y is noise to the model, or of a large scale. Use normalize_y=True, or "
    "raise the bound",
    ("signal_variance", 0): "y is noise to the model, or of a small scale. Use normalize_y=True, "
    "start the kernels at the lengthscales of f, or lower the bound",
    ("signal_variance", 1): "y is of a large scale, or hardly changes within its rows. Use "
    "normalize_y=True, or raise the bound",
}
_LENGTHS = {"spatial_kernel__length_scale", "temporal_kernel__length_scale"}
_IN_THEIR_UNIT = "Give it, and its bounds, in their unit (of dates: time_unit)"
_OTHER = ("Lower the bound, or fix it", "Raise the bound, or fix it")


def advise_on_rows(rows, owner, has_mean):
    """Warn of y far from 0, where no mean is learnt and y is not centred.

    ``owner`` is the estimator's class, by name.
    """
    # y is divided by its largest value first: squares of large numbers overflow.
    peak = np.abs(rows.y).max() or 1.0
    mean, std = peak * np.mean(rows.y / peak), peak * np.std(rows.y / peak)
    if not has_mean and rows.n > 1 and abs(mean) > _FAR * std:
        _warn(
            f"y is far from 0, on average {mean:.4g} with a standard deviation of {std:.4g}, and "
            f"{owner} expects 0 where nothing is known. Use normalize_y=True, or "
            "mean_prior_std=np.inf to learn a mean."
        )


def advise_on_dates(rows, kind, unit):
    """Warn of dates without a zone that go back, as local time does when daylight saving ends.

    Rows in another order than that of time go back otherwise: by more, or more than once a year.
    """
    if kind != NAIVE:
        return
    times = rows.X[:, rows.layout.position]
    steps = np.diff(times)
    back = steps < 0.0
    hour, days = (number_of_duration(d, unit) for d in (timedelta(hours=1), timedelta(days=300)))
    if back.any() and steps.min() >= -hour and (np.diff(times[:-1][back]) > days).all():
        row = int(np.argmax(back)) + 1
        _warn(
            f"The dates have no time zone, and go back in row {row}, as local time does when "
            "daylight saving time ends. The rows on both sides are taken for simultaneous. Give "
            "dates with a time zone, such as .dt.tz_localize(zone, ambiguous='infer') in pandas."
        )


def advise_on_constant(rows):
    """Warn that nothing is learnt from a y that is constant and centred."""
    _warn(
        f"y is constant ({rows.y[0]:.4g}), which tells neither its scale nor any hyperparameters: "
        "these are as given, with a scale of 1. Fit again when there are other values."
    )


def advise_on_size(rows, kind, owner):
    """Warn of many rows where the class of ``Conditioned`` takes O(n³)."""
    if issubclass(kind, Dense) and rows.n > _MANY:
        _warn(
            f"{owner} takes O(n³) time and O(n²) memory for its n = {rows.n} rows. "
            "SparseTimeVaryingGPRegressor takes O(n).",
            depth=6,
        )


def advise_on_fit(covariance, rows, searched, is_standardized):
    """Warn of hyperparameters at their bounds, and of lengthscales far from the data's scale.

    The latter are not learnt: not ``searched``, or fixed. ``is_standardized`` is of y.
    """
    learnt = set(covariance.names if searched else ())
    flat = flat_columns(covariance, rows)
    if not np.isnan(flat).all():
        i = int(np.nanargmin(flat))
        _warn(
            "spatial_kernel has one lengthscale for all columns, "
            f"{np.max(covariance.spatial.length_scale):.4g}, and column {i} of space extends over "
            f"{flat[i]:.4g} only. If columns differ in their units, give length_scale a value for "
            "each, or use spatial_kernel=None."
        )
    far = {} if learnt >= _LENGTHS else far_lengthscales(covariance, rows)
    for name in [name for name in far if name not in learnt]:
        extent = extents_of(covariance, rows)[name]
        _warn(
            f"{name} is {far[name]}, far from the scale of the data: the columns it is for extend "
            f"over {extent:.4g}. {_IN_THEIR_UNIT}, or let it be learnt."
        )
    if not searched:
        return
    bounds, names = covariance.bounds, covariance.names
    at_bound = np.isclose(covariance.theta[:, np.newaxis], bounds) & (bounds[:, :1] < bounds[:, 1:])
    found = {}
    for name, value, sides in zip(names, np.exp(covariance.theta), at_bound):
        if sides.any():
            found.setdefault((name, int(sides[1])), value)
    if ("signal_variance", 0) in found:
        # Of a model without a signal the lengthscales mean nothing.
        found = {key: value for key, value in found.items() if "length_scale" not in key[0]}
    extents = extents_of(covariance, rows) if found else {}
    for (name, side), value in found.items():
        remedies = [text for end, text in _REMEDIES.items() if name.endswith(end)] or [_OTHER]
        remedy = remedies[0][side]
        if not is_standardized:
            remedy = _UNSCALED.get((name, side), remedy)
        if side and extents.get(name, 0.0) > value:
            remedy = f"the columns it is for extend over {extents[name]:.4g}. {_IN_THEIR_UNIT}"
        _warn(
            f"{name} ended at its {('lower', 'upper')[side]} bound, {value:.4g}: {remedy}.",
            ConvergenceWarning,
        )


def advise_on_points(gp, noise_variance, auto):
    """Warn of a sparse model whose points do not suffice, or that has learnt nothing.

    Parameters
    ----------
    gp : Inducing
    noise_variance : float
        What the noise of the model should be, in units of the standardized y.
    auto : bool
        Whether the number of points was chosen.
    """
    targets = gp.rows.targets
    variance = np.var(targets)
    if variance <= (_ROUNDING * np.abs(targets).max()) ** 2:
        return  # of a constant there is nothing to explain
    left = (gp.covariance.noise_variance - noise_variance + gp.unresolved) / variance
    if left > _LITTLE:
        _warn(
            f"The {len(gp.Z)} inducing points do not suffice: they leave {min(left, 1.0):.0%} of "
            f"the variance of y to noise, beside noise proper. Set n_inducing to more than "
            f"{len(gp.Z)}{' yourself' * auto}, or fit the latest rows alone.",
            depth=6,
        )
    step = max(gp.rows.n // 2000, 1)
    S, t, y = gp.rows.S[::step], gp.rows.t[::step], gp.rows.y[::step]
    peak = np.abs(y).max() or 1.0
    variance = np.var(y / peak)
    explained = 1.0 - np.mean(((y - gp.posterior(S, t)) / peak) ** 2) / (variance or 1.0)
    if variance > 0.0 and explained < _LITTLE:
        _warn(
            f"The model explains {max(explained, 0.0):.1%} of the variance of y: y is noise, or "
            "changes faster than the rows tell. If it does not, start the kernels at lengthscales "
            "near to those of f, or raise n_restarts_optimizer.",
            depth=6,
        )


def _warn(message, category=ModelWarning, depth=4):
    """Warn the caller of fit, so many calls above."""
    warnings.warn(message, category, stacklevel=depth)
