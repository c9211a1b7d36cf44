"""Schedules of beta, scores, incumbents and Thompson sampling, against their formulas."""

import tracemalloc
import warnings
from math import log, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import chisquare, norm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import GPUCB, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.acquisition import (
    UCB,
    AcquisitionState,
    BOLTBeta,
    DimensionBeta,
    ExpectedImprovement,
    InformationGainBeta,
    LogBeta,
    PosteriorMean,
    ProbabilityOfImprovement,
    SmoothnessBeta,
    ThompsonSampling,
)
from sktvbo.domain import FiniteSet

STATE = AcquisitionState(n=30, n_told=50, n_dims=2)


# --- schedules of β -------------------------------------------------------------------------------


def at(t, d, gain=None, n=30):
    """The state after t observations in d dimensions."""
    surrogate = SimpleNamespace(information_gain=lambda: gain)
    return AcquisitionState(n=n, n_told=t, n_dims=d, surrogate=surrogate)


def tvgp_16(t, d, delta, a, b, r):
    inner = log(2 * d * a * pi**2 * t**2 / (3 * delta))
    return 2 * log(2 * pi**2 * t**2 / (3 * delta)) + 2 * d * log(r * d * b * t**2 * sqrt(inner))


def tvgp_19(t, d, delta, a, b, r):
    inner = log(d * a * pi**2 * t**2 / (2 * delta))
    return 2 * log(pi**2 * t**2 / (2 * delta)) + 2 * d * log(r * d * b * t**2 * sqrt(inner))


def et_theorem_1(t, d, delta, a, b, r):
    inner = log(4 * d * a * pi**2 * t**2 / (3 * delta))
    return 2 * log(4 * pi**2 * t**2 / (3 * delta)) + 2 * d * log(t**2 * d * b * r * sqrt(inner))


steps = pytest.mark.parametrize(("t", "d"), [(1, 1), (7, 2), (300, 6)])


DEFAULTS = {"delta": 0.1, "a": 1.0, "b": 1.0, "r": 1.0}
THEOREMS = {"reset": tvgp_16, "forgetting": tvgp_19, "event": et_theorem_1}


@steps
def test_betas_are_the_papers(t, d):
    for theorem, formula in THEOREMS.items():
        expected = formula(t, d, **DEFAULTS)
        assert SmoothnessBeta(theorem)(at(t, d)) == pytest.approx(expected, rel=1e-13)
        other = {"delta": 0.03, "a": 2.5, "b": 1.7, "r": 4.0}
        found = SmoothnessBeta(theorem, **other)(at(t, d))
        assert found == pytest.approx(formula(t, d, **other), rel=1e-13)
    for lipschitz, delta in ((1.0, 0.1), (12.0, 0.5)):  # what the proof of BOLT eq. 63 needs
        expected = 2 * d * log(lipschitz * d * t**2) + 2 * log(pi**2 * t**2 / (6 * delta))
        assert BOLTBeta(lipschitz, delta)(at(t, d)) == pytest.approx(expected, rel=1e-13)


@steps
def test_practical_betas(t, d):
    assert LogBeta()(at(t, d, n=3)) == pytest.approx(0.8 * log(4 * t))
    assert LogBeta(0.4, 6.0)(at(t, d)) == pytest.approx(0.4 * log(6 * t))
    assert DimensionBeta()(at(t, d, n=3)) == pytest.approx(0.2 * min(d, 4) * log(6))
    assert DimensionBeta(0.7, max_dims=2)(at(t, d, n=5)) == pytest.approx(0.7 * min(d, 2) * log(10))
    unbounded = DimensionBeta(max_dims=None)
    assert unbounded(at(t, 20, n=5)) == pytest.approx(0.2 * 20 * log(10))
    waiting = AcquisitionState(n=5, n_told=t, n_dims=d, n_pending=3)
    assert DimensionBeta()(waiting) == DimensionBeta()(at(t, d, n=5))


@pytest.mark.parametrize("gain", [0.0, 3.7])
def test_information_gain_beta_is_igp_ucbs(gain):
    B, R, delta = 1.3, 0.6, 0.2
    expected = (B + R * sqrt(2 * (gain + 1 + log(1 / delta)))) ** 2
    assert InformationGainBeta(B, R, delta)(at(40, 2, gain)) == pytest.approx(expected, rel=1e-13)
    scaled = InformationGainBeta(B, R, delta, scale=0.02)(at(40, 2, gain))
    assert scaled == pytest.approx(0.02 * expected, rel=1e-13)


