"""Runs, recorded and step by step. The toy optimizer has only suggest, tell, X_ and n_removed_."""

import json
import pickle
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator

from sktvbo import ABO, ETGPUCB, GPUCB, SWGPUCB, WDBO, RandomSearch, SparQGPUCB
from sktvbo.domain import as_domain
from sktvbo.evaluation import RunResult, SimulatedClock, StepClock, WallClock, run, steps
from sktvbo.exceptions import AskTellError, InvalidObservationError, MissingExtraError
from sktvbo.optimizers import Query
from sktvbo.problems import from_callable, make


@dataclass(eq=False, repr=False)
class Toy(BaseEstimator):
    """Random search that keeps the last ``window`` observations and may wait or sleep."""

    domain: object = None
    window: int = 1000
    wait: float = 0.0
    sleep: float = 0.0
    maximize: bool = False
    random_state: int | None = None

    def _start(self):
        if not hasattr(self, "n_told_"):
            self.rng_ = np.random.RandomState(self.random_state)
            self.n_told_ = self.n_removed_ = 0
            self.X_ = np.empty((0, as_domain(self.domain).n_dims + 1))
            self.asked_ = []

    def suggest(self, t):
        self._start()
        time.sleep(self.sleep)
        self.asked_.append(t)
        x = as_domain(self.domain).sample(1, self.rng_)[0]
        return Query(len(self.asked_), x, t + self.wait)

    def ask(self, t):
        raise AssertionError("an optimizer that has suggest is asked by it")

    def tell(self, x, y, t=None):
        self._start()
        self.n_told_ += 1
        X = np.vstack([self.X_, np.append(x, t)])
        self.X_ = X[-self.window :]
        self.n_removed_ += len(X) - len(self.X_)


@pytest.fixture
def problem():
    return make("six-hump-camel", horizon=60.0, random_state=5)


# --- steps ----------------------------------------------------------------------------------------


def test_a_step_of_a_run_is_one_query(problem):
    result = run(Toy(), problem, horizon=20)
    assert_array_equal(result.times, np.arange(20))
    assert result.queries.shape == (20, 1)
    assert (result.problem, result.n_initial, result.horizon) == ("six-hump-camel", 15, 20.0)
    assert result.time_average_regret == pytest.approx(result.average_regret)


# --- regrets --------------------------------------------------------------------------------------


def test_regrets_are_noise_free_and_those_of_the_queries(problem):
    result = run(Toy(), problem)
    values = np.array([problem.value(x, t) for x, t in zip(result.queries, result.times)])
    optima = np.array([problem.optimum(t)[1] for t in result.times])
    assert_allclose(result.regrets, optima - values, rtol=1e-12)
    assert 0.5 < (result.observations - values).var() / problem.noise_variance < 2.0
    assert result.average_regret == pytest.approx(result.regrets[15:].mean())


def test_time_average_weighs_a_regret_by_how_long_it_lasts(problem):
    clock = SimulatedClock(lambda n: 0.1 * n)
    result = run(Toy(), problem, clock)
    t = np.r_[result.times[15:], 60.0]
    expected = np.sum(np.diff(t) * result.regrets[15:]) / (60.0 - t[0])
    assert result.time_average_regret == pytest.approx(expected)
    assert result.time_average_regret != pytest.approx(result.average_regret, rel=1e-4)


def test_no_query_after_the_initial_ones_has_no_average(problem):
    result = run(Toy(), problem, SimulatedClock(lambda n: 100.0))
    assert len(result.times) == 15
    for name in ("average_regret", "time_average_regret"):
        with pytest.raises(InvalidObservationError, match=r"after the 15 initial ones. Got none"):
            getattr(result, name)
    assert result.to_dict()["average_regret"] is None


# --- clocks ---------------------------------------------------------------------------------------


