"""OnlineRun: an optimizer as an estimator, with problems as samples."""

import pickle
import warnings
from copy import deepcopy
from dataclasses import dataclass

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    check_cv,
    cross_val_score,
)
from sklearn.utils import get_tags

from sktvbo import (
    GPUCB,
    WDBO,
    RandomSearch,
    TimeVaryingGPRegressor,
    evaluation,
)
from sktvbo.evaluation import SimulatedClock
from sktvbo.exceptions import OverconfidenceWarning
from sktvbo.model_selection import OnlineRun
from sktvbo.problems import from_callable, make

ALPHAS = {"optimizer__alpha": [0.1, 3.0]}
# Seeds drawn by evaluation.compare with random_state=0.
SEEDS = np.random.RandomState(0).randint(np.iinfo(np.int32).max, size=3).tolist()


@dataclass(eq=False, repr=False)
class Touchy(BaseEstimator):
    """Optimizer that queries the centre, and fails on domains of ``fails_at`` dimensions."""

    domain: object = None
    fails_at: int | None = None
    maximize: bool = True
    random_state: int | None = None

    def ask(self, t=None):
        if self.domain.n_dims == self.fails_at:
            raise RuntimeError("too touchy")
        return self.domain.from_unit(np.full(self.domain.n_dims, 0.5))

    def tell(self, x, y, t=None):
        self.X_, self.n_removed_ = [x], 0


def slow(n):
    return 0.5 + 0.1 * n


def some_problems():
    names = ("six-hump-camel", "eggholder", "ackley", "six-hump-camel-switched")
    return [make(name, horizon=12.0) for name in names]


def online(optimizer=None, **options):
    optimizer = WDBO(n_initial_points=4) if optimizer is None else optimizer
    return OnlineRun(optimizer, **{"n_initial": 4, **options})


def by_hand(optimizer, problem, seed, **options):
    return evaluation.run(optimizer, problem, n_initial=4, random_state=seed, **options)


def ramp(scale=1.0, name="ramp"):
    """Return a problem with regret scale * (1 - x): scale / 2 for random queries and the centre."""
    return from_callable(
        lambda x, t: scale * x[0],
        [(0, 1)],
        horizon=16.0,
        optimum=lambda t: ([1.0], scale),
        name=name,
    )


# --- the score ------------------------------------------------------------------------------------


def test_runs_and_score_are_those_of_runs_by_hand():
    optimizer, short = GPUCB(n_initial_points=4), {"horizon": 6.0}
    some = some_problems()[:2]
    expected = [by_hand(optimizer, p, seed, **short) for p in some for seed in SEEDS[:2]]
    estimator = online(optimizer, n_replications=2, **short).fit(some)
    for result, other in zip(estimator.run(some), expected, strict=True):
        assert (result.problem, result.seed) == (other.problem, other.seed)
        assert_array_equal(result.observations, other.observations)
    assert estimator.score(some) == -np.mean([result.average_regret for result in expected])


def test_clock_horizon_and_average_by_time_are_those_of_the_run():
    problem = some_problems()[1]
    options = {"clock": SimulatedClock(slow), "horizon": 8.0}
    expected = by_hand(GPUCB(n_initial_points=4), problem, SEEDS[0], **options)
    run = online(GPUCB(n_initial_points=4), average="time", **options)
    assert run.score([problem]) == -expected.time_average_regret
    assert expected.time_average_regret != expected.average_regret
    assert run.run([problem])[0].horizon == 8.0


def test_score_changes_neither_the_generator_nor_the_problems():
    options = {"normalize": "random", "clock": SimulatedClock(slow)}
    run = online(RandomSearch(), random_state=np.random.RandomState(3), **options)
    some = some_problems()[:2]
    before = pickle.dumps((run, some))
    score = run.score(some)
    assert pickle.dumps((run, some)) == before
    assert score == online(RandomSearch(), random_state=3, **options).score(some)
    assert score != online(RandomSearch(), **options).score(some)


