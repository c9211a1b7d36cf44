"""Sampler for Optuna: its storages, dashboards and workers with an optimizer of this package.

A sampler derives its state from the trials in the study's storage. Any number of processes and
machines may therefore work on one study, and resume after a crash. Models of unchanged trials are
cached in memory.
"""

from __future__ import annotations

import copy
import logging
import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from .._locks import Lock
from .._validation import (
    check_int,
    check_random_state,
    finite_number,
    invalid,
    invalid_domain,
    invalid_observation,
)
from .._values import replaced
from .._warnings import warn_caller
from ..domain import ParameterSpace
from ..exceptions import InvalidObservationError, MissingExtraError
from ..optimizers import BayesianOptimizer
from ..optimizers._durable import run_of, with_new_run, with_run
from ..optimizers._names import as_optimizer
from ..optimizers._outcomes import OBJECTIVE

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

    from .._typing import Real

try:
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, PartialFixedSampler, TPESampler
    from optuna.study import Study, StudyDirection
    from optuna.trial import TrialState

    from ._branches import Branch, Values
except ImportError as exc:
    raise MissingExtraError(
        'sktvbo.integrations.optuna needs Optuna: pip install "sktvbo[optuna]".'
    ) from exc

__all__ = ["TimeVaryingSampler"]

_logger = logging.getLogger(__name__)

_FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
_KNOWN = (*_FINISHED, TrialState.FAIL, TrialState.RUNNING)

# Pruned trials are compared with this many complete ones, the latest.
_N_CURVES = 100

# An optimizer is told at most this many trials at once, the latest.
_N_TOLD = 1000

# Branches of a conditional space are found in this many trials, the latest.
_N_FOR_BRANCHES = 1000

# The promise of a branch is its predicted mean plus this many standard deviations.
_OPTIMISM = 0.5

# Parameters of optimizers that must be None in a study, and their replacements.
_REFUSED = {
    "domain": "The domain is the study's.",
    "journal": (
        "The sampler derives its state from the trials in the study's storage, which is the "
        "journal: optuna.create_study(storage=..., study_name=..., load_if_exists=True) resumes a "
        "study."
    ),
    "start_points": "Use study.enqueue_trial(params).",
    "constraints": "Use trial.set_constraint(name, value) in the objective.",
    "max_step": "Use the optimizer's ask() and tell() without a study.",
    "safety": "Use the optimizer's ask() and tell() without a study.",
    "earlier": "Give earlier studies to the sampler: TimeVaryingSampler(earlier=[study]).",
}


