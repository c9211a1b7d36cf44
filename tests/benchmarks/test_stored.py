"""Comparisons whose finished runs are kept, and descriptions of settings."""

import functools
import json
import os
import subprocess
import sys
import textwrap

import _stored
import numpy as np
import pytest
from _stored import compare, describe, describe_optimizer
from scipy.stats import expon, gamma
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import BOLT, GPUCB, WDBO, RandomSearch, TimeVaryingGPRegressor, evaluation
from sktvbo.evaluation import Fresh, SimulatedClock
from sktvbo.problems import from_callable, make


def counting(calls):
    """Return a factory that records the seeds of the runs that are really made."""

    def factory(seed):
        calls.append(seed)
        return make("six-hump-camel", horizon=12.0)

    return factory


def stored(folder, calls, algorithms=("one", "two"), n_replications=3, **options):
    optimizers = dict.fromkeys(algorithms, RandomSearch())
    problems = {"camel": counting(calls)}
    return compare(optimizers, problems, n_replications, store=folder, n_initial=4, **options)


# --- runs -----------------------------------------------------------------------------------------


def test_only_missing_runs_are_made(tmp_path):
    calls = []
    first = stored(tmp_path, calls)
    direct = evaluation.compare(
        dict.fromkeys(("one", "two"), RandomSearch()), {"camel": counting([])}, 3, n_initial=4
    )
    assert len(calls) == 6
    assert str(first) == str(direct)
    assert str(stored(tmp_path, calls)) == str(first)
    assert len(calls) == 6
    stored(tmp_path, calls, algorithms=("one", "two", "three"), n_replications=5)
    assert len(calls) == 15


def test_failed_runs_are_made_again(tmp_path):
    broken = [True]

    def factory(seed):
        if broken[0]:
            raise ConnectionError("the network is down")
        return make("ackley", horizon=8.0)

    options = {"store": tmp_path, "n_initial": 4}
    assert len(compare({"a": RandomSearch()}, {"p": factory}, 2, **options).failures) == 2
    broken[0] = False
    assert compare({"a": RandomSearch()}, {"p": factory}, 2, **options).failures == []


