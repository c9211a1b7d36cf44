"""Every two capabilities at once: the promise of each one holds beside the other.

A run has four of them, 24 queries, and a world whose truth is known. The optimum drifts towards the
limit, the constraint and the places that fail, so that each of them matters.
"""

import itertools
import time
from dataclasses import dataclass, field

import numpy as np
import pytest
from contract.cases import ROUNDING, same_state
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint
from sklearn.gaussian_process.kernels import ExpSineSquared

from sktvbo import ABO, BOLT, TVGPUCB, WDBO, BayesianOptimizer, Journal
from sktvbo.domain import FiniteSet, WithContext, as_domain
from sktvbo.optimizers import _parts
from sktvbo.staleness import SlidingWindow

QUERIES, BATCH, CHANGE, GLITCH = 24, 3, 12, 17
LOW, HIGH, CENTRE = np.array([0.0, -1.0]), np.array([2.0, 1.0]), np.array([0.4, 0.4])
START, STEP, LIMIT, SAFETY, PERIOD, BUDGET = [0.4, -0.6], 0.25, 0.7, 0.9, 10.0, 0.5
EXPLORED = 4
INNER = [(0.2, 1.6), (-0.8, 0.8)]
MEMBERS = np.array(list(itertools.product(np.linspace(0, 2, 6), np.linspace(-1, 1, 6))))

ALGORITHMS = {
    "WDBO": (WDBO, {}),
    "BOLT": (BOLT, {}),
    "ABO": (ABO, {}),
    "TVGPUCB": (TVGPUCB, {}),
    "window": (BayesianOptimizer, {"policy": SlidingWindow(20)}),
}

OPTIONS = {
    "limits": {"outcome_constraints": {"load": (None, LIMIT)}},
    "safety": {
        "outcome_constraints": {"load": (None, LIMIT)},
        "safety": SAFETY,
        "start_points": [START],
    },
    "max_step": {"max_step": STEP},
    "robust": {"robust": True},
    "seasons": {"seasonal_periods": PERIOD},
    "context": {},
    "constraints": {"constraints": LinearConstraint([[1.0, 1.0]], -np.inf, 0.8)},
    "failures": {},
    "batch": {},
    "journal": {},
    "budget": {"step_budget": BUDGET},
    "change": {},
    "minimize": {"maximize": False},
    "start": {"start_points": [START]},
    "members": {},
    "exploration": {"exploration": 1.0 / EXPLORED},
    "fixed": {},
    "available": {},
}


# --- the world ------------------------------------------------------------------------------------


def unit(x):
    return (np.asarray(x)[:2] - LOW) / (HIGH - LOW)


def value(x, t):
    return float(np.exp(-3.0 * np.sum((unit(x) - CENTRE - 0.01 * t) ** 2)))


def load(x, t, context):
    return float(unit(x)[0] + 0.05 * np.sin(t / 8.0) + 0.1 * (context - 0.5))


def fails(x):
    return unit(x)[1] > 0.85


def context_at(t):
    return 0.5 + 0.5 * np.sin(2.4 * t)


@dataclass
class Trial:
    """A run with some capabilities, and its record: one entry a query, in the order asked."""

    names: tuple
    algorithm: str
    opt: object
    x: list = field(default_factory=list)
    t: list = field(default_factory=list)
    context: list = field(default_factory=list)
    load: list = field(default_factory=list)
    failed: list = field(default_factory=list)
    batches: list = field(default_factory=list)
    fixed: dict = field(default_factory=dict)
    available: dict = field(default_factory=dict)
    glitch: int | None = None
    seconds: list = field(default_factory=list)

    def given(self, t):
        return {"context": [context_at(t)]} if "context" in self.names else {}

    def only(self):
        """Arguments of the next step: x0 as before, or the members of every other row.

        With constraints x0 is at most what goes with a member of the second row.
        """
        i, found = len(self.batches), {}
        if "fixed" in self.names and i % 3 == 1 and len(self.x) != CHANGE:
            largest = MEMBERS[18, 0] if {"constraints", "available"} <= {*self.names} else np.inf
            self.fixed[i] = min(self.x[-1][0], largest)
            found["fixed"] = {"x0": self.fixed[i]}
        if "available" in self.names:
            members = domain_of({*self.names} - {"context"}, len(self.x) >= CHANGE).points
            rows = np.unique(members[:, 1])[(i + 1) % 2 :: 2]
            self.available[i] = members[np.isin(members[:, 1], rows)]
            found["available"] = self.available[i] if i % 4 else {"x1": rows}
        return found

    def ask(self, t):
        given = self.given(t) | self.only()
        if "batch" in self.names:
            found = self.opt.suggest(t, BATCH, **given)
        elif "journal" in self.names:  # handles and points alike
            found = [self.opt.suggest(t, **given)]
        else:
            x = self.opt.ask(t, **given)
            found = [self.opt.pending_[-1]]
            assert_array_equal(found[0].x, x)
        self.batches.append(range(len(self.x), len(self.x) + len(found)))
        return found

    def tell(self, query, asked):
        i, x, t = len(self.x), query.x, query.t
        context = context_at(asked) if "context" in self.names else 0.5
        y, told = value(x, t), load(x, t, context)
        failed = bool("failures" in self.names and fails(x))
        for column, item in zip(
            (self.x, self.t, self.context, self.load, self.failed), (x, t, context, told, failed)
        ):
            column.append(item)
        if failed:
            self.opt.tell(query, failed=True)
            return
        if "robust" in self.names and i >= GLITCH and self.glitch is None:
            self.glitch, y = i, y + 20.0
        sign = -1.0 if "minimize" in self.names else 1.0
        measured = "limits" in self.names or "safety" in self.names
        self.opt.tell(query, sign * y, **({"outcomes": {"load": told}} if measured else {}))

    def drive(self, tmp_path):
        t = 0.0
        while len(self.x) < QUERIES:
            if "change" in self.names and len(self.x) == CHANGE:
                journal = {"journal": tmp_path / "after"} if "journal" in self.names else {}
                self.opt = self.opt.with_parameters(
                    domain=domain_of(self.names, changed=True), **journal
                )
            began = time.process_time()
            found = self.ask(t)
            self.seconds.append((time.process_time() - began) / len(found))
            for query in found:
                began = time.process_time()
                self.tell(query, t)
                self.seconds.append(time.process_time() - began)
            # Some algorithms choose a later time.
            t = max(t, *self.t) + len(found)
        return self


