"""A prior mean over the unit box, against a fit to what is left of y without it."""

import pickle

import numpy as np
import pytest
from gaussian_process.cases import PLACES
from gaussian_process.cases import moving_waves as data
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.stats import qmc
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo._score import Score
from sktvbo.acquisition import UCB
from sktvbo.gaussian_process import Bowl, QuadraticInjection, WeightedGPRegressor
from sktvbo.kernels import Forgetting, Separable
from sktvbo.relevancy import RelevancySweep, spatial_convolution, temporal_convolution

BOWL = Bowl(0.8, depth_std=0.0, slope_std=0.0)
LEARNT = Bowl(0.8, depth_std=0.5, slope_std=1.2)
SPATIAL, TEMPORAL = Matern([0.4, 0.7], nu=2.5), Matern(5.0, nu=1.5)
KINDS = [TimeVaryingGPRegressor, WeightedGPRegressor]

both_kinds = pytest.mark.parametrize("kind", KINDS)
with_a_mean = pytest.mark.parametrize("tau", [0.0, 1.0, np.inf])


def make(kind=TimeVaryingGPRegressor, **options):
    parameters = {
        "spatial_kernel": SPATIAL,
        "temporal_kernel": TEMPORAL,
        "signal_variance": 0.7,
        "noise_variance": 0.02,
        "optimizer": None,
        "prior_mean": BOWL,
    }
    return kind(**(parameters | options))


def expected_bowl(U, depth=BOWL.depth):
    d = U.shape[1]
    return -depth * (((U - 0.5) ** 2).sum(axis=1) - d / 12.0) / np.sqrt(d / 180.0)


# --- the bowl itself ------------------------------------------------------------------------------


def expected_features(U):
    """The bowl of depth 1 and the slopes (n, d + 1)."""
    return np.column_stack([expected_bowl(U, 1.0), np.sqrt(12.0) * (U - 0.5)])


@pytest.mark.parametrize("d", [1, 2, 5])
def test_it_is_what_it_says(d):
    U = qmc.Sobol(d, seed=0).random(2**14)
    features = LEARNT.features(d)
    expected = features.expected
    m, phi = expected(U)[:, 0], features.polynomials(U)
    assert_allclose(m, expected_bowl(U), rtol=1e-11, atol=1e-13)
    assert_allclose([m.mean(), m.std()], [0.0, LEARNT.depth], atol=2e-3)
    assert expected(np.full((1, d), 0.5))[0, 0] >= m.max()
    assert expected(np.ones((1, d)))[0, 0] <= m.min()
    assert_allclose(phi, expected_features(U), rtol=1e-11, atol=1e-13)
    assert_allclose(features.stds, [0.5, *[1.2 / np.sqrt(d)] * d])
    for u in U[:3]:
        slopes = approx_fprime(u, lambda s: features.polynomials(s[np.newaxis])[0], 1e-7)
        assert_allclose(features.polynomials.slopes(u), slopes.reshape(d + 1, d), atol=1e-5)


@pytest.mark.parametrize(("depth_std", "slope_std", "q"), [(0.5, 0.0, 1), (0.0, 1.0, 3)])
def test_what_is_known_is_not_learnt(depth_std, slope_std, q):
    bowl = Bowl(0.8, depth_std, slope_std)
    assert bowl.is_learnt
    assert len(bowl.features(3).stds) == q
    assert not BOWL.is_learnt


def test_of_some_columns_it_is_the_bowl_of_these():
    U = np.random.RandomState(0).uniform(size=(20, 4))
    bowl, some = Bowl(0.8, columns=[0, 3]), U[:, [0, 3]]
    features = bowl.features(4)
    assert_allclose(features.expected(U)[:, 0], expected_bowl(some), rtol=1e-12)
    assert_allclose(features.polynomials(U), expected_features(some), rtol=1e-12)


# --- in a regressor -------------------------------------------------------------------------------


