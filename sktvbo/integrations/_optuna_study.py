"""State of a sampler for Optuna: the trials of a study and the models fitted to them."""

import copy
import logging
import math
from dataclasses import dataclass

from optuna.trial import TrialState

from ..optimizers._outcomes import OBJECTIVE
from ._optuna_space import Space

_logger = logging.getLogger(__name__)

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
KNOWN = (*FINISHED, TrialState.FAIL, TrialState.RUNNING)

# System attributes of trials: the index of the start point, and a flag while it is approached.
CHOSEN, ON_THE_WAY = "sktvbo:start_point", "sktvbo:on_the_way"


@dataclass
class Step:
    """Information available when values are drawn for a trial.

    Attributes
    ----------
    study, trial
    running : list of FrozenTrial
        Other running trials.
    memory : Memory
    when : callable
        Returns the time of a trial.
    groups : list of list of str
        Names of parameters that are modelled together.
    known : dict
        Values of the trial's parameters so far.
    """

    study: object
    trial: object
    running: list
    memory: object
    when: object
    groups: list
    known: dict

    def values_of(self, other):
        """Return the parameters of a running trial, suggested or about to be."""
        given = self.memory.given.get(other.number, {})
        return given | other.system_attrs.get("fixed_params", {}) | other.params


class Memory:
    """Ended trials of one study, in the order in which they were found.

    Attributes
    ----------
    key : tuple
        Identifies the study.
    ended : list of FrozenTrial
    names : set of str
        Parameters of complete or pruned trials.
    places : dict of str to ((float, int), object)
        For each parameter the latest time and trial number, and the value.
    started : set of int
        Indices of the start points that were reached or skipped.
    models : dict of tuple of str to Model
    given : dict of int to dict
        Parameters drawn here for running trials, by trial number.
    unknown : set of str
        Parameters that a constraint needed without a value.
    constraints : set of str or None
        Names of the constraints that complete trials have set; None before the first of them.
    """

    def __init__(self, key=None):
        self.key = key
        self.ended, self.names, self.places, self.started = [], set(), {}, set()
        self.models, self.given, self.unknown = {}, {}, set()
        self.constraints = None
        self._known, self._warned, self._unset = {}, set(), set()
        # Latest trial of each set of parameters.
        self._finished, self._failed = {}, {}

    def is_of(self, key, ended):
        """Return True if the study is the same and the known trials have not changed."""
        if self.key != key:
            return False
        pairs = [(self._known.get(trial.number), trial) for trial in ended]
        pairs = [(known, trial) for known, trial in pairs if known is not None]
        return len(pairs) == len(self._known) and all(
            known is trial or _identity(known) == _identity(trial) for known, trial in pairs
        )

    def add(self, ended, when):
        """Add the new trials; ``when`` is None if ``places`` is not needed."""
        new = [trial for trial in ended if trial.number not in self._known]
        keys = [] if when is None else [(when(trial), trial.number) for trial in new]
        for key, trial in zip(keys, new):
            for name, value in trial.params.items():
                if self.places.get(name, (key,))[0] <= key:
                    self.places[name] = key, value
        for trial in new:
            self._known[trial.number] = trial
            names, finished = frozenset(trial.distributions), trial.state in FINISHED
            sets = self._finished if finished else self._failed
            if names and (names not in sets or sets[names].number < trial.number):
                sets[names] = trial
            self.names.update(names if finished else ())
            if trial.state == TrialState.COMPLETE:
                self.constraints = (self.constraints or set()).union(trial.constraints)
            self.started.add(start_of(trial))
        self.ended += new

    def groups(self, running, several):
        """Return lists of names that always occur together, or one list of those of all trials.

        Names that no complete or pruned trial has come from failed and running ones.
        """
        found = _groups(self._finished, several)
        if several or not self._finished:
            others = [*self._failed, *(frozenset(trial.distributions) for trial in running)]
            others = [names - self.names for names in others]
            found += _groups([names for names in others if names], several)
        return found

    def distributions(self, names, running):
        """Return the distributions of a group of parameters in their latest trial."""
        trials = [*self._finished.values()]
        if names[0] not in self.names:
            trials = [*self._failed.values(), *running]
        trials = [trial for trial in trials if names[0] in trial.distributions]
        latest = max(trials, key=lambda trial: trial.number).distributions
        return {name: latest[name] for name in names}

    def newly_unknown(self):
        """Return names that constraints needed without a value; each name once."""
        new = self.unknown - self.names - self._warned if self.names else set()
        self._warned |= new
        self.unknown.clear()
        return sorted(map(repr, new))

    def newly_unset(self, limits):
        """Return outcomes in limits that no complete trial has set as constraints; once."""
        if self.constraints is None:
            return []
        names = [name for name in limits if name != OBJECTIVE]
        new = [name for name in names if name not in self.constraints | self._unset]
        self._unset.update(new)
        return new