class TimeVaryingSampler(BaseSampler):
    """Sampler that tracks an optimum moving during the study.

    Parameters
    ----------
    algorithm : str or optimizer, default="W-DBO"
        An algorithm's name, as in `sktvbo.optimizers`, or an optimizer. Domain, direction and
        storage (in place of a journal) are the study's. ``start_points``, ``constraints``,
        ``max_step`` and ``safety`` must be None.
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
        different values (see Notes). None takes the algorithm's ``random_state``.
    earlier : list of optuna.study.Study, default=None
        Studies of the same direction that this one learns from, see the parameter of
        `~sktvbo.optimizers.BayesianOptimizer`. They are read when a group of parameters is first
        modelled: trials that have all of its parameters within their ranges.

    Raises
    ------
    ValueError
        An invalid parameter; values of ``constraints_func`` that are NaN.
    DomainError
        A range with more values than the search can tell apart.

    Notes
    -----
    - Complete and pruned trials are told to the optimizer, and failed ones as failures: it learns
      where and when trials fail. An infinite value counts as the worst, or the best, of the finite
      ones.
    - The last value of a pruned trial is a measurement of its final one, with a known variance.
      Both follow from the values that the latest 100 complete trials had reported up to that step,
      and from their final values. All trials are told again whenever the number of complete ones
      has doubled.
    - Infeasible trials are told as failures as well. Until one is feasible, all are drawn at
      random. Constraints that the optimizer's ``outcome_constraints`` name are modelled instead:
      ``{"latency": (None, 0.0)}`` with ``trial.set_constraint("latency", seconds - 0.2)``. A trial
      without them is a failure; a warning names those that no complete trial has set.
    - Running trials of all processes are pending queries, which new ones keep away from.
    - ``study.enqueue_trial(params)`` sets parameters of the next trials. If it, or a
      ``PartialFixedSampler``, sets only some, such as a measured load, the others are chosen for
      these values. Parameters that no earlier trial had are drawn one by one, at random.
    - If the range of a parameter changes, the latest one is searched, and trials outside of it are
      left out. A group has a surrogate after ``n_initial_points`` trials.
    - A branch is a group that some trials have and others lack, depending on the values of other
      parameters. It is visited until 10 trials have it, fewer for few members, or
      ``n_initial_points`` if these are more. Later it is visited when its own surrogate promises
      more than the branch that the surrogate of these other parameters would choose.
    - The study has one objective.
    - With the same seed, trials of the same numbers and the same history have the same random
      draws. A study in one process with ``time="number"`` is then repeated exactly on one machine.
      With ``time="start"`` the times differ, and with them models and queries. A resumed study
      learns from its latest 1000 trials at once, so that its next queries agree only approximately.
    - Several processes on one SQLite file wait for each other. SQLite gives up after five seconds
      unless the storage sets another limit: ``RDBStorage("sqlite:///study.db",
      engine_kwargs={"connect_args": {"timeout": 120.0}})``.

    Examples
    --------
    >>> import numpy as np
    >>> import optuna
    >>> from sktvbo.integrations.optuna import TimeVaryingSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> sampler = TimeVaryingSampler("W-DBO", time="number", seed=1)
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
        time: str | Callable[[Study, FrozenTrial], Real] = "start",
        group: bool = True,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        seed: int | None = None,
        earlier: Sequence[Study] | None = None,
    ) -> None:
        if not (constraints_func is None or callable(constraints_func)):
            raise invalid("constraints_func", "a callable or None", constraints_func, self)
        if not (isinstance(time, str) or callable(time)):
            expected = "'start', 'number', the name of a user attribute or a callable"
            raise invalid("time", expected, time, self)
        self._template = template = as_optimizer(algorithm, owner=self)
        parameters = template.get_params(deep=False)
        for name, advice in _REFUSED.items():
            if parameters.get(name) is not None:
                raise invalid(name, "None in a study", parameters[name], template, advice=advice)
        limits = parameters.get("outcome_constraints") or {}
        self._limited = [name for name in limits if name != OBJECTIVE]
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
        if earlier is not None:
            if "earlier" not in parameters:
                raise invalid("earlier", f"None with {type(template).__name__}", earlier, self)
            is_list = isinstance(earlier, list | tuple)
            if not (is_list and all(isinstance(other, Study) for other in earlier)):
                raise invalid("earlier", "a list of optuna.study.Study", earlier, self)
            for other in earlier:
                _check_one_objective(other)
        self._earlier, self._priors = list(earlier or ()), {}
        self._memory = _Memory()
        self._lock = Lock()

    def __getstate__(self):
        # The memory is rebuilt from the storage.
        return vars(self) | {"_memory": None, "_lock": None}

    def __setstate__(self, state):
        vars(self).update(state, _memory=_Memory(), _lock=Lock())

    # --- interface of Optuna ----------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that are drawn together; see `optuna.samplers.BaseSampler`."""
        _check_one_objective(study)
        with self._lock:
            memory, running = self._read(study, trial)
            groups = memory.groups(running, self._group)
        return {
            name: distribution
            for group in groups
            for name, distribution in group.items()
            if not distribution.single()
        }

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return values of these parameters; see `optuna.samplers.BaseSampler`."""
        _check_one_objective(study)
        if not search_space:
            return {}
        fixed = _fixed(study, trial)
        with self._lock:
            memory, running = self._read(study, trial)
            groups = memory.groups(running, self._group)
            spaces = [_axes(group, search_space, fixed) for group in groups]
            models = []
            for axes in filter(None, spaces):
                model = memory.models.get(tuple(axes))
                if model is None or model.space.distributions != axes:
                    model = self._new_model(study, axes)
                models.append(self._with_trials(model, study, memory))
            params, models = self._queries(models, study, trial, running, fixed)
            models = {tuple(model.space.distributions): model for model in models}
            memory.models = models
            # Optuna stores a trial's parameters later, when they are suggested.
            awaited = {other.number for other in running}
            memory.drawn = {n: drawn for n, drawn in memory.drawn.items() if n in awaited}
            memory.drawn[trial.number] = params
            unset = memory.newly_unset(self._limited)
        if unset:
            names = ", ".join(map(repr, sorted(memory.constraints))) or "none"
            warn_caller(
                f"No complete trial has set the constraint {', '.join(map(repr, unset))} of "
                f"outcome_constraints; set were: {names}. A trial without it is a failure. Use the "
                "same name in trial.set_constraint(name, value).",
            )
        # Optuna has the fixed ones already, and refuses others than those of the search space.
        return {name: value for name, value in params.items() if name in search_space}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a random value of one parameter; see `optuna.samplers.BaseSampler`."""
        _check_one_objective(study)
        space = _Space({param_name: param_distribution})
        point = space.domain.sample(1, self._rng(trial, space))[0]
        return space.decode(space.domain.decode(point))[param_name]

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Store the trial's constraints; see `optuna.samplers.BaseSampler`."""
        if self._constraints is not None:
            self._constraints.after_trial(study, trial, state, values)

    # --- trials and models ------------------------------------------------------------------------

    def _read(self, study, trial):
        """Return the memory, updated with the study's ended trials, and the other running ones."""
        trials = _trials(study)
        ended = [other for other in trials if other.state != TrialState.RUNNING]
        running = [other for other in trials if other.state == TrialState.RUNNING]
        key = study.study_name, study.direction
        if not self._memory.is_of(key, ended):
            if self._memory.key == key:
                _logger.info("Known trials have changed: all are told again.")
            self._memory = _Memory(key)
        self._memory.add(ended)
        return self._memory, [other for other in running if other.number != trial.number]

    def _new_model(self, study, axes, **options):
        """Return a model without trials, which begins as earlier studies ended."""
        space = _Space(axes)
        if self._earlier and not options:
            options = {"earlier": self._prior(study, axes)}
        optimizer = clone(self._template).set_params(
            domain=space.domain,
            maximize=study.direction == StudyDirection.MAXIMIZE,
            random_state=self._seed,
            **options,
        )
        return _Model(space, with_new_run(optimizer))

    def _prior(self, study, axes):
        """Return the prior from earlier studies for some parameters, learnt once."""
        known, prior = self._priors.get(tuple(axes), ({}, None))
        if known == axes:
            return prior
        learnt = []
        for other in self._earlier:
            if other.direction != study.direction:
                expected = f"studies to {study.direction.name.lower()}, like this one"
                raise invalid("earlier", expected, got=f"{other.study_name!r}", owner=self)
            memory = _Memory()
            memory.add([trial for trial in _trials(other) if trial.state != TrialState.RUNNING])
            model = self._new_model(other, axes, earlier=None)
            learnt.append(self._with_trials(model, other, memory).optimizer)
        prior = self._new_model(study, axes, earlier=learnt).optimizer.prior_
        self._priors[tuple(axes)] = axes, prior
        return prior

    def _with_trials(self, model, study, memory):
        """Return a model with all trials of a memory told, in the order of their times."""
        new, limited, ended = list(model.waiting), self._limited, memory.ended
        for trial in ended[max(model.n_read, len(ended) - _N_TOLD) :]:
            failed = trial.state == TrialState.FAIL or not _feasible(trial, limited)
            y, variance = (None, 0.0) if failed else memory.curves.final_value(trial)
            point = None if y is None and not failed else model.space.encode(trial.params)
            if point is not None:
                outcomes = [math.nan if failed else trial.constraints[name] for name in limited]
                time = self._time_of(study, trial)
                new.append((time, trial.number, point, outcomes, variance, y))
        finite = [y for *_, y in new if y is not None and math.isfinite(y)]
        lowest, highest = min([model.lowest, *finite]), max([model.highest, *finite])
        known = lowest <= highest
        waiting = tuple(one for one in new if not known and one[-1] is not None)
        trials = sorted((one for one in new if known or one[-1] is None), key=lambda one: one[:2])
        optimizer, latest = model.optimizer, model.latest
        if trials:
            optimizer, latest = copy.copy(optimizer), max(latest, trials[-1][0])
            times, _, points, outcomes, variances, values = map(list, zip(*trials))
            failed = [y is None for y in values]
            values = [None if y is None else min(max(y, lowest), highest) for y in values]
            measured = limited and not all(failed)
            if len(trials) == 1:  # tell_many always searches the hyperparameters
                options = {"outcomes": dict(zip(limited, outcomes[0]))} if measured else {}
                options["y_variance"] = variances[0]
                optimizer.tell(points[0], values[0], times[0], failed=failed[0], **options)
            else:
                options = {"outcomes": dict(zip(limited, zip(*outcomes)))} if measured else {}
                options["y_variance"] = variances
                optimizer.tell_many(points, values, times, failed=failed, **options)
            _logger.debug("Told %d trials of %s.", len(trials), list(model.space.distributions))
        return _Model(model.space, optimizer, len(ended), waiting, lowest, highest, latest)

    def _query(self, model, study, trial, running, fixed):
        """Return the `_Drawn` of a trial, away from the values of running ones.

        Values that are fixed and within their ranges are held.
        """
        space, drawn = model.space, self._memory.drawn
        # Trials of other processes that began later may have ended already.
        now = max(self._time_of(study, trial), model.latest)
        # A copy, as the pending queries of this call may end before the next one.
        optimizer = copy.copy(model.optimizer)
        for other in running:
            enqueued = other.system_attrs.get("fixed_params", {})
            point = space.encode(drawn.get(other.number, {}) | enqueued | other.params)
            if point is not None:
                optimizer.announce(point, self._time_of(study, other))
        run = run_of(optimizer)
        # Some algorithms visit or explore at every k-th query, counted over all processes.
        pending = replaced(run.pending, n_total=trial.number)
        run = replaced(run, rng=self._rng(trial, space), pending=pending)
        optimizer = with_run(optimizer, run)
        x = optimizer.ask(now, fixed=space.coordinates(fixed) or None)
        # Some algorithms use the times of earlier queries.
        sizes = run_of(optimizer).query_sizes
        after = replaced(run_of(model.optimizer), query_sizes=sizes)
        model = replace(model, optimizer=with_run(model.optimizer, after))
        return _Drawn(space.decode(x), model, partial(_promise, optimizer, x, now))

    def _queries(self, models, study, trial, running, fixed):
        """Return values of all groups for a trial, and the updated models (list).

        In a conditional space the trial visits a branch with too few trials, or one that promises
        more than those chosen by the values.
        """
        branches, trials = [], [*self._memory.ended, *running][-_N_FOR_BRANCHES:]
        if len(models) > 1:
            groups = [model.space.distributions.keys() for model in models]
            branches = [Branch.of(names, trials, trial.number) for names in groups]
        held = self._unknown(models, branches, fixed)
        drawn = [self._query(model, study, trial, running, held | fixed) for model in models]
        better = {} if held else _more_promising(drawn, branches, trials, fixed)
        for i, model in enumerate(models):
            if not better.keys().isdisjoint(model.space.distributions):
                drawn[i] = self._query(model, study, trial, running, better | fixed)
        return _merged(drawn), [query.model for query in drawn]

    def _unknown(self, models, branches, fixed):
        """Return values that choose the branch with too few trials for its model, if there is one.

        The first of these trials are spread. Some more follow the model, as the first ones do not
        show how good a branch is.
        """
        if not isinstance(self._template, BayesianOptimizer):
            return {}
        for branch, model in sorted(zip(branches, models), key=lambda pair: pair[0].n):
            domain = model.space.domain
            learnt = min(self._template._min_to_learn, domain.size)
            needed = max(self._template._n_initial(domain), learnt)
            if branch.n < needed and branch.can_be_chosen(fixed):
                return branch.values
        return {}

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
            raise invalid_observation(
                f"Trial {trial.number}",
                f"one with the user attribute {self._time!r}, its time",
                got=f"one with {sorted(trial.user_attrs)}",
                advice="Set it before the first suggestion: "
                f"trial.set_user_attr({self._time!r}, t).",
            )
        return finite_number(time, f"The time of trial {trial.number}", InvalidObservationError)


