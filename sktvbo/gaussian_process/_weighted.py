"""Weighted Gaussian process regression, with the width of W-GP-UCB's analysis."""

from dataclasses import dataclass

from .._docstrings import described_like
from ._exact import TimeVaryingGPRegressor
from ._exact_posterior import Weighted


@described_like(TimeVaryingGPRegressor)
@dataclass(eq=False, repr=False)
class WeightedTimeVaryingGPRegressor(TimeVaryingGPRegressor):
    """Weighted regression with the standard deviation of W-GP-UCB.

    With c = Δ⁻¹ k(x) the mean is cᵀ y, as in a Gaussian process. The width is

        s² = σ² ‖c‖² + k(x, x) − 2 kᵀ c + cᵀ K c,

    the error from observation noise of variance σ² plus the error from the function's norm. With
    the noise σ² / w_i of the weighted model, s² = k(x, x) − kᵀ c − σ² Σ_i (1/w_i − 1) c_i²: at most
    the posterior variance, and equal to it if all weights are 1.

    Parameters
    ----------
    noise_model : NoiseModel, default=None
        Reciprocal weights 1 / w_i of the observations by age; None: all 1.
    temporal_kernel : kernel, default=None
        As in `TimeVaryingGPRegressor`. The literature uses a static one,
        ``ConstantKernel(1.0, "fixed")``.

    References
    ----------
    Y. Deng, X. Zhou, B. Kim, A. Tewari, A. Gupta, N. Shroff, "Weighted Gaussian Process Bandits for
    Non-stationary Environments", AISTATS 2022.

    Examples
    --------
    >>> from sktvbo.gaussian_process import (
    ...     GeometricInjection, TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor,
    ... )
    >>> X, y = [[0.1, 0.0], [0.5, 4.0]], [0.3, 0.7]
    >>> options = {"noise_model": GeometricInjection(0.9), "optimizer": None}
    >>> weighted = WeightedTimeVaryingGPRegressor(**options).fit(X, y)
    >>> s = weighted.predict([[0.2, 4.0]], return_std=True)[1]
    >>> std = TimeVaryingGPRegressor(**options).fit(X, y).predict([[0.2, 4.0]], return_std=True)[1]
    >>> bool(s < std)
    True
    """

    _dense_class = Weighted
