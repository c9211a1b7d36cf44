"""TV-GP-UCB is its surrogate: the forgetting model, written out densely."""

import numpy as np
import pytest
from optimizers.dense import GRID, check_query, dense, drive, standardized, value

from sktvbo import TVGPUCB, problems


def forgetting_posterior(opt, epsilon, t):
    """TVGP eq. (7) and (8) at the grid at time t, in the units of y."""
    gp, X, times = opt.surrogate_, opt.X_[:, :1], opt.X_[:, 1]
    y, location, scale = standardized(opt)
    D = (1.0 - epsilon) ** (np.abs(times[:, np.newaxis] - times) / 2.0)
    d = (1.0 - epsilon) ** (np.abs(t - times) / 2.0)
    K = gp.signal_variance_ * gp.spatial_kernel_(X)
    k = gp.signal_variance_ * gp.spatial_kernel_(GRID, X)
    mean, variance = dense(K * D, gp.noise_variance_, k * d, gp.signal_variance_, y)
    return location + scale * mean, scale * np.sqrt(variance)


@pytest.mark.parametrize("origin", [0.0, 1.7e9])
@pytest.mark.parametrize("epsilon", [0.05, "learn"])
def test_tv_queries_where_the_forgetting_model_says(epsilon, origin, asked):
    opt = TVGPUCB([(0.0, 1.0)], epsilon=epsilon, n_initial_points=6, random_state=0)
    drive(opt, origin + np.arange(25.0))
    for t in origin + np.array([25.0, 25.5, 40.0]):
        x = opt.ask(t)
        rate = opt.epsilon_
        assert rate == 0.05 if epsilon == 0.05 else 0.0 < rate < 0.5
        width = np.sqrt(0.2 * np.log(2.0 * len(opt.X_)))
        check_query(asked, x, *forgetting_posterior(opt, rate, t), width)
        opt.tell(x, value(x, t))
    assert opt.n_removed_ == 0
    assert len(opt.X_) == 28


def test_tv_rate_is_that_of_the_kernel():
    opt = drive(TVGPUCB([(0.0, 1.0)], n_initial_points=6, random_state=0), range(20))
    ages = np.array([[1.0], [7.0]])
    correlations = opt.surrogate_.temporal_kernel_(np.zeros((1, 1)), ages)[0]
    np.testing.assert_allclose(correlations, (1.0 - opt.epsilon_) ** (ages[:, 0] / 2.0))


def test_tv_recovers_the_rate_of_markov_samples():
    """On average over samples, from places drawn at random (TVGP appendix B)."""
    means = []
    for epsilon in (0.02, 0.1):
        found = []
        for seed in range(6):
            problem = problems.make(
                "markov-gp", epsilon=epsilon, n_dims=1, horizon=120, random_state=seed
            )
            opt = TVGPUCB(problem.domain, n_initial_points=120, random_state=seed)
            for t in range(120):
                x = opt.ask(float(t))
                opt.tell(x, problem.observe(x, float(t)))
            found.append(opt.epsilon_)
        means.append(np.exp(np.mean(np.log(found))))
    assert 0.5 < means[0] / 0.02 < 2.0
    assert 0.5 < means[1] / 0.1 < 2.0


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1, np.nan, "guess", None])
def test_bad_epsilon(epsilon):
    opt = TVGPUCB([(0.0, 1.0)], epsilon=epsilon, n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match="'epsilon' parameter of TVGPUCB must be 'learn' or"):
        drive(opt, range(5))
