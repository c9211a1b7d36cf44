"""Store of finished runs, and descriptions of their settings."""

import errno
import functools
import json
import os
import re
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import expon, gamma
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import BOLT, GPUCB, WDBO, RandomSearch, TimeVaryingGPRegressor
from sktvbo.evaluation import Fresh, RunResult, SimulatedClock, StoreError, compare
from sktvbo.evaluation._files import add_checksum
from sktvbo.evaluation._store import describe, describe_optimizer
from sktvbo.exceptions import SktvboError
from sktvbo.problems import from_callable, make


def counting(calls):
    """Return a factory that records the seeds of the runs that are really made."""

    def factory(seed):
        calls.append(seed)
        return make("six-hump-camel", horizon=12.0)

    return factory


def stored(folder, calls=None, algorithms=("one", "two"), **options):
    options = {"n_replications": 3, "n_initial": 4, **options}
    optimizers = dict.fromkeys(algorithms, RandomSearch())
    factory = counting([] if calls is None else calls)
    return compare(optimizers, {"camel": factory}, store=folder, **options)


def rewrite(path, content):
    """Write a run with the checksum of its new content."""
    bare = {name: value for name, value in content.items() if name != "sha256"}
    path.write_text(json.dumps(add_checksum(bare)))


def same(a, b):
    """Compare all records, including measured seconds."""
    return list(a.results) == list(b.results) and all(
        x.to_dict() == y.to_dict()
        for key in a.results
        for x, y in zip(a.results[key], b.results[key], strict=True)
    )


# --- resuming -------------------------------------------------------------------------------------


def test_finished_runs_are_files_and_are_not_repeated(tmp_path):
    calls = []
    first = stored(tmp_path / "made" / "here", calls)
    assert len(calls) == 6
    files = sorted((tmp_path / "made" / "here").iterdir())
    assert len(files) == 6
    content = json.loads(files[0].read_text())
    assert content["algorithm"] == "one"
    assert content["problem"] == "camel"
    assert content["seed"] in calls
    assert content["settings"]["n_initial"] == 4
    assert content["settings"]["version"]
    assert RunResult.from_dict(content["result"]).seed == content["seed"]
    again = stored(tmp_path / "made" / "here", calls)
    assert len(calls) == 6
    assert same(first, again)
    assert str(first) == str(again)


def test_only_missing_runs_are_made(tmp_path):
    calls = []
    stored(tmp_path, calls)
    lost = sorted(tmp_path.iterdir())[2]
    seed = json.loads(lost.read_text())["seed"]
    lost.unlink()
    stored(tmp_path, calls)
    assert calls[6:] == [seed]


def test_a_store_may_grow(tmp_path):
    calls = []
    stored(tmp_path, calls)
    more = stored(tmp_path, calls, algorithms=("one", "two", "three"), n_replications=5)
    assert len(calls) == 15
    assert str(more) == str(stored(None, algorithms=("one", "two", "three"), n_replications=5))


