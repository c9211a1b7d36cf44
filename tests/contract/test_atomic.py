"""Interrupted anywhere, a call has happened or has not; never half."""

import copy
import inspect
import signal
import sys
from pathlib import Path
from time import perf_counter

import joblib
import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, STEPS, ask_and_tell, fingerprint, objective, same_state
from optimizers.dense import FITTED
from scipy.stats import qmc
from sklearn.gaussian_process.kernels import RBF, Matern

import sktvbo
from sktvbo import (
    WDBO,
    BayesianOptimizer,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
)
from sktvbo.domain import WithContext
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.staleness import MaximumSize, RelevancyBudget, RelevancyCap, SlidingWindow

ROOT = str(Path(sktvbo.__file__).parent)


class Stopped(BaseException):
    """Like KeyboardInterrupt, no Exception."""


def places_of(call):
    """The places that a call goes through, by number: of each line and each call the first time."""
    return _run(call, stop=None)


def stopped_at(call, place):
    """Run a call that is stopped at one of its places."""
    with pytest.raises(Stopped):
        _run(call, stop=place)


def _run(call, stop):
    seen = set()

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        if event != "line" and frame.f_code.co_flags & inspect.CO_GENERATOR:
            return trace  # one that is not exhausted is closed where no exception is passed on
        here = (frame.f_code, frame.f_lineno, event)
        if event in ("call", "line", "return") and here not in seen:
            seen.add(here)
            if len(seen) - 1 == stop:
                raise Stopped
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return len(seen)


