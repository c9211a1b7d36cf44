"""How much an observation matters to predictions of the future (W-DBO section 4).

The relevancy of an observation is the 2-Wasserstein distance between the posteriors with and
without it, integrated over space and over all times from now on, relative to the distance between
the posterior and the prior. With P the inverse covariance of the observations, a = P y, C the
products of the kernels' convolutions, and q_i = P_iᵀ C P_i,

    Ŵ²(D, D∖i) = λ² q_i (a_i² + P_ii) / P_ii²,   Ŵ²(D, ∅) = λ² (aᵀ C a + Σ_jk P_jk C_jk):

no inverse per observation. It follows from substituting the block inverse into W-DBO theorem 4.1.
All q together are one matrix product; removing an observation afterwards costs O(n²).

With a constant mean that is learnt, the posteriors are those of what varies, f, without the mean: a
change of the mean alone would matter for ever, and everywhere, and its integral is infinite. P is
then the inverse covariance of the observations with the mean's prior variance added, under which
the block inverse, and so the formulas, hold as they stand.

An observation tells as much about a constant mean however old it is. What would stay for that alone
are the most extreme ones that there ever were, which move the mean most, and in a long run mean and
scale would be judged by them. So one whose correlation in time with the newest is below 1e-8 is
irrelevant, as it is where the mean is known.
"""

from __future__ import annotations

from functools import cache
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx, gammaln
from sklearn.gaussian_process.kernels import Kernel

from .._fast import convolution as _convolution
from .._fast import relevancy as _fast
from .._fast.gram import Family
from .._validation import (
    LARGEST_X,
    LARGEST_Y,
    RESOLUTION,
    check_real,
    check_variances,
    finite_array,
    invalid,
)
from ..kernels import Empirical, split_time
from ._cholesky import DenseCholesky, cholesky, dot, product
from ._constant_mean import ZERO, given, prior_variance
from ._covariance import SeparableCovariance
from ._kernel_families import FAMILIES, recognize_or_raise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._typing import Array, Indices, Mask

