"""What is kept from step to step, against what is computed afresh."""

import pickle
from collections import deque

import numpy as np
import pytest
from gaussian_process.cases import afresh
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import _kept
from sktvbo.kernels import Empirical, Forgetting
from sktvbo.relevancy import wasserstein_relevancy

TEMPORAL = {
    "forgetting": Forgetting(0.05),
    "3/2": Matern(8.0, nu=1.5),
    "5/2": Matern(8.0, nu=2.5),
    "rbf": RBF(8.0),
}


def regressor(temporal, mean_prior_std=0.7, spatial=None, **options):
    return TimeVaryingGPRegressor(
        Matern([0.3, 0.4], nu=2.5) if spatial is None else spatial,
        temporal,
        signal_variance=1.3,
        noise_variance=0.02,
        mean_prior_std=mean_prior_std,
        optimizer=None,
        normalize_y=True,
        **options,
    )


def observed(rng, t):
    x = rng.uniform(size=2)
    return np.append(x, t)[np.newaxis], [np.sin(5.0 * x[0] + t / 10.0) + 0.1 * rng.normal()]


def mixed_steps(gp, n_steps, rng, n=40):
    """A stream with late rows, pauses, batches, and drops of the least relevant; yields each."""
    start = [observed(rng, float(t)) for t in range(n)]
    gp = gp.fit(np.vstack([x for x, _ in start]), np.concatenate([y for _, y in start]))
    now = float(n)
    for i in range(n_steps):
        now += 1.0 if i % 50 != 49 else 30.0
        x, y = observed(rng, now - 5.0 if i % 7 == 3 else now)
        if i % 41 == 40:
            more = observed(rng, now)
            x, y = np.vstack([x, more[0]]), np.append(y, more[1])
        gp = gp.updated(x, y)
        sweep = gp.relevancy_sweep(now)
        drop = []
        while sweep.n > n + i % 3:
            least = np.argmin(sweep.relevancy())
            drop.append(sweep.index[least])
            sweep.remove(least)
        if drop:
            gp = gp.updated(drop=drop)
        yield gp, now


def assert_as_afresh(gp, now, tolerance=1e-8):
    fresh = afresh(gp, gp.X_train_, gp.y_train_)
    grid = np.column_stack([np.random.RandomState(3).uniform(size=(20, 2)), np.full(20, now)])
    for mine, other in zip(gp.predict(grid, return_std=True), fresh.predict(grid, return_std=True)):
        assert_allclose(mine, other, rtol=0.0, atol=tolerance * np.abs(other).max())
    mine, other = gp.relevancy(now), fresh.relevancy(now)
    assert_allclose(mine, other, rtol=0.0, atol=tolerance * other.max())


@pytest.mark.parametrize("mean_prior_std", [0.0, 0.7, np.inf])
@pytest.mark.parametrize("temporal", TEMPORAL.values(), ids=list(TEMPORAL))
def test_a_stream_is_as_afresh(temporal, mean_prior_std):
    steps = mixed_steps(regressor(temporal, mean_prior_std), 45, np.random.RandomState(1))
    gp, now = deque(steps, 1)[0]
    assert_as_afresh(gp, now)


def test_two_thousand_steps(monkeypatch):
    # The forms are computed from nothing once, at the first held step.
    count = []
    of = _kept.Forms.of.__func__
    monkeypatch.setattr(
        _kept.Forms, "of", classmethod(lambda cls, *args: count.append(1) or of(cls, *args))
    )
    steps = mixed_steps(regressor(TEMPORAL["3/2"]), 2000, np.random.RandomState(2))
    for i, (gp, now) in enumerate(steps):
        if i % 500 == 499:
            assert_as_afresh(gp, now)
    # After a batch of two, every 41 steps, and when all is made anew, so are they.
    assert len(count) <= 2000 // 41 + 1 + gp._gp.n_remade


