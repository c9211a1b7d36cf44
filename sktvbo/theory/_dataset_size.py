"""BOLT's recommended size of the data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._validation import check_int, invalid
from ..exceptions import UnsupportedKernelError
from ..gaussian_process._composite import Circle, Composite
from ..gaussian_process._future import future_of, has_future

if TYPE_CHECKING:
    from .._typing import ResponseTimes

_EPS = np.finfo(np.float64).eps
# Relative difference below which criteria count as equal; the error of a sum is a hundredth of it.
_TIE = 1e-13


def recommended_dataset_size(
    temporal_kernel: Kernel,
    response_time: ResponseTimes,
    max_size: int = 100_000,
    *,
    start: int | None = None,
) -> int:
    """Return the number of observations to keep, n* = argmax_n Σ_{i≤n} k_T(i R(n))² (BOLT eq. 9).

    More observations carry more information but make the optimizer slower, so all of them are older
    at the next query. n* minimizes BOLT's upper bound on the regret of GP-UCB (theorem 3.8).

    Parameters
    ----------
    temporal_kernel : Kernel
        Any stationary kernel that does not increase with age, sums and products included. Only the
        correlation k_T(age) / k_T(0) is used. With a season, its square is the average over the
        phases, for `~sktvbo.relevancy.temporal_convolution`'s kernels.
    response_time : callable, n -> float
        R(n), the time between two consecutive iterations with n observations, in the kernel's unit
        of time: positive, finite, and not decreasing in n.
    max_size : int, default=100_000
        The largest result, also for a constant R(n) and a constant kernel, which have no maximum.
    start : int, default=None
        Initial guess for a local search, for instance the last result. Without it, a global search
        follows.

    Returns
    -------
    n : int
        From 1 to ``max_size``. Ties, up to rounding, go to the smallest.

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
    The local search follows the sign of the finite difference (BOLT section 3.3) in steps that
    double, then bisects: O(log n*) sums. It is exact for a criterion with a single peak, which BOLT
    shows for a relaxed form of it. A stepwise response time has several peaks.

    The global search does not assume a single peak. As R does not decrease and k_T² does not
    increase, Σ_{i=1..b} k_T(i R(a))² bounds the criterion on a ≤ n ≤ b from above. Branch and bound
    discards whole intervals and evaluates about √n* single numbers near the maximum. Sums stop when
    the remainder is below rounding.

    Examples
    --------
    Fitting a Gaussian process is cubic in n. A smoother function justifies more data:

    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.theory import recommended_dataset_size
    >>> def response_time(n):
    ...     return 0.05 + 1e-7 * n**3
    >>> recommended_dataset_size(Matern(length_scale=10.0, nu=0.5), response_time)
    68
    >>> recommended_dataset_size(RBF(length_scale=10.0), response_time)
    81
    """
    max_size = check_int(max_size, "max_size")
    first = 1 if start is None else check_int(start, "start", high=max_size)
    criterion = SizeCriterion(temporal_kernel, response_time)
    # For a constant R a climb would end only where further terms are below rounding.
    R = criterion.spacing
    if R(1) == R(min(first + 1, max_size)) == R(max_size):
        return max_size
    n = climb(criterion, first, max_size)
    if start is None:
        n = _confirm(criterion, n, max_size)
    criterion.check_spacings()
    return n


def dataset_size_criterion(temporal_kernel: Kernel, response_time: ResponseTimes, n: int) -> float:
    """Return Σ_{i=1..n} k_T(i R(n))², to be maximized in n (BOLT eq. 9).

    Parameters
    ----------
    temporal_kernel : Kernel
        As for `~sktvbo.theory.recommended_dataset_size`.
    response_time : callable, n -> float
        R(n), positive and finite, in the kernel's unit of time.
    n : int
        Number of observations, at least 1.

    Returns
    -------
    criterion : float
        Between 0 and n: roughly the number of new observations with equal information.

    Raises
    ------
    UnsupportedKernelError
        The kernel is not stationary, or increases with age.
    ValueError
        A response time that is not positive and finite.

    Examples
    --------
    >>> from sktvbo.kernels import Forgetting
    >>> from sktvbo.theory import dataset_size_criterion
    >>> round(dataset_size_criterion(Forgetting(0.19), lambda n: 0.5 * n, n=2), 4)  # 0.81 + 0.81²
    1.4661
    """
    return SizeCriterion(temporal_kernel, response_time)(check_int(n, "n"))


class SizeCriterion:
    """Function n -> Σ_{i=1..n} k_T(i R(n))², with a cache of response times."""

    def __init__(self, temporal_kernel, response_time):
        if not callable(response_time):
            expected, advice = "a callable n -> seconds", "For a constant c give lambda n: c."
            raise invalid("response_time", expected, response_time, advice=advice)
        self.squared_correlation = squared_correlation_of(temporal_kernel, "temporal_kernel")
        self.response_time = response_time
        self.spacings = {}

    def __call__(self, n):
        return self.bound(n, n)

    def bound(self, a, b):
        """Return Σ_{i=1..b} k_T(i R(a))², an upper bound of the criterion on [a, b]."""
        spacing = self.spacing(a)
        total, done, size, last = 0.0, 0, 64, 1.0
        # As k_T² does not increase, the remainder is at most its last value times b - done.
        while done < b and (b - done) * last > _EPS * total:
            i = np.arange(done + 1, min(done + size, b) + 1)
            squares = self.squared_correlation(spacing * i[:, np.newaxis])
            # The negated comparison refuses NaN as well.
            if not np.all(np.diff(squares, prepend=last) <= 1e-9):
                expected = "one that does not increase with age (BOLT assumption 3.3)"
                got = f"one that does between {spacing * (i[0] - 1):g} and {spacing * i[-1]:g}"
                raise invalid("temporal_kernel", expected, got=got, error=UnsupportedKernelError)
            total += squares.sum()
            done, size, last = i[-1], 2 * size, squares[-1]
        return float(total)

    def spacing(self, n):
        """Return R(n) after a check."""
        if n not in self.spacings:
            seconds = np.asarray(self.response_time(n), dtype=np.float64)
            if seconds.size != 1 or not 0.0 < seconds.item() < np.inf:
                got = f"{seconds.tolist()} for n={n}"
                raise invalid("response_time(n)", "a positive, finite number", got=got)
            self.spacings[n] = seconds.item()
        return self.spacings[n]

    def check_spacings(self):
        """Raise an error if a response time is below that of a smaller n: `bound` assumes none."""
        n = np.array(sorted(self.spacings))
        seconds = np.array([self.spacings[i] for i in n])
        drops = np.flatnonzero(seconds[1:] < (1.0 - 1e-9) * seconds[:-1])
        if drops.size:
            i = drops[0]
            expected = "a function that does not decrease with n (BOLT definition 3.5)"
            got = f"{seconds[i]:g} for n={n[i]}, but {seconds[i + 1]:g} for n={n[i + 1]}"
            advice = "Fit an increasing curve to measured times first."
            raise invalid("response_time", expected, got=got, advice=advice)


def climb(criterion, start, max_size):
    """Return the smallest n from which the criterion does not grow, for a single peak."""

    def falls(n):
        return n == max_size or criterion(n + 1) <= (1.0 + _TIE) * criterion(n)

    # The steps double until they bracket the peak: not falls(low), or low is 0, and falls(high).
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
    """Return the smallest maximizer up to rounding, by branch and bound from the guess n."""
    best = criterion(n)
    intervals = [(1, max_size)]
    while intervals:
        a, b = intervals.pop()
        bound = criterion.bound(a, b)
        # A tie matters to the left of n only, as the smallest maximizer counts.
        if bound <= (1.0 + _TIE) * best if a > n else bound < (1.0 - _TIE) * best:
            continue
        if a == b:
            n, best = a, max(best, bound)
        else:
            # Bisection, at 2 a at most: R may overflow far beyond the maximum.
            middle = min((a + b) // 2, 2 * a)
            intervals += [(middle + 1, b), (a, middle)]
    return n


def correlation_of(kernel, name):
    """Return k(X, 0) / k(0, 0) of a stationary kernel, as a function X (n, d) -> (n,)."""
    if not isinstance(kernel, Kernel):
        raise invalid(name, "a scikit-learn kernel", kernel)
    if not kernel.is_stationary():
        raise invalid(name, "stationary", got=f"{kernel}", error=UnsupportedKernelError)

    def correlation(X):
        origin = np.zeros((1, X.shape[1]))
        return kernel(X, origin)[:, 0] / kernel.diag(origin)

    return correlation


def squared_correlation_of(kernel, name):
    """Return the square of `correlation_of`, averaged over the phases of seasons.

    A season lets the correlation increase with age, but not the average. A kernel that oscillates
    and has no series has an upper bound instead.
    """
    correlation = correlation_of(kernel, name)
    composite = Composite.of(kernel)
    has_season = composite is not None and any(
        isinstance(leaf, Circle) for leaf in composite.leaves
    )
    if has_season and composite.series is not None:
        return lambda X: composite.mean_square(X[:, 0])
    if composite is not None and composite.families is not None:  # compiled
        return lambda X: (composite.row_with_slope(0.0, X[:, 0])[0] / composite.variance) ** 2
    if has_future(kernel):
        future = future_of(kernel, "The size of a data set")
        return lambda X: future.mean_square(X[:, 0])
    return lambda X: correlation(X) ** 2
