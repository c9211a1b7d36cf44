"""Relevancy of observations to predictions of the future (W-DBO section 4).

The relevancy of an observation is a 2-Wasserstein distance between the posteriors with and without
it, relative to that between posterior and prior. The distance is integrated over space and all
times from now on. With P the inverse covariance of the observations, a = P y, C the products of the
kernels' convolutions, and q_i = P_iᵀ C P_i,

    Ŵ²(D, D∖i) = λ² q_i (a_i² + P_ii) / P_ii²,   Ŵ²(D, ∅) = λ² (aᵀ C a + Σ_jk P_jk C_jk),

without an inverse per observation. It follows from substituting the block inverse into W-DBO
theorem 4.1. All q together are one matrix product; a removal afterwards costs O(n²).

With a learnt constant mean, the posteriors are those of f without the mean: the integral of a
change of the mean is infinite. P is then the inverse covariance of the observations including the
mean's prior variance, for which the block inverse and the formulas hold unchanged.

An observation informs about a constant mean at any age. The most extreme old observations, which
move the mean most, would therefore stay indefinitely and bias mean and scale. So an observation
whose correlation in time with the newest one is below 1e-8 is irrelevant, as with a known mean.
"""

from __future__ import annotations

from itertools import islice
from math import frexp, ldexp, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaln
from sklearn.gaussian_process.kernels import Kernel

from .._fast.gram import Family
from .._tables import frame_columns, with_columns_in_order
from .._validation import (
    LARGEST_X,
    LARGEST_Y,
    RESOLUTION,
    check_real,
    check_variances,
    finite_array,
    invalid,
)
from ..exceptions import UnsupportedKernelError
from ..kernels import Empirical, split_time
from ._cholesky import DenseCholesky, cholesky
from ._conditioned import solve_for_weights
from ._covariance import SeparableCovariance
from ._data import are_unconfirmed
from ._future import future_of
from ._inverse import FixedForms
from ._kernel_families import FAMILIES, recognize_or_raise
from ._prior_mean import prior_variance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._typing import Array, Indices, Mask
    from ._inverse import UpdatedForms

# Largest |log| of an integral: floats lose digits beyond.
_MAX_LOG = 700.0