@pytest.mark.parametrize(
    "options",
    [
        {"n_initial": 5},
        {"horizon": 5.5},
        {"clock": SimulatedClock(lambda n: 0.5)},
        {"version": "99.0"},
        {"optimizer": WDBO(alpha=0.2500001)},
        {"optimizer": BOLT()},
        {"problem": make("ackley", horizon=6.0, noise=0.01)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_runs_with_other_settings_are_other_runs(tmp_path, monkeypatch, options):
    made = []
    monkeypatch.setattr(_stored.evaluation, "compare", recording(made))

    def run(optimizer, problem, version=None, **options):
        with monkeypatch.context() as patched:
            if version:
                patched.setattr(_stored, "__version__", version)
            compare({"a": optimizer}, [problem], 1, store=tmp_path, **options)

    defaults = {"optimizer": WDBO(alpha=0.25), "problem": make("ackley", horizon=6.0)}
    run(**defaults)
    run(**defaults | options)
    # A run sets these.
    run(**defaults | {"optimizer": WDBO([(7, 8)], alpha=0.25, random_state=3, maximize=False)})
    assert len(made) == 2


def recording(made):
    """Return a comparison without runs that records its calls."""

    def comparison(optimizers, problems, *, seeds, **options):
        made.append(seeds)
        return evaluation.Comparison({(a, p): [] for a in optimizers for p in problems}, [])

    return comparison


# --- settings -------------------------------------------------------------------------------------


def scaled(n, by):
    return by * n


def above(limit):
    return lambda x: x > limit


PAIRS = {
    "kernel": (RBF(0.2), RBF(0.20000001)),
    "kernel of kernels": (RBF(0.2) + RBF(1.0), RBF(0.2) * RBF(1.0)),
    "surrogate": (TimeVaryingGPRegressor(), TimeVaryingGPRegressor(noise_variance=0.1)),
    "constant of a function": (lambda n: 0.5, lambda n: 0.6),
    "calls of a function": (lambda n: abs(n), lambda n: int(n)),
    "default of a function": (lambda n, a=1: n * a, lambda n, a=2: n * a),
    "closure of a function": (above(1.0), above(2.0)),
    "a function in a function": (lambda n: (lambda: 1)(), lambda n: (lambda: 2)()),
    "partial": (functools.partial(scaled, by=2.0), functools.partial(scaled, by=3.0)),
    "clock": (SimulatedClock(abs), SimulatedClock(abs, 1.0)),
    "method": (SimulatedClock(abs).answer, SimulatedClock(abs, 1.0).answer),
    "large array": (np.arange(500.0), np.arange(500.0) + 1e-12),
    "objects": (np.array([RBF(0.2)]), np.array([RBF(0.3)])),
    "class": (RBF, Matern),
    "set": ({"a", "b"}, {"a", "c"}),
    "problem": (make("ackley"), make("ackley", noise=0.1)),
    "function of a problem": [make("gp-slow", random_state=seed, n_grid=5) for seed in (0, 1)],
    "function of a user": [
        from_callable(f, [(0, 1)], horizon=5.0) for f in (lambda x, t: x[0], lambda x, t: -x[0])
    ],
    "fresh": (Fresh("markov-gp", epsilon=0.1), Fresh("markov-gp", epsilon=0.2)),
    "generator": (np.random.RandomState(0), np.random.RandomState(1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_different_settings_have_different_descriptions(name):
    one, other = (json.dumps(describe(thing)) for thing in PAIRS[name])
    assert one != other


def test_using_a_problem_does_not_change_its_description():
    problem = make("gp-slow", n_grid=5, random_state=0)
    factory = counting([])  # a closure with a list
    before = describe(problem), describe(factory)
    problem.observe(0.5, 3.0)
    problem.optimum(7.0)
    factory(1)
    assert (describe(problem), describe(factory)) == before


def test_an_object_that_contains_itself_has_a_description():
    clock = SimulatedClock(abs)
    clock.response_time = clock
    assert describe(clock)["response_time"] == "..."


@pytest.mark.slow
def test_settings_are_the_same_in_another_process(capsys):
    # Addresses and the order of sets of strings differ between processes.
    code = """
        import json, sys
        from sktvbo import GPUCB, evaluation, problems
        from _stored import describe, describe_optimizer

        def within(x, t):
            return float(x[0] in {"a", "b", "c", "d"})

        print(json.dumps([
            describe(evaluation.SimulatedClock(lambda n: 0.5)),
            describe(problems.make("gp-slow", n_grid=30, random_state=0)),
            describe(problems.make("six-hump-camel-switched")),
            describe(problems.from_callable(within, [(0, 1)], horizon=5.0)),
            describe({"a", "b", "c", "d"}),
            describe_optimizer(GPUCB()),
            describe(object()),
        ], sort_keys=True))
    """
    code = textwrap.dedent(code)
    options = {"PYTHONHASHSEED": "1", "PYTHONPATH": os.path.dirname(_stored.__file__)}
    options = {"env": os.environ | options, "capture_output": True, "text": True}
    other = subprocess.run([sys.executable, "-c", code], check=True, **options)
    exec(code, {"__name__": "__main__"})
    one = capsys.readouterr().out
    assert len(json.loads(one)) == 7
    assert one == other.stdout
    assert "0x" not in one


def test_parameters_set_by_a_run_are_not_settings_of_an_optimizer():
    one, other = GPUCB([(0, 1)], random_state=1), GPUCB([(0, 2)], maximize=False)
    assert describe_optimizer(one) == describe_optimizer(other)
    assert describe_optimizer(one) != describe_optimizer(GPUCB(n_initial_points=3))


def test_a_frozen_distribution_is_described_by_name_and_parameters():
    # Its attributes include NumPy's global generator, which differs between processes.
    before = describe(gamma(15.0, scale=0.1))
    np.random.uniform()
    assert describe(gamma(15.0, scale=0.1)) == before
    assert describe(gamma(15.0, scale=0.2)) != before
    assert describe(expon(15.0, scale=0.1)) != before
