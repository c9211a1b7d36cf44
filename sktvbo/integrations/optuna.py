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
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint
from sklearn.base import clone
from sklearn.utils import check_random_state

from .._checks import check_int, finite_number, invalid
from .._values import replaced
from ..caution import StepLimit
from ..domain import ParameterSpace, as_domain
from ..domain._constrained import constrained
from ..domain._rules import as_list
from ..exceptions import DomainError, InvalidObservationError, MissingExtraError
from ..optimizers import RandomSearch
from ..optimizers._names import as_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

    from ..optimizers import BayesianOptimizer

try:
    from optuna.distributions import CategoricalDistribution, IntDistribution
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
        parameters of your choice. Its domain and direction are the study's. What names parameters
        does so by dicts: ``start_points``, ``constraints``, and ``max_step`` unless it is a number.
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
        not draw the same. None takes the algorithm's ``random_state``.

    Raises
    ------
    ValueError
        A parameter that makes no sense; values of ``constraints_func`` that are NaN.
    DomainError
        Start points outside of what is suggested, constraints that cannot be satisfied, ranges of
        which Optuna, which stores floats, can store no value.

    Notes
    -----
    - Complete trials are told, and pruned ones with their last intermediate value; failed ones as
      failures, from which is learnt where and when trials fail. A value that is infinite is taken
      for the worst, or the best, of the finite ones.
    - Trials that are not feasible, however their constraints were set, are told as failures as
      well: which places are, and when, is learnt. Until one is feasible all are drawn at random.
    - Running trials are pending: others keep away from them, on whatever machine they run.
    - Each of the ``start_points`` is given to one trial, in their order, whoever asks; trials that
      were enqueued come first. Parameters that it does not name are drawn as usual.
    - ``max_step`` is from where the latest trial has left each parameter, whatever became of it.
    - Before a trial has shown all parameters they are drawn one by one, each so that
      ``constraints`` can hold. Where one asks for a parameter that a trial has not, it is not
      heeded. Values of enqueued trials are taken as they are.
    - Where the range of a parameter changes, the latest is what is searched, and trials outside of
      it are left out. Until there are ``n_initial_points`` trials of a group its parameters are
      drawn at random.
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
        self._template = template = as_optimizer(algorithm, owner=self)
        _check_template(template)
        # Draws one parameter by itself.
        self._alone = RandomSearch(max_step=template.max_step)
        self._start = [dict(point) for point in template.start_points or ()]
        self._time = time
        self._group = bool(group)
        self._constraints = None
        if constraints_func is not None:
            # It evaluates and stores them, as Optuna's samplers do, and is asked for nothing else.
            self._constraints = TPESampler(constraints_func=constraints_func)
        self._seed = None if seed is None else check_int(seed, "seed", self, low=0)
        if seed is None and template.random_state is not None:
            rng = copy.deepcopy(check_random_state(template.random_state))
            self._seed = int(rng.randint(2**31))
        self._memory = _Memory()
        self._lock = threading.Lock()

    def __getstate__(self):
        # What was learnt is in the storage.
        return vars(self) | {"_memory": None, "_lock": None}

    def __setstate__(self, state):
        vars(self).update(state, _memory=_Memory(), _lock=threading.Lock())

    # --- what Optuna calls ------------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Parameters that are drawn together; see `optuna.samplers.BaseSampler`."""
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
        """Values of these parameters; see `optuna.samplers.BaseSampler`."""
        _check_objectives(study)
        if not search_space:
            return {}
        with self._lock:
            step = self._new_step(study, trial)
            memory, models, params = step.memory, {}, {}
            for names in step.groups:
                for name, distribution in memory.distributions(names, step.running).items():
                    if distribution.single():
                        step.known.setdefault(name, _only_value(distribution))
                axes = {name: search_space[name] for name in names if name in search_space}
                if axes:
                    model = memory.models.get(tuple(axes))
                    if model is None or model.space.distributions != axes:
                        model = self._new_model(study, self._template, axes)
                    model = model.learnt(memory.ended, step.when)
                    found, models[tuple(axes)] = self._query(step, model)
                    step.known = found | step.known
                    params |= found
            memory.models = models
            memory.given[trial.number] = params
            unknown = memory.unknown_at_last()
        if unknown:
            warnings.warn(
                f"A constraint asks for {', '.join(unknown)}, which no trial has had so far: it is "
                "not heeded where it does.",
                stacklevel=2,
            )
        return params

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """The value of one parameter by itself; see `optuna.samplers.BaseSampler`."""
        _check_objectives(study)
        if param_distribution.single():
            return _only_value(param_distribution)
        with self._lock:
            step = self._new_step(study, trial)
            model = self._new_model(study, self._alone, {param_name: param_distribution})
            return self._query(step, model, alone=True)[0][param_name]

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

    def _new_step(self, study, trial):
        """What is known when values are drawn for a trial; the memory is brought up to date."""
        # Of all trials: a pruner such as Hyperband shows those of one bracket.
        trials = study._storage.get_all_trials(study._study_id, deepcopy=False, states=_KNOWN)
        ended = [other for other in trials if other.state != TrialState.RUNNING]
        running = [
            other
            for other in trials
            if other.state == TrialState.RUNNING and other.number != trial.number
        ]
        key = study.study_name, study.direction
        if not self._memory.is_of(key, ended):
            if self._memory.key == key:
                _logger.info("Trials that were told have changed: all are told again.")
            self._memory = _Memory(key)

        def when(other):
            return self._when(study, other)

        self._memory.add(ended, None if self._template.max_step is None else when)
        # Optuna stores a trial's parameters when they are suggested, which is later.
        awaited = {other.number for other in running} | {trial.number}
        given = self._memory.given
        self._memory.given = {number: given[number] for number in given.keys() & awaited}
        groups = self._memory.groups(running, self._group)
        known = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        return _Step(study, trial, running, self._memory, when, groups, known)

    def _new_model(self, study, template, axes):
        space = _Space(axes)
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
        # Trials are given the start points one by one, whatever their other parameters.
        n_initial = optimizer._n_initial(len(self._start))
        optimizer._run = replaced(optimizer._new_run(), n_initial=n_initial)
        return _Model(space, optimizer)

    def _rules(self, space, known):
        """The constraints of points of a space, beside parameters that are known."""
        found = as_list(self._template.constraints, self._template)
        return [_Rule(one, space, known, self._memory.unknown) for one in found] or None

    def _query(self, step, model, alone=False):
        """Values for a trial, away from those of the running ones; and the model afterwards."""
        space, limited = model.space, self._template.max_step is not None
        # Trials that began later elsewhere may have been told already.
        now = 0.0 if alone and not limited else max(step.when(step.trial), model.latest)
        # A copy goes its own way: what is pending now need not be at the next call.
        optimizer = copy.copy(model.optimizer)
        for other in () if alone else step.running:
            point = space.encode(step.values_of(other))
            if point is not None:
                optimizer.announce(point, step.when(other))
        run, rng = optimizer._run, self._rng(step.trial, space)
        start_point = self._start_point(step)
        start = {name: start_point[name] for name in space.distributions if name in start_point}
        known, domain = step.known | start, run.domain
        if (known or alone) and self._template.constraints is not None:
            domain = self._constrained(step, space, known)
        run = replaced(run, rng=rng, domain=domain)
        if limited:
            run = replaced(run, caution=_caution(step, space, run.caution, rng))
        if start:
            _check_start(space, start)
            if len(start) < len(space.distributions):
                # The rest of it is a query like any other.
                optimizer._run = run
                start = space.decode(optimizer.ask(now)) | start
            run = replaced(run, start=domain.places([space.encode(start)]), n_started=0)
        optimizer._run = run
        point = optimizer.ask(now)
        params = space.decode(point)
        if start and point == space.encode(start):
            params = {name: space.canonical(name, value) for name, value in start.items()}
        elif start and not optimizer._run.n_started:
            storage = step.study._storage
            storage.set_trial_system_attr(step.trial._trial_id, _ON_THE_WAY, True)
        # Some algorithms follow the times at which queries were made.
        after = copy.copy(model.optimizer)
        after._run = replaced(after._run, queries=optimizer._run.queries)
        return params, replace(model, optimizer=after)

    def _constrained(self, step, space, known):
        """A space's domain, of which what satisfies the constraints may be queried."""
        try:
            return constrained(space.domain, self._rules(space, known), self._template)
        except DomainError as exc:
            raise DomainError(
                f"{exc} Trial {step.trial.number} has {known}. Before a trial has shown all "
                "parameters they are drawn one by one: let study.enqueue_trial() or start_points "
                "give a first one that satisfies the constraints."
            ) from exc

    def _start_point(self, step):
        """The start point (dict) that a trial is at, or on its way to; empty for none."""
        trial, storage = step.trial, step.study._storage
        if not self._start or "fixed_params" in trial.system_attrs:
            return {}
        chosen = storage.get_trial_system_attrs(trial._trial_id).get(_CHOSEN)
        if chosen is None:
            taken = step.memory.started.union(map(_started, step.running))
            left = [i for i in range(len(self._start)) if i not in taken]
            # Trials that began before, and have drawn nothing yet, take the first of them.
            ahead = sum(
                other.number < trial.number
                and not (other.params or {_CHOSEN, "fixed_params"} & other.system_attrs.keys())
                for other in step.running
            )
            if self._template.max_step is not None:
                ahead = 0  # all are on the way to the same one
            if ahead >= len(left):
                return {}
            chosen = left[ahead]
            storage.set_trial_system_attr(trial._trial_id, _CHOSEN, chosen)
        return self._start[chosen]

    def _rng(self, trial, space):
        """Randomness of a trial's own."""
        names = "\0".join(space.distributions).encode()
        entropy = None if self._seed is None else [self._seed, trial.number, *names]
        return np.random.RandomState(np.random.MT19937(np.random.SeedSequence(entropy)))

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


