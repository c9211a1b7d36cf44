"""How many observations to keep: BOLT's recommended size of the data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_int, invalid
from ..exceptions import UnsupportedKernelError
from ._correlation import correlation_of

if TYPE_CHECKING:
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import ResponseTimes

_EPS = np.finfo(np.float64).eps
# Criteria that differ by less than this, relatively, count as equal: a sum is off by a hundredth of
# it.
_TIE = 1e-13


def recommended_dataset_size(
    temporal_kernel: Kernel,
    response_time: ResponseTimes,
    max_size: int = 100_000,
    *,
    start: int | None = None,
) -> int:
    """Number of observations to keep, n* = argmax_n Σ_{i=1..n} k_T(i R(n))² (BOLT eq. 9).

    More observations tell more, but slow the optimizer down, so that all of them are older when
    they are used. n* minimizes `~sktvbo.theory.regret_upper_bound`.

    Parameters
    ----------
    temporal_kernel : Kernel
        Any stationary kernel that does not increase with age, sums and products included; only the
        correlation k_T(age) / k_T(0) counts.
    response_time : callable, n -> float
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
    max_size = check_int(max_size, "max_size")
    first = 1 if start is None else check_int(start, "start", high=max_size)
    criterion = _Criterion(temporal_kernel, response_time)
    n = _climb(criterion, first, max_size)
    # Where R is constant the climb ended only because further terms are below rounding.
    R = criterion.spacing
    if R(1) == R(min(n + 1, max_size)) == R(max_size):
        return max_size
    if start is None:
        n = _confirm(criterion, n, max_size)
    criterion.check_spacings()
    return n


def dataset_size_criterion(temporal_kernel: Kernel, response_time: ResponseTimes, n: int) -> float:
    """Σ_{i=1..n} k_T(i R(n))², to be maximized in n (BOLT eq. 9).

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
        Between 0 and n: roughly, how many fresh observations the n old ones are worth.

    Examples
    --------
    >>> from sktvbo.kernels import Forgetting
    >>> from sktvbo.theory import dataset_size_criterion
    >>> round(dataset_size_criterion(Forgetting(0.19), lambda n: 0.5 * n, n=2), 4)  # 0.81 + 0.81²
    1.4661
    """
    return _Criterion(temporal_kernel, response_time)(check_int(n, "n"))


class _Criterion:
    """n -> Σ_{i=1..n} k_T(i R(n))², with the response times asked for so far."""

    def __init__(self, temporal_kernel, response_time):
        if not callable(response_time):
            expected, advice = "a callable n -> seconds", "For a constant c give lambda n: c."
            raise invalid("response_time", expected, response_time, advice=advice)
        self.correlation = correlation_of(temporal_kernel, "temporal_kernel")
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
            # The comparison is negated, so that NaN is an error too.
            if not np.all(np.diff(squares, prepend=last) <= 1e-9):
                raise invalid(
                    "temporal_kernel",
                    "one that does not increase with age (BOLT assumption 3.3)",
                    got=f"one that does between {spacing * (i[0] - 1):g} and {spacing * i[-1]:g}",
                    error=UnsupportedKernelError,
                )
            total += squares.sum()
            done, size, last = i[-1], 2 * size, squares[-1]
        return float(total)

    def spacing(self, n):
        """R(n), checked."""
        if n not in self.spacings:
            seconds = np.asarray(self.response_time(n), dtype=np.float64)
            if seconds.size != 1 or not 0.0 < seconds.item() < np.inf:
                got = f"{seconds.tolist()} for n={n}"
                raise invalid("response_time(n)", "a positive, finite number", got=got)
            self.spacings[n] = seconds.item()
        return self.spacings[n]

    def check_spacings(self):
        """Raise an error if a response time asked for is below that of a smaller n.

        The bound would not be one, nor would the criterion have a single peak.
        """
        n = np.array(sorted(self.spacings))
        seconds = np.array([self.spacings[i] for i in n])
        drops = np.flatnonzero(seconds[1:] < (1.0 - 1e-9) * seconds[:-1])
        if drops.size:
            i = drops[0]
            raise invalid(
                "response_time",
                "a function that does not decrease with n (BOLT definition 3.5)",
                got=f"{seconds[i]:g} for n={n[i]}, but {seconds[i + 1]:g} for n={n[i + 1]}",
                advice="Fit an increasing curve to measured times first.",
            )


def _climb(criterion, start, max_size):
    """The smallest n from which on the criterion does not grow, if it has a single peak."""

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
    """The smallest maximizer up to rounding, by branch and bound from the guess n."""
    best = criterion(n)
    intervals = [(1, max_size)]
    while intervals:
        a, b = intervals.pop()
        bound = criterion.bound(a, b)
        # To the left of n a tie is enough to be looked at, to its right only what is better.
        if bound <= (1.0 + _TIE) * best if a > n else bound < (1.0 - _TIE) * best:
            continue
        if a == b:
            n, best = a, max(best, bound)
        else:
            # The interval is cut in halves, but at 2 a at most: R is not asked for far beyond the
            # maximum, where it may overflow.
            middle = min((a + b) // 2, 2 * a)
            intervals += [(middle + 1, b), (a, middle)]
    return n