def test_simulated_clock_sees_the_size_of_the_data_set(problem):
    sizes = []

    def response_time(n):
        sizes.append(n)
        return 0.5 + 0.25 * n

    result = run(Toy(window=20), problem, SimulatedClock(response_time, call_duration=0.25))
    assert_array_equal(result.dataset_sizes, np.minimum(np.arange(len(result.times)) + 1, 20))
    assert_array_equal(result.removed_counts, np.maximum(np.arange(len(result.times)) - 19, 0))
    assert sizes[:8] == [15, 16, 17, 18, 19, 20, 20, 20]
    # The first query is asked for at horizon / 40.
    assert result.times[15] == 1.5 + 0.5 + 0.25 * 15
    assert_allclose(np.diff(result.times[20:]), 0.25 + 0.5 + 0.25 * 20)
    assert result.times[-1] < 60.0


def test_optimizer_is_asked_at_the_time_and_told_the_time_of_the_query(problem):
    clock = SimulatedClock(lambda n: 2.0, call_duration=1.0)
    result = run(Toy(), problem, clock)
    asked = result.optimizer.asked_
    assert asked[:3] == [1.5, 4.5, 7.5]
    assert_array_equal(result.times[15:18], [3.5, 6.5, 9.5])
    assert_array_equal(result.optimizer.X_[:, -1], result.times)
    assert_array_equal(result.optimizer.X_[:, :-1], result.queries)


def test_wall_clock_counts_computing():
    problem = make("ackley", horizon=0.5)
    result = run(Toy(sleep=0.05), problem, WallClock())
    times = result.times[15:]
    # 0.4875 seconds are left after the initial design.
    assert 1 <= len(times) <= 9
    assert np.all(np.diff(times) >= 0.05)
    assert np.all(result.response_times[15:] >= 0.05)
    assert times[-1] < 0.5


# --- seeds and copies -----------------------------------------------------------------------------


def same(a, b):
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for name in ("times", "queries", "observations", "regrets", "dataset_sizes")
    )


def test_one_seed_one_result(problem):
    clock = SimulatedClock(lambda n: 0.7)
    assert same(run(Toy(), problem, clock), run(Toy(), problem, clock))
    assert not same(run(Toy(), problem, clock), run(Toy(), problem, clock, random_state=1))


def test_callers_objects_are_not_changed(problem):
    optimizer, clock = Toy(domain=[(5, 6)], random_state=3), SimulatedClock("papers", 1.0)
    before = pickle.dumps((optimizer, problem, clock))
    result = run(optimizer, problem, clock)
    assert pickle.dumps((optimizer, problem, clock)) == before
    assert result.optimizer is not optimizer
    assert result.optimizer.domain == problem.domain
    assert result.optimizer.maximize is True
    assert isinstance(result.optimizer.random_state, int)


# --- bookkeeping ----------------------------------------------------------------------------------


def test_a_run_in_json_and_back(problem):
    result = run(ETGPUCB(n_initial_points=5), problem, horizon=20, n_initial=4, random_state=3)
    assert np.isnan(result.history["bound"]).any()
    again = RunResult.from_dict(json.loads(json.dumps(result.to_dict(), allow_nan=False)))
    assert again.to_dict() == result.to_dict()
    assert same(again, result)
    assert again.seed == 3
    assert again.optimizer is None
    assert again.dataset_sizes.dtype == result.dataset_sizes.dtype
    assert_array_equal(again.history["bound"], result.history["bound"])


@pytest.fixture(scope="module")
def content():
    return run(Toy(), make("six-hump-camel", horizon=60.0)).to_dict()


