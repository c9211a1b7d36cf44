"""A sampler for Optuna: its storages, dashboards and workers around an optimizer of this package.

The study's storage is the truth. All that a sampler knows, it learns from the trials that it finds
there, so that any number of processes and machines may work on one study, and begin again after a
crash; what it has learnt from trials that have not changed is kept in memory.
"""

from __future__ import annotations

import copy
import logging
import math
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone

from .._checks import check_int, finite_number, invalid
from ..domain import ParameterSpace
from ..exceptions import InvalidObservationError, MissingExtraError
from ..optimizers._names import as_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from ..optimizers import BayesianOptimizer

try:
    from optuna.distributions import CategoricalDistribution, FloatDistribution
    from optuna.samplers import BaseSampler, TPESampler
    from optuna.study import StudyDirection
    from optuna.trial import TrialState
except ImportError as exc:
    raise MissingExtraError(
        'sktvbo.integrations.optuna needs Optuna: pip install "sktvbo[optuna]".'
    ) from exc

__all__ = ["TimeVaryingSampler"]

_logger = logging.getLogger(__name__)


class TimeVaryingSampler(BaseSampler):
    """Sampler that tracks an optimum that moves while the study goes on.

    Parameters
    ----------
    algorithm : str or optimizer, default="W-DBO"
        An algorithm's name in the literature, as in `sktvbo.optimizers`, or an optimizer with
        parameters of your choice. Its domain and direction are the study's.
    time : "start", "number", str or callable, default="start"
        The time of a trial: when it started, in seconds since 1970; its number; the user attribute
        of another name, to be set before the trial's first parameter is suggested; or
        ``time(study, trial)``, a float, of a ``FrozenTrial``.
    group : bool, default=True
        Model parameters that always occur together, each such group by an optimizer of its own, as
        conditional spaces need it. False: model only what all trials have in common.
    constraints_func : callable, default=None
        ``constraints_func(trial)``, a list of floats, of the `FrozenTrial` of each trial that is
        complete or pruned, as for Optuna's own samplers. A trial whose values are all 0 or less is
        feasible. They are stored with the trial. Optuna deprecates it, with a warning, in favour of
        ``trial.set_constraint(name, value)`` in the objective, which is heeded as well.
    seed : int, default=None
        Random draws depend on it and on the trial's number, so that processes with the same seed do
        not draw the same.

    Raises
    ------
    ValueError
        A parameter that makes no sense; values of ``constraints_func`` that are NaN.

    Notes
    -----
    - Complete trials are told, and pruned ones with their last intermediate value; failed ones as
      failures, from which is learnt where and when trials fail. A value that is infinite is taken
      for the worst, or the best, of the finite ones.
    - Trials that are not feasible, however their constraints were set, are told as failures as
      well: which places are, and when, is learnt. Until one is feasible all are drawn at random.
    - Running trials are pending: others keep away from them, on whatever machine they run.
    - Where the range of a parameter changes, the latest is what is searched, and trials outside of
      it are left out. Parameters that no finished trial has are drawn at random, and so are all
      until there are ``n_initial_points`` trials of their group.
    - The study has one objective.
    - Several processes on one SQLite file wait for one another, and after five seconds SQLite gives
      up, unless the storage says otherwise: ``RDBStorage("sqlite:///study.db",
      engine_kwargs={"connect_args": {"timeout": 120.0}})``.

    Examples
    --------
    >>> import optuna
    >>> from sktvbo.integrations.optuna import TimeVaryingSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> sampler = TimeVaryingSampler("W-DBO", time="number", seed=0)
    >>> study = optuna.create_study(sampler=sampler)
    >>> def objective(trial):
    ...     x = trial.suggest_float("x", 0.0, 10.0)
    ...     return (x - 3.0 - 0.05 * trial.number) ** 2      # the best place moves
    >>> study.optimize(objective, n_trials=40)
    >>> late = [trial.params["x"] for trial in study.trials[-5:]]
    >>> bool(abs(np.median(late) - 5.0) < 1.0)
    True
    """

    def __init__(
        self,
        algorithm: str | BayesianOptimizer = "W-DBO",
        *,
        time: str | Callable[[FrozenTrial], float] = "start",
        group: bool = True,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        seed: int | None = None,
    ) -> None:
        if not (constraints_func is None or callable(constraints_func)):
            raise invalid("constraints_func", "a callable or None", constraints_func, self)
        if not (isinstance(time, str) or callable(time)):
            expected = "'start', 'number', the name of a user attribute or a callable"
            raise invalid("time", expected, time, self)
        self._template = as_optimizer(algorithm, owner=self)
        self._time = time
        self._group = bool(group)
        self._constraints = None
        if constraints_func is not None:
            # It evaluates and stores them, as Optuna's samplers do, and is asked for nothing else.
            self._constraints = TPESampler(constraints_func=constraints_func)
        self._seed = None if seed is None else check_int(seed, "seed", self, low=0)
        self._models = {}
        self._given = {}  # to running trials, by the study's name and their number
        self._lock = threading.Lock()

    def __getstate__(self):
        # What was learnt is in the storage.
        return vars(self) | {"_models": {}, "_given": {}, "_lock": None}

    def __setstate__(self, state):
        vars(self).update(state, _lock=threading.Lock())

    # --- what Optuna calls ------------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Parameters that are drawn together; see `optuna.samplers.BaseSampler`."""
        self._check_objectives(study)
        finished = study.get_trials(deepcopy=False, states=_FINISHED)
        return {
            name: distribution
            for names in _groups(finished, self._group)
            for name, distribution in _latest_distributions(finished, names).items()
            if not distribution.single()
        }

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Values of these parameters; see `optuna.samplers.BaseSampler`."""
        self._check_objectives(study)
        if not search_space:
            return {}
        with self._lock:
            trials = study.get_trials(deepcopy=False, states=_KNOWN)
            finished = [other for other in trials if other.state in _FINISHED]
            ended = [other for other in trials if other.state != TrialState.RUNNING]
            running = [
                other
                for other in trials
                if other.state == TrialState.RUNNING and other.number != trial.number
            ]
            # Optuna stores a trial's parameters when they are suggested, which is later.
            awaited = {(study.study_name, other.number) for other in running}
            given = {
                key: values
                for key, values in self._given.items()
                if key[0] != study.study_name or key in awaited
            }
            models, params = {}, {}
            for names in _groups(finished, self._group):
                axes = {name: search_space[name] for name in names if name in search_space}
                if axes:
                    key = study.study_name, study.direction, tuple(axes.items())
                    model = self._models.get(key) or self._new_model(study, axes)
                    models[key] = model.learnt(ended, lambda other: self._when(study, other))
                    params |= self._query(study, trial, models[key], running)
            self._models = models
            self._given = given | {(study.study_name, trial.number): params}
        return params

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """The value of one parameter, at random; see `optuna.samplers.BaseSampler`."""
        self._check_objectives(study)
        space = _Space({param_name: param_distribution})
        return self._random(space, trial)[param_name]

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Store the trial's constraints; see `optuna.samplers.BaseSampler`."""
        if self._constraints is not None:
            self._constraints.after_trial(study, trial, state, values)

    # --- steps ------------------------------------------------------------------------------------

    def _check_objectives(self, study):
        if len(study.directions) != 1:
            expected, got = "one with one objective", f"{len(study.directions)} objectives"
            raise invalid("The study", expected, got=got, advice="Use another sampler.")

    def _new_model(self, study, axes):
        space = _Space(axes)
        optimizer = clone(self._template).set_params(
            domain=space.domain,
            maximize=study.direction == StudyDirection.MAXIMIZE,
            random_state=self._seed,
        )
        return _Model(space, optimizer)

    def _query(self, study, trial, model, running):
        """Values for a trial, away from those of the running ones."""
        if model.n_told == 0 or model.optimizer.surrogate_ is None:
            return self._random(model.space, trial)
        # A copy goes its own way: what is pending now need not be at the next call.
        optimizer = copy.copy(model.optimizer)
        for other in running:
            given = self._given.get((study.study_name, other.number), {})
            point = model.space.encode(given | other.params)
            if point is not None:
                optimizer.announce(point, self._when(study, other))
        # Trials that began later elsewhere may have been told already.
        now = max(self._when(study, trial), model.latest)
        return model.space.decode(optimizer.ask(now))

    def _random(self, space, trial):
        """Values drawn at random."""
        names = "\0".join(space.distributions).encode()
        entropy = None if self._seed is None else [self._seed, trial.number, *names]
        rng = np.random.RandomState(np.random.MT19937(np.random.SeedSequence(entropy)))
        return space.decode(space.domain.decode(space.domain.sample(1, rng)[0]))

    def _when(self, study, trial):
        """The time of a trial."""
        if callable(self._time):
            time = self._time(study, trial)
        elif self._time == "start":
            time = trial.datetime_start.timestamp()
        elif self._time == "number":
            time = trial.number
        elif self._time in trial.user_attrs:
            time = trial.user_attrs[self._time]
        else:
            raise invalid(
                f"Trial {trial.number}",
                f"one with the user attribute {self._time!r}, its time",
                got=f"one with {sorted(trial.user_attrs)}",
                advice="Set it before the first suggestion: "
                f"trial.set_user_attr({self._time!r}, t).",
                error=InvalidObservationError,
            )
        return finite_number(time, f"The time of trial {trial.number}", InvalidObservationError)


