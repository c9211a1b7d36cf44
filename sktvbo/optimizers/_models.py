"""Models of y and of measured outcomes: their beginning, their updates and their searches.

A `Target` is the quantity that a model describes, y or an outcome, with its observations in a run.
A `Model` is its surrogate, conditioned on the data set, and the search of its hyperparameters. It

- begins when there are enough observations: `first_model`;
- gets an observation, and loses stale ones: `next_model`. If a search is due, it follows at once,
  or with a ``step_budget`` in slices: `after_slice`;
- is searched when the user asks for it: `searched`;
- learns from many observations: `learnt`;
- is conditioned on other rows with the same hyperparameters: `conditioned`.
"""

import copy
import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import clone

from .._values import replaced
from ..gaussian_process._exact_posterior import Dense
from ..gaussian_process._fitted import FittedGP
from ..gaussian_process._learnt_priors import LearntMean
from ..gaussian_process._regressor import TimeVaryingGP, as_fitted
from ..gaussian_process._relevancy import most_relevant
from ._budget import MODEL, SEARCH, Search
from ._default_models import Times, configured, seasonal, started_without_seasons
from ._state import OBJECTIVE, DataSet, Model, SearchState

# With refit_every="auto", hyperparameters are searched when that promises a larger gain, in nats.
_MIN_GAIN = 0.1

# Search at the latest after this many times n observations: with wrong hyperparameters a policy
# may remove the observations that would correct them.
_MAX_AGE = 10

# A search takes at most this many rows, the most relevant ones to the present.
_MAX_LEARNT = 1000

# Number of the latest observations that determine the sampling interval.
_N_RECENT = 50

# Priors from earlier runs, on the hyperparameters and on the mean over the domain, apply to fewer
# observations told: later the data of the run are more informative.
_N_INFORMED = 60


# --- targets --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Target:
    """Quantity that a model describes, y or an outcome, with its observations in a run.

    Attributes
    ----------
    run : RunState
    data : DataSet
        With the values of the target instead of y.
    model : Model
    limit : Limit or None
        Limit of the outcome; None for y.
    index : int or None
        Index of the outcome among those that are measured.
    """

    run: object
    data: DataSet
    model: Model
    limit: object = None
    index: int | None = None

    @cached_property
    def prior(self):
        """`ModelPrior` of earlier runs, or None."""
        earlier = self.run.algorithm._prior
        if earlier is None or (self.is_limited and self.run.config.safety is not None):
            return None  # earlier runs certify no input
        return earlier.models.get(OBJECTIVE if self.limit is None else self.limit.name)

    @property
    def is_limited(self):
        """True if the target has a limit."""
        limits = self.run.config.limits
        return self.limit is not None or any(limit.name == OBJECTIVE for limit in limits)

    def follows_scale(self, surrogate, n):
        """Return True if n rows of a surrogate, not earlier runs, determine location and scale."""
        is_known = isinstance(surrogate, FittedGP) and "scale" in surrogate.model._known_of_rows
        return n >= self.min_to_learn and not is_known

    @cached_property
    def min_to_learn(self):
        """Number of observations needed to learn hyperparameters and a scale of the values."""
        run, n = self.run, self.run.algorithm._min_to_learn
        least = min(run.history.n_told, n)
        if self.data.positions is run.data.positions or len(self.data) >= n:
            return least
        others = run.history.latest_outside(run.data, n - len(self.data), self.has_value)
        return min(least, len(self.data) + len(others))

    def has_value(self, entry):
        """Return True if an `Observation`, or `Answer`, has a value of the target."""
        if self.limit is None:
            return entry.y is not None
        return entry.outcomes[self.index] is not None

    def data_of(self, entries, positions=()):
        """Return the data set of entries (n) that have a value, at positions if these are known."""
        data = DataSet.of(positions, entries)
        if self.limit is None or not entries:
            return data
        values = [float(self.limit.of_model(entry.outcomes[self.index])) for entry in entries]
        return _of_values(data, np.array(values))


def objective(run):
    """Return the `Target` of y."""
    return Target(run, run.data, run.objective)


def outcome_targets(run):
    """Return the `Target` (list) of each outcome that is measured."""
    limits, models = run.config.measured_limits, models_of(run)
    return [
        Target(run, outcome_data(run, i), models[i] if models else Model(), limit, i)
        for i, limit in enumerate(limits)
    ]


def _of_values(data, values):
    """Return the data set of an outcome, of values (n,) without noise at the rows of another."""
    n = len(values)
    nothing = {"variance": np.zeros(n), "outcomes": np.empty((n, 0)), "room": None}
    return replaced(data, y=values, **nothing)