def _check_objectives(study):
    if len(study.directions) != 1:
        expected, got = "one with one objective", f"{len(study.directions)} objectives"
        raise invalid("The study", expected, got=got, advice="Use another sampler.")


def _check_template(optimizer):
    """Raise a ValueError for a parameter that makes no sense in a study."""
    if optimizer.journal is not None:
        expected, advice = "None in a study", "The study's storage is the journal."
        raise invalid("journal", expected, optimizer.journal, optimizer, advice=advice)
    if optimizer.domain is not None:
        domain = as_domain(optimizer.domain)
        if domain.is_constrained or domain.n_chosen < domain.n_dims:
            expected = "None in a study, or without constraints and context"
            advice = "The domain is the study's; constraints=... are heeded."
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
    """Raise a DomainError for values of a start point that trials may not have."""
    for name, value in start.items():
        if not space.contains(name, value):
            expected = f"a value of {space.distributions[name]!r}"
            raise invalid(f"{name!r} in start_points", expected, value, error=DomainError)


def _caution(step, space, caution, rng):
    """That of a run which is where the latest trials have left the parameters of a space."""
    latest = {name: v for name, v in step.memory.places.items() if name in space.distributions}
    for other in step.running:
        key = step.when(other), other.number
        for name, value in step.values_of(other).items():
            if name in space.distributions and latest.get(name, (key,))[0] <= key:
                latest[name] = key, value
    at = {name: space.nearest(name, value) for name, (_, value) in latest.items()}
    at = {name: value for name, value in at.items() if value is not None}
    if not at:
        return caution
    # What no trial has had may be anywhere.
    anywhere = space.domain.decode(space.domain.sample(1, rng)[0])
    row = space.domain.validate_point(anywhere | at)
    return caution.moved(row, max(key[0] for key, _ in latest.values()))


