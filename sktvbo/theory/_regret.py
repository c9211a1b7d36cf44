"""Lower bound on the regret, and the reset period that minimizes an upper one."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern

from .._validation import check_int, check_real, invalid, real_array
from ..exceptions import UnsupportedKernelError
from ..gaussian_process._kernel_families import FAMILIES, family_of, matern_spectrum
from ._dataset_size import correlation_of

if TYPE_CHECKING:
    from .._typing import Numbers


def regret_slope_lower_bound(
    *,
    spatial_kernel: Kernel,
    temporal_kernel: Kernel,
    signal_variance: float,
    lipschitz: float,
    n_dims: int,
    call_duration: ArrayLike,
) -> Numbers:
    """Return a lower bound on the regret per iteration of any algorithm (BOLT theorem 3.6).

    Parameters
    ----------
    spatial_kernel : Kernel
        Stationary and decreasing; only its correlation between the corners 0 and 1 of the cube
        counts.
    temporal_kernel : Kernel
        ``RBF``, ``Matern`` of any nu, or `sktvbo.kernels.Forgetting`.
    signal_variance : float
        λ, in units of f².
    lipschitz : float
        L, in units of f per unit of length: ``|f(x, t) - f(x', t)| ≤ L |x - x'|``.
    n_dims : int
        d, the dimension of space.
    call_duration : float or array-like of shape (n,)
        c, the duration of one observation of f, in the temporal kernel's unit.

    Returns
    -------
    slope : float or ndarray of shape (n,)
        ε_c, in units of f: the expected cumulative regret after T iterations is Ω(ε_c T).

    Raises
    ------
    UnsupportedKernelError
        A spatial kernel that is not stationary, or a temporal kernel of unknown spectral density.
    ValueError
        A number out of its range.

    Notes
    -----
    ε_c = σ_c φ(L√d / σ_c) - L√d Φ(-L√d / σ_c), with
    σ_c² = 2 λ (1 + k_S(√d)) (1 - 2 ∫_0^{1/2c} S_T(z) dz): see BOLT eq. (4) and (5).

    This is the theorem as published. Its proof uses the variance of a sum for that of a difference
    (eq. 44 adds the covariance). It approximates the one-step forecast error by the power above
    half the sampling frequency (eq. 48 and 58), which is smaller for Matérn and RBF kernels.
    Compare slopes of kernels and call durations, but do not rely on their size: a function that is
    constant in space has no regret, yet a positive slope.

    Examples
    --------
    Faster observations gain little if the function is rough in time:

    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from sktvbo.theory import regret_slope_lower_bound
    >>> slope = regret_slope_lower_bound(
    ...     spatial_kernel=Matern(nu=2.5), temporal_kernel=Matern(nu=0.5),
    ...     signal_variance=1.0, lipschitz=1.0, n_dims=1, call_duration=[10.0, 1.0, 0.1],
    ... )
    >>> with np.printoptions(precision=3):
    ...     print(slope)
    [2.485e-01 3.572e-02 1.593e-06]
    """
    check_real(signal_variance, "signal_variance", interval="(0, inf)")
    check_real(lipschitz, "lipschitz", interval="(0, inf)")
    duration = real_array(call_duration, "call_duration")
    if not np.all((duration > 0.0) & (duration < np.inf)):
        raise invalid("call_duration", "positive and finite", call_duration)
    corner = np.ones((1, check_int(n_dims, "n_dims")))
    diagonal = correlation_of(spatial_kernel, "spatial_kernel")(corner).item()
    unseen = power_above(temporal_kernel, 0.5 / duration)
    sigma = np.sqrt(2.0 * signal_variance * (1.0 + diagonal) * unseen)
    steepest = lipschitz * np.sqrt(n_dims)
    # Where sigma underflows to 0 the slope is 0 as well.
    with np.errstate(divide="ignore"):
        z = steepest / sigma
    return sigma * norm.pdf(z) - steepest * norm.sf(z)


def power_above(temporal_kernel, frequency):
    """Return the share of the variance in time above frequencies f (n,), 1 - 2 ∫_0^f S_T.

    S_T is the spectral density of the correlation (Rasmussen and Williams 2006, eq. 4.15). With
    lengthscale l, 2π l f has Student's t-distribution with 2ν degrees of freedom, for RBF the
    normal distribution.
    """
    family = family_of(temporal_kernel)
    if family is not None:
        spectrum = FAMILIES[family].spectrum
    elif type(temporal_kernel) is Matern:
        spectrum = matern_spectrum(temporal_kernel.nu)
    else:
        spectrum = None
    if spectrum is None:
        expected = "an RBF, a Matern or a Forgetting kernel, whose spectral density is known"
        got = f"{temporal_kernel}"
        raise invalid("temporal_kernel", expected, got=got, error=UnsupportedKernelError)
    scale = np.asarray(temporal_kernel.length_scale, dtype=np.float64)
    if scale.size != 1:
        raise invalid("temporal_kernel", "a kernel of one lengthscale", got=f"{temporal_kernel}")
    return 2.0 * spectrum.sf(2.0 * np.pi * scale.item() * frequency)


def reset_period(epsilon: float, *, spatial_kernel: Kernel, n_dims: int, horizon: float) -> int:
    """Return the steps between two resets of R-GP-UCB (TVGP section 5.1).

    Parameters
    ----------
    epsilon : float in (0, 1)
        Forgetting rate per step, as in `sktvbo.kernels.Forgetting`.
    spatial_kernel : Kernel
        ``RBF`` or ``Matern``.
    n_dims : int
        d, the dimension of space.
    horizon : float
        T, number of steps, at least 1; ``np.inf`` if unknown.

    Returns
    -------
    period : int
        ⌈min(T, 12 ε^(-1/4))⌉ for RBF; ⌈min(T, 24 ε^(-1/(4-c)))⌉, c = d(d+1) / (2ν + d(d+1)), for
        Matern. The horizon, if ε is small enough.

    Raises
    ------
    UnsupportedKernelError
        Another kernel.

    Notes
    -----
    The exponents minimize a bound on the regret (TVGP corollary 4.1, for ν > 2); 12 and 24 are
    TVGP's empirical factors.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.theory import reset_period
    >>> reset_period(0.01, spatial_kernel=RBF(0.2), n_dims=2, horizon=200)
    38
    >>> reset_period(0.01, spatial_kernel=Matern(0.2, nu=2.5), n_dims=2, horizon=200)
    92
    """
    check_real(epsilon, "epsilon", interval="(0, 1)")
    check_real(horizon, "horizon", interval="[1, inf]")
    n_dims = check_int(n_dims, "n_dims")
    if type(spatial_kernel) not in (RBF, Matern):
        raise invalid(
            "spatial_kernel",
            "an RBF or a Matern kernel, whose reset period is known",
            got=f"{spatial_kernel}",
            advice="For another kernel, give the optimizer a number of steps.",
            error=UnsupportedKernelError,
        )
    if type(spatial_kernel) is RBF or np.isinf(spatial_kernel.nu):
        period = 12.0 * epsilon**-0.25
    else:
        pairs = n_dims * (n_dims + 1)
        c = pairs / (2.0 * spatial_kernel.nu + pairs)
        period = 24.0 * epsilon ** (-1.0 / (4.0 - c))
    return ceil(min(horizon, period))