def outcome_data(run, i):
    """Return the data set of the i-th outcome that is measured, in the order of telling.

    Failures have positions below 0. They are left out when they are older than all of a data set
    from which observations were removed.
    """
    data, limit, failures = run.data, run.config.measured_limits[i], run.failures
    values = limit.of_model(data.outcomes[:, i])
    measured = ~np.isnan(values)
    part = _of_values(data, values)
    if not measured.all():
        part = part.take(measured)
    y, rows = limit.of_model(failures.outcomes[:, i]), failures.rows
    chosen = ~np.isnan(y)
    if 0 < len(data) < run.history.n_told:
        chosen &= rows[:, -1] >= data.rows[:, -1].min()
    if not chosen.any():
        return part
    n_before = np.array(failures.n_before)[chosen]
    positions = len(rows) - failures.total - 1 - np.flatnonzero(chosen)
    order = np.argsort(np.append(part.positions, n_before - 0.5), kind="stable")
    return DataSet(
        np.append(part.positions, positions),
        np.vstack([part.rows.reshape(-1, rows.shape[1]), rows[chosen]]),
        np.append(part.y, y[chosen]),
        np.zeros(len(order)),
        np.empty((len(order), 0)),
    ).take(order)


def models_of(run):
    """Return the models (tuple) of the outcomes; none before there is a surrogate."""
    limits = run.part("limits")
    return () if limits is None else limits.models


def with_models(run, models):
    """Return the run with other models of its outcomes, if it has any."""
    limits = run.part("limits")
    return run if limits is None else run.with_part(replaced(limits, models=tuple(models)))


# --- surrogates without data ----------------------------------------------------------------------


def new_surrogate(target, times, data=None):
    """Return the user's surrogate, or the algorithm's own for data at some times, unfitted.

    Priors from earlier runs are scaled by y of a data set, by default that of the target.
    """
    run, surrogate = target.run, target.run.config.surrogate
    if surrogate is None:
        surrogate = _own_surrogate(target, times, target.data if data is None else data)
    known = getattr(surrogate, "_known_of_rows", {})
    surrogate = configured(clone(surrogate), run.domain, run.policy, run.algorithm.time_unit)
    if known:
        surrogate._known_of_rows = known
    return surrogate.set_params(robust=True) if run.config.robust else surrogate


def _own_surrogate(target, times, data):
    """Return the algorithm's own surrogate, with seasons and priors from earlier runs."""
    run, prior = target.run, target.prior
    surrogate = run.algorithm._make_surrogate(times_of(run, times, target.limit is not None))
    surrogate = seasonal(surrogate, run.periods) if run.periods else surrogate
    if prior is None or not isinstance(surrogate, TimeVaryingGP):
        return surrogate
    y = run.sign * data.y
    # An earlier location within a limit would make inputs seem allowed.
    if not target.is_limited:
        surrogate = prior.scaled(surrogate, y)
    return prior.informed(surrogate, y) if run.history.n_told < _N_INFORMED else surrogate


def _before_search(target, surrogate, data, times):
    """Return a surrogate with its priors for a search, and the kernel in time for `refit`, a dict.

    The bounds of the default kernel follow the times, and priors from earlier runs the scale of y.
    The user's own surrogate is unchanged.
    """
    if target.run.config.surrogate is not None:
        return surrogate, {}
    new = _own_surrogate(target, times, data)
    if target.prior is not None and isinstance(surrogate, FittedGP):
        model = copy.copy(surrogate.model)
        model.hyperpriors, model._known_of_rows = new.hyperpriors, new._known_of_rows
        if isinstance(new.prior_mean, LearntMean):
            model.prior_mean = new.prior_mean
        elif isinstance(model.prior_mean, LearntMean):
            model.prior_mean = model.prior_mean.default
        surrogate = replaced(surrogate, model=model)
    return surrogate, {"temporal_kernel": new.temporal_kernel}


def times_of(run, times, of_outcome=False):
    """Return the `Times` that determine bounds, for data at some times, the new one last."""
    domain, recent = run.domain, [entry.row[-1] for entry in run.history.latest(_N_RECENT)]
    return Times(
        times,
        np.array([*recent, times[-1]]),
        tuple(query.t for query in run.pending_now),
        domain.n_unit,
        tuple(domain.unit_columns.tolist()),
        tuple(domain.steps.tolist()),
        domain.n_chosen < domain.n_dims,
        run.excludes_places,
        of_outcome,
        run.keeps_all,
    )