def test_the_root_of_information_gain_beta_is_sparqs():
    """SparQ theorem 3.1, with the determinants written out."""
    X = np.column_stack([np.random.RandomState(1).uniform(size=(25, 2)), np.arange(25.0)])
    kernels = Matern(0.3, nu=2.5), Matern(20.0, nu=1.5)
    gp = TimeVaryingGPRegressor(*kernels, optimizer=None).fit(X, np.sin(5.0 * X[:, 0]))
    K = gp.signal_variance_ * gp.spatial_kernel_(gp.X_train_[:, :-1])
    K = K * gp.temporal_kernel_(gp.X_train_[:, -1:])
    Sigma = gp.noise_variance_ * np.eye(len(K))
    delta, B = 0.05, 2.0
    ratio = np.sqrt(np.linalg.det(Sigma + K)) / np.sqrt(np.linalg.det(Sigma))
    beta = InformationGainBeta(B, delta=delta, constant=log(2))(
        AcquisitionState(n=25, n_told=25, n_dims=2, surrogate=gp)
    )
    assert sqrt(beta) == pytest.approx(sqrt(2 * log(2 / delta * ratio)) + B, rel=1e-9)


def test_an_anytime_beta_spends_no_more_than_delta():
    def share(t):
        beta = InformationGainBeta(0.0, 1.0, delta=0.1, constant=0.0, anytime=True)(at(t, 1, 0.0))
        return np.exp(-beta / 2)  # δ_t

    shares = [share(t) for t in range(1, 3001)]
    assert shares[:2] == pytest.approx([0.05, 0.1 / (4 * (1 + log(2)) ** 2)])
    tail = 0.1 / (2 * (1 + log(3000)))  # at least the sum of all that follow: their integral
    assert sum(shares) + tail <= 0.1


@pytest.mark.parametrize(
    "schedule", [*map(SmoothnessBeta, THEOREMS), BOLTBeta(), InformationGainBeta(anytime=True)]
)
def test_schedules_grow_with_time(schedule):
    betas = [schedule(at(t, 2, gain=5.0)) for t in range(1, 200)]
    assert np.all(np.diff(betas) > 0.0)
    assert betas[0] > 0.0


@pytest.mark.parametrize("kind", [SmoothnessBeta, BOLTBeta])
@pytest.mark.parametrize("delta", [0.0, 1.0, np.nan])
def test_delta_is_a_probability(kind, delta):
    with pytest.raises(ValueError, match=f"'delta' parameter of {kind.__name__} must be a float"):
        kind(delta=delta)(STATE)


@pytest.mark.parametrize(
    ("beta", "expected"),
    [
        ("dimension", 0.2 * 2 * np.log(60.0)),
        ("log", 0.8 * np.log(200.0)),
        (2.5, 2.5),
        (0, 0.0),
        (lambda state: state.n / 10.0, 3.0),
        (LogBeta(rate=0.01), 0.0),  # log 0.5 is negative
        (BOLTBeta(), BOLTBeta()(STATE)),
    ],
)
def test_beta_of_a_bound(beta, expected):
    assert UCB(beta).beta_value(STATE) == pytest.approx(expected)
    mean, std = np.array([1.0, 2.0]), np.array([0.5, 0.1])
    score, on_mean, on_std = UCB(beta)(mean, std, STATE)
    assert_allclose(score, mean + np.sqrt(expected) * std)
    assert (on_mean, on_std) == (1.0, pytest.approx(np.sqrt(expected)))


# --- improvement ----------------------------------------------------------------------------------

# On both sides of the places where the implementation changes its formula, -200 and 5.
Z = np.array([-1e5, -1e4, -1e3, -200.01, -200, -199.99, -150, -50, -38, -20, -8, -3, -1, -0.1, 0])
Z = np.append(Z, [0.1, 0.9, 1, 3, 4.99, 5, 5.01, 8, 20, 40])


def incumbent(value):
    return SimpleNamespace(incumbent=value, scale=1.0)


