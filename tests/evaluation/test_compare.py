import math
import sys

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from sktvbo.evaluation import Comparison, RunResult, SimulatedClock, compare, run
from sktvbo.exceptions import MissingExtraError
from sktvbo.problems import make


class Fixed(BaseEstimator):
    """Queries one point of the unit box, or random ones when ``at`` is None."""

    def __init__(self, domain=None, *, at=None, maximize=True, random_state=None):
        self.domain = domain
        self.at = at
        self.maximize = maximize
        self.random_state = random_state

    def ask(self, t=None, *, return_time=False):
        if not hasattr(self, "rng_"):
            self.rng_ = np.random.RandomState(self.random_state)
        x = self.domain.sample(1, self.rng_)[0]
        if self.at is not None:
            x = self.domain.from_unit(np.full(self.domain.n_dims, self.at))
        return (x, t) if return_time else x

    def tell(self, x, y, t=None):
        row = np.append(x, t)[np.newaxis]
        self.X_ = np.vstack([self.X_, row]) if hasattr(self, "X_") else row
        self.n_removed_ = 0


ALGORITHMS = {"centre": Fixed(at=0.5), "random": Fixed()}


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


def made_up(regrets, problem="p", response_time=0.1):
    n = len(regrets)
    return RunResult(
        problem=problem,
        horizon=float(n),
        n_initial=1,
        times=np.arange(n, dtype=float),
        queries=np.zeros((n, 1)),
        observations=np.zeros(n),
        regrets=np.array(regrets, dtype=float),
        response_times=np.full(n, response_time),
        dataset_sizes=np.arange(1, n + 1),
        removed_counts=np.zeros(n, dtype=int),
    )


@pytest.fixture
def table():
    return Comparison(
        {
            ("A", "p"): [made_up([9, 1, 3]), made_up([9, 3, 5])],
            ("A", "q"): [made_up([9, 500, 520], "q"), made_up([9, 510, 530], "q")],
            ("longer", "p"): [made_up([9, 5, 7]), made_up([9, 5, 7])],
            ("longer", "q"): [made_up([9, 10, 10], "q"), made_up([9, 11, 11], "q")],
        }
    )


# -- compare ------------------------------------------------------------------------------------


def test_every_pair_is_replicated():
    table = small()
    assert list(table.results) == [
        ("centre", "ackley"),
        ("centre", "six-hump-camel"),
        ("random", "ackley"),
        ("random", "six-hump-camel"),
    ]
    assert all(len(runs) == 3 for runs in table.results.values())
    assert table.algorithms == ["centre", "random"]
    assert table.problems == ["ackley", "six-hump-camel"]


def test_known_regrets():
    # Ackley is best at the centre, whatever the time.
    rows = {(r["algorithm"], r["problem"]): r for r in small().summary()}
    assert rows["centre", "ackley"]["average_regret"] == pytest.approx(0.0, abs=1e-9)
    assert rows["random", "ackley"]["average_regret"] > 1.0


def test_replications_differ_and_algorithms_share_their_design():
    table = small()
    first, second, _ = table.results["random", "ackley"]
    assert not np.array_equal(first.queries[:4], second.queries[:4])
    other = table.results["centre", "ackley"][0]
    assert_array_equal(first.queries[:4], other.queries[:4])
    assert_array_equal(first.observations[:4], other.observations[:4])


def test_a_replication_is_a_run():
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=3)[1])
    expected = run(Fixed(), some_problems()[0], n_initial=4, random_state=seed)
    result = small().results["random", "ackley"][1]
    assert_array_equal(result.regrets, expected.regrets)


@pytest.mark.parametrize("progress", [False, True])
def test_results_do_not_depend_on_the_number_of_jobs(progress):
    clock = SimulatedClock(half, call_duration=0.5)
    one = small(clock=clock, n_jobs=1)
    two = small(clock=clock, n_jobs=2, progress=progress)
    assert equal(one, two)
    assert not equal(one, small(clock=clock, random_state=1))


def test_joblibs_configuration_is_respected():
    one = small()
    with parallel_config(backend="threading", n_jobs=2):
        assert equal(one, small())


def test_options_reach_the_runs():
    result = small(horizon=10.0, n_initial=2).results["random", "ackley"][0]
    assert len(result.times) == 10
    assert result.n_initial == 2


def test_optimizers_are_dropped_unless_kept():
    assert small().results["random", "ackley"][0].optimizer is None
    kept = small(keep_optimizers=True).results["random", "ackley"][0].optimizer
    assert len(kept.X_) == 20


@pytest.mark.parametrize(
    ("optimizers", "problems", "options", "error", "message"),
    [
        ([Fixed()], None, {}, TypeError, "dict of name to optimizer, got list"),
        ({}, None, {}, ValueError, "at least one optimizer and one problem, got 0 and 2"),
        (ALGORITHMS, [], {}, ValueError, "got 2 and 0"),
        (ALGORITHMS, ["ackley"], {}, TypeError, "use sktvbo.problems.make"),
        (ALGORITHMS, "twice", {}, ValueError, r"distinct names, got ackley, ackley; set problem"),
        (ALGORITHMS, None, {"n_replications": 0}, ValueError, "n_replications must be"),
    ],
)
def test_bad_arguments(optimizers, problems, options, error, message):
    if problems is None:
        problems = some_problems()
    elif problems == "twice":
        problems = some_problems()[:1] * 2
    with pytest.raises(error, match=message):
        compare(optimizers, problems, **options)


def test_progress_without_tqdm_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(MissingExtraError, match=r"sktvbo\[progress\]"):
        small(progress=True)


# -- Comparison ---------------------------------------------------------------------------------


def test_summary(table):
    row = table.summary()[0]
    assert row["algorithm"] == "A"
    assert row["problem"] == "p"
    assert row["average_regret"] == 3.0
    assert row["standard_error"] == pytest.approx(math.sqrt(2.0) / math.sqrt(2.0))
    assert row["time_average_regret"] == 3.0
    assert row["response_time"] == pytest.approx(0.1)
    assert row["dataset_size"] == 2.5
    assert row["n_replications"] == 2


def test_a_single_replication_has_no_standard_error():
    single = Comparison({("A", "p"): [made_up([9, 1, 3])]})
    assert math.isnan(single.summary()[0]["standard_error"])
    assert "nan" not in str(single)


def test_frame(table):
    pytest.importorskip("pandas")
    frame = table.to_frame()
    assert list(frame.columns) == list(table.summary()[0])
    assert frame["average_regret"].tolist() == [3.0, 515.0, 6.0, 10.5]


def test_frame_without_pandas_names_the_extra(table, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"sktvbo\[frames\]"):
        table.to_frame()


def test_repr_is_short(table):
    assert repr(table) == "<Comparison of 2 algorithm(s) on 2 problem(s)>"


def test_text_table(table):
    assert str(table).splitlines() == [
        "average regret               p              q",
        "---------------------------------------------",
        "A                   3.0 ± 1.0*   515.0 ± 5.0",
        "longer          6.000 ± 0.000   10.50 ± 0.50*",
        "* best of its column; mean ± standard error",
    ]
