"""A linear mean with learnt coefficients: dense formulas, other libraries, and every verb."""

import pickle

import numpy as np
import pytest
from gaussian_process.cases import assert_same_posterior, greatest_deviation
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct, Matern, RationalQuadratic
from sklearn.model_selection import GridSearchCV

import sktvbo
from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import ModelWarning
from sktvbo.gaussian_process import (
    GeometricInjection,
    LinearMean,
    QuadraticMean,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.gaussian_process._outliers import leave_one_out
from sktvbo.journal._encoding import decode, encode

SIGNAL, NOISE = 0.7, 0.02
SPATIAL, TEMPORAL, LEVEL = Matern([0.4, 0.7], nu=2.5), Matern(3.0, nu=1.5), 0.5 * Matern(2.0)

# Columns of X: elevation, two coordinates, a holiday, time.
ELEVATION, SPACE, HOLIDAY, TIME = 0, [1, 2], 3, 4
N = 40

DENSE = {"kind": TimeVaryingGPRegressor, "solver": "dense"}
KALMAN = {"kind": TimeVaryingGPRegressor, "solver": "kalman"}
MODELS = {
    "dense": DENSE,
    "kalman": KALMAN,
    "level": DENSE | {"level_kernel": LEVEL},
    "kalman with level": KALMAN | {"level_kernel": LEVEL},
    "general kernel": DENSE | {"spatial_kernel": RationalQuadratic(0.5)},
    "weighted": {"kind": WeightedTimeVaryingGPRegressor},
    "sparse": {"kind": SparseTimeVaryingGPRegressor},
}
# (Prior of the constant, of elevation and of holidays); a constant mean of 0 becomes a flat one.
PRIORS = {"flat": (0.0, np.inf), "given": (2.0, [0.01, 0.5]), "mixed": (np.inf, [np.inf, 0.5])}

every_model = pytest.mark.parametrize("name", MODELS)


def data(n=N, seed=0):
    """Return rows at six places, whose elevation is about 1000, and y."""
    rng = np.random.RandomState(seed)
    places = np.random.RandomState(9).uniform(size=(6, 2))[rng.randint(6, size=n)]
    t, elevation = np.sort(rng.uniform(100.0, 110.0, n)), 1000.0 + 100.0 * rng.normal(size=n)
    holiday = (rng.uniform(size=n) < 0.25) * 1.0
    X = np.column_stack([elevation, places, holiday, t])
    y = 30.0 - 0.02 * elevation - 0.7 * holiday + np.sin(5.0 * places[:, 0] + t)
    return X, y + 0.1 * rng.normal(size=n)


def places(n=7, seed=1):
    """Return rows to predict: at times before and after the last of `data`, at new places too."""
    rng, (X, _) = np.random.RandomState(seed), data(n, seed)
    X[: n // 2, SPACE] = rng.uniform(size=(n // 2, 2))
    X[:, TIME] = np.linspace(102.0, 112.0, n)
    return X


def make(name="dense", prior="flat", **options):
    mean_prior_std, prior_std = PRIORS[prior]
    options = {
        "spatial_kernel": SPATIAL,
        "temporal_kernel": TEMPORAL,
        "signal_variance": SIGNAL,
        "noise_variance": NOISE,
        "optimizer": None,
        "mean_prior_std": mean_prior_std,
        "prior_mean": LinearMean([ELEVATION, HOLIDAY], prior_std=prior_std),
    } | MODELS[name] | options  # fmt: skip
    kind = options.pop("kind")
    if kind is SparseTimeVaryingGPRegressor:
        options = {"inducing": data()[0]} | options
    return kind(**options)


def covariance(gp, A, B):
    in_time = gp.temporal_kernel(A[:, [TIME]], B[:, [TIME]])
    K = gp.spatial_kernel(A[:, SPACE], B[:, SPACE]) * in_time
    if gp.level_kernel is not None:
        K += gp.level_kernel(A[:, [TIME]], B[:, [TIME]])
    return gp.signal_variance * K


def universal_kriging(gp, X, y, new, prior, scale=1.0, columns=(ELEVATION, HOLIDAY), v=0.0):
    """Return coefficients, their covariance, mean and covariance of f, and log likelihood.

    Rasmussen & Williams eq. 2.41 to 2.45, in the columns as given.
    """
    F, f = (np.column_stack([np.ones(len(A)), A[:, columns]]) for A in (X, new))
    prior_std = np.concatenate([np.ravel(part) for part in prior])
    prior_std = np.concatenate([[prior_std[0] or np.inf], np.full(len(columns), prior_std[1:])])
    D = covariance(gp, X, X) + np.diag(np.full(len(y), gp.noise_variance) + v)
    G, k = np.linalg.inv(D), covariance(gp, new, X)
    A = F.T @ G @ F + np.diag(1.0 / prior_std**2)
    b = np.linalg.solve(A, F.T @ G @ y)
    r = f - k @ G @ F
    cov = covariance(gp, new, new) - k @ G @ k.T + r @ np.linalg.solve(A, r.T)
    flat = np.isinf(prior_std)
    value = y @ G @ y - b @ A @ b + np.linalg.slogdet(D)[1] + np.linalg.slogdet(A)[1]
    value += 2.0 * np.log(prior_std[~flat]).sum() + (len(y) - flat.sum()) * np.log(2.0 * np.pi)
    return b, np.linalg.inv(A), f @ b + k @ G @ (y - F @ b), cov, -0.5 * value


# --- values against references --------------------------------------------------------------------


@pytest.mark.parametrize(("name", "prior"), pairs_of(list(MODELS), list(PRIORS)))
def test_it_is_universal_kriging(name, prior):
    """Inducing points at all rows make the sparse model the exact one."""
    (X, y), new, gp = data(), places(), make(name, prior)
    b, cov_b, mean, cov, value = universal_kriging(gp, X, y, new, PRIORS[prior])
    gp.fit(X, y)
    assert_allclose(gp.coef_, b[1:], rtol=1e-9)
    assert_allclose(gp.coef_std_, np.sqrt(np.diag(cov_b))[1:], rtol=1e-9)
    assert gp.mean_ == pytest.approx(b[0], rel=1e-9)
    assert_allclose(gp.predict(new), mean, rtol=1e-9)
    assert_allclose(gp.predict(new, return_cov=True)[1], cov, atol=1e-9)
    assert_allclose(gp.predict(new, return_std=True)[1], np.sqrt(np.diag(cov)), rtol=1e-8)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-8)


def test_a_given_prior_is_that_of_a_linear_kernel():
    """Coefficients with a Gaussian prior add the covariance ``DotProduct``."""
    (X, y), new = data(), places()
    gp = make(prior="given").fit(X, y)

    def kernel(A, B):
        drift = DotProduct(0.0)(*(C[:, [ELEVATION, HOLIDAY]] * PRIORS["given"][1] for C in (A, B)))
        return covariance(gp, A, B) + drift + PRIORS["given"][0] ** 2

    G = np.linalg.inv(kernel(X, X) + NOISE * np.eye(N))
    assert_allclose(gp.predict(new), kernel(new, X) @ G @ y, rtol=1e-8)
    cov = kernel(new, new) - kernel(new, X) @ G @ kernel(X, new)
    assert_allclose(gp.predict(new, return_cov=True)[1], cov, atol=1e-9)


@pytest.mark.parametrize("name", ["dense", "kalman", "sparse"])
def test_a_flat_prior_is_the_limit_of_wide_ones(name):
    flat, wide = make(name), make(name, mean_prior_std=1e6).set_params(prior_mean__prior_std=1e3)
    assert_same_posterior(*(gp.fit(*data()) for gp in (flat, wide)), places(), 1e-6)


@every_model
@pytest.mark.parametrize("prior", PRIORS)
def test_gradient_of_the_objective(name, prior):
    gp = make(name, prior, normalize_y=True).fit(*data())
    value = getattr(gp, "elbo", gp.log_marginal_likelihood)
    theta = gp.theta_ + 0.1
    gradient = value(theta, eval_gradient=True)[1]
    assert_allclose(gradient, approx_fprime(theta, value, 1e-6), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("name", ["dense", "kalman", "sparse"])
def test_standardized_y_and_known_variances(name):
    (X, y), new, gp = data(), places(), make(name, normalize_y=True)
    v = np.random.RandomState(3).uniform(0.0, 0.3, N)
    location, scale = y.mean(), y.std()
    known = universal_kriging(gp, X, (y - location) / scale, new, PRIORS["flat"], v=v / scale**2)
    b, cov_b, mean, cov, value = known
    gp.fit(X, y, v)
    assert_allclose(gp.coef_, scale * b[1:], rtol=1e-9)
    assert_allclose(gp.coef_std_, scale * np.sqrt(np.diag(cov_b))[1:], rtol=1e-9)
    assert gp.mean_ == pytest.approx(location + scale * b[0], rel=1e-9)
    assert_allclose(gp.predict(new), location + scale * mean, rtol=1e-9)
    assert_allclose(gp.predict(new, return_cov=True)[1], scale**2 * cov, atol=1e-9)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-8)


def test_the_width_of_the_weighted_model():
    """σ² |c|² + k − 2 kᵀ c + cᵀ K c, with c the weights of y in the mean."""
    (X, y), new = data(), places()
    gp = make("weighted", noise_model=GeometricInjection(0.9)).fit(X, y)
    noise = NOISE * GeometricInjection(0.9).ratio(gp.now_ - X[:, TIME])
    mean, std = gp.predict(new, return_std=True)
    unit = np.eye(N)
    v = noise - NOISE
    C = np.array([universal_kriging(gp, X, e, new, (0.0, np.inf), v=v)[2] for e in unit])
    assert_allclose(mean, y @ C, rtol=1e-9)
    k, K = covariance(gp, new, X), covariance(gp, X, X)
    width = NOISE * (C**2).sum(axis=0) + SIGNAL - 2.0 * np.sum(k.T * C, axis=0)
    assert_allclose(std, np.sqrt(width + np.einsum("ij,ik,kj->j", C, K, C)), rtol=1e-8)


def test_external_drift_is_that_of_pykrige():
    uk = pytest.importorskip("pykrige.uk")
    rng = np.random.RandomState(0)
    S, new = rng.uniform(0.0, 10.0, (60, 2)), rng.uniform(0.0, 10.0, (9, 2))
    drift, drift_new = rng.normal(size=60), rng.normal(size=9)
    y = 2.0 * drift + np.sin(S[:, 0]) + 0.3 * S[:, 1]
    theirs = uk.UniversalKriging(
        *S.T, y, variogram_model="exponential", exact_values=False,
        variogram_parameters={"psill": 1.3, "range": 3.0, "nugget": 0.05},
        drift_terms=["regional_linear", "specified"], specified_drift=[drift],
    )  # fmt: skip
    mean, variance = theirs.execute("points", *new.T, specified_drift_arrays=[drift_new])
    gp = TimeVaryingGPRegressor(
        Matern(1.0, nu=0.5), ConstantKernel(1.0, "fixed"), signal_variance=1.3,
        noise_variance=0.05, optimizer=None, prior_mean=LinearMean([0, 1, 2], in_kernel=[0, 1]),
    )  # fmt: skip
    gp.fit(np.column_stack([S, drift, np.zeros(60)]), y)
    X = np.column_stack([new, drift_new, np.zeros(9)])
    found, std = gp.predict(X, return_std=True, include_noise=True)
    assert_allclose(found, mean, atol=1e-8)
    assert_allclose(std**2, variance, atol=1e-8)


def test_coefficients_are_those_of_statsmodels():
    """``GLS`` with a known covariance; ``bse`` is scaled by the residuals there."""
    sm = pytest.importorskip("statsmodels.api")
    (X, y), gp = data(), make().fit(*data())
    F = sm.add_constant(X[:, [ELEVATION, HOLIDAY]])
    fit = sm.GLS(y, F, sigma=covariance(gp, X, X) + NOISE * np.eye(N)).fit()
    assert_allclose([gp.mean_, *gp.coef_], fit.params, rtol=1e-8)
    assert_allclose(gp.coef_std_, np.sqrt(np.diag(fit.normalized_cov_params))[1:], rtol=1e-8)


def test_an_inducing_posterior_is_that_of_its_approximate_covariance():
    """Q = K_xZ A⁻¹ K_Zx in the data; the places have their own variance."""
    (X, y), new = data(), places()
    Z = X[::4]
    gp = make("sparse", inducing=Z).fit(X, y)
    A_inverse = np.linalg.inv(covariance(gp, Z, Z))
    k, k_new = covariance(gp, X, Z), covariance(gp, new, Z)
    F, f = (np.column_stack([np.ones(len(A)), A[:, [ELEVATION, HOLIDAY]]]) for A in (X, new))
    G = np.linalg.inv(k @ A_inverse @ k.T + NOISE * np.eye(N))
    A, q = F.T @ G @ F, k_new @ A_inverse @ k.T
    b = np.linalg.solve(A, F.T @ G @ y)
    r = f - q @ G @ F
    cov = covariance(gp, new, new) - q @ G @ q.T + r @ np.linalg.solve(A, r.T)
    assert_allclose(gp.coef_, b[1:], rtol=1e-8)
    assert_allclose(gp.predict(new), f @ b + q @ G @ (y - F @ b), rtol=1e-8)
    assert_allclose(gp.predict(new, return_cov=True)[1], cov, atol=1e-7)


def test_information_gain_is_that_about_f():
    """Coefficients are common noise of the rows: ½ log |cov(y)| − ½ log |cov(y given h)|."""
    X, _ = data()
    gp = make(prior="given").fit(*data())
    F = np.column_stack([np.ones(N), X[:, [ELEVATION, HOLIDAY]]]) * np.r_[2.0, PRIORS["given"][1]]
    common, K = NOISE * np.eye(N) + F @ F.T, covariance(gp, X, X)
    expected = 0.5 * (np.linalg.slogdet(K + common)[1] - np.linalg.slogdet(common)[1])
    assert gp.information_gain() == pytest.approx(expected, rel=1e-9)


# --- columns --------------------------------------------------------------------------------------


def test_a_drift_in_coordinates_and_in_time():
    """Time stays in the temporal kernel, and coordinates in the spatial one if asked for."""
    (X, y), new = data(), places()
    mean = LinearMean([HOLIDAY, 1, 2, TIME], in_kernel=[1, 2])
    gp = make(prior_mean=mean)
    X, new = (np.insert(np.delete(A, ELEVATION, axis=1), 0, 1.0, axis=1) for A in (X, new))
    columns = [HOLIDAY, 1, 2, TIME]
    b, _, expected, cov, _ = universal_kriging(gp, X, y, new, (0.0, np.inf), columns=columns)
    X, new = X[:, 1:], new[:, 1:]
    gp.set_params(prior_mean=LinearMean([2, 0, 1, 3], in_kernel=[1, 0])).fit(X, y)
    assert_allclose(gp.coef_, b[1:], rtol=1e-7)
    assert_allclose(gp.predict(new), expected, rtol=1e-8)
    assert_allclose(gp.predict(new, return_cov=True)[1], cov, atol=1e-8)
    X = X[:, [0, 1, 3]]
    means = [LinearMean([0, 1], in_kernel=inside) for inside in (True, [1, 0])]
    assert_same_posterior(*(make(prior_mean=mean).fit(X, y) for mean in means), X)


@pytest.mark.parametrize("position", range(5))
@pytest.mark.parametrize("kind", ["dense", "kalman", "sparse"])
def test_columns_may_stand_in_any_order(kind, position):
    (X, y), new, order = data(), places(), np.roll(np.arange(5), position)
    mean = LinearMean([int(np.flatnonzero(order == c)[0]) for c in (ELEVATION, HOLIDAY)])
    time = int(np.flatnonzero(order == TIME)[0])
    in_space = [c for c in order if c in SPACE]
    spatial = Matern([SPATIAL.length_scale[c - 1] for c in in_space], nu=2.5)
    options = {"inducing": X[:, order]} if kind == "sparse" else {}
    gp = make(kind, prior_mean=mean, time_column=time, spatial_kernel=spatial, **options)
    found, expected = gp.fit(X[:, order], y), make(kind).fit(X, y)
    assert_allclose(found.coef_, expected.coef_, rtol=1e-8)
    both = (found, new[:, order]), (expected, new)
    for a, b in zip(*(each.predict(A, return_cov=True) for each, A in both)):
        assert_allclose(a, b, rtol=1e-7, atol=1e-9)


NAMES = ["elevation", "x", "y", "holiday", "time"]


def frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def test_columns_of_a_data_frame_are_found_by_name():
    (X, y), new = data(), places()
    gp = make(prior_mean=LinearMean(["holiday", "elevation"])).fit(frame(X), y)
    plain = make().fit(X, y)
    assert_allclose(gp.coef_, plain.coef_[::-1], rtol=1e-9)
    assert_allclose(gp.predict(frame(new)), plain.predict(new), rtol=1e-9)
    mixed = make(prior_mean=LinearMean(["holiday", 0])).fit(frame(X), y)
    assert_allclose(mixed.coef_, gp.coef_, rtol=1e-12)
    negative = make(prior_mean=LinearMean([-2, -5])).fit(X, y)
    assert_allclose(negative.coef_, gp.coef_, rtol=1e-12)


def test_holidays_may_be_truth_values():
    polars = pytest.importorskip("polars")
    (X, y), plain = data(), make().fit(*data())
    columns = dict(zip(NAMES, X.T)) | {"holiday": X[:, HOLIDAY] == 1.0}
    gp = make(prior_mean=LinearMean(("elevation", "holiday"))).fit(polars.DataFrame(columns), y)
    assert_array_equal(gp.coef_, plain.coef_)


def test_dates_are_a_column_too():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    table = frame(X)
    dates = pandas.Timestamp("2024-03-01", tz="UTC") + pandas.to_timedelta(X[:, TIME], unit="D")
    table["time"] = dates
    mean = LinearMean(["holiday", "time"])
    gp = make(prior_mean=mean, time_unit="D", spatial_kernel=None).fit(table, y)
    plain = make(prior_mean=LinearMean([HOLIDAY, TIME]), spatial_kernel=None).fit(X, y)
    assert_allclose(gp.coef_, plain.coef_, rtol=1e-6)
    assert_allclose(gp.coef_std_, plain.coef_std_, rtol=1e-6)
    assert_allclose(gp.predict(table), plain.predict(X), rtol=1e-7)


@pytest.mark.parametrize("kind", ["dense", "kalman", "sparse"])
def test_only_time_is_in_the_kernel(kind):
    """A forecast from temperature and holidays."""
    (X, y), new = data(), places()
    X, new = X[:, [0, 3, 4]], new[:, [0, 3, 4]]
    options = {"inducing": X} if kind == "sparse" else {}
    gp = make(kind, prior_mean=LinearMean([0, 1]), spatial_kernel=None, **options).fit(X, y)
    F, K = np.column_stack([np.ones(N), X[:, :2]]), SIGNAL * TEMPORAL(X[:, 2:])
    G = np.linalg.inv(K + NOISE * np.eye(N))
    b = np.linalg.solve(F.T @ G @ F, F.T @ G @ y)
    assert_allclose(gp.coef_, b[1:], rtol=1e-8)
    f, k = np.column_stack([np.ones(len(new)), new[:, :2]]), SIGNAL * TEMPORAL(new[:, 2:], X[:, 2:])
    assert_allclose(gp.predict(new), f @ b + k @ G @ (y - F @ b), rtol=1e-8)


def test_given_sites_lack_the_columns_outside_of_the_kernel():
    (X, y), new = data(), places()
    sites = np.unique(X[:, SPACE], axis=0)
    gp = make("kalman", sites=sites).fit(X, y)
    assert_same_posterior(gp, make().fit(X, y), new)
    with pytest.raises(ValueError, match=r"sites must be .*\(m, 2\)"):
        make("kalman", sites=X[:3, :4]).fit(X, y)


@pytest.mark.parametrize("how", ["kdpp", "greedy", "kmeans"])
def test_inducing_points_are_distinct_places_and_times(how):
    """Rows that differ in other columns only are one point."""
    X, y = data()
    twice, both = np.vstack([X, X]), np.r_[y, y]
    twice[N:, [ELEVATION, HOLIDAY]] += np.random.RandomState(0).normal(size=(N, 2))
    gp = make("sparse", inducing=how, n_inducing=2 * N, random_state=0).fit(twice, both)
    assert gp.inducing_points_.shape == (N, 5)
    few = make("sparse", inducing=how, n_inducing=25, random_state=0).fit(twice, both)
    assert few.inducing_points_.shape == (25, 5)
    assert_allclose(few.coef_, gp.coef_, atol=0.5)
    again = make("sparse", inducing=few.inducing_points_).fit(twice, both)
    assert_same_posterior(again, few, places())


# --- verbs ----------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("prior", ["flat", "given"])
def test_rows_come_and_go(name, prior):
    """One by one, late ones too, and many at once: the posterior is that of the rows that stay."""
    (X, y), new = data(60), places()
    options = {"inducing": X} if name == "sparse" else {}
    gp = make(name, prior, normalize_y=True, **options).fit(X[:50], y[:50])
    for i in (50, 52, 51):
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
    gp = gp.condition_on(X[53:], y[53:]).without([3, 20]).at(200.0)
    gp.forget([7])
    left = np.delete(np.r_[:51, 52, 51, 53:60], [3, 20])
    left = np.delete(left, 7)
    fresh = gp.fitted_.with_rows(X[left], y[left]).regressor()
    assert_array_equal(gp.X_train_, X[left])
    assert_same_posterior(gp, fresh, new)
    assert_allclose(gp.coef_, fresh.coef_, rtol=1e-8)
    assert_allclose(gp.coef_std_, fresh.coef_std_, rtol=1e-8)


def test_noise_that_grows():
    (X, y), new = data(), places()
    gp = make(noise_model=GeometricInjection(0.9)).fit(X, y)
    older = gp.at(120.0)
    noise = NOISE * GeometricInjection(0.9).ratio(120.0 - X[:, TIME]) - NOISE
    expected = universal_kriging(gp, X, y, new, PRIORS["flat"], v=noise)
    assert_allclose(older.coef_, expected[0][1:], rtol=1e-9)
    assert_allclose(older.predict(new), expected[2], rtol=1e-9)
    assert np.all(older.coef_std_ > gp.coef_std_)


def differences(moments, x, step=1e-5):
    """Return the gradients (2, d) of mean and standard deviation at x (d,) by differences."""
    steps = step * np.eye(len(x))
    ends = [np.ravel(np.subtract(moments(x + h), moments(x - h))) for h in steps]
    return np.transpose(ends) / (2.0 * step)


@pytest.mark.parametrize(
    ("name", "t"), [*((name, 111.0) for name in MODELS), ("kalman", 104.0), ("level", 104.0)]
)
def test_views_at_one_time(name, t):
    """Means, deviations, gradients and draws of all columns but time, with and without level."""
    X, y = data()
    noise = {"noise_model": GeometricInjection(0.9)} if name == "weighted" else {}
    gp = make(name, prior_mean=LinearMean([0, 3, 1], in_kernel=[1]), **noise).fit(X, y)
    s = np.array([1010.0, 0.3, 0.5, 1.0])
    view = gp.posterior_at(t, moving=[True, True, True, True])
    expected = gp.predict([[*s, t]], return_std=True)
    assert_allclose(np.ravel(view([s])), np.ravel(expected), rtol=1e-9)
    for level in (True, False):
        view = gp.posterior_at(t, level=level)
        mean, std, *slopes = view.with_gradient(s)
        assert_allclose(np.ravel(view([s])), [mean, std], rtol=1e-9)
        assert_allclose(
            slopes, differences(lambda s, view=view: view([s]), s), rtol=1e-3, atol=1e-5
        )
    grid = places()[:, :4]
    view, rng = gp.posterior_at(t), np.random.RandomState(0)
    draws = np.array([view.sample(grid, rng) for _ in range(200)])
    moments = gp.predict(np.column_stack([grid, np.full(len(grid), t)]), return_cov=True)
    assert greatest_deviation(draws, *moments) < 5.0
    window = gp.fitted_.posterior_between(t, t + 2.0)
    u = np.append(s, 0.5)
    assert_allclose(np.ravel(window(u[np.newaxis])), np.ravel(gp.predict([[*s, t + 1.0]], True)))
    slopes = window.with_gradient(u)[2:]
    assert_allclose(slopes, differences(lambda u: window(u[np.newaxis]), u), rtol=1e-3, atol=1e-5)


@every_model
def test_differences_between_places_have_the_variance_of_their_covariance(name):
    """Without what all places share, the spread of two places differs by the trend alone."""
    gp, t = make(name).fit(*data()), 111.0
    S = np.array([[900.0, 0.3, 0.5, 0.0], [1100.0, 0.3, 0.5, 0.0]])
    _, cov = gp.predict(np.column_stack([S, [t, t]]), return_cov=True)
    step = cov[0, 0] + cov[1, 1] - 2.0 * cov[0, 1]
    assert step == pytest.approx((200.0 * gp.coef_std_[0]) ** 2, rel=1e-6)


@every_model
def test_terms_add_up(name):
    new, gp = places(), make(name).fit(*data())
    means, stds = gp.predict_terms(new, return_std=True)
    assert_allclose(means.sum(axis=1) + gp.mean_, gp.predict(new), rtol=1e-9)
    assert means.shape[1] == 2 + ("level" in name)
    drift = new[:, [ELEVATION, HOLIDAY]]
    assert_allclose(means[:, -1], drift @ gp.coef_, rtol=1e-8)
    one = np.zeros((2, 5))
    one[0, ELEVATION] = one[1, HOLIDAY] = 1.0
    assert_allclose(gp.predict_terms(one, return_std=True)[1][:, -1], gp.coef_std_, rtol=1e-8)
    if name in ("dense", "kalman", "sparse"):
        K, X = covariance(gp, new, data()[0]), data()[0]
        F = np.column_stack([np.ones(N), X[:, [0, 3]]])
        G = np.linalg.inv(covariance(gp, X, X) + NOISE * np.eye(N))
        r = K @ G @ F
        variance = SIGNAL - np.einsum("ij,jk,ik->i", K, G, K)
        variance += np.einsum("ij,ji->i", r, np.linalg.solve(F.T @ G @ F, r.T))
        assert_allclose(stds[:, 0], np.sqrt(variance), rtol=1e-7)


@every_model
def test_draws_and_intervals(name):
    new, gp = places(), make(name).fit(*data())
    draws = gp.sample_y(new, 2000, random_state=0).T
    assert greatest_deviation(draws, *gp.predict(new, return_cov=True)) < 5.0
    mean, std = gp.predict(new, return_std=True)
    lower, upper = gp.predict_interval(new, 0.9, include_noise=False)
    assert_allclose(upper - lower, 2.0 * 1.6448536269514722 * std, rtol=1e-9)
    assert_allclose(lower + upper, 2.0 * mean, rtol=1e-9)


@pytest.mark.parametrize("name", ["dense", "kalman"])
def test_intervals_that_allow_for_the_hyperparameters(name):
    new, gp = places(), make(name, optimizer="fmin_l_bfgs_b", normalize_y=True).fit(*data())
    mean, std = gp.predict(new, return_std=True, include_noise=True)
    lower, upper = gp.predict_interval(new)
    assert np.all(np.abs((lower + upper) / 2.0 - mean) < std)
    assert np.all(upper - lower > 2.5 * std)
    assert np.all(upper - lower < 6.0 * std)


@every_model
def test_leave_one_out(name):
    (X, y), gp = data(), make(name).fit(*data())
    rows = gp._gp.rows
    residual, variance = gp._gp.leave_one_out()
    for i in (0, 7, N - 1):
        rest = gp.without([i])
        mean, std = rest.predict(X[i : i + 1], return_std=True)
        assert residual[i] == pytest.approx((y[i] - mean[0]) / rows.scale, rel=1e-5, abs=1e-8)
        assert variance[i] == pytest.approx(std[0] ** 2, rel=1e-5)


@pytest.mark.parametrize("name", ["dense", "weighted", "kalman"])
def test_relevancy_is_that_of_the_rows_that_stay(name):
    X, y = data()
    gp = make(name).fit(X, y)
    sweep = gp.fitted_.relevancy_sweep(112.0)
    for position in (3, 0, 7):
        sweep.remove(position)
    fresh = make(name).fit(X[sweep.index], y[sweep.index])
    assert_allclose(sweep.relevancy(), fresh.relevancy(112.0), rtol=1e-7)
    wide = make(name, mean_prior_std=1e4).set_params(prior_mean__prior_std=1e3).fit(X, y)
    assert_allclose(gp.relevancy(112.0), wide.relevancy(112.0), rtol=1e-4)


# --- searches -------------------------------------------------------------------------------------


LEARNING = {"optimizer": "fmin_l_bfgs_b", "normalize_y": True}
STARTS = {"spatial_kernel": None, "temporal_kernel": None}


@pytest.mark.parametrize("name", ["dense", "kalman", "sparse"])
def test_coefficients_are_found_with_the_hyperparameters(name):
    X, y = data(80)
    options = {"inducing": "kdpp", "n_inducing": 40, "random_state": 0} if name == "sparse" else {}
    gp = make(name, **LEARNING, **STARTS, **options).fit(X, y)
    errors = (gp.coef_ - [-0.02, -0.7]) / gp.coef_std_
    assert np.abs(errors).max() < 3.5
    assert np.all(gp.coef_std_ < [1e-3, 0.1])
    again = gp.refit(temporal_kernel=TEMPORAL)
    assert np.abs((again.coef_ - gp.coef_) / gp.coef_std_).max() < 0.5
    more = gp.refit((X[:3] + 0.01, y[:3]))
    assert more.X_train_.shape == X.shape


def test_coverage_of_the_coefficients():
    """Of 60 data sets, drawn from the model: standardized errors are standard normal."""
    X, _ = data()
    gp, rng = make(), np.random.RandomState(0)
    F = X[:, [ELEVATION, HOLIDAY]]
    L = np.linalg.cholesky(covariance(gp, X, X) + NOISE * np.eye(N))
    errors = []
    for _ in range(60):
        b = rng.normal(size=2)
        gp.fit(X, 5.0 + F @ b + L @ rng.normal(size=N))
        errors.append((gp.coef_ - b) / gp.coef_std_)
    assert np.abs(np.mean(errors, axis=0)).max() < 4.0 / np.sqrt(60)
    assert_allclose(np.mean(np.square(errors), axis=0), 1.0, atol=4.0 * np.sqrt(2.0 / 60))


def test_a_column_that_is_constant_in_most_rows():
    """Searches use parts of the rows, of which some do not determine the coefficient."""
    X, y = data(160)
    X[:, HOLIDAY] = np.arange(160) < 3
    gp = make(**LEARNING, **STARTS).fit(X, y)
    rest = X[3:, [0, 1, 2, 4]]
    plain = make(**LEARNING, **STARTS, prior_mean=LinearMean([ELEVATION])).fit(rest, y[3:])
    assert_allclose(gp.theta_, plain.theta_, atol=0.3)


def test_outliers():
    X, y = data(100)
    spoilt, far = y.copy(), [10, 35, 77]
    spoilt[far] += 5.0
    gp = make(**LEARNING, robust=True).fit(X, spoilt)
    assert_array_equal(np.flatnonzero(gp.outlier_weights_ < 0.5), far)
    plain = make(**LEARNING).fit(np.delete(X, far, axis=0), np.delete(y, far))
    assert_allclose(gp.coef_, plain.coef_, atol=0.5 * plain.coef_std_.max())
    later = X[:1] + np.eye(5)[TIME] * 12.0
    more = gp.condition_on(later, [y[0] + 50.0])
    assert more.outlier_weights_[-1] < 0.5


def test_a_row_that_alone_determines_a_coefficient():
    """It has no prediction without itself, and is no outlier; nothing predicts without it."""
    X, y = data(60)
    X[:, HOLIDAY], y[30] = 0.0, y[30] + 9.0
    X[30, HOLIDAY] = 1.0
    gp = make(robust=True).fit(X, y)
    assert gp.outlier_weights_[30] == 1.0
    assert np.isfinite(leave_one_out(gp._gp)[0]).all()
    relevancy = make().fit(X, y).relevancy()
    assert relevancy[30] == 1.0
    assert relevancy.max() == 1.0
    assert np.isfinite(relevancy).all()
    stream = make(max_size=40).fit(X[:40], y[:40])
    stream.partial_fit(X[40:], y[40:])
    assert stream.X_train_[:, HOLIDAY].sum() == 1.0


def test_a_search_over_its_parameters():
    X, y = data(60)
    search = GridSearchCV(make(), {"prior_mean__prior_std": [1e-6, 10.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"prior_mean__prior_std": 10.0}


# --- copies ---------------------------------------------------------------------------------------


@every_model
def test_pickles_clones_and_plain_data(name):
    new, gp = places(), make(name).fit(*data())
    for other in (pickle.loads(pickle.dumps(gp)), clone(gp).fit(*data())):
        assert_same_posterior(other, gp, new, 1e-12)
        assert_allclose(other.coef_std_, gp.coef_std_, rtol=1e-12)
    plain = decode(encode(gp._gp))
    assert_allclose(plain.mean.vector, gp._gp.mean.vector, rtol=1e-9)
    mean = decode(encode(gp.prior_mean))
    assert repr(mean) == repr(gp.prior_mean)
    later = pickle.loads(pickle.dumps(gp)).partial_fit(new, np.ones(7))
    assert_same_posterior(later, gp.condition_on(new, np.ones(7)), new)


def test_parameters_are_copied_and_shown():
    columns = ["elevation", "holiday"]
    mean = LinearMean(columns, in_kernel=True, prior_std=2.0)
    assert mean.get_params() == {"columns": columns, "in_kernel": True, "prior_std": 2.0}
    gp = make(prior_mean=mean, spatial_kernel=None).fit(frame(data()[0]), data()[1])
    gp.prior_mean_.columns.append("x")
    assert mean.columns == columns
    assert gp.prior_mean_.columns == columns
    X = data()[0]
    make(prior_mean=LinearMean(np.array([0, 3]))).fit(*data())
    assert_array_equal(X, data()[0])


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        ([0], r"'prior_mean' parameter .* a QuadraticMean or a LinearMean or None"),
        (LinearMean([]), "'columns' parameter .* at least one"),
        (LinearMean("holiday"), "'columns' parameter .* a list of names"),
        (LinearMean(None), "'columns' parameter .* a list of names"),
        (LinearMean([[0], [1, 2]]), "'columns' parameter .* a list of names"),
        (LinearMean([0, 0]), "'columns' parameter .* different columns"),
        (LinearMean([0, -5]), "'columns' parameter .* different columns"),
        (LinearMean([0, 5]), r"'columns' parameter .* \[-5, 4\]"),
        (LinearMean([0.5]), "'columns' parameter .* an int"),
        (LinearMean(["holiday"]), "'columns' parameter .* as X has no column names"),
        (LinearMean([0], in_kernel=[1]), r"'in_kernel' parameter .* some of \[0\]"),
        (LinearMean([0], in_kernel="all"), "'in_kernel' parameter .* True, False or a list"),
        (LinearMean([0], prior_std=0.0), r"'prior_std' parameter .* \(0, inf\]"),
        (LinearMean([0], prior_std=[1.0, 2.0]), "'prior_std' parameter .* or 1 of them"),
        (LinearMean([0], prior_std=np.nan), "'prior_std' parameter"),
        (LinearMean([0], prior_std="wide"), "'prior_std' parameter"),
    ],
)
def test_bad_parameters(mean, message):
    gp = make(prior_mean=mean)
    before = dict(vars(gp))
    for method in (gp.fit, gp.partial_fit):
        with pytest.raises(ValueError, match=message):
            method(*data())
    assert vars(gp) == before


def test_names_that_the_frame_has_not():
    with pytest.raises(ValueError, match=r"among \['elevation', 'x', .*Got 'temperature'"):
        make(prior_mean=LinearMean(["temperature"])).fit(frame(data()[0]), data()[1])


@pytest.mark.parametrize("name", ["dense", "kalman", "sparse"])
def test_columns_that_the_rows_do_not_determine(name):
    """An error with a flat prior, and the prior with another one."""
    X, y = data()
    constant, collinear = X.copy(), X.copy()
    constant[:, HOLIDAY] = 0.3
    collinear[:, HOLIDAY] = 3.0 * X[:, ELEVATION] - 1000.0
    for bad, names in ((constant, "Got 3, which"), (collinear, "Got 0, 3, which")):
        gp = make(name)
        for method in (gp.fit, gp.partial_fit):
            with pytest.raises(
                ValueError, match=f"linearly independent .*{names}.*finite prior_std"
            ):
                method(bad, y)
        assert not hasattr(gp, "n_features_in_")
    with pytest.raises(ValueError, match="linearly independent"):
        make(name).fit(X[:2], y[:2])
    gp = make(name, prior="mixed").fit(constant, y)
    assert gp.coef_[1] == pytest.approx(0.0, abs=1e-9)
    assert gp.coef_std_[1] == pytest.approx(0.5, rel=1e-9)
    for prior in ("given", "mixed"):
        b, cov, *_ = universal_kriging(gp, collinear, y, places(), PRIORS[prior])
        both = make(name, prior).fit(collinear, y)
        assert_allclose(both.coef_, b[1:], rtol=1e-6, atol=1e-8)
        assert_allclose(both.coef_std_, np.sqrt(np.diag(cov))[1:], rtol=1e-6)


@pytest.mark.parametrize("name", ["dense", "kalman", "sparse"])
def test_what_rows_leave_unknown_has_the_variance_of_a_wide_prior(name):
    """Rounding of the other coefficients' precision exceeds that of the prior."""
    X, y = data()
    X[:, HOLIDAY] = 3.0 * X[:, ELEVATION] - 1000.0
    gp = make(name).set_params(prior_mean__prior_std=1e9).fit(X, y)
    # Of 3 b_holiday + b_elevation the data tell, of the direction (-3, 1) the prior.
    assert_allclose(gp.coef_std_, 1e9 * np.array([3.0, 1.0]) / np.sqrt(10.0), rtol=1e-3)


@pytest.mark.parametrize("name", ["dense", "kalman", "sparse"])
def test_rows_that_determine_a_coefficient_may_not_leave(name):
    X, y = data()
    gp = make(name).fit(X, y)
    before, holidays = gp.predict(places()), X[:, HOLIDAY] == 1.0
    for verb in (gp.forget, gp.without):
        with pytest.raises(ValueError, match=r"Got 3, which are not in \d+ rows"):
            verb(holidays)
    assert_array_equal(gp.predict(places()), before)
    assert gp.without(np.flatnonzero(holidays)[1:]).coef_std_[1] > gp.coef_std_[1]


def test_a_quadratic_mean_is_not_for_all_solvers():
    X, y = data()
    with pytest.raises(ValueError, match=r"'prior_mean' parameter .* a LinearMean or None"):
        SparseTimeVaryingGPRegressor(prior_mean=QuadraticMean()).fit(X, y)
    with pytest.raises(ValueError, match="solver='kalman', which does not support a QuadraticMean"):
        TimeVaryingGPRegressor(prior_mean=QuadraticMean(), solver="kalman").fit(X, y)
    with pytest.raises(AttributeError, match="coef_ needs prior_mean"):
        _ = TimeVaryingGPRegressor(optimizer=None).fit(X, y - y.mean()).coef_


def test_a_mean_far_from_0_needs_no_advice(recwarn):
    make().fit(*data())
    assert not [w for w in recwarn if issubclass(w.category, ModelWarning)]


def test_optimizers_ignore_it():
    def run(mean):
        surrogate = TimeVaryingGPRegressor(prior_mean=mean, normalize_y=True)
        opt = sktvbo.BayesianOptimizer([(0.0, 1.0)] * 2, surrogate=surrogate, random_state=0)
        for t in range(5):
            x = opt.ask(float(t))
            opt.tell(x, -np.sum((x - 0.3) ** 2), float(t))
        return opt

    one, other = run(LinearMean([0])), run(None)
    assert_array_equal(one.told_X_, other.told_X_)
    assert one.surrogate_.prior_mean is None
    assert one.to_json() == one.from_json(one.to_json()).to_json()


def test_a_large_origin_loses_no_digits():
    """Columns such as Unix time or pressure in pascal are far from 0, and vary little."""
    (X, y), shifted = data(), data()[0]
    shifted[:, ELEVATION] = 1e8 + X[:, ELEVATION]
    one, other = (make().fit(A, y) for A in (X, shifted))
    assert_allclose(one.coef_, other.coef_, rtol=1e-7)
    assert_allclose(one.coef_std_, other.coef_std_, rtol=1e-7)
    assert_allclose(one.predict(X), other.predict(shifted), rtol=1e-8)


def test_many_columns():
    rng, (X, y) = np.random.RandomState(5), data(80)
    more = rng.normal(size=(80, 12))
    X = np.column_stack([more, X])
    b = rng.normal(size=12)
    gp = make(prior_mean=LinearMean([*range(13), 15])).fit(X, y + more @ b)
    assert np.abs((gp.coef_[:12] - b) / gp.coef_std_[:12]).max() < 4.0
