"""Sparse Gaussian process regression on space and time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, overload

import numpy as np
from sklearn.gaussian_process.kernels import WhiteKernel

from .. import dpp
from .._docstrings import described_like
from .._validation import (
    check_choice,
    check_int,
    check_random_state,
    invalid,
    plain_number,
)
from .._values import distinct_rows, read_only
from ..exceptions import NotPositiveDefiniteError
from ._dates import columns_like_fit
from ._exact import TimeVaryingGPRegressor
from ._exact_posterior import Dense
from ._fit_warnings import advise_on_points
from ._hyperparameters import (
    HyperPrior,
    SearchRecord,
    learn_from_subset,
    likely_cells,
    random_subset,
    search,
    with_added_noise,
    with_another_optimum,
)
from ._inducing_posterior import Inducing, bound
from ._quasi_newton import completed
from ._regressor import TimeVaryingGP

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import ArrayLike

    from .._typing import Array

# This part of the mean diagonal is added to the candidates' covariance: it keeps full rank where
# close points are numerically dependent.
_RIDGE = 1e-6

# Points are chosen from at most this many rows; by a k-DPP, with quadratic memory, from at most the
# second number.
_MAX_ROWS, _MAX_CANDIDATES = 20_000, 2_000

# The chain of a k-DPP makes proposals of cost m², up to this total cost.
_MAX_CHAIN_COST = 6.4e8

# "auto" doubles the first number of points while the bound grows by _MIN_GAIN nats a row, up to the
# last number. It evaluates the bound on this many rows.
_FIRST, LAST, _MIN_GAIN, _N_PROBES = 50, 400, 0.05, 4_000


def choose(how, covariance, rows, m, rng):
    """Return inducing points (m, d + 1), in the units of X; all distinct rows if these are fewer.

    Parameters
    ----------
    how : "kdpp", "greedy" or "kmeans"
    covariance : SeparableCovariance
    rows : Rows
    m : int or "auto"
    rng : RandomState
    """
    distinct, _ = distinct_rows(random_subset(rows, _MAX_ROWS, rng).X)
    if m == "auto":
        m = _sufficient_number(covariance, rows, distinct, rng)
    if len(distinct) <= m:
        return distinct
    return METHODS[how](covariance, rows.layout, distinct, m, rng)


def _sufficient_number(covariance, rows, distinct, rng):
    """Return the number of points beyond which the bound grows little."""
    if len(distinct) <= _FIRST:
        return _FIRST
    candidates = _at_most(distinct, _MAX_CANDIDATES, rng)
    K = _gram(covariance, rows.layout, candidates)
    order = candidates[dpp.greedy_map(K, min(LAST, len(candidates)))]
    probes = random_subset(rows, _N_PROBES, rng)
    m, value = _FIRST, None
    while True:
        gp = Inducing.of(covariance, probes, order[:m])
        before, value = value, gp.repeated(rows.n / probes.n)
        if before is not None and value - before < _MIN_GAIN * rows.n:
            return m // 2
        if m >= len(order):
            return m
        m *= 2


def _at_most(X, n, rng):
    return X if len(X) <= n else X[rng.choice(len(X), n, replace=False)]


def _centres(covariance, layout, X, m, rng):
    """Return the centres of m clusters of the points X, in units of lengthscales."""
    # Imported here: seldom needed, and a tenth of the import time of this package.
    from sklearn.cluster import MiniBatchKMeans

    columns = np.column_stack(layout.split(X))
    # A change of the origin changes no digit beyond rounding: distances are of centred columns.
    origin = columns[0] + np.mean(columns - columns[0], axis=0)
    columns -= origin
    scales = np.std(columns, axis=0)
    if covariance.pair is not None and covariance.pair[0].embedding is None:
        scales = 1.0 / np.concatenate([factor.units for factor in covariance.pair])
    scales = np.where(scales > 0.0, scales, 1.0)
    clusters = MiniBatchKMeans(m, n_init=1, random_state=rng)
    centres = clusters.fit(columns / scales).cluster_centers_ * scales + origin
    return np.insert(centres[:, :-1], layout.position, centres[:, -1] + layout.origin, axis=1)


def _greatest_determinant(covariance, layout, X, m, rng):
    """Return m of the points X by greedy maximization of the determinant, in that order."""
    kernel = covariance.kernel + WhiteKernel(_RIDGE * covariance.signal_variance)
    return X[dpp.greedy_map(kernel, m, X=np.column_stack(layout.split(X)))]


def _kdpp_sample(covariance, layout, X, m, rng):
    """Return a k-DPP sample of m of the points X."""
    X = _at_most(X, max(_MAX_CANDIDATES, 2 * m), rng)
    n_steps = max(int(_MAX_CHAIN_COST / m**2), 1) if 10_000 * m**2 > _MAX_CHAIN_COST else None
    K = _gram(covariance, layout, X)
    return X[np.sort(dpp.sample_kdpp(K, m, n_steps=n_steps, random_state=rng))]


def _gram(covariance, layout, X):
    K = covariance.cross(*layout.split(X))
    K[np.diag_indices_from(K)] += _RIDGE * np.diagonal(K).mean()
    return K


METHODS = {"kdpp": _kdpp_sample, "greedy": _greatest_determinant, "kmeans": _centres}


# A search uses n rows with n m² up to the first number, and at least the second number per point.
_MAX_WORK, _ROWS_A_POINT = 2e8, 6

# It is completed with all rows up to this n m².
_MAX_WORK_AGAIN = 1e9

# The bounds of starts are compared with at most this many rows and points.
_N_COMPARED, _M_COMPARED = 250, 150

# Choose other points if the variance of f at new rows given the points exceeds this part of the
# noise variance.
_TOLERANCE = 0.2


def _starts_of_bound(exact, before, rows, Z, hyperpriors, rng):
    """Return starts of a maximization of the bound: the exact result, and perhaps another.

    The other is an earlier result, or of a grid. Bounds are those of a subset of the rows, each
    repeated, with a subset of the points. The noise of all starts includes the variance that the
    points leave unresolved.
    """
    few, points = random_subset(rows, _N_COMPARED, rng), _at_most(Z, _M_COMPARED, rng)
    prior = HyperPrior(hyperpriors, exact.names)

    def raised(theta, Z):
        covariance = exact.with_theta(theta)
        return with_added_noise(covariance, Inducing.of(covariance, few, Z).unresolved)

    def value(theta):
        try:
            theta = raised(theta, points)
            gp = Inducing.of(exact.with_theta(theta), few, points)
        except NotPositiveDefiniteError:
            return -np.inf
        return gp.repeated(rows.n / few.n) + prior(theta)

    groups = likely_cells(exact, rows) if len(exact.theta) else []
    if before is not None:
        groups.append(before[np.newaxis])
    starts = with_another_optimum(value, exact.theta, groups)
    return np.array([raised(theta, Z) for theta in starts])


@described_like(TimeVaryingGPRegressor)
@dataclass(eq=False, repr=False)
class SparseTimeVaryingGPRegressor(TimeVaryingGP):
    """Gaussian process regression on space and time with inducing points.

    Maximizes Titsias' variational bound with heteroscedastic noise (SparQ proposition 5): O(n m²)
    time and O(n m) memory for n rows and m inducing points, where exact regression takes O(n³) and
    O(n²). The bound never exceeds the log marginal likelihood, and the posterior is the exact one
    when the inducing points are the training inputs.

    Parameters
    ----------
    temporal_kernel : Kernel, default=None
        scikit-learn kernel of the time column. None: ``Matern(nu=1.5)``, with a lengthscale between
        the median interval of the data's times and ten times their span (1.0 with
        ``optimizer=None``). A rough part, as in `TimeVaryingGPRegressor`, has to be given: it needs
        about as many points as rows. ``ConstantKernel(1.0, "fixed")`` makes a static model.
    n_inducing : int or "auto", default="auto"
        Number m of inducing points, at most the number of distinct rows. "auto" doubles 50 points
        while the bound grows by more than 0.05 nats a row, up to 400.
    inducing : "kdpp", "greedy", "kmeans" or array-like of shape (m, d + 1), default="kdpp"
        Choice of the points: a k-DPP sample (from a uniform subset of 2,000 rows), the rows of
        greatest determinant (of at most 20,000), cluster centres, or the points themselves. Columns
        of a data frame are matched by name, and dates are accepted, as in X.
    random_state : int, RandomState, Generator or None, default=None
        For the choice of the inducing points, and for the restarts.

    Attributes
    ----------
    inducing_points_ : ndarray of shape (m, d + 1)
        Inducing points, in the units of X.
    elbo_ : float
        Bound at ``theta_``.

    Notes
    -----
    A fit learns hyperparameters by exact regression on 500 rows, from several starts. It chooses
    the points and maximizes the bound from there, and from another start where the bound has
    another optimum; if n m² is above 2e8, the bound of a uniform subset of 6 m or more rows. It
    chooses points again, takes the larger bound, and completes the search, with all rows up to n m²
    of 1e9. ``refit`` does the same from the present hyperparameters. A callable ``optimizer``
    starts at the given kernels, with the bound of all rows. The order of the rows does not matter.

    A `ModelWarning` reports too few points: more than 3 % of the variance of y is noise under the
    bound, but not in exact regression.

    ``partial_fit`` and ``forget`` cost O(m²) a row and O(m³) a call; with a ``noise_model`` all
    rows are summed again. Points chosen by the regressor are replaced if they explain new rows
    poorly.
    ``log_marginal_likelihood``, ``log_marginal_likelihood_value_``, ``kl_divergence`` and
    ``relevancy`` are those of the exact regressor, at its cost.

    References
    ----------
    M. Titsias, "Variational Learning of Inducing Variables in Sparse Gaussian Processes", AISTATS
    2009. E. Mauduit, E. Berthier, A. Simonetto (SparQ), proposition 5 and algorithms 2-3. D. Burt,
    C. Rasmussen, M. van der Wilk, "Convergence of Sparse Variational Inference in Gaussian
    Processes Regression", JMLR 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=3000), np.linspace(0.0, 10.0, 3000)])
    >>> y = np.sin(6.0 * X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=3000)
    >>> gp = SparseTimeVaryingGPRegressor(n_inducing=60, inducing="greedy").fit(X, y)
    >>> bool(gp.score(X, y) > 0.97)
    True
    """

    _: KW_ONLY
    n_inducing: int | str = "auto"
    inducing: str | ArrayLike = "kdpp"

    def check(self) -> None:
        super().check()
        if not (isinstance(self.n_inducing, str) and self.n_inducing == "auto"):
            try:
                check_int(self.n_inducing, "n_inducing", self)
            except ValueError:
                expected = "'auto' or an int in the range [1, inf)"
                raise invalid("n_inducing", expected, self.n_inducing, self) from None
        if isinstance(self.inducing, str):
            check_choice(self.inducing, METHODS, "inducing", self)

    def _choose_conditioning(self, covariance, rows):
        return Inducing, self._choose_points(covariance, rows, plain_number(self.n_inducing))

    def _choose_points(self, covariance, rows, m):
        """Return m inducing points (m, d + 1), in the units of X; m may be "auto"."""
        if not isinstance(self.inducing, str):
            return columns_like_fit(self, self.inducing, "inducing", owner=self)
        rng = check_random_state(self.random_state)
        return choose(self.inducing, covariance, rows, m, rng)

    def _learn_one(self, rows, start=None, record=None, *, initial=None, warn=False):
        return (yield partial(self._learn_with_points, rows, start, initial, warn))

    def _learn_with_points(self, rows, start, covariance, warn):
        """Fit a subset exactly, choose the points, and maximize the bound.

        With uninformative points and a start at little noise, the trace term of the bound drives a
        search to pure noise. So an exact fit learns the hyperparameters for the choice of points,
        and the noise is raised by the variance that the points leave unresolved.
        """
        rng, auto = check_random_state(self.random_state), isinstance(self.n_inducing, str)
        if covariance is None:
            covariance = self._initial_covariance(rows, follow_data=self.optimizer is not None)
        learns = self._can_learn_from(rows)
        rows = rows.with_held_scale() if learns else rows
        if start is not None:
            covariance = covariance.with_theta(np.clip(start, *covariance.bounds.T))
        if not learns:
            gp, exact = self._condition(covariance, rows), covariance
        elif callable(self.optimizer):
            _, Z = self._choose_conditioning(covariance, rows)
            options = self._search_options | {"warn": warn}
            exact, criterion = covariance, Inducing.criterion(rows, Z)
            covariance, _, _ = completed(search(criterion, exact, **options))
            gp = Inducing.of(covariance, rows, Z)
        else:
            exact, known = learn_from_subset(covariance, rows, self._search_options, rng)
            before = None if start is None else covariance.theta
            gp = self._bounded(exact, before, rows, known, rng, warn)
        if warn:
            advise_on_points(gp, exact.noise_variance, auto)
        return gp, SearchRecord(n=rows.n if learns else 0)

    def _bounded(self, exact, before, rows, known, rng, warn):
        """Choose points for the result of an exact fit, and maximize the bound.

        Points are chosen again for the hyperparameters that maximize it, and the search is
        completed with the better ones.

        Parameters
        ----------
        exact : SeparableCovariance
        before : ndarray of shape (n_theta,), or None
            Earlier result, for fewer rows.
        rows : Rows
        known : SearchRecord
            Of the exact fit.
        rng : RandomState
        warn : bool
        """
        options = self._search_options
        _, Z = self._choose_conditioning(exact, rows)
        part = random_subset(rows, max(_MAX_WORK / len(Z) ** 2, _ROWS_A_POINT * len(Z)), rng)
        starts = _starts_of_bound(exact, before, part, Z, options["hyperpriors"], rng)
        hessian = known.scaled_to(part.n)
        first = options | {"warn": warn, "hessian": hessian}
        learnt, hessian, _ = completed(search(Inducing.criterion(part, Z), exact, starts, **first))
        gp = Inducing.of(learnt, part, Z)
        if isinstance(self.inducing, str):
            again = Inducing.of(learnt, part, self._choose_points(learnt, rows, len(Z)))
            gp = max(gp, again, key=lambda gp: gp.objective)
        whole = rows if rows.n * len(Z) ** 2 <= _MAX_WORK_AGAIN else part
        if whole is not part or gp.Z is not Z:
            criterion = Inducing.criterion(whole, gp.Z)
            scaled = None if hessian is None else hessian * (whole.n / part.n)
            again = options | {"n_restarts": 0, "hessian": scaled}
            learnt, _, _ = completed(search(criterion, learnt, learnt.theta, **again))
        return gp if learnt is gp.covariance and part is rows else Inducing.of(learnt, rows, gp.Z)

    def _adapt_to_rows(self, gp, n_new):
        """Choose other points if the present ones explain the new rows poorly."""
        if n_new and isinstance(self.inducing, str) and not gp.covers(n_new, _TOLERANCE):
            return self._condition(gp.covariance, gp.rows)
        return gp

    def _exact(self):
        return Dense.of(self._fitted.covariance, self._fitted.rows)

    # --- bound ------------------------------------------------------------------------------------

    @property
    def inducing_points_(self) -> Array:
        return read_only(self._fitted.Z)

    @property
    def elbo_(self) -> float:
        return self._fitted.objective

    @overload
    def elbo(
        self, theta: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> float: ...
    @overload
    def elbo(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> tuple[float, Array]: ...
    def elbo(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> float | tuple[float, Array]:
        """Return Titsias' lower bound of the log marginal likelihood, with the present points.

        Parameters
        ----------
        theta : array-like of shape (n_theta,), default=None
            Logarithms of the hyperparameters, in the order of ``theta_``; None is ``theta_``.
        eval_gradient : bool, default=False
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_theta,)
            Only with ``eval_gradient``.
        """
        gp = self._fitted
        if theta is None and not eval_gradient:
            return self.elbo_
        covariance = gp.covariance if theta is None else gp.covariance.with_theta(theta)
        value, gradient = bound(covariance, gp.rows, gp.Z, eval_gradient)
        return (value, gradient) if eval_gradient else value

    def kl_divergence(self) -> float:
        """Return the divergence KL[sparse ‖ exact] of the posteriors, log p(y) − ELBO ≥ 0; O(n³).

        Returns
        -------
        divergence : float
        """
        return self.log_marginal_likelihood_value_ - self.elbo_
