"""The forgetting rate is recovered from draws of the Markov model (TVGP, appendix B)."""

import numpy as np
import pytest
from contract.cases import some
from scipy import stats
from sklearn.gaussian_process.kernels import RBF

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Empirical, Forgetting

NOISE = 0.01
N_DRAWS = 20


class TwiceAsFast(Forgetting):
    """Wrong: |t - t'| in the exponent, where the model has |t - t'| / 2."""

    pace = 2.0

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = None if Y is None else self.pace * Y
        return super().__call__(self.pace * X, Y, eval_gradient)


class SlightlyTooFast(TwiceAsFast):
    """Slightly wrong: shows the resolution of the criterion."""

    pace = 1.15


GRID = np.linspace(0.0, 1.0, 16)[:, np.newaxis]
ARMS = np.arange(6.0)[:, np.newaxis]
CORRELATED = 0.6 + 0.4 * np.eye(6)
# name: (points, spatial kernel)
SPACES = {
    "grid": (GRID, RBF(0.2, "fixed")),
    "arms": (ARMS, Empirical(CORRELATED)),
}


def draw(space, epsilon, seed, n_steps=100):
    """Draw noisy observations of f_1 = g_1, f_{t+1} = √(1-ε) f_t + √ε g_{t+1}, two a step."""
    rng = np.random.RandomState(seed)
    places, kernel = SPACES[space]
    values, vectors = np.linalg.eigh(kernel(places))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    f, X, y = root @ rng.normal(size=len(places)), [], []
    for t in range(n_steps):
        if t > 0:
            f = np.sqrt(1.0 - epsilon) * f + np.sqrt(epsilon) * root @ rng.normal(size=len(f))
        for i in rng.randint(len(places), size=2):
            X.append([places[i, 0], float(t)])
            y.append(f[i] + np.sqrt(NOISE) * rng.normal())
    return np.array(X), np.array(y)


def learn(space, X, y, kind=Forgetting):
    """Learn the rate, with all else fixed at the truth."""
    return TimeVaryingGPRegressor(
        SPACES[space][1],
        kind(0.05),
        signal_variance_bounds="fixed",
        noise_variance=NOISE,
        noise_variance_bounds="fixed",
    ).fit(X, y)


def estimates(space, epsilon, kind=Forgetting):
    """Return log ε learnt from each draw, and its standard error by the curvature."""
    found, errors, step = [], [], 1e-3
    for seed in range(N_DRAWS):
        gp = learn(space, *draw(space, epsilon, seed), kind)
        slopes = [
            gp.log_marginal_likelihood(gp.theta_ + move, eval_gradient=True)[1][0]
            for move in (-step, step)
        ]
        found.append(gp.theta_[0])
        errors.append(((slopes[0] - slopes[1]) / (2.0 * step)) ** -0.5)
    return np.array(found), np.array(errors)


def p_values(found, errors, epsilon):
    """Return p-values of the mean (Student's t) and of the standardized errors (chi-square).

    The logarithm of ε is close to normal and its bias is below a fifth of the mean's standard error
    at these sizes (by 300 draws). The chi-square is two-sided: errors smaller than they claim are
    as wrong.
    """
    error = found - np.log(epsilon)
    on_mean = stats.ttest_1samp(error, 0.0).pvalue
    chi = stats.chi2(len(error))
    squares = np.sum((error / errors) ** 2)
    return on_mean, 2.0 * min(chi.cdf(squares), chi.sf(squares))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "epsilon",
    [pytest.param(0.03, marks=pytest.mark.slow), 0.1, pytest.param(0.3, marks=pytest.mark.slow)],
)
def test_the_rate_is_recovered(space, epsilon):
    on_mean, on_spread = p_values(*estimates(space, epsilon), epsilon)
    assert on_mean > 0.01
    assert on_spread > 0.01


@pytest.mark.parametrize("space", some(SPACES, ("grid",)))
@pytest.mark.parametrize(
    "epsilon", [0.1, *(pytest.param(e, marks=pytest.mark.slow) for e in (0.03, 0.3))]
)
def test_a_wrong_exponent_is_detected(space, epsilon):
    found, errors = estimates(space, epsilon, TwiceAsFast)
    on_mean, on_spread = p_values(found, errors, epsilon)
    assert on_mean < 1e-8
    assert on_spread < 1e-8
    # It learns half of the rate: 1 - ε' = √(1 - ε).
    assert p_values(found, errors, 1.0 - np.sqrt(1.0 - epsilon))[0] > 0.01


@pytest.mark.parametrize("space", some(SPACES, ("arms",)))
def test_a_slightly_wrong_exponent_is_detected(space):
    assert p_values(*estimates(space, 0.1, SlightlyTooFast), 0.1)[0] < 0.01


@pytest.mark.parametrize("unit", [1 / 60, 10.0])
def test_the_rate_is_per_unit_of_time(unit):
    X, y = draw("grid", 0.1, seed=0)
    by_step = learn("grid", X, y).temporal_kernel_.epsilon
    by_unit = learn("grid", X * [1.0, unit], y).temporal_kernel_
    expected = 1.0 - (1.0 - by_step) ** (1.0 / unit)
    assert by_unit.epsilon == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "bound"), [(0.0, 1e-4), (1.0, 0.9)], ids=["static", "white"])
def test_rates_beyond_the_bounds_end_at_them(epsilon, bound):
    gp = learn("grid", *draw("grid", epsilon, seed=0))
    assert gp.temporal_kernel_.epsilon == pytest.approx(bound, rel=1e-6)
    assert np.isfinite(gp.predict([[0.5, 100.0]])).all()
