"""UI-TVBO is its surrogate: the Wiener model, written out densely."""

import numpy as np
import pytest
from optimizers.dense import GRID, check_query, dense, drive, standardized, value

from sktvbo import UITVBO


def wiener_posterior(opt, drift, t):
    """Of k_S (1 + σ_w² (min(t, t') − t_start)), t_start being the first time."""
    gp, X, times = opt.surrogate_, opt.X_[:, :1], opt.X_[:, 1]
    y, location, scale = standardized(opt)
    start = times.min()
    D = 1.0 + drift * (np.minimum(times[:, np.newaxis], times) - start)
    d = 1.0 + drift * (np.minimum(t, times) - start)
    K = gp.signal_variance_ * gp.spatial_kernel_(X)
    k = gp.signal_variance_ * gp.spatial_kernel_(GRID, X)
    prior = gp.signal_variance_ * (1.0 + drift * (t - start))
    mean, variance = dense(K * D, gp.noise_variance_, k * d, prior, y)
    return location + scale * mean, scale * np.sqrt(variance)


@pytest.mark.parametrize("origin", [0.0, 1.7e9])
@pytest.mark.parametrize("drift", [0.03, 0.5])
def test_ui_queries_where_the_wiener_model_says(drift, origin, asked):
    opt = UITVBO([(0.0, 1.0)], drift_variance=drift, n_initial_points=6, random_state=0)
    drive(opt, origin + np.arange(20.0))
    for t in origin + np.array([20.0, 20.5, 33.0]):
        x = opt.ask(t)
        width = np.sqrt(0.2 * np.log(2.0 * len(opt.X_)))
        check_query(asked, x, *wiener_posterior(opt, drift, t), width)
        opt.tell(x, value(x, t))
    assert opt.n_removed_ == 0


def test_ui_mean_is_frozen_and_variance_grows_linearly_between_observations():
    opt = UITVBO([(0.0, 1.0)], drift_variance=0.07, n_initial_points=6, random_state=0)
    drive(opt, range(20))
    gp, scale = opt.surrogate_, opt.told_y_.std()
    slope = 0.07 * gp.signal_variance_ * scale**2
    first = [p.copy() for p in gp.predict(np.column_stack([GRID, np.full(401, 19.0)]), True)]
    for later in (0.5, 10.0, 300.0):
        mean, std = gp.predict(np.column_stack([GRID, np.full(401, 19.0 + later)]), True)
        np.testing.assert_allclose(mean, first[0], rtol=1e-9)
        np.testing.assert_allclose(std**2, first[1] ** 2 + slope * later, rtol=1e-7)
    assert opt.recommend(20.0) == pytest.approx(opt.recommend(300.0), abs=1e-3)


@pytest.mark.parametrize("refit_every", [1, 1000])
def test_ui_welcomes_what_was_observed_before_the_first_time(refit_every, asked):
    opt = UITVBO([(0.0, 1.0)], n_initial_points=6, refit_every=refit_every, random_state=0)
    drive(opt, np.arange(10.0, 22.0))
    opt.tell([0.3], 27.0, 4.0)
    opt.tell([0.8], 31.0, 2.5)
    x = opt.ask(23.0)
    width = np.sqrt(0.2 * np.log(2.0 * 14))
    check_query(asked, x, *wiener_posterior(opt, 0.03, 23.0), width)
    assert opt.X_[-1].tolist() == [0.8, 2.5]


@pytest.mark.parametrize("refit_every", [1, 1000])
@pytest.mark.parametrize("past", [9.0, -1e6])
def test_ui_recommends_for_times_before_the_first(refit_every, past):
    """Before its start the function was what it is then."""
    opt = UITVBO([(0.0, 1.0)], n_initial_points=6, refit_every=refit_every, random_state=0)
    drive(opt, np.arange(10.0, 22.0))
    assert opt.recommend(past) == pytest.approx(opt.recommend(10.0))
    before, at = (opt.surrogate_.predict([[0.4, t]], return_std=True) for t in (past, 10.0))
    assert before == at


def test_ui_goes_on_when_the_first_queries_are_never_answered():
    """Pending queries from before all observations stand for hallucinated ones."""
    opt = UITVBO([(0.0, 1.0)], n_initial_points=4, random_state=0)
    opt.ask(0.0)
    drive(opt, np.arange(3.0, 12.0))
    assert np.isfinite(opt.ask(12.0)).all()


@pytest.mark.parametrize("drift_variance", [0.0, -1.0, np.inf, "much"])
def test_bad_drift_variance(drift_variance):
    opt = UITVBO([(0.0, 1.0)], drift_variance=drift_variance, n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match=r"'drift_variance' parameter of UITVBO .* \(0, inf\)"):
        drive(opt, range(5))