def some_of(count, request):
    """Places to stop at: all of them, or some 9 when there is no time for more."""
    if request.config.getoption("--runslow"):
        return range(count)
    last = range(max(count - 5, 0), count)  # where the new state is taken over
    return sorted({*range(0, count, max(count // 4, 1)), *last})


def in_context():
    """An optimizer on a domain with a context, that forgets."""
    opt = WDBO(WithContext(BOX, [(0.0, 1.0)]), alpha=2.0, n_initial_points=4, random_state=0)
    for t in range(STEPS):
        x = opt.ask(t, context=0.1 * (t % 3))
        opt.tell(x, objective(x, t))
    return opt


OPTIMIZER_CALLS = {
    "tell": lambda opt, x: opt.tell(x, 0.7),
    "ask": lambda opt, x: opt.ask(STEPS + 1.0),
    "batch": lambda opt, x: opt.suggest(STEPS + 1.0, n=2),
    "cancel": lambda opt, x: opt.cancel(x),
    "untell": lambda opt, x: opt.untell(),
    "earlier": lambda opt, x: opt.untell(t=opt.told_X_[-3, -1]),
    "tell_many": lambda opt, x: opt.tell_many([x, [0.5, 0.5]], [0.1, 0.2], STEPS),
    "fail": lambda opt, x: opt.tell(x, failed=True),
    "announce": lambda opt, x: opt.announce([0.5, 0.5], STEPS + 1.0),
    "ask_expert": lambda opt, x: opt.ask_expert(STEPS + 1.0),
    "tell_expert": lambda opt, x: opt.tell_expert([x, [1.0, 0.0]], [0.1, 0.2], STEPS + 1.0),
}


STOPPED = [("WDBO", call) for call in OPTIMIZER_CALLS if "expert" not in call]
STOPPED += [("SparQGPUCB-expert", call) for call in ("tell", "ask_expert", "tell_expert")]
OTHERS = ("BOLT-max-size", "ETGPUCB", "UITVBO")
STOPPED += [pytest.param(name, "tell", marks=pytest.mark.slow) for name in OTHERS]


@pytest.mark.parametrize(("name", "call"), STOPPED)
def test_stopped_at_any_line_a_step_has_happened_or_not(name, call, request):
    case = BY_NAME[name]
    begun, _ = case.after()
    case.consult(begun, STEPS)
    x = begun.ask(STEPS)
    begun.tell([0.5, 0.5] if np.allclose(x, 0.3) else [0.3, 0.3], 0.2, STEPS)
    begun = copy.deepcopy(begun)  # a hash knows a copy from what it was copied from
    step = OPTIMIZER_CALLS[call]
    before, twin = fingerprint(begun), copy.deepcopy(begun)
    count = places_of(lambda: step(twin, x))
    after = fingerprint(twin)
    assert count > 10
    assert before != after
    found = set()
    for place in some_of(count, request):
        opt = copy.deepcopy(begun)
        stopped_at(lambda: step(opt, x), place)  # noqa: B023
        left = fingerprint(opt)
        found.add(left)
        assert left in (before, after), place
        if left == before:
            step(opt, x)  # and nothing is left behind
            assert fingerprint(opt) == after
    assert before in found


def test_a_run_that_is_stopped_in_its_first_call_has_begun_or_not(request):
    opt = BY_NAME["WDBO"].make()
    count = places_of(lambda: opt.ask(0.0))
    expected = BY_NAME["WDBO"].make().ask(0.0)
    for place in some_of(count, request):
        opt = BY_NAME["WDBO"].make()
        stopped_at(lambda: opt.ask(0.0), place)  # noqa: B023
        x = opt.ask(0.0)
        begun = opt.pending_
        assert len(begun) in (1, 2)
        assert np.array_equal(begun[0].x, expected)
        if len(begun) == 1:
            assert np.array_equal(x, expected)


X = np.column_stack([np.linspace(0.0, 1.0, 12), np.arange(12.0)])
Y = np.sin(6.0 * X[:, 0])
REGRESSORS = {
    "exact": TimeVaryingGPRegressor(optimizer=None, normalize_y=True),
    "ageing": TimeVaryingGPRegressor(optimizer=None, noise_model=QuadraticInjection()),
    "sparse": SparseTimeVaryingGPRegressor(optimizer=None, n_inducing=5, inducing="greedy"),
}
REGRESSOR_CALLS = {
    "fit": lambda gp: gp.fit(X[:5], Y[:5] + 1.0),
    "partial_fit": lambda gp: gp.partial_fit([[0.3, 12.0], [0.4, 13.0]], [0.5, 0.6]),
    "forget": lambda gp: gp.forget([2, 7]),
    "advance": lambda gp: gp.advance(20.0),
}


def known(gp):
    gp.spatial_kernel_  # noqa: B018
    gp.predict(X[:1], return_std=True)
    return joblib.hash(vars(gp))


@pytest.mark.parametrize("call", REGRESSOR_CALLS)
@pytest.mark.parametrize("kind", REGRESSORS)
def test_stopped_at_any_line_a_regressor_is_as_before_or_as_after(kind, call, request):
    begun = copy.deepcopy(copy.deepcopy(REGRESSORS[kind]).fit(X, Y))
    change = REGRESSOR_CALLS[call]
    before, twin = known(begun), copy.deepcopy(begun)
    count = places_of(lambda: change(twin))
    after, found = known(twin), set()
    for place in some_of(count, request):
        gp = copy.deepcopy(begun)
        stopped_at(lambda: change(gp), place)  # noqa: B023
        found.add(known(gp))
    assert before in found <= {before, after}


# --- parts that fail ------------------------------------------------------------------------------


class Failing:
    """Fails when told to, at the n-th call from now."""

    left = None

    @classmethod
    def pass_or_fail(cls):
        if cls.left is not None:
            cls.left -= 1
            if cls.left < 0:
                raise MemoryError("planted")


class FailingKernel(RBF):
    def __call__(self, X, Y=None, eval_gradient=False):
        Failing.pass_or_fail()
        return super().__call__(X, Y, eval_gradient)


class FailingPolicy(SlidingWindow):
    def watch(self, run):
        Failing.pass_or_fail()

    def before_add(self, surrogate, x, t, y):
        Failing.pass_or_fail()
        return super().before_add(surrogate, x, t, y)

    def record(self):
        Failing.pass_or_fail()
        return super().record()


FAILING = {
    "kernel": {"surrogate": TimeVaryingGPRegressor(FailingKernel(0.5), optimizer=None)},
    "policy": {"policy": FailingPolicy(6)},
}


@pytest.mark.parametrize("part", FAILING)
def test_a_part_that_fails_leaves_the_optimizer_as_it_was(part, monkeypatch):
    options = {"clock": "step", "n_initial_points": 4, "random_state": 0}
    opt = BayesianOptimizer(BOX, **options, **FAILING[part])
    for t in range(8):
        x = opt.ask()
        opt.tell(x, objective(x, 0.1 * t))
    failures = 0
    for n in range(6):
        for call in (opt.ask, lambda: opt.tell([0.4, 0.3], 0.5, opt.next_time_)):
            before = fingerprint(opt)
            monkeypatch.setattr(Failing, "left", n)
            try:
                call()
            except MemoryError:
                failures += 1
                monkeypatch.setattr(Failing, "left", None)
                assert fingerprint(opt) == before
            monkeypatch.setattr(Failing, "left", None)
    assert failures >= 1
    opt.tell(opt.ask(), 0.5)


@pytest.mark.parametrize(
    "record", [{"size": "many"}, {"n": 3.0}, {3: 1.0}, [1.0], {"a": [1.0]}, {"a": np.nan}], ids=str
)
def test_what_a_policy_records_are_numbers(record):
    class Recording(SlidingWindow):
        def record(self):
            return record

    opt = BayesianOptimizer(BOX, policy=Recording(5), n_initial_points=2, random_state=0)
    with pytest.raises(ValueError, match=r"Recording\.record must be a dict (of|with)"):
        opt.tell(opt.ask(0.0), 1.0)
    assert len(opt.told_y_) == 0


class NaNRelevanciesGP(FITTED):
    """A fitted model some of whose relevancies are not known."""

    def relevancy_sweep(self, now=None):
        sweep = super().relevancy_sweep(now)
        found = sweep.relevancy()
        found[1] = np.nan
        sweep.relevancy = lambda: found
        return sweep


class NaNRelevancies(TimeVaryingGPRegressor):
    _fitted_class = NaNRelevanciesGP


@pytest.mark.parametrize("policy", [MaximumSize(6), RelevancyCap(6, 1), RelevancyBudget(9.0, 6)])
def test_nan_for_a_relevancy_is_an_error(policy):
    parts = {"surrogate": NaNRelevancies(RBF(0.3), Matern(3.0), optimizer=None), "policy": policy}
    opt = BayesianOptimizer(BOX, **parts, n_initial_points=6, random_state=0)
    ask_and_tell(opt, 6, lambda x, t: float(t))
    x, before = opt.ask(6), fingerprint(opt)
    with pytest.raises(ValueError, match=r"The relevancies of .* Got NaN for 1 of 7"):
        opt.tell(x, 1.0)
    assert fingerprint(opt) == before


# --- interrupts -----------------------------------------------------------------------------------


def alarm_in(seconds, call):
    """Interrupt a call after a while, where it is not done by then."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            call()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGALRM, before)
    return False


timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that interrupt")


@timers
@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["in context", "SparQGPUCB-expert"])
def test_interrupts_at_random_moments(name, count):
    # SciPy does not try again to load what its first Sobol points need.
    qmc.Sobol(2).random(1)
    rng, interrupted, t = np.random.RandomState(1), 0, float(STEPS)
    opt = in_context() if name == "in context" else BY_NAME[name].after()[0]
    kinds = {"ask": 0, "tell": 1, "untell": -1, "tell_many": 2, "fail": 0}
    if name != "in context":
        kinds |= {"expert": 0, "answers": 0}
    told, seconds = STEPS, {}  # that the latest call of each kind took when it came through
    for i in range(count):
        t += 0.5
        places = rng.uniform(size=(2, 2))
        given = {"context": rng.uniform(size=1)} if name == "in context" else {}
        call = {
            "ask": lambda: opt.suggest(t, n=2, **given),  # noqa: B023
            "tell": lambda: opt.tell(places[0], 0.3, t, **given),  # noqa: B023
            "untell": lambda: opt.untell(t=opt.told_X_[-1 - i % 4, -1]),  # noqa: B023
            "tell_many": lambda: opt.tell_many(places, [0.1, 0.2], t, **given),  # noqa: B023
            "fail": lambda: opt.tell(places[0], t=t, failed=True, **given),  # noqa: B023
            "expert": lambda: opt.ask_expert(t),  # noqa: B023
            "answers": lambda: opt.tell_expert(places, [0.1, 0.2], t),  # noqa: B023
        }
        kind = sorted(kinds)[rng.randint(len(kinds))] if told > 8 else "tell_many"
        more, before = kinds[kind], copy.copy(opt)
        tic = perf_counter()
        if alarm_in(rng.uniform(0.0, 1.5 * seconds.get(kind, 0.004)), call[kind]):
            interrupted += 1
            # All of it or nothing: of two that were told at once there is never one.
            assert opt.n_told_ in (told, told + more)
            if more and opt.n_told_ == told:
                same_state(opt, before)
        else:
            seconds[kind] = perf_counter() - tic
            assert opt.n_told_ == told + more
            assert opt.n_failed_ == before.n_failed_ + (kind == "fail")
        told = opt.n_told_
        assert len(opt.told_y_) == len(opt.told_X_) == len(opt.removed_at_) == told
        if opt.surrogate_ is not None:
            assert np.array_equal(opt.surrogate_.X_train_[:, -1], opt.X_[:, -1])
            assert np.array_equal(opt.surrogate_.y_train_, opt.y_)
            assert np.isin(opt.y_, opt.told_y_).all()
        else:  # the policy and `untell` left none, so that the run begins again
            assert len(opt.X_) < opt.n_initial_points
        for query in opt.pending_[:-20]:
            opt.cancel(query)
    assert interrupted > count // 10
