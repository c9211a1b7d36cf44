"""What theory says in numbers: regret bounds, how much data to keep, how often to start afresh.

Lower and upper bounds on the regret, and the data-set size that minimizes the upper one, come from
BOLT; the period of R-GP-UCB's resets from TVGP; information gains are those of Srinivas et al.
Space is the unit cube [0, 1]^d throughout, and times share one unit, say seconds.

References
----------
A. Bardou, P. Thiran, "Optimizing Through Change: Bounds and Recommendations for Time-Varying
Bayesian Optimization Algorithms", 2025 (BOLT).

I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization", AISTATS
2016 (TVGP).

N. Srinivas, A. Krause, S. Kakade, M. Seeger, "Information-theoretic regret bounds for Gaussian
process optimization in the bandit setting", IEEE Transactions on Information Theory, 2012.
"""

from math import ceil
from numbers import Integral

import numpy as np
from scipy.linalg import LinAlgError, cholesky
from scipy.stats import norm
from scipy.stats import t as student_t
from sklearn.gaussian_process.kernels import RBF, Kernel, Matern
from sklearn.utils import check_array

from .exceptions import NotPositiveDefiniteError, UnsupportedKernelError
from .kernels import Forgetting

__all__ = [
    "dataset_size_criterion",
    "information_gain",
    "maximum_information_gain",
    "power_above",
    "recommended_dataset_size",
    "regret_slope_lower_bound",
    "regret_upper_bound",
    "reset_period",
    "spectral_density",
]

_EPS = np.finfo(np.float64).eps
# Criteria that differ by less, relatively, are equal: some hundred times what a sum is off by.
_TIE = 1e-13


# --- How many observations to keep ----------------------------------------------------------------


def recommended_dataset_size(temporal_kernel, response_time, max_size=100_000, *, start=None):
    """Number of observations to keep, n* = argmax_n Σ_{i=1..n} k_T(i R(n))² (BOLT eq. 9).

    More observations tell more, but slow the optimizer down, so that all of them are older when
    they are used. n* minimizes :func:`regret_upper_bound`.

    Parameters
    ----------
    temporal_kernel : Kernel
        Any stationary kernel that does not increase with age, sums and products included; only the
        correlation k_T(age) / k_T(0) counts.
    response_time : callable n -> float
        R(n), the time between two consecutive iterations with n observations, in the kernel's unit
        of time: positive, finite, and not decreasing in n.
    max_size : int, default=100_000
        The largest answer. A constant R(n) has no maximum, and neither has a kernel that never
        forgets (``ConstantKernel``): then the answer is ``max_size``.
    start : int, default=None
        A guess, for instance the last answer. Then only a climb from there is made, which is
        cheaper; without it, the answer is also confirmed over all n.

    Returns
    -------
    n : int
        From 1 to ``max_size``. Of several that are equally good up to rounding, the smallest.

    Raises
    ------
    UnsupportedKernelError
        The kernel is not stationary, or increases with age.
    ValueError
        A response time that is not positive and finite, or that decreases with n.

    See Also
    --------
    dataset_size_criterion : The sum for one n.

    Notes
    -----
    The climb follows the sign of the finite difference (BOLT section 3.3) in steps that double, and
    bisects: O(log n*) sums. It is right if the criterion has a single peak, which BOLT shows for a
    relaxed form of it only; a response time that grows in stairs has many.

    The confirmation does not assume one. As neither R decreases nor k_T² increases,
    Σ_{i=1..b} k_T(i R(a))² bounds the criterion on a ≤ n ≤ b from above. Branch and bound discards
    whole intervals by it and ends at single numbers near the maximum only, some √n* of them.
    Sums stop where all that is left of them is below rounding.

    Examples
    --------
    Fitting a Gaussian process is cubic in n. The smoother the function, the more data pay:

    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.theory import recommended_dataset_size
    >>> def response_time(n):
    ...     return 0.05 + 1e-7 * n**3
    >>> recommended_dataset_size(Matern(length_scale=10.0, nu=0.5), response_time)
    68
    >>> recommended_dataset_size(RBF(length_scale=10.0), response_time)
    81
    """
    max_size = _count(max_size, "max_size")
    first = 1 if start is None else _count(start, "start")
    if first > max_size:
        raise ValueError(f"start must not exceed max_size={max_size}. Got {start}.")
    criterion = _Criterion(temporal_kernel, response_time)
    n = _climb(criterion, first, max_size)
    # A constant R: the climb ended only because further terms are below rounding.
    R = criterion.spacing
    if R(1) == R(min(n + 1, max_size)) == R(max_size):
        return max_size
    if start is None:
        n = _confirm(criterion, n, max_size)
    criterion.check_spacings()
    return n