def expected_improvement(z):
    """Return log h, Φ / h and φ / h of h(z) = φ(z) + z Φ(z), by quadrature where h is small.

    There h(z) = φ(z) / z² ∫ x exp(-x - x² / 2 z²) dx, and Φ(z) the same without the factor x.
    """
    if z > -1.0:
        h = norm.pdf(z) + z * norm.cdf(z)
        return log(h), norm.cdf(z) / h, norm.pdf(z) / h
    zeroth, first = (
        quad(lambda x, k=k: x**k * np.exp(-x - 0.5 * (x / z) ** 2), 0.0, np.inf, epsrel=1e-13)[0]
        for k in (0, 1)
    )
    return norm.logpdf(z) + log(first / z**2), -z * zeroth / first, z**2 / first


@pytest.mark.parametrize("std", [0.3, 2e-5])
@pytest.mark.parametrize("z", Z)
def test_expected_improvement_and_its_slopes_to_high_precision(z, std):
    best, xi = 0.25, 0.125
    mean = best + xi + z * std
    found = ExpectedImprovement(xi)(mean, std, incumbent(best))
    # From the very numbers that the implementation is given, less its own rounding of z.
    value, *slopes = expected_improvement((mean - best - xi) / std)
    # log EI near 0 has absolute digits only; of z² there are no more than of z.
    assert found[0] == pytest.approx(log(std) + value, rel=1e-14, abs=1e-10)
    assert_allclose(found[1:], np.array(slopes) / std, rtol=2e-10, atol=1e-300)


@pytest.mark.parametrize(("mean", "std"), [(0.2, 0.5), (-1.0, 0.3), (0.5, 0.1)])
def test_probability_of_improvement_is_the_normal_distributions(mean, std):
    best, xi, h = 0.35, 0.05, 1e-6

    def score(mean, std):
        return ProbabilityOfImprovement(xi)(mean, std, incumbent(best))

    found, *slopes = score(mean, std)
    assert norm.cdf(found) == pytest.approx(norm.sf(best + xi, mean, std), rel=1e-8)
    for slope, a, b in zip(slopes, (h, 0.0), (0.0, h)):
        difference = score(mean + a, std + b)[0] - score(mean - a, std - b)[0]
        assert slope == pytest.approx(difference / (2.0 * h), rel=1e-5)


@pytest.mark.parametrize("kind", [ExpectedImprovement, ProbabilityOfImprovement])
@pytest.mark.parametrize("std", [0.0, 1e-300, 1e-150, 1e-30])
def test_no_uncertainty_is_no_trouble(kind, std):
    """Where nothing is left to learn the larger mean is the better one."""
    means = np.array([-1e9, -5.0, -1.0, 0.0, 1e-3, 1.0, 5.0, 1e9])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = kind(0.0)(means, np.full(len(means), std), incumbent(0.0))
    assert all(np.isfinite(column).all() for column in found)
    assert np.all(np.diff(found[0]) > 0.0)


# --- the incumbent --------------------------------------------------------------------------------


def drifted():
    """The best place of long ago, 0.2, has become the worst; 0.8 has been seen late, with noise."""
    X = np.array([[0.2, 0.0], [0.5, 8.0], [0.8, 9.0], [0.8, 9.5], [0.2, 10.0]])
    y = np.array([5.0, 1.0, 2.0, 1.5, -1.0])
    gp = TimeVaryingGPRegressor(RBF(0.1), Matern(2.0, nu=1.5), noise_variance=0.5, optimizer=None)
    return gp.fit(X, y)


@pytest.mark.parametrize("t", [10.0, 10.5, 14.0])
def test_incumbent_is_the_best_mean_at_the_places_observed_at_the_time_of_the_query(t):
    gp = drifted()
    state = AcquisitionState(n=5, n_told=5, n_dims=1, surrogate=gp, posterior=gp.posterior_at(t))
    means = gp.predict([[0.2, t], [0.5, t], [0.8, t]])
    assert state.incumbent == pytest.approx(means.max(), rel=1e-12)
    assert means.argmax() == 2
    assert state.incumbent < 2.0  # neither the noisy record of the place nor the old one of all