class _Memory:
    """Ended trials of one study, in the order in which they were found.

    Attributes
    ----------
    key : tuple
        Identifies the study.
    ended : list of FrozenTrial
    models : dict of tuple of str to _Model
    drawn : dict of int to dict
        Parameters drawn here for running trials, by trial number.
    constraints : set of str or None
        Names of the constraints that complete trials have set; None before the first of them.
    curves : _Curves
    """

    def __init__(self, key=None):
        self.key, self.ended, self.models, self.drawn = key, [], {}, {}
        self.constraints, self.curves = None, _Curves()
        self._known, self._unset, self._n_compared = {}, set(), 0
        # Latest trial of each set of parameters.
        self._finished, self._failed = {}, {}

    def is_of(self, key, ended):
        """Return True if the study is the same and the known trials have not changed."""

        def identity(trial):
            return trial.datetime_complete, trial.state, trial.values

        pairs = [(self._known.get(trial.number), trial) for trial in ended]
        pairs = [(known, trial) for known, trial in pairs if known is not None]
        return (self.key, len(self._known)) == (key, len(pairs)) and all(
            known is trial or identity(known) == identity(trial) for known, trial in pairs
        )

    def add(self, ended):
        """Add the new trials."""
        new = [trial for trial in ended if trial.number not in self._known]
        for trial in new:
            self._known[trial.number] = trial
            latest = self._finished if trial.state in _FINISHED else self._failed
            names = frozenset(trial.distributions)
            latest[names] = max(latest.get(names, trial), trial, key=_number)
            if trial.state == TrialState.COMPLETE:
                self.constraints = (self.constraints or set()).union(trial.constraints)
            if trial.state in _FINISHED:
                self.curves.add(trial)
        self.ended += new
        if self.curves.n_complete >= max(2 * self._n_compared, 1):
            self._n_compared = self.curves.n_complete
            if any(trial.state == TrialState.PRUNED for trial in self.ended):
                self.models = {}  # all are told again: pruned ones with better final values

    def groups(self, running, several):
        """Return the latest distributions of groups of parameters that always occur together.

        Without ``several``, there is one group, of the parameters of all trials. Parameters that
        no complete or pruned trial has are grouped by the failed and running ones.
        """
        groups, seen = [], frozenset()
        for trials in (self._finished.values(), [*self._failed.values(), *running]):
            trials = sorted(trials, key=_number)
            latest = {frozenset(trial.distributions) - seen: trial for trial in trials}
            latest.pop(frozenset(), None)
            for group in _groups(latest, several):
                has_group = [trial for names, trial in latest.items() if names.issuperset(group)]
                distributions = max(has_group, key=_number).distributions
                groups.append({name: distributions[name] for name in group})
            seen = seen.union(*latest)
            if seen and not several:
                break
        return groups

    def newly_unset(self, names):
        """Return those of the constraints that no complete trial has set; each name once."""
        if self.constraints is None:
            return []
        new = [name for name in names if name not in self.constraints | self._unset]
        self._unset.update(new)
        return new


