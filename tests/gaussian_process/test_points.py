"""Number of inducing points, and when they are chosen again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import SparseTimeVaryingGPRegressor
from sktvbo.gaussian_process import _sparse


def rows(n=1500, end=20.0, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=n), np.sort(rng.uniform(0.0, end, n))])
    return X, np.sin(6.0 * X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=n)


def given(length, **options):
    kernels = Matern(length, nu=2.5), Matern(10.0 * length, nu=1.5)
    options = {"optimizer": None, "random_state": 0} | options
    return SparseTimeVaryingGPRegressor(*kernels, noise_variance=0.01, **options)


@pytest.mark.parametrize(
    "inducing",
    ["kdpp", *(pytest.param(name, marks=pytest.mark.slow) for name in ("greedy", "kmeans"))],
)
def test_auto_takes_more_points_for_what_changes_faster(inducing):
    X, y = rows()
    sizes = [
        len(given(length, inducing=inducing).fit(X, y).inducing_points_)
        for length in (5.0, 0.7, 0.05)
    ]
    assert sizes[0] == 50
    assert sizes[2] == 400
    assert sizes[0] <= sizes[1] <= sizes[2]


def test_auto_stops_where_the_bound_does():
    X, y = rows()
    gp = given(1.0).fit(X, y)
    m = len(gp.inducing_points_)
    twice, half = (given(1.0, n_inducing=k).fit(X, y).elbo_ for k in (2 * m, m // 2))
    assert m == 50 or gp.elbo_ - half > 0.03 * len(X)
    assert twice - gp.elbo_ < 0.07 * len(X)


def test_auto_with_few_rows_takes_all():
    X, y = rows(30)
    gp = given(0.3).fit(X, y)
    assert_array_equal(gp.inducing_points_, X[np.argsort(X[:, 0])])


def test_n_inducing_is_auto_or_a_number():
    message = r"'n_inducing' .* must be 'auto' or an int .* 'many' inst"
    with pytest.raises(ValueError, match=message):
        given(1.0, n_inducing="many").fit(*rows(20))


def test_points_are_chosen_again_where_they_explain_little():
    X, y = rows()
    gp = given(1.0, inducing="greedy").partial_fit(X[:700], y[:700])
    before = gp.inducing_points_
    near = np.column_stack([X[:20, 0], X[680:700, 1]])
    gp.partial_fit(near, y[:20])
    assert_array_equal(gp.inducing_points_, before)
    gp.partial_fit(X[700:900], y[700:900])
    assert gp.inducing_points_[:, 1].max() > X[700, 1]
    told = np.vstack([X[:700], near, X[700:900]]), np.concatenate([y[:700], y[:20], y[700:900]])
    fresh = given(1.0, inducing="greedy").partial_fit(*told)
    assert_allclose(gp.predict(X[:900]), fresh.predict(X[:900]), atol=0.1)


def test_given_points_stay():
    X, y = rows()
    gp = given(1.0, inducing=X[:700:14]).partial_fit(X[:700], y[:700]).partial_fit(X[700:], y[700:])
    assert_array_equal(gp.inducing_points_, X[:700:14])


# --- what the choice does not depend on -----------------------------------------------------------


def moved(X):
    """Return X with other origins and units of all columns, exact in floats."""
    X = np.round(X * 2.0**20) / 2.0**20
    return {
        "given": X,
        "Unix seconds": X + np.array([0.0, 1.7e9]),
        "far": X + np.array([5.6e6, 0.0]),
        "other units": X * [2.0**10, 2.0**-12],
        "other order": X[np.random.default_rng(1).permutation(len(X))],
    }


@pytest.mark.parametrize("inducing", ["kmeans", "greedy", "kdpp"])
def test_origin_unit_and_order_do_not_matter(inducing):
    X, _ = rows(400, end=100.0)
    bounds = {}
    for name, Z in moved(X).items():
        units = [2.0**10, 2.0**-12] if name == "other units" else [1.0, 1.0]
        kernels = Matern(0.3 * units[0], nu=2.5), Matern(2.0 * units[1], nu=2.5)
        order = np.argsort(Z[:, 1], kind="stable")
        where = np.argsort(order) if name == "other order" else np.arange(len(Z))
        y = np.sin(6.0 * X[:, 0] + X[:, 1])[where]
        options = {"inducing": inducing, "n_inducing": 80, "optimizer": None, "random_state": 0}
        gp = SparseTimeVaryingGPRegressor(*kernels, noise_variance=0.01, **options).fit(Z, y)
        bounds[name] = gp.elbo_
    # Times in Unix seconds are rounded to 1e-7.
    assert_allclose(list(bounds.values()), bounds["given"], atol=1e-2)


@pytest.mark.parametrize("inducing", ["kmeans", "kdpp"])
def test_dates_are_numbers(inducing):
    pd = pytest.importorskip("pandas")
    X, y = rows(400, end=100.0)
    X[:, 1] = np.round(X[:, 1] * 64.0) / 64.0
    dates = pd.Timestamp("2026-01-01") + pd.to_timedelta(X[:, 1], unit="s")
    frame = pd.DataFrame({"x": X[:, 0], "t": dates})
    options = {"inducing": inducing, "n_inducing": 80, "noise_variance": 0.01, "random_state": 0}
    kernels = Matern(0.3, nu=2.5), Matern(2.0, nu=2.5)
    gp = SparseTimeVaryingGPRegressor(*kernels, optimizer=None, **options)
    assert gp.fit(frame, y).elbo_ == pytest.approx(gp.fit(X, y).elbo_, abs=1e-3)


def test_the_order_of_the_rows_does_not_decide_a_fit():
    X, y = rows(600)
    given = SparseTimeVaryingGPRegressor(n_inducing=40, normalize_y=True, random_state=0)
    other = np.random.default_rng(0).permutation(len(X))
    bounds = [given.fit(X[order], y[order]).elbo_ for order in (slice(None), other)]
    assert bounds[1] == pytest.approx(bounds[0], abs=1.0)


# --- optima of the bound --------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 2004])
def test_a_fit_to_strong_columns_ends_at_the_largest_bound(seed):
    """Few points resolve a smooth function only, with long lengthscales and a large variance."""
    rng = np.random.default_rng(seed)
    S, t = rng.normal(size=(800, 4)), np.arange(800.0)
    f = S @ [1.0, -0.5, 0.3, 0.2] + np.sin(3.0 * S[:, 0]) + 0.8 * np.sin(t / 25.0)
    X, y = np.column_stack([S, t]), f + 0.1 * rng.normal(size=800)
    options = {"inducing": X[::16], "normalize_y": True, "random_state": 0}
    gp = SparseTimeVaryingGPRegressor(**options).fit(X, y)
    restarted = SparseTimeVaryingGPRegressor(n_restarts_optimizer=4, **options).fit(X, y)
    assert gp.elbo_ > restarted.elbo_ - 1.0
    assert gp.score(X, f) > 0.7


def test_refits_follow_a_stream_that_becomes_fast():
    rng = np.random.default_rng(0)
    t, x = np.arange(150.0), rng.uniform(size=150)
    f = np.sin(5.0 * x) + np.where(t < 30.0, t / 50.0, np.sin(t / 1.5) + 0.6)
    X, y = np.column_stack([x, t]), f + 0.1 * rng.normal(size=150)
    given = SparseTimeVaryingGPRegressor(n_inducing=60, normalize_y=True, random_state=0)
    gp = given.fit(X[:30], y[:30])
    for i in range(30, 150, 30):
        gp = gp.condition_on(X[i : i + 30], y[i : i + 30]).refit()
    fresh = clone(given).set_params(inducing=gp.inducing_points_).fit(X, y)
    assert gp.elbo_ > fresh.elbo_ - 1.0


def test_refits_search_once_where_nothing_changes(monkeypatch):
    X, y = rows(400)
    gp = SparseTimeVaryingGPRegressor(n_inducing=60, normalize_y=True, random_state=0)
    gp = gp.fit(X[:320], y[:320])
    monkeypatch.setattr(_sparse, "learn_from_subset", None)  # a screening would raise an error
    for i in range(320, 400, 20):
        gp = gp.condition_on(X[i : i + 20], y[i : i + 20]).refit()
        assert gp.fitted_.search_gain() < 0.1


# --- streams --------------------------------------------------------------------------------------


def stream(n_batches, size, window, end):
    """Return R² of each batch before it is added, and the size of the largest data set."""
    rng = np.random.RandomState(0)
    gp, scores, largest = given(1.0, inducing="greedy"), [], 0
    for i in range(n_batches):
        t = end * (i + np.sort(rng.uniform(size=size))) / n_batches
        X = np.column_stack([rng.uniform(size=size), t])
        y = np.sin(6.0 * X[:, 0] + 0.2 * X[:, 1]) + 0.1 * rng.normal(size=size)
        if i > 0:
            scores.append(gp.score(X, y))
        gp.partial_fit(X, y)
        gp.forget(np.flatnonzero(gp.X_train_[:, 1] < t[-1] - window))
        largest = max(largest, len(gp.X_train_))
    return np.array(scores), largest


def test_a_stream_is_followed():
    scores, largest = stream(50, 100, window=5.0, end=25.0)
    assert largest <= 1200
    assert scores.min() > 0.8
    assert scores.mean() > 0.95


@pytest.mark.slow
def test_a_stream_of_a_million_rows():
    import resource

    scores, largest = stream(100, 1_000, window=5.0, end=20.0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scores, largest = stream(200, 5_000, window=2.0, end=100.0)
    assert scores.min() > 0.9
    assert largest <= 25_000
    # A million rows take 24 MB, and a million times 400 covariances 3 GB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kB


def test_all_rows_count_in_more_than_one_block():
    X, y = rows(300)
    once, often = given(0.3, inducing=X[::10]), given(0.3, inducing=X[::10])
    once.set_params(noise_variance=0.01 / 20.0).fit(X, y)
    often.fit(np.tile(X, (20, 1)), np.tile(y, 20))
    assert_allclose(often.predict(X), once.predict(X), atol=1e-8)
    assert often.elbo_ == pytest.approx(often.elbo(often.theta_), rel=1e-10)
