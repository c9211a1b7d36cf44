"""BayesianOptimizer: a surrogate, an acquisition function and a policy, the base of algorithms."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, overload

import numpy as np
from sklearn.utils.metadata_routing import UNUSED

from .._validation import check_bool, check_int, check_real, invalid
from .._values import replaced
from .._warnings import step
from ..acquisition import UCB, as_acquisition
from ..exceptions import AskTellError
from ..gaussian_process._dates import numeric_periods
from ..gaussian_process._regressor import TimeVaryingGP
from ..staleness import KeepAll, MaximumSize, as_policy
from ._ask_tell import AskTell, algorithm
from ._begin import check_surrogate
from ._default_models import (
    drifting_surrogate,
    outcome_surrogate,
    smooth_surrogate,
)
from ._earlier import as_prior
from ._feasibility import Feasibility
from ._models import is_searching, models_of, posterior_at_rows, with_first_models
from ._observe import refit
from ._outcomes import OBJECTIVE, check_names, limits_of, measured, with_scales
from ._places import rows_and_times
from ._state import too_few
from ._suggest import recommend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta
    from typing import Any, Literal

    from numpy.typing import ArrayLike

    from .._typing import Array, ContextsLike, PathLike, PointsLike, SurrogateLike, Time
    from ..acquisition import Acquisition
    from ..staleness import StaleDataPolicy
    from ._earlier import Prior

    Earlier = Prior | AskTell | PathLike | Sequence[Prior | AskTell | PathLike] | None

# Parameters that safety requires, and the reasons.
_NEEDED_BY_SAFETY = {
    "outcome_constraints": "It states the limits that must hold: {'latency': (None, 200.0)}.",
    "start_points": "They are points that are known to be within the limits.",
}


@algorithm
class BayesianOptimizer(AskTell):
    """Optimizer of a function that changes with time, composed of three parts.

    A surrogate is conditioned on the observations, an acquisition function chooses the next query,
    and a stale-data policy forgets observations. The named algorithms of this package are such
    compositions; this class takes any other.

    Parameters
    ----------
    surrogate : TimeVaryingGPRegressor, default=None
        Its inputs are the domain scaled to the unit box, then time in the optimizer's
        ``time_unit``, which is the unit of its durations too. None: the algorithm's own, Matérn 5/2
        in space on standardized observations, with a learnt mean (see Notes).
    acquisition : callable or str, default=None
        See `sktvbo.acquisition`, or a name: "ucb", "ei", "pi", "ts", "mean". None is "ucb": UCB
        with the algorithm's β (see Notes) and ``margin=0.2``.
    policy : stale-data policy or str, default=None
        See `sktvbo.staleness`, or a name such as "sliding-window". None is ``KeepAll()``.
    n_initial_points : "auto" or int, default="auto"
        Number of observations before queries follow the surrogate. "auto": 3, or fewer in a smaller
        domain, the first in the middle (see Notes). An int: as many uniform points, as in the
        papers.
    refit_every : int, "auto" or None, default="auto"
        Search the hyperparameters at every ``refit_every``-th observation; "auto": when a search
        promises a gain (see `BayesianOptimizer`); None: only when the surrogate is first fitted.
    max_size : int, default=None
        Largest data set. Beyond it the least relevant observations are removed, or the oldest if
        relevancies are unavailable: see `~sktvbo.staleness.MaximumSize`. None is no limit; more
        than 2,000 observations, which make steps slow, give a warning.
    step_budget : float, default=None
        Processor time, in seconds, for an ``ask``, a ``suggest`` or a ``tell`` (see Notes). None is
        no limit.
    seasonal_periods : float, duration, str, or a list of them, default=None
        Periods of seasons that the default surrogate models, in the unit of the times, or as text
        such as "1D": see `~sktvbo.kernels.with_seasons`. "auto" is a day and a week; the times must
        be dates.
    robust : bool, default=False
        Give outliers a smaller weight in the surrogate, see
        `~sktvbo.gaussian_process.TimeVaryingGPRegressor`; `to_frame` and the log show them.
    outcome_constraints : mapping of str to (low, high), default=None
        Limits of outcomes that are measured with y, None for no limit: ``{"latency": (None,
        200.0)}``. The name "objective" stands for y. Limits apply to values without noise (see
        Notes).
    outcome_scales : mapping of str to {"linear", "log"}, default=None
        Scale on which the model of an outcome is Gaussian; "linear" for outcomes without an entry.
        "log" suits positive outcomes with a heavy tail, such as latencies.
    safety : float in [0.5, 1), default=None
        Required probability that all limits hold at a query; it needs ``start_points`` within the
        limits, and no custom surrogate. None weighs queries by the probability that the limits
        hold.
    exploration : float in [0, 1), default=0.0
        Share of the queries that are at a random point far from the latest 60 observations,
        whatever the surrogate predicts there (see Notes). Not available with a custom surrogate.
    earlier : list of optimizers, str, path-like or `~sktvbo.optimizers.Prior`, default=None
        Earlier runs of the same kind, which give this run its prior: running or finished
        optimizers, their JSON, paths of their journals, or a ``prior_``. A single one needs no
        list. They are read when the run begins, and not changed (see Notes).

    Attributes
    ----------
    prior_ : Prior or None
        Prior from the earlier runs; its repr shows medians and spreads.

    Notes
    -----
    A run begins with the first ``ask`` or ``tell`` that succeeds, which checks all parameters.
    Before that, attributes with a trailing underscore are those of an empty run. The run keeps its
    initial parameters: `with_parameters` continues it with others, and ``set_params`` of a
    `~sklearn.base.clone` is for a new run.

    The default surrogate of this class is that of `WDBO`. With seasons, with a context, and for a
    limited outcome it is smooth in time. With fewer than 10 observations in the data set, the
    latest removed ones are also used to learn hyperparameters and the scale of y.

    The first initial point of "auto" is the middle of the domain, or the allowed point nearest to
    it; parameters without a middle, such as categories, are drawn at random. Each further point is
    the one of 16 Sobol points, or random members, farthest from all observations, failures and
    pending queries. All are within ``max_step``, and satisfy the constraints. Until they are told,
    ``recommend`` and ``predict`` fit a surrogate for each call.

    ``refit_every="auto"`` searches when the gradient of the likelihood promises more than 0.1 nats,
    when the data set has grown by a tenth or fallen to half since the last search, and after ten
    times as many observations as there are in the data set. Otherwise an observation is added in
    O(n²) with the same hyperparameters. A search takes at most the 1,000 most relevant rows; with
    more rows, the next one follows when a tenth of them is new.

    At least the latest 256 observations are stored, whatever ``history`` is: policies and searches
    may use them. `SparQGPUCB` draws the expert's inputs from the stored ones.

    A query that expired may still be answered, by its handle, or by x if no other query is there;
    the latest 256 are stored. The delay of an answer is the time from its query to the first
    ``ask`` after the answer. With ``query_timeout="auto"`` nothing expires while all delays are 0.

    With a ``step_budget`` the search for a query stops when its time is over, and a search of the
    hyperparameters continues in slices, in the next ``tell`` or in `refit`. Updates are timed as
    the data set grows. Its limit is the size at which the slowest updates take 0.45 of the budget,
    but not below 30. Beyond it the least relevant observations are removed, as by ``max_size``.
    Work in all threads of the process counts. `tell_many` has no limit. Results depend on the speed
    of the machine; a journal holds the hyperparameters, but no unfinished search.

    Each measured outcome has a surrogate like the objective's, also with ``robust``. Its rows are
    those of the data set where it was measured. The latest 150 failures are rows as well, unless
    they are older than all of a data set from which observations were removed. Without a row, the
    limit of an outcome holds with probability ½.

    With ``safety`` the first 3 (d + 1) queries of "auto" are within 0.1 of each range around a
    start point, or at the next integer or member; categories are free. Later queries are certified:
    all limits hold there with this probability, with deviations multiplied by at least 1.1, and by
    more after violations. Until all outcomes are seen to vary, they are within 0.05 of each range
    around a start point or an observed point. Every third query is the certified point nearest to
    the best point where the limits probably hold. If no point within reach is certified, queries go
    to a start point, or to the least predicted violation near observed points. Hyperparameters are
    learnt: violations may be more frequent.

    With ``exploration=0.04`` every 25th query is at a random point whose prior correlation with the
    latest 60 observations, with failures and with pending queries is below ½: about a lengthscale
    away. It is within all limits, with probability ½ or ``safety``. If there is no such point, for
    instance within ``max_step``, the query is chosen as usual.

    With ``earlier`` the first query of "auto" is at the typical setting of the earlier runs, and
    the third one follows the surrogate. Categories and members of small sets that all earlier runs
    rejected are not visited at first. The default surrogate has their location and scale of y. For
    the first 60 observations it has priors around their results, in the user's units: on the
    hyperparameters, and on a mean over the domain. A prior that the observations contradict loses
    its weight (:doc:`/guide/fleet`). Domains may differ in their bounds and in the values of a
    category; names, kinds, ``maximize`` and ``time_unit`` must be the same. Runs with fewer than 30
    observations are left out, with a warning. With ``safety`` the models of limited outcomes learn
    from this run alone. JSON and journals contain the prior: a resumed run does not need the
    earlier ones.

    The times of a run are all numbers, all dates with a time zone, or all dates without one.

    Examples
    --------
    >>> from sktvbo.acquisition import UCB
    >>> from sktvbo.optimizers import BayesianOptimizer
    >>> from sktvbo.staleness import RelevancyBudget
    >>> opt = BayesianOptimizer(
    ...     [(0.0, 10.0)], acquisition=UCB(beta=2.0), policy=RelevancyBudget(alpha=0.5),
    ...     n_initial_points=5, random_state=0,
    ... )
    >>> for t in range(25):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> bool(abs(opt.recommend(25)[0] - 5.5) < 0.5)
    True
    """

    surrogate: SurrogateLike | None = None
    acquisition: Acquisition | str | None = None
    policy: StaleDataPolicy | str | None = None
    n_initial_points: int | str = "auto"
    refit_every: int | str | None = "auto"
    max_size: int | None = None
    step_budget: float | None = None
    seasonal_periods: float | timedelta | np.timedelta64 | str | Sequence[Any] | None = None
    robust: bool = False
    outcome_constraints: Mapping[str, tuple[float | None, float | None]] | None = None
    outcome_scales: Mapping[str, str] | None = None
    safety: float | None = None
    exploration: float = 0.0
    earlier: Earlier = None

    # --- hooks that an algorithm may override -----------------------------------------------------
    #
    # They are called on a copy of the optimizer, made when the run begins, and change nothing.

    def _make_surrogate(self, times):
        """Return an unfitted surrogate, used when the user gives none.

        Called when the surrogate is first fitted. Later searches of the hyperparameters call it for
        the temporal kernel alone, whose bounds may follow the data.

        Parameters
        ----------
        times : Times
            Times ``data`` (n,) of the training data, ``recent`` (m,) of the latest observations,
            and ``pending`` of pending queries. Also ``n_unit`` and ``has_context`` of the domain,
            and ``of_outcome``, True for data of an outcome.
        """
        if times.of_outcome:
            return outcome_surrogate(times)
        is_explained = times.has_context or self.seasonal_periods is not None
        return smooth_surrogate(times) if is_explained else drifting_surrogate(times)

    def _make_acquisition(self):
        """Return an acquisition function, used when the user gives none; called once a run.

        The default discounts the uncertainty near the faces of a box, where queries are less
        informative.
        """
        return UCB(self._make_beta(), margin=0.2)

    def _make_beta(self):
        """Return β of the default acquisition function, see `UCB`."""
        return "dimension"

    def _of_model(self, domain, policy):
        check_surrogate(self.surrogate, self)
        policy.check(self.surrogate)
        limits = limits_of(self.outcome_constraints, self)
        check_names(limits, domain, self)
        is_default, size_limit = self._has_default_acquisition, None
        acquisition = self._make_acquisition() if is_default else self.acquisition
        if self.max_size not in (None, policy.max_size):
            size_limit = MaximumSize(self.max_size)
        same = ("surrogate", "seasonal_periods", "robust", "refit_every", "step_budget")
        return {name: getattr(self, name) for name in (*same, "safety", "exploration")} | {
            "acquisition": as_acquisition(acquisition, self),
            "limits": with_scales(limits, self.outcome_scales, self),
            "size_limit": size_limit,
            "n_initial": self._n_initial(domain),
            "spreads_initial": self.n_initial_points == "auto",
            "visits_members": self._visits_members and is_default,
            "asks_expert": self._asks_expert,
        }

    @property
    def _needs_start_points(self):
        return self.safety is not None

    @property
    def _has_default_acquisition(self):
        """True if the acquisition function is that of `_make_acquisition`."""
        acquisition = self.acquisition
        return acquisition is None or (isinstance(acquisition, str) and acquisition == "ucb")

    def _make_policy(self):
        """Return a new stale-data policy; called once a run."""
        return KeepAll() if self.policy is None else as_policy(self.policy, self)

    def _latest_query_time(self, t, surrogate, policy):
        """Return the latest time for a query of ``suggest``; t for the present.

        Called for each query that is made with a surrogate.

        Parameters
        ----------
        t : float
            Present time.
        surrogate : Surrogate
            At time t, conditioned on pending queries as well.
        policy : stale-data policy
            After the latest observation.
        """
        return t

    def _check_parameters(self):
        """Raise a ValueError for an invalid parameter; called when a run begins."""
        super()._check_parameters()
        if self.n_initial_points != "auto":
            check_int(self.n_initial_points, "n_initial_points", self, advice="Or give 'auto'.")
        if self.refit_every is not None and self.refit_every != "auto":
            check_int(self.refit_every, "refit_every", self, advice="Or give 'auto'.")
        if self.max_size is not None and not self._is_default("max_size"):
            check_int(self.max_size, "max_size", self)
        has_seasons = numeric_periods(self.seasonal_periods, self.time_unit, self) != ()
        if has_seasons and self.surrogate is not None:
            expected = "None with surrogate=..., whose temporal_kernel may have seasons"
            raise invalid("seasonal_periods", expected, self.seasonal_periods, self)
        if self.surrogate is not None:
            self._check_unused(self._surrogate_parameters, "with surrogate=...")
        if not self._has_default_acquisition:
            self._check_unused(self._acquisition_parameters, "with acquisition=...")
        if self.step_budget is not None:
            check_real(self.step_budget, "step_budget", self, interval="(0, inf)")
        check_bool(self.robust, "robust", self)
        if self.robust:
            self._check_robust()
        if self.safety is not None:
            check_real(self.safety, "safety", self, interval="[0.5, 1)")
            for name, what in _NEEDED_BY_SAFETY.items():
                if getattr(self, name) is None:
                    raise invalid(name, f"given with safety={self.safety}", None, self, advice=what)
            self._check_own_surrogate("safety")
        check_real(self.exploration, "exploration", self, interval="[0, 1)")
        if self.exploration:
            self._check_own_surrogate("exploration")

    def _storable(self):
        if self.earlier is None:
            return self
        new = copy.copy(self)
        new.earlier = as_prior(self.earlier, self)
        return new

    def _check_own_surrogate(self, name):
        """Raise a ValueError for a custom surrogate, which parameter ``name`` does not allow."""
        if not (self.surrogate is None or isinstance(self.surrogate, TimeVaryingGP)):
            expected = f"None, or one of sktvbo.gaussian_process, with {name}=..."
            raise invalid("surrogate", expected, self.surrogate, self)

    def _check_robust(self):
        """Raise a ValueError if the surrogate cannot weigh outliers."""
        if self.surrogate is None:
            return
        known, name = self.surrogate.get_params(deep=False), type(self.surrogate).__name__
        if "robust" not in known:
            expected = f"False with a {name}, which does not weigh outliers"
            raise invalid("robust", expected, self.robust, self)
        if known.get("noise_model") is not None:
            expected = "False with a surrogate whose noise grows with age"
            raise invalid("robust", expected, self.robust, self)

    def _check_unused(self, names, when):
        """Raise a ValueError for parameters that were given and have no effect."""
        for name in names:
            if not self._is_default(name):
                default = getattr(type(self), name)
                expected = f"left at its default {default!r} {when}, where it has no effect"
                raise invalid(name, expected, getattr(self, name), self)

    def _is_default(self, name):
        """Return True if a parameter has its default value."""
        value, default = getattr(self, name), getattr(type(self), name)
        return isinstance(value, type(default)) and value == default

    def _n_initial(self, domain):
        """Return the number of observations before the surrogate."""
        if self.n_initial_points == "auto":
            # Near the start points, more are needed to tell slopes from noise.
            n = self._n_spread if self.earlier is None else 2
            n = n if self.safety is None else 3 * (domain.n_dims + 1)
            return int(min(n, domain.size))
        return self.n_initial_points

    @classmethod
    def _family(cls):
        return AskTell if cls is BayesianOptimizer else cls  # RandomSearch as well

    # No setters of metadata requests: no meta-estimator calls an optimizer's predict.
    __metadata_request__predict = dict.fromkeys(
        ("t", "return_std", "context", "include_noise", "outcome"), UNUSED
    )

    # --- attributes that an algorithm may set -----------------------------------------------------

    # Parameters without effect when the user gives a surrogate, or an acquisition function.
    _surrogate_parameters = _acquisition_parameters = ()

    # Initial points with n_initial_points="auto".
    _n_spread = 3

    # True if all members of a small space are visited.
    _visits_members = True

    # True if an expert is asked as well as the system.
    _asks_expert = False

    # With fewer observations, hyperparameters and the scale of y are learnt from removed ones as
    # well.
    _min_to_learn = 10

    # True: search the hyperparameters after an observation earlier than all others, whatever
    # refit_every is, because the temporal kernel of _make_surrogate begins at the first time.
    _searches_for_the_past = False

    # --- the model --------------------------------------------------------------------------------

    @step
    def refit(self, deadline: float | None = None) -> bool:
        """Search the hyperparameters now, for instance while the system is idle.

        Continues a search that ``step_budget`` or an earlier ``deadline`` has interrupted.

        Parameters
        ----------
        deadline : float, default=None
            Processor time, in seconds, after which the search is interrupted, but not before an
            evaluation of the likelihood. The next `refit`, or with a ``step_budget`` the next
            ``tell``, continues it. None: the search is completed.

        Returns
        -------
        done : bool
            False if the search is not completed.

        Raises
        ------
        AskTellError
            There is no surrogate yet, and no deadline is given.
        ValueError
            The deadline is not positive.
        """
        if deadline is not None:
            deadline = check_real(deadline, "deadline", interval="(0, inf)")
        with self._lock:
            run = self._run_or_new()
            if run.surrogate is None:
                if deadline is not None:
                    return True
                raise too_few("refit()", run, run.config.n_initial)
            after = refit(run, deadline)
            if after is not run:
                self._take(run, after, "refit")
        return not is_searching(after)

    @overload
    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: Literal[False] = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
        outcome: str | None = None,
    ) -> Array: ...
    @overload
    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: bool = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
        outcome: str | None = None,
    ) -> tuple[Array, Array]: ...
    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: bool = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
        outcome: str | None = None,
    ) -> Array | tuple[Array, Array]:
        """Predict the function at inputs and times, past or future.

        Parameters
        ----------
        X : array-like of shape (m, d), a list of dicts for named parameters, or a table
            Points in the domain, or one point: shape (d,), a dict or a Series. Columns of a data
            frame, or of a dict of columns, are matched by name.
        t : float, date, or array-like of shape (m,), default=None
            One time for all, or one for each; None reads the clock.
        return_std : bool, default=False
            Also return the standard deviation.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a `~sktvbo.domain.Context`; or a list of m of them.
        include_noise : bool, default=False
            Predict observations, with noise, instead of the function. The mean is the same, except
            for outcomes on a logarithmic scale.
        outcome : str, default=None
            Name of an outcome to predict instead of the objective.

        Returns
        -------
        mean : ndarray of shape (m,), or a float for one point
            In units of y, and with its sign.
        std : ndarray of shape (m,), or a float for one point
            Only with ``return_std``.

        Raises
        ------
        AskTellError
            There is no observation yet.
        ValueError
            Points outside of the domain, invalid times, wrong shapes; ``include_noise`` with a
            custom surrogate that has no ``noise_std_``.

        Examples
        --------
        >>> import numpy as np
        >>> from sktvbo import WDBO
        >>> opt = WDBO([(0.0, 10.0)], maximize=False, n_initial_points=8, random_state=0)
        >>> for t in range(20):
        ...     x = opt.ask(t)
        ...     opt.tell(x, 300.0 + (x[0] - 5.0) ** 2)
        >>> mean, std = opt.predict([[5.0], [6.0]], t=20, return_std=True)
        >>> bool((np.abs(mean - [300.0, 301.0]) < 0.5).all() and (std < 1.0).all())
        True
        """
        run = self._run_or_new()
        check_bool(return_std, "return_std")
        check_bool(include_noise, "include_noise")
        rows, times, one = rows_and_times(run, X, t, context)
        names = [*measured(run), OBJECTIVE]
        if outcome is not None and outcome not in names:
            raise invalid("outcome", f"one of {', '.join(map(repr, names))}", outcome)
        run = _with_surrogate(run, "predict()")
        limit, surrogate = None, run.query_surrogate
        if outcome not in (None, OBJECTIVE):
            limit = run.config.measured_limits[names.index(outcome)]
            surrogate = models_of(run)[names.index(outcome)].surrogate
            if surrogate is None:
                expected = "one that was measured before predict()"
                got = f"{outcome!r}, not measured yet,"
                raise invalid("outcome", expected, got=got, error=AskTellError)
        on_log = limit is not None and limit.scale == "log"
        noisy = include_noise and (return_std or on_log)
        mean, std = _predicted(run, surrogate, rows, times, noisy)
        if on_log:
            mean, std = limit.of_user(mean, std)
        if one:
            mean, std = float(mean[0]), float(std[0])
        return (mean, std) if return_std else mean

    @property
    def prior_(self) -> Prior | None:
        return self._current().algorithm._prior

    @property
    def _prior(self):
        return self.earlier

    def probability_feasible(
        self, X: PointsLike, t: Time | ArrayLike | None = None, *, context: ContextsLike = None
    ) -> Array:
        """Return the probability that all ``outcome_constraints`` hold, without noise.

        Parameters
        ----------
        X : array-like of shape (m, d), a list of dicts for named parameters, or a table
            As in `predict`.
        t : float, date, or array-like of shape (m,), default=None
            As in `predict`.
        context : array-like of shape (c,), or a dict for named variables, default=None
            As in `predict`.

        Returns
        -------
        p : ndarray of shape (m,), or a float for one point
            1 without ``outcome_constraints``.

        Raises
        ------
        AskTellError
            There is no observation yet.
        ValueError
            Points outside of the domain, invalid times, wrong shapes.
        """
        run = self._run_or_new()
        rows, times, one = rows_and_times(run, X, t, context)
        run, p = _with_surrogate(run, "probability_feasible()"), np.ones(len(rows))
        if run.config.limits:
            feasibility = Feasibility(run)
            for time in np.unique(times):
                here = times == time
                p[here] = np.exp(feasibility.at(time).log(run.domain.to_unit(rows[here])))
        return float(p[0]) if one else p

    def _recommended(self, run, here, t):
        run = _with_surrogate(run, "recommend()")
        return recommend(replaced(run, config=here.config), t)


def _with_surrogate(run, caller):
    """Return the run with a surrogate, fitted to the observations so far if it has none.

    Without any observation raise an AskTellError.
    """
    if run.surrogate is not None:
        return run
    if not len(run.data):
        raise too_few(caller, run, 1)
    return with_first_models(run)


def _predicted(run, surrogate, rows, times, include_noise):
    """Return mean and standard deviation (m,) at rows (m, d) and times (m,), in the user's sign."""
    mean, std = posterior_at_rows(run, surrogate, rows, times)
    if include_noise:
        noise = getattr(surrogate, "noise_std_", None)
        if noise is None:
            expected = "False with a surrogate that has no noise_std_"
            advice = f"Give {type(surrogate).__name__} this attribute, in units of y."
            raise invalid("include_noise", expected, include_noise, advice=advice)
        std = np.hypot(std, noise)
    return mean, std
