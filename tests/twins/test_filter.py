"""Kalman filter against the dense solver, for the same regressor and rows."""

import copy
import pickle
from itertools import cycle

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import NotPositiveDefiniteError
from sktvbo.gaussian_process import (
    GeometricInjection,
    SparseTimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.gaussian_process._exact_posterior import Dense
from sktvbo.gaussian_process.kalman._filter import Filter, log_likelihood
from sktvbo.gaussian_process.kalman._smoother import Timeline
from sktvbo.journal._encoding import decode, encode
from sktvbo.kernels import Empirical, Forgetting, Wiener

TEMPORAL = {
    "Forgetting": Forgetting(0.1),
    "Matern 3/2": Matern(3.0, nu=1.5),
    "Matern 5/2": Matern(3.0, nu=2.5),
    "Wiener": Wiener(0.1, start=-20.0),
    "static": ConstantKernel(1.0, "fixed"),
}
SEASON = ConstantKernel(0.3) * Matern(20.0, nu=1.5) * ExpSineSquared(5.0, 6.0)
SUMS = {
    "sum": ConstantKernel(0.7) * Matern(5.0, nu=2.5) + ConstantKernel(0.3) * Forgetting(0.3),
    "season": ConstantKernel(0.4) * Matern(0.6, nu=0.5) + SEASON,
}
MODELS = TEMPORAL | SUMS
every_model = pytest.mark.parametrize("temporal", MODELS.values(), ids=list(MODELS))
MEANS = {"known": 0.0, "learnt": 2.0, "flat": np.inf}
every_mean = pytest.mark.parametrize("tau", MEANS.values(), ids=list(MEANS))

SITES = np.random.RandomState(9).uniform(size=(5, 2))


def both(X, y, y_variance=None, **parameters):
    """Return a dense and a filtered regressor of the same rows."""
    defaults = {
        "spatial_kernel": RBF([0.6, 0.4]),
        "temporal_kernel": TEMPORAL["Matern 3/2"],
        "signal_variance": 1.3,
        "noise_variance": 0.05,
        "optimizer": None,
    }
    made = TimeVaryingGPRegressor(**defaults | parameters)
    found = [clone(made).set_params(solver=s).fit(X, y, y_variance) for s in ("dense", "kalman")]
    assert [type(gp._gp) for gp in found] == [Dense, Filter]
    return found


def stream(n=80, seed=0, sites=SITES):
    """Return rows in random order of time, some at the same time, and some places repeated."""
    rng = np.random.RandomState(seed)
    X = np.column_stack(
        [sites[rng.randint(len(sites), size=n)], np.round(rng.uniform(0.0, 20.0, n), 1)]
    )
    return X, 4.0 + 3.0 * rng.normal(size=n)


def queries(seed=1, sites=SITES):
    """Return sites and other places, at times of rows, between them, before and after all."""
    rng = np.random.RandomState(seed)
    places = np.vstack([sites, rng.uniform(size=(5, sites.shape[1]))])
    times = np.append(rng.uniform(-5.0, 25.0, 7), [3.0, 20.0, 20.0])
    return np.column_stack([places, times])


def assert_equal(dense, kalman, X=None, rtol=1e-8, draws=True):
    X = queries() if X is None else X
    close = {"rtol": rtol, "atol": rtol}
    for option in ("return_std", "return_cov"):
        for one, other in zip(
            dense.predict(X, **{option: True}), kalman.predict(X, **{option: True})
        ):
            assert_allclose(other, one, **close)
    for include_noise in (False, True):
        one, other = (gp.predict_interval(X, include_noise=include_noise) for gp in (dense, kalman))
        assert_allclose(other, one, **close)
    column, times = dense.time_column, ()
    if draws:
        assert_draws(kalman, X, *dense.predict(X, return_cov=True))
        one, other = (gp.sample_y(X, 2, random_state=1) for gp in (dense, kalman))
        assert_allclose(other, one, rtol=np.sqrt(rtol), atol=np.sqrt(rtol))
        times = X[:, column].min(), np.median(X[:, column]), X[:, column].max()
    for t in times:
        one, other = dense.posterior_at(t), kalman.posterior_at(t)
        S = np.delete(X, column, axis=1)
        assert_allclose(other(S), one(S), **close)
        # Draws have half of the digits of a covariance that may be singular.
        samples = [view.sample(S, np.random.RandomState(0)) for view in (one, other)]
        assert_allclose(*samples, rtol=np.sqrt(rtol), atol=np.sqrt(rtol))
    for name in ("log_marginal_likelihood_value_", "mean_", "now_", "noise_std_"):
        assert_allclose(getattr(kalman, name), getattr(dense, name), **close)
    assert_allclose(kalman.information_gain(), dense.information_gain(), **close)
    assert_array_equal(kalman.X_train_, dense.X_train_)
    assert_array_equal(kalman.y_train_, dense.y_train_)


def assert_draws(gp, X, mean, cov, n=4000):
    """`sample_y` draws from the Gaussian with this mean and covariance, to within 6 errors."""
    draws, std = gp.sample_y(X, n), np.sqrt(np.maximum(np.diagonal(cov), 0.0))
    assert np.all(np.abs(draws.mean(axis=1) - mean) <= 6.0 * std / np.sqrt(n) + 1e-6)
    errors = 6.0 * np.sqrt(2.0 / n) * np.outer(std, std) + 1e-6
    assert np.all(np.abs(np.atleast_2d(np.cov(draws)) - cov) <= errors)


# --- conditioning ---------------------------------------------------------------------------------


SPATIAL = RBF([0.6, 0.4]), RationalQuadratic(0.5), Matern([0.5, 0.7], nu=0.5)


def likelihoods(gps, by):
    """Return the log likelihood and its gradient of each regressor, elsewhere."""
    theta = gps[0].theta_ + np.linspace(-by, by, len(gps[0].theta_))
    return [gp.log_marginal_likelihood(theta, eval_gradient=True) for gp in gps]


@pytest.mark.parametrize(
    ("temporal", "tau", "spatial"), pairs_of(MODELS.values(), MEANS.values(), SPATIAL)
)
def test_likelihoods_and_their_gradients_elsewhere(temporal, tau, spatial):
    kernels = {"temporal_kernel": temporal, "spatial_kernel": spatial}
    (one, slope), (other, found) = likelihoods(both(*stream(), mean_prior_std=tau, **kernels), 0.3)
    # The series of a season omits 1e-10 of the variance.
    rtol = 1e-8 if temporal is SUMS["season"] else 1e-10
    assert_allclose(other, one, rtol=rtol)
    rtol = 1e-7 if temporal in SUMS.values() else 1e-8
    assert_allclose(found, slope, rtol=rtol, atol=rtol * np.abs(slope).max())


def test_the_gradient_on_many_sites_needs_no_smoother(rng, monkeypatch):
    sites = np.arange(300.0)[:, np.newaxis]
    X = np.column_stack([rng.choice(sites[:, 0], 80), np.arange(80.0)])
    gp = TimeVaryingGPRegressor(RBF(20.0), Forgetting(0.05), sites=sites, optimizer=None)
    filtered = gp.fit(X[:70], np.sin(X[:70, 0] / 30.0)).partial_fit(X[70:], np.zeros(10))._fitted
    assert isinstance(filtered, Filter)
    _, expected = filtered.log_likelihood(filtered.covariance, eval_gradient=True)

    def smooth(*args, **options):
        raise AssertionError("O(n N²)")

    monkeypatch.setattr(Timeline, "smooth", smooth)
    assert_allclose(filtered.gradient, expected, rtol=1e-7, atol=1e-9)


def test_the_time_column_may_be_first():
    X, y = stream()
    dense, kalman = both(X[:, [2, 0, 1]], y, time_column=0)
    assert_equal(dense, kalman, queries()[:, [2, 0, 1]])


def test_sites_whose_gram_matrix_is_singular():
    """A flat RBF at places in a row."""
    rng = np.random.RandomState(0)
    line = np.column_stack([np.linspace(0.0, 1.0, 40), np.zeros(40)])
    X, y = stream(sites=line)
    assert np.linalg.matrix_rank(RBF(0.6)(line)) < 20
    Q = np.column_stack([rng.uniform(size=(8, 1)), np.zeros(8), rng.uniform(0.0, 25.0, 8)])
    assert_equal(*both(X, y, spatial_kernel=RBF(0.6)), Q, rtol=1e-7)


def test_arms_of_rank_2():
    rng = np.random.RandomState(0)
    B = rng.normal(size=(6, 2))
    X = np.column_stack([rng.randint(4, size=40), rng.uniform(0.0, 9.0, 40)])
    arms = np.column_stack([np.arange(6.0), np.linspace(-1.0, 12.0, 6)])
    assert_equal(*both(X, rng.normal(size=40), spatial_kernel=Empirical(B @ B.T)), arms)


# --- rows that come and go ------------------------------------------------------------------------


def grown(dense, kalman, rows, check=()):
    for i, (x, y) in enumerate(rows):
        for gp in (dense, kalman):
            gp.partial_fit([x], [y])
        if i in check:
            assert_equal(dense, kalman)
    return dense, kalman


@pytest.mark.parametrize("name", ["Matern 5/2", "Wiener"])
def test_150_steps_with_missing_sites_irregular_and_coincident_times(name, monkeypatch):
    """No row is filtered again, except for the 32 latest."""
    filtered, call = [], Timeline.filter
    monkeypatch.setattr(
        Timeline, "filter", lambda line, *a, **o: filtered.append(line) or call(line, *a, **o)
    )
    rng = np.random.RandomState(4)
    gaps = rng.choice([0.0, 0.0, 1e-6, 0.3, 1.0, 7.0], size=150)
    t = np.cumsum(gaps)
    X = np.column_stack([SITES[rng.randint(3, size=150)], t])
    y = 2.0 + rng.normal(size=150)
    options = {"temporal_kernel": TEMPORAL[name], "normalize_y": True, "mean_prior_std": 3.0}
    X[20::9, -1] -= 0.3  # late
    dense, kalman = both(X[:5], y[:5], **options)
    for i, (x, value) in enumerate(zip(X[5:], y[5:])):
        dense, kalman = (gp.condition_on([x], [value]) for gp in (dense, kalman))
        if i in (0, 60):
            assert_equal(dense, kalman)
            filtered.clear()
    assert max(len(line.data) for line in filtered) <= 32
    assert len(kalman._gp.tail) == 32
    assert_equal(dense, kalman)


@pytest.mark.parametrize(
    ("temporal", "tau", "seed"), [*zip(MODELS.values(), cycle(MEANS.values()), cycle(range(3)))]
)
def test_queries_after_all_changes(temporal, tau, seed):
    """At sites, new sites and other places; in order, late, very late, and forgotten.

    The variances of the noise of the first rows are known.
    """
    rng = np.random.RandomState(seed)
    X, y = stream(60, seed)
    X, variance = X[np.argsort(X[:, -1], kind="stable")], rng.uniform(0.0, 0.5, 40)
    options = {"temporal_kernel": temporal, "mean_prior_std": tau}
    dense, kalman = both(X[:40], y[:40], variance, normalize_y=seed == 1, **options)
    Q, draws, end = queries(seed), tau == 2.0, X[-1, -1]
    assert_equal(dense, kalman, Q, draws=draws)
    late = [[*SITES[0], end - 0.7], [0.11, 0.77, end + 0.2]]
    late += [[0.4, 0.9, end + 3.0], [*SITES[1], end - 0.1], [0.11, 0.77, end + 4.0]]
    late += [[*SITES[3], 1.3], [*SITES[2], end + 5.0]]
    grown(dense, kalman, zip([*X[40:], *late], rng.normal(size=20 + len(late))))
    for gp in (dense, kalman):
        gp.partial_fit([[0.3, 0.3, end + 7.0], [0.1, 0.9, end + 6.0]], [0.5, -1.0])
    assert len(kalman._gp.sites) == 9
    assert_equal(dense, kalman, Q, draws=draws)
    for gp in (dense, kalman):
        gp.forget([0, 7, 33])
    assert_equal(dense, kalman, Q, draws=draws)


@pytest.mark.parametrize(
    ("temporal", "n"),
    [
        pytest.param(Forgetting(0.1), 17, marks=pytest.mark.slow),
        pytest.param(Matern(3.0, nu=1.5), 12, marks=pytest.mark.slow),
        (SUMS["sum"], 9),
    ],
    ids=str,
)
def test_many_sites_whose_steps_wait_to_be_settled(temporal, n):
    """More steps than may wait, so that the covariance is settled twice in between."""
    axis, rng = np.linspace(0.0, 1.0, n), np.random.RandomState(0)
    grid = np.array([(a, b) for a in axis for b in axis])
    times = np.cumsum(rng.choice([0.0, 0.5, 2.0], size=160))
    X, y = np.column_stack([grid[rng.randint(len(grid), size=160)], times]), rng.normal(size=160)
    options = {"sites": grid, "mean_prior_std": 1.0}
    dense, kalman = both(X[:10], y[:10], temporal_kernel=temporal, **options)
    n_shared = 0
    for i in range(10, 160):
        before = kalman._gp
        kalman.partial_fit(X[i : i + 1], y[i : i + 1])
        n_shared += np.shares_memory(before.state.pending_u, kalman._gp.state.pending_u)
        # Another extension of the same state does not change the memory that they share.
        before.append(X[i : i + 1], np.array([9.0]), np.zeros(1), np.zeros(1, dtype=bool))
    assert kalman._gp.state.n_pending not in (0, 150)
    assert n_shared > 120  # copies are made only where the memory grows
    dense.fit(X, y)
    everywhere = np.column_stack([grid, np.full(len(grid), times[-1] + 0.7)])
    found, expected = (gp.predict(everywhere, return_std=True) for gp in (kalman, dense))
    assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    assert_equal(dense, kalman, queries(sites=grid[:5]), draws=False)
    grown(dense, kalman, [([0.33, 0.44, times[-1] + 1.0], 0.5)])
    assert_equal(dense, kalman, queries(sites=grid[:5]), draws=False)


# --- views ----------------------------------------------------------------------------------------


@every_model
@every_mean
def test_views_and_their_gradients(temporal, tau):
    dense, kalman = both(*stream(), temporal_kernel=temporal, mean_prior_std=tau)
    # The dense gradients of the Wiener kernel are differences.
    rtol = 1e-6 if isinstance(temporal, Wiener) else 1e-7 if temporal in SUMS.values() else 1e-8
    for t in (7.3, 25.0):
        one, other = dense.posterior_at(t), kalman.posterior_at(t)
        for place in (SITES[1], np.array([0.3, 0.4])):
            for a, b in zip(one.with_gradient(place), other.with_gradient(place)):
                assert_allclose(b, a, rtol=rtol, atol=rtol)
        for a, b in zip(one(SITES), other(SITES)):
            assert_allclose(b, a, rtol=1e-8)
        # Differences between places.
        since, S = t - dense._gp.rows.layout.origin, np.vstack([SITES, queries()[5:, :2]])
        one, other = (gp._gp.during(since, since, level=False) for gp in (dense, kalman))
        for a, b in zip(*(view.joint(S, np.full(len(S), since)) for view in (one, other))):
            assert_allclose(b, a, rtol=rtol, atol=rtol)
    for low, high in ((21.0, 25.0), (5.0, 22.0)):
        one, other = (gp.fitted_.posterior_between(low, high) for gp in (dense, kalman))
        point = np.array([0.1, 0.2, 0.3])
        for a, b in zip(one.with_gradient(point), other.with_gradient(point)):
            assert_allclose(b, a, rtol=1e-6, atol=1e-7)


def test_relevancies_are_those_of_the_dense_solver():
    dense, kalman = both(*stream())
    assert_allclose(kalman.relevancy(25.0), dense.relevancy(25.0), rtol=1e-8)


# --- numerics -------------------------------------------------------------------------------------


@pytest.mark.parametrize("temporal", [Forgetting(0.1), Matern(3.0, nu=2.5)], ids=str)
def test_little_noise_coincident_times_and_gaps_of_years(temporal):
    """The error against extended precision is about that of the Cholesky factor."""
    rng = np.random.RandomState(0)
    t = np.array([0.0, 0.0, 1e-9, 1.0, 1.0, 400.0, 400.0, 1e6, 1e6 + 1e-3, 1e6 + 1.0])
    X = np.column_stack([SITES[rng.randint(5, size=10)], t])
    y = rng.normal(size=10)
    kernels = {"spatial_kernel": Matern(0.3, nu=0.5), "temporal_kernel": temporal}
    dense, kalman = both(X, y, noise_variance=1e-9, **kernels)
    Q = np.column_stack([SITES, np.full(5, 1e6 + 1.0)])
    truth = extended(dense, X, y, Q)
    errors = [np.abs(gp.predict(Q) - truth).max() for gp in (dense, kalman)]
    assert errors[1] <= max(3.0 * errors[0], 1e-11)


@pytest.mark.parametrize("temporal", [Forgetting(0.1), Matern(3.0, nu=1.5)], ids=str)
def test_many_sites_keep_the_digits_of_a_small_variance(temporal):
    """Of an observation with noise of 1e-12 of the prior variance."""
    sites, noise = np.linspace(0.0, 100.0, 300)[:, np.newaxis], 1e-12
    gp = TimeVaryingGPRegressor(
        *(Matern(0.5, nu=0.5), temporal),
        noise_variance=noise,
        optimizer=None,
        solver="kalman",
        sites=sites,
    ).fit(np.column_stack([sites[:5], np.zeros(5)]), np.zeros(5))
    place = np.append(sites[7], 1.0)[np.newaxis]
    gp = gp.condition_on(place, [1.0])
    assert gp._gp.state.n_pending == 1
    std = gp.predict(place, return_std=True)[1]
    assert_allclose(std**2, noise, rtol=1e-10)


def extended(gp, X, y, Q):
    """Return the posterior mean by elimination in long doubles."""
    kernel = gp.spatial_kernel_, gp.temporal_kernel_

    def covariance(A, B):
        return 1.3 * kernel[0](A[:, :-1], B[:, :-1]) * kernel[1](A[:, -1:], B[:, -1:])

    M = np.column_stack([covariance(X, X) + 1e-9 * np.eye(len(y)), y]).astype(np.longdouble)
    for i in range(len(M)):
        M[i + 1 :] -= np.outer(M[i + 1 :, i] / M[i, i], M[i])
    for i in range(len(M) - 1, -1, -1):
        M[i] /= M[i, i]
        M[:i] -= np.outer(M[:i, i], M[i])
    return (covariance(Q, X).astype(np.longdouble) @ M[:, -1]).astype(float)


def test_a_hundred_thousand_rows_of_a_series():
    """Linear in n. At the end the posterior is that of the latest rows alone."""
    rng = np.random.RandomState(0)
    t = np.cumsum(rng.uniform(0.5, 1.5, size=100_000))
    y = np.sin(t / 30.0) + 0.1 * rng.normal(size=len(t))
    gp = TimeVaryingGPRegressor(
        temporal_kernel=Matern(10.0, nu=1.5), solver="kalman", optimizer=None
    )
    X = t[:, np.newaxis]
    gp.fit(X, y)
    latest = clone(gp).set_params(solver="dense").fit(X[-500:], y[-500:])
    ahead = t[-1] + np.array([[-50.3], [0.0], [0.4], [20.0]])
    assert_allclose(gp.predict(ahead, return_std=True), latest.predict(ahead, return_std=True))


# --- choice of the solver -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"temporal_kernel": RBF(3.0)},
        {"noise_model": GeometricInjection(0.99)},
        {"solver": "dense"},
        {"sites": np.random.RandomState(0).uniform(size=(400, 2))},
    ],
    ids=["kernel", "noise", "dense", "sites"],
)
def test_auto_stays_dense(parameters):
    X, y = stream(300)
    defaults = {"temporal_kernel": Matern(3.0, nu=1.5), "optimizer": None}
    gp = TimeVaryingGPRegressor(**defaults | parameters).fit(X, y)
    assert type(gp._gp) is Dense