def dataset_size_criterion(temporal_kernel, response_time, n):
    """Σ_{i=1..n} k_T(i R(n))², to be maximized in n (BOLT eq. 9).

    Parameters
    ----------
    temporal_kernel : Kernel
        As for :func:`recommended_dataset_size`.
    response_time : callable n -> float
        R(n), positive and finite, in the kernel's unit of time.
    n : int
        Number of observations, at least 1.

    Returns
    -------
    criterion : float
        Between 0 and n: roughly, how many fresh observations the n old ones are worth.

    Examples
    --------
    >>> from sktvbo.kernels import Forgetting
    >>> from sktvbo.theory import dataset_size_criterion
    >>> round(dataset_size_criterion(Forgetting(0.19), lambda n: 0.5 * n, n=2), 4)  # 0.81 + 0.81²
    1.4661
    """
    return _Criterion(temporal_kernel, response_time)(_count(n, "n"))


class _Criterion:
    """n -> Σ_{i=1..n} k_T(i R(n))², with the response times asked for so far."""

    def __init__(self, temporal_kernel, response_time):
        if not callable(response_time):
            raise ValueError(
                f"response_time must be a callable n -> seconds. Got {response_time!r}. "
                "For a constant c give lambda n: c."
            )
        self.correlation = _correlation(temporal_kernel, "temporal_kernel")
        self.response_time = response_time
        self.spacings = {}

    def __call__(self, n):
        return self.bound(n, n)

    def bound(self, a, b):
        """Σ_{i=1..b} k_T(i R(a))², no less than the criterion of any n in [a, b]."""
        spacing = self.spacing(a)
        total, done, size, last = 0.0, 0, 64, 1.0
        # As k_T² does not increase, what is left is at most its last value times their number.
        while done < b and (b - done) * last > _EPS * total:
            i = np.arange(done + 1, min(done + size, b) + 1)
            squares = self.correlation(spacing * i[:, np.newaxis]) ** 2
            # Negated, so that NaN is an error too.
            if not np.all(np.diff(squares, prepend=last) <= 1e-9):
                raise UnsupportedKernelError(
                    "temporal_kernel must not increase with age (BOLT assumption 3.3), but does "
                    f"between ages {spacing * (i[0] - 1):g} and {spacing * i[-1]:g}."
                )
            total += squares.sum()
            done, size, last = i[-1], 2 * size, squares[-1]
        return float(total)

    def spacing(self, n):
        """R(n), checked."""
        if n not in self.spacings:
            seconds = np.asarray(self.response_time(n), dtype=np.float64)
            if seconds.size != 1 or not 0.0 < seconds.item() < np.inf:
                raise ValueError(
                    "response_time(n) must be a positive, finite number. "
                    f"Got {seconds.tolist()} for n={n}."
                )
            self.spacings[n] = seconds.item()
        return self.spacings[n]

    def check_spacings(self):
        """The bound, and a single peak, need response times that do not decrease."""
        n = np.array(sorted(self.spacings))
        seconds = np.array([self.spacings[i] for i in n])
        drops = np.flatnonzero(seconds[1:] < (1.0 - 1e-9) * seconds[:-1])
        if drops.size:
            i = drops[0]
            raise ValueError(
                "response_time must not decrease with n (BOLT definition 3.5). Got "
                f"{seconds[i]:g} for n={n[i]}, but {seconds[i + 1]:g} for n={n[i + 1]}. "
                "Fit an increasing curve to measured times first."
            )


