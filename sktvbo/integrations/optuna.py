"""Sampler for Optuna: its storages, dashboards and workers with an optimizer of this package.

A sampler derives its state from the trials in the study's storage. Any number of processes and
machines may therefore work on one study, and resume after a crash. Models of unchanged trials are
cached in memory.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import LinearConstraint
from sklearn.base import clone

from .._validation import check_int, check_random_state, finite_number, invalid
from .._values import replaced
from .._warnings import warn_caller
from ..domain import StepLimit, as_domain
from ..domain._constrained import constrained
from ..domain._rules import as_list
from ..exceptions import DomainError, InvalidObservationError, MissingExtraError
from ..optimizers import RandomSearch
from ..optimizers._base import begun, run_of, with_run
from ..optimizers._names import as_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from ..optimizers import BayesianOptimizer

try:
    from optuna.samplers import BaseSampler, TPESampler
    from optuna.study import StudyDirection
    from optuna.trial import TrialState

    from ._optuna_space import Rule, Space, only_value
    from ._optuna_study import CHOSEN, KNOWN, ON_THE_WAY, Memory, Model, Step, limiter_of, start_of
except ImportError as exc:
    raise MissingExtraError(
        'sktvbo.integrations.optuna needs Optuna: pip install "sktvbo[optuna]".'
    ) from exc

__all__ = ["TimeVaryingSampler"]

_logger = logging.getLogger(__name__)


class TimeVaryingSampler(BaseSampler):
    """Sampler that tracks an optimum moving during the study.

    Parameters
    ----------
    algorithm : str or optimizer, default="W-DBO"
        An algorithm's name, as in `sktvbo.optimizers`, or an optimizer. Domain, direction and
        storage (in place of a journal) are the study's. ``start_points``, ``constraints``, and
        ``max_step`` unless it is a number, use dicts with names of parameters.
    time : "start", "number", str or callable, default="start"
        Time of a trial: its start, in seconds since 1970; its number; the user attribute of another
        name, set before the first suggestion; or ``time(study, trial)``, a float, with a
        ``FrozenTrial``.
    group : bool, default=True
        Model each group of parameters that always occur together with a separate optimizer, for
        conditional spaces. False: model only the parameters common to all trials.
    constraints_func : callable, default=None
        ``constraints_func(trial)`` returns a list of floats for the `FrozenTrial` of each complete
        or pruned trial, stored with the trial. Values of at most 0 are feasible. Optuna deprecates
        it; ``trial.set_constraint(name, value)`` in the objective also works.
    seed : int, default=None
        Random draws depend on it and on the trial's number: processes with the same seed draw
        different values. None takes the algorithm's ``random_state``.

    Raises
    ------
    ValueError
        An invalid parameter; values of ``constraints_func`` that are NaN.
    DomainError
        Start points outside of the suggested ranges, constraints that cannot be satisfied, ranges
        without a value that Optuna can store as a float.

    Notes
    -----
    - The optimizer is told complete trials, pruned ones with their last intermediate value, and
      failed ones as failures. It learns where and when trials fail. An infinite value counts as the
      worst, or the best, of the finite ones.
    - Infeasible trials are told as failures as well. Until one is feasible, all are drawn at
      random. Constraints that the optimizer's ``outcome_constraints`` name are modelled instead:
      ``{"latency": (None, 0.0)}`` with ``trial.set_constraint("latency", seconds - 0.2)``. A trial
      without them is a failure; a warning names those that no complete trial has set.
    - Running trials of all processes are pending queries, which new ones keep away from.
    - Each of the ``start_points`` is given to one trial, in order; enqueued trials come first.
      Parameters that it does not name are drawn as usual.
    - ``max_step`` counts from the latest value of each parameter in a trial of any state.
    - Before a trial has shown all parameters they are drawn one by one, each such that
      ``constraints`` can hold. A constraint is ignored if it needs a parameter that the trial
      lacks. Values of enqueued trials are used without a check.
    - If the range of a parameter changes, the latest one is searched, and trials outside of it are
      left out. A group has a surrogate after ``n_initial_points`` trials.
    - The study has one objective.
    - Several processes on one SQLite file wait for each other. SQLite gives up after five seconds
      unless the storage sets another limit: ``RDBStorage("sqlite:///study.db",
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
    ...     return (x - 3.0 - 0.05 * trial.number) ** 2      # the optimum moves
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
        self._template = template = as_optimizer(algorithm, owner=self)
        _check_template(template)
        # Draws a single parameter.
        self._alone = RandomSearch(max_step=template.max_step)
        self._start = [dict(point) for point in template.start_points or ()]
        self._time = time
        self._group = bool(group)
        self._constraints = None
        if constraints_func is not None:
            # Used only for its evaluation and storage of constraints.
            self._constraints = TPESampler(constraints_func=constraints_func)
        self._seed = None if seed is None else check_int(seed, "seed", self, low=0)
        if seed is None and template.random_state is not None:
            rng = copy.deepcopy(check_random_state(template.random_state))
            self._seed = int(rng.randint(2**31))
        self._memory = Memory()
        self._lock = threading.Lock()

    def __getstate__(self):
        # The memory is rebuilt from the storage.
        return vars(self) | {"_memory": None, "_lock": None}

    def __setstate__(self, state):
        vars(self).update(state, _memory=Memory(), _lock=threading.Lock())

    # --- interface of Optuna ----------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that are drawn together; see `optuna.samplers.BaseSampler`."""
        _check_objectives(study)
        with self._lock:
            step = self._new_step(study, trial)
            spaces = [step.memory.distributions(names, step.running) for names in step.groups]
        return {
            name: distribution
            for space in spaces
            for name, distribution in space.items()
            if not distribution.single()
        }

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values of these parameters; see `optuna.samplers.BaseSampler`."""
        _check_objectives(study)
        if not search_space:
            return {}
        with self._lock:
            step = self._new_step(study, trial)
            memory, models, params = step.memory, {}, {}
            for names in step.groups:
                for name, distribution in memory.distributions(names, step.running).items():
                    if distribution.single():
                        step.known.setdefault(name, only_value(distribution))
                axes = {name: search_space[name] for name in names if name in search_space}
                if axes:
                    model = memory.models.get(tuple(axes))
                    if model is None or model.space.distributions != axes:
                        model = self._new_model(study, self._template, axes)
                    model = model.with_trials(memory.ended, step.when)
                    found, models[tuple(axes)] = self._query(step, model)
                    step.known = found | step.known
                    params |= found
            memory.models = models
            memory.given[trial.number] = params
            unknown = memory.newly_unknown()
            unset = memory.newly_unset(self._template.outcome_constraints or {})
        if unknown:
            warn_caller(
                f"A constraint is ignored: it needs {', '.join(unknown)}, which no trial has yet.",
            )
        if unset:
            given = ", ".join(map(repr, sorted(memory.constraints))) or "none"
            warn_caller(
                f"No complete trial has set the constraint {', '.join(map(repr, unset))} of "
                f"outcome_constraints; set were: {given}. A trial without it is a failure. Use the "
                "same name in trial.set_constraint(name, value).",
            )
        return params

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the value of a single parameter; see `optuna.samplers.BaseSampler`."""
        _check_objectives(study)
        if param_distribution.single():
            return only_value(param_distribution)
        with self._lock:
            step = self._new_step(study, trial)
            model = self._new_model(study, self._alone, {param_name: param_distribution})
            return self._query(step, model, alone=True)[0][param_name]

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the trial's constraints; see `optuna.samplers.BaseSampler`."""
        if self._constraints is not None:
            self._constraints.after_trial(study, trial, state, values)

    # --- steps ------------------------------------------------------------------------------------

    def _new_step(self, study, trial):
        """Update the memory and return the information for drawing values of a trial."""
        # The storage has all trials: the study filtered by Hyperband has one bracket.
        trials = study._storage.get_all_trials(study._study_id, deepcopy=False, states=KNOWN)
        ended = [other for other in trials if other.state != TrialState.RUNNING]
        running = [
            other
            for other in trials
            if other.state == TrialState.RUNNING and other.number != trial.number
        ]
        key = study.study_name, study.direction
        if not self._memory.is_of(key, ended):
            if self._memory.key == key:
                _logger.info("Known trials have changed: all are told again.")
            self._memory = Memory(key)

        def when(other):
            return self._time_of(study, other)

        self._memory.add(ended, None if self._template.max_step is None else when)
        # Optuna stores a trial's parameters later, when they are suggested.
        awaited = {other.number for other in running} | {trial.number}
        given = self._memory.given
        self._memory.given = {number: given[number] for number in given.keys() & awaited}
        groups = self._memory.groups(running, self._group)
        # The only trace of the parameters that Optuna's PartialFixedSampler fixes.
        held = getattr(study.sampler, "_fixed_params", {})
        known = {**held, **trial.system_attrs.get("fixed_params", {}), **trial.params}
        return Step(study, trial, running, self._memory, when, groups, known)

    def _new_model(self, study, template, axes):
        space = Space(axes)
        limit = template.max_step
        if limit is not None:
            limit = limit if isinstance(limit, StepLimit) else StepLimit(limit)
            if isinstance(limit.part, Mapping):
                limit = StepLimit({n: limit.part[n] for n in axes if n in limit.part}, limit.per)
        optimizer = clone(template).set_params(
            domain=space.domain,
            maximize=study.direction == StudyDirection.MAXIMIZE,
            random_state=self._seed,
            max_step=limit,
            constraints=None if template is self._alone else self._rules(space, {}),
            start_points=None,
        )
        # Start points are given to trials by `_start_point`, with any other parameters.
        return Model(space, begun(optimizer))

    def _rules(self, space, known):
        """Return the constraints on points of a space, given known parameters."""
        found = as_list(self._template.constraints, self._template)
        return [Rule(one, space, known, self._memory.unknown) for one in found] or None

    def _query(self, step, model, alone=False):
        """Return values for a trial, away from those of running ones, and the updated model."""
        space, limited = model.space, self._template.max_step is not None
        # Trials of other processes that began later may have ended already.
        now = 0.0 if alone and not limited else max(step.when(step.trial), model.latest)
        # A copy, as the pending queries of this call may end before the next one.
        optimizer = copy.copy(model.optimizer)
        for other in () if alone else step.running:
            point = space.encode(step.values_of(other))
            if point is not None:
                optimizer.announce(point, step.when(other))
        run, rng = run_of(optimizer), self._rng(step.trial, space)
        start_point = self._start_point(step)
        start = {name: start_point[name] for name in space.distributions if name in start_point}
        _check_start(space, start)
        known, domain = step.known | start, run.domain
        if (known or alone) and self._template.constraints is not None:
            domain = self._constrained(step, space, known)
        run = replaced(run, rng=rng, config=replaced(run.config, domain=domain))
        if limited:
            run = replaced(run, limiter=limiter_of(step, space, run.limiter, rng))
        if start:
            if len(start) < len(space.distributions):
                # The other parameters are an ordinary query.
                start = space.decode(with_run(optimizer, run).ask(now)) | start
            config = replaced(run.config, start_points=domain.places([space.encode(start)]))
            run = replaced(run, config=config, n_started=0)
        optimizer = with_run(optimizer, run)
        point, run = optimizer.ask(now), run_of(optimizer)
        params = space.decode(point)
        if start and point == space.encode(start):
            params = {name: space.canonical(name, value) for name, value in start.items()}
        elif start and not run.n_started:
            storage = step.study._storage
            storage.set_trial_system_attr(step.trial._trial_id, ON_THE_WAY, True)
        # Some algorithms use the times of earlier queries.
        after = replaced(run_of(model.optimizer), query_sizes=run.query_sizes)
        return params, replace(model, optimizer=with_run(model.optimizer, after))

    def _constrained(self, step, space, known):
        """Return a space's domain, restricted to points that satisfy the constraints."""
        try:
            return constrained(space.domain, self._rules(space, known), self._template)
        except DomainError as exc:
            raise DomainError(
                f"{exc} Trial {step.trial.number} has {known}. Before a trial has shown all "
                "parameters they are drawn one by one. Give a first one that satisfies the "
                "constraints by study.enqueue_trial() or start_points."
            ) from exc

    def _start_point(self, step):
        """Return the start point (dict) that a trial is at or approaching; empty for none."""
        trial, storage = step.trial, step.study._storage
        if not self._start or "fixed_params" in trial.system_attrs:
            return {}
        chosen = storage.get_trial_system_attrs(trial._trial_id).get(CHOSEN)
        if chosen is None:
            taken = step.memory.started.union(map(start_of, step.running))
            left = [i for i in range(len(self._start)) if i not in taken]
            # Earlier trials without any draw take the first ones.
            ahead = sum(
                other.number < trial.number
                and not (other.params or {CHOSEN, "fixed_params"} & other.system_attrs.keys())
                for other in step.running
            )
            if self._template.max_step is not None:
                ahead = 0  # all approach the same one
            if ahead >= len(left):
                return {}
            chosen = left[ahead]
            storage.set_trial_system_attr(trial._trial_id, CHOSEN, chosen)
        return self._start[chosen]

    def _rng(self, trial, space):
        """Return the random state of a trial and a space."""
        names = "\0".join(space.distributions).encode()
        entropy = None if self._seed is None else [self._seed, trial.number, *names]
        return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(entropy)))

    def _time_of(self, study, trial):
        """Return the time of a trial."""
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