def test_only_a_seed_that_is_a_number_is_recorded(problem):
    rng = np.random.RandomState(0)
    assert run(Toy(), problem, random_state=rng).seed is None
    assert run(Toy(), problem, random_state=np.int64(4)).to_dict()["seed"] == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regrets": [1.0]}, r"regrets must be .* shape \(60,\)"),
        ({"regrets": ["much"] * 60}, "regrets must be real numbers"),
        ({"regrets": [None] * 60}, "regrets must be finite"),
        ({"regrets": [0.0] * 60}, "average regret is not that of its"),
        ({"observations": [np.inf] * 60}, "observations must be finite"),
        ({"queries": [1.0] * 60}, r"queries must be .* shape \(60, d\)"),
        ({"dataset_sizes": [1.5] * 60}, "dataset_sizes are not integers"),
        ({"removed_counts": [1e300] * 60}, "removed_counts are not integers"),
        ({"removed_counts": [-1] * 60}, "removed_counts are negative"),
        ({"response_times": [-1.0] * 60}, "response_times are negative"),
        ({"history": {"size": [1]}}, "different lengths"),
        ({"problem": 3}, "name is not a str"),
        ({"horizon": "long"}, "horizon must be one real number"),
        ({"horizon": 59.0}, "not before its horizon"),
        ({"times": [-1e308] * 59 + [1e308]}, "not before its horizon"),
        ({"times": [*range(60)][::-1]}, "times are not in order"),
        ({"n_initial": 4.5}, "n_initial must be an int"),
        ({"seed": True}, "seed must be an int"),
        ({"seed": -1}, "seed must be an int"),
    ],
)
def test_from_dict_rejects_invalid_content(content, change, message):
    with pytest.raises(ValueError, match=f"what RunResult.to_dict returns\\..*{message}"):
        RunResult.from_dict(content | change)


@pytest.mark.parametrize(("content", "message"), [([], "Got list"), ({}, "KeyError")])
def test_from_dict_rejects_other_content(content, message):
    with pytest.raises(ValueError, match=message):
        RunResult.from_dict(content)


def test_no_initial_design(problem):
    result = run(Toy(), problem, n_initial=0)
    assert_array_equal(result.times, np.arange(60))
    assert result.average_regret == pytest.approx(result.regrets.mean())


# --- errors ---------------------------------------------------------------------------------------


def test_progress(problem, capsys, monkeypatch):
    pytest.importorskip("tqdm")
    run(Toy(), problem, progress=True)
    assert "six-hump-camel" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(MissingExtraError, match=r"sktvbo\[progress\]"):
        run(Toy(), problem, progress=True)


# --- step by step ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizer", "clock", "expert"),
    [
        (WDBO(n_initial_points=6), SimulatedClock(lambda n: 0.7, call_duration=0.3), None),
        (ABO(n_initial_points=6), StepClock(), None),
        (SparQGPUCB(n_initial_points=5), None, "problem"),
    ],
)
def test_a_run_is_its_steps(optimizer, clock, expert):
    problem = make("six-hump-camel", horizon=25, random_state=5)
    options = {"n_initial": 6, "random_state": 2, "expert": expert}
    result = run(optimizer, problem, clock, **options)
    found = list(steps(optimizer, problem, clock, **options))
    assert_array_equal([step.time for step in found], result.times)
    assert_array_equal([step.x for step in found], result.queries)
    assert_array_equal([step.y for step in found], result.observations)
    assert_array_equal([step.size for step in found], result.dataset_sizes)
    assert_array_equal([step.removed for step in found], result.removed_counts)
    assert [step.initial for step in found] == [True] * 6 + [False] * (len(result.times) - 6)
    assert all(step.seconds > 0.0 for step in found)


def test_an_expert_is_asked_before_each_query_and_its_bad_answer_is_an_error(problem):
    asked, options = [], {"horizon": 9.0, "n_initial": 5}

    def expert(X, t):
        asked.append((len(X), t))
        return problem.values(X, t)

    optimizer = SparQGPUCB(n_queries=3, n_initial_points=5)
    result = run(optimizer, problem, expert=expert, **options)
    assert asked == [(3, t) for t in result.times[5:]]
    with pytest.raises(ValueError, match="y must be an array of shape"):
        run(optimizer, problem, expert=lambda X, t: np.ones(len(X) + 1), **options)