def wasserstein_relevancy(
    X: ArrayLike,
    y: ArrayLike,
    *,
    spatial_kernel: Kernel | None,
    temporal_kernel: Kernel,
    signal_variance: float,
    noise_variance: ArrayLike,
    now: float,
    time_column: int | str = -1,
    mean_prior_std: float = 0.0,
) -> Array:
    """Return the relevancy of each observation to predictions from ``now`` on.

    Parameters
    ----------
    X : array-like of shape (n, d + 1)
        Space and time of the observations; a single column is time alone.
    y : array-like of shape (n,)
        Observations.
    spatial_kernel : Kernel or None
        ``RBF`` or ``Matern`` with nu 0.5, 1.5, 2.5 or inf, or `~sktvbo.kernels.Empirical`; ignored
        without spatial columns.
    temporal_kernel : Kernel
        As for `temporal_convolution`.
    signal_variance : float
        λ, in units of y².
    noise_variance : float or array-like of shape (n,)
        In units of y².
    now : float
        Present time, not before any observation.
    time_column : int, default=-1
    mean_prior_std : float, default=0.0
        Standard deviation τ of the Gaussian prior of a constant mean, in units of y; 0: the mean is
        0, ``np.inf``: a flat prior. With a learnt mean, observations whose correlation in time with
        the newest one is below 1e-8 have relevancy 0.

    Returns
    -------
    relevancy : ndarray of shape (n,)
        R̂ of W-DBO eq. (12), ≥ 0: change of the future predictions if the observation is removed,
        relative to the contribution of the whole data set.

    Raises
    ------
    UnsupportedKernelError
        A kernel in space without a closed form, or one in time that does not decay.
    ValueError
        Wrong shapes, NaN, or an observation after ``now``.

    Notes
    -----
    The integral over space is extended to R^d, as in the paper. O(n³), dominated by two matrix
    products.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.relevancy import wasserstein_relevancy
    >>> X = [[0.1, 0.0], [0.9, 0.0], [0.9, 4.9]]      # the last two at the same input
    >>> wasserstein_relevancy(
    ...     X, [1.0, 0.5, 0.4], spatial_kernel=RBF(0.2), temporal_kernel=Matern(2.0, nu=1.5),
    ...     signal_variance=1.0, noise_variance=0.01, now=5.0,
    ... ).round(3)
    array([0.066, 0.028, 0.988])
    """
    X = finite_array(X, "X", ("n", "d + 1"), largest=LARGEST_X)
    n = len(X)
    y = finite_array(y, "y", (n,), largest=LARGEST_Y)
    noise = check_variances(noise_variance, n, "noise_variance", zero=True)
    signal_variance = check_real(signal_variance, "signal_variance", interval="(0, inf)")
    mean_prior_std = check_real(mean_prior_std, "mean_prior_std", interval="[0, inf]")
    S, t = split_time(X, time_column)
    t = t[:, 0]
    if S.shape[1] and not isinstance(spatial_kernel, Kernel):
        expected = f"a kernel of the {S.shape[1]} spatial columns of X"
        raise invalid("spatial_kernel", expected, spatial_kernel)
    if not isinstance(temporal_kernel, Kernel):
        raise invalid("temporal_kernel", "a kernel of the time column of X", temporal_kernel)
    covariance = SeparableCovariance.of(
        spatial_kernel if S.shape[1] else None,
        temporal_kernel,
        (signal_variance, "fixed"),
        (1.0, "fixed"),
        S.shape[1],
    )
    (spatial, temporal), ages = covariance.stationary_factors, _ages(t, now)
    C = temporal.future_convolution(ages, ages, ages.min()) * spatial.convolution(S)
    solver = DenseCholesky(*cholesky(covariance.gram(S, t - t[0]), noise, covariance))
    mean_variance = prior_variance(mean_prior_std)
    past = temporal.decay(t.max() - t) < RESOLUTION if mean_variance > 0.0 else None
    return sweep(solver, y, mean_variance, signal_variance, C, past).relevancy()


