"""A level that all places share: predictions, differences between places, relevancies."""

from itertools import cycle

import numpy as np
import pytest
from gaussian_process.cases import PLACES, make, moving_waves
from grids import pairs_of
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared, Matern

from sktvbo import WDBO, SparseTimeVaryingGPRegressor
from sktvbo.acquisition import UCB
from sktvbo.gaussian_process import WeightedTimeVaryingGPRegressor
from sktvbo.kernels import Separable
from sktvbo.relevancy import spatial_convolution, temporal_convolution

SPACE = Matern(0.4, nu=2.5)
ROUGH = 2.0 * Matern(3.0, nu=0.5)


class Unknown(Matern):
    """A kernel without compiled code."""


TEMPORAL = {
    "one": Matern(9.0, nu=2.5),
    "sum": Matern(9.0, nu=2.5) + 0.3 * Matern(2.0, nu=0.5),
    "season": Matern(9.0, nu=2.5) + Matern(30.0) * ExpSineSquared(0.8, 6.0),
    "unknown": Unknown(9.0, nu=2.5),
}
LEVELS = {"rough": ROUGH, "season": ROUGH + Matern(30.0) * ExpSineSquared(1.0, 5.0)}
MEANS = {
    "none": {},
    "learnt": {"mean_prior_std": 2.0, "normalize_y": True},
    "flat": {"mean_prior_std": np.inf},
}
each_mean = pytest.mark.parametrize("mean", MEANS.values(), ids=list(MEANS))
with_or_without = pytest.mark.parametrize("level", [None, ROUGH], ids=["none", "rough"])
every_sum = pytest.mark.parametrize(
    ("temporal", "level"), [*zip(TEMPORAL.values(), cycle(LEVELS.values()))], ids=str
)
X, Y = moving_waves()
NOW = 31.5


def fitted(temporal=TEMPORAL["sum"], level=ROUGH, **parameters):
    return make(SPACE, temporal, level_kernel=level, solver="dense", **parameters).fit(X, Y)


@every_sum
def test_predictions_are_those_of_scikit_learn(temporal, level):
    gp = fitted(temporal, level)
    shared = Separable(ConstantKernel(1.0, "fixed"), level)
    kernel = gp.signal_variance * (Separable(SPACE, temporal) + shared)
    other = GaussianProcessRegressor(kernel, alpha=gp.noise_variance, optimizer=None).fit(X, Y)
    expected = other.predict(PLACES, return_cov=True)
    for found, known in zip(gp.predict(PLACES, return_cov=True), expected):
        assert_allclose(found, known, rtol=1e-8, atol=1e-9)
    assert_allclose(gp.log_marginal_likelihood(), other.log_marginal_likelihood(), rtol=1e-9)


@every_sum
def test_the_gradient_of_the_likelihood_is_a_difference(temporal, level):
    gp = fitted(temporal, level, mean_prior_std=1.0)
    value, theta, h = gp.log_marginal_likelihood, gp.theta_ + 0.1, 1e-5
    expected = [(value(theta + e) - value(theta - e)) / (2.0 * h) for e in h * np.eye(len(theta))]
    assert_allclose(value(theta, eval_gradient=True)[1], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("mean", "temporal", "level"), pairs_of(MEANS.values(), TEMPORAL.values(), LEVELS.values())
)
def test_differences_between_places_do_not_depend_on_what_all_share(mean, temporal, level):
    gp, S = fitted(temporal, level, **mean), PLACES[:, :-1]
    whole, apart = gp.posterior_at(NOW), gp.posterior_at(NOW, level=False)
    assert_allclose(apart(S)[0], whole(S)[0], rtol=1e-10)
    assert (apart(S)[1] < whole(S)[1]).all()
    # The deviations are those of f less level and mean: differences have the same covariance.
    scale = apart._gp.rows.scale**2
    cov = scale * apart._gp.joint(S, np.full(len(S), NOW - X[0, -1]))[1]
    _, of_both = gp.predict(np.column_stack([S, np.full(len(S), NOW)]), return_cov=True)
    centred = np.eye(len(S)) - 1.0 / len(S)
    assert_allclose(centred @ cov @ centred, centred @ of_both @ centred, rtol=1e-6, atol=1e-9)
    assert_allclose(apart(S)[1] ** 2, cov.diagonal(), rtol=1e-9)


