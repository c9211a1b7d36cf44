"""Maximizer with a time limit: the best found in time, and never less than the best candidate."""

import itertools

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic

from sktvbo import TimeVaryingGPRegressor
from sktvbo.acquisition import UCB, AcquisitionState
from sktvbo.acquisition import _maximize as _maximizer
from sktvbo.acquisition._maximize import maximize
from sktvbo.acquisition._score import Score
from sktvbo.domain import Box, ParameterSpace

BOX = Box([(-2.0, 4.0), (10.0, 30.0)])
MIXED = ParameterSpace({"rate": ("log-real", 1e-4, 1.0), "depth": ("integer", 0, 50)})


def problem(domain, kernel):
    """A score, and the posterior that it is of."""
    rng = np.random.RandomState(0)
    X = np.column_stack([domain.to_unit(domain.sample(25, rng)), np.arange(25.0)])
    gp = TimeVaryingGPRegressor(kernel, Matern(20.0, nu=1.5), optimizer=None)
    posterior = gp.fit(X, rng.normal(size=25)).posterior_at(26.0, domain.continuous)
    return Score(UCB(0.5), AcquisitionState(25, 25, 2, gp, posterior)), posterior


@pytest.mark.parametrize("domain", [BOX, MIXED], ids=["box", "mixed"])
@pytest.mark.parametrize("kernel", [Matern(0.5, nu=2.5), RationalQuadratic(0.5)], ids=str)
def test_what_is_found_grows_with_the_time(domain, kernel, monkeypatch):
    """By a clock that ticks whenever it is read."""
    score, posterior = problem(domain, kernel)

    def value(x):
        return score(*posterior(domain.to_unit(x)[np.newaxis]))[0][0]

    ticks = itertools.count()
    monkeypatch.setattr(_maximizer, "monotonic", lambda: float(next(ticks)))
    candidates = domain.candidates(512, np.random.RandomState(0))
    best = score(*posterior(candidates))[0].max()
    found = []
    for seconds in (-1.0, 3.0, 20.0, np.inf):
        start = next(ticks)
        x = maximize(score, posterior, domain, np.random.RandomState(0), until=start + seconds)
        assert domain.contains(x)
        found.append(value(x))
        if kernel != Matern(0.5, nu=2.5) and seconds < 20.0:
            assert next(ticks) - start < 20  # each evaluation reads the clock
    assert found[0] >= best - 1e-12
    assert (np.diff(found) >= -1e-12).all()
    assert found[-1] > best