_number = attrgetter("number")


def _trials(study):
    """Return all trials of a study that may be known."""
    # The storage has all of them: the study filtered by Hyperband has one bracket.
    return study._storage.get_all_trials(study._study_id, deepcopy=False, states=_KNOWN)


def _check_one_objective(study):
    """Raise a ValueError for a study with several objectives."""
    if len(study.directions) != 1:
        expected, got = "one with one objective", f"{len(study.directions)} objectives"
        raise invalid("The study", expected, got=got, advice="Use another sampler.")


def _fixed(study, trial):
    """Return the parameters of a trial that are known before it is sampled, a dict."""
    fixed, sampler = {}, study.sampler
    while isinstance(sampler, PartialFixedSampler):
        fixed, sampler = sampler._fixed_params | fixed, sampler._base_sampler
    return fixed | trial.system_attrs.get("fixed_params", {}) | trial.params


def _groups(sets, several):
    """Return lists of names that always occur together in sets, or one of those in all sets."""
    if not several:
        common = frozenset.intersection(*sets) if sets else frozenset()
        return [sorted(common)] if common else []
    atoms = []
    for names in sets:
        parts = [part for atom in atoms for part in (atom & names, atom - names) if part]
        atoms = parts + [rest for rest in [names.difference(*atoms)] if rest]
    return [sorted(atom) for atom in atoms]