def test_models_without_a_filter_are_errors():
    kalman, wrong = {"solver": "kalman", "optimizer": None}, "parameter of .* must be"
    for message, gp in {
        r"has no Kalman filter\. Supported are": TimeVaryingGPRegressor(None, RBF(), **kalman),
        f"'noise_model' {wrong}": TimeVaryingGPRegressor(
            noise_model=GeometricInjection(0.9), **kalman
        ),
        f"'solver' {wrong}": WeightedTimeVaryingGPRegressor(**kalman),
        f"'solver' {wrong} 'auto'": TimeVaryingGPRegressor(solver="sparse"),
    }.items():
        with pytest.raises(ValueError, match=message):
            gp.fit(*stream(10))
    assert "solver" not in SparseTimeVaryingGPRegressor().get_params()


@pytest.mark.parametrize("solver", ["auto", "dense", "kalman"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("sites", "message"),
    [
        ([[0.0, 1.0]] * 2, "distinct"),
        ([[0.0, np.nan]], "sites must be finite"),
        ([[1.0]], r"sites must be an array of shape \(m, 2\). Got shape"),
    ],
)
def test_sites_are_checked_before_a_filter_needs_them(sites, message, solver, method):
    gp = TimeVaryingGPRegressor(sites=sites, solver=solver, optimizer=None)
    with pytest.raises(ValueError, match=message):
        getattr(gp, method)(*stream(10))
    assert not hasattr(gp, "fitted_")


@pytest.mark.parametrize("case", ["few sites", "many sites"])
def test_copies_pickles_and_plain_data(case):
    """They continue as the original does: copies and pickles to the bit."""
    many = case == "many sites"
    sites = np.random.RandomState(2).uniform(size=(260, 2)) if many else SITES
    X, y = stream(260, sites=sites)
    X = X[np.argsort(X[:, -1], kind="stable")]
    gp = both(X[:20], y[:20], normalize_y=True, sites=sites)[1]
    for i in range(20, 200):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1])
    text = pickle.dumps(gp)
    if many:  # the states before the latest observations share their covariance
        assert len(text) < 4 * gp._gp.state.P.nbytes
    again = [copy.deepcopy(gp), pickle.loads(text), decode(encode(gp))]
    for i in range(200, 260):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1])
        again = [one.condition_on(X[i : i + 1], y[i : i + 1]) for one in again]
    places = np.column_stack([sites, np.full(len(sites), X[-1, -1] + 0.5)])
    expected = gp.predict(places, True)
    for one in again[:2]:
        assert_array_equal(one.predict(places, True), expected)
    assert_allclose(again[2].predict(places, True), expected, rtol=1e-8, atol=1e-8)
    for one in again:
        assert_array_equal(one.X_train_, gp.X_train_)