def test_a_run_without_a_query_after_the_initial_ones_is_an_error():
    run = online(RandomSearch(), clock=SimulatedClock(lambda n: 100.0))
    with pytest.raises(ValueError, match="at least one query after the 4 initial ones"):
        run.score(some_problems()[:1])


# --- normalization --------------------------------------------------------------------------------


def test_normalized_score_is_the_mean_of_ratios():
    some = [ramp(1.0, "small"), ramp(1e3, "large")]
    run = online(RandomSearch(), n_replications=2, normalize="random")
    ratios = [run.score([problem]) for problem in some]
    assert_allclose(*ratios, rtol=1e-12)  # the scale of a problem does not matter
    assert_allclose(run.score(some), np.mean(ratios), rtol=1e-14)


def test_normalization_depends_on_the_horizon():
    growing = from_callable(
        lambda x, t: t * x[0], [(0, 1)], horizon=16.0, optimum=lambda t: ([1.0], t)
    )
    plain, run = (online(Touchy(), horizon=8.0, normalize=n) for n in (None, "random"))
    # Uniform queries in [0, 8] have a mean regret of 2; in [0, 16] it would be 4.
    assert_allclose(run.score([growing]), plain.score([growing]) / 2.0, rtol=0.02)


def test_a_flat_problem_cannot_be_normalized():
    flat = from_callable(
        lambda x, t: 0.0, [(0, 1)], horizon=16.0, optimum=lambda t: ([0.5], 0.0), name="flat"
    )
    assert online(Touchy()).score([flat]) == 0.0
    with pytest.raises(ValueError, match=r"regret of random queries on 'flat' must be positive"):
        online(Touchy(), normalize="random").score([flat])


# --- scikit-learn's tools -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone():
    """Scores of each problem."""
    run = online(RandomSearch())
    return np.array([run.score([problem]) for problem in some_problems()])


@pytest.mark.parametrize(
    "cv",
    [
        2,
        KFold(2, shuffle=True, random_state=0),
        PredefinedSplit([0, 0, 1, -1]),
        [(np.arange(4), np.arange(4))],
    ],
)
def test_cross_validation_scores_the_test_folds(cv, alone):
    some, run = some_problems(), online(RandomSearch())
    expected = [alone[test].mean() for _, test in check_cv(cv).split(some)]
    assert_allclose(cross_val_score(run, some, cv=cv, error_score="raise"), expected, rtol=1e-13)


@pytest.fixture(scope="module")
def grid_search():
    return GridSearchCV(online(), ALPHAS, cv=2, error_score="raise").fit(some_problems()[:2])


def test_grid_search_equals_runs_by_hand(grid_search):
    some = some_problems()[:2]
    for alpha, mean in zip([0.1, 3.0], grid_search.cv_results_["mean_test_score"], strict=True):
        optimizer = WDBO(alpha=alpha, n_initial_points=4)
        regrets = [by_hand(optimizer, problem, SEEDS[0]).average_regret for problem in some]
        assert_allclose(mean, -np.mean(regrets), rtol=1e-13)
    assert np.ptp(grid_search.cv_results_["mean_test_score"]) > 0.0
    best = grid_search.best_estimator_
    assert best.optimizer.alpha == grid_search.best_params_["optimizer__alpha"]
    assert best.problem_names_ == [problem.name for problem in some]


@pytest.mark.slow
def test_two_jobs_accept_a_clock_with_a_lambda():
    clock = SimulatedClock(lambda n: 0.5 + 0.1 * n)
    run = online(RandomSearch(), clock=clock, normalize="random", n_replications=2)
    one, two = (
        cross_val_score(run, some_problems(), cv=2, n_jobs=n, error_score="raise") for n in (1, 2)
    )
    assert_array_equal(two, one)


def test_problems_may_be_a_tuple_or_an_array():
    some = some_problems()[:2]
    array = np.empty(2, dtype=object)
    array[:] = some
    run = online(RandomSearch())
    assert run.score(tuple(some)) == run.score(array) == run.score(some)


