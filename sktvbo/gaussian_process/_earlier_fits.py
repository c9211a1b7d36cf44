"""Priors of the hyperparameters of a regressor, from earlier fits of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import lognorm
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils.validation import check_is_fitted

from .._validation import invalid
from ._dates import NUMBERS
from ._learnt_priors import pooled
from ._regressor import TimeVaryingGP

# Kernels of a fit, attributes without the underscore at the end.
_PARTS = "spatial_kernel", "temporal_kernel", "level_kernel", "noise_model"


def hyperpriors_from(fitted: Sequence[TimeVaryingGP]) -> dict[str, Any]:
    """Return priors of hyperparameters for another regressor, from fits to data of the same kind.

    Each prior is log-normal. Its median is that of the earlier fits. Its deviation is theirs in the
    logarithm, at least 0.5, times √(1 + 1/R) for R fits, as these alone determine the median. The
    next fit then needs few rows: of an eleventh sensor, the next batch or another day.

    Parameters
    ----------
    fitted : list of fitted regressors
        With the same columns, kernels and noise model; values and bounds of learnt hyperparameters
        may differ. Set kernels that a fit would choose: a default ``temporal_kernel`` is a sum
        where that is likelier.

    Returns
    -------
    hyperpriors : dict of str to frozen scipy.stats distribution
        Value of the parameter ``hyperpriors``, by name. The distribution for several lengthscales
        of a kernel has a parameter for each.

    Raises
    ------
    ValueError
        There are no fits, one is not fitted, or two differ; the message names the difference.

    Notes
    -----
    Lengthscales are in the units of the columns, and variances in those of y². With
    ``normalize_y=True``, which must be the same in all fits, variances are those of standardized y:
    the scale of each data set is its own. Lengthscales of the default ``spatial_kernel``, which
    have fixed ratios, are represented by the largest one. The priors do not fade: data of another
    kind need more rows to outweigh them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import hyperpriors_from
    >>> rng, t = np.random.RandomState(0), np.arange(60.0)[:, np.newaxis]
    >>> sensors = [np.sin(t[:, 0] / 8.0 + i) + 0.1 * rng.normal(size=60) for i in range(4)]
    >>> kernel = Matern(10.0, (1.0, 1e3), nu=2.5)
    >>> three = [TimeVaryingGPRegressor(None, kernel).fit(t, y) for y in sensors[:3]]
    >>> priors = hyperpriors_from(three)
    >>> round(float(priors["noise_variance"].median()), 2)    # 0.1²
    0.01
    >>> fourth = TimeVaryingGPRegressor(None, kernel, hyperpriors=priors)
    >>> fourth = fourth.fit(t[:8], sensors[3][:8])
    """
    fits = _checked(fitted)
    first = fits[0].fitted_.gp.covariance
    names = np.array(first.names)
    medians, spreads = pooled(np.array([fit.theta_ for fit in fits]))
    priors = {}
    for name in dict.fromkeys(first.names):
        where = np.flatnonzero(names == name)
        here = where[0] if len(where) == 1 else where
        priors[name] = lognorm(s=spreads[here], scale=np.exp(medians[here]))
    return priors


def _checked(fitted):
    """Return fits as a list, or raise an error that names how one differs from the first."""
    expected = "a list of fitted regressors of sktvbo.gaussian_process"
    if isinstance(fitted, TimeVaryingGP) or not np.iterable(fitted):
        raise invalid("fitted", expected, fitted, advice="Give [regressor] for a single one.")
    fits = list(fitted)
    if not fits:
        raise invalid("fitted", expected, fitted)
    for i, fit in enumerate(fits):
        if not isinstance(fit, TimeVaryingGP):
            raise invalid(f"fitted[{i}]", "a regressor of sktvbo.gaussian_process", fit)
        check_is_fitted(fit)
    first = _structure(fits[0])
    for i, fit in enumerate(fits[1:], 1):
        other = _structure(fit)
        for name in dict.fromkeys((*first, *other)):
            here, there = (each.get(name, "absent") for each in (other, first))
            if here != there:
                raise invalid(
                    f"fitted[{i}]",
                    f"like fitted[0], whose {name} is {there}",
                    got=f"{here}",
                    advice="Give all of them the same columns and parameters, and set kernels "
                    "whose defaults follow the data.",
                )
    return fits


def _structure(fit):
    """Return the properties that fits must share, a dict of names and plain values."""
    covariance, kind = fit.fitted_.gp.covariance, fit._fitted_kind
    shared = {
        "number of columns": fit.n_features_in_,
        "names of columns": [*map(str, getattr(fit, "feature_names_in_", ()))],
        "position of time": fit.time_column_,
        "kind of times": kind,
        "time_unit": "of the times" if kind == NUMBERS else fit._fitted_unit,
        "normalize_y": fit.normalize_y,
        "learnt hyperparameters": ", ".join(covariance.names),
    }
    learnt = {key for name in covariance.names for key in (name, f"{name}_bounds")}
    for part in _PARTS:
        shared |= _parameters(part, getattr(fit, f"{part}_"), learnt)
    return shared


def _parameters(name, part, learnt):
    """Return type and parameters of a kernel or a noise model by name, but those learnt."""
    values = {name: type(part).__name__}
    for key, value in ({} if part is None else part.get_params(deep=True)).items():
        full = f"{name}__{key}"
        if full in learnt:
            continue
        if isinstance(value, Kernel):
            value = type(value).__name__
        values[full] = value.tolist() if isinstance(value, np.ndarray) else value
    return values
