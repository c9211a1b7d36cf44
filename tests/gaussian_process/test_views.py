"""Posterior at one time, in a window of time, and drawn jointly, as optimizers use it."""

import copy

import numpy as np
import pytest
from gaussian_process.cases import LATEST, START, greatest_deviation, lifted
from gaussian_process.models import MODELS, make, rows
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from sktvbo.kernels import Wiener


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


def test_places_of_wrong_shapes_are_refused(gp):
    posterior, rng = gp.posterior_at(71.0), np.random.RandomState(0)
    calls = [posterior, posterior.mean, lambda S: posterior.sample(S, rng)]
    for S in (PLACES[0], PLACES[:, :1], PLACES[np.newaxis]):
        for call in calls:
            with pytest.raises(ValueError, match=r"of shape \(m, 2\). Got shape"):
                call(S)
    for s in (PLACES[0, :1], PLACES[:2], 0.5):
        with pytest.raises(ValueError, match=r"of shape \(m, 2\). Got shape"):
            posterior.with_gradient(s)
    for t in (None, "2026-01-02", [71.0, 72.0], np.nan):
        with pytest.raises(ValueError, match=r"^t must be (one real number|finite)\. Got"):
            gp.posterior_at(t)


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


def test_a_view_is_unchanged_by_later_updates(gp):
    gp = copy.copy(gp)
    views = gp.posterior_at(LATEST), gp.fitted_.posterior_between(LATEST, LATEST + 2.0)
    points = PLACES, np.column_stack([PLACES, np.linspace(0.0, 1.0, 7)])
    before = [(*view(p), *view.with_gradient(p[0])) for view, p in zip(views, points)]
    gp.partial_fit(rows(gp, PLACES[:1], LATEST), [9.0])
    for view, p, old in zip(views, points, before):
        for found, reference in zip((*view(p), *view.with_gradient(p[0])), old):
            assert_array_equal(found, reference)


# --- in a window ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(52.0, 59.0), (LATEST, 64.0), (66.0, 66.0)])
def test_in_a_window_it_is_predict(gp, low, high):
    posterior = gp.fitted_.posterior_between(low, high)
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
        check_gradient(gp.fitted_.posterior_between(low, high), np.append(place, u))


def test_slopes_at_the_time_at_which_a_kernel_starts():
    """The kernel is undefined earlier: the slope is one-sided."""
    X, y, _ = lifted()
    gp = make(RBF(0.4), Wiener(0.2, start=START)).fit(X, y)
    posterior, h = gp.fitted_.posterior_between(START, START + 1.0), 1e-7
    now, later = (np.array([0.3, 0.6, u]) for u in (0.0, h))
    mean, std, *slopes = posterior.with_gradient(now)
    for value, slope, after in zip((mean, std), slopes, posterior(later[np.newaxis])):
        assert slope[-1] == pytest.approx((after[0] - value) / h, rel=1e-5)


# --- joint draws ----------------------------------------------------------------------------------

DRAWN = np.array([[0.2, 0.3], [0.25, 0.3], [0.7, 0.8], [0.9, 0.1]])


def deviation(sample, mean, cov):
    rng = np.random.RandomState(1)
    return greatest_deviation(np.array([sample(DRAWN, rng) for _ in range(2500)]), mean, cov)


@pytest.mark.parametrize("name", ["ard-rbf", "wiener", "sparse"])
def test_draws_have_the_posteriors_moments(fitted, name):
    gp = fitted[name]
    moments = gp.predict(rows(gp, DRAWN, 62.0), return_cov=True)
    assert deviation(gp.posterior_at(62.0).sample, *moments) < 4.0


WRONG = {
    "independent": lambda mean, cov, z: mean + np.sqrt(np.diag(cov)) * z,
    "transposed": lambda mean, cov, z: mean + np.linalg.cholesky(cov).T @ z,
    "not centred": lambda mean, cov, z: np.linalg.cholesky(cov) @ z,
    "10 % too wide": lambda mean, cov, z: mean + 1.1 * np.linalg.cholesky(cov) @ z,
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_draws_are_detected(fitted, name):
    gp = fitted["ard-rbf"]
    mean, cov = gp.predict(rows(gp, DRAWN, 62.0), return_cov=True)

    def sample(S, rng):
        return WRONG[name](mean, cov, rng.standard_normal(len(S)))

    assert deviation(sample, mean, cov) > 6.0


def test_a_draw_is_one_function(gp):
    """A repeated place has the same value twice, though the covariance is singular."""
    S = np.repeat(PLACES, 2, axis=0)
    draw = gp.posterior_at(61.0).sample(S, np.random.RandomState(0))
    assert_allclose(draw[::2], draw[1::2], rtol=0.0, atol=1e-6)
    assert np.ptp(draw) > 1e-3