@pytest.mark.parametrize("temporal", TEMPORAL.values(), ids=list(TEMPORAL))
@with_or_without
def test_deviations_without_level_are_those_of_the_part_that_depends_on_the_place(temporal, level):
    gp, S = fitted(temporal, level, mean_prior_std=2.0), PLACES[:, :-1]
    places, times, now = X[:, :-1], X[:, -1:], np.full((len(S), 1), NOW)
    part = gp.signal_variance * SPACE(places) * temporal(times)
    shared = 2.0**2 + (0.0 if level is None else gp.signal_variance * level(times))
    P = np.linalg.inv(part + shared + gp.noise_variance * np.eye(len(X)))
    k = gp.signal_variance * SPACE(S, places) * temporal(now, times)
    expected = gp.signal_variance * temporal.diag(now) - np.einsum("ij,jk,ik->i", k, P, k)
    assert_allclose(gp.posterior_at(NOW, level=False)(S)[1] ** 2, expected, rtol=1e-8)


@each_mean
@with_or_without
def test_an_interval_of_time_has_the_predictions(mean, level):
    gp = fitted(level=level, **mean)
    window = gp.fitted_.posterior_between(NOW, NOW + 4.0)
    U = np.random.RandomState(1).uniform(size=(6, 3))
    rows = np.column_stack([U[:, :2], NOW + 4.0 * U[:, 2]])
    for found, expected in zip(window(U), gp.predict(rows, return_std=True)):
        assert_allclose(found, expected, rtol=1e-9)
    assert (window.compiled() is None) is (level is not None)


@pytest.mark.parametrize(("mean", "temporal"), pairs_of(MEANS.values(), TEMPORAL.values()))
def test_gradients_and_compiled_code_agree_on_differences(mean, temporal):
    gp, S, h = fitted(temporal, **mean), PLACES[:, :-1], 1e-6 * np.eye(2)
    apart = gp.posterior_at(NOW, level=False)
    for i, s in enumerate(S):
        value, std, *slopes = apart.with_gradient(s)
        assert_allclose([value, std], np.array(apart(S))[:, i], rtol=1e-9)
        expected = np.subtract(apart(s + h), apart(s - h)) / 2e-6
        assert_allclose(slopes, expected, rtol=1e-4, atol=1e-6)
    compiled, units, location, scale = apart.compiled()
    means, stds = compiled.values(S * units)
    assert_allclose(location + scale * means, apart(S)[0], rtol=1e-9)
    assert_allclose(scale * stds, apart(S)[1], rtol=1e-7)


def test_relevancies_are_those_of_the_part_that_depends_on_the_place():
    gp = fitted(mean_prior_std=1.0)
    S, t, temporal = X[:, :-1], X[:, -1], TEMPORAL["sum"]
    K = gp.signal_variance * (SPACE(S) * temporal(t[:, None]) + ROUGH(t[:, None]))
    P = np.linalg.inv(K + gp.noise_variance * np.eye(len(t)) + 1.0)
    C = spatial_convolution(SPACE, S) * temporal_convolution(temporal, t, NOW)
    a, q = P @ Y, np.einsum("ij,jk,ki->i", P, C, P)
    whole = a @ C @ a + np.sum(P * C)
    expected = np.sqrt(q * (a**2 + P.diagonal()) / P.diagonal() ** 2 / whole)
    assert_allclose(gp.relevancy(NOW), expected, rtol=1e-6)