# Beyond e to this power, and below its reciprocal, floats lose digits.
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
    """Relevancy of each observation to predictions from ``now`` on.

    Parameters
    ----------
    X : array-like of shape (n, d + 1)
        Space and time of the observations; a single column is time alone.
    y : array-like of shape (n,)
        Observations.
    spatial_kernel : Kernel or None
        ``RBF`` or ``Matern`` with nu 0.5, 1.5, 2.5 or inf, or `~sktvbo.kernels.Empirical`; ignored
        when time is alone.
    temporal_kernel : Kernel
        ``RBF`` or ``Matern`` likewise, or `~sktvbo.kernels.Forgetting`.
    signal_variance : float
        λ, in units of y².
    noise_variance : float or array-like of shape (n,)
        In units of y².
    now : float
        Present time, not before any observation.
    time_column : int, default=-1
    mean_prior_std : float, default=0.0
        Standard deviation τ of the Gaussian prior of a constant mean of the observations, in units
        of y; 0: the mean is 0, ``np.inf``: a flat prior. With a mean that is learnt, observations
        whose correlation in time with the newest is below 1e-8 have the relevancy 0.

    Returns
    -------
    relevancy : ndarray of shape (n,)
        R̂ of W-DBO eq. (12), ≥ 0: removing the observation changes the future predictions by this
        fraction of what the whole data set contributes.

    Raises
    ------
    UnsupportedKernelError
        A kernel without a closed form.
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
    >>> X = [[0.1, 0.0], [0.9, 0.0], [0.9, 4.9]]      # the last two at the same place
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
    covariance = SeparableCovariance(
        spatial_kernel if S.shape[1] else None,
        temporal_kernel,
        (signal_variance, "fixed"),
        (1.0, "fixed"),
        S.shape[1],
    )
    factors = covariance.stationary_factors()
    C = convolutions(*factors, S, _ages(t, now))
    solver = DenseCholesky(*cholesky(covariance.gram(S, t - t[0]), noise, covariance))
    mean_variance = prior_variance(mean_prior_std)
    past = long_past(factors[1], t) if mean_variance > 0.0 else None
    return sweep(solver, y, mean_variance, signal_variance, C, past).relevancy()


def spatial_convolution(kernel: Kernel, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
    """Convolution of a spatial kernel with itself over R^d, (k * k)(x − x') (W-DBO table 3).

    Parameters
    ----------
    kernel : Kernel
        ``RBF`` or ``Matern`` with nu 0.5, 1.5, 2.5 or inf, with one lengthscale or d; or
        `~sktvbo.kernels.Empirical`, whose integral is the sum over its arms.
    X : array-like of shape (n, d)
    Y : array-like of shape (m, d), default=None
        None is X.

    Returns
    -------
    convolution : ndarray of shape (n, m)
        ∫ k(x, z) k(x', z) dz over R^d, in units of space to the d.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sktvbo.relevancy import spatial_convolution
    >>> spatial_convolution(RBF(1.0), [[0.0], [2.0]]).round(4)    # √π exp(−r²/4)
    array([[1.7725, 0.652 ],
           [0.652 , 1.7725]])
    """
    X = finite_array(X, "X", ("n", "d"))
    if Y is not None:
        Y = finite_array(Y, "Y", ("m", X.shape[1]))
    if isinstance(kernel, Empirical):
        return kernel.convolution(X, Y)
    factor = recognize_or_raise(kernel, X.shape[1], "The spatial convolution")
    return _volume(factor) * _spatial_convolution(factor, X, Y)


def temporal_convolution(
    kernel: Kernel, t: ArrayLike, now: float, s: ArrayLike | None = None
) -> Array:
    """Convolution of a temporal kernel with itself, restricted to the future (W-DBO table 4).

    Parameters
    ----------
    kernel : Kernel
        ``RBF``, `~sktvbo.kernels.Forgetting` or ``Matern`` with nu 0.5, 1.5, 2.5 or inf.
    t : array-like of shape (n,)
        Times, none after ``now``.
    now : float
    s : array-like of shape (m,), default=None
        Other times, none after ``now``; None is ``t``.

    Returns
    -------
    convolution : ndarray of shape (n, m)
        ``∫ k(|τ − t|) k(|τ − s|) dτ`` over τ ≥ now, in units of time.

    Notes
    -----
    For RBF the paper's eq. (70) divides (t − s)² by 2 l² where completing the square gives 4 l²;
    the latter is computed here, and agrees with quadrature.

    Examples
    --------
    >>> from sktvbo.kernels import Forgetting
    >>> from sktvbo.relevancy import temporal_convolution
    >>> temporal_convolution(Forgetting(0.19), [0.0, 1.0], now=1.0).round(3)
    array([[3.844, 4.271],
           [4.271, 4.746]])
    """
    factor = recognize_or_raise(kernel, 1, "The temporal convolution")
    u = _ages(finite_array(t, "t", ("n",)), now)
    v = u if s is None else _ages(finite_array(s, "s", ("m",)), now)
    return _future(factor, u, v, 0.0)


def _ages(t, now):
    """now − t (n,), non-negative."""
    now = check_real(now, "now")
    if t.max() > now:
        raise _too_early(f"{now}, but an observation at {t.max()},")
    return now - t


def _too_early(got):
    advice = "The integral over the future is not defined for later observations."
    return invalid("now", "no earlier than any observation", got=got, advice=advice)


def _spatial_convolution(factor, X, Y=None):
    """The convolution over its value at distance 0, (n, m)."""
    Z = factor.scale(X)
    W = Z if Y is None else factor.scale(Y)
    twice_mu = 0
    if factor.family == Family.RBF:
        # The convolution falls as exp(−r²/(4 l²)), and Z holds x / (√2 l).
        Z, W = Z * np.sqrt(0.5), W * np.sqrt(0.5)
    else:
        twice_mu = int(4.0 * FAMILIES[factor.family].order) + X.shape[1]
    out = np.empty((Z.shape[1], W.shape[1]))
    _convolution.spatial(Z, W, factor.family, twice_mu, 1.0, out, Y is None)
    return out


def _volume(factor):
    """∫ k² over R^d."""
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
            "a number that floats have",
            got=f"e^{log_volume:.0f}",
            advice="Use lengthscales nearer to 1.",
        )
    return np.exp(log_volume)


def _future(factor, u, v, origin):
    """∫ k k over the future (n, m), for ages u (n,) and v (m,), over the decay at age ``origin``.

    Divided by it, the integrals do not underflow when all ages are large.
    """
    if factor.family == Family.RBF:
        return _future_rbf(factor.length_scales[0], u, v, origin)
    polynomial = FAMILIES[factor.family].polynomial
    return _future_polynomial(polynomial, factor.units[0], u, v, origin)


def _future_polynomial(alpha, rate, u, v, origin):
    """exp(2 c origin) ∫ k k over the future, for k(age) = e^{−z} Σ_k α_k z^k, z = c age.

    The integral is B(u) G B(v)ᵀ, of rank p + 1; see `future_basis` and `basis_products`. For Matérn
    kernels this equals W-DBO eq. (72)-(75), and it is free of cancellation.
    """
    B, A = (future_basis(alpha, rate, ages, origin) for ages in (u, v))
    return B @ (basis_products(len(alpha)) / rate) @ A.T


def future_basis(alpha, rate, ages, origin=0.0):
    """exp(c origin) b_m(ages) (n, p + 1), for k(age) = e^{−z} Σ_k α_k z^k, z = c age.

    From now on k(τ − t) is an exponential times a polynomial of degree p in c times the time from
    now, with the coefficients b_m = e^{−z} Σ_{k≥m} α_k C(k, m) z^{k−m}.
    """
    z = rate * ages
    powers = z[:, np.newaxis] ** np.arange(len(alpha))
    decay = np.exp(rate * origin - z)
    return decay[:, np.newaxis] * np.einsum("nj,jm->nm", powers, _basis_coefficients(alpha))


@cache
def _basis_coefficients(alpha):
    """Coefficients (p + 1, p + 1) of z^j in b_m: α_{j+m} C(j + m, m)."""
    n = len(alpha)
    return np.array(
        [[alpha[j + m] * comb(j + m, m) if j + m < n else 0.0 for m in range(n)] for j in range(n)]
    )


@cache
def basis_products(n):
    """G (n, n): the integrals (m + q)! / 2^{m+q+1} of e^{−2z} z^{m+q} over z ≥ 0."""
    return np.array([[factorial(m + q) / 2.0 ** (m + q + 1) for q in range(n)] for m in range(n)])


def _future_rbf(l, u, v, origin):
    """exp(origin² / l²) ∫ k k over the future, for k(age) = exp(−age² / (2 l²)).

    The integral is (√π l/2) exp(−(u−v)²/(4 l²)) erfc((u+v)/(2 l)); erfcx(z) = e^{z²} erfc(z) splits
    the exponential into a product, which neither underflows early nor multiplies large by small.
    """
    u, v, origin = u / l, v / l, origin / l

    def decay(ages):
        return np.exp(0.5 * (origin - ages) * (origin + ages))

    tail = erfcx(0.5 * (u[:, np.newaxis] + v))
    return 0.5 * np.sqrt(np.pi) * l * decay(u)[:, np.newaxis] * tail * decay(v)


def convolutions(spatial, temporal, S, ages):
    """C (n, n) of theorem 4.1 up to a positive factor, from recognized kernels.

    The factor is that by which the newest observation's share has decayed, over ∫ k_S²:
    relevancies are ratios and do not feel it, and do not become 0/0 when all of the data is old, or
    in hundreds of dimensions.
    """
    if not np.isfinite(ages).all():
        raise invalid("now", "finite", got="NaN or infinity")
    if ages.min() < 0.0:
        raise _too_early(f"a time {-ages.min():.3g} before one")
    return _future(temporal, ages, ages, ages.min()) * convolutions_in_space(spatial, S)


def convolutions_in_space(spatial, X, Y=None):
    """Those of a recognized spatial kernel (n, m), or 1 where there is no space."""
    if not X.shape[1]:
        return np.ones((len(X), len(X if Y is None else Y)))
    if isinstance(spatial, Empirical):
        return spatial.convolution(X, Y)
    return _spatial_convolution(spatial, X, Y)


def long_past(temporal, t):
    """Which of observations at times t (n,) have next to no correlation with the newest."""
    z = temporal.units[0] * (t.max() - t)
    if temporal.family == Family.RBF:
        return np.exp(-z * z) < RESOLUTION
    return future_basis(FAMILIES[temporal.family].polynomial, 1.0, z)[:, 0] < RESOLUTION


def sweep(solver, y, mean_variance, signal_variance, C, past):
    """The `RelevancySweep` of observations y (n,) with a factored covariance and convolutions C.

    Where an observation is known from the others to within 1e-8 of the signal variance, all of them
    are given that much more noise. The integrals of the squared difference of two kernels that lie
    that near to each other are lost in the rounding of C; divided by squares of less noise they
    would leave relevancies of nearly 0 as anything.
    """
    P, least = solver.inverse(), RESOLUTION * signal_variance
    if P.diagonal().max() * least > 1.0:
        solver = solver.plus(least)
        P = solver.inverse()
    a, mean = solver.solve(y), ZERO
    if mean_variance > 0.0:
        mean, _ = given(mean_variance, solver.solve(np.ones(len(y))), y)
        a = a - mean.value * mean.direction
    P = mean.removed(P)
    return RelevancySweep(P, a, C, past=past)


class RelevancySweep:
    """Relevancies of all observations, kept up to date while some are removed, O(n²) each.

    What `~sktvbo.gaussian_process.TimeVaryingGPRegressor.relevancy_sweep` returns.

    Parameters
    ----------
    P : ndarray of shape (n, n)
        Inverse covariance of the observations.
    a : ndarray of shape (n,)
        P y.
    C : ndarray of shape (n, n), or callable
        Convolutions, up to a positive factor; or what makes them, once an observation is removed
        and more is asked for.
    q : ndarray of shape (n,), default=None
        P_iᵀ C P_i where it is known, which saves a product of matrices.
    sums : (float, float), default=None
        aᵀ C a and Σ_jk P_jk C_jk where they are known; with a callable C they have to be, and q.
    past : ndarray of bool of shape (n,), default=None
        Which observations are irrelevant because they tell of nothing but the mean; None: none.

    Attributes
    ----------
    n : int
        Observations that are left.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> X = np.column_stack([np.linspace(0, 1, 8) ** 2, np.arange(8)])
    >>> gp = TimeVaryingGPRegressor(optimizer=None).fit(X, np.sin(X[:, 0]))
    >>> sweep = gp.relevancy_sweep(now=8.0)
    >>> sweep.remove(np.argmin(sweep.relevancy()))
    >>> sweep.index                      # row 7 has moved to where row 0 was
    array([7, 1, 2, 3, 4, 5, 6])
    """

    def __init__(
        self,
        P: Array,
        a: Array,
        C: Array,
        q: Array | None = None,
        sums: tuple[float, float] | None = None,
        past: Mask | None = None,
    ) -> None:
        # In units of its largest entry P has no squares that overflow or underflow; of a, in units
        # of the standard deviation that goes with it, only those of a large y would. The units are
        # powers of two, so that they change no digits.
        self._half = half = max((np.frexp(P.diagonal().max())[1] + 1) // 2, -500)
        self._P, self._C, self._owned, self._past = P, C, False, past
        a = np.ldexp(a, -half)
        excess = max(np.frexp(np.abs(a).max())[1], 0)
        self._a = a = np.ldexp(a, -excess)
        self._unit = np.ldexp(1.0, -2 * excess)
        self._p = np.ldexp(P.diagonal(), -2 * half)
        if q is None:
            self._own()
            self._q = np.einsum("ij,ij->i", self._P, product(self._P, self._C))
        else:
            self._q = np.ldexp(q, -4 * half)
        self._index = np.arange(len(a))
        self._leaving = None
        self._n = len(a)
        if sums is None:
            self._own()
            self._sum_up()
        else:
            self._mean_part = np.ldexp(sums[0], -2 * (half + excess))
            self._variance_part = np.ldexp(sums[1], -2 * half)

    @property
    def n(self) -> int:
        return self._n if self._leaving is None else self._n - 1

    @property
    def index(self) -> Indices:
        """Which observation stands at each position (n,)."""
        self._settle()
        return self._index[: self._n]

    def relevancy(self) -> Array:
        """R̂ of W-DBO eq. (12) at each position.

        Returns
        -------
        ndarray of shape (n,)
        """
        self._settle()
        n = self._n
        if n == 1:
            return np.ones(1)  # what is left is the prior
        p = self._p[:n]
        total = max(self._mean_part, 0.0) + self._unit * max(self._variance_part, 0.0)
        squared = np.maximum(self._q[:n] / p * (self._a[:n] ** 2 / p + self._unit), 0.0)
        # Where rounding leaves nothing of the total, the observations are compared all the same.
        found = np.sqrt(squared / (total or squared.sum() or 1.0))
        if self._past is not None:
            found[self._past[self._index[:n]]] = 0.0
        return found

    def remove(self, position: int) -> None:
        """Take out the observation at a position; another one moves there.

        Parameters
        ----------
        position : int
        """
        # The last removal changes nothing that anybody will ask for: each waits for a question.
        self._settle()
        self._leaving = int(position)

    def _settle(self):
        """Carry out a removal that waits."""
        if self._leaving is None:
            return
        self._own()
        i, self._leaving = self._leaving, None
        _fast.remove(self._P, self._C, self._a, self._q, self._index, self._n, i)
        self._n -= 1
        self._p = self._P.diagonal()
        self._sum_up()

    def _sum_up(self):
        """The sums over all observations that are left.

        Kept up to date by differences they would lose all digits to those that were removed.
        """
        left = slice(self._n), slice(self._n)
        P, C, a = self._P[left], self._C[left], self._a[: self._n]
        self._mean_part = dot(a, product(C, a[:, np.newaxis])[:, 0])
        self._variance_part = np.einsum("ij,ij->", P, C)

    def _own(self):
        """Have matrices that may be changed, P in its unit."""
        if self._owned:
            return
        self._P = self._P * np.ldexp(1.0, -2 * self._half)
        self._C = self._C() if callable(self._C) else np.array(self._C)
        self._owned = True