# --- parameters -----------------------------------------------------------------------------------

_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
_KNOWN = (*_FINISHED, TrialState.FAIL, TrialState.RUNNING)


def _groups(trials, several):
    """Lists of the names that always occur together, or one of those that all trials have."""
    sets = list(dict.fromkeys(frozenset(trial.distributions) for trial in trials))
    if not several:
        common = frozenset.intersection(*sets) if sets else frozenset()
        return [sorted(common)] if common else []
    atoms = []
    for names in sets:
        parts = [part for atom in atoms for part in (atom & names, atom - names) if part]
        atoms = parts + [rest for rest in [names.difference(*atoms)] if rest]
    return [sorted(atom) for atom in atoms]


def _latest_distributions(trials, names):
    """Distributions that these parameters, which occur together, have in their latest trial."""
    latest = next(trial for trial in reversed(trials) if names[0] in trial.distributions)
    return {name: latest.distributions[name] for name in names}


class _Space:
    """Optuna's distributions by name, and the domain that stands for them."""

    def __init__(self, distributions):
        self.distributions = distributions
        self.domain = ParameterSpace({name: _spec(d) for name, d in distributions.items()})

    def encode(self, params):
        """The point of the domain with these parameters, or None where one lacks or is outside."""
        point = {}
        for name, distribution in self.distributions.items():
            if name not in params or not _contains(distribution, params[name]):
                return None
            point[name] = _encode(distribution, params[name])
        return point

    def decode(self, point):
        """The parameters of a point of the domain."""
        return {name: _decode(self.distributions[name], v) for name, v in point.items()}