def _axes(group, search_space, fixed):
    """Return the distributions of a group that are searched or fixed."""
    return {
        name: search_space.get(name, distribution)
        for name, distribution in group.items()
        if name in search_space or (name in fixed and not distribution.single())
    }


def _feasible(trial, modelled):
    """Return True if the constraints that are modelled are known, and the others satisfied."""
    constraints = dict(trial.constraints)
    known = all(math.isfinite(constraints.pop(name, math.nan)) for name in modelled)
    return known and all(value <= 0.0 for value in constraints.values())


# Least share of the variance of final values that an intermediate value explains.
_LEAST_EXPLAINED = 0.1


class _Curves:
    """Intermediate values of the latest trials, from which final ones are predicted.

    Attributes
    ----------
    n_complete : int
        Complete trials with intermediate values so far.
    """

    def __init__(self):
        self.n_complete, self._lines = 0, {}
        self._complete, self._everyone = deque(maxlen=_N_CURVES), deque(maxlen=2 * _N_CURVES)

    def add(self, trial):
        """Add a complete or pruned trial, unless it has no intermediate values."""
        steps = sorted(s for s, y in trial.intermediate_values.items() if math.isfinite(y))
        is_complete = trial.state == TrialState.COMPLETE
        if not steps or (is_complete and not math.isfinite(trial.value)):
            return
        values = [trial.intermediate_values[step] for step in steps]
        last = math.inf if is_complete else steps[-1]
        self._everyone.append((steps, values, last))
        if is_complete:
            self._complete.append((steps, values, trial.value))
            self.n_complete += 1
        self._lines = {}

    def final_value(self, trial):
        """Return the value of a complete or pruned trial, None if unknown, and its variance.

        The last value of a pruned one is a measurement of it, calibrated by the values that other
        trials had reported up to that step.
        """
        if trial.state == TrialState.COMPLETE:
            return trial.value, 0.0
        step = trial.last_step
        y = None if step is None else trial.intermediate_values[step]
        if y is None or math.isnan(y):
            return None, 0.0
        if step not in self._lines:
            self._lines[step] = self._line(step)
        return self._lines[step].final(y)

    def _line(self, step):
        """Return the line from values reported up to a step to final values."""
        pairs = [
            (values[bisect_right(steps, step) - 1], final)
            for steps, values, final in self._complete
            if steps[0] <= step
        ]
        everyone = [
            values[bisect_right(steps, step) - 1]
            for steps, values, last in self._everyone
            if steps[0] <= step <= last
        ]
        return _Line.through(np.reshape(pairs, (-1, 2)).T, np.array(everyone))