# --- surrogates on a data set ---------------------------------------------------------------------


def training(run, data):
    """Return a data set as arguments of a surrogate's call: X (n, u + 1), y, and known variances.

    Variances are left out if all are 0: a custom surrogate need not support them.
    """
    X, y = run.to_surrogate(data.rows, data.y)
    return (X, y, data.variance) if data.variance.any() else (X, y)


def conditioned(target, surrogate, data):
    """Return a surrogate with the same hyperparameters, conditioned on a data set."""
    follow = target.follows_scale(surrogate, len(data))
    return surrogate.with_rows(*training(target.run, data), restandardize=follow)


def without_rows(target, surrogate, drop, n):
    """Return a surrogate without some rows; n rows are left."""
    return surrogate.without(drop, restandardize=target.follows_scale(surrogate, n))


def summarized(target, surrogate, drop, n):
    """Return a surrogate without some rows, whose information about the static part stays."""
    if not isinstance(surrogate, FittedGP):
        return without_rows(target, surrogate, drop, n)
    return surrogate.summarized(drop, restandardize=target.follows_scale(surrogate, n))


def unsummarized(surrogate, indices):
    """Return a surrogate with rows that have come back, without their share of its static part."""
    return surrogate.unsummarized(indices) if isinstance(surrogate, FittedGP) else surrogate


def static_of(surrogate):
    """Return the `StaticPart` of a surrogate, or None."""
    return surrogate.gp.rows.static if isinstance(surrogate, FittedGP) else None


def with_static(surrogate, static):
    """Return a surrogate with another static part, itself if it has this one."""
    if not isinstance(surrogate, FittedGP) or static_of(surrogate) is static:
        return surrogate
    return surrogate.with_static(static)


def first_surrogate(target, data):
    """Return the first surrogate, fitted to a data set."""
    run, known = target.run, training(target.run, data)
    surrogate = new_surrogate(target, known[0][:, -1], data)
    if run.periods:
        surrogate = started_without_seasons(surrogate, len(run.periods), *known)
    return as_fitted(surrogate.fit(*known))


def with_first_models(run):
    """Return the run with a surrogate, and those of its outcomes, fitted to the data set."""
    run = run.with_objective(surrogate=first_surrogate(objective(run), run.data))
    return with_models(run, [model_on_data(target) for target in outcome_targets(run)])


def model_on_data(target, surrogate=None):
    """Return the model of a target on its data set, with known hyperparameters if there are any."""
    surrogate = target.model.surrogate if surrogate is None else surrogate
    if not len(target.data):
        return Model()
    if surrogate is None:
        return Model(first_surrogate(target, target.data))
    return Model(conditioned(target, surrogate, target.data), target.model.search)


# --- a step ---------------------------------------------------------------------------------------


def first_model(target, data):
    """Return the first model; with a budget its hyperparameters are searched in slices."""
    run, n = target.run, len(data)
    if run.timer is not None:
        known = training(run, data)
        surrogate = new_surrogate(target, known[0][:, -1], data)
        if isinstance(surrogate, TimeVaryingGP):
            surrogate = as_fitted(surrogate.partial_fit(*known))
            sliced = begun_search(target, surrogate, data) if can_be_searched(surrogate) else None
            return Model(surrogate, SearchState(1, n), sliced)
    return Model(first_surrogate(target, data), SearchState(0, n))


def next_model(target, drop, data, latest, *, hold=False, fresh=False):
    """Return the model without some rows and with the latest of a data set.

    Parameters
    ----------
    target : Target
        Before the step.
    drop : ndarray of int
        Indices of the surrogate's rows.
    data : DataSet
        After the step.
    latest : tuple of ndarray
        Its last row, see `training`.
    hold : bool
        Hold the hyperparameters.
    fresh : bool
        Compute the surrogate from the rows alone.
    """
    run, (surrogate, search, sliced), n = target.run, target.model, len(data)
    early = run.algorithm._searches_for_the_past
    early = early and data.rows[-1, -1] < surrogate.X_train_[:, -1].min()
    if sliced is not None and sliced.optimum is not None and not early:
        return _with_optimum(target, sliced, None, data)
    if fresh or n == 1:
        surrogate = conditioned(target, surrogate, data)
    else:
        surrogate = without_rows(target, surrogate, drop, n) if len(drop) else surrogate
        follow = target.follows_scale(surrogate, n)
        surrogate = surrogate.condition_on(*latest, restandardize=follow)
    search = SearchState(search.age + 1, search.size)
    in_slices = run.timer is not None and not early
    goes_on = sliced is not None and in_slices
    if hold or goes_on or not search_is_due(target, surrogate, n, early):
        return Model(surrogate, search, sliced)
    if in_slices and isinstance(surrogate, FittedGP):
        return Model(surrogate, search, begun_search(target, surrogate, data))
    surrogate, arguments = _search_arguments(target, surrogate, data)
    start = _on_relevant_rows(target, surrogate, data)
    optimum = start.refit(**arguments)
    if start is not surrogate:
        optimum = conditioned(target, optimum, data)
    return Model(optimum, SearchState(0, n))