# --- what is known of a study ---------------------------------------------------------------------

_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
_KNOWN = (*_FINISHED, TrialState.FAIL, TrialState.RUNNING)

# System attributes of trials: the number of the start point, and that it was too far for one step.
_CHOSEN, _ON_THE_WAY = "sktvbo:start_point", "sktvbo:on_the_way"


@dataclass
class _Step:
    """What is known when values are drawn for a trial.

    Attributes
    ----------
    study, trial
    running : list of FrozenTrial
        The others that are running.
    memory : _Memory
    when : callable
        The time of a trial.
    groups : list of list of str
        Names of parameters that are modelled together.
    known : dict
        Parameters that the trial has already.
    """

    study: object
    trial: object
    running: list
    memory: object
    when: object
    groups: list
    known: dict

    def values_of(self, other):
        """Parameters of a running trial, suggested or about to be."""
        given = self.memory.given.get(other.number, {})
        return given | other.system_attrs.get("fixed_params", {}) | other.params


class _Memory:
    """Trials of one study that have ended, in the order in which they were found.

    Attributes
    ----------
    key : tuple
        Of the study.
    ended : list of FrozenTrial
    names : set of str
        Parameters of those that are complete or pruned.
    places : dict of str to ((float, int), object)
        Of each parameter the latest time and trial that had it, and its value.
    started : set of int
        Numbers of the start points that were reached, or left out.
    models : dict of tuple of str to _Model
    given : dict of int to dict
        Parameters that running trials were given here, by number.
    unknown : set of str
        Parameters that a constraint has asked for in vain.
    """

    def __init__(self, key=None):
        self.key = key
        self.ended, self.names, self.places, self.started = [], set(), {}, set()
        self.models, self.given, self.unknown = {}, {}, set()
        self._known, self._warned = {}, set()
        # Of each set of parameters that occurred, the latest trial with it.
        self._finished, self._failed = {}, {}

    def is_of(self, key, ended):
        """Whether these are trials of the same study, which have not changed."""
        if self.key != key:
            return False
        pairs = [(self._known.get(trial.number), trial) for trial in ended]
        pairs = [(known, trial) for known, trial in pairs if known is not None]
        return len(pairs) == len(self._known) and all(
            known is trial or _identity(known) == _identity(trial) for known, trial in pairs
        )

    def add(self, ended, when):
        """Remember trials that are new; ``when`` is None if nobody asks for the ``places``."""
        new = [trial for trial in ended if trial.number not in self._known]
        keys = [] if when is None else [(when(trial), trial.number) for trial in new]
        for key, trial in zip(keys, new):
            for name, value in trial.params.items():
                if self.places.get(name, (key,))[0] <= key:
                    self.places[name] = key, value
        for trial in new:
            self._known[trial.number] = trial
            names, finished = frozenset(trial.distributions), trial.state in _FINISHED
            sets = self._finished if finished else self._failed
            if names and (names not in sets or sets[names].number < trial.number):
                sets[names] = trial
            self.names.update(names if finished else ())
            self.started.add(_started(trial))
        self.ended += new

    def groups(self, running, several):
        """Lists of names that always occur together, or one of those that all trials have.

        What no complete or pruned trial has, others have shown.
        """
        found = _groups(self._finished, several)
        if several or not self._finished:
            others = [*self._failed, *(frozenset(trial.distributions) for trial in running)]
            others = [names - self.names for names in others]
            found += _groups([names for names in others if names], several)
        return found

    def distributions(self, names, running):
        """Distributions that parameters, which occur together, have in their latest trial."""
        trials = [*self._finished.values()]
        if names[0] not in self.names:
            trials = [*self._failed.values(), *running]
        trials = [trial for trial in trials if names[0] in trial.distributions]
        latest = max(trials, key=lambda trial: trial.number).distributions
        return {name: latest[name] for name in names}

    def unknown_at_last(self):
        """Names, each once, that constraints have asked for when parameters were known."""
        new = self.unknown - self.names - self._warned if self.names else set()
        self._warned |= new
        self.unknown.clear()
        return sorted(map(repr, new))


