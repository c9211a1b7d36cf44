"""Laws that every kernel of ours obeys, and which kernels the compiled code recognizes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from sktvbo.exceptions import SktvboError, UnsupportedKernelError
from sktvbo.kernels import (
    Family,
    Forgetting,
    Separable,
    recognize,
    recognize_or_raise,
    split_time,
    temporal_length_scale,
)

# name: (kernel, number of columns)
KERNELS = {
    "forgetting": (Forgetting(0.2), 1),
    "forgetting-fixed": (Forgetting(0.2, "fixed"), 1),
    "matern-rbf": (Separable(Matern(0.7, nu=2.5), RBF(3.0)), 2),
    "ard-forgetting": (Separable(RBF([0.3, 0.8]), Forgetting(0.1)), 3),
    "ard-matern": (Separable(Matern([0.3, 0.8, 2.0], nu=1.5), Matern(2.0, nu=0.5)), 4),
    "time-first": (Separable(RBF([0.3, 0.8]), Forgetting(0.1), time_column=0), 3),
    "time-in-the-middle": (Separable(RBF([0.3, 0.8]), Forgetting(0.1), time_column=1), 3),
    "space-fixed": (Separable(RBF(0.5, "fixed"), Matern(2.0, nu=1.5)), 3),
    "time-fixed": (Separable(RBF(0.5), Forgetting(0.1, "fixed")), 3),
    "all-fixed": (Separable(RBF(0.5, "fixed"), Forgetting(0.1, "fixed")), 3),
    "static": (Separable(RBF(0.5), ConstantKernel(1.0, "fixed")), 3),
    "rational": (Separable(RationalQuadratic(0.5, 1.5), RationalQuadratic(2.0, 0.7)), 2),
    "dot-periodic": (Separable(1.0 + DotProduct(0.5), ExpSineSquared(1.0, 3.0)), 3),
    "time-alone": (Separable(RBF(0.5), Matern(2.0, nu=1.5)), 1),
    "time-alone-ard": (Separable(RBF([0.5, 0.2]), Forgetting(0.1)), 1),
    "product": (2.0 * Separable(RBF(0.5), Forgetting(0.1)), 2),
    "sum": (Separable(RBF(0.5), Forgetting(0.1)) + WhiteKernel(0.1) + Forgetting(0.3), 1),
    "nested": (Separable(Separable(RBF(0.5), RBF(0.2)), Forgetting(0.1)), 3),
}

every_kernel = pytest.mark.parametrize(("kernel", "n_columns"), KERNELS.values(), ids=list(KERNELS))


def points(n_columns, n=9):
    return np.random.RandomState(n_columns).uniform(0.0, 3.0, (n, n_columns))


@every_kernel
def test_gradient_is_the_derivative_in_theta(kernel, n_columns):
    X, step = points(n_columns), 1e-6
    K, gradient = kernel(X, eval_gradient=True)
    assert_allclose(K, kernel(X), rtol=1e-14)
    assert gradient.shape == (len(X), len(X), len(kernel.theta))
    for slope, move in zip(np.moveaxis(gradient, 2, 0), step * np.eye(len(kernel.theta))):
        up, down = (kernel.clone_with_theta(kernel.theta + s * move)(X) for s in (1, -1))
        assert_allclose(slope, (up - down) / (2.0 * step), rtol=1e-6, atol=1e-8)


@every_kernel
def test_theta_round_trip(kernel, n_columns):
    theta = kernel.theta + 0.1 * np.arange(1, len(kernel.theta) + 1)
    other = kernel.clone_with_theta(theta)
    assert_allclose(other.theta, theta, rtol=1e-14)
    assert_array_equal(other.bounds, kernel.bounds)
    assert other.n_dims == len(theta) == sum(h.n_elements for h in free(kernel))
    assert (other == kernel) is (len(theta) == 0)


def free(kernel):
    return [h for h in kernel.hyperparameters if not h.fixed]


@every_kernel
def test_bounds_are_in_the_order_of_theta(kernel, n_columns):
    expected = [np.broadcast_to(h.bounds, (h.n_elements, 2)) for h in free(kernel)]
    expected = np.log(np.vstack(expected)) if expected else np.empty((0, 2))
    assert_allclose(kernel.bounds.reshape(-1, 2), expected)


@every_kernel
def test_diag_is_the_diagonal(kernel, n_columns):
    X = points(n_columns)
    assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), rtol=1e-12)


@every_kernel
def test_two_arguments(kernel, n_columns):
    X = points(n_columns)
    K = kernel(X)
    assert_allclose(K, K.T, rtol=1e-14)
    if "White" in repr(kernel):
        # By scikit-learn's convention the noise is on the diagonal of k(X) alone.
        K = K - 0.1 * np.eye(len(X))
    assert_allclose(kernel(X, X), K, rtol=1e-12)
    assert_allclose(kernel(X[:4], X[2:]), K[:4, 2:], rtol=1e-12)


@every_kernel
def test_positive_semi_definite(kernel, n_columns):
    K = kernel(points(n_columns, n=40))
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)


@every_kernel
def test_clone_is_equal_and_independent(kernel, n_columns):
    copy = clone(kernel)
    assert copy == kernel
    assert copy is not kernel
    theta = kernel.theta.copy()
    copy.theta = copy.theta + 1.0
    assert_array_equal(kernel.theta, theta)


@every_kernel
def test_parameters_round_trip(kernel, n_columns):
    names = [h.name for h in free(kernel)]
    params = kernel.get_params()
    assert set(names) <= set(params)
    changed = clone(kernel).set_params(**{name: 1.1 * np.asarray(params[name]) for name in names})
    assert_allclose(changed.theta, kernel.theta + np.log(1.1), rtol=1e-12)


@every_kernel
def test_the_points_are_not_touched(kernel, n_columns):
    X = points(n_columns)
    X.flags.writeable = False
    expected = kernel(X.copy())
    assert_array_equal(kernel(X), expected)
    assert_array_equal(kernel(np.asfortranarray(X)), expected)
    assert_allclose(kernel(np.repeat(X, 2, axis=1)[:, ::2]), expected, rtol=1e-14)
    assert_allclose(kernel(X.tolist()), expected, rtol=1e-14)
    assert_allclose(kernel(X.astype(np.float32)), expected, rtol=1e-4)


@every_kernel
def test_gradient_needs_one_argument(kernel, n_columns):
    X = points(n_columns)
    with pytest.raises(ValueError, match="only be evaluated when Y is None"):
        kernel(X, X, eval_gradient=True)


@every_kernel
@pytest.mark.filterwarnings("ignore:The optimal value found:sklearn.exceptions.ConvergenceWarning")
def test_in_sklearns_regressor(kernel, n_columns):
    X = points(n_columns, n=20)
    y = np.sin(X.sum(axis=1))
    fixed = GaussianProcessRegressor(kernel, alpha=1e-2, optimizer=None).fit(X, y)
    learnt = GaussianProcessRegressor(kernel, alpha=1e-2).fit(X, y)
    assert learnt.log_marginal_likelihood_value_ >= fixed.log_marginal_likelihood_value_ - 1e-9
    mean, std = learnt.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.all(std >= 0.0)


# --- Forgetting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-9, 0.03, 0.5, 0.99])
def test_forgetting_is_a_matern(epsilon):
    t = points(1)
    matern = Matern(length_scale=-2.0 / np.log(1.0 - epsilon), nu=0.5)
    assert_allclose(Forgetting(epsilon)(t), matern(t), rtol=1e-7)
    assert Forgetting(epsilon).length_scale == pytest.approx(matern.length_scale, rel=1e-6)


def test_forgetting_keeps_a_fixed_share_per_unit_of_time():
    K = Forgetting(0.19)([[0.0], [1.0], [2.0], [10.0]])
    assert_allclose(K[0], [1.0, 0.9, 0.81, 0.9**10], rtol=1e-14)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_forgetting_rates_that_are_none(epsilon):
    kernel = Forgetting(epsilon)
    for use in (lambda: kernel([[0.0]]), lambda: recognize(kernel, 1)):
        with pytest.raises(ValueError, match=r"'epsilon' .* must lie in \(0, 1\)\. Got"):
            use()


def test_forgetting_is_stationary_and_normalized():
    assert Forgetting().is_stationary()
    assert_array_equal(Forgetting().diag(points(1)), 1.0)
    assert repr(Forgetting(0.25)) == "Forgetting(epsilon=0.25)"


# --- Separable ----------------------------------------------------------------------------------


@pytest.mark.parametrize("column", [-3, -2, -1, 0, 1, 2])
def test_separable_is_a_product_over_the_columns(column):
    X = points(3)
    space, time = Matern([0.3, 0.8], nu=1.5), Forgetting(0.2)
    expected = space(np.delete(X, column, axis=1)) * time(X[:, [column]])
    assert_allclose(Separable(space, time, time_column=column)(X), expected, rtol=1e-14)


def test_separable_of_one_column_is_time_alone():
    t = points(1)
    kernel = Separable(RBF([0.1, 0.2]), Forgetting(0.2))
    assert_array_equal(kernel(t), Forgetting(0.2)(t))
    _, gradient = kernel(t, eval_gradient=True)
    assert_array_equal(gradient[:, :, :2], 0.0)
    assert np.any(gradient[:, :, 2] != 0.0)


def test_separable_compares_all_it_is_given():
    kernel = Separable(RBF(1.0), Forgetting(0.1))
    assert kernel == Separable(RBF(1.0), Forgetting(0.1), time_column=-1)
    for other in (
        Separable(RBF(1.1), Forgetting(0.1)),
        Separable(RBF(1.0), Forgetting(0.2)),
        Separable(RBF(1.0), Forgetting(0.1), time_column=0),
        RBF(1.0),
    ):
        assert kernel != other


def test_separable_is_stationary_if_both_are():
    assert Separable(RBF(), Forgetting()).is_stationary()
    assert not Separable(DotProduct(), Forgetting()).is_stationary()
    assert not Separable(RBF(), DotProduct()).is_stationary()


def test_separable_reaches_the_parameters_of_its_factors():
    kernel = Separable(RBF(1.0), Forgetting(0.1))
    kernel.set_params(spatial__length_scale=0.5, temporal__epsilon=0.3, time_column=0)
    assert kernel == Separable(RBF(0.5), Forgetting(0.3), time_column=0)
    assert set(kernel.get_params(deep=False)) == {"spatial", "temporal", "time_column"}
    assert repr(kernel) == "Separable(RBF(length_scale=0.5), Forgetting(epsilon=0.3))"


@pytest.mark.parametrize("column", [2, -3])
def test_time_columns_that_are_not_there(column):
    message = f"time_column={column} is not among the 2 columns"
    with pytest.raises(ValueError, match=message):
        split_time(np.zeros((3, 2)), column)
    with pytest.raises(ValueError, match=message):
        Separable(RBF(), RBF(), time_column=column)(np.zeros((3, 2)))


# --- recognition ----------------------------------------------------------------------------------


class MyRBF(RBF):
    pass


class MyMatern(Matern):
    pass


class MyForgetting(Forgetting):
    pass


class MyConstant(ConstantKernel):
    pass


@pytest.mark.parametrize(
    ("kernel", "n_dims", "family", "scales", "n_theta"),
    [
        (RBF(0.5), 2, Family.RBF, [0.5, 0.5], 1),
        (RBF([0.5, 2.0]), 2, Family.RBF, [0.5, 2.0], 2),
        (RBF([0.5]), 1, Family.RBF, [0.5], 1),
        (RBF([0.5]), 3, Family.RBF, [0.5, 0.5, 0.5], 1),
        (RBF(0.5, "fixed"), 2, Family.RBF, [0.5, 0.5], 0),
        (RBF([0.5, 2.0], "fixed"), 2, Family.RBF, [0.5, 2.0], 0),
        (Matern(0.5, nu=0.5), 1, Family.MATERN12, [0.5], 1),
        (Matern(0.5, nu=1.5), 2, Family.MATERN32, [0.5, 0.5], 1),
        (Matern([0.5, 2.0], nu=2.5), 2, Family.MATERN52, [0.5, 2.0], 2),
        (Matern(0.5, nu=np.inf), 1, Family.RBF, [0.5], 1),
        (Forgetting(0.19), 1, Family.MATERN12, [-1.0 / np.log(0.9)], 1),
        (Forgetting(0.19, "fixed"), 1, Family.MATERN12, [-1.0 / np.log(0.9)], 0),
        (ConstantKernel(1.0, "fixed"), 2, Family.CONSTANT, [1.0, 1.0], 0),
    ],
    ids=str,
)
def test_recognized(kernel, n_dims, family, scales, n_theta):
    factor = recognize(kernel, n_dims)
    assert factor.family == family
    assert_allclose(factor.length_scales, scales)
    assert factor.n_theta == n_theta == kernel.n_dims


@pytest.mark.parametrize(
    "kernel",
    [
        MyRBF(),
        MyMatern(nu=1.5),
        MyForgetting(),
        MyConstant(1.0, "fixed"),
        Matern(nu=0.7),
        Matern(nu=3.5),
        RationalQuadratic(),
        ExpSineSquared(),
        DotProduct(),
        ConstantKernel(1.0),
        ConstantKernel(2.0, "fixed"),
        2.0 * RBF(),
        RBF() + RBF(),
        RBF() ** 2,
    ],
    ids=str,
)
def test_not_recognized(kernel):
    assert recognize(kernel, 1) is None
    with pytest.raises(UnsupportedKernelError, match=r"The purpose is not available .* Supported"):
        recognize_or_raise(kernel, 1, "The purpose")


def test_forgetting_is_of_time():
    assert recognize(Forgetting(), 2) is None


def test_a_constant_has_no_closed_form_over_all_times():
    with pytest.raises(UnsupportedKernelError, match="it never forgets") as caught:
        recognize_or_raise(ConstantKernel(1.0, "fixed"), 1, "The purpose")
    assert isinstance(caught.value, SktvboError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("kernel", [RBF([1.0, 2.0, 3.0]), Matern([1.0, 2.0, 3.0], nu=1.5)])
def test_wrong_number_of_lengthscales(kernel):
    with pytest.raises(ValueError, match=r"has 3 lengthscales, but there are 2 columns"):
        recognize(kernel, 2)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, [1.0, -1.0]])
def test_bad_lengthscales(scale):
    with pytest.raises(ValueError, match="must be positive and finite"):
        recognize(RBF(scale), 2)


@pytest.mark.parametrize(
    ("kernel", "n_dims"),
    [(RBF([0.5, 2.0]), 2), (Matern(0.5, nu=1.5), 2), (Forgetting(0.2), 1), (RBF(1.0, "fixed"), 2)],
    ids=str,
)
def test_factor_follows_theta(kernel, n_dims):
    theta = kernel.theta + 0.3
    moved = recognize(kernel, n_dims).with_theta(theta)
    expected = recognize(kernel.clone_with_theta(theta), n_dims)
    assert moved.family == expected.family
    assert moved.n_theta == expected.n_theta
    assert moved.log_slope == pytest.approx(expected.log_slope)
    assert_allclose(moved.length_scales, expected.length_scales)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [(RBF(3.0), 3.0), (Matern(0.5, nu=2.5), 0.5), (Forgetting(0.19), -1.0 / np.log(0.9))],
    ids=str,
)
def test_temporal_length_scale(kernel, expected):
    assert temporal_length_scale(kernel) == pytest.approx(expected)


def test_temporal_length_scale_of_an_unknown_kernel():
    with pytest.raises(UnsupportedKernelError, match="A temporal lengthscale is not available"):
        temporal_length_scale(ExpSineSquared())
