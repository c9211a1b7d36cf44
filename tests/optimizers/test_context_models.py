"""Default models beside a context and with seasons, and the observations that stay for them."""

import numpy as np
import pytest

from sktvbo import BOLT, WDBO
from sktvbo.domain import Context
from sktvbo.optimizers._default_models import (
    Times,
    seasonal,
    smooth_surrogate,
    started_without_seasons,
)


def regret_beside_a_context(optimizer, n_steps, n_idle, noise):
    """Mean regret, after 40 steps, where the best x follows the first variable of a context."""
    rng, regret = np.random.default_rng(3), []
    for t in range(n_steps):
        context = {f"c{i}": rng.uniform() for i in range(1 + n_idle)}
        x = optimizer.ask(t, context=context)
        regret.append(4.0 * (x["x"] - 0.2 - 0.6 * context["c0"]) ** 2)
        optimizer.tell(x, -regret[-1] + noise * rng.normal())
    return np.mean(regret[40:])


def domain(n_idle):
    return {"x": ("real", 0.0, 1.0)} | {f"c{i}": Context(0.0, 1.0) for i in range(1 + n_idle)}


@pytest.mark.parametrize("kind", [WDBO, BOLT])
def test_variables_of_a_context_that_do_not_matter_cost_little(kind):
    options = {"max_size": 100} if kind is BOLT else {}
    optimizer = kind(domain(5), random_state=0, **options)
    # With a lengthscale that all share the regret is about 0.1, that of uniform queries 0.45.
    assert regret_beside_a_context(optimizer, 90, n_idle=5, noise=0.02) < 0.03
    matters, *idle = optimizer.surrogate_.spatial_kernel_.length_scale[1:]
    assert min(idle) > 1.5 * matters


def test_parameters_that_do_not_matter_cost_little_with_seasons():
    optimizer = WDBO([(0.0, 1.0)] * 6, seasonal_periods=24.0, random_state=0)
    rng, regret = np.random.default_rng(2), []
    for t in range(100):
        x = optimizer.ask(t)
        best = np.array([0.5 + 0.3 * np.sin(2.0 * np.pi * t / 24.0), 0.4])
        regret.append(4.0 * ((x[:2] - best) ** 2).sum())
        optimizer.tell(x, -regret[-1] + 0.02 * rng.normal())
    assert np.mean(regret[70:]) < 0.04


@pytest.mark.parametrize("options", [{}, {"seasonal_periods": 24.0}, {"max_size": 60}])
@pytest.mark.parametrize("place", [domain(0), {"arm": list("abc"), "c": Context(list("uv"))}])
def test_enough_observations_stay_beside_a_context(place, options):
    """Noise that is explained by fast changes removes all others, and is never corrected."""
    optimizer, rng = WDBO(place, random_state=0, **options), np.random.default_rng(1)
    names = [name for name in place if name.startswith("c")]
    for t in range(130):
        context = {n: rng.choice(list("uv")) if "arm" in place else rng.uniform() for n in names}
        query = optimizer.suggest(t, context=context)
        optimizer.tell(query, rng.normal())
        least = min(t + 1, 100, options.get("max_size", 100))
        assert len(optimizer.X_) >= least
    without = WDBO({"x": ("real", 0.0, 1.0)}, random_state=0)
    without.ask(0)
    assert without.policy_.min_size == 10


def times_of(n, **options):
    t = np.arange(float(n))
    return Times(t, t, n_unit=2, groups=(0, 1), steps=(0.0, 0.0), **options)


def test_noise_beside_a_context_is_not_explained_by_fast_changes():
    """The likelihood of few rows says nothing of the lengthscale in time; the prior does."""
    found = {True: [], False: []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.uniform(size=(80, 2)), np.arange(80.0)])
        for has_context, scales in found.items():
            surrogate = smooth_surrogate(times_of(80, has_context=has_context))
            fitted = surrogate.set_params(time_column=-1).fit(X, rng.normal(size=80))
            scales.append(fitted.temporal_kernel_.length_scale)
    assert np.median(found[False]) < 40.0 < np.median(found[True])


@pytest.mark.parametrize("periods", [(24.0,), (24.0, 168.0)])
def test_priors_of_the_lengthscale_in_time_follow_it_into_a_kernel_with_seasons(periods):
    plain = smooth_surrogate(times_of(30, has_context=True))
    with_seasons = seasonal(smooth_surrogate(times_of(30, has_context=True)), periods)
    name = "temporal_kernel__" + len(periods) * "k1__" + "length_scale"
    prior = plain.hyperpriors["temporal_kernel__length_scale"]
    assert repr(with_seasons.hyperpriors[name]) == repr(prior)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(30, 2)), np.arange(30.0)])
    started = started_without_seasons(
        with_seasons.set_params(time_column=-1), len(periods), X, rng.normal(size=30)
    )
    kernel = started.temporal_kernel
    for _ in periods:
        kernel = kernel.k1
    assert kernel.length_scale > 20.0