def _identity(trial):
    return trial.datetime_complete, trial.state, trial.values


def _started(trial):
    """Number of the start point that a trial has asked for, or None."""
    attributes = trial.system_attrs
    return None if attributes.get(_ON_THE_WAY) else attributes.get(_CHOSEN)


def _groups(sets, several):
    """Lists of the names that always occur together in sets, or one of those that all have."""
    if not several:
        common = frozenset.intersection(*sets) if sets else frozenset()
        return [sorted(common)] if common else []
    atoms = []
    for names in sets:
        parts = [part for atom in atoms for part in (atom & names, atom - names) if part]
        atoms = parts + [rest for rest in [names.difference(*atoms)] if rest]
    return [sorted(atom) for atom in atoms]


# --- parameters -----------------------------------------------------------------------------------


class _Space:
    """Optuna's distributions by name, and the domain that stands for them."""

    def __init__(self, distributions):
        self.distributions = distributions
        self._axes = {name: _axis(d, name) for name, d in distributions.items()}
        self.domain = ParameterSpace({name: axis.spec for name, axis in self._axes.items()})

    def contains(self, name, value):
        """Whether a parameter may have a value."""
        return _contains(self.distributions[name], value)

    def canonical(self, name, value):
        """A value as Optuna gives it back: NumPy's numbers are Python's."""
        return _canonical(self.distributions[name], value)

    def encode(self, params):
        """The point of the domain with these parameters, or None where one lacks or is outside."""
        if not all(name in params and self.contains(name, params[name]) for name in self._axes):
            return None
        return {
            name: axis.encode(self.canonical(name, params[name]))
            for name, axis in self._axes.items()
        }

    def nearest(self, name, value):
        """What stands for a value of a parameter, or the nearest; None of what is no number."""
        distribution = self.distributions[name]
        if self.contains(name, value):
            value = self.canonical(name, value)
        elif isinstance(distribution, CategoricalDistribution) or not isinstance(value, Real):
            return None
        else:
            value = min(max(value, distribution.low), distribution.high)
        return self._axes[name].encode(value)

    def decode(self, point):
        """The parameters of a point of the domain."""
        return {name: self._axes[name].decode(value) for name, value in point.items()}


