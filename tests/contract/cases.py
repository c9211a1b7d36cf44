"""Every optimizer, small and quick, with the domains and the steps that the contract is tested on.

The objective is a bump in the unit form that drifts, and jumps once, so that each policy has a
reason to forget.
"""

import copy
from dataclasses import dataclass, field
from itertools import cycle, product

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import optimizers as opts
from sktvbo.acquisition import (
    ExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    ThompsonSampling,
)
from sktvbo.domain import FiniteSet, as_domain
from sktvbo.staleness import EventTriggeredReset, PeriodicReset, RelevancyBudget, SlidingWindow

# By their names in the literature.
ALGORITHMS = {
    kind.label: kind
    for kind in map(opts.__dict__.get, sorted(opts.__all__, key=str.lower))
    if getattr(kind, "label", None)
}
# What an optimizer shows once its run has begun.
SHOWN = ("X_", "y_", "told_X_", "told_y_", "removed_at_", "failed_X_", "pending_X_", "history_")
SHOWN += ("n_told_", "n_removed_", "n_failed_", "next_time_", "policy_", "surrogate_", "belief_")

N_INITIAL, STEPS, JUMP = 5, 14, 9

BOX = [(0.0, 2.0), (-1.0, 1.0)]
ARMS = FiniteSet(np.random.RandomState(3).uniform(size=(12, 2)))
NAMED = {
    "rate": ("real", 0.0, 1.0),
    "alpha": ("log-real", 1e-3, 1.0),
    "depth": ("integer", 1, 5),
    "loss": ("categorical", ["l1", "l2", None]),
}
DOMAINS = {"box": BOX, "finite": ARMS, "named": NAMED}


def objective(x, t, domain="box"):
    """Value at a point, an array or a dict."""
    space = as_domain(DOMAINS[domain])
    u = space.to_unit(space.validate_point(x))
    return float(np.exp(-2.0 * np.sum((u - 0.4 - 0.01 * t - 0.3 * (t >= JUMP)) ** 2)))


@dataclass(eq=False)
class Case:
    """An optimizer with its options, and what is special about it."""

    name: str
    kind: type
    options: dict = field(default_factory=dict)
    expert: bool = False  # asked before each query
    forgets: bool = False  # something, in STEPS steps over the box
    records: tuple = ()  # columns of the history other than time and n
    started: dict = field(default_factory=dict, repr=False)

    @property
    def modelled(self):
        return self.kind is not opts.RandomSearch

    def make(self, domain="box", **options):
        # Seldom searched: nearly all of the time of a small run is that of its searches.
        defaults = {"n_initial_points": N_INITIAL, "refit_every": 3} if self.modelled else {}
        # Copies: a part that one test sets parameters of is not that of the next.
        options = {"random_state": 0} | defaults | copy.deepcopy(self.options) | options
        return self.kind(DOMAINS[domain], **options)

    def consult(self, opt, t, domain="box", sign=1.0):
        """Ask the expert, where there is one."""
        if self.expert:
            places = opt.ask_expert(t)
            opt.tell_expert(places, [sign * objective(x, t, domain) for x in places])

    def drive(self, opt, steps, start=0, domain="box", sign=1.0):
        """Ask and tell at start, start + 1, ...; the queries made."""
        queries = []
        for t in np.arange(float(start), start + steps):
            self.consult(opt, t, domain, sign)
            queries.append(opt.ask(t))
            opt.tell(queries[-1], sign * objective(queries[-1], t, domain), t)
        return queries

    def after(self, steps=STEPS, domain="box"):
        """Return an optimizer after some steps, and its queries.

        The steps of a domain are made once, without interruption; copies are kept on the way.
        """
        if domain not in self.started:
            opt, queries = self.make(domain), []
            kept = self.started[domain] = [copy.deepcopy(opt)]
            for t in range(STEPS):
                queries += self.drive(opt, 1, t, domain)
                kept.append(copy.deepcopy(opt))
            kept.append(queries)
        *kept, queries = self.started[domain]
        return copy.deepcopy((kept[steps], queries[:steps]))


BUDGET = ("budget", "offered_budget", "removed_relevancy")

