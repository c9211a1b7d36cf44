"""A constant mean with a Gaussian prior, against dense formulas, scikit-learn and brute force."""

import numpy as np
import pytest
from gaussian_process.cases import KINDS, PLACES, assert_same_posterior, greatest_deviation
from gaussian_process.cases import moving_waves as data
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime, brentq
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic
from twins import relevancy as twin

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    QuadraticInjection,
)
from sktvbo.kernels import Forgetting
from sktvbo.relevancy import spatial_convolution, temporal_convolution, wasserstein_relevancy

SIGNAL, NOISE = 0.7, 0.02
SPATIAL, TEMPORAL = Matern([0.4, 0.7], nu=2.5), Matern(5.0, nu=1.5)
MODEL = {
    "spatial_kernel": SPATIAL,
    "temporal_kernel": TEMPORAL,
    "signal_variance": SIGNAL,
    "noise_variance": NOISE,
}
PRIORS = [0.3, 1.5, 4.0, np.inf]

every_prior = pytest.mark.parametrize("prior", PRIORS)
every_kind = pytest.mark.parametrize(("prior", "kind"), pairs_of(PRIORS, KINDS))


def make(prior, kind=TimeVaryingGPRegressor, **options):
    if kind is SparseTimeVaryingGPRegressor:
        options = {"inducing": data()[0][::3] + 0.01} | options
    return kind(**{**MODEL, "mean_prior_std": prior, "optimizer": None, **options})


def covariance(A, B):
    return SIGNAL * SPATIAL(A[:, :2], B[:, :2]) * TEMPORAL(A[:, 2:], B[:, 2:])


def least_squares(K, y, noise, prior, k, k_places):
    """Return posterior mean, covariance, log likelihood and the mean of the level.

    Generalized least squares with a Gaussian prior: Rasmussen & Williams section 2.7, for the
    covariances of the observations, of places with them, and of the places.
    """
    one = np.ones(len(y))
    D_inverse = np.linalg.inv(K + np.diag(noise))
    precision = 1.0 / prior**2 + one @ D_inverse @ one
    level = one @ D_inverse @ y / precision
    r = 1.0 - k @ D_inverse @ one
    mean = level + k @ D_inverse @ (y - level)
    cov = k_places - k @ D_inverse @ k.T + np.outer(r, r) / precision
    quadratic = y @ D_inverse @ y - precision * level**2
    determinant = np.log(precision) - np.linalg.slogdet(D_inverse)[1]
    determinant += 2.0 * np.log(prior) if prior < np.inf else -np.log(2.0 * np.pi)
    value = -0.5 * (quadratic + determinant + len(y) * np.log(2.0 * np.pi))
    return mean, cov, value, level


# --- the exact model ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prior", "normalize_y", "known"), pairs_of(PRIORS, (False, True), (0.0, 0.2))
)
def test_it_is_generalized_least_squares(prior, normalize_y, known):
    X, y = data()
    v = np.random.RandomState(3).uniform(0.0, known, len(y))
    gp = make(prior, normalize_y=normalize_y).fit(X, y, v)
    location, scale = (y.mean(), y.std()) if normalize_y else (0.0, 1.0)
    z, noise = (y - location) / scale, NOISE + v / scale**2
    covariances = covariance(PLACES, X), covariance(PLACES, PLACES)
    mean, cov, value, level = least_squares(covariance(X, X), z, noise, prior, *covariances)
    assert_allclose(gp.predict(PLACES), location + scale * mean, rtol=1e-9)
    assert_allclose(gp.predict(PLACES, return_cov=True)[1], scale**2 * cov, atol=1e-10)
    std = gp.predict(PLACES, return_std=True)[1]
    assert_allclose(std, scale * np.sqrt(np.diag(cov)), rtol=1e-9)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-9)
    assert gp.mean_ == pytest.approx(location + scale * level, rel=1e-9)


def test_a_prior_of_width_0_is_no_mean():
    X, y = data()
    ours, plain = make(0.0).fit(X, y), make(1e-9).fit(X, y)
    assert_allclose(ours.predict(PLACES), plain.predict(PLACES), rtol=1e-9)
    assert ours.mean_ == 0.0


