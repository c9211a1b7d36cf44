"""Algorithms of drifting and static functions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from optimizers.dense import (
    GRID,
    check_query,
    drive,
    information_gain,
    make,
    posterior,
    value,
)

from sktvbo import IGPUCB, TVGPUCB, UITVBO, WGPUCB, problems


def forgetting(epsilon):
    """TVGP eq. (7) and (8)."""
    return lambda t, s: (1.0 - epsilon) ** (np.abs(t - s) / 2.0)


def wiener(opt, drift):
    """Of 1 + σ_w² (min(t, t') − t_start), t_start being the first time."""
    start = opt.X_[:, 1].min()
    return lambda t, s: 1.0 + drift * (np.minimum(t, s) - start)


def width(opt):
    return np.sqrt(0.2 * np.log(2.0 * len(opt.X_)))


@pytest.mark.parametrize(
    ("kind", "options", "origin"),
    [
        (TVGPUCB, {"epsilon": 0.05}, 1.7e9),
        (TVGPUCB, {}, 0.0),
        (UITVBO, {"drift_variance": 0.03}, 0.0),
        (UITVBO, {"drift_variance": 0.5}, 1.7e9),
    ],
)
def test_queries_are_where_the_bound_of_the_model_is_largest(kind, options, origin, asked):
    opt = drive(make(kind, **options), origin + np.arange(20.0))
    for t in origin + np.array([20.0, 20.5, 33.0]):
        x = opt.ask(t)
        if kind is TVGPUCB:
            temporal = forgetting(opt.epsilon_)
            assert opt.epsilon_ == options.get("epsilon", opt.epsilon_)
            assert 0.0 < opt.epsilon_ < 0.5
        else:
            temporal = wiener(opt, options["drift_variance"])
        check_query(asked, x, *posterior(opt, t, temporal), width(opt))
        opt.tell(x, value(x, t))
    assert opt.n_removed_ == 0
    assert len(opt.X_) == 23


# --- TV-GP-UCB ------------------------------------------------------------------------------------


def test_tv_recovers_the_rate_of_markov_samples():
    """On average over samples, from places drawn at random (TVGP appendix B)."""
    for epsilon in (0.02, 0.1):
        found = []
        for seed in range(4):
            problem = problems.make(
                "markov-gp", epsilon=epsilon, n_dims=1, horizon=120, random_state=seed
            )
            opt = TVGPUCB(problem.domain, n_initial_points=120, random_state=seed)
            drive(opt, np.arange(120.0), problem.observe)
            found.append(opt.epsilon_)
        assert 0.5 < np.exp(np.mean(np.log(found))) / epsilon < 2.0


# --- UI-TVBO --------------------------------------------------------------------------------------


def test_ui_mean_is_frozen_and_variance_grows_linearly_between_observations():
    opt = drive(make(UITVBO, drift_variance=0.07), range(20))
    gp, scale = opt.surrogate_, opt.told_y_.std()
    slope = 0.07 * gp.signal_variance_ * scale**2

    def at(t):
        return gp.predict(np.column_stack([GRID, np.full(401, t)]), return_std=True)

    first = [p.copy() for p in at(19.0)]
    for later in (0.5, 10.0, 300.0):
        mean, std = at(19.0 + later)
        assert_allclose(mean, first[0], rtol=1e-9)
        assert_allclose(std**2, first[1] ** 2 + slope * later, rtol=1e-7)
    assert opt.recommend(20.0) == pytest.approx(opt.recommend(300.0), abs=1e-3)


@pytest.mark.parametrize("refit_every", [1, 1000])
def test_ui_welcomes_what_was_observed_before_the_first_time(refit_every, asked):
    opt = drive(make(UITVBO, refit_every=refit_every), np.arange(10.0, 22.0))
    opt.tell([0.3], 27.0, 4.0)
    opt.tell([0.8], 31.0, 2.5)
    x = opt.ask(23.0)
    check_query(asked, x, *posterior(opt, 23.0, wiener(opt, 0.03)), width(opt))
    assert opt.X_[-1].tolist() == [0.8, 2.5]


@pytest.mark.parametrize("refit_every", [1, 1000])
@pytest.mark.parametrize("past", [9.0, -1e6])
def test_ui_function_before_its_start_is_what_it_is_then(refit_every, past):
    opt = drive(make(UITVBO, refit_every=refit_every), np.arange(10.0, 22.0))
    assert opt.recommend(past) == pytest.approx(opt.recommend(10.0))
    before, at = (opt.surrogate_.predict([[0.4, t]], return_std=True) for t in (past, 10.0))
    assert before == at


def test_ui_goes_on_when_the_first_queries_are_never_answered():
    """Pending queries from before all observations stand for hallucinated ones."""
    opt = make(UITVBO, n_initial_points=4)
    opt.ask(0.0)
    drive(opt, np.arange(3.0, 12.0))
    assert np.isfinite(opt.ask(12.0)).all()


# --- W-GP-UCB -------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [1e-7, 0.5, 600.0])
def test_w_discount_by_default_follows_the_interval(interval):
    opt = make(WGPUCB)
    for i in range(8):
        opt.tell([0.1 * i], np.sin(i), interval * i)
    discount = opt.surrogate_.noise_model.discount
    assert discount == pytest.approx(max(0.96 ** (1.0 / interval), 1e-300))
    assert 0.0 <= opt.ask(8.0 * interval)[0] <= 1.0


def test_there_is_no_rate_before_a_surrogate():
    opt = TVGPUCB([(0.0, 1.0)])
    opt.tell([0.5], 1.0, 0.0)
    assert opt.epsilon_ is None


# --- IGP-UCB's own width, written out densely -----------------------------------------------------


@pytest.mark.parametrize(("norm_bound", "delta"), [(1.0, 0.1), (2.5, 0.01)])
def test_igp_width_is_scaled_and_follows_the_information_gained(norm_bound, delta, asked):
    opt = drive(make(IGPUCB, norm_bound=norm_bound, delta=delta), range(20))
    for t in range(20, 23):
        x, gp = opt.ask(float(t)), opt.surrogate_
        K = gp.signal_variance_ * gp.spatial_kernel_(opt.X_[:, :1])
        gain = information_gain(K, gp.noise_variance_)
        width = norm_bound + np.sqrt(2.0 * (gain + 1.0 + np.log(1.0 / delta)))
        width *= np.sqrt(0.02)
        check_query(asked, x, *posterior(opt, t, lambda *times: 1.0), width)
        opt.tell(x, value(x, t))
