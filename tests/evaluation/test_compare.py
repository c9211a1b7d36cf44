"""Comparisons of optimizers on problems."""

import os
import signal
import time
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from joblib import Parallel, parallel_config, register_parallel_backend
from joblib._parallel_backends import ThreadingBackend
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from sktvbo import GPUCB, RandomSearch, TimeVaryingGPRegressor
from sktvbo.evaluation import Fresh, SimulatedClock, compare, run
from sktvbo.exceptions import InvalidObservationError, OverconfidenceWarning
from sktvbo.problems import from_callable, make


@dataclass(eq=False, repr=False)
class Fixed(BaseEstimator):
    """Optimizer that queries one point of the unit box, or random ones if ``at`` is None."""

    domain: object = None
    at: float | None = None
    maximize: bool = True
    random_state: int | None = None

    def ask(self, t=None):
        if not hasattr(self, "rng_"):
            self.rng_ = np.random.RandomState(self.random_state)
        if self.at is not None:
            return self.domain.from_unit(np.full(self.domain.n_dims, self.at))
        return self.domain.sample(1, self.rng_)[0]

    def tell(self, x, y, t=None):
        row = np.append(x, t)[np.newaxis]
        self.X_ = np.vstack([self.X_, row]) if hasattr(self, "X_") else row
        self.n_removed_ = 0


ALGORITHMS = {"centre": Fixed(at=0.5), "random": Fixed()}
SEEDS = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=3).tolist()


def some_problems():
    return [make("ackley", horizon=20.0), make("six-hump-camel", horizon=20.0)]


def half(n):
    return 0.5


def small(**options):
    options = {"n_replications": 3, "n_initial": 4, **options}
    return compare(ALGORITHMS, some_problems(), **options)


def equal(a, b):
    assert list(a.results) == list(b.results)
    return all(
        np.array_equal(getattr(x, name), getattr(y, name))
        for key in a.results
        for x, y in zip(a.results[key], b.results[key], strict=True)
        for name in ("times", "queries", "observations", "regrets", "dataset_sizes")
    )