# Whole numbers beyond these, plain ones and on a logarithmic scale, are searched as reals.
_MOST, _MOST_LOG = 2**50, 2**44

# How many values beside the nearest are tried, where floats hold only some of them.
_N_TRIED = 512


def _axis(distribution, name):
    """The scale on which a domain has a parameter; messages call it by its name."""
    if isinstance(distribution, CategoricalDistribution):
        return _Choices(distribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    try:
        finite = all(map(math.isfinite, (low, high, 0 if step is None else high - low)))
    except OverflowError:
        finite = False
    if not finite:
        raise invalid(f"The range of {name!r}", "of finite floats", distribution, error=DomainError)
    if distribution.log:
        whole = isinstance(distribution, IntDistribution)
        if whole and high <= _MOST_LOG:
            return _Plain(distribution, ("log-integer", low, high))
        if math.log(high) > math.log(low):
            kind = _Rounded if whole else _Plain
            return kind(distribution, ("log-real", float(low), float(high)))
        step = 1 if whole else None
    if step is None and math.isfinite(high - low):
        return _Plain(distribution, ("real", low, high))
    if step is not None and (Fraction(high) - Fraction(low)) / Fraction(step) <= _MOST:
        return _Grid(distribution)
    return _Wide(distribution)


class _Choices:
    """Categories, by their positions."""

    def __init__(self, distribution):
        self._distribution = distribution
        stored = [distribution.to_internal_repr(choice) for choice in distribution.choices]
        # Of those that are equal, such as 1 and True, Optuna stores the first.
        self.spec = "categorical", sorted(set(map(int, stored)))

    def encode(self, value):
        return int(self._distribution.to_internal_repr(value))

    def decode(self, v):
        return self._distribution.choices[v]


class _Plain:
    """Numbers as they are."""

    def __init__(self, distribution, spec):
        self._distribution = distribution
        self.spec = spec

    def encode(self, value):
        return value

    def decode(self, v):
        return v


class _Rounded(_Plain):
    """Whole numbers that are searched as reals."""

    def decode(self, v):
        return _member(self._distribution, Fraction(v))


class _Grid:
    """Numbers of a grid, by their positions."""

    def __init__(self, distribution):
        self._distribution = distribution
        self._low, self._step = Fraction(distribution.low), Fraction(distribution.step)
        self.spec = "integer", 0, round((Fraction(distribution.high) - self._low) / self._step)

    def encode(self, value):
        return round((Fraction(value) - self._low) / self._step)

    def decode(self, v):
        value = self._distribution.low + v * self._distribution.step
        value = min(value, self._distribution.high)  # which rounding must not exceed
        if abs(value) <= 2**53 and _contains(self._distribution, value):
            return value
        return _member(self._distribution, self._low + v * self._step)


class _Wide:
    """Numbers of a range whose width is no float, or that are too many, as parts of it."""

    spec = "real", 0.0, 1.0

    def __init__(self, distribution):
        self._distribution = distribution
        self._low = Fraction(distribution.low)
        self._width = Fraction(distribution.high) - self._low

    def encode(self, value):
        return float((Fraction(value) - self._low) / self._width)

    def decode(self, v):
        return _member(self._distribution, self._low + Fraction(v) * self._width)


def _member(distribution, number):
    """The value nearest to a Fraction, of those that Optuna, which stores floats, can store."""
    low, high, step = distribution.low, distribution.high, distribution.step
    if step is None:
        return min(max(float(number), low), high)
    nearest = round((number - Fraction(low)) / Fraction(step))
    for i in range(_N_TRIED):
        k = nearest + (i + 1) // 2 * (-1) ** i
        exact = Fraction(low) + k * Fraction(step)
        if isinstance(distribution, IntDistribution):
            x = float(exact)
            for value in (x, math.nextafter(x, low), math.nextafter(x, high)):
                value = int(value)
                if _contains(distribution, value) and (value - low) % step == 0:
                    return value
        else:
            decimal = Decimal(str(low)) + k * Decimal(str(step))
            for value in (min(low + k * step, high), float(decimal)):
                if _contains(distribution, value):
                    return value
    advice = "Optuna stores floats: give a wider step, or smaller numbers."
    expected = "one of values that floats hold"
    raise invalid("A range", expected, distribution, advice=advice, error=DomainError)


def _contains(distribution, value):
    """Whether a distribution has a value."""
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (TypeError, ValueError, OverflowError):
        return False


def _canonical(distribution, value):
    return distribution.to_external_repr(distribution.to_internal_repr(value))


def _only_value(distribution):
    """The value of a distribution of one."""
    choices = getattr(distribution, "choices", None)
    return distribution.low if choices is None else choices[0]


class _Rule:
    """A constraint of a trial's parameters, as one of points of a space.

    Where it asks for a parameter that is not known yet it is satisfied.

    Parameters
    ----------
    constraint : callable or NonlinearConstraint
        Of a dict of parameters.
    space : _Space
    known : dict
        Parameters beside those of a point, or in place of them.
    unknown : set
        To which the names are added that it asks for in vain.
    """

    def __init__(self, constraint, space, known, unknown):
        self._constraint, self._space = constraint, space
        self._known, self._unknown = known, unknown
        self._by_answer = None
        self.__name__ = getattr(constraint, "__name__", "a constraint")

    def __call__(self, point):
        params = self._space.decode(point) | self._known
        try:
            found = self._value(params)
        except KeyError as exc:
            if exc.args[0] in list(params):
                raise
            self._unknown.add(exc.args[0])
            found = None
        if self._by_answer is None:
            self._by_answer = found is None or isinstance(found, bool | np.bool_)
        if found is None:
            return True if self._by_answer else math.inf
        if self._by_answer and not isinstance(found, bool | np.bool_):
            return bool(np.all(np.asarray(found) >= 0.0))
        return found

    def _value(self, params):
        if not isinstance(self._constraint, NonlinearConstraint):
            return self._constraint(params)
        values = np.asarray(self._constraint.fun(params), dtype=np.float64)
        low, high = self._constraint.lb, self._constraint.ub
        return float(np.min(np.minimum(values - low, high - values)))


# --- what was learnt ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Model:
    """An optimizer that was told the trials of one group of parameters; a value.

    Attributes
    ----------
    space : _Space
    optimizer : BayesianOptimizer
    n_read : int
        How many of the trials that have ended were looked at.
    waiting : tuple
        Observations that are infinite, while none is finite.
    lowest, highest : float
        Lowest and highest value told.
    latest : float
        Latest time told.
    """

    space: _Space
    optimizer: object
    n_read: int = 0
    waiting: tuple = ()
    lowest: float = math.inf
    highest: float = -math.inf
    latest: float = -math.inf

    def learnt(self, ended, when):
        """The model with all of these trials told, in the order of their times."""
        if self.n_read == len(ended):
            return self
        new = list(self.waiting)
        for trial in ended[self.n_read :]:
            failed = trial.state == TrialState.FAIL or not _feasible(trial)
            y = None if failed else _value(trial)
            point = None if y is None and not failed else self.space.encode(trial.params)
            if point is not None:
                new.append((when(trial), trial.number, point, y))
        finite = [y for *_, y in new if y is not None and math.isfinite(y)]
        lowest, highest = min([self.lowest, *finite]), max([self.highest, *finite])
        known = lowest <= highest
        waiting = [one for one in new if not known and one[-1] is not None]
        told = sorted((one for one in new if known or one[-1] is None), key=lambda one: one[:2])
        optimizer, latest = self.optimizer, self.latest
        if told:
            optimizer, latest = copy.copy(optimizer), max(latest, told[-1][0])
            times, _, points, values = map(list, zip(*told))
            y = [None if y is None else min(max(y, lowest), highest) for y in values]
            failed = [value is None for value in y]
            if len(told) == 1:
                optimizer.tell(points[0], y[0], times[0], failed=failed[0])
            else:
                optimizer.tell_many(points, y, times, failed=failed)
            _logger.debug("Told %d trials of %s.", len(told), list(self.space.distributions))
        return _Model(self.space, optimizer, len(ended), tuple(waiting), lowest, highest, latest)


def _feasible(trial):
    return all(value <= 0.0 for value in trial.constraints.values())


def _value(trial):
    """What a trial that is complete or pruned came to, or None where nobody knows."""
    if trial.state == TrialState.COMPLETE:
        return trial.value
    y = trial.intermediate_values.get(trial.last_step)
    return None if y is None or math.isnan(y) else y
