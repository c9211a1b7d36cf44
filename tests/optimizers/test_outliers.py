"""Optimizers with outliers: weights in the run, its frame, its log and its journal."""

import logging
from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import BOLT, WDBO, BayesianOptimizer
from sktvbo.gaussian_process import (
    GeometricInjection,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
)
from sktvbo.staleness import RelevancyBudget, RelevancyCap

BOX = [(0.0, 10.0)]
SPIKES = {3: 400.0, 20: -300.0, 31: 1000.0}


def tell(opt, times, spikes=SPIKES):
    rng = np.random.RandomState(1)
    noise = 0.1 * rng.normal(size=60)
    for t in times:
        x = opt.ask(t)
        opt.tell(x, -0.2 * (x[0] - 5.0 - 0.03 * t) ** 2 + noise[t] + spikes.get(t, 0.0), t)
    return opt


def test_spikes_do_not_spoil_a_run():
    errors = {False: [], True: []}
    for robust, seed in product((False, True), range(3)):
        opt = tell(WDBO(BOX, random_state=seed, robust=robust), range(40))
        errors[robust].append(np.abs(opt.told_X_[22:, 0] - 5.0 - 0.03 * np.arange(22, 40)).mean())
        assert robust == (opt.surrogate_.noise_std_ < 0.5)
    assert np.mean(errors[True]) < 0.7 < np.mean(errors[False])


def test_the_frame_shows_weights_of_present_and_removed_observations():
    opt = WDBO(BOX, random_state=0, robust=True)
    tell(opt, range(5))
    assert opt.to_frame()["outlier_weight"].isna().sum() <= 4  # told before the surrogate
    tell(opt, range(5, 40))
    frame = opt.to_frame()
    assert set(SPIKES) == set(frame.index[frame.outlier_weight < 0.01])
    here = frame.removed_at.isna()
    assert_array_equal(frame.outlier_weight[here], opt.surrogate_.outlier_weights_)
    assert not here[31]
    assert frame.outlier_weight.notna().all()
    opt.ask(40)
    assert np.isnan(opt.to_frame()["outlier_weight"].iloc[-1])
    plain = tell(WDBO(BOX, random_state=0), range(12)).to_frame()
    assert plain["outlier_weight"].isna().all()


def test_the_log_names_outliers_and_those_that_are_none(caplog):
    caplog.set_level(logging.INFO, "sktvbo.optimizers")
    opt = WDBO(BOX, random_state=0, robust=True, n_initial_points=5)
    change = dict.fromkeys(range(20, 40), 30.0)
    tell(opt, range(30), change | {15: 500.0})
    events = [r.sktvbo for r in caplog.records if r.sktvbo["event"] == "outlier"]
    found = [(f["observation"], f["t"], f["weight"] < 0.5) for f in events]
    assert found[:2] == [(15, 15.0, True), (20, 20.0, True)]
    # One or two at the new level are outliers, and with the next observation none is.
    named = [i for i, _, is_outlier in found[1:] if is_outlier]
    assert named in ([20], [20, 21])
    expected = [(i, 21.0 + (named[-1] == 21), False) for i in named]
    assert sorted(event for event in found if not event[2]) == expected
    assert "Outlier: observation 15 has weight" in caplog.text
    assert "No outlier: observation 20 has weight 1 again." in caplog.text


