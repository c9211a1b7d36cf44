"""W-DBO's own decision: every removal is paid for, and none that could be afforded is left."""

import copy

import numpy as np
import pytest
from optimizers.dense import above_prior_mean, inside

from sktvbo import WDBO
from sktvbo.gaussian_process._kernel_families import temporal_length_scale
from sktvbo.relevancy import wasserstein_relevancy
from sktvbo.staleness import RelevancyBudget


def relevancy(gp, rows, y, now):
    return wasserstein_relevancy(
        gp.X_train_[rows],
        above_prior_mean(gp, gp.X_train_[rows], y),
        spatial_kernel=gp.spatial_kernel_,
        temporal_kernel=gp.temporal_kernel_,
        signal_variance=gp.signal_variance_,
        noise_variance=gp.noise_variance_,
        mean_prior_std=1.0,
        now=now,
    )


@pytest.mark.parametrize("alpha", [0.25, 2.0])
def test_budget_ledger(alpha, monkeypatch):
    """Algorithm 1, recomputed from scratch with a fresh relevancy after each removal."""
    opt = WDBO([(0.0, 1.0)], alpha=alpha, n_initial_points=14, random_state=0)
    steps = []
    original = RelevancyBudget.after_add

    def spy(policy, surrogate, now):
        before = getattr(policy, "budget_", None)
        removed = original(policy, surrogate, now)
        y = surrogate.y_train_
        # A copy: the surrogate forgets what was removed as soon as the policy returns.
        y = (y - y.mean()) / y.std()
        steps.append((copy.copy(surrogate), y, now, before, copy.copy(policy), removed))
        return removed

    monkeypatch.setattr(RelevancyBudget, "after_add", spy)
    for t in range(60):
        x = opt.ask(float(t))
        opt.tell(x, np.sin(6.0 * x[0] + 0.2 * t))

    n_removed, previous = 0, None
    for surrogate, y, now, before, policy, removed in steps:
        budget = 1.0
        if before is not None:
            length_scale, earlier = previous
            budget = before * (1.0 + alpha) ** min((now - earlier) / length_scale, 10.0)
        rows = np.arange(len(y))
        for index in removed:
            R = relevancy(surrogate, rows, y[rows], now)
            assert rows[np.argmin(R)] == index
            assert budget > 1.0 + R.min()
            budget /= 1.0 + R.min()
            rows = rows[rows != index]
        if budget > 1.0:
            left = relevancy(surrogate, rows, y[rows], now).min()
            assert len(rows) == policy.min_size or budget <= 1.0 + left
            budget = min(budget, 1.0 + left) if len(rows) == policy.min_size else budget
        assert policy.budget_ == pytest.approx(budget, rel=1e-6)
        previous = temporal_length_scale(surrogate.temporal_kernel_), now
        n_removed += len(removed)
    assert n_removed == opt.n_removed_ > 5


def test_a_faster_drift_keeps_less():
    sizes = []
    for speed in (0.01, 0.5):
        opt = WDBO([(0.0, 1.0)], n_initial_points=10, random_state=0)
        for t in range(60):
            x = opt.ask(float(t))
            opt.tell(x, np.sin(6.0 * x[0] + speed * t))
        sizes.append(len(opt.X_))
    assert sizes[1] < sizes[0]


def test_lengthscale_is_bounded_by_the_recent_sampling_interval():
    opt = WDBO([(0.0, 1.0)], n_initial_points=5, random_state=0)
    for t in 3.0 * np.arange(12):
        opt.tell(opt.ask(t), np.sin(40.0 * t))  # nothing but noise in time
    low, high = opt.surrogate_.temporal_kernel_.length_scale_bounds
    assert low == pytest.approx(15.0)
    assert high == pytest.approx(10.0 * np.ptp(opt.X_[:, 1]), rel=0.2)
    assert low <= opt.surrogate_.temporal_kernel_.length_scale <= high


@pytest.mark.parametrize("maximize", [True, False])
def test_history_tells_what_was_removed_and_when(maximize):
    """Observation by observation, from the data sets between the steps."""
    opt = WDBO([(0.0, 1.0)], alpha=1.0, n_initial_points=12, maximize=maximize, random_state=0)
    removed_at, sizes, budgets = {}, [], []
    kept = np.empty((0, 2))
    for t in 0.5 * np.arange(50.0):
        x = opt.ask(t)
        opt.tell(x, np.sin(6.0 * x[0] + 0.4 * t))
        now_kept = opt.X_
        for row in np.vstack([kept, [*x, t]]):
            if not (now_kept == row).all(axis=1).any():
                removed_at[tuple(row)] = t
        kept = now_kept
        sizes.append(len(kept))
        budgets.append(getattr(opt.policy_, "budget_", 1.0))
    assert len(removed_at) == opt.n_removed_ > 10
    expected = [removed_at.get(tuple(row), np.nan) for row in opt.told_X_]
    np.testing.assert_array_equal(opt.removed_at_, expected)
    history = opt.history_
    np.testing.assert_array_equal(history["time"], 0.5 * np.arange(50.0))
    np.testing.assert_array_equal(history["n"], sizes)
    np.testing.assert_array_equal(history["budget"], budgets)
    # The size of the data set after each step can be had from the times of the removals.
    times = opt.told_X_[:, 1]
    alive = [np.sum((times <= t) & ~(opt.removed_at_ <= t)) for t in times]
    np.testing.assert_array_equal(alive, sizes)


def test_query_is_where_the_bound_is_largest():
    """At the time of the query, with the data set as forgetting left it."""
    opt = WDBO([(0.0, 1.0)], n_initial_points=10, random_state=0)
    grid = np.linspace(0.0, 1.0, 501)
    for t in range(40):
        gp, x = getattr(opt, "surrogate_", None), opt.ask(float(t))
        if gp is not None:
            rows = np.column_stack([np.append(x, grid), np.full(502, float(t))])
            mean, std = gp.predict(rows, return_std=True)
            width = np.sqrt(0.05 * np.log(2.0 * len(opt.X_))) * inside(rows[:, :1])
            score = mean + width * std
            assert score[0] >= score[1:].max() - 1e-6 * np.ptp(score)
        opt.tell(x, np.sin(6.0 * x[0] + 0.2 * t))
    assert opt.n_removed_ > 0


def test_the_largest_data_set(tmp_path):
    """Up to its size the capped run is the other one; then no step makes it larger."""
    path = tmp_path / "run.db"
    options = {"alpha": 0.0, "n_initial_points": 5, "random_state": 0}
    free = WDBO([(0.0, 1.0)], **options)
    opt = WDBO([(0.0, 1.0)], max_size=14, journal=path, **options)
    sizes = []
    for t in range(30):
        if t == 20:
            opt.close()
            opt = WDBO.resume(path)
        for each in (free, opt):
            x = each.ask(t)
            each.tell(x, np.sin(6.0 * x[0] + 0.02 * t))
        sizes.append(len(opt.y_))
        if max(sizes) < 14:
            np.testing.assert_array_equal(opt.X_, free.X_)
    assert len(free.y_) == 30
    assert sizes[13:] == [14] * 17
    assert len(opt.surrogate_.X_train_) == 14


@pytest.mark.parametrize("max_size", [0, 2.5, "all"])
def test_the_largest_size_is_a_count(max_size):
    with pytest.raises(ValueError, match=r"'max_size' parameter of WDBO must be an int"):
        WDBO([(0.0, 1.0)], max_size=max_size).ask(0.0)