@pytest.mark.parametrize("progress", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_store_with_several_jobs(tmp_path, progress, capsys):
    options = {"n_jobs": 2, "progress": progress}
    first = stored(tmp_path, **options)
    assert len(list(tmp_path.iterdir())) == 6
    sorted(tmp_path.iterdir())[0].unlink()
    assert str(stored(tmp_path, **options)) == str(first)
    assert ("6/6" in capsys.readouterr().err) is progress


def test_a_finished_run_is_written_while_an_earlier_one_continues(tmp_path):
    seen = []

    def factory(seed):
        if not seen:
            seen.append(0)
            give_up = time.monotonic() + 10.0
            while len(list(tmp_path.glob("*.json"))) < 3 and time.monotonic() < give_up:
                time.sleep(0.01)
            seen.append(len(list(tmp_path.glob("*.json"))))
        return make("six-hump-camel", horizon=8.0)

    with parallel_config(backend="threading", n_jobs=2):
        compare({"one": RandomSearch()}, {"p": factory}, 6, n_initial=4, store=tmp_path)
    assert seen[1] >= 3


def test_names_with_the_same_readable_form_have_different_files(tmp_path):
    names = ("a/b", "a b", "算" * 300, "a" * 300)
    stored(tmp_path, algorithms=names, n_replications=1)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_run_may_change_the_present_folder(tmp_path, monkeypatch):
    def factory(seed):
        os.chdir("/")
        return make("ackley", horizon=8.0)

    monkeypatch.chdir(tmp_path)
    compare({"a": RandomSearch()}, {"p": factory}, 2, n_initial=4, store="runs")
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_failed_runs_are_not_stored(tmp_path):
    broken = True

    def factory(seed):
        if broken:
            raise ConnectionError("the network is down")
        return make("ackley", horizon=8.0)

    options = {"n_replications": 2, "n_initial": 4, "store": tmp_path}
    with pytest.warns(UserWarning, match="the network is down"):
        assert len(compare({"a": RandomSearch()}, {"p": factory}, **options).failures) == 2
    assert list(tmp_path.iterdir()) == []
    broken = False
    assert compare({"a": RandomSearch()}, {"p": factory}, **options).failures == []


# --- other settings, and errors -------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"n_initial": 5},
        {"horizon": 5.5},
        {"clock": SimulatedClock(lambda n: 0.5)},
        {"expert": "problem"},
        {"version": "99.0"},
        {"optimizer": WDBO(alpha=0.2500001)},
        {"optimizer": BOLT()},
        {"problem": make("ackley", horizon=6.0, noise=0.01)},
    ],
    ids=lambda options: next(iter(options)),
)
def test_runs_with_other_settings_are_other_runs(tmp_path, monkeypatch, options):
    defaults = {"optimizer": WDBO(alpha=0.25), "problem": make("ackley", horizon=6.0)}

    def average(optimizer, problem, version=None, **options):
        options = {"n_replications": 1, "n_initial": 4, **options}
        with monkeypatch.context() as patched:
            if version:
                patched.setattr("sktvbo.evaluation._compare.version", lambda name: version)
            return str(compare({"a": optimizer}, [problem], store=tmp_path, **options))

    first = average(**defaults)
    written = {path: path.read_bytes() for path in tmp_path.iterdir()}
    average(**defaults | options)
    assert len(list(tmp_path.iterdir())) == 2
    # A run sets these.
    same = WDBO([(7, 8)], alpha=0.25, random_state=3, maximize=False)
    assert average(**defaults | {"optimizer": same}) == first
    assert len(list(tmp_path.iterdir())) == 2
    assert {path: path.read_bytes() for path in written} == written


def of_result(content, **changes):
    return content | {"result": content["result"] | changes}


# Changes of the bytes of a file, and of its content under a valid checksum.
DAMAGES = {
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "list": lambda data: b"[]",
    "binary": lambda data: b"\xff\x00\xff",
    "digit": lambda data: re.sub(rb'("observations": \[-?\d)', rb"\g<1>7", data),
}
CHANGES = {
    "seed": lambda content: content | {"seed": content["seed"] + 1},
    "seed of the result": lambda content: of_result(content, seed=content["seed"] + 1),
    "algorithm": lambda content: content | {"algorithm": "two"},
    "problem": lambda content: content | {"problem": "camels"},
    "settings": lambda content: content | {"settings": content["settings"] | {"extra": 1}},
    "regrets": lambda content: of_result(content, regrets=[0.0] * 12),
    "nan": lambda content: of_result(content, observations=[float("nan")] * 12),
    "no result": lambda content: {name: content[name] for name in content if name != "result"},
}


@pytest.mark.parametrize("name", [*DAMAGES, *CHANGES])
def test_a_damaged_file_is_reported_and_its_run_is_repeated(tmp_path, name):
    calls = []
    first = stored(tmp_path, calls)
    path = sorted(tmp_path.glob("one*"))[0]
    content = json.loads(path.read_text())
    if name in DAMAGES:
        path.write_bytes(DAMAGES[name](path.read_bytes()))
    else:
        rewrite(path, CHANGES[name](content))
    message = f"does not hold a finished run.*seed {content['seed']} is run again"
    with pytest.warns(UserWarning, match=message):
        again = stored(tmp_path, calls)
    assert calls[6:] == [content["seed"]]
    assert str(first) == str(again)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stored(tmp_path, calls)
    assert len(calls) == 7


def test_files_respect_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        stored(tmp_path, n_replications=1)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o640}


NEVER_WRITABLE = pytest.param(
    "/proc/self",
    marks=pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder of this kind"),
)


@pytest.mark.parametrize("folder", ["file/store", NEVER_WRITABLE])
def test_a_folder_that_cannot_be_written_is_refused_before_the_first_run(tmp_path, folder):
    (tmp_path / "file").write_text("")
    calls = []
    with pytest.raises(StoreError, match=r"store must be readable and writable. Got ") as caught:
        stored(tmp_path / folder, calls)
    assert folder in str(caught.value)
    assert calls == []
    assert isinstance(caught.value, SktvboError)


