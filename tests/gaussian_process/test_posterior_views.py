"""The posterior as optimizers see it: at one time, in a window, drawn jointly; and held scales."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Matern,
    RationalQuadratic,
)

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticInjection,
    SparseTimeVaryingGPRegressor,
    WeightedGPRegressor,
)
from sktvbo.kernels import Forgetting, Wiener

START, LATEST = 50.0, 60.0


def data(n=30, d=2, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, d)), np.sort(rng.uniform(START, LATEST, n))])
    y = 3.0 + 2.0 * np.sin(4.0 * X[:, :-1].sum(axis=1) + 0.4 * X[:, -1])
    return X, y + 0.1 * rng.normal(size=n), rng.uniform(0.0, 0.2, n)


def make(spatial, temporal, kind=TimeVaryingGPRegressor, **options):
    defaults = {"signal_variance": 1.3, "noise_variance": 0.05, "optimizer": None}
    return kind(spatial, temporal, **defaults | options)


# The first four run through compiled code, the others through the kernels' own.
MODELS = {
    "matern": make(Matern(0.4, nu=2.5), Matern(3.0, nu=1.5)),
    "ard-rbf": make(RBF([0.4, 0.9]), RBF(4.0), normalize_y=True),
    "forgetting-injection": make(
        Matern(0.4, nu=1.5), Forgetting(0.1), noise_model=QuadraticInjection(0.3)
    ),
    "static": make(RBF(0.5), ConstantKernel(1.0, "fixed"), normalize_y=True),
    "wiener": make(RBF(0.4), Wiener(0.2, start=START), normalize_y=True),
    "rational-space": make(RationalQuadratic(0.4), Matern(3.0, nu=2.5)),
    "rational-time": make(Matern(0.4, nu=2.5), RationalQuadratic(3.0), normalize_y=True),
    "not-stationary-space": make(DotProduct(0.5), Wiener(0.1, start=START - 3.0)),
    "time-first": make(RBF([0.4, 0.9]), RBF(4.0), time_column=0),
    "weighted": make(
        RBF(0.4),
        Wiener(0.2, start=START),
        WeightedGPRegressor,
        noise_model=GeometricInjection(0.9),
        normalize_y=True,
    ),
    "sparse": make(
        Matern(0.4, nu=2.5),
        Matern(3.0, nu=1.5),
        SparseTimeVaryingGPRegressor,
        n_inducing=12,
        random_state=0,
    ),
    "sparse-wiener": make(
        RBF(0.4), Wiener(0.2, start=START), SparseTimeVaryingGPRegressor, n_inducing=12,
        random_state=0,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def fitted():
    """Every model, fitted once."""
    X, y, v = data()
    return {name: gp.fit(rows(gp, X[:, :-1], X[:, -1]), y, v) for name, gp in MODELS.items()}


def rows(gp, S, t):
    """Places (m, d) and times (m,) as the model's X."""
    t = np.broadcast_to(t, len(S))
    return np.column_stack([t, S] if gp.time_column == 0 else [S, t])


@pytest.fixture(params=MODELS)
def gp(request, fitted):
    return fitted[request.param]


PLACES = np.random.RandomState(5).uniform(size=(7, 2))


# --- at one time ----------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [54.321, LATEST, 71.0])
def test_at_one_time_it_is_predict(gp, t):
    posterior = gp.posterior_at(t)
    expected = gp.predict(rows(gp, PLACES, t), return_std=True)
    for found, reference in zip(posterior(PLACES), expected):
        assert_allclose(found, reference, rtol=1e-12)
    mean, std, *_ = posterior.with_gradient(PLACES[3])
    assert_allclose([mean, std], [expected[0][3], expected[1][3]], rtol=1e-8)


