"""NumPy's scalars, of all types, are numbers like Python's."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from contract.cases import ask_and_tell
from numpy.testing import assert_array_equal

from sktvbo import GPUCB, SWGPUCB, TVGPUCB, UITVBO, WDBO, RandomSearch, SparseTimeVaryingGPRegressor
from sktvbo.domain import Arms

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