def domain_of(names, changed=False):
    inner = INNER if changed and "change" in names else list(zip(LOW, HIGH))
    if "members" in names or "available" in names:
        low, high = np.array(inner).T
        inside = ((low <= MEMBERS) & (high >= MEMBERS)).all(axis=1)
        inner = FiniteSet(MEMBERS[inside])
    return WithContext(inner, [(0.0, 1.0)]) if "context" in names else inner


def made(algorithm, names, changed=False, **options):
    kind, own = ALGORITHMS[algorithm]
    return kind(domain_of(names, changed), **(own | options))


def options_of(names, tmp_path):
    options = {"random_state": 0}
    for name in names:
        options |= OPTIONS[name]
    if "journal" in names:
        options["journal"] = tmp_path / "run"
    return options


def driven(algorithm, names, tmp_path):
    opt = made(algorithm, names, **options_of(names, tmp_path))
    return Trial(names, algorithm, opt).drive(tmp_path)


# --- the promises ---------------------------------------------------------------------------------


def check_limits(trial, tmp_path):
    """The recommended place is within the limit, and most of the later queries are."""
    t = max(trial.t) + 1.0
    context = context_at(t) if "context" in trial.names else 0.5
    x = trial.opt.recommend(t, **trial.given(t))
    assert load(x, t, context) <= LIMIT + 0.05  # on the limit the probability is ½
    p = trial.opt.probability_feasible([x], t, **trial.given(t))
    assert 0.45 <= p[0] <= 1.0
    late = np.array(trial.load[QUERIES // 2 :])
    assert np.mean(late > LIMIT + 0.02) <= 0.4


def check_safety(trial, tmp_path):
    """Violations are not more frequent than the required probability allows."""
    assert np.sum(np.array(trial.load) > LIMIT) <= round((1.0 - SAFETY) * QUERIES)


def check_max_step(trial, tmp_path):
    x = np.array(trial.x)
    low, high = LOW, HIGH
    for i in range(1, len(x)):
        before = x[i - 1]
        if "change" in trial.names and i >= CHANGE:
            low, high = np.array(domain_ends(trial.names)).T
            before = np.clip(before, low, high)
        assert np.all(np.abs(x[i] - before) <= STEP * (high - low) + 1e-9), i


def domain_ends(names):
    domain = as_domain(domain_of(names, changed=True))
    return list(zip(domain.lower[:2], domain.upper[:2]))


def check_robust(trial, tmp_path):
    """A glitch does not move the prediction at its own place and time."""
    i = trial.glitch
    assert i is not None
    x, t = [trial.x[i]], trial.t[i]
    context = {"context": [[trial.context[i]]]} if "context" in trial.names else {}
    sign = -1.0 if "minimize" in trial.names else 1.0
    assert abs(sign * trial.opt.predict(x, t, **context)[0] - value(x[0], t)) < 5.0


def check_seasons(trial, tmp_path):
    kernel = trial.opt.surrogate_.temporal_kernel_
    periods = [v for k, v in kernel.get_params().items() if k.endswith("periodicity")]
    assert any(isinstance(k, ExpSineSquared) for k in kernel.get_params().values())
    assert_allclose(periods, PERIOD)


def check_context(trial, tmp_path):
    told = [c for c, failed in zip(trial.context, trial.failed) if not failed]
    assert_allclose(np.sort(trial.opt.told_X_[:, 2]), np.sort(told))


def check_constraints(trial, tmp_path):
    t = max(trial.t) + 1.0
    places = np.array([*trial.x, trial.opt.recommend(t, **trial.given(t))])
    assert np.all(places.sum(axis=1) <= 0.8 + 1e-6)


def check_failures(trial, tmp_path):
    n_failed = sum(trial.failed)
    assert (trial.opt.n_failed_, trial.opt.n_told_) == (n_failed, QUERIES - n_failed)
    assert not any(fails(row) for row in trial.opt.told_X_)
    assert np.mean(trial.failed[QUERIES // 2 :]) <= 0.5


def check_batch(trial, tmp_path):
    """The queries of a batch are at different places or, if the algorithm waits, times."""
    for batch in trial.batches:
        places = np.array([[*trial.x[i], trial.t[i]] for i in batch])
        assert len(np.unique(places, axis=0)) == len(places)


def check_journal(trial, tmp_path):
    path = tmp_path / ("after" if "change" in trial.names else "run")
    trial.opt.close()
    options = options_of(trial.names, tmp_path) | {"journal": Journal(path, resume=True)}
    resumed = made(trial.algorithm, trial.names, "change" in trial.names, **options)
    same_state(trial.opt, resumed, ROUNDING)
    t = max(trial.t) + 1.0
    x, again = (np.array(opt.ask(t, **trial.given(t))) for opt in (copied(trial.opt), resumed))
    resumed.close()
    assert_allclose(again, x, atol=1e-3)


def copied(opt):
    """Return the same run without its journal."""
    return type(opt).from_json(opt.to_json(), journal=None)


def check_budget(trial, tmp_path):
    """Steps are shorter, and observations are not lost to the budget."""
    assert np.quantile(trial.seconds, 0.9) < BUDGET
    assert len(trial.opt.y_) >= 10


def check_change(trial, tmp_path):
    low, high = np.array(domain_ends(trial.names)).T
    later = np.array(trial.x[CHANGE:])
    assert np.all((later >= low) & (later <= high))
    assert trial.opt.n_told_ + trial.opt.n_failed_ == QUERIES


def check_minimize(trial, tmp_path):
    """The run mirrors the one in which the negated function is maximized."""
    names = tuple(name for name in trial.names if name != "minimize")
    again = tmp_path / "again"
    again.mkdir()
    assert_array_equal(driven(trial.algorithm, names, again).x, trial.x)


def check_start(trial, tmp_path):
    assert_allclose(trial.x[0], START)


def check_members(trial, tmp_path):
    assert all((np.isclose(MEMBERS, x).all(axis=1)).any() for x in trial.x)


def check_exploration(trial, tmp_path):
    """Every fourth query is farther than the others from all before."""
    places, numbers = np.array([unit(x) for x in trial.x]), np.arange(8, QUERIES)
    gaps = np.array([np.linalg.norm(places[:i] - places[i], axis=1).min() for i in numbers])
    explores = numbers % EXPLORED == EXPLORED - 1
    assert np.mean(gaps[explores]) > 1.2 * np.mean(gaps[~explores])


def check_fixed(trial, tmp_path):
    assert len(trial.fixed) >= 2
    for i, value in trial.fixed.items():
        assert all(trial.x[j][0] == value for j in trial.batches[i])


def check_available(trial, tmp_path):
    for i, members in trial.available.items():
        assert all((members == trial.x[j][:2]).all(axis=1).any() for j in trial.batches[i])


SAFE_STEPS = "safety", "max_step"
CHECKS = {name: globals()[f"check_{name}"] for name in OPTIONS}


def fours():
    """Return capabilities, four at a time: any two are once together.

    Safety beside a step limit is together with each other capability.
    """
    missing = {frozenset(pair) for pair in itertools.combinations(OPTIONS, 2)}
    others = [name for name in OPTIONS if name not in SAFE_STEPS]
    half = (len(others) + 1) // 2
    found = [(*SAFE_STEPS, *others[i::half]) for i in range(half)]

    def news(names):
        return missing.intersection(map(frozenset, itertools.combinations(names, 2)))

    for names in found:
        missing -= news(names)
    while missing:
        found.append(max(itertools.combinations(OPTIONS, 4), key=lambda names: len(news(names))))
        missing -= news(found[-1])
    return found


@pytest.mark.parametrize(
    ("names", "algorithm"),
    [*zip(fours(), itertools.cycle(ALGORITHMS))],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_each_promise_holds_beside_the_others(names, algorithm, tmp_path, monkeypatch):
    monkeypatch.setattr(_parts, "_CORRELATED", 0.9)  # the world is smooth
    trial = driven(algorithm, names, tmp_path)
    for name in names:
        CHECKS[name](trial, tmp_path)
