"""NumPy's scalars, of all types, are numbers and texts like Python's."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from contract.cases import ask_and_tell
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import Matern
from sklearn.model_selection import GridSearchCV

from sktvbo import (
    GPUCB,
    SWGPUCB,
    TVGPUCB,
    UITVBO,
    WDBO,
    BayesianOptimizer,
    RandomSearch,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
    dpp,
    optimizers,
    problems,
)
from sktvbo._validation import check_choice
from sktvbo.acquisition import UCB
from sktvbo.domain import Arms, StepLimit
from sktvbo.evaluation import compare
from sktvbo.gaussian_process import QuadraticMean
from sktvbo.kernels import Wiener, with_seasons
from sktvbo.model_selection import OnlineRun

SMALL = [
    (RandomSearch, [(0.0, 1.0)], 150, {"history": 100}, np.int8),
    (RandomSearch, [(0.0, 1.0)], 5, {"maximize": False}, np.bool_),
    (UITVBO, Arms(3), 30, {"history": 100, "refit_every": None}, np.int8),
    (GPUCB, [(0.0, 1.0)], 20, {"max_size": 12, "n_initial_points": 10}, np.uint8),
    (SWGPUCB, [(0.0, 1.0)], 20, {"window": 12, "refit_every": 3, "random_state": 7}, np.int8),
    (TVGPUCB, [(0.0, 1.0)], 9, {"epsilon": float(np.float32(0.1))}, np.float32),
    (WDBO, [(0.0, 1.0)], 9, {"alpha": 0.5, "query_timeout": 3.0, "max_step": 0.25}, np.float16),
]


@pytest.mark.parametrize(("kind", "domain", "steps", "options", "scalar"), SMALL)
def test_parameters_may_be_scalars_of_numpy(kind, domain, steps, options, scalar, tmp_path):
    """Sums of small ones would overflow, or have few digits."""
    found = []
    given = {k: v if v is None else scalar(v) for k, v in options.items()}
    for parameters in (options, given):
        path = tmp_path / f"{len(found)}.db"
        opt = kind(domain, **({"random_state": 0} | parameters), journal=path)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            ask_and_tell(opt, steps, lambda x, t: np.sin(t))
        opt.close()
        again = kind.resume(path)
        found.append((opt.told_X_, opt.X_, opt.removed_at_, again.ask(999.0)))
        again.close()
    for one, other in zip(*found):
        assert_array_equal(one, other)


CALLS = [
    lambda opt, value: opt.tell([1.0], value, 1.0),
    lambda opt, value: opt.tell([1.0], 2.0, value),
    lambda opt, value: opt.tell(value, 2.0, 2.0),
    lambda opt, value: opt.ask(value),
    lambda opt, value: opt.predict([[1.0]], value),
]


THREES = [np.float16(3), np.float32(3), np.longdouble(3), np.int8(3), np.uint64(3), Fraction(3)]
THREES += [np.array(3), np.array(3.0, dtype=np.float32), np.array([3])]


@pytest.mark.parametrize("three", THREES, ids=repr)
def test_what_is_told_may_be_any_real_number(three):
    opt, twin = (WDBO([(0.0, 9.0)], n_initial_points=2, random_state=0) for _ in range(2))
    for call in CALLS:
        call(opt, three)
        call(twin, 3.0)
    for name in ("told_X_", "told_y_", "pending_X_"):
        assert_array_equal(getattr(opt, name), getattr(twin, name))


@pytest.mark.parametrize("y", [np.array(np.nan), np.array([np.nan]), np.float32(np.nan), None])
def test_what_failed_may_be_any_nan(y):
    opt = RandomSearch([(0.0, 1.0)])
    opt.tell([0.5], y, 1.0, failed=np.True_)
    assert opt.n_failed_ == 1


@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.ModelWarning")
def test_a_regressor_with_few_points():
    rows = np.random.RandomState(0).uniform(size=(150, 2))
    fits = [SparseTimeVaryingGPRegressor(n_inducing=n, random_state=0) for n in (np.int8(40), 40)]
    assert_array_equal(*(gp.fit(rows, np.sin(6.0 * rows[:, 0])).predict(rows) for gp in fits))


# --- texts ----------------------------------------------------------------------------------------

ALGORITHMS = [
    kind for kind in map(vars(optimizers).get, optimizers.__all__) if hasattr(kind, "ask")
]


@pytest.mark.parametrize("kind", ALGORITHMS)
def test_parameters_may_be_texts_of_numpy(kind, tmp_path):
    found = []
    for text in (str, np.str_):
        opt, path = kind([(0.0, 1.0)], random_state=0), tmp_path / f"{text.__name__}.db"
        texts = {k: text(v) for k, v in opt.get_params(deep=False).items() if isinstance(v, str)}
        opt.set_params(**texts, journal=path)
        ask_and_tell(opt, 4, lambda x, t: np.sin(t))
        opt.close()
        again = kind.resume(path)
        found.append((opt.told_X_, again.ask(9.0)))
        again.close()
        assert {"clock", "time_unit"} <= texts.keys()
    for one, other in zip(*found):
        assert_array_equal(one, other)


SPACE = {"rate": ("log-real", 1e-3, 1.0), "kind": ("categorical", np.array(["a", "b"]))}
X = np.random.RandomState(0).uniform(size=(30, 2))
PROBLEMS = [problems.make("eggholder", horizon=8.0)]
ALONE = {"n_replications": 1, "n_initial": 3}


def fitted(**options):
    return TimeVaryingGPRegressor(**options).fit(X, X[:, 0]).predict(X)


def sparse(**options):
    return SparseTimeVaryingGPRegressor(random_state=0, **options).fit(X, X[:, 0]).predict(X)


def asked(**options):
    return BayesianOptimizer([(0.0, 1.0)], random_state=0, **options).ask(0.0)


# A call with a text, or a number, and the value.
TEXTS = [
    (lambda v: fitted(solver=v), "dense"),
    (lambda v: fitted(optimizer=v), "fmin_l_bfgs_b"),
    (lambda v: fitted(signal_variance_bounds=v), "fixed"),
    (lambda v: fitted(temporal_kernel=Matern(3.0, v)), "fixed"),
    (lambda v: fitted(temporal_kernel=Wiener(0.1, before=v)), "constant"),
    (lambda v: fitted(time_unit=v), "h"),
    (lambda v: fitted(normalize_y=v), True),
    (lambda v: fitted(prior_mean=QuadraticMean(only_if_likelier=v)), True),
    (lambda v: sparse(n_inducing=v), "auto"),
    (lambda v: sparse(n_inducing=9, inducing=v), "greedy"),
    (lambda v: asked(acquisition=v), "ei"),
    (lambda v: asked(acquisition=UCB(v)), "log"),
    (lambda v: asked(policy=v), "sliding-window"),
    (lambda v: asked(max_step=StepLimit(0.1, per=v)), "time"),
    (lambda v: asked(seasonal_periods=v), "1D"),
    (lambda v: dpp.sample_kdpp(np.eye(4), 2, method=v, random_state=0), "exact"),
    (lambda v: WDBO({v: ("real", 0.0, 1.0)} | SPACE, random_state=0).ask(0.0)["rate"], "x"),
    (lambda v: WDBO({"x": (v, 0.0, 1.0)}, random_state=0).ask(0.0)["x"], "real"),
    (lambda v: with_seasons(Matern(), v, time_unit=v and "h").theta, "1D"),
    (lambda v: OnlineRun(RandomSearch(), n_initial=3, average=v).score(PROBLEMS), "time"),
    (lambda v: OnlineRun(RandomSearch(), n_initial=3, normalize=v).score(PROBLEMS), "random"),
    (lambda v: len(compare({v: RandomSearch()}, PROBLEMS, **ALONE).algorithms), "a"),
    (
        lambda v: len(compare({"a": RandomSearch()}, PROBLEMS, on_error=v, **ALONE).algorithms),
        "raise",
    ),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "value"), TEXTS, ids=[str(value) for _, value in TEXTS])
def test_choices_may_be_of_numpy(call, value):
    scalar = np.array([value])[0]
    assert type(scalar) is not type(value)
    assert_array_equal(call(scalar), call(value))


def test_a_search_over_arrays_of_choices():
    grid = {
        "solver": np.array(["dense", "auto"]),
        "normalize_y": np.array([True, False]),
        "time_column": np.array([0, -1]),
    }
    gp = TimeVaryingGPRegressor(optimizer=None)
    search = GridSearchCV(gp, grid, cv=2, error_score="raise").fit(X, X[:, 0])
    assert search.best_params_.keys() == grid.keys()


@pytest.mark.parametrize(
    "value", [np.str_("no"), np.array(["a"]), np.True_, np.int64(1), b"a", None]
)
def test_other_values_are_no_choices(value):
    with pytest.raises(ValueError, match=r"x must be 'a' or 'b'\. Got "):
        check_choice(value, ("a", "b"), "x")
