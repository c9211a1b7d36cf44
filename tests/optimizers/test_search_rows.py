"""A search of the hyperparameters takes a limited number of rows."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, WDBO, TimeVaryingGPRegressor
from sktvbo.gaussian_process._fitted import FittedGP
from sktvbo.gaussian_process._regressor import as_fitted
from sktvbo.gaussian_process._relevancy import most_relevant
from sktvbo.kernels import Wiener
from sktvbo.optimizers import _models


@pytest.fixture
def searched(monkeypatch):
    """Number of rows of each search, of at most 30."""
    monkeypatch.setattr(_models, "_MAX_LEARNT", 30)
    sizes, before = [], FittedGP.refitted

    def refitted(self, *args, **options):
        sizes.append(len(self.X_train_))
        return before(self, *args, **options)

    monkeypatch.setattr(FittedGP, "refitted", refitted)
    return sizes


def rows(n, start=0.0):
    rng = np.random.default_rng(0)
    X, t = rng.uniform(size=(n, 2)), start + np.arange(n)
    return X, -((X - 0.5) ** 2).sum(axis=1) + 0.01 * rng.normal(size=n), t


@pytest.mark.parametrize("kind", [WDBO, GPUCB])
def test_a_search_takes_the_relevant_rows_and_the_model_all(kind, searched):
    optimizer = kind([(0.0, 1.0)] * 2, random_state=0, refit_every=5)
    X, y, t = rows(45)
    optimizer.tell_many(X, y, t)
    optimizer.tell_many(*rows(20, start=45.0))
    for i in range(12):
        optimizer.tell(optimizer.ask(65 + i), 0.1 * i, 65 + i)
    optimizer.refit()
    assert searched == [30] * 4  # tell_many, two of tell, refit
    assert len(optimizer.surrogate_.X_train_) == len(optimizer.X_) > 40


@pytest.mark.parametrize("max_size", [None, 60])
def test_with_more_rows_a_search_follows_when_a_tenth_is_new(searched, max_size):
    """The optimum of a part of the rows is not that of all, at which nothing would be gained."""
    optimizer = GPUCB([(0.0, 1.0)] * 2, max_size=max_size, random_state=0)
    optimizer.tell_many(*rows(60))
    searched.clear()
    for i in range(30):
        optimizer.tell(optimizer.ask(60 + i), 0.01 * i, 60 + i)
    assert 2 <= len(searched) <= 6


def test_the_rows_are_those_most_relevant_to_the_present():
    X, y, t = rows(40)
    temporal = Matern(length_scale=8.0, nu=1.5)
    gp = as_fitted(
        TimeVaryingGPRegressor(temporal_kernel=temporal, optimizer=None).fit(
            np.column_stack([X, t]), y
        )
    )
    found = most_relevant(15, gp, 39.0, t)
    relevancy = gp.relevancy_sweep(39.0).relevancy()
    assert np.array_equal(np.sort(relevancy)[-15:], np.sort(relevancy[found]))
    assert (np.diff(found) > 0).all()
    assert t[found].mean() > 25.0
    without = TimeVaryingGPRegressor(temporal_kernel=Wiener(), optimizer=None)
    gp = as_fitted(without.fit(np.column_stack([X, t[::-1]]), y))
    assert found_times(gp, t[::-1]) == [*range(25, 40)]


def found_times(gp, times):
    return sorted(times[most_relevant(15, gp, 39.0, times)])
