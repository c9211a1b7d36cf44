"""What a sampler for Optuna knows of a study, and what it has learnt from it."""

import copy
import logging
import math
from dataclasses import dataclass

from optuna.trial import TrialState

from ._optuna_space import Space

_logger = logging.getLogger(__name__)

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
KNOWN = (*FINISHED, TrialState.FAIL, TrialState.RUNNING)

# System attributes of trials: the number of the start point, and that it was too far for one step.
CHOSEN, ON_THE_WAY = "sktvbo:start_point", "sktvbo:on_the_way"


@dataclass
class Step:
    """What is known when values are drawn for a trial.

    Attributes
    ----------
    study, trial
    running : list of FrozenTrial
        The others that are running.
    memory : Memory
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


class Memory:
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
    models : dict of tuple of str to Model
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
            names, finished = frozenset(trial.distributions), trial.state in FINISHED
            sets = self._finished if finished else self._failed
            if names and (names not in sets or sets[names].number < trial.number):
                sets[names] = trial
            self.names.update(names if finished else ())
            self.started.add(start_of(trial))
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


def start_of(trial):
    """Number of the start point that a trial has asked for, or None."""
    attributes = trial.system_attrs
    return None if attributes.get(ON_THE_WAY) else attributes.get(CHOSEN)


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


def limiter_of(step, space, limiter, rng):
    """The step limiter of a run whose place is where the latest trials left the parameters."""
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
    # What no trial has had may be anywhere.
    anywhere = space.domain.decode(space.domain.sample(1, rng)[0])
    row = space.domain.validate_point(anywhere | at)
    return limiter.moved(row, max(key[0] for key, _ in latest.values()))


@dataclass(frozen=True)
class Model:
    """An optimizer that was told the trials of one group of parameters; a value.

    Attributes
    ----------
    space : Space
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

    space: Space
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
        return Model(self.space, optimizer, len(ended), tuple(waiting), lowest, highest, latest)


def _feasible(trial):
    return all(value <= 0.0 for value in trial.constraints.values())


def _value(trial):
    """What a trial that is complete or pruned came to, or None where nobody knows."""
    if trial.state == TrialState.COMPLETE:
        return trial.value
    y = trial.intermediate_values.get(trial.last_step)
    return None if y is None or math.isnan(y) else y
