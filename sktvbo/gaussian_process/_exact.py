"""Exact Gaussian process regression on space and time."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from .._validation import check_choice, finite_array, invalid
from ..exceptions import UnsupportedKernelError
from ._base import TimeVaryingGP, estimator
from ._conditioned import Dense
from ._filter import Filter, Sites, distinct, has_white
from ._markov import state_space
from ._prior_mean import QuadraticMean

# The solvers; "auto" is one of the others.
_SOLVERS = ("auto", "dense", "kalman")

# "auto" takes the filter from this many rows on, if they are this many times the size of its state:
# then an evaluation of the likelihood is faster (benchmarks/speed/kalman.py crossover).
_MIN_ROWS, _ROWS_A_STATE = 256, 6.0

# Where the posterior is wanted at given sites and the hyperparameters are held it takes it sooner:
# the Cholesky factor takes O(n²) for each of them.
_MIN_ROWS_HELD, _ROWS_A_STATE_HELD = 64, 1.0 / 16.0

# It never takes it where the covariance of the state, and the one before, would fill the memory.
_MAX_STATE = 6000


@estimator
class TimeVaryingGPRegressor(TimeVaryingGP):
    """Gaussian process regression of a function of space that changes with time.

    f is a Gaussian process with a constant mean and covariance λ k_S(x, x') k_T(t, t'), observed
    with Gaussian noise of variance σ² (W-DBO assumption 3.2). λ, σ² and the hyperparameters of the
    kernels maximize the marginal likelihood. Rows are appended and dropped in O(n²), and every row
    has a relevancy to predictions of the future.

    Parameters
    ----------
    spatial_kernel : Kernel, default=None
        scikit-learn kernel of the spatial columns. None is ``Matern(nu=2.5)``, whose start and
        bounds follow the data's extent (1.0 when ``optimizer=None``). The lengthscales of several
        columns are in proportion to their extents, with one hyperparameter: the largest. A
        lengthscale of its own for each column needs more data, and is given by
        ``Matern(length_scale=[...], nu=2.5)``.
    temporal_kernel : Kernel, default=None
        scikit-learn kernel of the time column. None is ``Matern(nu=1.5)``, whose lengthscale is
        bounded below by the median interval between the data's times and above by ten times their
        span (1.0 when ``optimizer=None``). ``ConstantKernel(1.0, "fixed")`` makes a static model.
    signal_variance : float, default=1.0
        λ, in units of y² (after normalization, if any).
    signal_variance_bounds : pair of floats or "fixed", default=(1e-3, 1e3)
    noise_variance : float, default=1e-2
        σ², in units of y² (after normalization, if any).
    noise_variance_bounds : pair of floats or "fixed", default=(1e-6, 1e1)
    noise_model : NoiseModel, default=None
        How the noise of an observation grows with its age, counted from ``now_``, such as
        `QuadraticInjection` or `GeometricInjection`; None: it does not.
    time_column : int or str, default=-1
        Position of time among the columns of X, or its name when X is a data frame.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Search of the hyperparameters. Under scikit-learn's name, a quasi-Newton method within the
        bounds, which keeps its Hessian for the next search from there (`updated`). From 64 rows on,
        `fit` starts it at the kernels' lengthscales or, where these are likelier, at others from
        the rows' spacing to their extent. A callable is
        scikit-learn's: ``optimizer(obj_func, initial_theta, bounds) -> theta_opt, func_min``, with
        ``obj_func(theta, eval_gradient=True)`` minus the log marginal likelihood. None keeps the
        values given.
    n_restarts_optimizer : int, default=0
        Further searches, from starts drawn log-uniformly within the bounds.
    hyperpriors : dict of str to frozen scipy.stats distribution, default=None
        Priors of hyperparameters in their natural units, for maximum a posteriori fits: e.g.
        ``{"spatial_kernel__length_scale": scipy.stats.gamma(3, scale=0.1)}``. Names are those of
        ``set_params``; ``signal_variance``, ``noise_variance`` and ``noise_model__...`` likewise.
    normalize_y : bool, default=False
        Standardize y before fitting; predictions come back in y's own units. `partial_fit` and
        `forget` hold location and scale with the hyperparameters, so that none of these, nor an
        interval, changes in the units of y because of the new rows' spread. A constant y has no
        scale: nothing is learnt from it, and the scale is that of the first rows that have one.
    mean_prior_std : float, default=0.0
        Standard deviation τ of the Gaussian prior of a constant mean of y, in units of y (after
        normalization, if any), which is learnt with everything else. 0 is a known mean of 0;
        ``np.inf`` is a flat prior, which makes this generalized least squares.
    time_unit : {"ns", "us", "ms", "s", "min", "h", "D", "W"}, default="s"
        Unit of the numbers that dates and durations become, in columns of X and for single times.
        Dates count from 1970; those without a time zone are taken as if in UTC. Lengthscales of
        ``temporal_kernel``, and their bounds, may be durations, such as ``pandas.Timedelta``. Times
        that are numbers stay as they are.
    warn : bool, default=True
        Whether `fit` warns where the model does not suit the data, with the remedy; see there.
    random_state : int, RandomState or None, default=None
        For the restarts.
    solver : "auto", "dense" or "kalman", default="auto"
        How the rows are conditioned on. The results are the same. "dense" is the Cholesky factor,
        for any kernel. "kalman" is a Kalman filter over the places that were observed, for Markov
        kernels in time: `~sktvbo.kernels.Forgetting`, Matérn 1/2, 3/2, 5/2 (M places have a state
        of N = M, 2 M, 3 M numbers), `~sktvbo.kernels.Wiener` and a fixed constant, without
        ``noise_model``, ``prior_mean`` or a WhiteKernel in space. "auto" takes the filter where it
        is possible and faster: from 256 rows on if there are 6 N of them; with ``sites``, and the
        hyperparameters held, from 64 on if there are N / 16.
    prior_mean : QuadraticMean, default=None
        Prior mean of f over the unit box, added to the constant mean; None: the same everywhere.
    sites : array-like of shape (M, d), default=None
        Distinct places at which the posterior will be wanted, observed or not: the filter keeps it
        there. None: those of the data.

    Attributes
    ----------
    X_train_ : ndarray of shape (n, d + 1)
        Training inputs.
    y_train_ : ndarray of shape (n,)
        Training targets, in the units given.
    spatial_kernel_, temporal_kernel_ : Kernel
        Kernels with the learnt hyperparameters; ``spatial_kernel_`` is None when time is alone.
    prior_mean_ : QuadraticMean or None
        The prior mean in use; None where it is used only if likelier, and is not.
    signal_variance_, noise_variance_ : float
        Learnt λ and σ².
    mean_ : float
        Posterior mean of the constant mean, in the units of y.
    noise_std_ : float
        σ in the units of y, of an observation without age.
    noise_model_ : noise model or None
        With the learnt hyperparameter.
    now_ : float
        Present time, from which ages count: the latest training time unless ``advance`` moved it.
    theta_ : ndarray of shape (n_theta,)
        Logarithms of signal variance, spatial, temporal and noise hyperparameters (noise variance,
        then noise model); fixed ones are left out.
    log_marginal_likelihood_value_ : float
        At ``theta_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had names.
    time_kinds_ : dict of int to str
        Columns of X that held dates or durations at `fit`, by position, and of which kind: times of
        another kind are refused later.

    Notes
    -----
    RBF, Matérn 1/2, 3/2 and 5/2 (one lengthscale, or one per dimension),
    `~sktvbo.kernels.Forgetting` and fixed constants run through compiled code; any other kernel
    through its own ``__call__``, slower. A ``WhiteKernel`` is what it is in scikit-learn: each row
    has its own noise of that variance, at whatever place, and predictions have it in their standard
    deviation.

    With the Kalman solver a likelihood takes O(n N²), `partial_fit` O(N²) a row whatever n, with
    O(N³) once for a place that is new. Predictions from the latest time on take O(1) at one of the
    sites; those of the past O(n N²) and O(N²) a place (a smoother). A row that is late, by no more
    than the latest 32, is put in its place exactly, at the price of those after it; a later one,
    and `forget`, condition afresh. `relevancy` is dense, O(n³). Memory grows by the rows.

    References
    ----------
    J. Hartikainen, S. Särkkä, "Kalman Filtering and Smoothing Solutions to Temporal Gaussian
    Process Regression Models", MLSP 2010 (the filter; the smoother is Bryson's and Frazier's).

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=60), np.arange(60)])   # place, time
    >>> y = np.sin(6 * X[:, 0] + 0.1 * X[:, 1]) + 0.05 * rng.normal(size=60)
    >>> gp = TimeVaryingGPRegressor().fit(X, y)
    >>> mean, std = gp.predict([[0.5, 60.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(9.0)) < 3 * std[0] < 0.5)
    True

    A stream of 20,000 rows at two places, each row in constant time:

    >>> from sktvbo.kernels import Forgetting
    >>> t = np.arange(20_000.0)
    >>> X = np.column_stack([t % 2.0, t])
    >>> y = np.sin(0.01 * t) + 0.1 * rng.normal(size=len(t))
    >>> stream = TimeVaryingGPRegressor(
    ...     temporal_kernel=Forgetting(0.01), solver="kalman", optimizer=None
    ... ).fit(X[:-1], y[:-1]).partial_fit(X[-1:], y[-1:])
    >>> bool(abs(stream.predict([[0.0, 20_000.0]])[0] - np.sin(200.0)) < 0.3)
    True
    """

    _: KW_ONLY
    solver: str = "auto"
    prior_mean: QuadraticMean | None = None
    sites: np.ndarray | None = None

    _kind = Dense

    def _check_parameters(self):
        super()._check_parameters()
        check_choice(self.solver, _SOLVERS, "solver", self)
        if self.prior_mean is not None:
            if not isinstance(self.prior_mean, QuadraticMean):
                raise invalid("prior_mean", "a QuadraticMean or None", self.prior_mean, self)
            self.prior_mean.check()
        if self.sites is not None:
            sites = finite_array(self.sites, "sites", ("m", "d"))
            if len(distinct(sites)) < len(sites):
                raise invalid("sites", "distinct places", self.sites, self)

    @property
    def prior_mean_(self) -> QuadraticMean | None:
        return None if self._fitted.rows.prior_mean is None else self.prior_mean

    def _choose_basis(self, covariance, rows):
        return ()

    def _choose_kind(self, covariance, rows):
        if self.solver == "kalman":
            self._check_kalman(covariance, rows)
            return Filter, self._sites(rows)
        if self.solver == "auto" and self._kalman_pays(covariance, rows):
            return Filter, self._sites(rows), True
        return super()._choose_kind(covariance, rows)

    def _suited(self, gp, n_new):
        if self.solver != "auto":
            return gp
        sites = gp.sites if isinstance(gp, Filter) else None
        least = (_MIN_ROWS, _ROWS_A_STATE)
        if self.sites is not None:
            least = (_MIN_ROWS_HELD, _ROWS_A_STATE_HELD)
        if not self._kalman_pays(gp.covariance, gp.rows, sites, *least):
            return Dense.of(gp.covariance, gp.rows) if isinstance(gp, Filter) else gp
        if isinstance(gp, Filter):
            return gp
        return Filter.of(gp.covariance, gp.rows, self._sites(gp.rows), True)

    def _kalman_pays(
        self, covariance, rows, sites=None, min_rows=_MIN_ROWS, rows_a_state=_ROWS_A_STATE
    ):
        """Whether the filter is possible, and faster than the Cholesky factor."""
        if rows.n < min_rows or self._kind is not Dense:
            return False
        if covariance.noise_model is not None or self.prior_mean is not None:
            return False
        process = state_space(covariance.temporal)
        if process is None:
            return False
        most = min(rows.n / rows_a_state, _MAX_STATE) / process.order
        if sites is not None:
            return len(sites) <= most
        places = distinct(rows.S) if self.sites is None else self.sites
        return len(places) <= most and not has_white(covariance, rows.S)

    def _check_kalman(self, covariance, rows):
        """Raise unless a Kalman filter does what the parameters ask for."""
        if self._kind is not Dense:
            raise invalid("solver", "'auto' or 'dense'", self.solver, self)
        if self.noise_model is not None:
            expected = "None with solver='kalman', as noise that grows with age has no filter"
            raise invalid("noise_model", expected, self.noise_model, self)
        if self.prior_mean is not None:
            expected = "None with solver='kalman', whose filter knows places by their names only"
            raise invalid("prior_mean", expected, self.prior_mean, self)
        if state_space(covariance.temporal) is None:
            raise UnsupportedKernelError(
                f"The temporal kernel {covariance.temporal} has no Kalman filter. Supported are "
                "Forgetting, Wiener, Matern with nu in (0.5, 1.5, 2.5), and "
                "ConstantKernel(1.0, 'fixed'); solver='dense' takes any."
            )
        if has_white(covariance, rows.S):
            raise UnsupportedKernelError(
                f"The spatial kernel {covariance.spatial} has no Kalman filter: a WhiteKernel is "
                "of each observation, not of a place. Use noise_variance for it, or solver='dense'."
            )

    def _sites(self, rows):
        """The sites given, and those of the rows."""
        d = rows.S.shape[1]
        if self.sites is None:
            return Sites(distinct(rows.S))
        return Sites(finite_array(self.sites, "sites", ("m", d))).with_those_of(rows.S)

    def _dense(self):
        gp = self._fitted
        return Dense.of(gp.covariance, gp.rows) if isinstance(gp, Filter) else gp

    def _exact(self):
        return self._fitted
