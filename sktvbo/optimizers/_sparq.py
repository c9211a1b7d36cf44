"""SparQ-GP-UCB, which asks an expert for present values at earlier inputs."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.lapack import dpstrf
from sklearn.utils.random import sample_without_replacement

from .._tables import in_memory
from .._validation import LARGEST_Y, check_real, finite_array, invalid
from .._values import distinct_rows, replaced
from .._warnings import step
from ..acquisition import InformationGainBeta
from ..dpp import sample_kdpp
from ..exceptions import AskTellError, InvalidObservationError
from ..gaussian_process import QuadraticInjection
from ..staleness import NoiseThreshold
from ._ask_tell import absent, algorithm
from ._base import BayesianOptimizer
from ._default_models import static_surrogate
from ._models import objective, search_is_due
from ._state import Model, SearchState, too_few
from ._suggest import copied

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._typing import Array, Points, PointsLike, Time

# Inputs to ask about per unit of log t, for n_queries="log" (SparQ section 4.1).
_QUERIES_PER_LOG = 6.0

# Probability that the confidence bound fails (SparQ section 4.1).
_DELTA = 0.05

# Largest number of queries from which a k-DPP is drawn: bounds its cost. More are first sampled
# uniformly.
_MAX_INPUTS = 2000


@algorithm
class SparQGPUCB(BayesianOptimizer):
    """SparQ-GP-UCB (Mauduit et al., SparQ algorithm 1): sparse queries of an expert.

    1. Observe y at x; observations of age a have noise variance σ² (1 + a²) (eq. 10).
    2. Drop observations with a noise variance above g = σ² log t.
    3. Draw Q = 6 log t of all queried inputs from a k-DPP, and ask an expert for the present values
       there.
    4. Condition a Gaussian process of space alone on the remaining observations and on the expert's
       answers.
    5. Query where μ + β σ is largest, with β = B + √(2 (γ + log(2/δ))). UCB discounts σ near the
       faces of a box: see the ``margin`` of `~sktvbo.acquisition.UCB`. Then drop the expert's
       answers.

    Without an expert (``ask_expert`` and ``tell_expert``) only the last few observations remain.
    ``recommend`` and ``predict`` use the same answers: consult the expert before them as well.

    When to use it: a few inputs can be looked up at each step, as with sensors, simulations or
    cached evaluations. The average regret then vanishes for any change of the function. When not:
    each look-up costs as much as a query.

    Parameters
    ----------
    n_queries : "log", int or callable, default="log"
        Q. "log": 6 log t, rounded up. A callable receives the number t of observations so far. The
        regret bound is for c log^d t.
    noise_cap : "log", float or callable, default="log"
        g in units of σ², see `~sktvbo.staleness.NoiseThreshold`.
    expert_noise_variance : float, default=None
        Variance of the expert's answers, in units of y². None: that of observations.

    Attributes
    ----------
    policy_ : NoiseThreshold
    expert_X_ : ndarray of shape (q, d + 1)
        Inputs and time of the expert's answers for the next query.
    expert_y_ : ndarray of shape (q,)
        Answers there.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    Ages are in the user's unit of time, in the paper in steps. With a clock in seconds, give a
    surrogate with another ``QuadraticInjection(rate)``. When the expert has answered,
    hyperparameters are searched from the answers and the remaining observations; otherwise as for
    the other optimizers.

    References
    ----------
    E. Mauduit, E. Berthier, A. Simonetto, "Time-varying Gaussian Process Bandit Optimization with
    Experts: no-regret in logarithmically-many side queries".

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import SparQGPUCB
    >>> def f(X, t):
    ...     return -(X[:, 0] - 5.0 - 3.0 * np.sin(0.2 * t)) ** 2
    >>> opt = SparQGPUCB([(0.0, 10.0)], n_initial_points=8, clock="step", random_state=0)
    >>> for t in range(40):
    ...     X = opt.ask_expert()
    ...     opt.tell_expert(X, f(X, t))
    ...     x = opt.ask()
    ...     opt.tell(x, f(x[np.newaxis], t)[0])
    >>> X = opt.ask_expert()
    >>> opt.tell_expert(X, f(X, 40))
    >>> bool(abs(opt.recommend()[0] - 5.0 - 3.0 * np.sin(8.0)) < 0.5)
    True
    """

    n_queries: object = "log"
    noise_cap: object = "log"
    expert_noise_variance: float | None = None
    policy: None = absent()

    label = "SparQ-GP-UCB"

    _asks_expert = True

    # The surrogate has no kernel in time, and its noise grows with age: it weighs no outliers.
    seasonal_periods: None = absent()
    robust: bool = absent(False)

    def _make_surrogate(self, times):
        return static_surrogate(times, noise_model=QuadraticInjection())

    def _make_beta(self):
        return InformationGainBeta(delta=_DELTA, constant=np.log(2.0))

    def _make_policy(self):
        return NoiseThreshold(self.noise_cap)

    def _check_parameters(self):
        super()._check_parameters()
        variance = self.expert_noise_variance
        if variance is not None:
            check_real(variance, "expert_noise_variance", self, interval="(0, inf)")
        if not callable(self.n_queries):
            _n_queries_at(1, self.n_queries)

    @step
    def ask_expert(self, t: Time | None = None) -> Points:
        """Return the inputs to ask the expert about, before ``ask``.

        Parameters
        ----------
        t : float or date, default=None
            Present time; None reads the clock. It may not be before an earlier time.

        Returns
        -------
        X : ndarray of shape (q, d), or a list of dicts
            Empty before there is a surrogate; fewer than ``n_queries`` if there are fewer different
            inputs.
        """
        with self._lock:
            run = self._run_or_new()
            _check_no_context(run.domain, "ask_expert()")
            t, timed = run.read_present_time(t)
            after, rows = _ask_expert(timed, t)
            X = run.domain.decode_all(rows)
            self._take(run, after, "ask_expert", t=t, x=rows.tolist())
        return X

    @step
    def tell_expert(self, X: PointsLike, y: ArrayLike, t: Time | None = None) -> None:
        """Add the expert's answers, for the next query alone.

        Parameters
        ----------
        X : array-like of shape (q, d), or a list of dicts
            Inputs of ``ask_expert``, or others.
        y : array-like of shape (q,)
            Present values of the function there.
        t : float or date, default=None
            Time of the answers; None is that of ``ask_expert``.

        Raises
        ------
        ValueError
            Points outside of the domain, NaN, wrong shapes. The optimizer is unchanged.
        AskTellError
            ``ask_expert`` was not called and no t is given, or there is no surrogate yet.
        """
        with self._lock:
            before = run = self._run_or_new()
            _check_no_context(run.domain, "tell_expert()")
            if t is None and run.part("expert").asked_at is None:
                raise invalid(
                    "t",
                    "given unless ask_expert() was called before",
                    None,
                    advice="Give the time of the answers: tell_expert(X, y, t).",
                    error=AskTellError,
                )
            if t is None:
                t = run.part("expert").asked_at
            else:
                t, run = run.read_present_time(t)
            X = in_memory(X)
            if np.size(X) == np.size(y) == 0:
                return
            X = run.domain.validate_points(X)
            y = finite_array(y, "y", (len(X),), InvalidObservationError, LARGEST_Y)
            if run.surrogate is None:
                raise too_few("tell_expert()", run, run.config.n_initial)
            after = _tell_expert(run, X, y, t)
            self._take(before, after, "tell_expert", t=t, x=X.tolist(), y=y.tolist())

    @property
    def expert_X_(self) -> Array:
        return self._current().part("expert").X.copy()

    @property
    def expert_y_(self) -> Array:
        return self._current().part("expert").y.copy()


def _n_queries_at(t, n_queries):
    """Return the number Q of inputs to ask about after t observations."""
    count = n_queries
    if isinstance(count, str) and count == "log":
        count = int(np.ceil(_QUERIES_PER_LOG * np.log(t)))
    elif callable(count):
        count = count(t)
    if not isinstance(count, Integral) or count < 0:
        expected = "'log', an int in the range [0, inf), or a callable that returns one"
        raise invalid("n_queries", expected, count, SparQGPUCB)
    return int(count)


def _check_no_context(domain, caller):
    """Raise an AskTellError for a domain with a context."""
    if domain.n_chosen < domain.n_dims:
        raise invalid(
            f"The domain of {caller}",
            "one without a context",
            domain,
            advice="An expert is asked about inputs alone, without contexts.",
            error=AskTellError,
        )


def _ask_expert(run, t):
    """Return the run at time t, and the rows (q, d) to ask about."""
    rng, rows = copied(run.rng), np.empty((0, run.domain.n_dims))
    if run.surrogate is not None:
        rows = _sample_inputs(run, rng)
    run = run.with_part(replaced(run.part("expert"), asked_at=t))
    return replaced(run, rng=rng, time=replaced(run.time, now=t)), rows


def _sample_inputs(run, rng):
    """Draw different inputs (q, d) of all queries from a k-DPP."""
    domain, entries = run.domain, run.history.entries
    count = _n_queries_at(run.history.n_told, run.algorithm.n_queries)
    if len(entries) > _MAX_INPUTS:
        chosen = sample_without_replacement(
            len(entries), _MAX_INPUTS, method="tracking_selection", random_state=rng
        )
        entries = [entries[i] for i in np.sort(chosen)]
    rows, _ = distinct_rows(run.rows(entries)[:, :-1])
    rows = rows[domain.queryable(rows)]
    K = np.ascontiguousarray(run.surrogate.spatial_kernel_(domain.to_unit(rows)))
    # A k-DPP draws at most as many rows as the rank of K.
    rank = dpstrf(K, tol=10.0 * len(K) * np.finfo(float).eps)[2]
    count = min(count, int(rank))
    return rows[sample_kdpp(K, count, random_state=rng)] if count else rows[:0]


def _tell_expert(run, X, y, t):
    """Return the run with an expert's answers y (q,) at inputs X (q, d) and time t."""
    asked = np.column_stack([X, np.full(len(X), t)])
    variance = run.algorithm.expert_noise_variance
    rows, values = run.to_surrogate(asked, y)
    surrogate = run.surrogate.at(t)
    n, q, target = len(surrogate.X_train_), len(rows), objective(run)
    least, search, sliced = target.min_to_learn, run.search, run.sliced_search
    are_few = n + q < least
    surrogate = surrogate.condition_on(
        rows,
        values,
        None if variance is None else np.full(q, variance),
        total_variance=variance is not None,
        restandardize=not are_few,
    )
    if not are_few and search_is_due(target, surrogate, n + q):
        surrogate, search, sliced = surrogate.refit(), SearchState(0, n + q), None
    without = surrogate.without(np.arange(n, n + q), restandardize=n >= least)
    run = run.with_part(replaced(run.part("expert"), X=asked, y=y, surrogate=surrogate))
    time = replaced(run.time, now=max(t, run.time.now))
    return replaced(run, objective=Model(without, search, sliced), time=time)
