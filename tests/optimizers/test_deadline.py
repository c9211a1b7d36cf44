"""ask(deadline=...): the best found in time, and never less than the best candidate."""

import itertools

import numpy as np
import pytest
from optimizers.cases import N_INITIAL, fingerprint, points, space
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic

from sktvbo import GPUCB, TimeVaryingGPRegressor, _maximizer
from sktvbo._maximizer import maximize
from sktvbo._score import Score
from sktvbo.acquisition import UCB, AcquisitionState
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


def test_a_batch_shares_the_time(monkeypatch):
    """Each query has a part of what is left."""
    ends = []
    original = _maximizer.maximize

    def spy(*args, until, **options):
        ends.append(until)
        return original(*args, until=until, **options)

    monkeypatch.setattr("sktvbo.optimizers._choosing.maximize", spy)
    monkeypatch.setattr("sktvbo.optimizers._choosing.monotonic", lambda: 100.0)
    monkeypatch.setattr("sktvbo.optimizers._clock.monotonic", lambda: 100.0)
    opt = GPUCB([(0.0, 1.0)], n_initial_points=3, random_state=0)
    for t in range(3):
        opt.tell(opt.ask(t), float(t))
    opt.ask(3.0, n_points=4, deadline=20.0)
    assert ends == [105.0, pytest.approx(100.0 + 20.0 / 3.0), 110.0, 120.0]
    ends.clear()
    opt.ask(4.0, n_points=2)
    assert ends == [np.inf, np.inf]


def test_every_algorithm_answers_in_no_time(few, domain):
    opt = few.make(domain)
    few.drive(opt, N_INITIAL + 1, domain=domain)
    t = float(N_INITIAL + 1)
    few.consult(opt, t, domain)
    x = opt.ask(t, deadline=0.0)
    assert space(domain).contains(points([x], domain)[0])
    assert len(opt.ask(t, n_points=3, deadline=0.0)) == 3
    assert opt.tell(x, 0.5) is None


def test_time_enough_is_no_limit(few, domain):
    limited, unlimited = (few.after(N_INITIAL + 2, domain)[0] for _ in range(2))
    t = float(N_INITIAL + 2)
    queries = limited.ask(t, deadline=1e9), unlimited.ask(t)
    np.testing.assert_array_equal(*(points([x], domain) for x in queries))
    assert fingerprint(limited) == fingerprint(unlimited)


@pytest.mark.parametrize("deadline", [-1.0, np.nan, "soon", True, [1.0], 1j])
def test_a_deadline_that_is_none(deadline):
    opt = GPUCB([(0.0, 1.0)], n_initial_points=3, random_state=0)
    opt.tell(opt.ask(0.0), 1.0)
    before = fingerprint(opt)
    with pytest.raises(ValueError, match=r"deadline must be a float in the range \[0, inf\]\. Got"):
        opt.ask(1.0, deadline=deadline)
    assert fingerprint(opt) == before