@both_kinds
@with_a_mean
def test_a_fit_is_one_to_what_is_left(kind, tau):
    X, y = data()
    options = {"mean_prior_std": tau, "noise_model": QuadraticInjection(0.02)}
    gp = make(kind, **options).fit(X, y)
    rest = make(kind, prior_mean=None, **options).fit(X, y - expected_bowl(X[:, :2]))
    mean, cov = gp.predict(PLACES, return_cov=True)
    expected, expected_cov = rest.predict(PLACES, return_cov=True)
    assert_allclose(mean, expected + expected_bowl(PLACES[:, :2]), rtol=1e-10)
    assert_allclose(cov, expected_cov, rtol=1e-10)
    assert_allclose(gp.predict(PLACES), mean, rtol=1e-10)
    assert_allclose(gp.predict(PLACES, return_std=True)[0], mean, rtol=1e-10)
    ours, theirs = (g.log_marginal_likelihood(eval_gradient=True) for g in (gp, rest))
    assert_allclose(ours[0], theirs[0], rtol=1e-10)
    assert_allclose(ours[1], theirs[1], rtol=1e-8)
    assert_allclose(gp.mean_, rest.mean_, rtol=1e-10, atol=1e-12)
    if kind is TimeVaryingGPRegressor:
        assert_allclose(gp.relevancy(), rest.relevancy(), rtol=1e-9)
        assert abs(gp.log_marginal_likelihood_value_ - make(prior_mean=None, **options).fit(
            X, y).log_marginal_likelihood_value_) > 1.0  # fmt: skip


def test_it_is_scikit_learns_on_what_is_left():
    X, y = data()
    kernel = ConstantKernel(0.7) * Separable(SPATIAL, TEMPORAL)
    theirs = GaussianProcessRegressor(kernel, alpha=0.02, optimizer=None)
    theirs.fit(X, y - expected_bowl(X[:, :2]))
    mean, std = theirs.predict(PLACES, return_std=True)
    ours = make().fit(X, y).predict(PLACES, return_std=True)
    assert_allclose(ours[0], mean + expected_bowl(PLACES[:, :2]), rtol=1e-9)
    assert_allclose(ours[1], std, rtol=1e-7)


def learnt_by_hand(X, y, noise, tau, places):
    """Mean, covariance, log likelihood, P and P z, with the trend's covariance added to f's."""
    kernel = ConstantKernel(0.7) * Separable(SPATIAL, TEMPORAL)
    stds = LEARNT.features(2).stds

    def covariance(A, B):
        in_trend = (expected_features(A[:, :2]) * stds**2) @ expected_features(B[:, :2]).T
        return kernel(A, B) + tau**2 + in_trend

    delta = covariance(X, X) + np.diag(noise)
    P, z = np.linalg.inv(delta), y - expected_bowl(X[:, :2])
    k = covariance(places, X)
    value = -0.5 * (z @ P @ z + np.linalg.slogdet(delta)[1] + len(y) * np.log(2.0 * np.pi))
    mean = expected_bowl(places[:, :2]) + k @ P @ z
    return mean, covariance(places, places) - k @ P @ k.T, value, P, P @ z


@pytest.mark.parametrize("tau", [0.0, 1.5])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_learnt_it_is_a_covariance_more(tau, normalize_y):
    X, y = data()
    v = np.random.RandomState(3).uniform(0.0, 0.2, len(y))
    gp = make(prior_mean=LEARNT, mean_prior_std=tau, normalize_y=normalize_y).fit(X, y, v)
    location, scale = (y.mean(), y.std()) if normalize_y else (0.0, 1.0)
    mean, cov, value, P, a = learnt_by_hand(
        X, (y - location) / scale, 0.02 + v / scale**2, tau, PLACES
    )
    assert_allclose(gp.predict(PLACES), location + scale * mean, rtol=1e-9)
    found, found_cov = gp.predict(PLACES, return_cov=True)
    assert_allclose(found, location + scale * mean, rtol=1e-9)
    assert_allclose(found_cov, scale**2 * cov, atol=1e-9)
    found, std = gp.predict(PLACES, return_std=True)
    assert_allclose(found, location + scale * mean, rtol=1e-9)
    assert_allclose(std, scale * np.sqrt(np.diag(cov)), rtol=1e-8)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-8)
    C = spatial_convolution(SPATIAL, X[:, :2]) * temporal_convolution(TEMPORAL, X[:, 2], 31.0)
    assert_allclose(gp.relevancy(31.0), RelevancySweep(P, a, C).relevancy(), rtol=1e-7)