def test_clone_pickle_and_nested_parameters():
    run = online(WDBO(alpha=0.3), clock=SimulatedClock(slow), horizon=8.0)
    copy = clone(run).set_params(optimizer__alpha=0.7)
    assert (run.optimizer.alpha, copy.optimizer.alpha) == (0.3, 0.7)
    again = pickle.loads(pickle.dumps(run.fit(some_problems()[:1])))
    assert again.problem_names_ == ["six-hump-camel"]
    assert again.score(some_problems()[:1]) == run.score(some_problems()[:1])


def test_tags_ask_for_no_table_of_numbers():
    tags = get_tags(online())
    assert tags.no_validation
    assert not tags.input_tags.two_d_array
    assert not tags.requires_fit


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problems", "error", "message"),
    [
        (make("ackley"), TypeError, r"a list of problems. Got <Synthetic.*Write \[problem\]"),
        (3, TypeError, "must be a list of problems. Got 3"),
        ("ackley", TypeError, "must be a sktvbo.problems.Problem. Got 'a'"),
        ([make("ackley"), "ackley"], TypeError, "must be a sktvbo.problems.Problem. Got 'ackley'"),
        ([], ValueError, "at least one problem. Got none"),
    ],
)
def test_invalid_lists_of_problems_are_refused(problems, error, message):
    for method in ("fit", "run", "score"):
        with pytest.raises(error, match=message):
            getattr(online(), method)(problems)


class Bare(BaseEstimator):
    ask = tell = None


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"optimizer": BaseEstimator()}, TypeError, r"an ask/tell opt.*Got BaseEstimator\(\)"),
        ({"optimizer": WDBO}, TypeError, "must be an ask/tell optimizer.*Got <class"),
        ({"optimizer": Bare()}, TypeError, r"parameters domain, maximize, random_.*Got Bare\(\)"),
        ({"horizon": 13.0}, ValueError, r"'horizon' .* OnlineRun .*Got 13.0 .*'six-hump-camel'"),
        ({"horizon": "long"}, ValueError, "'horizon' .*Got 'long'"),
        ({"average": "mean"}, ValueError, "'average' .* must be 'query' or 'time'. Got 'mean'"),
        ({"normalize": "max"}, ValueError, "'normalize' .* be None or 'random'. Got 'max'"),
        ({"n_replications": 0}, ValueError, r"'n_replications' .* range \[1, inf\). Got 0"),
        ({"n_initial": -1}, ValueError, r"'n_initial' .* int in the range \[0, inf\). Got -1"),
    ],
)
def test_invalid_parameters_are_refused(options, error, message):
    run = online(**options)
    for method in (run.fit, run.score):
        with pytest.raises(error, match=message):
            method(some_problems())
    assert not hasattr(run, "problem_names_")


def test_the_error_of_a_run_names_it_also_from_another_process():
    some = some_problems()[1:3]  # of one and of three dimensions
    for n_jobs in (1, 2):
        grid = {"optimizer__fails_at": [2, 3]}
        search = GridSearchCV(online(Touchy()), grid, cv=2, n_jobs=n_jobs, error_score="raise")
        with (
            joblib.parallel_config("multiprocessing"),
            pytest.raises(RuntimeError, match="too touchy") as caught,
        ):
            search.fit(deepcopy(some))
        (note,) = caught.value.__notes__
        assert f"'ackley' with random_state={SEEDS[0]}" in note
        assert "fails_at=3" in note


def test_a_search_gives_no_advice_on_models_that_do_not_suit_a_problem():
    surrogate = TimeVaryingGPRegressor(noise_variance=1e-8, optimizer=None)
    optimizer = GPUCB(surrogate=surrogate, n_initial_points=5)
    problem = make("ackley", horizon=60.0, noise_variance=4.0)
    with pytest.warns(OverconfidenceWarning):
        evaluation.run(optimizer, problem, n_initial=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert OnlineRun(optimizer, n_initial=5, random_state=0).score([problem]) < 0.0
