"""BOLT's own decisions: the response time, n*, and what is removed down to n*."""

import numpy as np
import pytest
from optimizers.dense import above_prior_mean
from scipy.optimize import nnls
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import BOLT, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.relevancy import wasserstein_relevancy
from sktvbo.staleness import RelevancyCap, ResponseTime, RunSoFar


def value(x, t):
    return 3.0 + np.sin(6.0 * x[0] + 0.2 * t)


def drive(opt, steps, response_time, start=0.0):
    """A machine that takes response_time(n) from query to query; times of the queries."""
    t = start
    for _ in range(steps):
        x = opt.ask(t)
        opt.tell(x, value(x, t))
        yield t
        t += response_time(len(opt.X_))


def so_far(times, sizes):
    """What a policy is told of a run."""
    return RunSoFar(len(times), tuple(zip(times, sizes, strict=True)), latest=None)


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


@pytest.mark.parametrize("maximize", [True, False])
def test_size_and_removals_recomputed(maximize):
    """n* from the times between queries and the fitted l_T; then the least relevant go first."""
    opt = BOLT([(0.0, 1.0)], n_initial_points=12, maximize=maximize, random_state=0)
    asked, sizes, known = [], [], []
    X, y = np.empty((0, 2)), np.empty(0)
    n_before = 0
    for t in drive(opt, 55, cubic):
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
            np.testing.assert_allclose(
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
                R = wasserstein_relevancy(
                    X[rows],
                    above_prior_mean(opt.surrogate_, X[rows], standard[rows]),
                    spatial_kernel=opt.surrogate_.spatial_kernel_,
                    temporal_kernel=opt.surrogate_.temporal_kernel_,
                    signal_variance=opt.surrogate_.signal_variance_,
                    noise_variance=opt.surrogate_.noise_variance_,
                    mean_prior_std=1.0,
                    now=t,
                )
                rows = np.delete(rows, np.argmin(R))
            X, y = X[rows], y[rows]
            assert len(opt.X_) <= max(expected, 10)
        np.testing.assert_array_equal(opt.X_, X)
        n_before = len(X)
    assert opt.n_removed_ > 10
    assert len(set(known)) > 3  # n* follows the lengthscale
    assert max(known) > 12


def fixed(l_T=30.0, nu=1.5):
    return TimeVaryingGPRegressor(RBF(0.3), Matern(l_T, nu=nu), optimizer=None, normalize_y=True)


def test_a_machine_that_becomes_slower_keeps_less():
    """The same kernel throughout: only R(n) moves."""
    opt = BOLT([(0.0, 1.0)], surrogate=fixed(), n_initial_points=10, random_state=0)
    slowness, n_star, times, sizes = 1.0, [], [], [0]
    run = drive(opt, 110, lambda n: slowness * cubic(n))
    for query, t in enumerate(run):
        if query == 70:
            slowness = 6.0
        n_star.append(vars(opt.policy_).get("max_size_"))
        times.append(t)
        sizes.append(len(opt.X_))
    assert n_star[-1] < 0.7 * n_star[70]
    assert sizes[-1] <= max(n_star[-1], 10)
    # The first ten queries were made without a surrogate.
    coefficients = fitted_cubic(sizes[10:109], np.diff(times[10:]))
    assert n_star[-1] == best_size(opt.surrogate_.temporal_kernel_, coefficients, 300)


def test_a_smoother_function_keeps_more():
    n_star = []
    for l_T in (3.0, 30.0, 100.0):
        opt = BOLT([(0.0, 1.0)], surrogate=fixed(l_T), n_initial_points=10, random_state=0)
        for _ in drive(opt, 40, cubic):
            pass
        n_star.append(opt.policy_.max_size_)
    assert n_star == sorted(set(n_star))


def test_at_least_ten_stay():
    opt = BOLT([(0.0, 1.0)], surrogate=fixed(0.5), n_initial_points=6, random_state=0)
    for _ in drive(opt, 40, cubic):
        assert len(opt.X_) <= 10 or opt.policy_.max_size_ is None
    assert opt.policy_.max_size_ < 10
    assert len(opt.X_) == 10


@pytest.mark.parametrize("kernel", [RBF(20.0), Matern(20.0, nu=0.5), Matern(20.0, nu=2.5)])
@pytest.mark.parametrize("scale", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("start", [None, 1, 900])
def test_recommended_size_by_trying_them_all(kernel, scale, start):
    """From wherever the climb starts."""
    coefficients = scale * np.array([0.05, 1e-3, 0.0, 1e-6])
    sizes = np.arange(5.0, 60.0, 5.0)
    gp = TimeVaryingGPRegressor(RBF(0.3), kernel, optimizer=None)
    gp.fit(np.column_stack([np.linspace(0.0, 1.0, 12), np.arange(12.0)]), np.arange(12.0))
    policy = RelevancyCap()
    policy.response_time_ = ResponseTime(sizes, coefficients @ sizes ** np.arange(4)[:, np.newaxis])
    if start is not None:
        policy.max_size_ = start
    policy.after_add(gp, 11.0)
    assert policy.max_size_ == best_size(kernel, coefficients)


def test_response_time_never_decreases_with_size(rng):
    sizes = rng.randint(5, 200, 60)
    for durations in (1.0 / sizes, 2.0 - 0.01 * sizes, rng.uniform(0.1, 1.0, 60)):
        R = ResponseTime(sizes, durations)
        assert np.all(R.coefficients >= 0.0)
        assert np.all(np.diff([R(n) for n in range(1, 500)]) >= 0.0)
        np.testing.assert_allclose(R.coefficients, fitted_cubic(sizes, durations), atol=1e-9)


def test_four_sizes_are_enough():
    assert not ResponseTime([10, 20, 30, 30], [0.1, 0.2, 0.3, 0.3]).known
    assert ResponseTime([10, 20, 30, 40], [0.1, 0.2, 0.3, 0.4]).known
    opt = BOLT([(0.0, 1.0)], n_initial_points=10, random_state=0)
    for step, _ in enumerate(drive(opt, 16, cubic)):
        # Queries without a surrogate take no time that says anything.
        assert (vars(opt.policy_).get("max_size_") is None) == (step < 14)


def test_queries_of_one_size_leave_the_model_as_it_was():
    policy = RelevancyCap()
    policy.watch(so_far([0.0, 1.0, 3.0, 6.0, 10.0], [10, 20, 30, 40, 50]))
    model = policy.response_time_
    assert model(40) == pytest.approx(4.0)
    # Three durations of another kind do not determine a cubic.
    policy.watch(so_far([100.0, 150.0, 200.0, 250.0], [12, 12, 12, 12]))
    assert policy.response_time_ is model


def test_asking_again_at_once_is_no_duration():
    opts = [
        BOLT([(0.0, 1.0)], surrogate=fixed(), n_initial_points=6, random_state=0) for _ in range(2)
    ]
    t = 0.0
    for _ in range(25):
        opts[1].ask(t)
        for opt in opts:
            opt.ask(t)
            opt.tell([0.5], value([0.5], t), t)
        t += cubic(len(opts[0].X_))
    first, again = (opt.policy_.response_time_.coefficients for opt in opts)
    np.testing.assert_allclose(first, again, rtol=1e-9)


@pytest.mark.parametrize("max_size", [0, 2.5, "many", None])
def test_bad_max_size(max_size):
    opt = BOLT([(0.0, 1.0)], max_size=max_size, n_initial_points=3, random_state=0)
    with pytest.raises(ValueError, match=r"'max_size' parameter .* must be an int"):
        opt.tell([0.1], 0.0, 0.0)


def test_its_policy_forgets_alike_in_any_composition():
    """BOLT is nothing but the policy: the same queries to the bit, and the same removals."""
    opts = [
        kind([(0.0, 1.0)], n_initial_points=8, random_state=0, **options)
        for kind, options in ((BOLT, {}), (BayesianOptimizer, {"policy": RelevancyCap()}))
    ]
    for opt in opts:
        for _ in drive(opt, 45, lambda n: 3.0 * cubic(n)):
            pass
    bolt, composed = opts
    np.testing.assert_array_equal(bolt.told_X_, composed.told_X_)
    np.testing.assert_array_equal(bolt.removed_at_, composed.removed_at_)
    assert bolt.policy_.max_size_ == composed.policy_.max_size_
    assert composed.n_removed_ > 5