def _spec(distribution):
    """The term of a `ParameterSpace` that stands for a distribution."""
    if isinstance(distribution, CategoricalDistribution):
        return "categorical", list(range(len(distribution.choices)))
    low, high = distribution.low, distribution.high
    if distribution.log:
        return (
            "log-real" if isinstance(distribution, FloatDistribution) else "log-integer",
            low,
            high,
        )
    if distribution.step is None:
        return "real", low, high
    return "integer", 0, round((high - low) / distribution.step)


def _contains(distribution, value):
    if isinstance(distribution, CategoricalDistribution):
        return any(value is choice or value == choice for choice in distribution.choices)
    return distribution.low <= value <= distribution.high


def _encode(distribution, value):
    if isinstance(distribution, CategoricalDistribution):
        return int(distribution.to_internal_repr(value))
    if distribution.log or distribution.step is None:
        return value
    return round((value - distribution.low) / distribution.step)


def _decode(distribution, value):
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[value]
    if distribution.log or distribution.step is None:
        return value
    # A sum of floats must not exceed the end.
    return min(distribution.low + value * distribution.step, distribution.high)


# --- what was learnt ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Model:
    """An optimizer that was told the trials of one group of parameters; a value.

    Attributes
    ----------
    space : _Space
    optimizer : BayesianOptimizer
    told : dict of int to (datetime, float)
        Of each trial told, by number: when it was finished, and its value.
    latest : float
        Latest time told.
    """

    space: _Space
    optimizer: object
    told: dict = field(default_factory=dict)
    latest: float = -math.inf

    @property
    def n_told(self):
        return len(self.told)

    def learnt(self, trials, when):
        """The model with these trials told, which have ended, in the order of their times."""
        found = self._observations(trials)
        seen = {number: (trial.datetime_complete, y) for number, (trial, _, y) in found.items()}
        finite = [y for *_, y in found.values() if y is not None and math.isfinite(y)]
        if not finite:
            return self
        model = self
        if any(seen.get(number) != entry for number, entry in self.told.items()):
            _logger.info("Trials that were told have changed: all are told anew.")
            model = _Model(self.space, clone(self.optimizer))
        new = sorted((when(found[i][0]), i) for i in seen.keys() - model.told.keys())
        if not new:
            return model
        optimizer = copy.copy(model.optimizer)
        for time, number in new:
            _, point, y = found[number]
            if y is None:
                optimizer.tell(point, t=time, failed=True)
            else:
                optimizer.tell(point, min(max(y, min(finite)), max(finite)), time)
        _logger.debug("Told %d trials of %s.", len(new), list(self.space.distributions))
        latest = max(model.latest, new[-1][0])
        return _Model(self.space, optimizer, model.told | {i: seen[i] for _, i in new}, latest)

    def _observations(self, trials):
        """Trial, point and value, None of a failure, of the trials of this group, by number."""
        found = {}
        for trial in trials:
            point = self.space.encode(trial.params)
            failed = trial.state == TrialState.FAIL or not _feasible(trial)
            y = None if failed else _value(trial)
            if point is not None and (failed or y is not None):
                found[trial.number] = trial, point, y
        return found


def _feasible(trial):
    return all(value <= 0.0 for value in trial.constraints.values())


def _value(trial):
    """What a trial that is complete or pruned came to, or None where nobody knows."""
    if trial.state == TrialState.COMPLETE:
        return trial.value
    y = trial.intermediate_values.get(trial.last_step)
    return None if y is None or math.isnan(y) else y
