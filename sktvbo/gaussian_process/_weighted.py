"""Weighted Gaussian process regression, with the width that W-GP-UCB's analysis asks for."""

from .._docstrings import described_like
from ._base import estimator
from ._conditioned import Weighted
from ._exact import TimeVaryingGPRegressor


@described_like(TimeVaryingGPRegressor)
@estimator
class WeightedGPRegressor(TimeVaryingGPRegressor):
    """Weighted regression, whose standard deviation is that of W-GP-UCB's two matrices.

    With c = Δ⁻¹ k(x) the mean is cᵀ y, as that of the Gaussian process. The width is

        s² = σ² ‖c‖² + k(x, x) − 2 kᵀ c + cᵀ K c,

    the error's part from the noise of the observations as it is, σ², and its part from the
    function's norm. Written with the noise σ² / w_i of the weighted model, s² = k(x, x) − kᵀ c −
    σ² Σ_i (1/w_i − 1) c_i²: at most the posterior variance, and equal to it when all weights are 1.

    Parameters
    ----------
    noise_model : NoiseModel, default=None
        The reciprocal weights 1 / w_i of the observations by age; None: all 1, which makes this an
        ordinary regressor.
    temporal_kernel : kernel, default=None
        As in `TimeVaryingGPRegressor`; the literature's is static in time,
        ``ConstantKernel(1.0, "fixed")``.

    References
    ----------
    Y. Deng, X. Zhou, B. Kim, A. Tewari, A. Gupta, N. Shroff, "Weighted Gaussian Process Bandits for
    Non-stationary Environments", AISTATS 2022.

    Examples
    --------
    >>> from sktvbo.gaussian_process import (
    ...     GeometricInjection, TimeVaryingGPRegressor, WeightedGPRegressor,
    ... )
    >>> X, y = [[0.1, 0.0], [0.5, 4.0]], [0.3, 0.7]
    >>> options = {"noise_model": GeometricInjection(0.9), "optimizer": None}
    >>> s = WeightedGPRegressor(**options).fit(X, y).predict([[0.2, 4.0]], return_std=True)[1]
    >>> std = TimeVaryingGPRegressor(**options).fit(X, y).predict([[0.2, 4.0]], return_std=True)[1]
    >>> bool(s < std)
    True
    """

    _kind = Weighted