def test_two_who_go_on_from_the_same_step():
    # They share what stands before; the second to come must not write over the first one's row.
    rng = np.random.RandomState(7)
    gp, now = deque(mixed_steps(regressor(TEMPORAL["5/2"]), 5, rng), 1)[0]
    first, second = (gp.updated(*observed(rng, now)) for _ in range(2))
    for each in (first.updated(*observed(rng, now)), second, first.updated(drop=[3]), gp):
        assert_as_afresh(each, now)
        again = pickle.loads(pickle.dumps(each)).updated(*observed(rng, now))
        assert_as_afresh(again, now)


def test_steps_are_not_told_from_a_search_and_its_inverse():
    # A search leaves the inverse behind, which the sweep that follows takes.
    rng = np.random.RandomState(4)
    gp = regressor(TEMPORAL["3/2"]).set_params(optimizer="fmin_l_bfgs_b")
    X, y = zip(*(observed(rng, float(t)) for t in range(40)))
    gp.fit(np.vstack(X), np.concatenate(y))
    held = gp.updated(*observed(rng, 41.0)).updated(drop=[3])
    for each in (gp, held):
        expected = wasserstein_relevancy(
            each.X_train_,
            (each.y_train_ - gp.y_train_.mean()) / gp.y_train_.std(),
            spatial_kernel=each.spatial_kernel_,
            temporal_kernel=each.temporal_kernel_,
            signal_variance=each.signal_variance_,
            noise_variance=each.noise_variance_,
            now=42.0,
            mean_prior_std=0.7,
        )
        assert_allclose(each.relevancy(42.0), expected, rtol=1e-8)


def test_rounding_is_watched(monkeypatch):
    rng = np.random.RandomState(5)
    steps = mixed_steps(regressor(TEMPORAL["3/2"]), 40, rng)
    for _ in range(10):
        gp, now = next(steps)
    assert gp._gp.n_remade == 0
    spoilt = gp._gp.kept.P.copy()
    spoilt[0, 0] *= 1.001
    object.__setattr__(gp._gp.kept, "P", spoilt)
    for _ in range(20):
        gp = gp.updated(*observed(rng, now)).updated(drop=[5])
    assert gp._gp.n_remade == 1
    assert_as_afresh(gp, now)


@pytest.mark.parametrize("now", [41.0, 39.0, 60.0, 5e3])
def test_other_times_than_the_stream(now):
    rng = np.random.RandomState(6)
    gp, _ = next(mixed_steps(regressor(TEMPORAL["5/2"]), 1, rng, n=38))
    gp.relevancy(50.0)
    gp.forget(np.flatnonzero(gp.X_train_[:, -1] > 38.5)).partial_fit(*observed(rng, 38.0))
    assert_as_afresh(gp, now)


def test_arms_and_time_alone():
    rng = np.random.RandomState(7)
    A = rng.normal(size=(6, 6))
    arms = regressor(TEMPORAL["3/2"], spatial=Empirical(A @ A.T + np.eye(6)))
    X = np.column_stack([rng.randint(6, size=30), np.arange(30.0)])
    for gp, rows in ((arms, X), (regressor(TEMPORAL["3/2"]), X[:, 1:])):
        y = rng.normal(size=30)
        gp.fit(rows[:-3], y[:-3]).relevancy()
        for i in (27, 28, 29):
            gp = gp.updated(rows[i : i + 1], y[i : i + 1]).updated(drop=[0])
            gp.relevancy()
        expected = afresh(gp, gp.X_train_, gp.y_train_).relevancy(31.0)
        assert_allclose(gp.relevancy(31.0), expected, rtol=1e-8)


@pytest.mark.parametrize("mean_prior_std", [0.0, 0.7])
def test_the_gradient_at_held_hyperparameters(mean_prior_std):
    rng = np.random.RandomState(8)
    gp, _ = deque(mixed_steps(regressor(TEMPORAL["forgetting"], mean_prior_std), 3, rng), 1)[0]
    expected = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)[1]
    assert_allclose(gp._gp.gradient, expected, rtol=1e-8, atol=1e-8)