def spatial_convolution(kernel: Kernel, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
    """Return the convolution of a spatial kernel with itself over R^d (W-DBO table 3).

    Parameters
    ----------
    kernel : Kernel
        ``RBF`` or ``Matern`` with nu 0.5, 1.5, 2.5 or inf, with one lengthscale or d; or
        `~sktvbo.kernels.Empirical`, with a sum over its arms for the integral.
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d), default=None
        None: X.

    Returns
    -------
    convolution : ndarray of shape (n, m)
        ∫ k(x, z) k(x', z) dz over R^d, in units of space to the d.

    Raises
    ------
    UnsupportedKernelError
        A kernel without a closed form.
    ValueError
        Wrong shapes, NaN, or an integral beyond the range of floats.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sktvbo.relevancy import spatial_convolution
    >>> spatial_convolution(RBF(1.0), [[0.0], [2.0]]).round(4)    # √π exp(−r²/4)
    array([[1.7725, 0.652 ],
           [0.652 , 1.7725]])
    """
    labels = [label for label, _ in frame_columns(X) or ()]
    X = finite_array(X, "X", ("n", "d"))
    if Y is not None:
        Y = with_columns_in_order(Y, labels, "Y")
        Y = finite_array(Y, "Y", ("m", X.shape[1]))
    if isinstance(kernel, Empirical):
        return kernel.convolution(X, Y)
    factor = recognize_or_raise(kernel, X.shape[1], "The spatial convolution")
    return _volume(factor) * factor.convolution(X, Y)


def temporal_convolution(
    kernel: Kernel, t: ArrayLike, now: float, s: ArrayLike | None = None
) -> Array:
    """Return the convolution of a temporal kernel with itself over the future (W-DBO table 4).

    Parameters
    ----------
    kernel : Kernel
        Any stationary kernel of one column whose square has an integral over all ages. ``RBF``,
        ``Matern`` with nu 0.5, 1.5 or 2.5, `~sktvbo.kernels.Forgetting`, and sums and products of
        the latter with constants and ``ExpSineSquared`` have closed forms. Others may provide one,
        see `~sktvbo.kernels.Markov`, or have a quadrature, with errors of 1e-8 of the largest.
    t : array-like of shape (n,)
        Times, none after ``now``.
    now : float
    s : array-like of shape (m,), default=None
        Other times, none after ``now``; None: ``t``.

    Returns
    -------
    convolution : ndarray of shape (n, m)
        ``∫ k(|τ − t|) k(|τ − s|) dτ`` over τ ≥ now, in units of time.

    Raises
    ------
    UnsupportedKernelError
        A kernel that does not decay, decays too slowly, or oscillates too often before.
    ValueError
        Wrong shapes, NaN, or a time after ``now``.

    Notes
    -----
    For RBF the paper's eq. (70) divides (t − s)² by 2 l²; completing the square gives 4 l². This
    function uses 4 l², which agrees with quadrature.

    Examples
    --------
    >>> from sktvbo.kernels import Forgetting
    >>> from sktvbo.relevancy import temporal_convolution
    >>> temporal_convolution(Forgetting(0.19), [0.0, 1.0], now=1.0).round(3)
    array([[3.844, 4.271],
           [4.271, 4.746]])
    """
    future = future_of(kernel, "The temporal convolution")
    u = _ages(finite_array(t, "t", ("n",)), now)
    v = u if s is None else _ages(finite_array(s, "s", ("m",)), now)
    return future.future_convolution(u, v)


def _ages(t, now):
    """Return the ages now − t (n,), non-negative."""
    now = check_real(now, "now")
    if t.max() > now:
        raise _too_early(now, t.max())
    return now - t


def present(now, latest):
    """Return a present time, which conversions may have rounded, not before the latest one."""
    if abs(now - latest) <= 4.0 * np.spacing(abs(now)):
        now = latest
    if not np.isfinite(now):
        raise invalid("now", "finite", now)
    if now < latest:
        raise _too_early(now, latest)
    return now


def _too_early(now, latest):
    """Return the error for a present time before the latest observation."""
    got = f"{now}, but an observation at {latest},"
    advice = "The integral over the future is not defined for later observations."
    return invalid("now", "no earlier than any observation", got=got, advice=advice)


def _volume(factor):
    """Return ∫ k² over R^d."""
    d, nu = len(factor.length_scales), FAMILIES[factor.family].order
    log_volume = (d / 2.0) * np.log(np.pi) + np.log(factor.length_scales).sum()
    if factor.family != Family.RBF:
        # This is W-DBO eq. (65) at distance 0, where z^μ K_μ(z) is 2^{μ−1} Γ(μ), μ = 2ν + d/2.
        log_volume += (
            d * np.log(2.0)
            + 2.0 * gammaln(nu + d / 2.0)
            - 2.0 * gammaln(nu)
            - gammaln(2.0 * nu + d)
            + gammaln(2.0 * nu + d / 2.0)
            - (d / 2.0) * np.log(2.0 * nu)
        )
    if abs(log_volume) > _MAX_LOG:
        raise invalid(
            "The integral of the squared kernel",
            "within the range of floats",
            got=f"e^{log_volume:.0f}",
            advice="Use lengthscales nearer to 1.",
        )
    return np.exp(log_volume)


def sweep(solver, y, mean_variance, signal_variance, C, past, trend=None, F=None):
    """Return the `RelevancySweep` of y (n,) with a factorized covariance and convolutions C.

    F (n, q) are the features of a ``trend``, if any.

    If the other observations determine one to within 1e-8 of the signal variance, that much noise
    is added to all of them. Integrals of the squared difference of such close kernels are lost in
    the rounding of C; divided by squares of smaller noise, relevancies near 0 would be arbitrary.
    """
    P, least = solver.inverse(), RESOLUTION * signal_variance
    if P.diagonal().max() * least > 1.0:
        solver = solver.with_added_variance(least)
        P = solver.inverse()
    mean, a, _ = solve_for_weights(solver, y, mean_variance, trend, F)
    return RelevancySweep(mean.downdate(P), a, C, past, mean.least_precision)


class RelevancySweep:
    """Relevancies of all observations, updated while some are removed, O(n²) each.

    Returned by ``relevancy_sweep`` of a fitted regressor's ``fitted_``.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        Inverse covariance of the observations.
    a : ndarray of shape (n,)
        P y.
    C : ndarray of shape (n, n)
        Convolutions, up to a positive factor.
    past : ndarray of bool of shape (n,), default=None
        Mask of irrelevant observations, which inform about the mean only; None: none.
    least : ndarray of shape (n,), default=0.0
        Entries P_ii that are 0 up to rounding. Such an observation determines a coefficient of a
        linear mean alone: its relevancy is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> X = np.column_stack([np.linspace(0, 1, 8) ** 2, np.arange(8)])
    >>> gp = TimeVaryingGPRegressor(optimizer=None).fit(X, np.sin(X[:, 0]))
    >>> sweep = gp.fitted_.relevancy_sweep(now=8.0)
    >>> sweep.remove(np.argmin(sweep.relevancy()))
    >>> sweep.index
    array([1, 2, 3, 4, 5, 6, 7])
    """

    def __init__(
        self, P: Array, a: Array, C: Array, past: Mask | None = None, least: Array | float = 0.0
    ) -> None:
        self._begin(a, FixedForms(P, C, unit_of(P.diagonal())), past, least)

    @classmethod
    def of(
        cls, a: Array, forms: UpdatedForms, past: Mask | None = None, least: Array | float = 0.0
    ) -> RelevancySweep:
        """Return the sweep of a (n,) and updated quadratic forms.

        Parameters
        ----------
        a : ndarray of shape (n,)
        forms : UpdatedForms
            P, and its quadratic forms with the convolutions.
        past : ndarray of bool of shape (n,), default=None
        least : ndarray of shape (n,), default=0.0

        Returns
        -------
        RelevancySweep
        """
        new = cls.__new__(cls)
        new._begin(a, forms, past, least)
        return new

    def _begin(self, a, forms, past, least):
        # a is in the unit of standard deviations that fits that of P, reduced for a large y. Units
        # are powers of two, which change no digits.
        a = a * sqrt(forms.unit)
        excess = max(frexp(np.abs(a).max())[1], 0)
        self._a, self._unit = np.ldexp(a, -excess), ldexp(1.0, -2 * excess)
        self._past, self._least = past, np.broadcast_to(forms.unit * least, len(a))
        self.state = np.arange(len(a)), forms
        self._update_sums()

    @property
    def index(self) -> Indices:
        """Index of the observation at each position (n,), ascending."""
        return self.state[0]

    @property
    def n(self) -> int:
        """Number of remaining observations."""
        return len(self.index)

    def relevancy(self) -> Array:
        """Return R̂ of W-DBO eq. (12) at each position.

        Returns
        -------
        ndarray of shape (n,)
        """
        index, forms = self.state
        if len(index) == 1:
            return np.ones(1)  # without it the posterior is the prior
        least, p = self._least[index], forms.p
        alone = p < least
        p = np.where(alone, 1.0, p)
        total = max(self._mean_part, 0.0) + self._unit * max(self._variance_part, 0.0)
        squared = np.maximum(forms.q / p * (self._a**2 / p + self._unit), 0.0)
        # Compare the observations also if rounding makes the total 0.
        relevancies = np.sqrt(squared / (total or squared.sum() or 1.0))
        if self._past is not None:
            relevancies[self._past[index]] = 0.0
        relevancies[alone] = 1.0
        return relevancies

    def remove(self, position: int | np.integer[Any]) -> None:
        """Remove the observation at a position.

        Parameters
        ----------
        position : int
        """
        (index, forms), i = self.state, int(position)
        column = forms.column(i)
        self._a = np.delete(self._a - column * (self._a[i] / column[i]), i)
        self.state = np.delete(index, i), forms.without(i)
        self._update_sums()

    def _update_sums(self):
        """Compute the sums over the remaining observations."""
        forms = self.state[1]
        self._mean_part, self._variance_part = forms.mean_part(self._a), forms.trace


def unit_of(precisions):
    """Return a power of four near 1 / max P_ii, from the P_ii (n,)."""
    return ldexp(1.0, -2 * max((frexp(precisions.max())[1] + 1) // 2, -500))


# --- rows in the order of their relevancy ---------------------------------------------------------


def rows_beyond(size, surrogate, now, times):
    """Return the rows (k,) to drop until ``size`` of a surrogate's n rows stay.

    ``times`` (n,) are those of the rows.
    """
    if not _supports_relevancy(surrogate):
        return np.argsort(times, kind="stable")[: max(len(times) - size, 0)]
    return rows_of(least_relevant_beyond(size, surrogate, now))


def most_relevant(size, surrogate, now, times):
    """Return the ``size`` rows (size,) that are most relevant while all rows stay, in order.

    They are the latest if relevancies are unavailable; ``times`` (n,) are those of the rows.
    """
    relevancy = times
    if _supports_relevancy(surrogate):
        relevancy = np.nan_to_num(surrogate.relevancy_sweep(now).relevancy())
    return np.sort(np.argsort(relevancy, kind="stable")[-size:])


def least_relevant_beyond(size, surrogate, now):
    """Return the (row, relevancy) pairs to remove, in order, until ``size`` observations stay."""
    n_removed = max(len(surrogate.X_train_) - size, 0)
    removals = islice(from_least_relevant(surrogate, now), n_removed)
    return [(row, relevancy) for _, row, relevancy in removals]


def rows_of(removals):
    """Return the rows (k,) of (row, relevancy) pairs."""
    return np.array([row for row, _ in removals], dtype=np.intp)


def from_least_relevant(surrogate, now):
    """Yield (n, row, relevancy) of the least relevant of n observations, then of the n - 1 others.

    An observation is removed once the next one is asked for.
    """
    sweep, weights = surrogate.relevancy_sweep(now), getattr(surrogate, "outlier_weights_", None)
    # Outliers that are confirmed have the smallest relevancies.
    unconfirmed = None if weights is None else are_unconfirmed(weights)
    while True:
        least, relevancy = _least_relevant(sweep, unconfirmed)
        yield sweep.n, int(sweep.index[least]), relevancy
        sweep.remove(least)


def _least_relevant(sweep, excluded):
    """Return the least relevant observation of a `RelevancySweep`: position and relevancy.

    Rows of the mask ``excluded``, unless it is None, count as relevant.
    """
    relevancy = np.asarray(sweep.relevancy())
    if excluded is not None and not excluded[sweep.index].all():
        relevancy = relevancy + np.where(excluded[sweep.index], np.inf, 0.0)
    least = int(np.argmin(relevancy))  # the first NaN, if there is one
    if np.isnan(relevancy[least]):
        unknown = np.count_nonzero(np.isnan(relevancy))
        raise invalid(
            "The relevancies of the surrogate",
            "numbers",
            got=f"NaN for {unknown} of {relevancy.size} observations",
            advice="Check the kernels of the surrogate.",
        )
    return least, float(relevancy[least])


def _supports_relevancy(surrogate):
    if not hasattr(surrogate, "check_relevancy"):
        return False
    try:
        surrogate.check_relevancy()
    except UnsupportedKernelError:
        return False
    return True