# joblib warns when it is stopped.
@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed:UserWarning")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_full_disk_keeps_the_finished_runs(tmp_path, monkeypatch, n_jobs):
    fsync, written = os.fsync, []

    def full(descriptor):
        written.append(descriptor)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"No space left on device.*are kept: make room") as caught:
        stored(tmp_path, n_jobs=n_jobs)
    assert caught.value.errno == errno.ENOSPC
    assert len(list(tmp_path.iterdir())) == 2  # and no partial file
    monkeypatch.undo()
    calls = []
    assert str(stored(tmp_path, calls)) == str(stored(None))
    assert len(calls) == 4


@pytest.mark.parametrize("options", [{"random_state": None}, {"keep_optimizers": True}])
def test_options_that_exclude_a_store(tmp_path, options):
    with pytest.raises(ValueError, match="with a store"):
        stored(tmp_path, **options)


# --- settings -------------------------------------------------------------------------------------


def scaled(n, by):
    return by * n


def above(limit):
    return lambda x: x > limit


PAIRS = {
    "kernel": (RBF(0.2), RBF(0.20000001)),
    "kernel of kernels": (RBF(0.2) + RBF(1.0), RBF(0.2) * RBF(1.0)),
    "surrogate": (
        TimeVaryingGPRegressor(Matern(0.2)),
        TimeVaryingGPRegressor(Matern(0.2), noise_variance=0.1),
    ),
    "constant of a function": (lambda n: 0.5, lambda n: 0.6),
    "calls of a function": (lambda n: abs(n), lambda n: int(n)),
    "default of a function": (lambda n, a=1: n * a, lambda n, a=2: n * a),
    "closure of a function": (above(1.0), above(2.0)),
    "a function in a function": (lambda n: (lambda: 1)(), lambda n: (lambda: 2)()),
    "partial": (functools.partial(scaled, by=2.0), functools.partial(scaled, by=3.0)),
    "clock": (SimulatedClock(abs), SimulatedClock(abs, 1.0)),
    "method": (SimulatedClock(abs).answer, SimulatedClock(abs, 1.0).answer),
    "array": (np.arange(5.0), np.arange(5)[::-1]),
    "large array": (np.arange(500.0), np.arange(500.0) + 1e-12),
    "objects": (np.array([RBF(0.2)]), np.array([RBF(0.3)])),
    "infinity": (np.inf, -np.inf),
    "class": (RBF, Matern),
    "set": ({"a", "b"}, {"a", "c"}),
    "problem": (make("ackley"), make("ackley", noise=0.1)),
    "function of a problem": (
        make("gp-slow", random_state=0, n_grid=5),
        make("gp-slow", random_state=1, n_grid=5),
    ),
    "function of a user": (
        from_callable(lambda x, t: x[0], [(0, 1)], horizon=5.0),
        from_callable(lambda x, t: -x[0], [(0, 1)], horizon=5.0),
    ),
    "fresh": (Fresh("markov-gp", epsilon=0.1), Fresh("markov-gp", epsilon=0.2)),
    "generator": (np.random.RandomState(0), np.random.RandomState(1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_different_settings_have_different_descriptions(name):
    one, other = (json.dumps(describe(thing)) for thing in PAIRS[name])
    assert one != other


def test_using_a_problem_does_not_change_its_description():
    problem = make("gp-slow", n_grid=5, random_state=0)
    before = describe(problem)
    problem.observe(0.5, 3.0)
    problem.optimum(7.0)
    assert describe(problem) == before


def test_a_closure_may_contain_objects_that_change():
    calls = []
    factory = counting(calls)
    before = describe(factory)
    factory(1)
    assert describe(factory) == before


def test_an_object_that_contains_itself_has_a_description():
    clock = SimulatedClock(abs)
    clock.response_time = clock
    assert describe(clock)["response_time"] == "..."


def test_settings_are_the_same_in_another_process(capsys):
    # Addresses and the order of sets of strings differ between processes.
    code = """
        import json, sys
        from sktvbo import GPUCB, evaluation, problems
        from sktvbo.evaluation._store import describe, describe_optimizer

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
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    command = [sys.executable, "-c", code]
    other = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
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