def outcome_model(before, extended, after):
    """Return the model of an outcome after a step.

    Parameters
    ----------
    before, after : Target
    extended : Target
        After it, except for the removals of the step.
    """
    data, old = after.data, before.data.positions
    if not len(data):
        return Model()
    if before.model.surrogate is None:
        return _first_outcome_model(before, extended.data, data)
    drop = np.flatnonzero(~np.isin(old, data.positions))
    new = data.positions[~np.isin(data.positions, old)]
    model = before.model
    if len(new) == 1 and data.positions[-1] == new[0]:
        model = next_model(before, drop, data, training(before.run, data.latest))
    elif len(new) or len(drop):
        model = model._replace(surrogate=conditioned(after, model.surrogate, data))
    return after_slice(before, model, data)


def _first_outcome_model(target, extended, data):
    """Return the first model of an outcome, fitted to an extended data set, on the rows left."""
    model, drop = first_model(target, extended), ~np.isin(extended.positions, data.positions)
    if not drop.any():
        return model
    surrogate = without_rows(target, model.surrogate, np.flatnonzero(drop), len(data))
    return model._replace(surrogate=surrogate)


# --- searches of the hyperparameters --------------------------------------------------------------


def can_be_searched(surrogate):
    """Return True if a surrogate has hyperparameters to search."""
    return getattr(surrogate, "optimizer", True) is not None


def search_is_due(target, surrogate, n, required=False):
    """Return True if the hyperparameters of a surrogate of n rows are to be searched."""
    every, last = target.run.config.refit_every, target.model.search
    age = last.age + 1
    if required or every is None:
        is_due = required
    elif every != "auto":
        is_due = age >= every
    elif not 0.5 * last.size <= n <= 1.1 * last.size or age >= _MAX_AGE * n:
        is_due = True
    elif _has_too_many_rows(surrogate, n):
        # The search ended at the optimum of a part of the rows: all rows always promise a gain.
        is_due = age >= 0.1 * n
    else:
        gain = getattr(surrogate, "search_gain", None)
        is_due = gain is None or gain() > _MIN_GAIN
    return is_due and can_be_searched(surrogate)


def _search_arguments(target, surrogate, data):
    """Return a surrogate with its priors, and the arguments of its ``refit``, a dict."""
    run, n_missing = target.run, target.min_to_learn - len(data)
    times, extra = surrogate.X_train_[:, -1], None
    if n_missing > 0:
        # Removed observations are still informative about the hyperparameters.
        removed = run.history.latest_outside(data, n_missing, target.has_value)
        if removed:
            extra = training(run, target.data_of(removed))
            times = np.concatenate([times[:-1], extra[0][:, -1], times[-1:]])
    surrogate, kernel = _before_search(target, surrogate, data, times)
    return surrogate, {"extra_rows": extra, **kernel}


def _has_too_many_rows(surrogate, n):
    """Return True if a search of a surrogate of n rows takes only a part of them."""
    is_dense = isinstance(surrogate, FittedGP) and isinstance(surrogate.gp, Dense)
    return n > _MAX_LEARNT and is_dense


def _on_relevant_rows(target, surrogate, data):
    """Return a surrogate of a data set on the rows of a search: the most relevant of many."""
    if not _has_too_many_rows(surrogate, len(data)):
        return surrogate
    times = surrogate.X_train_[:, -1]
    rows = most_relevant(_MAX_LEARNT, surrogate, times.max(), times)
    return conditioned(target, surrogate, data.take(rows))


def begun_search(target, surrogate, data):
    """Return a search of a surrogate's hyperparameters in slices, before its first slice."""
    surrogate, arguments = _search_arguments(target, surrogate, data)
    timer, surrogate = target.run.timer, _on_relevant_rows(target, surrogate, data)
    n = len(surrogate.X_train_)
    return Search(surrogate, arguments, 0.0 if timer is None else timer.expected(SEARCH, n))