@each_mean
@pytest.mark.parametrize(("name", "n_terms"), [("rough", 3), ("season", 4)])
def test_terms_sum_to_the_prediction(mean, name, n_terms):
    gp = fitted(level=LEVELS[name], **mean)
    terms = gp.predict_terms(PLACES)
    assert terms.shape[1] == n_terms
    assert_allclose(terms.sum(axis=1) + gp.mean_, gp.predict(PLACES), rtol=1e-9)
    # A level does not depend on the place.
    moved = PLACES + np.array([0.3, -0.2, 0.0])
    assert_allclose(gp.predict_terms(moved)[:, 2:], terms[:, 2:], rtol=1e-9)


def test_a_shared_level_is_learnt_from_places_that_move_together():
    rng = np.random.RandomState(3)
    t = np.repeat(np.arange(40.0), 3)
    rows = np.column_stack([np.tile([0.1, 0.5, 0.9], 40), t])
    level = np.cumsum(rng.normal(size=40))
    y = level[t.astype(int)] + np.sin(6.0 * rows[:, 0]) + 0.05 * rng.normal(size=120)
    train = (rows[:, 0] < 0.8) | (t % 8 == 0)
    kernels = Matern(0.3, "fixed", nu=2.5), Matern(8.0, (1.0, 400.0), nu=2.5)
    options, errors = {"optimizer": "fmin_l_bfgs_b", "normalize_y": True}, []
    for kernel in (None, 1.0 * Matern(3.0, (0.5, 1e3), nu=0.5)):
        gp = make(*kernels, level_kernel=kernel, **options)
        gp.fit(rows[train], y[train])
        errors.append(np.std(gp.predict(rows[~train]) - y[~train]))
    assert errors[1] < 0.5 * errors[0]
    assert gp.level_kernel_.k1.constant_value > 1.0
    assert gp.level_kernel.k1.constant_value == 1.0


@pytest.mark.parametrize("kind", [SparseTimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor])
def test_other_regressors_have_a_level(kind):
    exact = fitted()
    options = {"inducing": X} if kind is SparseTimeVaryingGPRegressor else {}
    gp = make(SPACE, TEMPORAL["sum"], kind, level_kernel=ROUGH, **options).fit(X, Y)
    assert_allclose(gp.predict(PLACES), exact.predict(PLACES), rtol=1e-5)


def test_parameters_of_the_level_are_searched_with_priors():
    level = ConstantKernel(1.0, (1e-3, 1e3)) * Matern(3.0, "fixed", nu=0.5)
    name = "level_kernel__k1__constant_value"
    prior = {name: norm(0.5, 0.01)}
    gp = make(SPACE, Matern(9.0), level_kernel=level, optimizer="fmin_l_bfgs_b", hyperpriors=prior)
    gp.fit(X, Y)
    assert abs(gp.level_kernel_.k1.constant_value - 0.5) < 0.05
    assert gp.get_params()[name] == 1.0
    with pytest.raises(ValueError, match=r"'level_kernel' parameter .* must be a"):
        make(SPACE, level_kernel=3.0).fit(X, Y)


def test_an_optimizer_chooses_by_differences_between_places():
    surrogate = make(SPACE, Matern(9.0, nu=2.5), level_kernel=50.0 * Matern(2.0, nu=0.5))
    options = {"surrogate": surrogate, "n_initial_points": 3, "random_state": 0}
    optimizer = WDBO([(0.0, 1.0)] * 2, acquisition=UCB(4.0), **options)
    for t in range(12):
        x = optimizer.ask(t)
        optimizer.tell(x, -np.sum((x - 0.4) ** 2) + 5.0 * np.sin(3.0 * t))
    x, gp = optimizer.ask(12), optimizer.surrogate_
    places = np.vstack([x, np.random.RandomState(0).uniform(size=(2000, 2))])
    views = gp.posterior_at(12.0, level=False), gp.posterior_at(12.0)
    best = [np.argmax(mean + 2.0 * std) for mean, std in (view(places) for view in views)]
    assert best[0] == 0 != best[1]
    # Forecasts, which are compared with observations, are those of f.
    optimizer.tell(x, 1.0)
    expected = gp.posterior_at(12.0)(x[np.newaxis])[1]
    assert_allclose(optimizer.to_frame()["predicted_std"].iloc[-1], expected, rtol=1e-2)