class _Line(NamedTuple):
    """Final values y = level + slope (x - center) + error, over intermediate values x.

    For a trial with x a model gets, rather than the mean of y given x, a measurement of y: the one
    that has this mean as its posterior mean, in a population with mean ``level`` and the variance
    of y. An x that does not depend on y is then a measurement without weight. A regression of y on
    x, unlike one of x on y, is unbiased although trials are pruned by x.

    Attributes
    ----------
    center, level : float
        Means of x and of y.
    slope : float
    variance : float
        Variance of the error.
    explained : float
        Share of the variance of y that x explains.
    """

    center: float = 0.0
    level: float = 0.0
    slope: float = 1.0
    variance: float = 0.0
    explained: float = 1.0

    @classmethod
    def through(cls, pairs, everyone):
        """Return the line through pairs (2, n), in a population with intermediate values (m,).

        The slope is that of least squares, drawn to 1 by the weight of one pair whose change
        differs by a standard deviation, and not negative. The level is a median.
        """
        x, y = pairs
        n, slope = len(x), 1.0
        if n == 0:
            return cls()
        if n == 1:
            return cls(x[0], y[0], slope, (y[0] - x[0]) ** 2)
        dx, dy = x - x.mean(), y - y.mean()
        sxx, sxy, change = dx @ dx, dx @ dy, np.var(y - x, ddof=1)
        unexplained = dy @ dy - sxy**2 / sxx if sxx > 0.0 else 0.0
        weight = (max(unexplained, 0.0) + change) / (n - 1)
        if sxx + weight > 0.0:
            slope = max((sxy + weight) / (sxx + weight), 0.0)
        variance = np.var(y - slope * x) * n / max(n - 3, 1)  # that of predictions from few pairs
        of_x, explained, center = slope**2 * np.var(everyone), 1.0, everyone.mean()
        if of_x + variance > 0.0:
            explained = max(of_x / (of_x + variance), _LEAST_EXPLAINED)
        level = np.median(y - slope * x) + slope * center
        return cls(center, level, slope, variance, explained)

    def final(self, x):
        """Return the final value that an intermediate one measures, and its variance."""
        value = self.level + self.slope * (x - self.center) / self.explained
        return float(value), float(self.variance / self.explained)