def test_a_flat_constant_under_a_learnt_bowl():
    X, y = data()
    flat, wide = (make(prior_mean=LEARNT, mean_prior_std=tau).fit(X, y) for tau in (np.inf, 1e4))
    for found, expected in zip(
        flat.predict(PLACES, return_std=True), wide.predict(PLACES, return_std=True)
    ):
        assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("tau", [0.0, 1.5])
def test_what_is_learnt_about_f_is_not_what_is_learnt_about_the_bowl(tau):
    """I(y; f, m, w) − I(y; m, w | f), by determinants."""
    X, y = data()
    gp = make(prior_mean=LEARNT, mean_prior_std=tau).fit(X, y)
    phi, stds = expected_features(X[:, :2]), LEARNT.features(2).stds
    mean = tau**2 + (phi * stds**2) @ phi.T
    K = 0.7 * SPATIAL(X[:, :2]) * TEMPORAL(X[:, 2:])
    expected = np.subtract(
        *(np.linalg.slogdet(np.eye(len(y)) + A / 0.02)[1] for A in (K + mean, mean))
    )
    assert gp.information_gain() == pytest.approx(0.5 * expected, abs=1e-8)


def test_it_counts_in_standardized_units():
    X, y = data()
    z = (y - y.mean()) / y.std()
    plain = make(mean_prior_std=1.0, prior_mean=LEARNT).fit(X, z)
    gp = make(mean_prior_std=1.0, normalize_y=True, prior_mean=LEARNT).fit(X, y)
    mean, std = plain.predict(PLACES, return_std=True)
    found = gp.predict(PLACES, return_std=True)
    assert_allclose(found[0], y.mean() + y.std() * mean, rtol=1e-10)
    assert_allclose(found[1], y.std() * std, rtol=1e-9)


both_bowls = pytest.mark.parametrize("bowl", [BOWL, LEARNT], ids=["known", "learnt"])


@both_bowls
@with_a_mean
def test_the_gradient_of_the_likelihood(bowl, tau):
    X, y = data()
    gp = make(mean_prior_std=tau, normalize_y=True, prior_mean=bowl).fit(X, y)
    for theta in (gp.theta_, gp.theta_ + 0.1):
        value, slope = gp.log_marginal_likelihood(theta, eval_gradient=True)
        assert value == pytest.approx(gp.log_marginal_likelihood(theta), abs=1e-9)
        steps = 1e-4 * np.eye(len(theta))
        differences = [
            gp.log_marginal_likelihood(theta + step) - gp.log_marginal_likelihood(theta - step)
            for step in steps
        ]
        assert_allclose(slope, np.divide(differences, 2e-4), atol=1e-5)


def test_the_information_on_the_hyperparameters():
    """½ aᵀ ∂_i Δ P ∂_j Δ a, with the inverse covariance as it is with a bowl that is learnt."""
    X, y = data()
    gp = make(mean_prior_std=1.5, prior_mean=LEARNT).fit(X, y)
    criterion = type(gp._gp).criterion(gp._gp.rows)
    criterion(gp._gp.covariance, True)
    *_, P, a = learnt_by_hand(X, y, np.full(len(y), 0.02), 1.5, PLACES)

    def delta(theta):
        covariance = gp._gp.covariance.with_theta(theta)
        K = covariance.cross(X[:, :2], X[:, 2], X[:, :2], X[:, 2])
        return K + np.exp(theta[-1]) * np.eye(len(y))

    steps = 1e-5 * np.eye(len(gp.theta_))
    slopes = [(delta(gp.theta_ + s) - delta(gp.theta_ - s)) @ a / 2e-5 for s in steps]
    expected = 0.5 * np.array(slopes) @ P @ np.array(slopes).T
    assert_allclose(criterion.information(), expected, rtol=1e-5, atol=1e-7)


