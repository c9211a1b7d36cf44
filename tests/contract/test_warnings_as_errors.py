"""With warnings as errors each step is made, and raises what a plain warning would have said."""

import copy
import warnings

import numpy as np
import pytest
from contract.cases import BOX, same_state

from sktvbo import WDBO, BayesianOptimizer, Journal, TimeVaryingGPRegressor
from sktvbo.exceptions import (
    AmbiguousQueryWarning,
    JitterWarning,
    LimitWarning,
    OverconfidenceWarning,
    StepBudgetWarning,
    UnansweredQueryWarning,
)
from sktvbo.staleness import StaleDataPolicy


class Plain:
    """An optimizer whose warnings are warnings, and the texts of them by call."""

    filter = "always"

    def __init__(self, opt):
        self.opt, self.texts = opt, []

    def __call__(self, name, *args, **kwargs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(self.filter)
            found = self.call(name, *args, **kwargs)
        self.texts.append(self.raised or [(w.category, str(w.message)) for w in caught])
        return found

    raised = ()

    def call(self, name, *args, **kwargs):
        return getattr(self.opt, name)(*args, **kwargs)


class Strict(Plain):
    """The same with errors: what a call would return is read from the optimizer."""

    filter = "error"

    def call(self, name, *args, **kwargs):
        self.raised = []
        try:
            return super().call(name, *args, **kwargs)
        except Warning as first:
            while first is not None:
                self.raised.insert(0, (type(first), str(first)))
                first = first.__context__
            return self.opt.pending_[-1] if name in ("ask", "suggest", "announce") else None


def alike(opt, drive, *categories):
    """A run with warnings as errors is that with warnings, which are of some categories."""
    plain, strict = Plain(opt), Strict(copy.deepcopy(opt))
    for each in (plain, strict):
        drive(each)
    assert strict.texts == plain.texts
    found = {category for texts in plain.texts for category, _ in texts}
    assert found == set(categories)
    same_state(plain.opt, strict.opt)


def ambiguous(step, t=0.0):
    for i in range(2):
        step("announce", [0.5, 0.5], t + i)
    step("tell", [0.5, 0.5], 1.0)
    step("tell_many", [[0.5, 0.5]], [1.0])
    for i in range(2):
        step("announce", [0.5, 0.5], t + i)
    step("cancel", [0.5, 0.5])


def contradicting(step):
    """The model learns that nothing happens, and then everything does."""
    rng = np.random.RandomState(0)
    for t in range(75):
        x = [rng.uniform(0.0, 2.0), rng.uniform(-1.0, 1.0)]
        step("tell", x, 0.1 * x[0] if t < 8 else 1e3 * rng.standard_normal(), float(t))


def test_what_every_optimizer_warns_of(case):
    options = {} if not case.modelled else {"refit_every": None}
    alike(case.make(**options), ambiguous, AmbiguousQueryWarning)


@pytest.mark.parametrize("name", ["static", "forgetting", "robust", "limited"])
def test_predictions_that_are_wrong(name):
    options = {"n_initial_points": 6, "refit_every": None, "random_state": 0}
    static = TimeVaryingGPRegressor(noise_variance=1e-4, noise_variance_bounds="fixed")
    options |= {
        "static": {"surrogate": static},
        "forgetting": {},
        "robust": {"robust": True},
        "limited": {"outcome_constraints": {"objective": (-1e9, None)}},
    }[name]
    alike(BayesianOptimizer(BOX, **options), contradicting, OverconfidenceWarning)


def test_queries_without_answers():
    def drive(step):
        for t in range(14):
            step("suggest", float(t))
            step("tell", [0.3, 0.1 * t - 0.9], 1.0, float(t))
        for _ in range(3):
            step("suggest", 14.0, n=600)

    opt = BayesianOptimizer(BOX, n_initial_points=10**6, random_state=0)
    alike(opt, drive, UnansweredQueryWarning, UserWarning)


def test_limits_that_nothing_satisfies():
    def drive(step):
        for t in range(16):
            query = step("suggest", float(t))
            step("tell", query, 0.0, outcomes={"load": 5.0 + t})
        step("suggest", 16.0, fixed={"x0": 2.0})

    options = {"start_points": [[0.1, 0.0]], "safety": 0.9, "random_state": 0}
    limits = {"outcome_constraints": {"load": (None, 1.0)}}
    alike(WDBO(BOX, refit_every=None, **options, **limits), drive, LimitWarning)


def test_steps_that_take_too_long():
    def drive(step):
        for t in range(8):
            step("tell", step("suggest", float(t)), 0.1 * t)

    opt = WDBO(BOX, step_budget=1e-9, random_state=0)
    plain, strict = Plain(opt), Strict(copy.deepcopy(opt))
    for each in (plain, strict):
        drive(each)
        assert [[c for c, _ in texts] for texts in each.texts if texts] == [[StepBudgetWarning]]
        assert each.opt.n_told_ == 8


def test_matrices_that_need_a_jitter():
    def drive(step):
        for t in range(9):
            step("tell", [0.5 + 1e-12 * t, 0.5], 1.0, 0.0)

    options = {"noise_variance": 1e-18, "noise_variance_bounds": "fixed", "optimizer": None}
    surrogate = TimeVaryingGPRegressor(signal_variance=1e3, **options)
    opt = BayesianOptimizer(BOX, surrogate=surrogate, n_initial_points=4, random_state=0)
    alike(opt, drive, JitterWarning)


def test_the_clock_jumps_back(monkeypatch):
    readings = iter([1e6, 1e6 + 1.0, 1e6 - 50.0, 1e6 + 2.0] * 2)
    monkeypatch.setattr("time.time", lambda: next(readings))

    def drive(step):
        for _ in range(4):
            step("suggest")

    opt = BayesianOptimizer(BOX, clock="calendar", random_state=0)
    alike(opt, drive, UserWarning)


def test_a_run_that_keeps_its_parameters_is_resumed(tmp_path):
    for name in ("plain", "strict"):
        opt = WDBO(BOX, alpha=0.3, random_state=0, journal=tmp_path / name)
        opt.tell([0.5, 0.5], 1.0, 0.0)
        opt.close()
    kinds = {"plain": Plain, "strict": Strict}
    steps = [
        kind(WDBO(BOX, alpha=0.6, journal=Journal(tmp_path / name, resume=True)))
        for name, kind in kinds.items()
    ]
    for step in steps:
        step("tell", [0.1, 0.1], 2.0, 1.0)
        assert "keeps its parameters" in step.texts[0][0][1]
        assert step.opt.n_told_ == 2
    same_state(*(step.opt for step in steps))


class Failing(StaleDataPolicy):
    def watch(self, run):
        raise MemoryError("planted")


def test_a_step_that_fails_warns_of_nothing():
    opt = BayesianOptimizer(BOX, policy=Failing(), n_initial_points=1, random_state=0)
    for t in range(2):
        opt.announce([0.5, 0.5], t)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(MemoryError):
            opt.tell([0.5, 0.5], 1.0)
    assert not caught
    assert len(opt.pending_) == 2