@pytest.fixture(scope="module")
def plain():
    """A comparison with the defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return small()


# --- compare --------------------------------------------------------------------------------------


def test_every_pair_is_replicated(plain):
    assert plain.failures == []
    assert plain.algorithms == ["centre", "random"]
    assert plain.problems == ["ackley", "six-hump-camel"]
    assert list(plain.results) == [(a, p) for a in plain.algorithms for p in plain.problems]
    # Ackley is best at the centre, at all times.
    rows = {(r["algorithm"], r["problem"]): r for r in plain.summary()}
    assert rows["centre", "ackley"]["average_regret"] == pytest.approx(0.0, abs=1e-9)
    assert rows["random", "ackley"]["average_regret"] > 1.0


def test_replications_are_runs_and_algorithms_share_their_design(plain):
    results = plain.results["random", "ackley"]
    assert [result.seed for result in results] == SEEDS
    expected = run(Fixed(), some_problems()[0], n_initial=4, random_state=SEEDS[1])
    assert_array_equal(results[1].regrets, expected.regrets)
    other = plain.results["centre", "ackley"][0]
    assert_array_equal(results[0].queries[:4], other.queries[:4])
    assert_array_equal(results[0].observations[:4], other.observations[:4])


def test_seeds_may_be_given():
    table = small(seeds=[5, 2])
    assert [result.seed for result in table.results["random", "ackley"]] == [5, 2]
    assert equal(table, small(seeds=np.array([5, 2]), random_state=None))
    for seeds, message in (([], "at least one seed"), ([-1], r"seeds\[0\] must be an int")):
        with pytest.raises(ValueError, match=message):
            small(seeds=seeds)


@pytest.mark.parametrize(
    "backend", [pytest.param("loky", marks=pytest.mark.slow), "multiprocessing"]
)
def test_results_do_not_depend_on_the_number_of_jobs(backend):
    clock = SimulatedClock(half, call_duration=0.5)
    one = small(clock=clock, n_jobs=1)
    with parallel_config(backend=backend):
        two = small(clock=clock, n_jobs=2, progress=backend != "loky")
    assert equal(one, two)
    assert not equal(one, small(clock=clock, random_state=1))


def test_options_reach_the_runs(plain):
    with parallel_config(backend="threading", n_jobs=2):
        table = small(horizon=10.0, n_initial=2, keep_optimizers=True)
    result = table.results["random", "ackley"][0]
    assert len(result.times) == len(result.optimizer.X_) == 10
    assert result.n_initial == 2
    assert plain.results["random", "ackley"][0].optimizer is None


PAIR = some_problems()


@pytest.mark.parametrize(
    ("optimizers", "problems", "error", "message"),
    [
        ([Fixed()], PAIR, TypeError, "dict of name to optimizer. Got \\[Fixed"),
        ({}, PAIR, ValueError, "numbers of optimizers and of problems .* Got 0 and 2"),
        (ALGORITHMS, [], ValueError, "Got 2 and 0"),
        (ALGORITHMS, ["ackley"], TypeError, "Make one with sktvbo.problems.make"),
        (ALGORITHMS, {"a": 3}, TypeError, "problem must be .* Got 3"),
        (ALGORITHMS, PAIR[:1] * 2, ValueError, "distinct names. Got ackley, ackley .* Set problem"),
        (ALGORITHMS, [{"ackley": abs}, Fresh("ackley")], ValueError, "Got ackley, ackley"),
        ({"class": Fixed}, PAIR, TypeError, "'class'. must be an ask/tell optimizer"),
        ({"text": "WDBO"}, PAIR, TypeError, "Got 'WDBO' instead. Use for example sktvbo.WDBO"),
    ],
)
def test_bad_optimizers_and_problems(optimizers, problems, error, message):
    with pytest.raises(error, match=message):
        compare(optimizers, problems)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_replications": 0}, ValueError, "n_replications must be"),
        ({"on_error": "ignore"}, ValueError, "'report' or 'raise'. Got 'ignore'"),
        ({"horizon": 20.5}, ValueError, r"range \(0, 20.0\]. Got 20.5"),
        ({"expert": 3}, TypeError, "expert must be a callable"),
        ({"n_jobs": 0}, ValueError, "n_jobs == 0"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=message):
        compare(ALGORITHMS, PAIR, **options)


# --- failures -------------------------------------------------------------------------------------


def fragile(replacement):
    """Return a maker of problems over [0, 1] with another function from t = 7, for one seed."""

    def make_fragile(seed):
        def function(x, t):
            return replacement(x, t) if seed == SEEDS[1] and t >= 7.0 else float(x[0])

        return from_callable(function, [(0.0, 1.0)], horizon=12.0, optimum=lambda t: ([1.0], 1.0))

    return make_fragile


def give_up(x, t):
    raise OSError(5, "the sensor\nis gone")


def give_nothing(x, t):
    return float("nan")


def kill(x, t):
    time.sleep(0.5)  # so that finished runs can arrive
    os.kill(os.getpid(), signal.SIGKILL)


def breaking(what, **options):
    problems = [make("ackley", horizon=12.0), {"fragile": fragile(what)}]
    options = {"n_replications": 3, "n_initial": 4, **options}
    return compare({"random": Fixed()}, problems, **options)


@pytest.mark.parametrize(
    ("what", "error", "message", "n_jobs"),
    [
        (give_up, "OSError", "the sensor\nis gone", 2),
        (give_nothing, "InvalidObservationError", "must be one finite number. Got nan", 1),
    ],
)
def test_a_failing_objective_is_reported_and_the_others_are_intact(what, error, message, n_jobs):
    with pytest.warns(UserWarning, match="1 of 6 runs failed.*random on fragile, seed .*, at t=7"):
        table = breaking(what, n_jobs=n_jobs)
    (failure,) = table.failures
    assert (failure.algorithm, failure.problem) == ("random", "fragile")
    assert failure.seed == SEEDS[1]
    assert failure.time == 7.0
    assert failure.error == error
    assert message in failure.message
    assert what.__name__ in failure.traceback or error == "InvalidObservationError"
    assert failure.traceback.startswith("Traceback")
    assert [result.seed for result in table.results["random", "fragile"]] == SEEDS[::2]
    del table.results["random", "fragile"]
    assert equal(
        table, compare({"random": Fixed()}, [make("ackley", horizon=12.0)], 3, n_initial=4)
    )


def test_an_observation_that_is_not_finite_is_not_told():
    # `from_callable` checks its function; other problems may not.
    problem = make("six-hump-camel", horizon=20.0)
    problem.observe = lambda x, t: 1.0 if t < 9.0 else np.nan

    class Wary(Fixed):
        def tell(self, x, y, t=None):
            assert np.isfinite(y)
            super().tell(x, y, t)

    with pytest.raises(InvalidObservationError, match=r"finite. Got nan at x=\[.*\], t=9"):
        run(Wary(), problem, n_initial=4)


def test_an_optimum_that_is_not_finite_is_a_failure():
    def optimum(t):
        return [1.0], 1.0 if t < 6.0 else np.nan

    problem = from_callable(lambda x, t: float(x[0]), [(0.0, 1.0)], horizon=10.0, optimum=optimum)
    with pytest.warns(UserWarning, match="seed .*, at t=6: InvalidObservationError"):
        compare({"random": Fixed()}, [problem], n_replications=1, n_initial=2)


class Raising(Fixed):
    def tell(self, x, y, t=None):
        super().tell(x, y, t)
        if t >= 6.0:
            raise RuntimeError("out of ideas")


def test_a_failing_optimizer_is_reported():
    algorithms = {"bad": Raising(), "good": Fixed()}
    with pytest.warns(UserWarning, match="6 of 12 runs failed"):
        table = compare(algorithms, some_problems(), n_replications=3, n_initial=4)
    assert table.algorithms == ["bad", "good"]
    assert [len(runs) for runs in table.results.values()] == [0, 0, 3, 3]
    (what,) = {(f.error, f.message, f.time) for f in table.failures}
    assert what == ("RuntimeError", "out of ideas", 6.0)
    assert f"bad on ackley, seed {SEEDS[0]}, at t=6: RuntimeError: out of ideas" in str(table)


def test_a_failing_factory_has_no_time():
    def nothing(seed):
        return "a problem" if seed == SEEDS[0] else make("ackley", horizon=10.0)

    with pytest.warns(UserWarning, match="1 of 2 runs failed"):
        table = compare({"random": Fixed()}, {"p": nothing}, n_replications=2, n_initial=2)
    assert table.failures[0].time is None
    assert "Got 'a problem'" in table.failures[0].message


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_errors_are_raised_on_request(n_jobs):
    with pytest.raises(OSError, match="is gone") as caught:
        breaking(give_up, on_error="raise", n_jobs=n_jobs)
    assert caught.value.__notes__ == [
        f"In the run of 'random' on 'fragile' with random_state={SEEDS[1]}."
    ]


@pytest.mark.slow
def test_a_killed_worker_is_reported_and_finished_runs_are_kept():
    with pytest.warns(UserWarning, match="runs failed"):
        table = breaking(kill, n_jobs=2)
    failures = table.failures
    assert ("fragile", SEEDS[1]) in {(f.problem, f.seed) for f in failures}
    assert {f.error for f in failures} == {"TerminatedWorkerError"}
    assert "SIGKILL" in failures[0].message
    assert "need not be the cause" in failures[0].message
    assert len(table.results["random", "ackley"]) >= 1
    assert sum(map(len, table.results.values())) + len(failures) == 6


def test_a_cluster_that_breaks_is_reported_or_raised(monkeypatch):
    def breaks(calls, n_jobs):
        for function, args, _ in calls[:2]:
            yield function(*args)
        raise ConnectionResetError("the scheduler is gone")

    monkeypatch.setattr("sktvbo.evaluation._compare._arriving", breaks)
    with pytest.warns(UserWarning, match="10 of 12 runs failed.*ConnectionResetError"):
        table = small()
    assert [len(runs) for runs in table.results.values()] == [2, 0, 0, 0]
    assert {f.message.partition(" (")[0] for f in table.failures} == {"the scheduler is gone"}
    with pytest.raises(ConnectionResetError):
        small(on_error="raise")


# --- problems -------------------------------------------------------------------------------------


FRESH = {"n_grid": 8, "horizon": 12}


def test_fresh_problems_have_another_function_in_each_replication_and_the_same_for_all():
    fresh = Fresh("markov-gp", **FRESH)
    table = compare(ALGORITHMS, [fresh], n_replications=3, n_initial=4)
    assert table.problems == ["markov-gp"]
    centre, random = (table.results[name, "markov-gp"] for name in ALGORITHMS)
    for a, b in zip(centre, random):
        problem = fresh(a.seed)
        for result in (a, b):
            values = [problem.value(x, t) for x, t in zip(result.queries, result.times)]
            optima = [problem.optimum(t)[1] for t in result.times]
            assert_array_equal(result.regrets, np.subtract(optima, values))
    # The centre is the same place: with the same function, its values would be the same.
    assert len({result.regrets[-1] for result in centre}) == 3


def test_a_fresh_function_is_independent_of_the_initial_design():
    # Made with the seed itself, it would come from the stream that draws the design: the sign of
    # the first normal number is mostly that of the second uniform one minus 0.5.
    seeds = range(200)
    design = [np.random.RandomState(s).randint(np.iinfo(np.int32).max) for s in seeds]
    second = np.array([np.random.RandomState(d).uniform(size=2)[1] for d in design])
    tiny = {"n_grid": 2, "n_dims": 1, "horizon": 1}

    def agreements(problems):
        values = np.array([[p.value(x, 0) for x in (0.0, 1.0)] for p in problems])
        return np.mean((values > 0.0) == (second > 0.5)[:, np.newaxis], axis=0)

    # Either member may be drawn first.
    assert agreements([make("markov-gp", random_state=s, **tiny) for s in seeds]).max() > 0.8
    assert np.abs(agreements(map(Fresh("markov-gp", **tiny), seeds)) - 0.5).max() < 0.1


def test_fresh_has_a_repr_and_checks_its_arguments():
    assert repr(Fresh("markov-gp", n_grid=8)) == "Fresh('markov-gp', n_grid=8)"
    with pytest.raises(ValueError, match=r"one of .*Got 'markov-pg'.* Did you mean"):
        Fresh("markov-pg")
    with pytest.raises(TypeError, match="without random_state"):
        Fresh("markov-gp", random_state=0)


def test_problems_may_be_named_in_one_dict_or_in_several():
    fresh, fixed = Fresh("markov-gp", **FRESH), make("ackley", horizon=12.0)
    options = {"n_replications": 2, "n_initial": 4}
    one = compare(ALGORITHMS, {"fresh": fresh, "fixed": fixed}, **options)
    assert one.problems == ["fresh", "fixed"]
    assert one.results["random", "fixed"][0].problem == "fixed"
    assert fixed.name == "ackley"
    assert equal(one, compare(ALGORITHMS, [{"fresh": fresh}, {"fixed": fixed}], **options))


# --- joblib's backends ----------------------------------------------------------------------------


class AtTheEnd(ThreadingBackend):
    """Backend that returns all results at the end, like that of joblib-spark."""

    supports_return_generator = False


def test_a_backend_without_generators_works_in_rounds(plain):
    register_parallel_backend("at the end", AtTheEnd)
    with parallel_config(backend="at the end", n_jobs=2):
        with pytest.raises(ValueError, match="does not support return_as"):
            Parallel(return_as="generator_unordered")
        assert equal(small(), plain)


@pytest.mark.slow
def test_on_a_cluster_of_processes(tmp_path):
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("joblib._dask")
    algorithms = {"random": RandomSearch(), "GP-UCB": GPUCB(n_initial_points=4)}
    fresh, where = Fresh("markov-gp", **FRESH), lambda seed: os.getpid()  # no problem: a failure
    problems = {"camel": make("six-hump-camel", horizon=12.0), "fresh": fresh, "where": where}
    clock = SimulatedClock(lambda n: 0.5 + 0.01 * n)
    options = {"n_replications": 2, "n_initial": 4, "clock": clock}
    one_each = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with (
        distributed.LocalCluster(**one_each, local_directory=tmp_path / "dask") as cluster,
        distributed.Client(cluster),
        parallel_config(backend="dask"),
        pytest.warns(UserWarning, match="4 of 12 runs failed"),
    ):
        table = compare(algorithms, problems, **options)
    assert all(f"Got {os.getpid()} " not in failure.message for failure in table.failures)
    assert all("problem must be" in failure.message for failure in table.failures)
    with pytest.warns(UserWarning, match="4 of 12 runs failed"):
        assert equal(table, compare(algorithms, problems, **options))


def test_overconfidence_is_shown_by_the_table_alone():
    surrogate = TimeVaryingGPRegressor(noise_variance=1e-8, optimizer=None)
    optimizer = GPUCB(surrogate=surrogate, n_initial_points=5)
    problem = make("ackley", horizon=60.0, noise_variance=4.0)
    clock = SimulatedClock(response_time=lambda n: 0.7)
    with pytest.warns(OverconfidenceWarning):
        run(optimizer, problem, clock=clock, n_initial=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OverconfidenceWarning)
        comparison = compare({"GP-UCB": optimizer}, [problem], 1, clock=clock, n_initial=5)
    assert not comparison.failures