def test_a_search_finds_a_maximum():
    X, y = data(60)
    options = {"optimizer": "fmin_l_bfgs_b", "normalize_y": True, "mean_prior_std": 1.0}
    gp = make(prior_mean=LEARNT, noise_variance_bounds=(1e-4, 1.0), **options).fit(X, y)
    inside = (gp.theta_ > gp._gp.covariance.bounds[:, 0] + 1e-3) & (
        gp.theta_ < gp._gp.covariance.bounds[:, 1] - 1e-3
    )
    slope = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)[1]
    assert inside.sum() > 2
    assert np.abs(slope[inside]).max() < 0.1


def test_far_from_all_observations_it_is_all_there_is():
    X, y = data()
    gp = make(normalize_y=True).fit(X, y)
    U = np.random.RandomState(2).uniform(size=(5, 2))
    late = np.column_stack([U, np.full(5, 1e6)])
    assert_allclose(gp.predict(late), y.mean() + y.std() * expected_bowl(U), rtol=1e-10)


@pytest.mark.parametrize(
    ("kind", "bowl"), [(TimeVaryingGPRegressor, LEARNT), *((kind, BOWL) for kind in KINDS)]
)
@pytest.mark.parametrize("normalize_y", [False, True])
def test_a_stream_is_as_afresh(kind, bowl, normalize_y):
    X, y = data(500)
    rng = np.random.RandomState(3)
    options = {"normalize_y": normalize_y, "mean_prior_std": 1.0, "prior_mean": bowl}
    gp, kept = make(kind, **options).fit(X[:10], y[:10]), list(range(10))
    for i in range(10, 500):
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
        kept.append(i)
        if rng.uniform() < 0.9:
            j = rng.randint(len(kept))
            gp.forget([j])
            del kept[j]
        if i % 20 == 0 and kind is TimeVaryingGPRegressor:
            gp.relevancy()  # what it takes is kept from now on
        if i % 50 == 0:
            fresh = make(kind, **options).fit(X[kept], y[kept])
            places = np.column_stack([PLACES[:, :2], np.full(7, X[i, 2] + 1.0)])
            for found, expected in zip(
                gp.predict(places, return_std=True), fresh.predict(places, return_std=True)
            ):
                assert_allclose(found, expected, rtol=1e-9)
            value = fresh.log_marginal_likelihood_value_
            assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=1e-8)
            if kind is TimeVaryingGPRegressor:
                assert_allclose(gp.relevancy(), fresh.relevancy(), rtol=1e-6)


def test_dropping_all_rows_keeps_the_prior():
    X, y = data()
    gp = make(normalize_y=True).fit(X, y)
    other = gp.updated(X[:3], y[:3], drop=range(30), hold_scale=True)
    late = np.array([[0.5, 0.5, 1e6], [1.0, 1.0, 1e6]])
    assert_allclose(other.predict(late), gp.predict(late), rtol=1e-10)


def test_where_time_stands_and_of_which_columns():
    X, y = data()
    bowl = Bowl(0.8, depth_std=0.0, columns=[1])
    gp = make(prior_mean=bowl).fit(X, y)
    first = make(prior_mean=bowl, time_column=0).fit(X[:, [2, 0, 1]], y)
    assert_allclose(first.predict(PLACES[:, [2, 0, 1]]), gp.predict(PLACES), rtol=1e-10)
    late = np.array([[0.1, 0.5, 1e6], [0.9, 0.5, 1e6], [0.1, 1.0, 1e6]])
    high, same, low = gp.predict(late)
    assert_allclose(high, same, rtol=1e-12)
    assert high > low


def test_time_alone_has_no_box():
    X, y = data()
    known, learnt, plain = (
        make(spatial_kernel=None, prior_mean=bowl).fit(X[:, 2:], y) for bowl in (BOWL, LEARNT, None)
    )
    for alone in (known, learnt):
        assert_array_equal(alone.predict(PLACES[:, 2:]), plain.predict(PLACES[:, 2:]))


