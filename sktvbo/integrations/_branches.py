"""Branches of a conditional space: parameters that some trials have and others lack."""

from __future__ import annotations

from dataclasses import dataclass, field

from optuna.distributions import CategoricalDistribution
from optuna.trial import TrialState


@dataclass(frozen=True, eq=False)
class Branch:
    """Group of parameters that always occur together, and values of others that lead to it.

    Attributes
    ----------
    n : int
        Trials with these parameters.
    seen : dict of str to Values
        Values of other parameters in these trials. Together they exclude all complete and pruned
        trials without the group. Empty if there are no such trials, or no values exclude them.
    values : dict of str to object
        Values of the parameters of ``seen`` in one of the trials.
    """

    n: int
    seen: dict = field(default_factory=dict)
    values: dict = field(default_factory=dict)

    @classmethod
    def of(cls, names, trials, number):
        """Return the branch of a group of names; ``number`` selects the trial of ``values``."""
        having = [trial for trial in trials if trial.distributions.keys() >= names]
        if not having:
            return cls(0)
        lacking = [
            trial
            for trial in trials
            if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
            and names.isdisjoint(trial.distributions)
        ]
        seen, trial = _explanation(names, having, lacking), having[number % len(having)]
        return cls(len(having), seen, {name: trial.params[name] for name in seen})

    def is_chosen_by(self, params):
        """Return True unless a parameter excludes the group."""
        return all(seen.has(params[name]) for name, seen in self.seen.items() if name in params)

    def can_be_chosen(self, fixed):
        """Return True if ``values`` choose the group, and the fixed parameters agree with them."""
        same = all(fixed.get(name, value) == value for name, value in self.values.items())
        return bool(self.values) and same


class Values:
    """Values of a parameter in some trials: some choices, or a range of numbers."""

    def __init__(self, name, trials):
        self._distribution = trials[-1].distributions[name]
        values = {
            trial.distributions[name].to_internal_repr(trial.params[name]) for trial in trials
        }
        self.n, self._choices, self._ends = len(values), values, (min(values), max(values))

    def has(self, value):
        """Return True if a value is one of these choices, or within the range."""
        value = self._distribution.to_internal_repr(value)
        if isinstance(self._distribution, CategoricalDistribution):
            return value in self._choices
        return self._ends[0] <= value <= self._ends[1]


def _explanation(names, having, lacking):
    """Return the values of few other parameters that exclude the trials without a group.

    The next parameter is the one that excludes most of the trials left; among equals, the one with
    fewest values.
    """
    others = set.intersection(*(set(trial.distributions) for trial in having)) - names
    known, seen = {name: Values(name, having) for name in sorted(others)}, {}
    while lacking:
        rests = {
            name: [t for t in lacking if name not in t.params or values.has(t.params[name])]
            for name, values in known.items()
        }
        best = min(known, key=lambda name: (len(rests[name]), known[name].n), default=None)
        if best is None or len(rests[best]) == len(lacking):
            return {}
        seen[best], lacking = known[best], rests[best]
    return seen
