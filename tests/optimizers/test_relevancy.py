"""W-DBO and BOLT: the removals that relevancies, a budget and a size decide."""

import numpy as np
import pytest
from contract.cases import ask_and_tell
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import inside

from sktvbo import BOLT, WDBO, BayesianOptimizer
from sktvbo.staleness import RelevancyCap


def wave(x, t):
    return 3.0 + np.sin(6.0 * x[0] + 0.2 * t)


def timed_drive(opt, steps, response_time, start=0.0):
    """A machine that takes response_time(n) from query to query; times of the queries."""
    t = start
    for _ in range(steps):
        x = opt.ask(t)
        opt.tell(x, wave(x, t))
        yield t
        t += response_time(len(opt.X_))


def cubic(n):
    return 0.5 + 0.02 * n + 1e-5 * n**3


def best_size(kernel, largest=300):
    """argmax_n Σ_{i≤n} k_T(i R(n))² by trying them all."""
    sizes = np.arange(1, largest + 1)
    worth = [
        np.sum(kernel([[0.0]], np.outer(np.arange(1, n + 1), R)[:, :1])[0] ** 2)
        for n, R in zip(sizes, cubic(sizes))
    ]
    return int(np.argmax(worth)) + 1


def test_response_time_and_size_are_those_of_the_run():
    """n* follows the times between queries, by the size at each, and the fitted kernel."""
    opt, known, t, n = BOLT([(0.0, 1.0)], n_initial_points=12, random_state=0), set(), 0.0, 0
    for _ in range(55):
        x = opt.ask(t)
        opt.tell(x, wave(x, t))
        if opt.n_told_ > 20:
            policy, sizes = opt.policy_, np.array([5.0, 30.0, 100.0])
            assert_allclose([*map(policy.response_time_, sizes)], cubic(sizes), rtol=1e-6)
            assert policy.max_size_ == best_size(opt.surrogate_.temporal_kernel_)
            assert opt.history_["max_size"][-1] == policy.max_size_
            assert len(opt.X_) <= max(policy.max_size_, 10)
            known.add(policy.max_size_)
        t, n = t + cubic(n), len(opt.X_)
    assert opt.n_removed_ > 10
    assert len(known) > 2
    assert max(known) > 12


def test_its_policy_forgets_alike_in_any_composition():
    """BOLT is nothing but the policy: the same queries to the bit, and the same removals."""
    opts = [
        kind([(0.0, 1.0)], n_initial_points=8, random_state=0, **options)
        for kind, options in ((BOLT, {}), (BayesianOptimizer, {"policy": RelevancyCap()}))
    ]
    for opt in opts:
        for _ in timed_drive(opt, 45, lambda n: 3.0 * cubic(n)):
            pass
    bolt, composed = opts
    assert_array_equal(bolt.told_X_, composed.told_X_)
    assert_array_equal(bolt.removed_at_, composed.removed_at_)
    assert bolt.policy_.max_size_ == composed.policy_.max_size_
    assert composed.n_removed_ > 5


# --- W-DBO ----------------------------------------------------------------------------------------


def test_lengthscale_is_bounded_by_the_recent_sampling_interval():
    opt = WDBO([(0.0, 1.0)], n_initial_points=5, random_state=0)
    for t in 3.0 * np.arange(12):
        opt.tell(opt.ask(t), np.sin(40.0 * t))  # nothing but noise in time
    smooth, rough = opt.surrogate_.temporal_kernel_.k1, opt.surrogate_.temporal_kernel_.k2.k2
    span = np.ptp(opt.X_[:, 1])
    for kernel, n_intervals, highest in ((smooth, 5.0, 10.0 * span), (rough, 0.5, 90.0)):
        low, high = kernel.length_scale_bounds
        assert low == pytest.approx(3.0 * n_intervals)
        assert high == pytest.approx(highest, rel=0.2)
        assert low <= kernel.length_scale <= high


def test_query_is_where_the_bound_is_largest():
    """At the time of the query, with the data set as forgetting left it."""
    opt = WDBO([(0.0, 1.0)], n_initial_points=10, random_state=0)
    grid = np.linspace(0.0, 1.0, 501)
    for t in range(40):
        gp, x = getattr(opt, "surrogate_", None), opt.ask(float(t))
        if gp is not None:
            rows = np.column_stack([np.append(x, grid), np.full(502, float(t))])
            mean, std = gp.predict(rows, return_std=True)
            n = len(opt.X_)
            width = np.sqrt(0.2 * np.log(2.0 * n)) * inside(rows[:, :1])
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
            assert_array_equal(opt.X_, free.X_)
    assert len(free.y_) == 30
    assert sizes[13:] == [14] * 17
    assert len(opt.surrogate_.X_train_) == 14


# --- both -----------------------------------------------------------------------------------------


NAMED = {f"choice {i}": ("categorical", ["a", "b", "c", "d"]) for i in range(30)}


@pytest.mark.parametrize(
    ("kind", "domain"),
    [(BOLT, NAMED), (WDBO, NAMED), pytest.param(WDBO, [(0.0, 1.0)] * 118, marks=pytest.mark.slow)],
)
def test_observations_are_forgotten_in_hundreds_of_dimensions(kind, domain):
    options = {"max_size": 10} if kind is BOLT else {"alpha": 5.0}
    opt = kind(domain, n_initial_points=11, random_state=0, **options)
    ask_and_tell(opt, 16, lambda x, t: float(t % 5))
    assert opt.n_removed_ > 0
