"""Kernels with a closed form: their table, and their recognition."""

import numpy as np
import pytest
from gaussian_process.cases import MyConstant, MyForgetting, MyMatern, MyRBF
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo._fast import gram as compiled
from sktvbo._fast.gram import Family
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process._future import temporal_length_scale
from sktvbo.gaussian_process._kernel_families import (
    FAMILIES,
    family_of,
    forgetting_rate,
    recognize,
    recognize_or_raise,
)
from sktvbo.kernels import Empirical, Forgetting, Wiener

# --- the table ------------------------------------------------------------------------------------

STATIONARY = [family for family in Family if family != Family.CONSTANT]
every_stationary = pytest.mark.parametrize("family", STATIONARY)
AGES = np.array([0.0, 0.1, 0.7, 2.0, 9.0])


def kernels_of(family):
    """Yield a kernel of lengthscale 1 of each class in the row."""
    for kind, nu in FAMILIES[family].kernels:
        if kind is Forgetting:
            yield Forgetting(1.0 - np.exp(-2.0))
        else:
            yield kind() if nu is None else kind(nu=nu)


def correlations(kernel, ages=AGES):
    return kernel(ages[:, np.newaxis], [[0.0]])[:, 0]


@every_stationary
def test_the_kernels_of_a_family_are_those_of_the_compiled_code(family):
    z, out = FAMILIES[family].scale * AGES, np.empty((len(AGES), 1))
    compiled.cross_gram(
        np.empty((0, len(z))), z, np.empty((0, 1)), np.zeros(1), Family.CONSTANT, family, 1.0, out
    )
    for kernel in (*kernels_of(family), Matern(nu=FAMILIES[family].order)):
        assert family_of(kernel) == family
        assert_allclose(out[:, 0], correlations(kernel), rtol=1e-12)
    polynomial = FAMILIES[family].polynomial
    assert (polynomial is None) == (family == Family.RBF)
    if polynomial is not None:
        found = np.exp(-z) * np.polynomial.polynomial.polyval(z, polynomial)
        assert_allclose(found, out[:, 0], rtol=1e-12)


# --- recognition ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernel", "n_dims", "family", "scales", "n_theta"),
    [
        (RBF(0.5), 2, Family.RBF, [0.5, 0.5], 1),
        (RBF([0.5, 2.0]), 2, Family.RBF, [0.5, 2.0], 2),
        (RBF([0.5]), 3, Family.RBF, [0.5, 0.5, 0.5], 1),
        (RBF([0.5, 2.0], "fixed"), 2, Family.RBF, [0.5, 2.0], 0),
        (Matern(0.5, nu=0.5), 1, Family.MATERN12, [0.5], 1),
        (Matern([0.5, 2.0], nu=2.5), 2, Family.MATERN52, [0.5, 2.0], 2),
        (Matern(0.5, nu=np.inf), 1, Family.RBF, [0.5], 1),
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


UNKNOWN = [MyRBF(), MyMatern(nu=1.5), MyForgetting(), MyConstant(1.0, "fixed"), Matern(nu=0.7)]
UNKNOWN += [RationalQuadratic(), ExpSineSquared(), DotProduct(), Wiener(), Empirical(np.eye(2))]
UNKNOWN += [ConstantKernel(1.0), ConstantKernel(2.0, "fixed"), 2.0 * RBF(), RBF() + RBF()]


@pytest.mark.parametrize("kernel", UNKNOWN, ids=str)
def test_not_recognized(kernel):
    assert recognize(kernel, 1) is None
    kernels = r"RBF and Matern with nu in \(0\.5, 1\.5, 2\.5, inf\)"
    message = f"The purpose is not available .* Supported are {kernels}"
    with pytest.raises(UnsupportedKernelError, match=message):
        recognize_or_raise(kernel, 1, "The purpose")
    if not isinstance(kernel, ConstantKernel):
        assert family_of(kernel) is None


def test_some_kernels_are_for_some_purposes_only():
    assert recognize(Forgetting(), 2) is None
    with pytest.raises(UnsupportedKernelError, match="it never forgets"):
        recognize_or_raise(ConstantKernel(1.0, "fixed"), 1, "The purpose")
    with pytest.raises(UnsupportedKernelError, match="A temporal lengthscale is not available"):
        temporal_length_scale(ExpSineSquared())


@pytest.mark.parametrize("epsilon", [1e-4, 0.03, 0.5])
def test_forgetting_rate_of_equal_kernels(epsilon):
    kernel = Forgetting(epsilon)
    assert forgetting_rate(kernel) == epsilon
    assert_allclose(forgetting_rate(Matern(kernel.length_scale, nu=0.5)), epsilon, rtol=1e-10)
