"""W-DBO and BOLT: the removals that relevancies, a budget and a size decide."""

import numpy as np
import pytest
from contract.cases import ask_and_tell
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import above_prior_mean, inside
from scipy.optimize import nnls

from sktvbo import BOLT, WDBO, BayesianOptimizer
from sktvbo.relevancy import wasserstein_relevancy
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


def best_size(kernel, coefficients, largest=2000):
    """argmax_n Σ_{i≤n} k_T(i R(n))² by trying them all."""
    sizes = np.arange(1, largest + 1)
    spacing = coefficients @ sizes ** np.arange(4)[:, np.newaxis]
    worth = [
        np.sum(kernel([[0.0]], np.outer(np.arange(1, n + 1), R)[:, :1])[0] ** 2)
        for n, R in zip(sizes, spacing)
    ]
    return int(np.argmax(worth)) + 1


def fitted_cubic(sizes, durations):
    """Coefficients ≥ 0 of 1, n, n², n³, by least squares in n/100."""
    return nnls(np.vander(np.array(sizes) / 100.0, 4, increasing=True), durations)[0] / (
        100.0 ** np.arange(4)
    )


def relevancy(gp, X, y, now):
    return wasserstein_relevancy(
        X,
        y,
        spatial_kernel=gp.spatial_kernel_,
        temporal_kernel=gp.temporal_kernel_,
        signal_variance=gp.signal_variance_,
        noise_variance=gp.noise_variance_,
        mean_prior_std=1.0,
        now=now,
    )


@pytest.mark.parametrize("maximize", [pytest.param(True, marks=pytest.mark.slow), False])
def test_size_and_removals_recomputed(maximize):
    """n* from the times between queries and the fitted l_T; then the least relevant go first."""
    opt = BOLT([(0.0, 1.0)], n_initial_points=12, maximize=maximize, random_state=0)
    asked, sizes, known = [], [], []
    X, y = np.empty((0, 2)), np.empty(0)
    n_before = 0
    for t in timed_drive(opt, 55, cubic):
        # n_before is the size at the query, which counts once there was a surrogate.
        if n_before >= 12 or asked:
            asked.append(t)
            sizes.append(n_before)
        X = np.vstack([X, opt.told_X_[-1]])
        y = np.append(y, opt.told_y_[-1] * (1.0 if maximize else -1.0))
        policy = opt.policy_
        if len(asked) > 4:
            expected = policy.max_size_
        if len(asked) > 5:  # fewer do not determine the cubic
            coefficients = fitted_cubic(sizes[:-1], np.diff(asked))
            expected = best_size(opt.surrogate_.temporal_kernel_, coefficients, 300)
            assert policy.max_size_ == expected
            assert_allclose(
                [policy.response_time_(n) for n in (5, 30, 100)],
                [coefficients @ float(n) ** np.arange(4) for n in (5, 30, 100)],
                rtol=1e-6,
            )
            known.append(expected)
            assert opt.history_["max_size"][-1] == expected
        if len(asked) > 4:
            rows = np.arange(len(y))
            # The scale of y is held while rows are taken out.
            standard = (y - y.mean()) / y.std()
            while len(rows) > max(expected, 10):
                z = above_prior_mean(opt.surrogate_, X[rows], standard[rows])
                R = relevancy(opt.surrogate_, X[rows], z, t)
                rows = np.delete(rows, np.argmin(R))
            X, y = X[rows], y[rows]
            assert len(opt.X_) <= max(expected, 10)
        assert_array_equal(opt.X_, X)
        n_before = len(X)
    assert opt.n_removed_ > 10
    assert len(set(known)) > 3  # n* follows the lengthscale
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
    for kernel, n_intervals, n_spans in ((smooth, 5.0, 10.0), (rough, 0.5, 10.0)):
        low, high = kernel.length_scale_bounds
        assert low == pytest.approx(3.0 * n_intervals)
        assert high == pytest.approx(n_spans * span, rel=0.2)
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