def test_a_step_has_the_surrogate_before_its_observation(problem):
    before = None
    for i, step in enumerate(steps(WDBO(n_initial_points=8), problem, n_initial=8), 1):
        optimizer = step.optimizer
        assert (optimizer.n_told_, len(optimizer.X_)) == (i, step.size)
        assert_array_equal(optimizer.told_X_[-1], [*step.x, step.time])
        assert (step.surrogate is None) == (i <= 8)
        assert (before and before.gp) is (step.surrogate and step.surrogate._gp)
        before = optimizer._run.surrogate


def test_a_run_can_be_stopped_and_inspected_between_steps(problem):
    run_ = steps(GPUCB(n_initial_points=6), problem, n_initial=6)
    for step in run_:
        if step.time == 12.0:
            break
    run_.close()
    assert list(run_) == []
    optimizer = step.optimizer
    shorter = run(GPUCB(n_initial_points=6), problem, n_initial=6, horizon=13.0)
    assert_array_equal(optimizer.told_X_[:, :-1], shorter.queries)
    # Calls between two steps do not change the run.
    straight = run(GPUCB(n_initial_points=6), problem, n_initial=6)
    watched = []
    for step in steps(GPUCB(n_initial_points=6), problem, n_initial=6):
        if not step.initial:
            step.optimizer.recommend(step.time)
        watched.append(step.y)
    assert_array_equal(watched, straight.observations)


def test_steps_are_made_one_at_a_time():
    asked = []
    line = from_callable(lambda x, t: asked.append(t) or 0.0, [(0.0, 1.0)], horizon=10.0)
    run_ = steps(RandomSearch(), line, n_initial=2)
    assert asked == []
    for n in (1, 2, 3):
        next(run_)
        assert asked[:n] == [0.0, 1.0, 2.0][:n]
        assert max(asked) == n - 1.0


def test_invalid_arguments_are_refused_before_the_first_step(problem):
    with pytest.raises(TypeError, match=r"Got 'ackley' instead. Make one with sktvbo.problems.mak"):
        steps(WDBO(), "ackley")
    with pytest.raises(TypeError, match="must be an ask/tell optimizer"):
        steps("WDBO", problem)
    for horizon in (0.0, -1.0, 60.1, np.nan):
        with pytest.raises(ValueError, match=r"horizon must be .* range \(0, 60.0\]"):
            steps(WDBO(), problem, horizon=horizon)
    for n_initial in (-1, 2.5, None):
        with pytest.raises(ValueError, match=r"n_initial must be an int in the range \[0, inf\)"):
            steps(WDBO(), problem, n_initial=n_initial)
    with pytest.raises(ValueError, match="n_initial must be at most"):
        steps(WDBO(), problem, n_initial=61)
    with pytest.raises(TypeError, match="expert must be"):
        steps(WDBO(), problem, expert=3)


def test_a_query_for_an_earlier_time_is_an_error(problem):
    class Late(RandomSearch):
        def suggest(self, t=None, n=None, *, context=None):
            return replace(super().suggest(t), t=t - 1.0)

    with pytest.raises(AskTellError, match=r"must be at least t\. Got 0\.0 for t=1\.0"):
        list(steps(Late(), problem, n_initial=1))


@pytest.mark.parametrize("kept", [0, 4, 100])
def test_the_record_of_an_optimizer_with_a_history_is_read_back(kept):
    problem = make("six-hump-camel", horizon=20.0)
    optimizer = SWGPUCB(problem.domain, window=5, history=kept, refit_every=None, random_state=0)
    result = run(optimizer, problem, random_state=0)
    again = RunResult.from_dict(json.loads(json.dumps(result.to_dict())))
    assert {len(column) for column in result.history.values()} <= {len(result.times)}
    for name, column in result.history.items():
        assert_array_equal(again.history[name], column)
        assert_array_equal(column[len(column) - kept :][-4:], result.optimizer.history_[name][-4:])
