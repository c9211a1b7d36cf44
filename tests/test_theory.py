"""Data-set sizes against brute force, spectra against quadrature, bounds against simulations."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import gamma
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    RationalQuadratic,
    StationaryKernelMixin,
)

from sktvbo.exceptions import NotPositiveDefiniteError, UnsupportedKernelError
from sktvbo.kernels import Forgetting, Wiener
from sktvbo.theory import (
    dataset_size_criterion,
    information_gain,
    maximum_information_gain,
    power_above,
    recommended_dataset_size,
    regret_slope_lower_bound,
    regret_upper_bound,
    reset_period,
    spectral_density,
)

# Correlations at an age, written out.
CORRELATIONS = {
    "rbf": (RBF(4.0), lambda r: np.exp(-0.5 * (r / 4.0) ** 2)),
    "matern32": (
        Matern(4.0, nu=1.5),
        lambda r: (1.0 + np.sqrt(3.0) * r / 4.0) * np.exp(-np.sqrt(3.0) * r / 4.0),
    ),
    "forgetting": (Forgetting(0.3), lambda r: 0.7 ** (r / 2.0)),
    "scaled-sum": (
        ConstantKernel(3.0) * RBF(2.0) + ConstantKernel(1.0) * Matern(9.0, nu=0.5),
        lambda r: 0.75 * np.exp(-0.125 * r**2) + 0.25 * np.exp(-r / 9.0),
    ),
    "rational-quadratic": (RationalQuadratic(4.0, 2.0), lambda r: (1.0 + r**2 / 64.0) ** -2),
}
RESPONSE_TIMES = {
    "logarithmic": lambda n: 0.2 + 0.05 * np.log(n),
    "linear": lambda n: 0.05 + 0.002 * n,
    "cubic": lambda n: 0.05 + 1e-6 * n**3,
    "exponential": lambda n: 0.01 * np.exp(0.1 * n),
    "stairs": lambda n: 0.1 + 0.1 * (n // 7),
}
every_correlation = pytest.mark.parametrize(
    ("kernel", "correlation"), CORRELATIONS.values(), ids=list(CORRELATIONS)
)
every_response_time = pytest.mark.parametrize(
    "response_time", RESPONSE_TIMES.values(), ids=list(RESPONSE_TIMES)
)

SPECTRA = {
    "rbf": RBF(1.3),
    "matern12": Matern(1.3, nu=0.5),
    "matern11": Matern(1.3, nu=1.1),
    "matern52": Matern(1.3, nu=2.5),
    "matern-inf": Matern(1.3, nu=np.inf),
    "forgetting": Forgetting(0.4),
}
every_spectrum = pytest.mark.parametrize("kernel", SPECTRA.values(), ids=list(SPECTRA))


# --- recommended data-set size --------------------------------------------------------------------


def brute_force_criteria(correlation, response_time, max_size):
    """The criterion of n = 1, ..., max_size, every term of it."""
    return np.array(
        [
            np.sum(correlation(np.arange(1, n + 1) * response_time(n)) ** 2)
            for n in range(1, max_size + 1)
        ]
    )


@every_correlation
@every_response_time
def test_the_recommended_size_is_that_of_brute_force(kernel, correlation, response_time):
    criteria = brute_force_criteria(correlation, response_time, 400)
    assert recommended_dataset_size(kernel, response_time, 400) == 1 + np.argmax(criteria)


@every_correlation
@pytest.mark.parametrize("start", [1, 40, 399, 400])
@pytest.mark.parametrize("name", ["linear", "cubic", "exponential"])
def test_following_the_difference_from_anywhere_leads_to_the_same(kernel, correlation, start, name):
    R = RESPONSE_TIMES[name]
    n = recommended_dataset_size(kernel, R, 400)
    assert recommended_dataset_size(kernel, R, 400, start=start) == n


def test_a_criterion_of_many_peaks_needs_the_confirmation():
    kernel, correlation = CORRELATIONS["matern32"]
    stairs = RESPONSE_TIMES["stairs"]
    criteria = brute_force_criteria(correlation, stairs, 100)
    peaks = 1 + np.flatnonzero((criteria[1:-1] > criteria[:-2]) & (criteria[1:-1] > criteria[2:]))
    sizes, best = 1 + peaks, 1 + np.argmax(criteria)
    assert len(sizes) > 4
    assert best in sizes
    for start in sizes[:4]:
        assert recommended_dataset_size(kernel, stairs, start=start) == start
    assert recommended_dataset_size(kernel, stairs) == best


def test_the_answer_does_not_exceed_max_size():
    kernel, R = RBF(4.0), RESPONSE_TIMES["cubic"]
    n = recommended_dataset_size(kernel, R)
    assert recommended_dataset_size(kernel, R, max_size=n) == n
    assert recommended_dataset_size(kernel, R, max_size=n - 1) == n - 1
    assert type(recommended_dataset_size(kernel, R, np.int64(n - 1), start=np.int64(2))) is int
    assert recommended_dataset_size(kernel, R, max_size=1) == 1


@pytest.mark.parametrize("start", [None, 1, 50, 5_000])
@pytest.mark.parametrize("seconds", [0.05, 50.0, 1e6])
def test_a_constant_response_time_has_no_maximum(start, seconds):
    assert recommended_dataset_size(RBF(), lambda n: seconds, 5_000, start=start) == 5_000


@pytest.mark.parametrize("name", ["logarithmic", "linear", "cubic"])
def test_what_never_forgets_has_no_maximum(name):
    R = RESPONSE_TIMES[name]
    assert recommended_dataset_size(ConstantKernel(2.0), R) == 100_000
    assert recommended_dataset_size(RBF() + ConstantKernel(2.0), R) == 100_000


@pytest.mark.parametrize("start", [None, 7, 1_000])
def test_of_equally_good_sizes_the_smallest_is_recommended(start):
    # From the fourth term on all are below rounding, and so is what R adds.
    def slow(n):
        return 3.0 + 1e-18 * max(0.0, n - 900.0) ** 3

    criteria = brute_force_criteria(lambda r: np.exp(-0.5 * r**2), slow, 1_000)
    smallest = 1 + np.flatnonzero(criteria >= (1.0 - 1e-13) * criteria.max())[0]
    assert smallest < 5
    assert recommended_dataset_size(RBF(), slow, start=start) == smallest


class TwoLevels(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    """Its square is 1 at ages below 1, ½ below 3.1, and 0 from there on."""

    def __call__(self, X, Y=None, eval_gradient=False):
        age = np.abs(np.subtract.outer(np.ravel(X), np.ravel(Y)))
        return np.sqrt(np.select([age < 1.0, age < 3.1], [1.0, 0.5], 0.0))


def test_of_two_peaks_of_the_same_height_the_first_is_recommended():
    # Criteria 1, 2, 3, 2.5, 3, and less from then on.
    def response_time(n):
        return 0.3 if n <= 3 else 0.6 if n <= 5 else 4.0 + n

    criteria = [dataset_size_criterion(TwoLevels(), response_time, n) for n in range(1, 7)]
    assert_allclose(criteria, [1.0, 2.0, 3.0, 2.5, 3.0, 0.0], rtol=1e-14)
    assert recommended_dataset_size(TwoLevels(), response_time) == 3


def test_when_everything_is_forgotten_at_once_one_observation_is_recommended():
    assert recommended_dataset_size(RBF(), lambda n: 100.0 + n) == 1


def test_a_response_time_is_not_asked_for_far_beyond_the_maximum():
    asked = []

    def response_time(n):
        asked.append(n)
        return 0.01 * np.exp(n)

    n = recommended_dataset_size(RBF(), response_time)
    assert n < 10
    assert max(asked) < 100


def test_a_large_recommended_size_takes_few_sums(monkeypatch):
    # Brute force would add 1e5 sums of up to 1e5 terms.
    calls = []

    class Counted(RBF):
        def __call__(self, X, Y=None, eval_gradient=False):
            calls.append(len(X))
            return super().__call__(X, Y, eval_gradient)

    n = recommended_dataset_size(Counted(100.0), lambda n: 0.01 + 1e-8 * n)
    assert n > 10_000
    assert sum(calls) < 1e8
    searched = len(calls)
    calls.clear()
    assert recommended_dataset_size(Counted(100.0), lambda n: 0.01 + 1e-8 * n, start=n + 5) == n
    assert len(calls) < searched / 5


def test_a_kernel_that_is_its_own_equal_recommends_the_same():
    R = RESPONSE_TIMES["linear"]
    forgetting = Forgetting(0.3)
    equal = Matern(forgetting.length_scale, nu=0.5)
    assert recommended_dataset_size(forgetting, R) == recommended_dataset_size(equal, R)


@every_correlation
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 1_000])
def test_the_criterion_is_the_sum_of_the_squared_correlations(kernel, correlation, n):
    R = RESPONSE_TIMES["linear"]
    expected = np.sum(correlation(np.arange(1, n + 1) * R(n)) ** 2)
    assert_allclose(dataset_size_criterion(kernel, R, n), expected, rtol=1e-13)


@pytest.mark.parametrize("seconds", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0]])
def test_a_response_time_must_be_positive_and_finite(seconds):
    with pytest.raises(ValueError, match=r"response_time\(n\) must be a positive, finite number"):
        recommended_dataset_size(RBF(), lambda n: seconds)
    with pytest.raises(ValueError, match=r"response_time\(n\) must be a positive, finite number"):
        dataset_size_criterion(RBF(), lambda n: seconds, 3)


def test_a_response_time_must_not_decrease():
    with pytest.raises(ValueError, match="must not decrease with n"):
        recommended_dataset_size(RBF(), lambda n: 1.0 / n, max_size=1_000)
    with pytest.raises(ValueError, match="must not decrease with n"):
        recommended_dataset_size(RBF(), lambda n: 1.0 / n, max_size=1_000, start=9)


@pytest.mark.parametrize("kernel", [Wiener(), DotProduct(), RBF() * DotProduct()])
def test_a_kernel_of_time_must_be_stationary(kernel):
    with pytest.raises(UnsupportedKernelError, match="temporal_kernel must be stationary"):
        recommended_dataset_size(kernel, lambda n: float(n))


def test_a_kernel_of_time_must_not_increase_with_age():
    kernel = ExpSineSquared(length_scale=1.0, periodicity=1.0)
    with pytest.raises(UnsupportedKernelError, match="must not increase with age"):
        recommended_dataset_size(kernel, lambda n: 0.05 + 0.01 * n)


def test_wrong_arguments_of_the_recommended_size_are_named():
    with pytest.raises(ValueError, match="must be a scikit-learn kernel"):
        recommended_dataset_size("rbf", lambda n: 1.0)
    with pytest.raises(ValueError, match="response_time must be a callable"):
        recommended_dataset_size(RBF(), 1.0)
    with pytest.raises(ValueError, match=r"max_size must be an integer of at least 1\. Got 0"):
        recommended_dataset_size(RBF(), lambda n: 1.0, max_size=0)
    with pytest.raises(ValueError, match=r"max_size must be an integer of at least 1. Got 10\.0"):
        recommended_dataset_size(RBF(), lambda n: 1.0, max_size=10.0)
    with pytest.raises(ValueError, match="start must be an integer"):
        recommended_dataset_size(RBF(), lambda n: 1.0, start=0)
    with pytest.raises(ValueError, match=r"start must not exceed max_size=10\. Got 11"):
        recommended_dataset_size(RBF(), lambda n: 1.0, max_size=10, start=11)
    with pytest.raises(ValueError, match="n must be an integer"):
        dataset_size_criterion(RBF(), lambda n: 1.0, -3)


# --- spectra --------------------------------------------------------------------------------------


@every_spectrum
def test_the_spectral_density_is_the_fourier_transform(kernel):
    def correlation(age):
        return kernel([[age]], [[0.0]]).item()

    # To 60 lengthscales and more; beyond, all is below 1e-12.
    for frequency in (0.05, 0.3, 1.1):
        transform, _ = quad(
            correlation, 0.0, 90.0, weight="cos", wvar=2.0 * np.pi * frequency, limit=400
        )
        assert_allclose(spectral_density(kernel, frequency), 2.0 * transform, rtol=1e-6, atol=1e-10)


@every_spectrum
def test_the_spectral_density_integrates_to_one(kernel):
    half, _ = quad(lambda f: spectral_density(kernel, f), 0.0, np.inf, epsrel=1e-9)
    assert_allclose(2.0 * half, 1.0, rtol=1e-7)


@every_spectrum
def test_the_power_above_a_frequency_is_the_integral(kernel):
    for frequency in (0.0, 0.05, 0.3, 1.1):
        tail, _ = quad(lambda f: spectral_density(kernel, f), frequency, np.inf, epsrel=1e-9)
        assert_allclose(power_above(kernel, frequency), 2.0 * tail, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.5, 1.1, 2.5])
def test_the_matern_density_is_the_formula(nu):
    length, s = 1.7, np.array([-0.4, 0.0, 0.2, 3.0])
    constant = 2.0 * np.sqrt(np.pi) * gamma(nu + 0.5) * (2.0 * nu) ** nu / gamma(nu)
    tails = (2.0 * nu / length**2 + 4.0 * np.pi**2 * s**2) ** (-nu - 0.5)
    density = spectral_density(Matern(length, nu=nu), s)
    assert_allclose(density, constant / length ** (2.0 * nu) * tails, rtol=1e-12)


def test_the_far_tail_keeps_its_relative_accuracy():
    # 1 - 2 arctan(x) / π = 2 arctan(1 / x) / π with x = 2π l f.
    f = np.array([1e3, 1e9, 1e15])
    expected = 2.0 / np.pi * np.arctan(1.0 / (2.0 * np.pi * 1.3 * f))
    assert_allclose(power_above(Matern(1.3, nu=0.5), f), expected, rtol=1e-12)
    # Mills' ratio bounds the normal tail from both sides.
    z = 2.0 * np.pi * 1.3 * 3.0
    phi = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    tail = power_above(RBF(1.3), 3.0)
    assert 2.0 * phi * z / (1.0 + z**2) < tail < 2.0 * phi / z


def test_spectra_name_what_they_do_not_know():
    for kernel in (RationalQuadratic(), Wiener(), RBF() + Matern(), ConstantKernel(1.0)):
        with pytest.raises(UnsupportedKernelError, match="No spectral density is known for"):
            spectral_density(kernel, 1.0)
    with pytest.raises(ValueError, match="one lengthscale"):
        power_above(RBF([1.0, 2.0]), 1.0)
    with pytest.raises(ValueError, match="frequency must be finite"):
        spectral_density(RBF(), [0.0, np.nan])
    with pytest.raises(ValueError, match=r"frequency must not be negative. Got -1\.0"):
        power_above(RBF(), [-1.0, 1.0])


# --- lower bound ----------------------------------------------------------------------------------

LOWER = {
    "spatial_kernel": Matern(0.8, nu=2.5),
    "temporal_kernel": Matern(2.0, nu=1.5),
    "signal_variance": 1.7,
    "lipschitz": 0.6,
    "n_dims": 3,
    "call_duration": 6.0,
}


def lower_standard_deviation():
    """σ_c of BOLT eq. (5) for LOWER, by quadrature."""
    below, _ = quad(lambda z: spectral_density(LOWER["temporal_kernel"], z), 0.0, 1.0 / 12.0)
    z = np.sqrt(5.0 * 3.0) / 0.8
    diagonal = (1.0 + z + z**2 / 3.0) * np.exp(-z)
    return np.sqrt(2.0 * 1.7 * (1.0 + diagonal) * (1.0 - 2.0 * below))


def test_the_lower_bound_is_the_mean_of_a_truncated_normal():
    # Lemma C.3: the mean of max(0, N(-L√d, σ_c²)).
    sigma, steepest = lower_standard_deviation(), 0.6 * np.sqrt(3.0)
    mean, _ = quad(
        lambda r: r * np.exp(-0.5 * ((r + steepest) / sigma) ** 2) / np.sqrt(2.0 * np.pi) / sigma,
        0.0,
        np.inf,
    )
    assert_allclose(regret_slope_lower_bound(**LOWER), mean, rtol=1e-8)


@pytest.mark.parametrize("kernel", [Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5), RBF()])
@pytest.mark.parametrize("duration", [0.8, 2.0, 4.0])
def test_an_oracle_forecasts_no_better_than_the_power_it_cannot_see(kernel, duration):
    # The variance of f(nc) given all of f(0), f(c), ..., f((n-1)c), for k_T(0) = 1.
    times = duration * np.arange(81)[:, np.newaxis]
    last = np.linalg.cholesky(kernel(times))[-1, -1]
    assert power_above(kernel, 0.5 / duration) < last**2


def test_the_lower_bound_falls_with_the_sampling_frequency_and_with_smoothness():
    durations = np.array([100.0, 10.0, 2.0, 1.0])
    slopes = np.array(
        [
            regret_slope_lower_bound(
                **{**LOWER, "temporal_kernel": kernel, "lipschitz": 0.2, "call_duration": durations}
            )
            for kernel in (Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5), RBF())
        ]
    )
    assert np.all(np.diff(slopes, axis=1) < 0.0)
    assert np.all(np.diff(slopes[:, -1]) < 0.0)


def test_the_lower_bound_vanishes_without_a_warning_where_nothing_is_unseen():
    assert regret_slope_lower_bound(**{**LOWER, "call_duration": 1e-9}) == 0.0
    fast = regret_slope_lower_bound(
        **{**LOWER, "temporal_kernel": RBF(), "call_duration": [1e-9, 1e-3]}
    )
    assert_allclose(fast, [0.0, 0.0], rtol=0.0, atol=0.0)


def test_an_anisotropic_spatial_kernel_counts_between_the_corners():
    scales = np.array([0.5, 1.0, 2.0])
    equal = 1.0 / np.sqrt(np.mean(scales**-2.0))
    slopes = [
        regret_slope_lower_bound(**{**LOWER, "spatial_kernel": RBF(scale)})
        for scale in (scales, equal)
    ]
    assert_allclose(slopes[0], slopes[1], rtol=1e-12)


@pytest.mark.parametrize("name", ["signal_variance", "lipschitz", "call_duration"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_what_is_not_positive_is_named_by_the_lower_bound(name, value):
    with pytest.raises(ValueError, match=f"{name} must be positive and finite"):
        regret_slope_lower_bound(**{**LOWER, name: value})


def test_wrong_kernels_and_dimensions_are_named_by_the_lower_bound():
    with pytest.raises(UnsupportedKernelError, match="spatial_kernel must be stationary"):
        regret_slope_lower_bound(**{**LOWER, "spatial_kernel": DotProduct()})
    with pytest.raises(UnsupportedKernelError, match="No spectral density is known"):
        regret_slope_lower_bound(**{**LOWER, "temporal_kernel": Wiener()})
    with pytest.raises(ValueError, match=r"n_dims must be an integer of at least 1. Got 1\.5"):
        regret_slope_lower_bound(**{**LOWER, "n_dims": 1.5})


# --- upper bound ----------------------------------------------------------------------------------

UPPER = {
    "dataset_size": 4,
    "n_iterations": 30,
    "response_time": lambda n: 0.2 + 0.05 * n,
    "spatial_kernel": RBF(1.5),
    "temporal_kernel": Matern(3.0, nu=1.5),
    "signal_variance": 1.7,
    "noise_variance": 0.3,
    "lipschitz": 2.0,
    "n_dims": 2,
    "delta": 0.05,
}


def total_variance_bound(**arguments):
    """The bound on Σ_i σ²(x_i, t_i) in the upper bound, by undoing what is around it."""
    T, d = arguments["n_iterations"], arguments["n_dims"]
    grid = (arguments["lipschitz"] * d * T**2) ** d
    beta = 2.0 * np.log(grid * np.pi**2 * T**2 / (6.0 * arguments["delta"]))
    return (regret_upper_bound(**arguments) - 2.0) ** 2 / (4.0 * beta * T)


def total_variance(queries, arguments):
    """Σ_i σ²(x_i, t_i) of an optimizer with the latest n observations, one Cholesky a step."""
    n, R = arguments["dataset_size"], arguments["response_time"]
    signal, noise = arguments["signal_variance"], arguments["noise_variance"]
    sizes = np.minimum(np.arange(len(queries) - 1), n - 1) + 1
    times = np.concatenate([[0.0], np.cumsum([R(size) for size in sizes])])[:, np.newaxis]
    K = signal * arguments["spatial_kernel"](queries) * arguments["temporal_kernel"](times)
    total = 0.0
    for i in range(len(queries)):
        kept = slice(max(0, i - n), i)
        k = K[kept, i]
        total += signal - k @ np.linalg.solve(K[kept, kept] + noise * np.eye(len(k)), k)
    return total


@pytest.mark.parametrize("n", [1, 4, 15])
@pytest.mark.parametrize("places", ["uniform", "one", "corners"])
def test_posterior_variances_of_simulated_data_sets_lie_below_the_bound(n, places):
    arguments = {**UPPER, "dataset_size": n}
    rng = np.random.RandomState(0)
    queries = {
        "uniform": rng.uniform(size=(30, 2)),
        "one": np.full((30, 2), 0.3),
        "corners": np.repeat(np.arange(30) % 2, 2).reshape(30, 2).astype(float),
    }[places]
    bound = total_variance_bound(**arguments)
    assert total_variance(queries, arguments) <= bound
    assert bound < 1.7 * 30


def test_the_bound_is_reached_by_one_observation_in_the_opposite_corner():
    arguments = {**UPPER, "dataset_size": 1, "n_iterations": 2}
    queries = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert_allclose(
        total_variance(queries, arguments), total_variance_bound(**arguments), rtol=1e-12
    )


def test_the_recommended_size_minimizes_the_upper_bound():
    sizes = np.arange(1, 100)
    bounds = [
        regret_upper_bound(**{**UPPER, "dataset_size": n, "n_iterations": 100}) for n in sizes
    ]
    best = recommended_dataset_size(UPPER["temporal_kernel"], UPPER["response_time"])
    assert sizes[np.argmin(bounds)] == best


def test_with_stale_data_alone_the_upper_bound_is_that_without_data():
    stale = regret_upper_bound(**{**UPPER, "response_time": lambda n: 1e3})
    beta = 4.0 * np.log(2.0 * 2.0 * 30.0**2) + 2.0 * np.log(np.pi**2 * 30.0**2 / 0.3)
    assert_allclose(stale, 2.0 + 2.0 * 30.0 * np.sqrt(1.7 * beta), rtol=1e-12)
    assert regret_upper_bound(**UPPER) < stale


def test_in_one_dimension_beta_is_that_of_the_paper():
    # BOLT eq. (63) puts 6 δ under the power of d, which is right for d = 1.
    arguments = {**UPPER, "n_dims": 1, "response_time": lambda n: 1e3}
    beta = 2.0 * np.log(2.0 * 30.0**2 / (6.0 * 0.05)) + 4.0 * np.log(np.pi * 30.0)
    assert_allclose(regret_upper_bound(**arguments), 2.0 + 60.0 * np.sqrt(1.7 * beta), rtol=1e-12)


def test_gp_ucb_stays_below_the_upper_bound():
    # Draws of the process on a grid of 15 points; UCB with β_T, on the latest n observations.
    arguments = {**UPPER, "n_dims": 1, "n_iterations": 25}
    T, n, noise, signal = 25, 4, 0.3, 1.7
    x = np.linspace(0.0, 1.0, 15)[:, np.newaxis]
    times = np.cumsum([0.0, *(arguments["response_time"](min(i, n)) for i in range(1, T))])
    K_S, K_T = RBF(1.5)(x), Matern(3.0, nu=1.5)(times[:, np.newaxis])
    roots = [np.linalg.cholesky(K + 1e-10 * np.eye(len(K))) for K in (K_S, K_T)]
    beta = 2.0 * np.log(2.0 * T**2 * np.pi**2 * T**2 / (6.0 * 0.05))
    rng = np.random.RandomState(0)
    for _ in range(10):
        f = np.sqrt(signal) * roots[1] @ rng.normal(size=(T, 15)) @ roots[0].T
        chosen, y, regret = [], [], 0.0
        for i in range(T):
            kept = np.arange(max(0, i - n), i)
            at = np.array([chosen[j] for j in kept], dtype=int)
            k = signal * K_S[:, at] * K_T[i, kept]
            gram = signal * K_S[np.ix_(at, at)] * K_T[np.ix_(kept, kept)]
            weights = np.linalg.solve(gram + noise * np.eye(len(kept)), k.T)
            mean = weights.T @ np.array([y[j] for j in kept])
            variance = signal - np.sum(k * weights.T, axis=1)
            chosen.append(np.argmax(mean + np.sqrt(beta * variance)))
            y.append(f[i, chosen[-1]] + np.sqrt(noise) * rng.normal())
            regret += f[i].max() - f[i, chosen[-1]]
        assert 0.0 < regret < regret_upper_bound(**arguments)


@pytest.mark.parametrize("name", ["signal_variance", "noise_variance", "lipschitz"])
def test_what_is_not_positive_is_named_by_the_upper_bound(name):
    with pytest.raises(ValueError, match=rf"{name} must be positive and finite. Got 0\.0"):
        regret_upper_bound(**{**UPPER, name: 0.0})


def test_wrong_arguments_of_the_upper_bound_are_named():
    with pytest.raises(ValueError, match=r"n_iterations must exceed dataset_size=4\. Got 4"):
        regret_upper_bound(**{**UPPER, "n_iterations": 4})
    with pytest.raises(ValueError, match="dataset_size must be an integer"):
        regret_upper_bound(**{**UPPER, "dataset_size": 0})
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\). Got 1\.0"):
        regret_upper_bound(**{**UPPER, "delta": 1.0})
    with pytest.raises(UnsupportedKernelError, match="temporal_kernel must be stationary"):
        regret_upper_bound(**{**UPPER, "temporal_kernel": Wiener()})


# --- reset period ---------------------------------------------------------------------------------


def test_the_reset_period_is_the_formula():
    # 12 · 10^(1/2) = 37.9…; 24 · 100^(11/38) = 91.0…, as c = 6 / (5 + 6); 24 · 100^(3/10) = 95.5…,
    # as c = 2 / (1 + 2) for d = 1 and ν = ½.
    settings = {"n_dims": 2, "horizon": 10_000}
    assert reset_period(0.01, spatial_kernel=RBF(), **settings) == 38
    assert reset_period(0.01, spatial_kernel=Matern(nu=np.inf), **settings) == 38
    assert reset_period(0.01, spatial_kernel=Matern(nu=2.5), **settings) == 92
    assert reset_period(0.01, spatial_kernel=Matern(nu=0.5), n_dims=1, horizon=1e4) == 96


@pytest.mark.parametrize("kernel", [RBF(), Matern(nu=0.5), Matern(nu=2.5)])
def test_the_slower_the_change_the_rarer_the_reset(kernel):
    periods = [
        reset_period(epsilon, spatial_kernel=kernel, n_dims=3, horizon=500)
        for epsilon in (0.9, 0.1, 1e-2, 1e-4, 1e-300)
    ]
    assert all(type(period) is int for period in periods)
    assert periods == sorted(periods)
    assert 12 < periods[0] < periods[1] < periods[2] < 500
    assert periods[-1] == 500
    unlimited = reset_period(1e-12, spatial_kernel=kernel, n_dims=3, horizon=np.inf)
    assert unlimited > 12_000 - 1


def test_wrong_arguments_of_the_reset_period_are_named():
    settings = {"spatial_kernel": RBF(), "n_dims": 2, "horizon": 100}
    for epsilon in (0.0, 1.0, -0.1, np.nan):
        with pytest.raises(ValueError, match=r"epsilon must lie in \(0, 1\)"):
            reset_period(epsilon, **settings)
    for horizon in (0, np.nan):
        with pytest.raises(ValueError, match="horizon must be at least 1 step"):
            reset_period(0.1, **{**settings, "horizon": horizon})
    with pytest.raises(ValueError, match="n_dims must be an integer"):
        reset_period(0.1, **{**settings, "n_dims": 0})
    with pytest.raises(UnsupportedKernelError, match="No reset period is known for"):
        reset_period(0.1, **{**settings, "spatial_kernel": RationalQuadratic()})


# --- information gain -----------------------------------------------------------------------------


def random_covariance(n, seed=0):
    A = np.random.RandomState(seed).normal(size=(n, n))
    return A @ A.T / n


@pytest.mark.parametrize("noise", [0.1, np.linspace(0.05, 2.0, 9)], ids=["same", "each-its-own"])
def test_the_information_gain_is_half_the_log_determinant(noise):
    K = random_covariance(9)
    sign, logdet = np.linalg.slogdet(np.eye(9) + K / np.broadcast_to(noise, 9)[:, np.newaxis])
    assert sign == 1.0
    assert_allclose(information_gain(K, noise), 0.5 * logdet, rtol=1e-12)


def test_the_information_gain_of_a_singular_covariance_is_finite():
    assert_allclose(information_gain(np.ones((500, 500)), 1e-6), 0.5 * np.log1p(5e8), rtol=1e-9)


def test_the_greedy_gain_is_that_of_choosing_one_by_one():
    K, noise = random_covariance(7), np.linspace(0.05, 0.5, 7)
    chosen = []
    for n in range(1, 20):
        gains = [
            information_gain(K[np.ix_(S, S)], noise[S]) for S in ([*chosen, i] for i in range(7))
        ]
        chosen.append(int(np.argmax(gains)))
        assert_allclose(maximum_information_gain(K, noise, n), max(gains), rtol=1e-10)
    assert len(set(chosen)) > 3


def test_the_greedy_gain_is_close_to_the_maximum():
    K = RBF(0.3)(np.linspace(0.0, 1.0, 8)[:, np.newaxis])
    for n in (1, 2, 4):
        maximum = max(
            information_gain(K[np.ix_(S, S)], 0.1)
            for S in map(list, combinations_with_replacement(range(8), n))
        )
        greedy = maximum_information_gain(K, 0.1, n)
        assert (1.0 - np.exp(-1.0)) * maximum <= greedy <= maximum * (1.0 + 1e-12)


def test_independent_points_are_observed_in_turn():
    # 3 points twice and 2 once: an observation seen m times has its noise divided by m.
    expected = 0.5 * (3 * np.log1p(2 / 0.2) + 2 * np.log1p(1 / 0.2))
    assert_allclose(maximum_information_gain(np.eye(5), 0.2, 8), expected, rtol=1e-12)


def test_no_argument_of_a_gain_is_changed():
    K, noise = random_covariance(6), np.full(6, 0.1)
    copies = K.copy(), noise.copy()
    information_gain(K, noise)
    maximum_information_gain(K, noise, 10)
    assert np.array_equal(K, copies[0])
    assert np.array_equal(noise, copies[1])


@pytest.mark.parametrize("gain", [information_gain, lambda K, s: maximum_information_gain(K, s, 2)])
def test_wrong_arguments_of_a_gain_are_named(gain):
    for noise in (0.0, -1.0, np.nan, [0.1, 0.1, 0.1]):
        with pytest.raises(ValueError, match="noise_variance must be a positive, finite number"):
            gain(np.eye(2), noise)
    with pytest.raises(
        ValueError, match=r"K must be a symmetric matrix. Got one of shape \(2, 3\)"
    ):
        gain(np.ones((2, 3)), 0.1)
    with pytest.raises(ValueError, match="K must be a symmetric matrix"):
        gain([[1.0, 0.5], [0.4, 1.0]], 0.1)
    with pytest.raises(ValueError, match="contains NaN"):
        gain([[np.nan]], 0.1)


def test_what_is_no_covariance_has_no_gain():
    with pytest.raises(NotPositiveDefiniteError, match="Give a covariance matrix"):
        information_gain([[1.0, 3.0], [3.0, 1.0]], 0.1)
    with pytest.raises(ValueError, match=r"K must be a covariance. Its diagonal contains -1\.0"):
        maximum_information_gain([[1.0, 0.0], [0.0, -1.0]], 0.1, 2)
    with pytest.raises(ValueError, match=r"n must be an integer of at least 1\. Got 0"):
        maximum_information_gain(np.eye(2), 0.1, 0)