def _check_objectives(study):
    if len(study.directions) != 1:
        expected, got = "one with one objective", f"{len(study.directions)} objectives"
        raise invalid("The study", expected, got=got, advice="Use another sampler.")


def _check_template(optimizer):
    """Raise a ValueError for a parameter that a study does not support."""
    if optimizer.journal is not None:
        advice = (
            "The sampler derives its state from the trials in the study's storage, which is the "
            "journal: optuna.create_study(storage=..., study_name=..., load_if_exists=True) "
            "resumes a study."
        )
        raise invalid("journal", "None in a study", optimizer.journal, optimizer, advice=advice)
    if optimizer.safety is not None:
        raise invalid("safety", "None in a study", optimizer.safety, optimizer)
    if optimizer.domain is not None:
        domain = as_domain(optimizer.domain)
        if domain.is_constrained or domain.n_chosen < domain.n_dims:
            expected = "None in a study, or without constraints and context"
            advice = "The domain is the study's; use constraints=... instead."
            raise invalid("domain", expected, domain, optimizer, advice=advice)
    points = optimizer.start_points
    if points is not None and not (
        isinstance(points, list | tuple) and all(isinstance(point, Mapping) for point in points)
    ):
        raise invalid("start_points", "a list of dicts in a study", points, optimizer)
    for one in as_list(optimizer.constraints, optimizer):
        if isinstance(one, LinearConstraint):
            expected = "callables of a dict of parameters, or NonlinearConstraints, in a study"
            raise invalid("constraints", expected, one, optimizer)
    part = getattr(optimizer.max_step, "part", optimizer.max_step)
    if not (part is None or isinstance(part, Mapping)):
        if np.ndim(part):
            raise invalid("max_step", "a number or a dict in a study", part, optimizer)
        StepLimit(part).parts(as_domain([(0.0, 1.0)]), optimizer)


def _check_start(space, start):
    """Raise a DomainError for values of a start point outside of their distribution."""
    for name, value in start.items():
        if not space.contains(name, value):
            expected = f"a value of {space.distributions[name]!r}"
            raise invalid(f"{name!r} in start_points", expected, value, error=DomainError)