def _climb(criterion, start, max_size):
    """The smallest n from which on the criterion does not grow, if it has a single peak."""

    def falls(n):
        return n == max_size or criterion(n + 1) <= (1.0 + _TIE) * criterion(n)

    # Bracket the peak in steps that double: not falls(low), or low is 0, and falls(high).
    step = 1
    if falls(start):
        low, high = start - 1, start
        while low > 0 and falls(low):
            low, high, step = max(0, low - 2 * step), low, 2 * step
    else:
        low, high = start, start + 1
        while not falls(high):
            low, high, step = high, min(max_size, high + 2 * step), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        if falls(middle):
            high = middle
        else:
            low = middle
    return high


def _confirm(criterion, n, max_size):
    """The smallest maximizer up to rounding, by branch and bound from the guess n."""
    best = criterion(n)
    intervals = [(1, max_size)]
    while intervals:
        a, b = intervals.pop()
        bound = criterion.bound(a, b)
        # To the left of n a tie is enough, to its right only what is better.
        if bound <= (1.0 + _TIE) * best if a > n else bound < (1.0 - _TIE) * best:
            continue
        if a == b:
            n, best = a, max(best, bound)
        else:
            # In halves, but to no more than double a: R is not asked for far beyond the maximum,
            # where it may overflow.
            middle = min((a + b) // 2, 2 * a)
            intervals += [(middle + 1, b), (a, middle)]
    return n


# --- Bounds on the regret -------------------------------------------------------------------------


def spectral_density(temporal_kernel, frequency):
    """Spectral density S_T of a temporal kernel's correlation.

    Parameters
    ----------
    temporal_kernel : Kernel
        ``RBF``, ``Matern`` of any nu, or ``Forgetting``.
    frequency : float or array-like
        In cycles per unit of time: Hz, if that is the second. S_T is even.

    Returns
    -------
    density : float or ndarray
        ∫ k_T(τ) exp(-2πi f τ) dτ / k_T(0), in units of time. Its integral over all frequencies is
        1.

    Raises
    ------
    UnsupportedKernelError
        Another kernel.

    Notes
    -----
    With lengthscale l, 2π l f has Student's t-distribution with 2ν degrees of freedom; that is the
    normal one for RBF.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from sktvbo.theory import spectral_density
    >>> spectral_density(Matern(length_scale=2.0, nu=0.5), [0.0, 1.0]).round(4)
    array([4.    , 0.0252])
    """
    scale, degrees = _spectrum(temporal_kernel)
    return scale * student_t.pdf(scale * _frequencies(frequency), degrees)


def power_above(temporal_kernel, frequency):
    """Share of a function's variance in time that lies above a frequency, 1 - 2 ∫_0^f S_T.

    Parameters
    ----------
    temporal_kernel : Kernel
        As for :func:`spectral_density`.
    frequency : float or array-like
        Non-negative, in cycles per unit of time.

    Returns
    -------
    share : float or ndarray
        From 1 at frequency 0 down to 0. Accurate relatively, however small.

    Examples
    --------
    Of a smooth function, hardly anything is lost by sampling it once per unit of time:

    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.theory import power_above
    >>> print(f"{power_above(Matern(nu=0.5), 0.5):.4f} {power_above(RBF(), 0.5):.4f}")
    0.1962 0.0017
    """
    frequency = _frequencies(frequency)
    if np.any(frequency < 0.0):
        raise ValueError(f"frequency must not be negative. Got {frequency.min()}.")
    scale, degrees = _spectrum(temporal_kernel)
    return 2.0 * student_t.sf(scale * frequency, degrees)


def regret_slope_lower_bound(
    *, spatial_kernel, temporal_kernel, signal_variance, lipschitz, n_dims, call_duration
):
    """Regret per iteration that no algorithm gets below (BOLT theorem 3.6).

    Parameters
    ----------
    spatial_kernel : Kernel
        Stationary and decreasing; only its correlation between the corners 0 and 1 of the cube
        counts.
    temporal_kernel : Kernel
        ``RBF``, ``Matern`` of any nu, or ``Forgetting``.
    signal_variance : float
        λ, in units of f².
    lipschitz : float
        L, in units of f per unit of length: ``|f(x, t) - f(x', t)| ≤ L |x - x'|``.
    n_dims : int
        d, the dimension of space.
    call_duration : float or array-like
        c, the time that it takes to observe f once, in the temporal kernel's unit.

    Returns
    -------
    slope : float or ndarray
        ε_c, in units of f: the expected cumulative regret after T iterations is Ω(ε_c T).

    Notes
    -----
    ε_c = σ_c φ(L√d / σ_c) - L√d Φ(-L√d / σ_c), with
    σ_c² = 2 λ (1 + k_S(√d)) (1 - 2 ∫_0^{1/2c} S_T(z) dz): see BOLT eq. (4) and (5).

    This is the theorem as published. Its proof takes the variance of a difference for that of a sum
    (eq. 44 adds the covariance), and approximates the error of forecasting one step ahead by the
    power above half the sampling frequency (eq. 48 and 58), which lies below it for Matérn and RBF
    kernels. So compare slopes, of kernels and of call durations, but do not rely on their size: a
    function that hardly varies in space has no regret, yet a positive slope.

    Examples
    --------
    An ever faster oracle gains little if the function is rough in time:

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
    _check_positive(signal_variance, "signal_variance")
    _check_positive(lipschitz, "lipschitz")
    duration = np.asarray(call_duration, dtype=np.float64)
    if not np.all((duration > 0.0) & (duration < np.inf)):
        raise ValueError(f"call_duration must be positive and finite. Got {call_duration!r}.")
    diagonal = _diagonal_correlation(spatial_kernel, n_dims)
    unseen = power_above(temporal_kernel, 0.5 / duration)
    sigma = np.sqrt(2.0 * signal_variance * (1.0 + diagonal) * unseen)
    steepest = lipschitz * np.sqrt(n_dims)
    with np.errstate(divide="ignore"):  # sigma underflows to 0, and so does the slope
        z = steepest / sigma
    return sigma * norm.pdf(z) - steepest * norm.sf(z)


def regret_upper_bound(
    *,
    dataset_size,
    n_iterations,
    response_time,
    spatial_kernel,
    temporal_kernel,
    signal_variance,
    noise_variance,
    lipschitz,
    n_dims,
    delta=0.1,
):
    """Cumulative regret that GP-UCB with its latest n observations stays below (BOLT theorem 3.8).

    Parameters
    ----------
    dataset_size : int
        n, the largest number of observations kept.
    n_iterations : int
        T, more than n.
    response_time : callable n -> float
        R(n), the time between two iterations, in the temporal kernel's unit.
    spatial_kernel : Kernel
        Stationary and decreasing; only its correlation between the corners 0 and 1 of the cube
        counts.
    temporal_kernel : Kernel
        As for :func:`recommended_dataset_size`.
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
    ‖u_n‖² is the :func:`dataset_size_criterion`. GP-UCB maximizes μ + √β_t σ at step t, with
    β_t = 2 log(τ^d π² t² / (6 δ)), τ = max(1, L d t²). This is what BOLT's proof derives; its
    eq. (63) has 6 δ under the power of d.

    That a posterior variance is at most λ (1 - λ k_S(√d)² ‖u_n‖² / (n (λ + σ_0²))), lemma D.2, also
    follows from kᵀ Δ⁻¹ k ≥ ‖k‖² / tr Δ. While the data set is being filled it is younger, and the
    bound holds as well, but for the first iteration: hence T > n. It does not cover an optimizer
    that drops others than its oldest observations.

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
    dataset_size = _count(dataset_size, "dataset_size")
    T = float(_count(n_iterations, "n_iterations"))
    if dataset_size >= T:
        raise ValueError(
            f"n_iterations must exceed dataset_size={dataset_size}. Got {n_iterations}."
        )
    _check_positive(signal_variance, "signal_variance")
    _check_positive(noise_variance, "noise_variance")
    _check_positive(lipschitz, "lipschitz")
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must lie in (0, 1). Got {delta!r}.")
    diagonal = _diagonal_correlation(spatial_kernel, n_dims)
    # Points of the grid per dimension, and the union bound over them and over time (BOLT eq. 65).
    tau = max(1.0, lipschitz * n_dims * T**2)
    beta = 2.0 * (n_dims * np.log(tau) + np.log(np.pi**2 * T**2 / (6.0 * delta)))
    worth = dataset_size_criterion(temporal_kernel, response_time, dataset_size)
    share = signal_variance / (signal_variance + noise_variance)
    return float(
        2.0 + np.sqrt(4.0 * signal_variance * beta * T * (T - share * diagonal**2 * worth))
    )


def _spectrum(kernel):
    """2π times the lengthscale, and Student's degrees of freedom, of a temporal kernel."""
    if type(kernel) is RBF:
        degrees = np.inf
    elif type(kernel) is Forgetting:
        degrees = 1.0
    elif type(kernel) is Matern:
        degrees = 2.0 * kernel.nu
    else:
        raise UnsupportedKernelError(
            f"No spectral density is known for {kernel}. Supported are RBF, Matern and Forgetting."
        )
    scale = np.asarray(kernel.length_scale, dtype=np.float64)
    if scale.size != 1:
        raise ValueError(f"A temporal kernel must have one lengthscale. Got {kernel}.")
    return 2.0 * np.pi * scale.item(), degrees


def _frequencies(frequency):
    frequency = np.asarray(frequency, dtype=np.float64)
    if not np.isfinite(frequency).all():
        raise ValueError("frequency must be finite. It contains NaN or infinity.")
    return frequency


# --- Periods of resets, information gains ---------------------------------------------------------


def reset_period(epsilon, *, spatial_kernel, n_dims, horizon):
    """Steps between two resets of R-GP-UCB (TVGP section 5.1).

    Parameters
    ----------
    epsilon : float in (0, 1)
        Forgetting rate per step, as in :class:`sktvbo.kernels.Forgetting`.
    spatial_kernel : Kernel
        ``RBF`` or ``Matern``.
    n_dims : int
        d, the dimension of space.
    horizon : float
        T, number of steps, at least 1; ``np.inf`` if it is not known.

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
    The exponents minimize a bound on the regret (TVGP corollary 4.1, for ν > 2); 12 and 24 are what
    TVGP found to work.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.theory import reset_period
    >>> reset_period(0.01, spatial_kernel=RBF(0.2), n_dims=2, horizon=200)
    38
    >>> reset_period(0.01, spatial_kernel=Matern(0.2, nu=2.5), n_dims=2, horizon=200)
    92
    """
    if not 0.0 < epsilon < 1.0:
        raise ValueError(f"epsilon must lie in (0, 1). Got {epsilon!r}.")
    if not horizon >= 1:
        raise ValueError(f"horizon must be at least 1 step. Got {horizon!r}.")
    n_dims = _count(n_dims, "n_dims")
    if type(spatial_kernel) not in (RBF, Matern):
        raise UnsupportedKernelError(
            f"No reset period is known for {spatial_kernel}. Supported are RBF and Matern. "
            "Give the optimizer a number of steps instead."
        )
    if type(spatial_kernel) is RBF or np.isinf(spatial_kernel.nu):
        period = 12.0 * epsilon**-0.25
    else:
        pairs = n_dims * (n_dims + 1)
        c = pairs / (2.0 * spatial_kernel.nu + pairs)
        period = 24.0 * epsilon ** (-1.0 / (4.0 - c))
    return ceil(min(horizon, period))


def information_gain(K, noise_variance):
    """What observations tell about f, ½ log det(I + Σ⁻¹ K).

    Parameters
    ----------
    K : array-like (n, n)
        Covariance of f at the observed points.
    noise_variance : float or array-like (n,)
        Diagonal of Σ, positive.

    Returns
    -------
    gain : float
        Mutual information between f and the observations, in nats.

    Raises
    ------
    NotPositiveDefiniteError
        K has eigenvalues below minus the noise variance: it is no covariance.
    ValueError
        Wrong shapes, NaN, or a noise variance that is not positive.

    Examples
    --------
    Two observations of the same value tell less than two of independent ones:

    >>> from sktvbo.theory import information_gain
    >>> round(information_gain([[1.0, 1.0], [1.0, 1.0]], 0.1), 3)
    1.522
    >>> round(information_gain([[1.0, 0.0], [0.0, 1.0]], 0.1), 3)
    2.398
    """
    K, noise = _check_gain(K, noise_variance)
    scale = np.sqrt(noise)
    try:
        L = cholesky(np.eye(len(K)) + K / np.outer(scale, scale), lower=True)
    except LinAlgError:
        raise NotPositiveDefiniteError(
            f"I + Σ⁻¹ K is not positive definite: K, {len(K)} × {len(K)}, has negative eigenvalues "
            "beyond the noise variance. Give a covariance matrix."
        ) from None
    return float(np.log(np.diag(L)).sum())


def maximum_information_gain(K, noise_variance, n):
    """What n well-chosen observations tell about f: a lower bound of γ_n.

    Points are chosen one after the other, each time the one that is least known relative to its
    noise; one may come again. The result is within a factor 1 - 1/e ≈ 0.63 of the maximum γ_n.

    Parameters
    ----------
    K : array-like (N, N)
        Covariance of f at the candidates.
    noise_variance : float or array-like (N,)
        Noise variance of an observation of each candidate, positive.
    n : int
        Number of observations; may exceed N.

    Returns
    -------
    gain : float
        In nats.

    Raises
    ------
    ValueError
        Wrong shapes, NaN, a negative variance, or a noise variance that is not positive.

    Notes
    -----
    The information gain is monotone and submodular (Srinivas et al. 2012, section II.C). Each step
    updates the posterior variances, in O(N min(n, N)).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sktvbo.theory import maximum_information_gain
    >>> K = RBF(0.2)(np.linspace(0.0, 1.0, 50)[:, np.newaxis])
    >>> [round(maximum_information_gain(K, 0.01, n), 2) for n in (1, 10, 100)]
    [2.31, 14.49, 23.43]
    """
    n = _count(n, "n")
    K, noise = _check_gain(K, noise_variance)
    variance = np.diag(K)
    if np.any(variance < 0.0):
        raise ValueError(f"K must be a covariance. Its diagonal contains {variance.min()}.")
    # The covariance is K - VᵀV, with a row of V for each observation since K was last updated.
    V = np.empty((min(n, len(K)), len(K)))
    gain = 0.0
    for step in range(n):
        m = step % len(V)
        if m == 0 and step > 0:
            K = K - V.T @ V
        i = np.argmax(variance / noise)
        gain += 0.5 * np.log1p(variance[i] / noise[i])
        V[m] = (K[i] - V[:m, i] @ V[:m]) / np.sqrt(variance[i] + noise[i])
        variance = np.maximum(variance - V[m] ** 2, 0.0)
    return float(gain)


# --- Checks ---------------------------------------------------------------------------------------


def _correlation(kernel, name):
    """k(X, 0) / k(0, 0) of a stationary kernel, as a function of X (n, d) -> (n,)."""
    if not isinstance(kernel, Kernel):
        raise ValueError(f"{name} must be a scikit-learn kernel. Got {kernel!r}.")
    if not kernel.is_stationary():
        raise UnsupportedKernelError(
            f"{name} must be stationary, that is, depend on differences alone. Got {kernel}."
        )

    def correlation(X):
        origin = np.zeros((1, X.shape[1]))
        return kernel(X, origin)[:, 0] / kernel.diag(origin)

    return correlation


def _diagonal_correlation(spatial_kernel, n_dims):
    """k_S between the corners 0 and 1 of the unit cube; k_S(√d) if it is isotropic."""
    corner = np.ones((1, _count(n_dims, "n_dims")))
    return _correlation(spatial_kernel, "spatial_kernel")(corner).item()


def _count(value, name):
    """As Python's int, which unlike NumPy's does not overflow in a user's R(n)."""
    if not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1. Got {value!r}.")
    return int(value)


def _check_positive(value, name):
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name} must be positive and finite. Got {value!r}.")


def _check_gain(K, noise_variance):
    """K (n, n) and the noise variances (n,), as floats."""
    K = check_array(K, dtype=np.float64, input_name="K")
    if K.shape[0] != K.shape[1] or not np.allclose(K, K.T, atol=1e-9 * np.abs(K).max()):
        raise ValueError(f"K must be a symmetric matrix. Got one of shape {K.shape}.")
    noise = np.asarray(noise_variance, dtype=np.float64)
    if noise.shape not in ((), (len(K),)) or not np.all((noise > 0.0) & (noise < np.inf)):
        raise ValueError(
            f"noise_variance must be a positive, finite number, or {len(K)} of them. "
            f"Got {noise_variance!r}."
        )
    return K, np.broadcast_to(noise, (len(K),))