CASES = [
    Case("RandomSearch", opts.RandomSearch),
    Case("GPUCB", opts.GPUCB),
    Case("IGPUCB", opts.IGPUCB),
    Case("RGPUCB-auto", opts.RGPUCB, records=("n_resets", "period", "epsilon")),
    Case(
        "RGPUCB-period",
        opts.RGPUCB,
        {"reset_period": 6},
        forgets=True,
        records=("n_resets", "period"),
    ),
    Case("BRGPUCB", opts.BRGPUCB, {"horizon": 14}, forgets=True, records=("n_resets", "period")),
    Case("SWGPUCB", opts.SWGPUCB, {"window": 6}, forgets=True, records=("window",)),
    Case("TVGPUCB-learn", opts.TVGPUCB),
    Case("TVGPUCB-fixed", opts.TVGPUCB, {"epsilon": 0.1}),
    Case("WGPUCB", opts.WGPUCB, {"discount": 0.9}),
    Case("UITVBO", opts.UITVBO),
    Case("ETGPUCB", opts.ETGPUCB, forgets=True, records=("n_resets", "deviation", "bound")),
    Case("ABO", opts.ABO, records=("length_scale",)),
    Case("WDBO", opts.WDBO, {"alpha": 2.0}, forgets=True, records=BUDGET),
    Case("BOLT-recommended", opts.BOLT, records=("max_size",)),
    Case("BOLT-max-size", opts.BOLT, {"max_size": 10}, forgets=True, records=("max_size",)),
    Case("SparQGPUCB", opts.SparQGPUCB, forgets=True, records=("cap",)),
    Case("SparQGPUCB-expert", opts.SparQGPUCB, expert=True, forgets=True, records=("cap",)),
    Case(
        "improvement",
        opts.BayesianOptimizer,
        {"acquisition": ExpectedImprovement(), "policy": RelevancyBudget(2.0, min_size=6)},
        forgets=True,
        records=BUDGET,
    ),
    Case(
        "probability",
        opts.BayesianOptimizer,
        {"acquisition": ProbabilityOfImprovement(), "policy": SlidingWindow(7)},
        forgets=True,
        records=("window",),
    ),
    Case(
        "thompson",
        opts.BayesianOptimizer,
        # Slow over a box: few of its steps have a surrogate.
        {"acquisition": ThompsonSampling(), "policy": PeriodicReset(11), "n_initial_points": 10},
        forgets=True,
        records=("n_resets", "period"),
    ),
    Case(
        "mean",
        opts.BayesianOptimizer,
        {"acquisition": PosteriorMean(), "policy": EventTriggeredReset()},
        forgets=True,
        records=("n_resets", "deviation", "bound"),
    ),
]
BY_NAME = {case.name: case for case in CASES}

# One of each kind of surrogate, acquisition function and policy; the others are --runslow.
_KINDS = {"RandomSearch", "WDBO", "ABO", "ETGPUCB", "SparQGPUCB-expert", "WGPUCB", "thompson"}


def some(parameters, often):
    """Return parameters of a test, those that are not among the ``often`` tested marked as slow."""
    slow = pytest.mark.slow
    return [p if p in often else pytest.param(p, marks=slow) for p in parameters]


KINDS = [case for case in CASES if case.name in _KINDS]
FEW = some(CASES, KINDS)
FEW_MODELLED = FEW[1:]  # all but the first, RandomSearch


def _often(values):
    """Return cases with values: WDBO with each, the others of each kind with one, in turns."""
    return [*zip(KINDS, cycle(values)), *product([BY_NAME["WDBO"]], values)]


# A case and the name of a domain: every case over the box, of each kind one elsewhere.
PLACED = [(case, "box") for case in CASES]
PLACED += some([*product(CASES, ("finite", "named"))], _often(("finite", "named")))


def in_turns(name, values):
    """Parametrize ``few`` and another argument: WDBO has each value, the others one in turns.

    With --runslow every case has each value.
    """
    often = _often(values)
    pairs = [
        pytest.param(*pair, marks=() if pair in often else pytest.mark.slow)
        for pair in product(CASES, values)
    ]
    return pytest.mark.parametrize(("few", name), pairs, ids=lambda p: getattr(p, "name", None))


def ask_and_tell(opt, steps, value=objective, start=0):
    """Steps of one unit of time; the queries."""
    queries = []
    for t in range(start, start + steps):
        queries.append(opt.ask(t))
        opt.tell(queries[-1], value(queries[-1], t))
    return queries


def points(X, domain="box"):
    """Queries, arrays or dicts, as rows (n, d)."""
    return as_domain(DOMAINS[domain]).validate_points(list(X))


def points_of(queries):
    """Points of a batch: an array (n, d), or a list of dicts."""
    X = [query.x for query in queries]
    return X if isinstance(X[0], dict) else np.array(X)


def timed(query):
    """Point and time of a query."""
    return query.x, query.t


def space(domain):
    return as_domain(DOMAINS[domain])


# How far a run may stray that goes on from a journal or from JSON: its factors were recomputed.
ROUNDING = 1e-4


def same_state(a, b, tolerance=0.0):
    """All that users see of two optimizers is the same."""

    def same(one, other, name=""):
        if tolerance:
            assert_allclose(one, other, rtol=tolerance, atol=tolerance, err_msg=name)
        else:
            assert_array_equal(one, other, err_msg=name)

    for name in ("X_", "y_", "told_X_", "told_y_", "removed_at_", "pending_X_", "failed_X_"):
        same(getattr(a, name), getattr(b, name), name)
    assert (a.n_told_, a.n_removed_) == (b.n_told_, b.n_removed_)
    assert a.next_time_ == b.next_time_ or tolerance
    assert [query.id for query in a.pending_] == [query.id for query in b.pending_]
    assert list(a.history_) == list(b.history_)
    for name, column in a.history_.items():
        same(column, b.history_[name], name)
    assert (a.surrogate_ is None) == (b.surrogate_ is None)
    if a.surrogate_ is not None:
        for name in ("theta_", "X_train_", "y_train_"):
            same(getattr(a.surrogate_, name), getattr(b.surrogate_, name), name)


def fingerprint(opt):
    """Of all that an optimizer holds: data, surrogate, policy, pending queries, random numbers."""
    if getattr(opt, "surrogate_", None) is not None:
        for surrogate in (opt.surrogate_, opt.belief_):
            # Parts of it are made when they are first asked for.
            surrogate.spatial_kernel_  # noqa: B018
            surrogate.predict(surrogate.X_train_[:1])
    return joblib.hash(vars(opt))
