import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo.problems import make

ALL = ["gp-abrupt", "gp-slow", "markov-gp"]
N_SEEDS = 800
# Grid points and steps of the compared covariances.
PLACES, STEPS = [0, 1, 4, 10], [0, 1, 2, 6]


def small(name="markov-gp", **options):
    return make(name, **{"n_grid": 11, "n_dims": 1, "horizon": 8, "random_state": 0, **options})


def everywhere(problem, t):
    return problem.values(problem.domain.points, t)


def many_functions(name="markov-gp", **options):
    """Return values of many functions, of shape (N_SEEDS, steps * places)."""
    rows = []
    for seed in range(N_SEEDS):
        problem = small(name, random_state=seed, **options)
        X, t = np.tile(problem.domain.points[PLACES], (len(STEPS), 1)), np.repeat(STEPS, 4)
        rows.append(problem.values(X, t.astype(float)))
    return np.array(rows)


def model(in_time, kernel=None):
    """Return the expected covariance of the columns of `many_functions`."""
    X = np.linspace(0.0, 1.0, 11)[PLACES, np.newaxis]
    return np.kron(in_time, (kernel or RBF(0.2))(X))


def forgetting(epsilon):
    """TVGP section 2: the Markov model's covariance in time."""
    return (1.0 - epsilon) ** (np.abs(np.subtract.outer(STEPS, STEPS)) / 2.0)


def surprise(F, C):
    """Return the largest deviation of the rows' moments from N(0, C), in standard errors."""
    n, variance = len(F), np.diag(C)
    mean = np.abs(F.mean(axis=0)) / np.sqrt(variance / n)
    # Isserlis: the product of two centred Gaussians has variance C_ii C_jj + C_ij².
    error = np.sqrt((np.outer(variance, variance) + C**2) / n)
    return max(mean.max(), (np.abs(F.T @ F / n - C) / error).max())


# --- the processes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "kernel"),
    [
        (0.2, None),
        pytest.param(0.7, Matern(0.3, nu=2.5), marks=pytest.mark.slow),
        pytest.param(0.0, None, marks=pytest.mark.slow),
        pytest.param(1.0, ConstantKernel(4.0) * RBF(0.1), marks=pytest.mark.slow),
    ],
)
def test_markov_functions_have_the_models_covariance(epsilon, kernel):
    given = {} if kernel is None else {"kernel": kernel}
    F = many_functions(epsilon=epsilon, **given)
    assert surprise(F, model(forgetting(epsilon), kernel)) < 5.0
    if epsilon == 0.2:  # wrong models are detected
        assert surprise(F, model(forgetting(0.4))) > 6.0
        assert surprise(F, model(forgetting(0.2), RBF(0.3))) > 6.0


def test_a_wrong_recursion_is_detected():
    right, wrong = np.random.RandomState(0).multivariate_normal(
        np.zeros(4), model(np.eye(1)), size=(2, N_SEEDS, 7)
    )
    for s in range(1, 7):
        right[:, s] = 0.8**0.5 * right[:, s - 1] + 0.2**0.5 * right[:, s]
        wrong[:, s] = 0.8 * wrong[:, s - 1] + 0.2 * wrong[:, s]
    right, wrong = (f[:, STEPS].reshape(N_SEEDS, -1) for f in (right, wrong))
    assert surprise(right, model(forgetting(0.2))) < 5.0
    assert surprise(wrong, model(forgetting(0.2))) > 10.0


def test_abruptly_changing_function_has_independent_pieces():
    F = many_functions("gp-abrupt", change_times=(1.5, 6.0))
    piece = np.array([0, 0, 1, 2])
    assert surprise(F, model(piece[:, np.newaxis] == piece)) < 5.0


def test_the_slowly_changing_function_is_a_sample_at_each_time():
    F = many_functions("gp-slow")
    angle = np.pi / 2.0 * np.subtract.outer(STEPS, STEPS) / 8.0
    assert surprise(F, model(np.cos(angle))) < 5.0


# --- domain and time ------------------------------------------------------------------------------


def test_the_markov_function_is_constant_within_a_step():
    problem = small(epsilon=0.5, horizon=7.5, n_grid=3, n_dims=3)
    assert problem.domain.points.shape == (27, 3)
    for step in range(8):
        now = everywhere(problem, float(step))
        assert_array_equal(everywhere(problem, step + 0.4), now)
        # 0.1 added thirty times is 2.9999999999999996.
        assert_array_equal(everywhere(problem, np.nextafter(step, -1.0) if step else 0.0), now)
        if step < 7:
            assert_array_equal(everywhere(problem, step + 0.999), now)
            assert np.abs(everywhere(problem, step + 1.0) - now).min() > 0.0


def test_abrupt_changes_come_at_their_times():
    problem = small("gp-abrupt", change_times=(2.0, 5.0))
    fields = [everywhere(problem, t) for t in (0.0, 1.999, 2.0, 4.999, 5.0, 8.0)]
    for first, second, third in (fields[::2], fields[1::2]):
        assert_array_equal(first, fields[0])
        assert_array_equal(second, fields[2])
        assert_array_equal(third, fields[4])
    assert np.abs(fields[0] - fields[2]).min() > 0.0
    assert np.abs(fields[2] - fields[4]).min() > 0.0
    still = small("gp-abrupt", change_times=())
    assert_array_equal(everywhere(still, 0.0), everywhere(still, 8.0))


def test_slow_change_turns_a_quarter_by_the_horizon():
    problem = small("gp-slow")
    first, last = everywhere(problem, 0.0), everywhere(problem, 8.0)
    assert_allclose(everywhere(problem, 4.0), (first + last) / np.sqrt(2.0))
    third = np.sqrt(3.0) / 2.0 * first + 0.5 * last  # 30 of 90 degrees
    assert_allclose(everywhere(problem, 8.0 / 3.0), third)


# --- randomness -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_noise_has_the_stated_variance_and_is_independent_of_the_function(name):
    n = 400
    problem = small(name, n_grid=n, kernel=Matern(1e-6), noise_variance=0.5)
    noise = np.array([problem.observe(0.0, 0.0) for _ in range(n)]) - problem.value(0.0, 0.0)
    assert noise.var() == pytest.approx(0.5, rel=5.0 * np.sqrt(2.0 / n))
    # With that kernel the function is white: its values are the draws.
    f = everywhere(problem, 0.0)
    assert abs(np.corrcoef(noise, f)[0, 1]) < 5.0 / np.sqrt(n)


@pytest.mark.parametrize(
    ("kernel", "n_grid", "n_dims"), [(RBF, 101, 1), (Matern, 101, 1), (RBF, 20, 2), (Matern, 15, 2)]
)
@pytest.mark.parametrize("name", ALL)
def test_rounding_does_not_change_the_function(name, kernel, n_grid, n_dims):
    # Points of a symmetric grid are equally good pivots of the covariance.
    plain, *rounded = (
        everywhere(small(name, kernel=kernel(0.2 * scale), n_grid=n_grid, n_dims=n_dims), 8.0)
        for scale in (1.0, 1.0 + 1e-15, 1.0 - 1e-15, 1.0 + 3e-15)
    )
    for f in rounded:
        assert_allclose(f, plain, atol=1e-4)
