"""Bounds on the regret, and the reset period that minimizes one."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Matern

from .._validation import check_int, check_real, invalid, real_array
from ..exceptions import UnsupportedKernelError
from ._correlation import correlation_of
from ._dataset_size import dataset_size_criterion
from ._spectrum import power_above

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import Numbers, ResponseTimes


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
    diagonal = _diagonal_correlation(spatial_kernel, n_dims)
    unseen = power_above(temporal_kernel, 0.5 / duration)
    sigma = np.sqrt(2.0 * signal_variance * (1.0 + diagonal) * unseen)
    steepest = lipschitz * np.sqrt(n_dims)
    # Where sigma underflows to 0 the slope is 0 as well.
    with np.errstate(divide="ignore"):
        z = steepest / sigma
    return sigma * norm.pdf(z) - steepest * norm.sf(z)


def regret_upper_bound(
    *,
    dataset_size: int,
    n_iterations: int,
    response_time: ResponseTimes,
    spatial_kernel: Kernel,
    temporal_kernel: Kernel,
    signal_variance: float,
    noise_variance: float,
    lipschitz: float,
    n_dims: int,
    delta: float = 0.1,
) -> float:
    """Return an upper bound on the regret of GP-UCB with the latest n data (BOLT theorem 3.8).

    Parameters
    ----------
    dataset_size : int
        n, the largest number of observations kept.
    n_iterations : int
        T, more than n.
    response_time : callable, n -> float
        R(n), the time between two iterations, in the temporal kernel's unit.
    spatial_kernel : Kernel
        Stationary and decreasing; only its correlation between the corners 0 and 1 of the cube
        counts.
    temporal_kernel : Kernel
        As for `~sktvbo.theory.recommended_dataset_size`.
    signal_variance : float
        λ, in units of f².
    noise_variance : float
        σ_0², in units of f².
    lipschitz : float
        L, in units of f per unit of length: ``|f(x, t) - f(x', t)| ≤ L |x - x'|``.
    n_dims : int
        d, the dimension of space.
    delta : float in (0, 1), default=0.1
        Probability that the bound does not hold.

    Returns
    -------
    regret : float
        2 + sqrt(4 λ β_T T (T - λ k_S(√d)² ‖u_n‖² / (λ + σ_0²))), in units of f.

    Notes
    -----
    ‖u_n‖² is the `~sktvbo.theory.dataset_size_criterion`. GP-UCB maximizes μ + √β_t σ at step t,
    with β_t = 2 log(τ^d π² t² / (6 δ)), τ = max(1, L d t²), as BOLT's proof derives. Its eq. (63)
    has 6 δ under the power of d.

    The bound on a posterior variance, λ (1 - λ k_S(√d)² ‖u_n‖² / (n (λ + σ_0²))), lemma D.2, also
    follows from kᵀ Δ⁻¹ k ≥ ‖k‖² / tr Δ. A data set with fewer than n observations is younger, so
    the bound holds as well, except for the first iteration: hence T > n. The bound does not cover
    an optimizer that drops other than its oldest observations.

    The theorem counts the gain of n of the T iterations only (eq. 84): for T → ∞ the slope tends to
    the one without data, 2 √(λ β_T).

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.theory import regret_upper_bound
    >>> regret = regret_upper_bound(
    ...     dataset_size=20, n_iterations=100, response_time=lambda n: 0.05 + 1e-4 * n,
    ...     spatial_kernel=RBF(1.0), temporal_kernel=Matern(length_scale=10.0, nu=1.5),
    ...     signal_variance=1.0, noise_variance=0.01, lipschitz=5.0, n_dims=1,
    ... )
    >>> print(f"{regret:.0f}")
    1304
    """
    dataset_size = check_int(dataset_size, "dataset_size")
    T = float(check_int(n_iterations, "n_iterations"))
    if dataset_size >= T:
        raise invalid("n_iterations", f"greater than dataset_size={dataset_size}", n_iterations)
    check_real(signal_variance, "signal_variance", interval="(0, inf)")
    check_real(noise_variance, "noise_variance", interval="(0, inf)")
    check_real(lipschitz, "lipschitz", interval="(0, inf)")
    check_real(delta, "delta", interval="(0, 1)")
    diagonal = _diagonal_correlation(spatial_kernel, n_dims)
    # β comes from a union bound over time and a grid of τ points per dimension (BOLT eq. 65).
    tau = max(1.0, lipschitz * n_dims * T**2)
    beta = 2.0 * (n_dims * np.log(tau) + np.log(np.pi**2 * T**2 / (6.0 * delta)))
    criterion = dataset_size_criterion(temporal_kernel, response_time, dataset_size)
    share = signal_variance / (signal_variance + noise_variance)
    return float(
        2.0 + np.sqrt(4.0 * signal_variance * beta * T * (T - share * diagonal**2 * criterion))
    )


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


def _diagonal_correlation(spatial_kernel, n_dims):
    """Return k_S between the corners 0 and 1 of the unit cube; k_S(√d) if isotropic."""
    corner = np.ones((1, check_int(n_dims, "n_dims")))
    return correlation_of(spatial_kernel, "spatial_kernel")(corner).item()