def after_slice(target, model, data):
    """Return a model on a data set after a slice of its search, if a step has one."""
    timer, before = target.run.timer, model.sliced_search
    if timer is None or before is None:
        return model
    sliced = before.continued(timer.until, timer.n_sure(before))
    if sliced is before and sliced.optimum is None and timer.is_too_long(sliced):
        # Another search begins when fewer rows are left, or later.
        if sliced.results:
            timer.searched(sliced.n, sliced.cost)
        return model._replace(sliced_search=None)
    if sliced.optimum is not None:
        timer.searched(sliced.n, sliced.cost)
    if sliced.optimum is None or not timer.fits(MODEL, len(data)):
        return model._replace(sliced_search=sliced)
    timer.lap(SEARCH)
    model = _with_optimum(target, sliced, model.surrogate, data)
    timer.model_updated(len(data), fresh=True)
    return model


def _with_optimum(target, sliced, surrogate, data):
    """Return the model that a search has found, on a data set, instead of a surrogate."""
    optimum = sliced.optimum
    if sliced.surrogate is not surrogate:
        # Rows may have left since the search began.
        latest = target.model.surrogate if surrogate is None else surrogate
        optimum = conditioned(target, with_static(optimum, static_of(latest)), data)
    # Of many rows the search has used a part.
    n = sliced.n if sliced.n < _MAX_LEARNT else len(data)
    return Model(optimum, SearchState(0, n))


def searched(target, deadline):
    """Return the model of a target after a search, or after a slice of some seconds of it."""
    model, data, until = target.model, target.data, np.inf
    if deadline is not None:
        until = time.process_time() + deadline
    if not can_be_searched(model.surrogate):
        return model
    if not isinstance(model.surrogate, FittedGP):
        surrogate, arguments = _search_arguments(target, model.surrogate, data)
        return Model(surrogate.refit(**arguments), SearchState(0, len(data)))
    sliced = model.sliced_search or begun_search(target, model.surrogate, data)
    sliced = sliced.continued(until, n_sure=1)
    if sliced.optimum is None:
        return model._replace(sliced_search=sliced)
    return _with_optimum(target, sliced, model.surrogate, data)


def is_searching(run):
    """Return True while a search of hyperparameters is not completed."""
    return any(model.sliced_search is not None for model in (run.objective, *models_of(run)))


def learnt(target, observations, holds):
    """Return a surrogate with hyperparameters learnt from observations and the data set.

    Of more than 1000 observations the latest are used, unless none is ever removed and the
    hyperparameters are held. Of these and the data set the search uses the most relevant ones.

    Parameters
    ----------
    target : Target
    observations : list of Answer
    holds : bool
        Hold the hyperparameters.
    """
    run, surrogate = target.run, target.model.surrogate
    known = [answer for answer in observations if target.has_value(answer)]
    if not known:
        return surrogate
    new = target.data_of(known, run.history.total + np.arange(len(known)))
    if surrogate is None:
        data = target.data.joined(new)
        return first_surrogate(target, data.take(slice(-_MAX_LEARNT, None)))
    if not (holds and run.never_drops):
        new = new.take(slice(-_MAX_LEARNT, None))
    surrogate = surrogate.condition_on(*training(run, new), restandardize=True)
    if holds:
        return surrogate
    data = target.data.joined(new)
    times = surrogate.X_train_[:, -1]
    surrogate, arguments = _before_search(target, surrogate, data, times)
    return _on_relevant_rows(target, surrogate, data).refit(**arguments)


# --- predictions ----------------------------------------------------------------------------------


def posterior_at_rows(run, surrogate, rows, times):
    """Return mean and standard deviation (m,) of f at rows (m, d), times (m,), in units of y."""
    places = run.domain.unit_of(rows)
    mean, std = np.empty(len(rows)), np.empty(len(rows))
    alone = np.unique(times)
    if len(alone) > 1 and isinstance(surrogate, FittedGP):
        # Until some time the surrogate is the same: one call predicts all of these times.
        n = len(alone)
        while n and surrogate.at(alone[n - 1]) is not surrogate:
            n -= 1
        together, alone = np.isin(times, alone[:n]), alone[n:]
        if n:
            X = np.column_stack([places, times])[together]
            mean[together], std[together] = surrogate.predict(X, return_std=True)
    for t in alone:
        here = times == t
        mean[here], std[here] = surrogate.at(t).posterior_at(t)(places[here])
    return run.sign * mean, std