@both_bowls
@with_a_mean
def test_views_and_draws(bowl, tau):
    X, y = data()
    gp = make(mean_prior_std=tau, normalize_y=True, prior_mean=bowl).fit(X, y)
    now, between = gp.posterior_at(31.0), gp.posterior_between(31.0, 35.0)
    for view, u, row in (
        (now, np.array([0.3, 0.9]), [0.3, 0.9, 31.0]),
        (between, np.array([0.3, 0.9, 0.25]), [0.3, 0.9, 32.0]),
    ):
        mean, std, on_mean, on_std = view.with_gradient(u)
        expected = gp.predict([row], return_std=True)
        assert_allclose([mean, std], np.ravel(expected), rtol=1e-10)
        assert_allclose(np.ravel(view(u[np.newaxis])), [mean, std], rtol=1e-10)
        for slope, i in ((on_mean, 0), (on_std, 1)):
            differences = approx_fprime(u, lambda v, i=i, view=view: view.with_gradient(v)[i], 1e-7)
            assert_allclose(slope, differences, rtol=1e-4, atol=1e-5)
        landscape = view.landscape(Score(UCB(4.0), None))
        U = np.random.RandomState(4).uniform(size=(40, len(u)))
        expected = np.dot([1.0, 2.0], view(U))
        assert_allclose(y.mean() + y.std() * landscape.values(U), expected, rtol=1e-9)
        leading = y.mean() + y.std() * landscape.leading(U, 3)
        assert_allclose(np.sort(leading)[-3:], np.sort(expected)[-3:], rtol=1e-9)
        places, values = landscape.climb(U[:4], np.ones(len(u), dtype=bool), 1.0, np.inf)
        best = np.argmax(values)  # the others end as soon as they are behind
        mean, std, on_mean, on_std = view.with_gradient(places[best])
        assert_allclose(y.mean() + y.std() * values[best], mean + 2.0 * std, rtol=1e-9)
        step = np.clip(places[best] + 1e-3 * (on_mean + 2.0 * on_std), 0.0, 1.0) - places[best]
        assert np.abs(step).max() < 1e-6
    draws = gp.sample_y(PLACES, 4000, random_state=0)
    assert_allclose(draws.mean(axis=1), gp.predict(PLACES), atol=0.05)


def test_copies():
    X, y = data()
    gp = make(normalize_y=True, prior_mean=Bowl(0.8)).fit(X, y)
    again = pickle.loads(pickle.dumps(gp))
    before = again.predict(PLACES)
    assert_array_equal(before, gp.predict(PLACES))
    assert gp.set_params(prior_mean__depth=0.1).get_params()["prior_mean__depth"] == 0.1
    assert_array_equal(gp.predict(PLACES), before)  # what is fitted keeps its own


# --- what does not go together --------------------------------------------------------------------


def test_many_rows_at_few_sites_take_no_filter():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.choice([0.2, 0.8], size=300), np.arange(300.0)])
    y = np.sin(0.1 * X[:, 1]) + 0.1 * rng.normal(size=300)
    options = {"spatial_kernel": Matern(0.4), "temporal_kernel": Forgetting(0.05)}
    gp, plain = (make(prior_mean=bowl, **options).fit(X, y) for bowl in (BOWL, None))
    assert type(plain._gp).__name__ == "Filter"
    dense = make(solver="dense", **options).fit(X, y)
    assert_allclose(gp.predict(X[:5]), dense.predict(X[:5]), rtol=1e-12)
    with pytest.raises(ValueError, match=r"'prior_mean' .* None with solver='kalman'"):
        make(solver="kalman", **options).fit(X, y)


def test_weighted_regression_has_none_that_is_learnt():
    X, y = data()
    with pytest.raises(ValueError, match=r"'prior_mean' .* depth_std=0 and slope_std=0, or None"):
        make(WeightedGPRegressor, prior_mean=LEARNT).fit(X, y)


def test_what_observations_say_moves_the_bowl():
    """Far from the data, where a constant mean knows no better."""
    rng = np.random.RandomState(0)
    X = np.column_stack([0.6 * rng.uniform(size=(80, 2)), np.arange(80.0)])
    y = -np.sum((X[:, :2] - 0.1) ** 2, axis=1)
    corners = np.array([[0.0, 0.0, 80.0], [1.0, 1.0, 80.0]])
    options = {"normalize_y": True, "mean_prior_std": 1.0, "spatial_kernel": Matern(0.2, nu=2.5)}
    near, far = make(prior_mean=LEARNT, **options).fit(X, y).predict(corners)
    _, plain = make(prior_mean=None, **options).fit(X, y).predict(corners)
    assert near > -0.1
    assert far < plain - 0.3