def _identity(trial):
    return trial.datetime_complete, trial.state, trial.values


def start_of(trial):
    """Return the index of the start point that a trial reached, or None."""
    attributes = trial.system_attrs
    return None if attributes.get(ON_THE_WAY) else attributes.get(CHOSEN)


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


def limiter_of(step, space, limiter, rng):
    """Return the step limiter, moved to the parameters of the latest trials."""
    latest = {name: v for name, v in step.memory.places.items() if name in space.distributions}
    for other in step.running:
        key = step.when(other), other.number
        for name, value in step.values_of(other).items():
            if name in space.distributions and latest.get(name, (key,))[0] <= key:
                latest[name] = key, value
    at = {name: space.nearest(name, value) for name, (_, value) in latest.items()}
    at = {name: value for name, value in at.items() if value is not None}
    if not at:
        return limiter
    # A parameter without a trial has no latest value.
    anywhere = space.domain.decode(space.domain.sample(1, rng)[0])
    row = space.domain.validate_point(anywhere | at)
    return limiter.moved(row, max(key[0] for key, _ in latest.values()))


@dataclass(frozen=True)
class Model:
    """Immutable optimizer with the trials of one group of parameters.

    Attributes
    ----------
    space : Space
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

    space: Space
    optimizer: object
    n_read: int = 0
    waiting: tuple = ()
    lowest: float = math.inf
    highest: float = -math.inf
    latest: float = -math.inf

    def with_trials(self, ended, when):
        """Return the model with all of these trials told, in the order of their times."""
        if self.n_read == len(ended):
            return self
        new, limits = list(self.waiting), self.optimizer.outcome_constraints or {}
        names = [name for name in limits if name != OBJECTIVE]
        for trial in ended[self.n_read :]:
            failed = trial.state == TrialState.FAIL or not _feasible(trial, names)
            y = None if failed else _value(trial)
            point = None if y is None and not failed else self.space.encode(trial.params)
            if point is not None:
                outcomes = [math.nan if failed else trial.constraints[name] for name in names]
                new.append((when(trial), trial.number, point, outcomes, y))
        finite = [y for *_, y in new if y is not None and math.isfinite(y)]
        lowest, highest = min([self.lowest, *finite]), max([self.highest, *finite])
        known = lowest <= highest
        waiting = [one for one in new if not known and one[-1] is not None]
        told = sorted((one for one in new if known or one[-1] is None), key=lambda one: one[:2])
        optimizer, latest = self.optimizer, self.latest
        if told:
            optimizer, latest = copy.copy(optimizer), max(latest, told[-1][0])
            times, _, points, outcomes, values = map(list, zip(*told))
            y = [None if y is None else min(max(y, lowest), highest) for y in values]
            failed = [value is None for value in y]
            known = {}
            if names and not all(failed):
                known = {"outcomes": dict(zip(names, zip(*outcomes)))}
            if len(told) == 1:
                known = {"outcomes": dict(zip(names, outcomes[0]))} if known else {}
                optimizer.tell(points[0], y[0], times[0], failed=failed[0], **known)
            else:
                optimizer.tell_many(points, y, times, failed=failed, **known)
            _logger.debug("Told %d trials of %s.", len(told), list(self.space.distributions))
        return Model(self.space, optimizer, len(ended), tuple(waiting), lowest, highest, latest)


def _feasible(trial, modelled):
    """Return True if the constraints that are modelled are known, and the others satisfied."""
    found = dict(trial.constraints)
    known = all(math.isfinite(found.pop(name, math.nan)) for name in modelled)
    return known and all(value <= 0.0 for value in found.values())


def _value(trial):
    """Return the value of a complete or pruned trial, or None if unknown."""
    if trial.state == TrialState.COMPLETE:
        return trial.value
    y = trial.intermediate_values.get(trial.last_step)
    return None if y is None or math.isnan(y) else y