def check_gradient(posterior, point, which=slice(None), epsilon=1e-6):
    """Gradients against central differences of the values."""
    _, _, *slopes = posterior.with_gradient(point)
    for k, slope in enumerate(slopes):
        numeric = [
            (posterior((point + h)[np.newaxis])[k] - posterior((point - h)[np.newaxis])[k])[0]
            for h in epsilon * np.eye(len(point))
        ]
        numeric = np.array(numeric) / (2.0 * epsilon)
        assert_allclose(slope[which], numeric[which], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("t", [54.321, 71.0])
def test_gradient_in_space(gp, t):
    for place in PLACES[:3]:
        check_gradient(gp.posterior_at(t), place)


def test_a_view_stays_what_it_was(gp):
    """The estimator may go on learning while somebody still holds its posterior."""
    gp = copy.copy(gp)
    views = gp.posterior_at(LATEST), gp.posterior_between(LATEST, LATEST + 2.0)
    points = PLACES, np.column_stack([PLACES, np.linspace(0.0, 1.0, 7)])
    before = [(*view(p), *view.with_gradient(p[0])) for view, p in zip(views, points)]
    gp.partial_fit(rows(gp, PLACES[:1], LATEST), [9.0])
    for view, p, old in zip(views, points, before):
        for found, reference in zip((*view(p), *view.with_gradient(p[0])), old):
            assert_array_equal(found, reference)


# --- in a window ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(52.0, 59.0), (LATEST, 64.0), (66.0, 66.0)])
def test_in_a_window_it_is_predict(gp, low, high):
    posterior = gp.posterior_between(low, high)
    u = np.array([0.0, 0.1, 0.3, 0.5, 0.8, 0.9, 1.0])
    expected = gp.predict(rows(gp, PLACES, low + u * (high - low)), return_std=True)
    points = np.column_stack([PLACES, u])
    for found, reference in zip(posterior(points), expected):
        assert_allclose(found, reference, rtol=1e-12)
    for i, point in enumerate(points):
        mean, std, *_ = posterior.with_gradient(point)
        assert_allclose([mean, std], [expected[0][i], expected[1][i]], rtol=1e-8)


@pytest.mark.parametrize(("low", "high"), [(52.0, 59.0), (60.5, 64.0), (66.0, 66.0)])
def test_gradient_in_space_and_time(gp, low, high):
    for u, place in zip((0.137, 0.5, 0.911), PLACES):
        check_gradient(gp.posterior_between(low, high), np.append(place, u))


def test_gradient_in_time_is_per_window(gp):
    """Twice the window, twice the slope."""
    place = PLACES[0]
    short = gp.posterior_between(61.0, 63.0).with_gradient(np.append(place, 0.5))
    wide = gp.posterior_between(60.0, 64.0).with_gradient(np.append(place, 0.5))
    for slope, double in zip(short[2:], wide[2:]):
        assert_allclose(double, slope * [1.0, 1.0, 2.0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["wiener", "sparse-wiener"])
def test_after_the_last_observation_wieners_mean_rests_and_its_variance_grows(fitted, name):
    gp = fitted[name]
    low, high = LATEST + 1.0, LATEST + 4.0
    _, std, mean_slope, std_slope = gp.posterior_between(low, high).with_gradient(
        np.array([0.3, 0.6, 0.4])
    )
    scale = np.std(data()[1]) if gp.normalize_y else 1.0
    growth = 1.3 * 0.2 * (high - low) * scale**2  # λ σ_w² per unit of time
    assert mean_slope[-1] == pytest.approx(0.0, abs=1e-9)
    assert std_slope[-1] == pytest.approx(growth / (2.0 * std), rel=1e-6)


def test_slopes_at_the_time_at_which_a_kernel_starts():
    """Nothing may be asked of the kernel before, so that the slope is that to the right."""
    X, y, _ = data()
    gp = make(RBF(0.4), Wiener(0.2, start=START)).fit(X, y)
    posterior, h = gp.posterior_between(START, START + 1.0), 1e-7
    now, later = (np.array([0.3, 0.6, u]) for u in (0.0, h))
    mean, std, *slopes = posterior.with_gradient(now)
    for value, slope, after in zip((mean, std), slopes, posterior(later[np.newaxis])):
        assert slope[-1] == pytest.approx((after[0] - value) / h, rel=1e-5)


# --- joint draws ----------------------------------------------------------------------------------

N_DRAWS = 2500
DRAWN = np.array([[0.2, 0.3], [0.25, 0.3], [0.7, 0.8], [0.9, 0.1]])


def greatest_deviation(sample, gp, t):
    """Of the moments of many draws from the posterior's, in standard errors."""
    mean, cov = gp.predict(rows(gp, DRAWN, t), return_cov=True)
    rng = np.random.RandomState(1)
    draws = np.array([sample(DRAWN, rng) for _ in range(N_DRAWS)])
    variances = np.diag(cov)
    on_mean = (draws.mean(axis=0) - mean) / np.sqrt(variances / N_DRAWS)
    errors = np.sqrt((np.outer(variances, variances) + cov**2) / N_DRAWS)
    centred = draws - mean
    on_cov = (centred.T @ centred / N_DRAWS - cov) / errors
    return np.abs(np.vstack([on_mean, on_cov])).max()


@pytest.mark.parametrize("name", ["ard-rbf", "wiener", "weighted", "sparse"])
def test_draws_have_the_posteriors_moments(fitted, name):
    gp = fitted[name]
    assert greatest_deviation(gp.posterior_at(62.0).sample, gp, 62.0) < 4.0


WRONG = {
    "independent": lambda mean, cov, z: mean + np.sqrt(np.diag(cov)) * z,
    "transposed": lambda mean, cov, z: mean + np.linalg.cholesky(cov).T @ z,
    "not centred": lambda mean, cov, z: np.linalg.cholesky(cov) @ z,
    "10 % too wide": lambda mean, cov, z: mean + 1.1 * np.linalg.cholesky(cov) @ z,
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_draws_are_found_out(fitted, name):
    gp = fitted["ard-rbf"]
    mean, cov = gp.predict(rows(gp, DRAWN, 62.0), return_cov=True)

    def sample(S, rng):
        return WRONG[name](mean, cov, rng.standard_normal(len(S)))

    assert greatest_deviation(sample, gp, 62.0) > 6.0


def test_a_draw_is_one_function(gp):
    """The same place twice has the same value, though the covariance is singular."""
    S = np.repeat(PLACES, 2, axis=0)
    draw = gp.posterior_at(61.0).sample(S, np.random.RandomState(0))
    assert_allclose(draw[::2], draw[1::2], rtol=0.0, atol=1e-6)
    assert np.ptp(draw) > 1e-3


# --- information gain -----------------------------------------------------------------------------


def dense_gain(K, noise):
    return 0.5 * np.linalg.slogdet(np.eye(len(K)) + K / noise[:, np.newaxis])[1]


GAIN_OPTIONS = {
    "plain": {},
    "normalized": {"normalize_y": True},
    "quadratic": {"noise_model": QuadraticInjection(0.3)},
    "geometric, normalized": {"noise_model": GeometricInjection(0.8), "normalize_y": True},
}


@pytest.mark.parametrize("known_noise", [False, True])
@pytest.mark.parametrize("name", GAIN_OPTIONS)
def test_information_gain(name, known_noise):
    options = GAIN_OPTIONS[name]
    X, y, v = data()
    v = v if known_noise else np.zeros(len(X))
    gp = make(Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), **options).fit(X, y, v)
    K = 1.3 * Matern(0.4, nu=2.5)(X[:, :-1]) * Matern(3.0, nu=1.5)(X[:, -1:])
    age = X[:, -1].max() - X[:, -1]
    model = options.get("noise_model")
    ratio = {None: age**0, QuadraticInjection: 1 + (0.3 * age) ** 2}.get(
        None if model is None else type(model), 0.8**-age
    )
    scale = y.std() if "normalize_y" in options else 1.0
    noise = 0.05 * ratio + v / scale**2
    assert gp.information_gain() == pytest.approx(dense_gain(K, noise), rel=1e-10)


@pytest.mark.parametrize("known_noise", [False, True])
def test_information_gain_of_the_sparse_function(known_noise):
    X, y, v = data()
    v = v if known_noise else np.zeros(len(X))
    Z = X[::3] + 0.01
    gp = make(RBF(0.4), RBF(3.0), SparseTimeVaryingGPRegressor, inducing=Z).fit(X, y, v)
    K_Z = gp._covariance.kernel(Z) + 1.3e-12 * np.eye(len(Z))
    K_ZX = gp._covariance.kernel(Z, X)
    Q = K_ZX.T @ np.linalg.solve(K_Z, K_ZX)
    Sigma = np.diag(0.05 + v)
    expected = 0.5 * (np.linalg.slogdet(Sigma + Q)[1] - np.linalg.slogdet(Sigma)[1])
    assert gp.information_gain() == pytest.approx(expected, rel=1e-7)
    exact = make(RBF(0.4), RBF(3.0)).fit(X, y, v)
    assert gp.information_gain() < exact.information_gain()


def test_observations_only_add_information():
    X, y, _ = data()
    gp = make(RBF(0.4), RBF(3.0)).fit(X[:1], y[:1])
    gains = [gp.information_gain()]
    for i in range(1, len(X)):
        gains.append(gp.partial_fit(X[i : i + 1], y[i : i + 1]).information_gain())
    assert gains[0] == pytest.approx(0.5 * np.log(1.0 + 1.3 / 0.05))
    assert np.all(np.diff(gains) > 0.0)


# --- a scale that is held -------------------------------------------------------------------------


def dense_prediction(gp, X, y, noise, new, mean, scale):
    """Mean and standard deviation of y standardized by hand, noise in the standardized units."""
    k = gp._covariance.kernel
    P = np.linalg.inv(k(X) + np.diag(noise))
    K = k(new, X)
    variance = k.diag(new) - np.einsum("ij,jk,ik->i", K, P, K)
    return mean + scale * K @ P @ ((y - mean) / scale), scale * np.sqrt(variance)


SCALED = {
    "exact": make(Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), normalize_y=True),
    "unknown": make(RationalQuadratic(0.4), Matern(3.0, nu=1.5), normalize_y=True),
}


@pytest.mark.parametrize("drop", [[], [3, 11], range(30)], ids=["none", "two", "all"])
@pytest.mark.parametrize("name", SCALED)
def test_a_held_scale_stays(name, drop):
    X, y, v = data()
    gp = copy.deepcopy(SCALED[name]).fit(X, y, v)
    mean, scale = y.mean(), y.std()
    new_X, new_y, new_v = data(4, seed=9)
    gp._update(new_X, 40.0 + new_y, new_v, drop=list(drop), hold_scale=True)

    keep = np.delete(np.arange(30), list(drop))
    X, y = np.vstack([X[keep], new_X]), np.append(y[keep], 40.0 + new_y)
    noise = 0.05 + np.append(v[keep], new_v) / scale**2
    assert_array_equal(gp.X_train_, X)
    test = data(6, seed=2)[0]
    expected = dense_prediction(gp, X, y, noise, test, mean, scale)
    assert_allclose(gp.predict(test, return_std=True), expected, rtol=1e-9)
    assert_allclose(gp.noise_std_, np.sqrt(0.05) * scale, rtol=1e-12)

    # Let go, the scale follows the targets again, from the next change on.
    gp._hold_scale(False)
    gp.forget([0])
    noise = 0.05 + np.append(v[keep], new_v)[1:] / y[1:].std() ** 2
    expected = dense_prediction(gp, X[1:], y[1:], noise, test, y[1:].mean(), y[1:].std())
    assert_allclose(gp.predict(test, return_std=True), expected, rtol=1e-9)


def test_a_held_scale_stays_through_forgetting_and_pickling():
    X, y, _ = data()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    gp._hold_scale(True)
    gp.forget(np.arange(28))
    restored = pickle.loads(pickle.dumps(gp)).partial_fit(X[:1], y[:1])
    kept = np.append(y[28:], y[0])
    rows_kept = np.vstack([X[28:], X[:1]])
    expected = dense_prediction(gp, rows_kept, kept, np.full(3, 0.05), X[:5], y.mean(), y.std())
    assert_allclose(restored.predict(X[:5], return_std=True), expected, rtol=1e-9)


def test_a_copy_holds_for_itself():
    X, y, _ = data()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    other = copy.copy(gp)
    other._update(X[:1], 50.0 + y[:1], hold_scale=True)
    gp.partial_fit(X[:1], 50.0 + y[:1])
    assert other._y_scale == pytest.approx(y.std(), rel=1e-12)
    assert gp._y_scale == pytest.approx(np.append(y, 50.0 + y[0]).std())


def test_fit_lets_go_of_the_scale():
    X, y, _ = data()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    gp._update(X[:1], y[:1], hold_scale=True)
    gp.fit(X, 100.0 * y)
    fresh = copy.deepcopy(SCALED["exact"]).fit(X, 100.0 * y)
    assert_array_equal(gp.predict(X), fresh.predict(X))


def test_a_search_may_hold_the_scale():
    X, y, _ = data()
    gp = make(
        Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), normalize_y=True, optimizer="fmin_l_bfgs_b"
    ).fit(X, y)
    theta = gp.theta_
    gp._update(X[:5] + 0.05, y[:5] + 10.0, refit=True, hold_scale=True)
    assert not np.allclose(gp.theta_, theta)
    assert_allclose([gp._y_mean, gp._y_scale], [y.mean(), y.std()], rtol=1e-12)


