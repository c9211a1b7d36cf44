"""Sparse Gaussian process regression on space and time."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from operator import attrgetter
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
    Objective,
    Screening,
    SearchRecord,
    cells_of_bound,
    learn_from_subset,
    random_subset,
    scaled,
    search,
    with_added_noise,
)
from ._inducing_posterior import Inducing, bound
from ._linear_mean import LinearMean
from ._quasi_newton import completed, minimize
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
    some = random_subset(rows, _MAX_ROWS, rng)
    distinct, _ = distinct_rows(some.X)
    if rows.layout.outside:
        distinct = some.X[distinct_rows(np.column_stack(rows.layout.split(some.X)))[1]]
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
    return layout.points(centres[:, :-1], centres[:, -1])


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

# Starts are compared with at most this many points, and rows of this n m²; cells of a grid with the
# third number of rows. The searches end when their model predicts a smaller gain in nats.
_M_COMPARED, _WORK_COMPARED, _N_COMPARED, _COMPARED_GAIN = 150, 1e7, 250, 0.01

# Choose other points if the variance of f at new rows given the points exceeds this part of the
# noise variance.
_TOLERANCE = 0.2


def _start_of_bound(exact, before, rows, Z, known, hyperpriors, rng):
    """Return the start of a maximization of the bound, with a Hessian there, or None.

    Searches with fewer rows and points, if these are many, begin at the exact result, at an earlier
    one, and at the likeliest of the `cells_of_bound`. The noise includes the variance that the
    points leave unresolved.

    Parameters
    ----------
    exact : SeparableCovariance
    before : ndarray of shape (n_theta,), or None
    rows : Rows
    Z : ndarray of shape (m, d + 1)
    known : SearchRecord
        Record of the exact fit.
    hyperpriors : dict of str to frozen scipy.stats distribution, or None
    rng : RandomState
    """
    if not len(exact.theta):
        return exact.theta, None
    points = _at_most(Z, _M_COMPARED, rng)
    part = random_subset(rows, max(_WORK_COMPARED / len(points) ** 2, _N_COMPARED), rng)
    few = random_subset(part, _N_COMPARED, rng)

    def raised(theta):
        covariance = exact.with_theta(theta)
        try:
            return with_added_noise(covariance, Inducing.of(covariance, few, points).unresolved)
        except NotPositiveDefiniteError:
            return theta  # the bound is minus infinity there

    objective = Objective(Inducing.criterion(few, points), exact, hyperpriors)
    starts = [raised(exact.theta), *([] if before is None else [before])]
    for cells in cells_of_bound(exact, rows):
        cells = [raised(theta) for theta in cells]
        starts.append(cells[np.argmin([objective.value(theta, False) for theta in cells])])
    objective = Objective(Inducing.criterion(part, points), exact, hyperpriors)
    functions = objective.value, objective.slope
    searches = [
        minimize(*functions, start, objective.bounds, least_gain=_COMPARED_GAIN) for start in starts
    ]
    found = sorted(map(completed, searches), key=attrgetter("value"))
    results = [(result.x, scaled(result.hessian, rows.n / part.n)) for result in found]
    if len(points) < len(Z):  # variance that all points explain may be noise to a part of them
        objective = Objective(Inducing.criterion(rows, Z), exact, hyperpriors)
        results.append((exact.theta, known.scaled_to(rows.n)))
        results.sort(key=lambda result: objective.value(result[0], False))
    return results[0]


def _n_searched(m):
    """Return the number of rows of a search with m points."""
    return max(_MAX_WORK / m**2, _ROWS_A_POINT * m)


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
    prior_mean : LinearMean, default=None
        Prior mean of f, added to the constant mean. None: 0.
    n_inducing : int or "auto", default="auto"
        Number m of inducing points, at most the number of distinct rows. "auto" doubles 50 points
        while the bound grows by more than 0.05 nats a row, up to 400.
    inducing : "kdpp", "greedy", "kmeans" or array-like of shape (m, d + 1), default="kdpp"
        Choice of the points: a k-DPP sample (from a uniform subset of 2,000 rows), the rows of
        greatest determinant (of at most 20,000), cluster centres, or the points themselves. Columns
        of a data frame are matched by name, and dates are accepted, as in X. Values in columns
        outside of the kernel do not matter.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness of the choice of the inducing points, and of the restarts.

    Attributes
    ----------
    inducing_points_ : ndarray of shape (m, d + 1)
        Inducing points, in the units of X.
    elbo_ : float
        Bound at ``theta_``.

    Notes
    -----
    A fit learns hyperparameters by exact regression on 500 rows. It chooses the points, and
    searches the bound from there, from a typical and from a smooth function: a bound of a few
    points has optima of its own. These searches use at most 150 points and rows of n m² = 1e7. The
    best one is completed; if n m² is above 2e8, with a uniform subset of 6 m or more rows. The fit
    chooses points again, takes the larger bound, and completes the search, with all rows up to n m²
    of 1e9. The order of the rows does not matter.

    ``refit`` searches from the present hyperparameters, with the present points while they explain
    new rows. When as many rows are new as there were, or they contradict the model, it does the
    same as a fit. A callable ``optimizer`` starts at the given kernels, with the bound of all rows.

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

    _prior_means = (LinearMean,)

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
        return (yield partial(self._learn_with_points, rows, start, record, initial, warn))

    def _learn_with_points(self, rows, start, record, covariance, warn):
        """Choose the points and maximize the bound: see `_screened`, `_continued`."""
        if covariance is None:
            covariance = self._initial_covariance(rows, follow_data=self.optimizer is not None)
        if start is not None:
            covariance = covariance.with_theta(np.clip(start, *covariance.bounds.T))
        noise_variance, known = covariance.noise_variance, SearchRecord()
        if not self._can_learn_from(rows):
            gp = self._condition(covariance, rows)
        elif record is not None or callable(self.optimizer):
            gp, known = self._continued(rows.with_held_scale(), covariance, record, warn)
        else:
            result = self._screened(rows.with_held_scale(), covariance, None, warn)
            gp, hessian, noise_variance = result
            screening = Screening(rows.n)
            known = SearchRecord(hessian, rows.n, rows.latest, screening, points=gp.Z)
        if warn:
            advise_on_points(gp, noise_variance, isinstance(self.n_inducing, str))
        return gp, known

    def _continued(self, rows, covariance, record, warn):
        """Maximize the bound from the covariance, and return the result with its record.

        A fit from several starts follows if it is due. A search by a callable uses all rows.
        """
        n, n_theta, is_due = rows.n, len(covariance.theta), False
        Z = self._points_of(record, covariance, rows)
        part, hessian, screening = rows, None, Screening(n)
        if not callable(self.optimizer) and n * len(Z) ** 2 > _MAX_WORK_AGAIN:
            part = random_subset(rows, _n_searched(len(Z)), check_random_state(self.random_state))
        if record is not None:
            hessian = scaled(record.hessian_for(n_theta, n), part.n / n)
        options = self._search_options | {"warn": warn, "hessian": hessian}
        learnt, hessian, gain = completed(
            search(Inducing.criterion(part, Z), covariance, **options)
        )
        gp, hessian = Inducing.of(learnt, rows, Z), scaled(hessian, n / part.n)
        if record is not None:
            known = record.points
            if known is not None and Z is not known and len(Z) <= len(known):
                gain = 0.0  # other points change the bound, also where no row contradicts the model
            screening, is_due = record.screening.after(n, record.n_new(rows), gain, n_theta)
        if is_due and not callable(self.optimizer):
            other, hessian_there, _ = self._screened(rows, learnt, learnt.theta, warn)
            if other.objective > gp.objective:
                gp, hessian = other, hessian_there
        return gp, SearchRecord(hessian, n, rows.latest, screening, points=gp.Z)

    def _points_of(self, record, covariance, rows):
        """Return the points of an earlier search if they explain the new rows, or else others."""
        m = plain_number(self.n_inducing)
        if record is None or record.points is None:
            return self._choose_points(covariance, rows, m)
        Z, n_new = record.points, record.n_new(rows)
        if len(Z) < (_FIRST if m == "auto" else m) or n_new >= rows.n:
            return self._choose_points(covariance, rows, m)
        if n_new == 0 or Inducing.of(covariance, rows, Z).covers(n_new, _TOLERANCE):
            return Z
        return self._choose_points(covariance, rows, m)

    def _screened(self, rows, covariance, before, warn):
        """Fit a subset exactly, choose points for the result, and maximize the bound.

        With uninformative points and a start at little noise, the trace term of the bound drives a
        search to pure noise. So an exact fit learns the hyperparameters for the choice of points,
        and the noise is raised by the variance that the points leave unresolved. Points are chosen
        again for the hyperparameters that maximize the bound, and the search is completed with the
        better ones.

        Parameters
        ----------
        rows : Rows
        covariance : SeparableCovariance
        before : ndarray of shape (n_theta,), or None
            Result of an earlier search.
        warn : bool

        Returns
        -------
        gp : Inducing
        hessian : ndarray of shape (n_theta, n_theta), or None
        noise_variance : float
            Of the exact fit.
        """
        options, rng = self._search_options, check_random_state(self.random_state)
        exact, known = learn_from_subset(covariance, rows, options, rng)
        _, Z = self._choose_conditioning(exact, rows)
        part = random_subset(rows, _n_searched(len(Z)), rng)
        start, hessian = _start_of_bound(exact, before, part, Z, known, self.hyperpriors, rng)
        first = options | {"warn": warn, "hessian": hessian}
        learnt, hessian, _ = completed(search(Inducing.criterion(part, Z), exact, start, **first))
        gp = Inducing.of(learnt, part, Z)
        if isinstance(self.inducing, str):
            again = Inducing.of(learnt, part, self._choose_points(learnt, rows, len(Z)))
            gp = max(gp, again, key=lambda gp: gp.objective)
        whole = rows if rows.n * len(Z) ** 2 <= _MAX_WORK_AGAIN else part
        if whole is not part or gp.Z is not Z:
            again = options | {"n_restarts": 0, "hessian": scaled(hessian, whole.n / part.n)}
            criterion = Inducing.criterion(whole, gp.Z)
            learnt, hessian, _ = completed(search(criterion, learnt, **again))
        if learnt is not gp.covariance or part is not rows:
            gp = Inducing.of(learnt, rows, gp.Z)
        return gp, scaled(hessian, rows.n / whole.n), exact.noise_variance

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
