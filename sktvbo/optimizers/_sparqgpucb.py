"""SparQ-GP-UCB: ask an expert about the past."""

import copy
from numbers import Integral

import numpy as np
from scipy.linalg.lapack import dpstrf

from .._checks import check_positive
from ..acquisition import UCB, InformationGainBeta
from ..domain import real_array
from ..dpp import sample_kdpp
from ..exceptions import AskTellError, InvalidObservationError
from ..gaussian_process import QuadraticInjection
from ..staleness import NoiseThreshold
from ._base import BayesianOptimizer, static_surrogate

# SparQ section 4.1.
_QUERIES_PER_LOG, _DELTA = 6.0, 0.05

# Beyond that many places, a k-DPP of a uniform choice of them.
_MAX_PLACES = 2000


class SparQGPUCB(BayesianOptimizer):
    """SparQ-GP-UCB (Mauduit et al., SparQ algorithm 1): discard, and ask an expert again.

    1. Observe y at x; observations of age a have noise variance σ² (1 + a²) (eq. 10).
    2. Discard observations with a noise variance above g = σ² log t.
    3. Draw Q = 6 log t of all places ever queried by a k-DPP, and ask an expert for the present
       values there.
    4. Condition a Gaussian process of space alone on what is left and on the expert's answers.
    5. Query where μ + β σ is largest, β = B + √(2 (γ + log(2/δ))); then drop the expert's answers.

    Without an expert, that is without ``ask_expert`` and ``tell_expert``, only the last few
    observations remain.

    When to use it: a few places can be looked up at each step, such as sensors, simulations or
    cached evaluations; then the regret vanishes on average however the function changes. When not:
    each look-up costs as much as a query.

    Parameters
    ----------
    n_queries : "log", int or callable, default="log"
        Q, "log" is 6 log t, rounded up; a callable is given the number t of observations so far.
        The regret bound has c log^d t.
    noise_cap : "log", float or callable, default="log"
        g in units of σ², see :class:`~sktvbo.staleness.NoiseThreshold`.
    expert_noise_variance : float, default=None
        Variance of the expert's answers, in units of y²; None is that of observations.
    domain, surrogate, acquisition, n_initial_points, refit_every, maximize, clock, random_state
        See :class:`BayesianOptimizer`.

    Attributes
    ----------
    policy_ : NoiseThreshold
    expert_X_ : ndarray (q, d + 1)
        Places and time of the expert's answers that the next query builds on.
    expert_y_ : ndarray (q,)

    Notes
    -----
    Ages are in the user's unit of time, the paper's in steps: with a clock in seconds give a
    surrogate with another ``QuadraticInjection(rate)``. Hyperparameters are searched when the
    expert has answered, from the answers and the recent observations together, and otherwise as for
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
    ...     places = opt.ask_expert()
    ...     opt.tell_expert(places, f(places, t))
    ...     x = opt.ask()
    ...     opt.tell(x, f(x[np.newaxis], t)[0])
    >>> places = opt.ask_expert()
    >>> opt.tell_expert(places, f(places, 40))
    >>> bool(abs(opt.recommend()[0] - 5.0 - 3.0 * np.sin(8.0)) < 0.5)
    True
    """

    label = "SparQ-GP-UCB"

    def __init__(
        self,
        domain=None,
        *,
        n_queries="log",
        noise_cap="log",
        expert_noise_variance=None,
        surrogate=None,
        acquisition=None,
        n_initial_points=15,
        refit_every=1,
        maximize=True,
        clock="wall",
        random_state=None,
    ):
        super().__init__(
            domain,
            surrogate=surrogate,
            acquisition=acquisition,
            n_initial_points=n_initial_points,
            refit_every=refit_every,
            maximize=maximize,
            clock=clock,
            random_state=random_state,
        )
        self.n_queries = n_queries
        self.noise_cap = noise_cap
        self.expert_noise_variance = expert_noise_variance

    def _make_surrogate(self, times, recent):
        return static_surrogate(noise_model=QuadraticInjection())

    def _make_acquisition(self):
        return UCB(InformationGainBeta(delta=_DELTA, constant=np.log(2.0)))

    def _make_policy(self):
        return NoiseThreshold(self.noise_cap)

    def _check_parameters(self):
        super()._check_parameters()
        if self.expert_noise_variance is not None:
            check_positive(self.expert_noise_variance, "expert_noise_variance", self)

    def ask_expert(self, t=None):
        """Places about which to ask the expert now, before ``ask``.

        Parameters
        ----------
        t : float, default=None
            Present time; None reads the clock. Never before an earlier time.

        Returns
        -------
        X : ndarray (q, d), or a list of dicts
            Empty as long as there are fewer than ``n_initial_points`` observations; fewer than
            asked for when there are fewer different places.
        """
        run = self._started()
        t = self._forward_time(run, t)
        rng = copy.deepcopy(run.rng)
        rows = np.empty((0, run.domain.n_dims))
        if run.surrogate is not None:
            rows = self._places(run, self._count(len(run.told)), rng)
        run.rng, run.now = rng, t
        run.own = run.own | {"asked_expert": t}
        return run.domain.decode_all(rows)

    def tell_expert(self, X, y, t=None):
        """The expert's answers, for the next query alone.

        Parameters
        ----------
        X : array-like (q, d), or a list of dicts
            Those of ``ask_expert``, or others.
        y : array-like (q,)
            What the function is there now.
        t : float, default=None
            When; None is the time of ``ask_expert``.

        Raises
        ------
        ValueError
            Points outside of the domain, NaN, wrong shapes. The optimizer is as before.
        AskTellError
            No t was given and the expert was not asked, or the expert is told something before
            there are ``n_initial_points`` observations.
        """
        run = self._started()
        if t is None and "asked_expert" not in run.own:
            raise AskTellError(
                "tell_expert() without t expects ask_expert() before. Give the time of the "
                "answers: tell_expert(X, y, t)."
            )
        t = run.own["asked_expert"] if t is None else self._forward_time(run, t)
        if np.size(X) == np.size(y) == 0:
            return
        X, y = run.domain.validate_points(X), real_array(y, "y", InvalidObservationError)
        if y.shape != (len(X),) or not np.isfinite(y).all():
            raise InvalidObservationError(
                f"y must hold {len(X)} finite numbers, one for each place. Got shape {y.shape}: "
                f"{y.tolist()}."
            )
        if run.surrogate is None:
            raise AskTellError(
                f"tell_expert() expects at least n_initial_points={self.n_initial_points} "
                f"observations, got {len(run.told)}. Tell some more first."
            )
        rows = np.column_stack([run.domain.to_unit(X), np.full(len(X), t)])
        surrogate, without, since_refit = self._consult(run, rows, y if self.maximize else -y)
        answers = {"X": np.column_stack([X, np.full(len(X), t)]), "y": y, "surrogate": surrogate}
        run.surrogate, run.since_refit, run.now = without, since_refit, max(t, run.now)
        run.own = run.own | {"answers": answers}

    def tell(self, x, y, t=None):
        """Add an observation, forget what is stale, and the expert's answers.

        See :meth:`BayesianOptimizer.tell`.
        """
        super().tell(x, y, t)
        run = self._started()
        run.own = {name: value for name, value in run.own.items() if name != "answers"}

    @property
    def expert_X_(self):
        run = self._started()
        answers = run.own.get("answers")
        return np.empty((0, run.domain.n_dims + 1)) if answers is None else answers["X"].copy()

    @property
    def expert_y_(self):
        answers = self._started().own.get("answers")
        return np.empty(0) if answers is None else answers["y"].copy()

    def _holds(self, run):
        # The expert's answers have taught the hyperparameters more than stale rows would.
        return "answers" in run.own

    def _present(self, run, t):
        answers = run.own.get("answers")
        if answers is None:
            return super()._present(run, t)
        return answers["surrogate"].advanced(t)

    def _count(self, t):
        """Q at step t."""
        count = self.n_queries
        if isinstance(count, str) and count == "log":
            count = int(np.ceil(_QUERIES_PER_LOG * np.log(t)))
        elif callable(count):
            count = count(t)
        if not isinstance(count, Integral) or count < 0:
            raise ValueError(
                "The 'n_queries' parameter of SparQGPUCB must be, or give, a non-negative int, or "
                f"be 'log'. Got {count!r} instead."
            )
        return int(count)

    @staticmethod
    def _places(run, count, rng):
        """Different places (q, d) among all that were queried, by a k-DPP."""
        rows = np.unique(np.array(run.told)[:, :-1], axis=0)
        if len(rows) > _MAX_PLACES:
            rows = rows[np.sort(rng.choice(len(rows), _MAX_PLACES, replace=False))]
        K = np.ascontiguousarray(run.surrogate.spatial_kernel_(run.domain.to_unit(rows)))
        # No more places than K can tell apart.
        rank = dpstrf(K, tol=10.0 * len(K) * np.finfo(float).eps)[2]
        count = min(count, int(rank))
        if count == 0:
            return rows[:0]
        return rows[sample_kdpp(K, count, random_state=rng)]

    def _consult(self, run, rows, y):
        """The surrogate with the answers, without them, and the refit counter."""
        surrogate = super()._present(run, rows[0, -1])
        n = len(surrogate.X_train_)
        variance = self.expert_noise_variance
        y_variance = None if variance is None else np.full(len(y), -variance)
        few = n + len(y) < self._enough
        refit = run.since_refit + 1 >= self.refit_every and not few
        surrogate = copy.copy(surrogate)
        surrogate._update(rows, y, y_variance, refit=refit, hold_scale=few)
        without = copy.copy(surrogate)
        without._hold_scale(n < self._enough)
        without.forget(np.arange(n, n + len(y)))
        return surrogate, without, 0 if refit else run.since_refit