def test_without_normalization_there_is_nothing_to_hold():
    X, y, _ = data()
    gp = make(RBF(0.4), RBF(3.0)).fit(X, y)
    gp._update(X[:1] + 0.1, y[:1] + 9.0, drop=[2], hold_scale=True)
    fresh = make(RBF(0.4), RBF(3.0)).fit(gp.X_train_, gp.y_train_)
    assert_allclose(gp.predict(X), fresh.predict(X), rtol=1e-9)


# --- noise that is all given ----------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, QuadraticInjection(0.5)], ids=str)
@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, WeightedGPRegressor])
def test_a_negative_variance_is_the_whole_noise_of_a_row(kind, model):
    """Answers of an expert: neither σ² nor its growth with age are theirs."""
    X, y, v = data()
    gp = make(RBF(0.4), RBF(3.0), kind, noise_model=model, normalize_y=True).fit(X, y, v)
    given = np.array([1e-4, 0.3, 2.0])
    extra, answers = X[:3] + 0.02, y[:3] + 0.5
    gp._update(extra, answers, -given)

    X, y = np.vstack([X, extra]), np.append(y, answers)
    age = X[:, -1].max() - X[:, -1]
    growth = 0.05 * (1.0 + (0.5 * age) ** 2) if model else np.full(len(X), 0.05)
    noise = np.append(growth[:-3] + v / y.std() ** 2, given / y.std() ** 2)
    test = data(6, seed=2)[0]
    mean, std = dense_prediction(gp, X, y, noise, test, y.mean(), y.std())
    assert_allclose(gp.predict(test), mean, rtol=1e-9)
    if kind is WeightedGPRegressor:
        c = np.linalg.solve(
            gp._covariance.kernel(X) + np.diag(noise), gp._covariance.kernel(X, test)
        )
        excess = np.append(growth[:-3] - 0.05, np.zeros(3))
        std = np.sqrt(std**2 - y.std() ** 2 * excess @ c**2)
    assert_allclose(gp.predict(test, return_std=True)[1], std, rtol=1e-9)


def test_a_noise_that_is_all_given_has_no_share_in_the_likelihoods_gradient():
    X, y, _ = data()
    model = QuadraticInjection(0.5, (1e-3, 1e1))
    gp = make(RBF(0.4), RBF(3.0), noise_model=model).fit(X, y)
    gp._update(X[:3] + 0.02, y[:3] + 0.5, -np.array([1e-2, 0.3, 2.0]))
    theta = gp.theta_ + 0.1
    gradient = gp.log_marginal_likelihood(theta, eval_gradient=True)[1]
    assert_allclose(gradient, approx_fprime(theta, gp.log_marginal_likelihood, 1e-6), rtol=1e-3)