@pytest.mark.parametrize(("prior", "kind", "general"), pairs_of(PRIORS, KINDS, (False, True)))
def test_gradient_of_the_objective(prior, kind, general):
    X, y = data()
    options = {"spatial_kernel": RationalQuadratic(0.5)} if general else {}
    model = QuadraticInjection(0.1, (1e-3, 1e1))
    gp = make(prior, kind, noise_model=model, normalize_y=True, **options).fit(X, y)
    value = getattr(gp, "elbo", gp.log_marginal_likelihood)
    theta = gp.theta_ + 0.1
    gradient = value(theta, eval_gradient=True)[1]
    assert_allclose(gradient, approx_fprime(theta, value, 1e-6), rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flat_prior_is_the_limit_of_wide_ones(kind):
    flat, wide = (make(width, kind).fit(*data()) for width in (np.inf, 1e5))
    assert_same_posterior(flat, wide, PLACES)


@every_prior
def test_information_gain_is_that_about_f(prior):
    """½ log |cov(y)| − ½ log |cov(y given f)|: the mean is common noise of all rows."""
    X, y = data()
    tau = min(prior, 1e4)
    K, common = covariance(X, X), NOISE * np.eye(len(X)) + tau**2
    expected = 0.5 * (np.linalg.slogdet(K + common)[1] - np.linalg.slogdet(common)[1])
    gain = make(prior).fit(X, y).information_gain()
    assert gain == pytest.approx(expected, rel=1e-5)
    assert gain < make(0.0).fit(X, y).information_gain()


# --- relevancy ------------------------------------------------------------------------------------


@every_prior
def test_relevancy_is_that_of_brute_force(prior):
    """A finite prior is common noise of all rows, and a flat one the limit of wide ones."""
    X, y = data(15)
    now = X[:, 2].max() + 1.0
    found = make(prior).fit(X, y).relevancy(now)
    if prior == np.inf:
        expected = make(1e5).fit(X, y).relevancy(now)
    else:
        C = spatial_convolution(SPATIAL, X[:, :2]) * temporal_convolution(TEMPORAL, X[:, 2], now)
        K = covariance(X, X) + NOISE * np.eye(15) + prior**2
        expected = twin.relevancy(K, y, C)
    assert_allclose(found, expected, rtol=1e-7)
    of_arrays = wasserstein_relevancy(X, y, now=now, mean_prior_std=prior, **MODEL)
    assert_allclose(of_arrays, expected, rtol=1e-7)
    # They differ from those without a mean.
    assert np.abs(expected - make(0.0).fit(X, y).relevancy(now)).max() > 0.01


@pytest.mark.parametrize("prior", [0.0, *PRIORS])
def test_a_sweep_predicts_the_relevancies_after_removals(prior):
    X, y = data(15)
    gp = make(prior).fit(X, y)
    sweep = gp.fitted_.relevancy_sweep(20.0)
    before = gp.predict(PLACES)
    for position in (3, 0, 7):
        sweep.remove(position)
    assert_array_equal(gp.predict(PLACES), before)
    left = sweep.index
    fresh = make(prior).fit(X[left], y[left])
    assert_allclose(sweep.relevancy(), fresh.relevancy(20.0), rtol=1e-8)


@pytest.mark.parametrize(
    ("prior", "temporal"),
    [*zip(PRIORS, [TEMPORAL, Matern(5.0, nu=2.5), RBF(5.0), Forgetting(0.3)])],
)
def test_the_long_past_is_irrelevant_even_if_informative_about_the_mean(prior, temporal):
    X, y = data(15)
    newest = X[:, 2].max()
    # Just before and just after the correlation in time with the newest is 1e-8.
    limit = brentq(lambda age: np.log(temporal([[age]], [[0.0]])[0, 0]) - np.log(1e-8), 1.0, 150.0)
    old = [[0.5, 0.5, newest - share * limit] for share in (50.0, 1.001, 0.999)]
    X, y = np.vstack([old, X]), np.append([-9.0, 9.0, 9.0], y)
    gp = make(prior, temporal_kernel=temporal).fit(X, y)
    options = {**MODEL, "temporal_kernel": temporal, "mean_prior_std": prior}
    options["now"] = newest + 100.0
    sweep = gp.fitted_.relevancy_sweep(newest + 100.0)
    for found in (sweep.relevancy(), wasserstein_relevancy(X, y, **options)):
        assert_array_equal(found == 0.0, np.arange(18) < 2)
    for position in (0, 9):
        sweep.remove(position)
    assert_array_equal(sweep.relevancy() == 0.0, sweep.index == 1)


# --- the sparse model -----------------------------------------------------------------------------


@every_prior
def test_the_bound_is_tight_at_the_data(prior):
    X, y = data()
    exact = make(prior, normalize_y=True).fit(X, y)
    gp = make(prior, SparseTimeVaryingGPRegressor, inducing=X, normalize_y=True).fit(X, y)
    assert gp.elbo_ == pytest.approx(exact.log_marginal_likelihood(), abs=1e-6)
    assert gp.mean_ == pytest.approx(exact.mean_, rel=1e-6)
    assert_same_posterior(gp, exact, PLACES, tolerance=1e-6)
    assert gp.information_gain() == pytest.approx(exact.information_gain(), rel=1e-6)


@every_prior
def test_the_sparse_posterior_is_the_dense_formula(prior):
    X, y = data()
    gp = make(prior, SparseTimeVaryingGPRegressor).fit(X, y)
    Z, noise = gp.inducing_points_, np.full(len(X), NOISE)
    through = np.linalg.solve(covariance(Z, Z), covariance(Z, X))
    Q, k = covariance(X, Z) @ through, covariance(PLACES, Z) @ through
    mean, cov, value, level = least_squares(Q, y, noise, prior, k, covariance(PLACES, PLACES))
    assert_allclose(gp.predict(PLACES), mean, rtol=1e-8)
    assert_allclose(gp.predict(PLACES, return_cov=True)[1], cov, atol=1e-8)
    assert gp.mean_ == pytest.approx(level, rel=1e-8)
    lost = np.sum(SIGNAL - np.diag(Q)) / NOISE
    assert gp.elbo_ == pytest.approx(value - 0.5 * lost, rel=1e-8)


# --- unusual data ---------------------------------------------------------------------------------


@every_kind
def test_one_observation(prior, kind):
    options = {"inducing": [[0.5, 0.5, 1.0]]} if kind is SparseTimeVaryingGPRegressor else {}
    gp = make(prior, kind, **options).fit([[0.5, 0.5, 1.0]], [7.0])
    mean, std = gp.predict([[0.1, 0.9, 30.0]], return_std=True)
    share = 1.0 / (1.0 + (SIGNAL + NOISE) / prior**2)  # far away f is the mean
    assert mean[0] == pytest.approx(7.0 * share, rel=0.01)
    assert np.isfinite(std).all()
    assert_allclose(gp.relevancy(2.0), 1.0)


@every_prior
def test_values_far_from_0_with_little_spread(prior):
    X, y = data(level=0.0)
    near, far = (make(prior, normalize_y=True).fit(X, y + level) for level in (0.0, 1e9))
    assert_allclose(far.predict(PLACES) - 1e9, near.predict(PLACES), atol=1e-5)
    assert far.mean_ - 1e9 == pytest.approx(near.mean_, abs=1e-5)


@every_prior
def test_a_mean_that_the_data_do_not_identify(prior):
    """With long lengthscales f is itself nearly a constant: nothing breaks."""
    X, y = data()
    kernels = {"spatial_kernel": RBF(1e4), "temporal_kernel": RBF(1e6)}
    gp = make(prior, **kernels).fit(X, y)
    mean, std = gp.predict(PLACES, return_std=True)
    assert np.all(std > 0.0)
    # f adds to the prior variance of the mean; their sum is estimated by the average.
    wide = prior**2 + SIGNAL
    assert_allclose(mean, y.mean() / (1.0 + NOISE / (len(y) * wide)), rtol=1e-4)


@pytest.mark.parametrize(("extreme", "limit"), [(1e-200, 0.0), (1e-155, 0.0), (1e155, np.inf)])
@pytest.mark.parametrize("kind", KINDS)
def test_widths_whose_squares_overflow_or_underflow(extreme, limit, kind):
    X, y = data()
    found, expected = (make(width, kind).fit(X, y) for width in (extreme, limit))
    assert_array_equal(found.predict(PLACES), expected.predict(PLACES))
    assert_array_equal(found.relevancy(40.0), expected.relevancy(40.0))
    assert found.information_gain() == expected.information_gain()
    relevancies = (
        wasserstein_relevancy(X, y, now=40.0, mean_prior_std=width, **MODEL)
        for width in (extreme, limit)
    )
    assert_array_equal(*relevancies)


@pytest.mark.parametrize("prior", [-1.0, np.nan, "wide", None, True])
def test_bad_widths(prior):
    gp = make(prior)
    with pytest.raises(ValueError, match=r"'mean_prior_std' parameter .* range \[0, inf\]"):
        gp.fit(*data())
    assert not hasattr(gp, "X_train_")


def test_it_is_learnt_and_in_samples():
    gp = TimeVaryingGPRegressor(mean_prior_std=4.0, normalize_y=True).fit(*data())
    assert abs(gp.mean_ - 3.0) < 1.0
    mean, cov = gp.predict(PLACES, return_cov=True)
    assert greatest_deviation(gp.sample_y(PLACES, 4000).T, mean, cov) < 5.0
