"""Inverse and quadratic forms, updated row by row, against those of a fresh fit."""

import copy
import pickle
from collections import deque

import numpy as np
import pytest
from gaussian_process.cases import afresh
from grids import pairs_of
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process._exact_posterior import _MIN_ROWS_TO_UPDATE as N
from sktvbo.gaussian_process._exact_posterior import Dense
from sktvbo.gaussian_process._inverse import (
    FixedForms,
    Inverse,
    PlaceConvolutions,
    RelevancyForms,
    UpdatedForms,
)
from sktvbo.gaussian_process._kernel_families import recognize
from sktvbo.journal._encoding import decode, encode
from sktvbo.kernels import Empirical, Forgetting, with_seasons

TEMPORAL = {
    "forgetting": Forgetting(0.05),
    "3/2": Matern(8.0, nu=1.5),
    "5/2": Matern(8.0, nu=2.5),
    "rbf": RBF(8.0),
    "season": with_seasons(Matern(8.0, nu=2.5), 24.0),
    "smooth and rough": Matern(8.0, nu=2.5) + 0.4 * Matern(3.0, nu=0.5),
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


def mixed_steps(gp, n_steps, rng, n=N):
    """Stream with late rows, pauses, batches, and drops of the least relevant; yield each step."""
    start = [observed(rng, float(t)) for t in range(n)]
    gp = gp.fit(np.vstack([x for x, _ in start]), np.concatenate([y for _, y in start]))
    now = float(n)
    for i in range(n_steps):
        now += 1.0 if i % 50 != 49 else 30.0
        x, y = observed(rng, now - 5.0 if i % 7 == 3 else now)
        if i % 41 == 40:
            more = observed(rng, now)
            x, y = np.vstack([x, more[0]]), np.append(y, more[1])
        gp = gp.condition_on(x, y)
        sweep = gp.fitted_.relevancy_sweep(now)
        drop = []
        while sweep.n > n + i % 3:
            least = np.argmin(sweep.relevancy())
            drop.append(sweep.index[least])
            sweep.remove(least)
        if drop:
            gp = gp.without(drop)
        yield gp, now


def last_of(steps):
    return deque(steps, 1)[0]


@pytest.fixture
def recomputed(monkeypatch):
    """List with an entry for each time a conditioned GP is computed from nothing."""
    calls, call = [], Dense._recomputed
    monkeypatch.setattr(Dense, "_recomputed", lambda gp, rows: calls.append(1) or call(gp, rows))
    return calls


def counted(monkeypatch, kind):
    """Return a list with an entry for each object that is made from nothing."""
    made, of = [], kind.of.__func__
    spied = classmethod(lambda cls, *args: made.append(1) or of(cls, *args))
    monkeypatch.setattr(kind, "of", spied)
    return made


def assert_is_fresh_fit(gp, now, tolerance=1e-8):
    fresh = afresh(gp, gp.X_train_, gp.y_train_)
    grid = np.column_stack([np.random.RandomState(3).uniform(size=(20, 2)), np.full(20, now)])
    pairs = [
        *zip(gp.predict(grid, return_std=True), fresh.predict(grid, return_std=True)),
        (gp.relevancy(now), fresh.relevancy(now)),
        (gp._gp.inverse.P, fresh._gp.inverse.P),
        (gp._gp.gradient, fresh.log_marginal_likelihood(gp.theta_, eval_gradient=True)[1]),
    ]
    for mine, other in pairs:
        assert_allclose(mine, other, rtol=0.0, atol=tolerance * np.abs(other).max())


@pytest.mark.parametrize(
    ("name", "mean_prior_std", "n"), pairs_of(TEMPORAL, (0.0, 0.7, np.inf), (40, N))
)
def test_a_stream_is_a_fresh_fit(name, mean_prior_std, n, monkeypatch):
    """The convolutions in space are most of the time of a step, and O(n) for a new row."""
    convolved = counted(monkeypatch, PlaceConvolutions)
    gp = regressor(TEMPORAL[name], mean_prior_std)
    gp, now = last_of(mixed_steps(gp, 45, np.random.RandomState(1), n))
    assert gp._gp.n_updates > 0
    assert len(convolved) == 1
    assert_is_fresh_fit(gp, now)


def test_long_streams(recomputed):
    steps = mixed_steps(regressor(TEMPORAL["3/2"]), 300, np.random.RandomState(2))
    counts = []
    for i, (gp, now) in enumerate(steps):
        counts.append(gp._gp.n_updates)
        if i % 100 == 99:
            assert_is_fresh_fit(gp, now)
    # Three steps are four updates; 256 may follow one another.
    assert max(counts) in (255, 256)
    assert len(recomputed) == 400 // 257


def forms_in_full(gp, now):
    """Return q and the sums of a conditioned GP at a time since the origin, from full matrices."""
    rows, (spatial, temporal) = gp.rows, gp.covariance.stationary_factors
    C = temporal.future_convolution(now - rows.t, now - rows.t) * spatial.convolution(rows.S)
    P = Dense.of(gp.covariance, rows).precision
    return np.sum(P * (P @ C), axis=1), np.sum(P * C), gp.weights @ C @ gp.weights


@pytest.mark.parametrize(
    "temporal",
    [
        TEMPORAL["smooth and rough"],
        pytest.param(TEMPORAL["forgetting"], marks=pytest.mark.slow),
        pytest.param(Matern(8.0, nu=0.5) * ExpSineSquared(30.0, 24.0), marks=pytest.mark.slow),
    ],
)
def test_forms_of_mixed_steps_are_those_of_full_matrices(temporal, monkeypatch):
    """250 steps: late and repeated rows, pauses, several removals, known noise, other values."""
    computed = counted(monkeypatch, RelevancyForms)
    monkeypatch.setattr("sktvbo.gaussian_process._exact_posterior._MIN_ROWS_TO_UPDATE", 10)
    rng, now, n = np.random.RandomState(3), 60.0, 60
    X = np.column_stack([rng.uniform(size=(n, 2)), np.arange(60.0)])
    y, variance = np.sin(5.0 * X[:, 0] + X[:, 2] / 10.0), rng.uniform(0.0, 0.1, n)
    gp = regressor(temporal).set_params(normalize_y=False).fit(X, y, variance)._gp
    for i in range(250):
        now += rng.choice([0.0, 0.3, 1.0, 1.0, 2.0, 40.0], p=[0.2, 0.2, 0.3, 0.2, 0.09, 0.01])
        x = X[-1, :2] if i % 20 == 7 else rng.uniform(size=2)
        X = np.append(x, now - 3.0 if i % 15 == 3 else now)[np.newaxis]
        y = np.sin(5.0 * X[:, 0] + now / 10.0) + 0.1 * rng.normal(size=1)
        gp = gp.append(X, y, rng.uniform(0.0, 0.1, 1), np.zeros(1, dtype=bool))
        gp.append(X + 0.1, y, np.zeros(1), np.zeros(1, dtype=bool))  # changes nothing
        sweep, drop = gp.relevancy_sweep(now), []
        for _ in range(rng.randint(4) if gp.rows.n > n else 0):
            least = np.argmin(sweep.relevancy())
            drop.append(sweep.index[least])
            sweep.remove(least)
        if i % 13 == 6 and drop:
            drop.pop()  # removed in the sweep alone
        if i % 11 == 5:
            drop.append(np.setdiff1d(np.arange(gp.rows.n), drop)[-2])  # what the sweep has not
        gp = gp.drop(np.sort(drop).astype(int)) if drop else gp
        if i % 25 == 24:
            forms, (q, trace, mean_part) = gp.cache.forms.at(now), forms_in_full(gp, now)
            scale = forms.unit
            assert_allclose(forms.q / scale**2, q, rtol=0.0, atol=1e-9 * q.max())
            assert_allclose(forms.trace / scale, trace, rtol=1e-9)
            assert_allclose(forms.mean_part(gp.weights), mean_part, rtol=1e-9)
    # Only with a new factor, after 256 updates.
    assert len(computed) <= 1 + 1000 // 256


@pytest.mark.parametrize("updated", [False, True])
def test_sums_without_a_row_that_was_nearly_all_of_them(updated):
    t, now, P = np.array([0.0, 1.0, 2.0]), 2.0, np.diag([2.0**50, 1.0, 1.0])
    spatial, temporal = (recognize(Matern(length, nu=1.5), 1) for length in (0.3, 5.0))
    places = PlaceConvolutions.of(spatial, np.array([[0.1], [0.5], [0.6]]))
    if updated:
        forms = RelevancyForms.of(temporal.future_basis, places, t, now, P, 1.0)
        forms = UpdatedForms(Inverse.of(P), forms)
    else:
        forms = FixedForms(P, temporal.future_convolution(now - t, now - t) * places.C, 1.0)
    expected = np.diag(temporal.future_convolution(now - t[1:], now - t[1:]))
    assert_allclose(forms.without(0).trace, expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("n", [N - 1, N])
def test_few_rows_are_not_updated(n):
    rng = np.random.RandomState(3)
    gp, now = last_of(mixed_steps(regressor(TEMPORAL["3/2"]), 1, rng, n=n + 1))
    gp = gp.without([0])
    gp.relevancy(now)
    for changed in (gp.condition_on(*observed(rng, now)), gp.without([0])):
        assert (changed._gp.cache.inverse is None) == (n < N)
        assert_is_fresh_fit(changed, now)


def test_two_extensions_of_the_same_step():
    """They share memory; the second must not write over the row of the first."""
    rng = np.random.RandomState(7)
    gp, now = last_of(mixed_steps(regressor(TEMPORAL["5/2"]), 5, rng))
    first, second = (gp.condition_on(*observed(rng, now)) for _ in range(2))
    for each in (first.condition_on(*observed(rng, now)), second, first.without([3]), gp):
        assert_is_fresh_fit(each, now)
        again = pickle.loads(pickle.dumps(each)).condition_on(*observed(rng, now))
        assert_is_fresh_fit(again, now)


@pytest.mark.parametrize(
    "duplicate",
    [lambda gp: pickle.loads(pickle.dumps(gp)), copy.deepcopy, lambda gp: decode(encode(gp))],
    ids=["pickle", "deepcopy", "plain data"],
)
def test_no_cache_is_copied_or_stored(duplicate):
    rng = np.random.RandomState(9)
    gp, now = last_of(mixed_steps(regressor(TEMPORAL["3/2"]), 3, rng))
    size = len(pickle.dumps(afresh(gp, gp.X_train_, gp.y_train_)))
    relevancy = gp.relevancy(now)
    assert gp._gp.cache.places is not None
    assert len(pickle.dumps(gp)) < 1.2 * size
    other = duplicate(gp)
    assert set(vars(other._gp.cache).values()) == {None, 0}
    assert_allclose(other.predict(gp.X_train_, True), gp.predict(gp.X_train_, True), rtol=1e-9)
    assert_allclose(other.relevancy(now), relevancy, rtol=0.0, atol=1e-8 * relevancy.max())
    assert_is_fresh_fit(other.condition_on(*observed(rng, now)), now)
    # The original still has its cache.
    assert gp._gp.cache.places is not None


def test_a_search_leaves_its_inverse():
    rng = np.random.RandomState(4)
    gp = regressor(TEMPORAL["3/2"]).set_params(optimizer="fmin_l_bfgs_b")
    X, y = zip(*(observed(rng, float(t)) for t in range(40)))
    gp.fit(np.vstack(X), np.concatenate(y))
    assert gp._gp.cache.lower_precision is not None
    without = pickle.loads(pickle.dumps(gp))
    assert without._gp.cache.lower_precision is None
    held = gp.condition_on(*observed(rng, 41.0)).without([3])
    for each in (gp, without, held):
        expected = afresh(each, each.X_train_, each.y_train_).relevancy(42.0)
        assert_allclose(each.relevancy(42.0), expected, rtol=1e-8)
    assert gp._gp.cache.lower_precision is None


def test_round_off_in_the_inverse_is_found(recomputed):
    rng = np.random.RandomState(5)
    gp, now = last_of(mixed_steps(regressor(TEMPORAL["3/2"]), 10, rng))
    gp._gp.precision[0, 0] *= 1.001
    for _ in range(20):
        gp = gp.condition_on(*observed(rng, now)).without([5])
        gp.relevancy(now)
    assert len(recomputed) == 1
    assert_is_fresh_fit(gp, now)


@pytest.mark.parametrize("ahead", [3.0, 1.0, 22.0, 5e3])
def test_other_times_than_the_stream(ahead):
    rng = np.random.RandomState(6)
    start = float(N + 2)
    gp, _ = next(mixed_steps(regressor(TEMPORAL["5/2"]), 1, rng, n=N + 2))
    gp.relevancy(start + 12.0)
    latest = np.flatnonzero(gp.X_train_[:, -1] > start + 0.5)
    gp.forget(latest).partial_fit(*observed(rng, start))
    assert_is_fresh_fit(gp, start + ahead)


def test_arms_and_time_alone():
    rng = np.random.RandomState(7)
    A = rng.normal(size=(6, 6))
    arms = regressor(TEMPORAL["3/2"], spatial=Empirical(A @ A.T + np.eye(6)))
    X, y = np.column_stack([rng.randint(6, size=N + 3), np.arange(N + 3.0)]), rng.normal(size=N + 3)
    for gp, rows in ((arms, X), (regressor(TEMPORAL["3/2"]), X[:, 1:])):
        gp.fit(rows[:N], y[:N]).relevancy()
        for i in range(N, N + 3):
            gp = gp.condition_on(rows[i : i + 1], y[i : i + 1]).without([0])
            gp.relevancy()
        expected = afresh(gp, gp.X_train_, gp.y_train_).relevancy(N + 4.0)
        assert_allclose(gp.relevancy(N + 4.0), expected, rtol=1e-8, atol=1e-9 * expected.max())
