"""Information of removed rows about the static part: exact in any order, and a value."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticMean, _fitted
from sktvbo.gaussian_process._static_part import StaticPart

N = 60
rng = np.random.RandomState(0)
X = np.column_stack([rng.uniform(size=(N, 2)), np.sort(rng.uniform(0.0, 60.0, N))])
F = np.sin(5.0 * X[:, 0]) + X[:, 1] * np.cos(X[:, 2] / 9.0)
Y = 40.0 + 3.0 * F + 0.1 * rng.normal(size=N)


def fitted(mean_prior_std=1.0, spread=2.0, **options):
    kernel = Matern(8.0, nu=2.5) + ConstantKernel(0.3) * Matern(5.0, nu=0.5)
    gp = TimeVaryingGPRegressor(
        Matern([0.5, 0.7], nu=2.5),
        kernel,
        signal_variance=1.3,
        noise_variance=0.02,
        mean_prior_std=mean_prior_std,
        optimizer=None,
        prior_mean=QuadraticMean(spread=spread),
        **options,
    )
    return gp.fit(X, Y).fitted_


def without(gp, parts):
    """Summarize the original rows of each part in turn."""
    left = np.arange(N)
    for part in parts:
        gp = gp.summarized(np.flatnonzero(np.isin(left, part)))
        left = left[~np.isin(left, part)]
    return gp


def posterior(gp, static):
    """Precision and shift of w given the summary and the rows left, by dense linear algebra."""
    rows, covariance = gp.gp.rows, gp.gp.covariance
    K = np.tril(covariance.gram(rows.S, rows.t))
    K = K + np.tril(K, -1).T + np.diag(rows.noise(covariance)) + covariance.mean_variance
    features = static.features(rows.S)
    y = (rows.y - rows.location) / rows.scale
    more = features.T @ np.linalg.solve(K, np.column_stack([features, y]))
    scale = rows.scale
    return scale**2 * static.information + more[:, :-1], scale * static.shift + more[:, -1]


PARTS = [[[3], [7, 50], [22], [0, 11, 39], [18]], [[0, 3, 7, 11, 18, 22, 39, 50]]]


@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize("mean_prior_std", [0.0, 1.0])
def test_the_posterior_is_that_given_all_rows(parts, mean_prior_std, monkeypatch):
    monkeypatch.setattr(_fitted, "_STAYS", 1.0)
    gp = fitted(mean_prior_std)
    expected = posterior(gp, StaticPart.empty([0, 1], 2.0))
    after = without(gp, parts)
    found = posterior(after, after.gp.rows.static)
    assert len(after.X_train_) == N - 8
    for one, other in zip(found, expected):
        assert_allclose(one, other, rtol=1e-10, atol=1e-10 * np.abs(other).max())
    assert np.abs(after.gp.rows.static.information).max() > 0.0


def test_partial_fit_beyond_max_size_keeps_what_all_rows_said(monkeypatch):
    monkeypatch.setattr(_fitted, "_STAYS", 1.0)
    options = {"normalize_y": False, "mean_prior_std": 0.0}
    later = X[:1] + np.array([0.0, 0.0, 1e4])  # so late that what is lost of h does not concern it
    bounded = fitted(max_size=20, **options).regressor().partial_fit(later, Y[:1])
    everything = fitted(**options).condition_on(later, Y[:1])
    assert len(bounded.X_train_) <= 20
    found = posterior(bounded.fitted_, bounded.fitted_.gp.rows.static)
    for one, other in zip(found, posterior(everything, StaticPart.empty([0, 1], 2.0))):
        assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


def test_rows_that_come_back_are_not_told_twice(monkeypatch):
    monkeypatch.setattr(_fitted, "_STAYS", 1.0)
    known = without(fitted(0.0), [[3, 7]])
    after = without(fitted(0.0), [[3, 7], [50, 11]])
    again = after.condition_on(X[[50, 11]], Y[[50, 11]]).unsummarized([N - 4, N - 3])
    for name in ("information", "shift"):
        one, other = (getattr(gp.gp.rows.static, name) for gp in (again, known))
        assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())
    plain = fitted(spread=0.0)
    assert plain.unsummarized([3]) is plain


def test_more_than_is_known_cannot_be_taken_back():
    rng = np.random.RandomState(0)
    square = rng.normal(size=(4, 4))
    static = StaticPart.empty([0, 1], 2.0).plus(square @ square.T, rng.normal(size=4))
    less = static.minus(2.0 * static.information, 2.0 * static.shift)
    assert not less.information.any()
    assert not less.shift.any()


def test_what_is_conditioned_on_equals_that_from_the_rows_alone():
    """Weights are those of y less the mean of the static part, after every update."""
    gp = without(fitted(normalize_y=True), PARTS[0])
    gp = gp.condition_on([[0.2, 0.9, 61.0]], [39.0]).without([4])
    again = gp.gp._recomputed(gp.gp.rows)
    places = np.array([[0.1, 0.3, 61.0], [0.9, 0.8, 70.0]])
    assert_allclose(again.weights, gp.gp.weights, rtol=1e-8, atol=1e-10)
    far = gp.predict(places + np.array([0.0, 0.0, 1e6]))
    mean = gp.gp.rows.mean_function
    expected = gp.mean_ + gp.gp.rows.scale * mean(places[:, :2])
    assert_allclose(far, expected, rtol=1e-9)
    at = gp.posterior_at(61.0)
    slope = at.with_gradient(places[0, :2])[2]
    h = 1e-5
    for i in range(2):
        up, down = (places[:1, :2] + s * h * np.eye(2)[i] for s in (1.0, -1.0))
        assert slope[i] == pytest.approx((at(up)[0][0] - at(down)[0][0]) / (2.0 * h), rel=1e-4)


def test_no_rows_leave_the_prior_mean():
    prior = QuadraticMean(0.7, columns=[0, 2]).polynomial(3)
    mean = StaticPart.empty([0, 2], 2.0).mean(prior, 5.0, 3)
    S = np.random.RandomState(1).uniform(size=(9, 3))
    assert_allclose(mean(S), prior(S), atol=1e-12)
    assert_allclose(StaticPart.empty([0, 2], 2.0).mean(None, 5.0, 3)(S), 0.0, atol=1e-12)


def test_places_that_are_scaled_and_moved_have_the_same_information():
    """wᵀ Λ w and ηᵀ w of one function are the same in both coordinates."""
    gp = without(fitted(), PARTS[0])
    static, scales, offsets = gp.gp.rows.static, np.array([0.5, 2.0]), np.array([0.1, -0.3])
    moved, S = static.moved([0, 1], scales, offsets), np.random.RandomState(1).uniform(size=(20, 2))
    w = np.random.RandomState(2).normal(size=4)
    values = static.features(S * scales + offsets) @ w
    design = np.column_stack([static.features(S), np.ones(20)])
    old = np.linalg.lstsq(design, values, rcond=None)[0][:4]
    assert_allclose(w @ moved.information @ w, old @ static.information @ old, rtol=1e-9)
    assert_allclose(w @ moved.shift, old @ static.shift, rtol=1e-9)


def test_a_linear_change_of_places_changes_no_far_prediction():
    gp = without(fitted(spread=50.0), [list(range(0, 40))])
    scales, offsets = np.array([0.5, 0.5]), np.array([0.25, 0.25])
    new_X = gp.X_train_ * np.append(scales, 1.0) + np.append(offsets, 0.0)
    new = gp.rescaled(new_X, scales, 0.5, (0, 1))
    S = np.random.RandomState(1).uniform(size=(9, 2))
    before = gp.predict(np.column_stack([S, np.full(9, 61.0)]))
    after = new.predict(np.column_stack([S * scales + offsets, np.full(9, 61.0)]))
    assert_allclose(after, before, rtol=0.02)


def test_a_part_is_forgotten_with_each_row():
    gp = fitted()
    known = without(gp, [[3, 7]]).gp.rows.static
    after = without(gp, [[3, 7], [50]]).gp.rows.static
    alone = _fitted.information_of(without(gp, [[3, 7]]).gp, np.array([48]), known)
    assert_allclose(after.information, 0.998 * known.information + alone[0], rtol=1e-9)


@pytest.mark.parametrize("mean", [None, QuadraticMean()])
def test_without_a_spread_rows_leave_nothing(mean):
    gp = fitted()
    plain = TimeVaryingGPRegressor(Matern([0.5, 0.7], nu=2.5), optimizer=None, prior_mean=mean)
    plain = plain.fit(X, Y).fitted_
    assert plain.summarized([3, 7]).gp.rows.static is None
    assert gp.without([3, 7]).gp.rows.static is None
    assert_array_equal(plain.summarized([3, 7]).gp.weights, plain.without([3, 7]).gp.weights)


def test_a_pickle_has_the_static_part():
    gp = without(fitted(), PARTS[0])
    again = pickle.loads(pickle.dumps(gp))
    place = [[0.1, 0.3, 61.0]]
    assert_allclose(again.predict(place), gp.predict(place), rtol=1e-12)
    assert_array_equal(again.gp.rows.static.information, gp.gp.rows.static.information)
