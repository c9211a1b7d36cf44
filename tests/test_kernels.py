"""Laws of all kernels, and user-defined kernels in the regressor."""

import pickle
from functools import partial

import numpy as np
import pytest
from gaussian_process.cases import assert_same_posterior, make
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
    WhiteKernel,
)

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.kernels import (
    ChordalMatern,
    Empirical,
    Forgetting,
    ProportionalMatern,
    Separable,
    Wiener,
    split_time,
)


class ToyKernel(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    """1 / (1 + r² / l²): a user-defined kernel with scikit-learn's public names only."""

    def __init__(self, length_scale=1.0, length_scale_bounds=(1e-3, 1e3)):
        self.length_scale = length_scale
        self.length_scale_bounds = length_scale_bounds

    @property
    def hyperparameter_length_scale(self):
        return Hyperparameter("length_scale", "numeric", self.length_scale_bounds)

    def __call__(self, X, Y=None, eval_gradient=False):
        if Y is not None and eval_gradient:
            raise ValueError("eval_gradient must be False unless Y is None.")
        X = np.atleast_2d(X)
        squares = cdist(X, X if Y is None else Y, "sqeuclidean") / self.length_scale**2
        K = 1.0 / (1.0 + squares)
        if not eval_gradient:
            return K
        fixed = self.hyperparameter_length_scale.fixed
        return K, (2.0 * squares * K**2)[:, :, np.newaxis][:, :, : 0 if fixed else 1]


def covariance(m=6, rank=None, seed=0):
    """Return a covariance matrix of m arms."""
    A = np.random.RandomState(seed).normal(size=(m, m if rank is None else rank))
    return A @ A.T


# name: (kernel, columns: "x" of space, "t" of time, "i" of indices of arms)
KERNELS = {
    "forgetting": (Forgetting(0.2), "t"),
    "forgetting-fixed": (Forgetting(0.2, "fixed"), "t"),
    "wiener": (Wiener(0.3, start=-0.5), "t"),
    "wiener-fixed": (Wiener(0.3, "fixed"), "t"),
    "wiener-constant": (Wiener(0.3, start=0.5, before="constant"), "t"),
    "empirical": (Empirical(covariance()), "i"),
    "empirical-singular": (Empirical(covariance(6, rank=2)), "i"),
    "chordal": (ChordalMatern(200.0, nu=2.5), "xx"),
    "proportional": (ProportionalMatern([0.4, 2.0], nu=2.5), "xx"),
    "proportional-fixed": (ProportionalMatern([0.4, 2.0], "fixed", nu=1.5), "xx"),
    "matern-rbf": (Separable(Matern(0.7, nu=2.5), RBF(3.0)), "xt"),
    "ard-matern": (Separable(Matern([0.3, 0.8, 2.0], nu=1.5), Matern(2.0, nu=0.5)), "xxxt"),
    "time-first": (Separable(RBF([0.3, 0.8]), Forgetting(0.1), time_column=0), "txx"),
    "time-in-the-middle": (Separable(RBF([0.3, 0.8]), Forgetting(0.1), time_column=1), "xtx"),
    "space-fixed": (Separable(RBF(0.5, "fixed"), Matern(2.0, nu=1.5)), "xxt"),
    "time-fixed": (Separable(RBF(0.5), Forgetting(0.1, "fixed")), "xxt"),
    "all-fixed": (Separable(RBF(0.5, "fixed"), Forgetting(0.1, "fixed")), "xxt"),
    "dot-periodic": (Separable(1.0 + DotProduct(0.5), ExpSineSquared(1.0, 3.0)), "xxt"),
    "ard-wiener": (Separable(RBF([0.3, 0.8]), Wiener(0.05)), "xxt"),
    "arms-wiener": (Separable(Empirical(covariance()), Wiener(0.05)), "it"),
    "time-alone-ard": (Separable(RBF([0.5, 0.2]), Forgetting(0.1)), "t"),
    "time-alone-arms": (Separable(Empirical(covariance()), Wiener(0.2)), "t"),
    "product": (Wiener(0.2) * Forgetting(0.3) * 2.0, "t"),
    "sum": (Separable(RBF(0.5), Forgetting(0.1)) + WhiteKernel(0.1) + Forgetting(0.3), "t"),
    "toy": (Separable(ToyKernel(0.5), ToyKernel(3.0)), "xxt"),
    "nested": (Separable(Separable(RBF(0.5), RBF(0.2)), Forgetting(0.1)), "xxt"),
}

every_kernel = pytest.mark.parametrize(("kernel", "columns"), KERNELS.values(), ids=list(KERNELS))


def points(columns, n=9):
    """Return points (n, len(columns)); each kernel of arms has at least five."""
    rng = np.random.RandomState(len(columns))
    X = rng.uniform(0.0, 3.0, (n, len(columns)))
    for arms in np.flatnonzero([column == "i" for column in columns]):
        X[:, arms] = rng.randint(5, size=n)
    return X


@every_kernel
def test_gradient_is_the_derivative_in_theta(kernel, columns):
    X, step = points(columns), 1e-6
    K, gradient = kernel(X, eval_gradient=True)
    assert_allclose(K, kernel(X), rtol=1e-14)
    assert gradient.shape == (len(X), len(X), len(kernel.theta))
    for slope, move in zip(np.moveaxis(gradient, 2, 0), step * np.eye(len(kernel.theta))):
        up, down = (kernel.clone_with_theta(kernel.theta + s * move)(X) for s in (1, -1))
        assert_allclose(slope, (up - down) / (2.0 * step), rtol=1e-6, atol=1e-8)


@every_kernel
def test_bounds_are_in_the_order_of_theta(kernel, columns):
    free = [h for h in kernel.hyperparameters if not h.fixed]
    expected = [np.log(np.broadcast_to(h.bounds, (h.n_elements, 2))) for h in free]
    assert_allclose(kernel.bounds.reshape(-1, 2), np.vstack([np.empty((0, 2)), *expected]))


@every_kernel
def test_values_of_one_set_and_of_two(kernel, columns):
    X = points(columns)
    K = kernel(X)
    assert_allclose(K, K.T, rtol=1e-14)
    assert_allclose(kernel.diag(X), np.diagonal(K), rtol=1e-12)
    if "White" in repr(kernel):
        # By scikit-learn's convention the noise is on the diagonal of k(X) alone.
        K = K - 0.1 * np.eye(len(X))
    assert_allclose(kernel(X, X), K, rtol=1e-12)
    assert_allclose(kernel(X[:4], X[2:]), K[:4, 2:], rtol=1e-12)


@every_kernel
def test_copies_are_equal_and_independent(kernel, columns):
    X, theta = points(columns), kernel.theta.copy()
    for copy in (clone(kernel), pickle.loads(pickle.dumps(kernel))):
        assert copy == kernel
        assert_array_equal(copy(X), kernel(X))
        copy.theta = copy.theta + 1.0
        assert_array_equal(kernel.theta, theta)


@pytest.mark.parametrize("name", KERNELS)
def test_equal_to_itself_alone(name):
    kernel, _ = KERNELS[name]
    # Fixed bounds count as well as hyperparameters.
    assert [other for other in KERNELS if KERNELS[other][0] == kernel] == [name]


@every_kernel
def test_no_points_and_a_gradient_of_two_sets(kernel, columns):
    X, none = points(columns), np.empty((0, len(columns)))
    assert kernel(none, X).shape == (0, 9)
    assert kernel.diag(none).shape == (0,)
    with pytest.raises(ValueError, match="Y is None"):
        kernel(X, X, eval_gradient=True)


OPEN = r"must be a float in the range \(0, 1\)\. Got"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        *((Forgetting(e), f"'epsilon' .* Forgetting {OPEN}") for e in (0.0, 1.0, -0.1, np.nan)),
        (Forgetting(0.2, (0.0, 0.5)), "'epsilon_bounds' .* a pair 0 < low <= high < 1"),
        (Forgetting(0.2, (0.1, 1.0)), "'epsilon_bounds' .* a pair 0 < low <= high < 1"),
        *((Wiener(v), r"'drift_variance' .* \(0, inf\)\. Got") for v in (0.0, np.nan, np.inf)),
        (Wiener(0.1, start=np.nan), r"'start' parameter of Wiener must be .* Got nan"),
        (Wiener(before=None), r"'before' .* must be 'error' or 'constant'\. Got None"),
    ],
    ids=str,
)
def test_invalid_parameters(kernel, message):
    # A stationary kernel has the diagonal 1.
    diagonal = kernel.check if isinstance(kernel, Forgetting) else partial(kernel.diag, [[0.0]])
    for use in (partial(kernel, [[0.0]]), diagonal):
        with pytest.raises(ValueError, match=message):
            use()


