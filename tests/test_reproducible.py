"""The same seed gives the same queries on one processor, with any number of threads."""

import numpy as np
import pytest
from contract.cases import BY_NAME, CASES
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from sktvbo import TimeVaryingGPRegressor


def two_threads_exist():
    return any(library["num_threads"] > 1 for library in threadpool_info())


@pytest.fixture(autouse=True)
def _two_threads():
    """Undo the suite's limit, so that there is something to compare."""
    with threadpool_limits(2, user_api="blas"):
        if not two_threads_exist():
            pytest.skip("needs a BLAS with two threads")
        yield


def with_threads(n, call):
    with threadpool_limits(n, user_api="blas"):
        return call()


NAMES = [
    case.name
    if case.name in ("WDBO", "SparQGPUCB-expert", "ABO", "thompson")
    # The others take as long, and are made of the same parts.
    else pytest.param(case.name, marks=pytest.mark.slow)
    for case in CASES
    if case.modelled
]


@pytest.mark.parametrize("name", NAMES)
def test_queries_with_one_thread_and_with_two(name):
    case = BY_NAME[name]

    def queries():
        opt = case.make(random_state=7)
        # One query of a surrogate or more; sampling takes long.
        return np.array(case.drive(opt, 11)), opt.surrogate_.theta_

    for one, two in zip(with_threads(1, queries), with_threads(2, queries)):
        assert_array_equal(one, two)


def test_a_large_data_set_with_one_thread_and_with_two(rng):
    # Two threads add in another order: the last digits differ, and nothing else.
    X = np.column_stack([rng.uniform(size=(500, 2)), np.arange(500.0)])
    y = np.sin(6.0 * X[:, 0] + X[:, 2] / 50.0) + 0.1 * rng.normal(size=500)

    def posterior():
        gp = TimeVaryingGPRegressor(optimizer=None, normalize_y=True).fit(X, y)
        return np.array(gp.predict(X[::7] + 0.01, return_std=True))

    assert_allclose(with_threads(1, posterior), with_threads(2, posterior), rtol=1e-9)