@dataclass(frozen=True)
class _Model:
    """Immutable optimizer with the trials of one group of parameters.

    Attributes
    ----------
    space : _Space
    optimizer : BayesianOptimizer
    n_read : int
        Number of ended trials that were read.
    waiting : tuple
        Infinite observations, deferred until one is finite.
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


class _Drawn(NamedTuple):
    """Values of a group for a trial, the updated model, and a function for their promise."""

    params: dict
    model: _Model
    promise: Callable[[], float]


def _promise(optimizer, x, t):
    """Return an optimistic value, larger is better; minus infinity without a surrogate."""
    if run_of(optimizer).surrogate is None:
        return -math.inf
    mean, std = optimizer.predict(x, t, return_std=True)
    return (mean if optimizer.maximize else -mean) + _OPTIMISM * std


def _merged(drawn):
    """Return the values of all groups, a dict."""
    return {name: value for query in drawn for name, value in query.params.items()}


def _more_promising(drawn, branches, trials, fixed):
    """Return values that choose a branch which promises more than the drawn values, or none.

    None also if a drawn value is new: it chooses a branch without trials.
    """
    params = _merged(drawn)
    for name in {name for branch in branches for name in branch.seen}.intersection(params):
        having = [trial for trial in trials if name in trial.params]
        if not Values(name, having).has(params[name]):
            return {}
    possible = [branch for branch in branches if branch.can_be_chosen(fixed)]
    if not possible:
        return {}
    promises = [query.promise() for query in drawn]
    chosen = [p for p, branch in zip(promises, branches) if branch.is_chosen_by(params)]
    promise, branch = max(
        ((p, branch) for p, branch in zip(promises, branches) if branch in possible),
        key=itemgetter(0),
    )
    return branch.values if promise > max(chosen, default=-math.inf) else {}


# --- distributions --------------------------------------------------------------------------------

# Optuna stores floats. Beyond these sizes neighbours on an integer axis, on a logarithmic one, and
# in a range of floats with a step are no longer told apart.
_LARGEST_INT, _LARGEST_LOG_INT, _MOST_STEPS = 2**49, 2**44, 10**6


class _Space:
    """Optuna's distributions by name and the equivalent domain.

    Coordinates are the positions of choices and of values with a step, and values otherwise.
    """

    def __init__(self, distributions):
        self.distributions = distributions
        self.domain = ParameterSpace({name: _axis(d, name) for name, d in distributions.items()})

    def encode(self, params):
        """Return the point with these parameters; None if one is missing or out of range."""
        point = self.coordinates(params)
        return point if len(point) == len(self.distributions) else None

    def coordinates(self, params):
        """Return the coordinates of the parameters that are given and in range, a dict."""
        point = {}
        for name, distribution in self.distributions.items():
            try:
                value = distribution.to_internal_repr(params[name])
                if not distribution._contains(value):
                    continue
            except (KeyError, TypeError, ValueError, OverflowError):
                continue
            if _is_stepped(distribution):
                value = round((value - distribution.low) / distribution.step)
            elif not isinstance(distribution, FloatDistribution):
                value = int(value)
            point[name] = value
        return point

    def decode(self, point):
        """Return the parameters of a point of the domain."""
        params = {}
        for name, value in point.items():
            distribution = self.distributions[name]
            if isinstance(distribution, CategoricalDistribution):
                value = distribution.choices[value]
            elif _is_stepped(distribution):
                # Rounding may exceed the upper limit.
                value = min(distribution.low + value * distribution.step, distribution.high)
            params[name] = value
        return params


def _is_stepped(distribution):
    return getattr(distribution, "step", None) is not None and not distribution.log


def _axis(distribution, name):
    """Return the parameter of a domain for a distribution; ``name`` is for messages."""
    if isinstance(distribution, CategoricalDistribution):
        # Optuna stores the first of equal choices, such as 1 and True.
        stored = {int(distribution.to_internal_repr(choice)) for choice in distribution.choices}
        return "categorical", sorted(stored)
    low, high, step = distribution.low, distribution.high, distribution.step
    subject, advice = f"The range of {name!r}", ""
    if isinstance(distribution, IntDistribution):
        largest = _LARGEST_LOG_INT if distribution.log else _LARGEST_INT
        if max(abs(low), abs(high)) > largest:
            expected, advice = f"integers of at most {largest:.2g}", "Use suggest_float."
            raise invalid_domain(subject, expected, distribution, advice=advice)
        return (
            ("log-integer", low, high) if distribution.log else ("integer", 0, (high - low) // step)
        )
    if not math.isfinite(high - low):
        raise invalid_domain(subject, "of finite width", distribution)
    if step is not None:
        n_steps = round((high - low) / step)
        if n_steps > _MOST_STEPS:
            expected, advice = f"at most {_MOST_STEPS} steps", "Leave out the step."
            raise invalid_domain(subject, expected, distribution, advice=advice)
        return "integer", 0, n_steps
    # The logarithms of neighbouring floats may be equal.
    log = distribution.log and math.log(high) > math.log(low)
    return "log-real" if log else "real", low, high