@pytest.mark.parametrize("bowl", [Bowl(), None])
def test_extreme_data(bowl):
    """y of 1e12 with a spread of 1, equal y, duplicated rows, a single row."""
    X, y = data()
    options = {
        "normalize_y": True,
        "mean_prior_std": 1.0,
        "prior_mean": bowl,
        "optimizer": "fmin_l_bfgs_b",
    }
    far = make(**options).fit(X, 1e12 + y).predict(X)
    assert np.abs(far - 1e12 - y).max() < 1.0
    equal = make(**options).fit(X, np.full(30, 4.0)).predict(X)
    assert_allclose(equal, 4.0, atol=0.5)
    twice = make(**options).fit(np.vstack([X, X]), np.append(y, y)).predict(X)
    assert np.abs(twice - y).max() < 1.0
    assert np.isfinite(make(**options).fit(X[:1], y[:1]).predict(PLACES, return_std=True)).all()


def test_a_sparse_regressor_has_none():
    with pytest.raises(TypeError, match="prior_mean"):
        SparseTimeVaryingGPRegressor(prior_mean=BOWL)


@pytest.mark.parametrize(
    ("bowl", "message"),
    [
        ("bowl", r"'prior_mean' parameter of TimeVaryingGPRegressor must be a Bowl, or None"),
        (Bowl(np.nan), r"'depth' parameter of Bowl must be a float"),
        (Bowl("deep"), r"'depth' parameter of Bowl must be a float"),
        (Bowl(depth_std=-1.0), r"'depth_std' parameter of Bowl must be a float in the range"),
        (Bowl(slope_std=np.inf), r"'slope_std' parameter of Bowl must be a float in the range"),
        (Bowl(columns=[0, 2]), r"'columns' parameter of Bowl must be an int in the range \[0, 1\]"),
        (Bowl(columns=[0, 0]), r"'columns' parameter of Bowl must be different columns"),
        (Bowl(columns=[]), r"'columns' parameter of Bowl must be different columns"),
        (Bowl(columns=1), r"'columns' parameter of Bowl must be different columns"),
    ],
)
def test_bad_bowls(bowl, message):
    X, y = data()
    gp = make().fit(X, y)
    before = gp.predict(PLACES)
    with pytest.raises(ValueError, match=message):
        gp.set_params(prior_mean=bowl).fit(X, y)
    assert_array_equal(gp.predict(PLACES), before)


# --- relevancies ----------------------------------------------------------------------------------


@with_a_mean
def test_what_is_kept_for_relevancies_is_right(tau):
    """Otherwise all would be made anew every few updates."""
    X, y = data(100)
    gp = make(prior_mean=LEARNT, mean_prior_std=tau).fit(X[:40], y[:40])
    for i in range(40, 100):
        gp.partial_fit(X[i : i + 1], y[i : i + 1]).forget([0])
        gp.relevancy()
    assert gp.n_remade_ < 4  # because of 40 updates, as many as there are rows


def test_relevancies_with_next_to_no_noise():
    """They are those with a noise of 1e-8 of the signal more, as far as rounding lets them."""
    X, y = data()
    X, y = np.vstack([X, X[-1:] + 1e-9]), np.append(y, y[-1])
    options = {"prior_mean": LEARNT, "mean_prior_std": 1.0}
    gp = make(noise_variance=1e-10, **options).fit(X, y)
    other = make(noise_variance=1e-10 + 0.7e-8, **options).fit(X, y)
    assert_allclose(gp.relevancy(40.0), other.relevancy(40.0), rtol=1e-3, atol=5e-6)


def test_the_long_past_is_irrelevant_however_much_it_tells_about_the_bowl():
    X, y = data(15)
    old = [[0.5, 0.5, -500.0], [0.1, 0.9, -400.0]]
    gp = make(prior_mean=LEARNT).fit(np.vstack([old, X]), np.append([-9.0, 9.0], y))
    assert_array_equal(gp.relevancy() == 0.0, np.arange(17) < 2)