def test_a_pending_query_is_an_incumbent_as_well():
    # With improvements over observations alone the next query of a batch would be the same.
    gp, t = drifted(), 10.5
    place = np.array([[0.7, t]])
    hallucinated = gp.condition_on(place, gp.predict(place) + 1.0, restandardize=False)
    parts = {"surrogate": hallucinated, "posterior": hallucinated.posterior_at(t)}
    state = AcquisitionState(n=5, n_told=5, n_dims=1, n_pending=1, **parts)
    assert state.incumbent == pytest.approx(hallucinated.predict(place)[0], rel=1e-12)
    assert state.incumbent > hallucinated.predict([[x, t] for x in (0.2, 0.5, 0.8)]).max()


def test_an_optimizer_gives_the_state_of_the_query():
    states = []

    class Spy(PosteriorMean):
        def __call__(self, mean, std, state):
            states.append(state)
            return super().__call__(mean, std, state)

    options = {"acquisition": Spy(), "n_initial_points": 3, "random_state": 0}
    opt = BayesianOptimizer([(0.0, 1.0)], surrogate=clone(drifted()), **options)
    for *x, t in drifted().X_train_:
        opt.tell(np.array(x), -2.0 * x[0], t)
    opt.ask(12.0)
    gp = opt.surrogate_
    rows = np.column_stack([np.unique(gp.X_train_[:, 0]), np.full(3, 12.0)])
    assert states[0].incumbent == pytest.approx(gp.predict(rows).max(), rel=1e-12)
    assert states[0].information_gain == gp.information_gain()
    assert (states[0].n, states[0].n_told, states[0].n_dims) == (5, 5, 1)


# --- Thompson sampling ----------------------------------------------------------------------------

ARMS = FiniteSet(np.array([[0.0], [0.1], [1.0]]))


def arms_gp():
    """Two arms that are nearly one, and a third: correlation decides which is the best."""
    gp = TimeVaryingGPRegressor(RBF(0.3), Matern(5.0, nu=1.5), optimizer=None)
    places = ARMS.to_unit(ARMS.points)[[0, 2]]
    X = np.column_stack([places, [0.0, 1.0]])
    return gp.fit(X, [0.3, 0.1])


def chances(gp):
    """Probabilities of being the best arm, by a Monte Carlo of the covariance's Cholesky factor."""
    U = ARMS.to_unit(ARMS.points)
    rows = np.column_stack([U, np.full(3, 6.0)])
    mean, cov = gp.predict(rows, return_cov=True)
    draws = np.random.RandomState(99).standard_normal((400_000, 3)) @ np.linalg.cholesky(cov).T
    return np.bincount(np.argmax(mean + draws, axis=1), minlength=3) / len(draws)


def test_arms_are_drawn_as_often_as_they_are_best():
    """By an optimizer as well. Draws that are independent are detected."""
    gp, rng, U = arms_gp(), np.random.RandomState(3), ARMS.to_unit(ARMS.points)
    posterior, expected = gp.posterior_at(6.0), chances(gp)
    assert expected.min() > 0.1

    def p_value(draw, n):
        counts = np.bincount([draw(seed) for seed in range(n)], minlength=3)
        return chisquare(counts, n * expected).pvalue

    def independent(seed):
        mean, std = posterior(U)
        return np.argmax(mean + std * rng.standard_normal(3))

    def asked(seed):
        options = {"acquisition": ThompsonSampling(), "n_initial_points": 2, "random_state": seed}
        opt = BayesianOptimizer(ARMS, surrogate=gp, **options)
        for row, value in zip(gp.X_train_, gp.y_train_):
            opt.tell(ARMS.from_unit(row[:-1]), value, row[-1])
        return ARMS.index(opt.ask(6.0))

    assert p_value(lambda seed: np.argmax(posterior.sample(U, rng=rng)), 3000) > 1e-3
    assert p_value(independent, 3000) < 1e-6
    assert p_value(asked, 200) > 1e-3


def test_thompson_sampling_over_many_arms_takes_little_memory():
    """A joint covariance of all the members would take 3.2 GB."""
    arms = FiniteSet(np.random.RandomState(0).uniform(size=(20_000, 2)))
    options = {"acquisition": ThompsonSampling(), "n_initial_points": 5, "random_state": 0}
    opt = GPUCB(arms, **options)
    tracemalloc.start()
    for t in range(8):
        x = opt.ask(t)
        opt.tell(x, -np.sum((x - 0.3) ** 2))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6
