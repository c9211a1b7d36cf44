"""One step of W-DBO as published, compared with that of its authors' package wdbo_algo 1.0.7.

The reference numbers are in wdbo_algo.json, made with the packages of
benchmarks/requirements-peers.txt at commit d022db3:

    python benchmarks/papers/beside_wdbo_algo.py tests/papers/wdbo_algo.json

Data, hyperparameters and the scale of y are held within the step. Where wdbo_algo differs from the
paper on purpose, the test states the one change with which the numbers agree.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from rounding import assert_stored
from sklearn.gaussian_process.kernels import Matern

from sktvbo import papers
from sktvbo.acquisition import AcquisitionState
from sktvbo.relevancy import spatial_convolution, temporal_convolution

CASES = json.loads(Path(__file__).with_name("wdbo_algo.json").read_text())
TOLERANCE = {"rtol": 0.0, "atol": 1e-8}


def exceeds_cap(case):
    """Return True if the convolution of the spatial kernel exceeds 1, where wdbo_algo caps it."""
    S = np.array(case["S"])
    return bool(spatial_convolution(Matern(case["theta"][1], nu=2.5), S).max() > 1.0)


UNCAPPED = [case for case in CASES if not exceeds_cap(case)]
CAPPED = [case for case in CASES if exceeds_cap(case)]


def conditioned(case):
    """Return the published surrogate of a case, with its hyperparameters held."""
    signal, l_space, l_time, noise = case["theta"]
    surrogate = papers.published("W-DBO", horizon=1.0).surrogate.set_params(
        spatial_kernel=Matern(l_space, nu=2.5),
        temporal_kernel=Matern(l_time, nu=1.5),
        signal_variance=signal,
        noise_variance=noise,
        optimizer=None,
    )
    return surrogate.fit(np.column_stack([case["S"], case["t"]]), case["y"])


def posterior(case):
    """Return mean and deviation of f at the places of a case, of standardized y."""
    places, y = case["places"], np.array(case["y"])
    at = np.column_stack([places, np.full(len(places), case["t"][-1])])
    mean, std = conditioned(case).predict(at, return_std=True)
    return (mean - y.mean()) / y.std(), std / y.std()


def removals(case):
    """Return rows that the published policy removes, in order, and the budget left."""
    policy, now = papers.published("W-DBO", horizon=1.0)._make_policy(), case["t"][-1]
    policy.budget_, policy.now_, policy.length_scale_ = 1.0, case["before"], case["theta"][2]
    return policy.after_add(conditioned(case), now).tolist(), policy.budget_


def capped_squares(case):
    """Return the squares (n,) of eq. (12), with the convolution of the spatial kernel at most 1."""
    signal, l_space, l_time, noise = case["theta"]
    S, t, y = (np.array(case[name]) for name in ("S", "t", "y"))
    space, time = Matern(l_space, nu=2.5), Matern(l_time, nu=1.5)
    C = np.minimum(spatial_convolution(space, S), 1.0) * temporal_convolution(time, t, t[-1])
    P = np.linalg.inv(signal * space(S) * time(t[:, np.newaxis]) + noise * np.eye(len(t)))
    a, p = P @ ((y - y.mean()) / y.std()), P.diagonal()
    return np.sum(P * (P @ C), axis=1) * (a**2 + p) / p**2 / (a @ C @ a + np.sum(P * C))


def test_cases_with_and_without_the_cap():
    assert {len(case["S"][0]) for case in UNCAPPED} == {1, 2, 3, 4}
    assert len(CAPPED) == 2
    assert all(case["removed"] for case in CASES)


@pytest.mark.parametrize("case", CASES)
def test_posterior(case):
    mean, std = posterior(case)
    assert_allclose(mean, case["mean"], **TOLERANCE)
    assert_allclose(std, case["std"], **TOLERANCE)


@pytest.mark.parametrize("case", CASES)
def test_bound_differs_in_the_noise_only(case):
    (n, d), noise = np.shape(case["S"]), case["theta"][3]
    (mean, std), ucb = posterior(case), papers.published("W-DBO", horizon=1.0).acquisition
    state = AcquisitionState(n=n, n_told=n, n_dims=d)
    noisy = np.sqrt(std**2 + noise)
    assert_allclose(noisy, case["noisy_std"], **TOLERANCE)
    assert_allclose(ucb(mean, noisy, state)[0], case["bound"], **TOLERANCE)
    beta = 0.2 * d * np.log(2 * n)
    assert_allclose(ucb(mean, std, state)[0], mean + np.sqrt(beta) * std, **TOLERANCE)
    assert np.all(np.array(case["bound"]) > ucb(mean, std, state)[0] + 0.01)


@pytest.mark.parametrize("case", UNCAPPED)
def test_relevancy(case):
    relevancy = conditioned(case).relevancy(case["t"][-1])
    assert_allclose(relevancy, case["relevancy"], **TOLERANCE)


@pytest.mark.parametrize("case", UNCAPPED)
def test_removals(case):
    assert_stored(lambda y: removals(case | {"y": y})[0], case["y"], case["removed"], atol=0.0)
    removed, budget = removals(case)
    assert 2 < len(removed) < len(case["t"]) - 2
    # The budget is divided by a price for each removal.
    assert_allclose(budget, case["budget"], rtol=1e-8 * len(removed))


@pytest.mark.parametrize("case", CAPPED)
def test_relevancy_where_the_cap_binds(case):
    squares, theirs = capped_squares(case), np.array(case["relevancy"])
    expected = np.where(squares < 0.0, -1.0, np.sqrt(np.maximum(squares, 0.0)))
    assert_allclose(theirs, expected, **TOLERANCE)
    ours = conditioned(case).relevancy(case["t"][-1])
    assert np.abs(ours - theirs).max() > 0.1


def test_negative_squares_cost_nothing_in_wdbo_algo():
    (case,) = [case for case in CAPPED if min(case["relevancy"]) < 0.0]
    assert case["removed"][0] in np.flatnonzero(np.array(case["relevancy"]) < 0.0)
    removed, _ = removals(case)
    assert set(removed) != set(case["removed"])
    assert conditioned(case).relevancy(case["t"][-1]).min() >= 0.0