@pytest.mark.parametrize("n_dims", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_after_a_jump_of_the_optimum_observations_have_full_weight(n_dims):
    before, after = [], []
    for seed in range(3):
        rng, regret = np.random.RandomState(seed), []
        opt = WDBO([(0.0, 1.0)] * n_dims, random_state=seed, robust=True)
        for t in range(45):
            x = opt.ask(t)
            value = -6.0 * ((x - (0.25 if t < 30 else 0.75)) ** 2).sum()
            opt.tell(x, value + 0.1 * rng.normal(), t)
            regret.append(-value)
            # What looks like an outlier after the jump is none once others have followed.
            if t > 30:
                since = opt.surrogate_.X_train_[:, -1] >= 30
                low = np.count_nonzero(opt.surrogate_.outlier_weights_[since] < 1.0)
                assert low <= (seed > 0)
        assert np.count_nonzero(since) >= 5
        assert low == 0
        before.append(regret[30])
        after.append(np.mean(regret[40:]))
    assert np.mean(after) < 0.3 * n_dims < np.min(before)


@pytest.mark.parametrize("policy", [RelevancyBudget(0.5), RelevancyCap(40)])
def test_policies_remove_confirmed_outliers_first_and_no_others(policy):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=41), np.arange(41.0)])
    y = np.sin(6.0 * X[:, 0] + 0.05 * X[:, 1]) + 0.05 * rng.normal(size=41)
    y[30] += 50.0
    gp = TimeVaryingGPRegressor(robust=True).fit(X[:40], y[:40])
    for size in (0.0, 60.0):
        new = gp.condition_on(X[40:], y[40:] + size)
        assert (new.outlier_weights_[40] < 0.01) == (size > 0.0)
        if isinstance(policy, RelevancyBudget):
            policy.budget_, policy.now_, policy.length_scale_ = 1.0, 39.0, 20.0
        removed = list(policy.after_add(new.fitted_, 40.0))
        assert removed[0] == 30
        assert 40 not in removed
        assert np.argmin(new.relevancy(40.0)) == 30


SPARSE = partial(SparseTimeVaryingGPRegressor, inducing="greedy")


@pytest.mark.parametrize(
    ("kind", "model"), [(BOLT, TimeVaryingGPRegressor), (BayesianOptimizer, SPARSE)]
)
def test_a_users_surrogate_becomes_robust(kind, model):
    given = model(normalize_y=True)
    opt = tell(kind(BOX, surrogate=given, random_state=0, robust=True), range(25))
    assert opt.surrogate_.robust
    assert not given.robust
    weights = opt.to_frame()["outlier_weight"]
    assert set(weights.index[weights < 0.01]) == {3, 20}
    # It may be robust by itself.
    own = kind(BOX, surrogate=model(robust=True, normalize_y=True), random_state=0)
    assert_array_equal(tell(own, range(25)).told_X_, opt.told_X_)
    assert_array_equal(own.to_frame()["outlier_weight"], weights)


def test_it_minimizes_with_several_at_once_and_takes_observations_back():
    n_doubted = 0
    for seed in range(2):
        opt, t = WDBO(BOX, random_state=0, robust=True, maximize=False), np.arange(30.0)
        x = np.random.RandomState(2 * seed).uniform(0.0, 10.0, size=(30, 1))
        noise = 0.3 * np.random.RandomState(2 * seed + 1).normal(size=30)
        y = 0.2 * (x[:, 0] - 5.0) ** 2 + noise
        y[12] = -1e4
        opt.tell_many(x, y, t)
        weights = opt.to_frame()["outlier_weight"]
        assert weights[12] < 1e-3
        assert (weights.drop(12) > 0.1).all()
        n_doubted += np.count_nonzero(weights.drop(12) < 0.4)
        opt.refit()
        weights = opt.to_frame()["outlier_weight"]
        assert weights[12] < 1e-3
        assert (weights.drop(12) == 1.0).all()
        assert abs(opt.recommend(30.0)[0] - 5.0) < 1.0
        opt.tell([2.0], 500.0, 30.0)
        opt.untell()
        assert (opt.surrogate_.outlier_weights_ > 0.5).all() or len(opt.y_) < 31
    assert n_doubted <= 1  # of 58, before a refit


def test_surrogates_that_cannot_weigh_outliers_are_errors():
    aging = TimeVaryingGPRegressor(noise_model=GeometricInjection())
    with pytest.raises(ValueError, match=r"'robust'.*noise grows with age"):
        WDBO(BOX, robust=True, surrogate=aging).ask(0.0)
