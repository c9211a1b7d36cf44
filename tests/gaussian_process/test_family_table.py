"""The table of families against the kernels that it is about."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo._fast import gram as compiled
from sktvbo._fast.gram import Family
from sktvbo.gaussian_process._kernel_families import FAMILIES, family_of, matern_spectrum
from sktvbo.kernels import Empirical, Forgetting, Wiener

STATIONARY = [family for family in Family if family != Family.CONSTANT]
every_stationary = pytest.mark.parametrize("family", STATIONARY)
AGES = np.array([0.0, 0.1, 0.7, 2.0, 9.0])


def kernels_of(family):
    """A kernel of lengthscale 1 of each kind in the row."""
    for kind, nu in FAMILIES[family].kernels:
        if kind is Forgetting:
            yield Forgetting(1.0 - np.exp(-2.0))
        else:
            yield kind() if nu is None else kind(nu=nu)


def correlations(kernel, ages=AGES):
    return kernel(ages[:, np.newaxis], [[0.0]])[:, 0]


def test_every_family_that_is_compiled_has_a_row():
    assert set(FAMILIES) == set(Family)


@every_stationary
def test_a_familys_kernels_are_recognized_and_are_one_function(family):
    first, *others = kernels_of(family)
    for kernel in (first, *others):
        assert family_of(kernel) == family
        assert_allclose(correlations(kernel), correlations(first), rtol=1e-12)


@every_stationary
def test_the_scale_is_that_of_the_compiled_code(family):
    z, out = FAMILIES[family].scale * AGES, np.empty((len(AGES), 1))
    compiled.cross_gram(
        np.empty((0, len(z))), z, np.empty((0, 1)), np.zeros(1), Family.CONSTANT, family, 1.0, out
    )
    assert_allclose(out[:, 0], correlations(next(kernels_of(family))), rtol=1e-12)


@every_stationary
def test_the_polynomial_times_the_exponential_is_the_kernel(family):
    row = FAMILIES[family]
    if row.polynomial is None:
        assert family == Family.RBF
        return
    z = row.scale * AGES
    found = np.exp(-z) * np.polynomial.polynomial.polyval(z, row.polynomial)
    assert_allclose(found, correlations(next(kernels_of(family))), rtol=1e-12)


@every_stationary
def test_the_order_is_nu(family):
    assert_allclose(
        correlations(Matern(nu=FAMILIES[family].order)),
        correlations(next(kernels_of(family))),
        rtol=1e-12,
    )


@every_stationary
def test_the_spectrum_is_the_fourier_transform(family):
    kernel, spectrum = next(kernels_of(family)), FAMILIES[family].spectrum
    for frequency in (0.05, 0.3, 1.1):
        transform, _ = quad(
            lambda age: kernel([[age]], [[0.0]]).item(),
            *(0.0, 90.0),
            weight="cos",
            wvar=2.0 * np.pi * frequency,
            limit=400,
        )
        density = 2.0 * np.pi * spectrum.pdf(2.0 * np.pi * frequency)
        assert_allclose(density, 2.0 * transform, rtol=1e-6, atol=1e-10)
        general = matern_spectrum(FAMILIES[family].order)
        assert general.pdf(frequency) == spectrum.pdf(frequency)


def test_a_constant_has_neither_order_nor_spectrum():
    row = FAMILIES[family_of(ConstantKernel())]
    assert (row.order, row.polynomial, row.spectrum) == (None, None, None)


class MyMatern(Matern):
    """It may compute anything."""


@pytest.mark.parametrize(
    "kernel",
    [
        MyMatern(nu=1.5),
        Matern(nu=0.7),
        RationalQuadratic(),
        Wiener(),
        Empirical(np.eye(2)),
        2.0 * RBF(),
        None,
    ],
    ids=str,
)
def test_kernels_without_a_family(kernel):
    assert family_of(kernel) is None