@pytest.mark.parametrize("kernel", [Wiener(), Empirical(np.eye(3))])
def test_points_are_one_column(kernel):
    with pytest.raises(ValueError, match=r"must be one column.* Got shape \(3, 2\)"):
        kernel(np.zeros((3, 2)))


# --- Forgetting -----------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1])
def test_forgetting_at_its_bounds(at):
    bounds = Forgetting().epsilon_bounds
    epsilon, t = bounds[at], points("t")
    K, slope = Forgetting(epsilon)(t, eval_gradient=True)
    assert_allclose(K, (1.0 - epsilon) ** (np.abs(t - t.T) / 2.0), rtol=1e-12)
    step = 1e-6
    up, down = (Forgetting(epsilon * np.exp(s * step))(t) for s in (1, -1))
    assert_allclose(slope[:, :, 0], (up - down) / (2.0 * step), rtol=1e-4, atol=1e-9)
    # The round trip through theta must not exceed the bound.
    back = Forgetting(epsilon).clone_with_theta(Forgetting().bounds[0, [at]])
    assert back.epsilon == pytest.approx(epsilon, rel=1e-14)


# --- Wiener ---------------------------------------------------------------------------------------


def test_wiener_by_hand():
    kernel = Wiener(0.5, start=2.0)
    t, s = np.array([[2.0], [4.0]]), np.array([[3.0], [2.0], [10.0]])
    assert_array_equal(kernel(t, s), [[1.0, 1.0, 1.0], [1.5, 1.0, 2.0]])
    assert not kernel.is_stationary()
    assert repr(kernel) == "Wiener(drift_variance=0.5, start=2)"