@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.JitterWarning")
def test_a_breakdown_is_an_error_or_solved_densely():
    X = np.array([[0.1, 0.2, 1.0]] * 300)
    y, exact = np.zeros(300), {"y_variance": np.zeros(1), "total_variance": True}
    fitted = (
        TimeVaryingGPRegressor(solver=s, optimizer=None).fit(X, y) for s in ("kalman", "auto")
    )
    kalman, auto = (gp.condition_on(X[:1], [0.0], **exact) for gp in fitted)
    with pytest.raises(NotPositiveDefiniteError, match="solver='dense'"):
        kalman.condition_on(X[:1], [0.0], **exact)
    assert kalman.X_train_.shape == (301, 3)
    assert type(auto._gp) is Filter
    assert type(auto.condition_on(X[:1], [0.0], **exact)._gp) is Dense


@pytest.mark.parametrize("sites", [None, SITES[:2]], ids=["series", "sites"])
def test_a_breakdown_at_the_start_of_a_search(sites, monkeypatch):
    """The search goes on with the filter once that works, and with a Cholesky factor before."""
    t = np.arange(300.0)
    X = t[:, np.newaxis] if sites is None else np.column_stack([sites[(t % 2).astype(int)], t])
    y = np.sin(t / 15.0) + 0.1 * np.random.RandomState(0).normal(size=300)
    options = {"signal_variance": 300.0, "noise_variance": 1e-5}
    made = TimeVaryingGPRegressor(temporal_kernel=Forgetting(0.1, "fixed"), **options)
    dense = clone(made).set_params(solver="dense").fit(X, y)
    filtered = log_likelihood

    def broken_above(limit):
        def broken(covariance, *rest):
            if covariance.signal_variance > limit:
                return -np.inf, np.zeros(len(covariance.bounds))
            return filtered(covariance, *rest)

        monkeypatch.setattr("sktvbo.gaussian_process.kalman._filter.log_likelihood", broken)
        return clone(made).fit(X, y)

    somewhere = broken_above(200.0)
    assert type(somewhere._gp) is Filter
    assert_allclose(somewhere.theta_, dense.theta_, rtol=1e-3, atol=1e-3)
    everywhere = broken_above(0.0)
    assert_allclose(everywhere.theta_, dense.theta_, rtol=1e-3, atol=1e-3)
