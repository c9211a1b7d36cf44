"""Data-set sizes compared with brute force."""

from itertools import cycle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.kernels import Forgetting, Wiener
from sktvbo.theory import dataset_size_criterion, recommended_dataset_size

KERNELS = {
    "rbf": RBF(4.0),
    "matern32": Matern(4.0, nu=1.5),
    "forgetting": Forgetting(0.3),
    "scaled-sum": ConstantKernel(3.0) * RBF(2.0) + ConstantKernel(1.0) * Matern(9.0, nu=0.5),
    "rational-quadratic": RationalQuadratic(4.0, 2.0),
}
RESPONSE_TIMES = {
    "logarithmic": lambda n: 0.2 + 0.05 * np.log(n),
    "linear": lambda n: 0.05 + 0.002 * n,
    "cubic": lambda n: 0.05 + 1e-6 * n**3,
    "exponential": lambda n: 0.01 * np.exp(0.1 * n),
    "stairs": lambda n: 0.1 + 0.1 * (n // 7),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))


def criterion(kernel, response_time, n):
    """Return the sum of the squared correlations of n observations."""
    ages = np.arange(1, n + 1)[:, np.newaxis] * response_time(n)
    return np.sum((kernel(ages, [[0.0]]) / kernel([[0.0]])) ** 2)


def brute_force_criteria(kernel, response_time, max_size):
    """Return the criterion of n = 1, ..., max_size."""
    return np.array([criterion(kernel, response_time, n) for n in range(1, max_size + 1)])


@every_kernel
@pytest.mark.parametrize("response_time", RESPONSE_TIMES.values(), ids=list(RESPONSE_TIMES))
def test_the_recommended_size_is_that_of_brute_force(kernel, response_time):
    criteria = brute_force_criteria(kernel, response_time, 400)
    assert recommended_dataset_size(kernel, response_time, 400) == 1 + np.argmax(criteria)


@pytest.mark.parametrize("start", [1, 40, 399, 400])
@pytest.mark.parametrize(
    ("name", "response_time"), [*zip(KERNELS, cycle(["linear", "cubic", "exponential"]))]
)
def test_the_local_search_finds_the_same_from_any_start(name, response_time, start):
    kernel, R = KERNELS[name], RESPONSE_TIMES[response_time]
    n = recommended_dataset_size(kernel, R, 400)
    assert recommended_dataset_size(kernel, R, 400, start=start) == n


def test_a_criterion_of_several_peaks_needs_the_global_search():
    kernel, stairs = KERNELS["matern32"], RESPONSE_TIMES["stairs"]
    criteria = brute_force_criteria(kernel, stairs, 100)
    peaks = 1 + np.flatnonzero((criteria[1:-1] > criteria[:-2]) & (criteria[1:-1] > criteria[2:]))
    sizes, best = 1 + peaks, 1 + np.argmax(criteria)
    assert len(sizes) > 4
    assert best in sizes
    for start in sizes[:4]:
        assert recommended_dataset_size(kernel, stairs, start=start) == start
    assert recommended_dataset_size(kernel, stairs) == best


def test_the_result_does_not_exceed_max_size():
    kernel, R = RBF(4.0), RESPONSE_TIMES["cubic"]
    n = recommended_dataset_size(kernel, R)
    assert recommended_dataset_size(kernel, R, max_size=n) == n
    assert recommended_dataset_size(kernel, R, max_size=n - 1) == n - 1
    assert type(recommended_dataset_size(kernel, R, np.int64(n - 1), start=np.int64(2))) is int
    assert recommended_dataset_size(kernel, R, max_size=1) == 1


@pytest.mark.parametrize(
    ("start", "seconds"), [(None, 0.05), (1, 50.0), (50, 1e6), (5_000, 0.05), (None, 1e6)]
)
def test_a_constant_response_time_has_no_maximum(start, seconds):
    assert recommended_dataset_size(RBF(), lambda n: seconds, 5_000, start=start) == 5_000


@pytest.mark.parametrize("name", ["logarithmic", "linear", "cubic"])
def test_a_constant_kernel_has_no_maximum(name):
    R = RESPONSE_TIMES[name]
    assert recommended_dataset_size(ConstantKernel(2.0), R) == 100_000
    assert recommended_dataset_size(RBF() + ConstantKernel(2.0), R) == 100_000


@pytest.mark.parametrize("start", [None, 7, 1_000])
def test_of_equally_good_sizes_the_smallest_is_recommended(start):
    # From the fourth term on all terms, and the growth of R, are below rounding.
    def slow(n):
        return 3.0 + 1e-18 * max(0.0, n - 900.0) ** 3

    criteria = brute_force_criteria(RBF(), slow, 1_000)
    smallest = 1 + np.flatnonzero(criteria >= (1.0 - 1e-13) * criteria.max())[0]
    assert smallest < 5
    assert recommended_dataset_size(RBF(), slow, start=start) == smallest


def test_one_observation_is_recommended_for_fast_change():
    assert recommended_dataset_size(RBF(), lambda n: 100.0 + n) == 1


def test_the_response_time_is_not_called_far_beyond_the_maximum():
    asked = []

    def response_time(n):
        asked.append(n)
        return 0.01 * np.exp(n)

    n = recommended_dataset_size(RBF(), response_time)
    assert n < 10
    assert max(asked) < 100


@every_kernel
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1_000])
def test_the_criterion_is_the_sum_of_the_squared_correlations(kernel, n):
    R = RESPONSE_TIMES["linear"]
    assert_allclose(dataset_size_criterion(kernel, R, n), criterion(kernel, R, n), rtol=1e-13)


