"""A bound on injected noise."""

from math import log

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from staleness.surrogates import STATIC, so_far, surrogate

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection
from sktvbo.staleness import NoiseThreshold


def injected(times, model=None):
    X = np.column_stack([np.linspace(0.0, 1.0, len(times)), times])
    gp = TimeVaryingGPRegressor(
        RBF(0.3), STATIC, noise_model=model or QuadraticInjection(0.5), optimizer=None
    )
    return gp.fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("cap", "bound"),
    [("log", log(30)), (7.25, 7.25), (7.2499, 7.2499), (lambda s: s / 3.0, 10.0), (0.0, 0.0)],
)
def test_observations_noisier_than_the_bound_are_dropped(cap, bound):
    times = np.arange(30.0)
    policy = NoiseThreshold(cap)
    found = policy.after_add(injected(times), now=29.0)
    ratio = 1.0 + (0.5 * (29.0 - times)) ** 2  # 7.25 at age 5
    expected = [i for i in range(30) if ratio[i] > bound and i != 29]
    assert found.tolist() == expected
    assert policy.cap_ == pytest.approx(bound)


def test_the_bound_grows_with_all_observations_told():
    gp, policy = injected(np.arange(10.0)), NoiseThreshold(lambda s: float(s))
    policy.after_add(gp, now=9.0)
    assert policy.cap_ == 10.0  # the rows of the surrogate, without `watch`
    for steps in (10, 11, 12):
        policy.watch(so_far(n_told=steps))
        policy.after_add(gp, now=9.0)
        assert (policy.steps_, policy.cap_) == (steps, steps)


@pytest.mark.parametrize(
    ("times", "dropped"),
    [([0.0, 1.0, 2.0], [0, 1]), ([2.0, 0.0, 1.0], [1, 2]), ([2.0, 1.0, 2.0], [1])],
)
def test_the_newest_is_kept_for_any_bound(times, dropped):
    found = NoiseThreshold(0.0).after_add(injected(times), now=50.0)
    assert found.tolist() == dropped


def test_the_noise_model_is_the_surrogates():
    times = np.arange(30.0)
    found = NoiseThreshold(4.0).after_add(injected(times, GeometricInjection(0.5)), now=29.0)
    assert found.tolist() == list(range(27))  # 2^age > 4


def test_a_noise_model_is_required():
    with pytest.raises(ValueError, match=r"noise model, .* for NoiseThreshold\. Got None"):
        NoiseThreshold().after_add(surrogate(), 40.0)