def test_wiener_has_no_times_before_its_start():
    kernel = Wiener(0.1, start=5.0)
    message = r"after start=5\.0\. Got times from 4\.9 instead\. Set start to the earliest"
    for use in (kernel, kernel.diag, partial(kernel, [[6.0]])):
        with pytest.raises(ValueError, match=message):
            use([[6.0], [4.9]])
    with pytest.raises(ValueError, match="Got times from nan"):
        kernel([[np.nan]])


def test_wiener_may_be_constant_before_its_start():
    kernel = Wiener(0.1, start=5.0, before="constant")
    T = np.array([[-1e9], [4.9], [5.0], [7.0]])
    assert_allclose(kernel(T), Wiener(0.1, start=5.0)(np.maximum(T, 5.0)))
    assert_allclose(kernel.diag(T), [1.0, 1.0, 1.0, 1.2])
    with pytest.raises(ValueError, match="Got times from nan"):
        kernel([[np.nan]])


def drifting(n=30, origin=0.0, seed=0):
    """Return places and times from ``origin`` on, not in order, and values."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), origin + rng.uniform(0.0, 8.0, n)])
    X[3, 2] = origin
    return X, np.sin(4.0 * X[:, 0] + 0.5 * (X[:, 2] - origin)) + 0.1 * rng.normal(size=n)


def assert_same_likelihood(ours, theirs, theta):
    """Compare log marginal likelihoods and gradients at theta and noise variance 0.02."""
    found = ours.log_marginal_likelihood(np.append(theta, np.log(0.02)), eval_gradient=True)
    expected = theirs.log_marginal_likelihood(theta, eval_gradient=True)
    assert_allclose(found[0], expected[0], rtol=1e-10)
    assert_allclose(found[1][:-1], expected[1], rtol=1e-8)


@pytest.mark.parametrize(
    ("origin", "before"), [(0.0, 0.0), (0.0, 100.0), (-40.0, 1.0), (1.7e9, 0.0), (1.7e9, 100.0)]
)
def test_wiener_in_our_regressor_is_scikit_learns(origin, before):
    X, y = drifting(origin=origin)
    assert X[0, 2] > X[:, 2].min(), "an observation must be earlier than the first row"
    new, _ = drifting(n=12, origin=origin, seed=1)
    new[:4, 2] += 20.0
    wiener = Wiener(0.07, start=origin - before)
    prior = ConstantKernel(1.3, (1e-3, 1e3)) * Separable(Matern(0.5, nu=2.5), wiener)
    theirs = GaussianProcessRegressor(prior, alpha=0.02, optimizer=None).fit(X, y)
    ours = make(temporal=wiener).fit(X, y)
    assert_same_posterior(ours, theirs, new)
    assert_same_likelihood(ours, theirs, theirs.kernel_.theta + np.array([0.2, -0.1, 0.3]))


def test_wiener_freezes_the_mean_and_lets_the_variance_grow():
    X, y = drifting()
    gp = make(temporal=Wiener(0.07)).fit(X, y)
    last, places = X[:, 2].max(), np.random.RandomState(2).uniform(size=(7, 2))

    def posterior(gp, age):
        return gp.predict(np.column_stack([places, np.full(7, last + age)]), return_cov=True)

    mean, cov = posterior(gp, 0.0)
    growth = 1.3 * 0.07 * gp.spatial_kernel_(places)
    for age in (0.01, 1.0, 5.0, 500.0):
        later_mean, later_cov = posterior(gp, age)
        assert_allclose(later_mean, mean, rtol=1e-9, atol=1e-11)
        assert_allclose(later_cov - cov, age * growth, rtol=1e-8, atol=1e-10)
    # A stationary kernel does neither.
    stationary = make(temporal=Forgetting(0.07)).fit(X, y)
    assert_allclose(posterior(stationary, 500.0)[0], 0.0, atol=1e-6)


def test_the_drift_variance_is_learnt():
    rng = np.random.RandomState(0)
    n, drift = 400, 0.3
    walk = rng.normal() + np.cumsum(np.sqrt(drift) * rng.normal(size=n))
    held = {"signal_variance_bounds": "fixed", "noise_variance_bounds": "fixed"}
    gp = TimeVaryingGPRegressor(None, Wiener(0.03, start=100.0), noise_variance=0.01, **held)
    gp.fit(np.arange(101.0, 101.0 + n)[:, np.newaxis], walk + 0.1 * rng.normal(size=n))
    # A variance learnt from n increments has a relative standard error of sqrt(2 / n).
    assert abs(np.log(gp.temporal_kernel_.drift_variance / drift)) < 3.0 * np.sqrt(2.0 / n)


# --- Empirical ------------------------------------------------------------------------------------


def test_empirical_is_the_matrix():
    C = covariance(5)
    kernel = Empirical(C)
    assert_array_equal(kernel(np.arange(5.0)[:, np.newaxis]), C)
    assert_array_equal(kernel([[3.0], [3.0]], [[1.0], [4.0], [3.0]]), C[[3, 3]][:, [1, 4, 3]])
    assert_array_equal(kernel.diag([[4.0], [0.0]]), [C[4, 4], C[0, 0]])
    assert not kernel.is_stationary()
    assert repr(kernel) == "Empirical(covariance of shape (5, 5))"
    assert repr(Empirical([[1.0], [2.0, 3.0]])) == "Empirical(covariance of shape (2,))"


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "list", "fortran", "read-only"])
def test_empirical_takes_any_matrix(kind):
    C = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    given = {"list": C.tolist(), "fortran": np.asfortranarray(C), "read-only": C.copy()}
    given = given[kind] if kind in given else C.astype(kind)
    if kind == "read-only":
        given.flags.writeable = False
    kernel = Empirical(given)
    assert kernel.covariance is given
    K = kernel([[0.0], [1.0], [2.0]])
    assert_array_equal(K, C)
    assert K.dtype == np.float64
    K[:] = -1.0
    assert_array_equal(np.asarray(given), C)


def test_empirical_forgives_rounding():
    rng = np.random.RandomState(0)
    low_rank = np.cov(rng.normal(size=(40, 5)))
    assert np.linalg.eigvalsh(low_rank)[0] < 0.0, "the test needs a rounding error"
    for C in (low_rank, low_rank.astype(np.float32), low_rank + 1e-16 * rng.normal(size=(40, 40))):
        assert Empirical(C)([[0.0]]).shape == (1, 1)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), r"square matrix of real numbers\. Got shape \(2, 3\)"),
        (np.zeros((0, 0)), r"square matrix .* Got shape \(0, 0\)"),
        (np.eye(2, dtype=complex), "real numbers.* dtype complex128"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "must be finite. Got nan"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), r"symmetric\. Got 0\.5 at \(0, 1\) and 0\.4 at"),
        (np.array([[1.0, 0.5], [0.5 + 1e-12, 1.0]]), "must be symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), r"semi-definite\. Got a smallest eigenvalue of -1 "),
        (np.diag([1.0, -1e-9]), r"smallest eigenvalue of -1e-09 instead\. Add its"),
    ],
)
def test_invalid_matrices(matrix, message):
    kernel = Empirical(matrix)
    for use in (kernel, kernel.diag):
        for _ in range(2):  # a cached check would miss the second error
            with pytest.raises(ValueError, match=message):
                use([[0.0]])


@pytest.mark.parametrize(
    ("index", "got"), [(-1.0, "-1"), (3.0, "3"), (0.5, "0.5"), (np.nan, "nan"), (np.inf, "inf")]
)
def test_invalid_indices(index, got):
    kernel = Empirical(np.eye(3))
    message = rf"indices of Empirical must be whole numbers from 0 to 2\. Got {got}"
    for use in (kernel, kernel.diag, partial(kernel, [[0.0]])):
        with pytest.raises(ValueError, match=message):
            use([[0.0], [index]])


def test_empirical_notices_a_changed_matrix():
    C = np.eye(2)
    kernel = Empirical(C)
    copy = clone(kernel)
    kernel([[0.0]])
    C[0, 1] = C[1, 0] = 3.0
    with pytest.raises(ValueError, match="smallest eigenvalue of -2"):
        kernel([[0.0]])
    assert copy([[0.0], [1.0]])[0, 1] == 0.0
    assert kernel != copy
    assert kernel.set_params(covariance=np.eye(2)) == copy


@pytest.mark.parametrize(
    ("temporal", "normalize_y"),
    [(Forgetting(0.1), False), (Matern(3.0, nu=1.5), True), (Wiener(0.05), False)],
    ids=str,
)
def test_empirical_in_our_regressor_is_scikit_learns(temporal, normalize_y):
    rng = np.random.RandomState(0)
    arms = Empirical(covariance(6, rank=3))
    X = np.column_stack([rng.randint(6, size=40), np.sort(rng.uniform(2.0, 12.0, 40))])
    y = np.sin(X[:, 0] + 0.3 * X[:, 1])
    options = {"optimizer": None, "normalize_y": normalize_y}
    ours = TimeVaryingGPRegressor(arms, temporal, noise_variance=0.05, **options).fit(X, y)
    kernel = Separable(arms, temporal)
    theirs = GaussianProcessRegressor(kernel, alpha=0.05, **options).fit(X, y)
    assert_same_posterior(ours, theirs, np.column_stack([np.arange(6.0), np.full(6, 13.0)]))
    learnt = clone(ours).set_params(optimizer="fmin_l_bfgs_b").fit(X, y)
    assert learnt.log_marginal_likelihood() > ours.log_marginal_likelihood()
    assert learnt.spatial_kernel_ == arms


# --- Separable ------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", [-3, -2, -1, 0, 1, 2])
def test_separable_is_a_product_over_the_columns(column):
    X = points("xxt")
    space, time = Matern([0.3, 0.8], nu=1.5), Forgetting(0.2)
    expected = space(np.delete(X, column, axis=1)) * time(X[:, [column]])
    assert_allclose(Separable(space, time, time_column=column)(X), expected, rtol=1e-14)


def test_separable_of_one_column_is_time_alone():
    t = points("t")
    kernel = Separable(RBF([0.1, 0.2]), Forgetting(0.2))
    assert_array_equal(kernel(t), Forgetting(0.2)(t))
    _, gradient = kernel(t, eval_gradient=True)
    assert_array_equal(gradient[:, :, :2], 0.0)
    assert np.any(gradient[:, :, 2] != 0.0)


def test_separable_reaches_the_parameters_of_its_factors():
    kernel = Separable(RBF(1.0), Forgetting(0.1))
    kernel.set_params(spatial__length_scale=0.5, temporal__epsilon=0.3, time_column=0)
    assert kernel == Separable(RBF(0.5), Forgetting(0.3), time_column=0)
    assert kernel.is_stationary()
    assert not Separable(RBF(), Wiener()).is_stationary()
    assert set(kernel.get_params(deep=False)) == {"spatial", "temporal", "time_column"}
    assert repr(kernel) == "Separable(RBF(length_scale=0.5), Forgetting(epsilon=0.3))"


@pytest.mark.parametrize("column", [2, -3])
def test_invalid_time_columns(column):
    message = rf"time_column must be an int in the range \[-2, 1\]\. Got {column} instead"
    for use in (partial(split_time, time_column=column), Separable(RBF(), RBF(), column)):
        with pytest.raises(ValueError, match=message):
            use(np.zeros((3, 2)))


# --- user-defined kernels -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spatial", "temporal"),
    [
        (ToyKernel(0.6), ToyKernel(4.0)),
        (ToyKernel(0.6), Forgetting(0.1)),
        (Matern([0.4, 0.9], nu=2.5), ToyKernel(4.0)),
    ],
)
def test_a_user_defined_kernel_works_without_registration(spatial, temporal):
    X, y = drifting(origin=3.0)
    new = drifting(n=12, origin=5.0, seed=1)[0]
    prior = ConstantKernel(1.3, (1e-3, 1e3)) * Separable(spatial, temporal)
    theirs = GaussianProcessRegressor(prior, alpha=0.02, optimizer=None).fit(X, y)
    fitted = make(spatial, temporal).fit(X, y)
    assert_same_posterior(fitted, theirs, new)
    assert_same_likelihood(fitted, theirs, theirs.kernel_.theta + 0.1)
    learnt = make(spatial, temporal, optimizer="fmin_l_bfgs_b").fit(X, y)
    assert learnt.log_marginal_likelihood_value_ > fitted.log_marginal_likelihood_value_ + 1.0

    streamed = make(spatial, temporal).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    assert_allclose(streamed.posterior_at(12.0)(new[:, :2]), fitted.posterior_at(12.0)(new[:, :2]))
    if isinstance(spatial, ToyKernel):
        with pytest.raises(UnsupportedKernelError, match=r"relevancy .* not available for ToyKer"):
            fitted.relevancy()
    else:
        assert fitted.relevancy().shape == (len(X),)