@pytest.mark.parametrize("seconds", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0]])
@pytest.mark.parametrize("call", [recommended_dataset_size, dataset_size_criterion])
def test_a_response_time_must_be_positive_and_finite(call, seconds):
    with pytest.raises(ValueError, match=r"response_time\(n\) must be a positive, finite number"):
        call(RBF(), lambda n: seconds, 3)


@pytest.mark.parametrize("start", [None, 9])
def test_a_response_time_must_not_decrease(start):
    with pytest.raises(ValueError, match="must be a function that does not decrease with n"):
        recommended_dataset_size(RBF(), lambda n: 1.0 / n, max_size=1_000, start=start)


@pytest.mark.parametrize("kernel", [Wiener(), DotProduct(), RBF() * DotProduct()])
def test_a_kernel_of_time_must_be_stationary(kernel):
    with pytest.raises(UnsupportedKernelError, match="temporal_kernel must be stationary"):
        recommended_dataset_size(kernel, lambda n: float(n))


def test_a_kernel_of_time_must_not_increase_with_age():
    kernel = ExpSineSquared(length_scale=0.05, periodicity=1.0)  # never forgets
    with pytest.raises(UnsupportedKernelError, match="must be one that does not increase with age"):
        recommended_dataset_size(kernel, lambda n: 0.05 + 0.01 * n)


def test_a_season_counts_by_its_average_over_the_phases():
    """For a spacing far below the period, the average is that of the sum."""
    kernel = Matern(40.0, nu=1.5) * ExpSineSquared(length_scale=1.0, periodicity=5.0)
    i = np.arange(1, 20_001)
    exact = np.sum(kernel(0.01 * i[:, np.newaxis], [[0.0]]) ** 2)
    average = dataset_size_criterion(kernel, lambda n: 0.01, n=len(i))
    assert average == pytest.approx(exact, rel=0.02)
    assert dataset_size_criterion(Matern(40.0, nu=1.5), lambda n: 0.01, n=len(i)) > 1.5 * average

    R, sizes = (lambda n: 0.05 + 1e-5 * n**2), range(1, 1_000)
    best = max(sizes, key=lambda n: dataset_size_criterion(kernel, R, n))
    assert recommended_dataset_size(kernel, R) == best


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda R: recommended_dataset_size("rbf", R), "must be a scikit-learn kernel"),
        (lambda R: recommended_dataset_size(RBF(), 1.0), "response_time must be a callable"),
        (lambda R: recommended_dataset_size(RBF(), R, 0), r"max_size must be an int .* Got 0"),
        (lambda R: recommended_dataset_size(RBF(), R, 10, start=0), r"start must .*\[1, 10\].* 0"),
        (lambda R: dataset_size_criterion(RBF(), R, -3), "n must be an int"),
    ],
)
def test_invalid_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call(lambda n: 1.0)


def test_an_oscillation_without_series_counts_by_an_upper_bound():
    smooth, season = RBF(30.0), RBF(30.0) * ExpSineSquared(length_scale=1.0, periodicity=5.0)
    sizes = [recommended_dataset_size(kernel, lambda n: 0.02 * n) for kernel in (season, smooth)]
    assert 2 < sizes[0] <= sizes[1]
