"""Kernels in time from outside of the package, with and without the optional protocols."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import expm
from sklearn.gaussian_process.kernels import (
    ExpSineSquared,
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    RationalQuadratic,
    StationaryKernelMixin,
)
from twins.test_markov import TIMES, implied

from sktvbo import ABO, BOLT, WDBO, Journal, TimeVaryingGPRegressor
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process._future import Future, future_of
from sktvbo.gaussian_process.kalman._state_space import Linear, state_space
from sktvbo.kernels import Decaying, Forgetting, FutureConvolved, Markov
from sktvbo.relevancy import temporal_convolution
from sktvbo.theory import recommended_dataset_size


class Plain(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    """exp(−|τ| / l) cos(2π τ / p)."""

    def __init__(self, length_scale=12.0, period=5.0, length_scale_bounds=(2.0, 50.0)):
        self.length_scale = length_scale
        self.period = period
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self):
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        age = np.abs(np.subtract.outer(X[:, 0], (X if Y is None else Y)[:, 0]))
        K = np.exp(-age / self.length_scale) * np.cos(2.0 * np.pi * age / self.period)
        if not eval_gradient:
            return K
        slope = (K * age / self.length_scale)[:, :, np.newaxis]
        return K, slope[:, :, : self.n_dims]


class WithStateSpace(Plain):
    def state_space(self):
        c, w = 1.0 / self.length_scale, 2.0 * np.pi / self.period
        return np.array([[-c, -w], [w, -c]]), np.eye(2), np.array([1.0, 0.0])


class WithConvolution(Plain):
    def future_convolution(self, u, v):
        s = 1.0 / self.length_scale - 2j * np.pi / self.period
        a, b = np.exp(-s * u), np.exp(-s * v)
        both = np.outer(a, b) / (2.0 * s) + np.outer(a, b.conj()) / (2.0 * s.real)
        return 0.5 * both.real


class WithDecay(Plain):
    def decay(self, ages):
        return np.exp(-ages / self.length_scale)


KINDS = [Plain, WithStateSpace, WithConvolution, WithDecay]
COMPOSED = {
    "alone": lambda kernel: kernel,
    "scaled": lambda kernel: 0.7 * kernel,
    "sum": lambda kernel: 2.0 * kernel + Matern(3.0, nu=2.5),
    "product": lambda kernel: kernel * Matern(20.0, nu=1.5),
    "season": lambda kernel: kernel * ExpSineSquared(1.5, 3.0) + 0.3 * Forgetting(0.1),
    "unknown": lambda kernel: kernel + RationalQuadratic(10.0, 1.5),
}
every_composition = pytest.mark.parametrize("compose", COMPOSED.values(), ids=list(COMPOSED))
every_kind = pytest.mark.parametrize("kind", KINDS)


def data(n=90, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.choice([0.1, 0.4, 0.8], n), np.sort(rng.uniform(0.0, 40.0, n))])
    return X, np.sin(6.0 * X[:, 0] + 1.25 * X[:, 1]) + 0.1 * rng.normal(size=n)


def make(kernel, **options):
    return TimeVaryingGPRegressor(temporal_kernel=kernel, noise_variance=0.02, **options)


def test_protocols_are_optional_and_separate():
    found = [[isinstance(kind(), p) for p in (Markov, FutureConvolved, Decaying)] for kind in KINDS]
    assert found == [[False] * 3, *np.eye(3, dtype=bool).tolist()]


@every_kind
@every_composition
def test_each_way_to_the_convolutions_has_their_values(kind, compose):
    kernel, plain = compose(kind()), compose(Plain())
    u = np.array([0.0, 0.2, 3.0, 25.0])
    for start in (0.0, 40.0):
        ages = start + u
        expected = future_of(plain, "This").future_convolution(ages, ages)
        found = future_of(kernel, "This").future_convolution(ages, ages)
        assert_allclose(found, expected, rtol=0.0, atol=1e-8 * expected[0, 0])
        scaled = future_of(kernel, "This").future_convolution(ages, ages, start)
        assert_allclose(scaled / scaled[0, 0], expected / expected[0, 0], atol=1e-8)
    assert_allclose(temporal_convolution(kernel, -u, 0.0)[0, 0], found_at_0(plain), rtol=1e-8)


def found_at_0(kernel):
    return Future(kernel, "This").future_convolution(np.zeros(1), np.zeros(1))[0, 0]


@every_kind
@every_composition
def test_relevancies_do_not_depend_on_what_a_kernel_brings(kind, compose):
    X, y = data()
    found = make(compose(kind()), optimizer=None).fit(X, y)
    expected = make(compose(Plain()), optimizer=None).fit(X, y)
    for now in (None, 43.0):
        assert_allclose(found.relevancy(now), expected.relevancy(now), rtol=1e-5, atol=1e-6)
    found, expected = found.fitted_, expected.fitted_
    for i in range(20):  # updates of the forms
        row = np.array([[0.4, 41.0 + i]])
        found, expected = (
            gp.with_rows(np.vstack([gp.X_train_, row]), np.append(gp.y_train_, np.sin(i)))
            for gp in (found, expected)
        )
        sweeps = [gp.relevancy_sweep(row[0, 1]) for gp in (found, expected)]
        assert_allclose(sweeps[0].relevancy(), sweeps[1].relevancy(), rtol=1e-5, atol=1e-6)


@every_composition
def test_a_state_space_brings_the_filter(compose):
    kernel = compose(WithStateSpace())
    if compose is COMPOSED["unknown"]:
        assert state_space(kernel) is None
        return
    process, scale = state_space(kernel), kernel.diag(np.zeros((1, 1)))[0]
    assert isinstance(process, Linear)
    K = kernel(TIMES[:, np.newaxis])
    assert_allclose(scale * implied(process, TIMES), K, rtol=1e-9, atol=1e-9 * scale)
    X, y = data()
    dense, filtered = (make(kernel, solver=s).fit(X, y) for s in ("dense", "kalman"))
    filtered.set_params(optimizer=None)
    for theta in (make(kernel, optimizer=None).fit(X, y).theta_, dense.theta_):
        (value, slope), (expected, by) = (
            gp.log_marginal_likelihood(theta, eval_gradient=True) for gp in (filtered, dense)
        )
        assert_allclose(value, expected, rtol=1e-8)
        assert_allclose(slope, by, rtol=1e-4, atol=1e-5 * np.abs(by).max())
    assert abs(dense.log_marginal_likelihood_value_ - filtered.log_marginal_likelihood_value_) < 0.1


@pytest.mark.parametrize("gap", [1e-8, 1e-3, 0.5, 50.0])
def test_noise_of_a_linear_equation_has_its_digits(gap):
    process = state_space(WithStateSpace())
    A, Q = process.transitions([gap])
    F = WithStateSpace().state_space()[0]
    assert_allclose(A[0], expm(F * gap), rtol=1e-12, atol=1e-14)
    lost = -np.expm1(-2.0 * gap / WithStateSpace().length_scale)
    assert_allclose(Q[0, 0], lost * np.eye(2), rtol=1e-9, atol=1e-10 * lost)


@pytest.mark.parametrize("algorithm", [WDBO, BOLT, ABO])
@pytest.mark.parametrize("kernel", [*(kind() for kind in KINDS), RationalQuadratic(8.0)], ids=str)
def test_algorithms_json_and_journals_take_custom_kernels(algorithm, kernel, tmp_path):
    parameters = {"surrogate": make(kernel), "n_initial_points": 4, "random_state": 0}
    opt = algorithm([(0.0, 1.0)], journal=tmp_path / "run.db", **parameters)
    now = 0.0
    for _ in range(12):
        query = opt.suggest(now)
        opt.tell(query, float(np.sin(6.0 * query.x[0] + query.t)))
        now = query.t + 1.0
    twin = algorithm.from_json(opt.to_json(), surrogate=make(kernel))
    expected = twin.ask(now)
    opt.close()
    journal = Journal(tmp_path / "run.db", resume=True)
    resumed = algorithm([(0.0, 1.0)], journal=journal, **parameters)
    assert_allclose(resumed.ask(now), expected, atol=1e-6)
    resumed.close()
    assert_array_equal(twin.surrogate_.temporal_kernel_.theta.shape, kernel.theta.shape)


@pytest.mark.parametrize("start", [0.1, 1.0])
def test_a_search_does_not_leave_where_relevancies_exist(start):
    """Values that hardly decay: alpha would be far below 0.25."""
    surrogate = make(RationalQuadratic(1.0, start))
    opt = WDBO([(0.0, 1.0)], surrogate=surrogate, n_initial_points=3, random_state=0)
    rng = np.random.RandomState(0)

    def run():
        for t in range(25):
            x = opt.ask(float(t))
            opt.tell(x, float(x[0] + 0.1 * np.sin(0.3 * t) + 0.05 * rng.normal()), t=float(t))

    if start < 0.25:
        with pytest.raises(UnsupportedKernelError, match="decays so slowly"):
            run()
    else:
        run()
        assert opt.surrogate_.temporal_kernel_.alpha > 0.25


@every_kind
def test_a_size_is_recommended_for_a_kernel_that_oscillates(kind):
    size = recommended_dataset_size(kind(), lambda n: 0.02 * n)
    smooth = recommended_dataset_size(Matern(12.0, nu=0.5), lambda n: 0.02 * n)
    assert smooth // 2 < size <= 2 * smooth


class Wrong(WithStateSpace):
    def __init__(self, length_scale=12.0, period=5.0, length_scale_bounds=(2.0, 50.0), part="F"):
        super().__init__(length_scale, period, length_scale_bounds)
        self.part = part

    def state_space(self):
        F, P, H = super().state_space()
        wrong = {"F": (2.0 * F, P, H), "P": (F, P + 1.0, H), "H": (F, P, H[np.newaxis])}
        return wrong[self.part]


@pytest.mark.parametrize("part", ["F", "P", "H"])
def test_a_wrong_state_space_is_an_error(part):
    for solver in ("dense", "kalman"):
        with pytest.raises(ValueError, match=r"state_space\(\) of Wrong must be .*"):
            make(Wrong(part=part), optimizer=None, solver=solver).fit(*data()).relevancy()


def test_a_wrong_shape_of_a_convolution_is_an_error():
    class Flat(WithConvolution):
        def future_convolution(self, u, v):
            return super().future_convolution(u, v).ravel()

    with pytest.raises(ValueError, match=r"future_convolution\(\) of Flat must be an array of sha"):
        make(Flat(), optimizer=None).fit(*data()).relevancy()
