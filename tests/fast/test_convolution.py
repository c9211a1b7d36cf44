"""Bessel recurrence of the spatial convolutions compared with ``scipy.special``."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammaln, kve
from twins import convolution as twin

from sktvbo._fast import convolution as fast
from sktvbo._fast.gram import Family

ORDERS = {Family.MATERN12: 0.5, Family.MATERN32: 1.5, Family.MATERN52: 2.5}
SCALE = 1.3


def twice_mu(family, d):
    return 0 if family == Family.RBF else int(4 * ORDERS[family]) + d


def spatial(Z1, Z2, family, symmetric=False, d=None):
    """Return the convolutions; ``d`` adds coordinates that are 0."""
    out = np.full((Z1.shape[1], Z2.shape[1]), np.nan)
    order = twice_mu(family, len(Z1) if d is None else d)
    fast.spatial(Z1, Z2, family, order, SCALE, out, symmetric)
    return out


all_families = pytest.mark.parametrize("family", [Family.RBF, *ORDERS])


@all_families
@pytest.mark.parametrize("d", range(5))
def test_spatial(rng, d, family):
    for n in (0, 1, 2, 40):
        for m in (0, 1, 7):
            Z1, Z2 = rng.normal(size=(d, n)), rng.normal(size=(d, m))
            if n and m:
                Z2[:, 0] = Z1[:, 0]
            expected = twin.spatial(Z1, Z2, family, twice_mu(family, d), SCALE)
            assert_allclose(spatial(Z1, Z2, family), expected, rtol=1e-11)
        found = spatial(Z1, Z1, family, symmetric=True)
        assert_allclose(found, spatial(Z1, Z1, family), rtol=1e-14)
        assert_array_equal(found, found.T)


def along_a_line(d, distances, family):
    """Return convolutions of the origin with points at the distances, and the twin's."""
    Z1, Z2 = np.zeros((d, 1)), np.zeros((d, len(distances)))
    Z2[0] = distances
    return (spatial(Z1, Z2, family)[0], twin.spatial(Z1, Z2, family, twice_mu(family, d), SCALE)[0])


@all_families
@pytest.mark.parametrize("d", range(1, 5))
def test_close_and_far(d, family):
    found, expected = along_a_line(d, [0.0, 1e-8, 1e-3, 30.0, 600.0, 1e8], family)
    assert_allclose(found, expected, rtol=1e-11, atol=1e-250)


@all_families
@pytest.mark.parametrize("d", range(1, 5))
@pytest.mark.parametrize("distance", [5e-324, 1e-300, 1e-160])
def test_almost_touching(distance, d, family):
    found, at_zero = (along_a_line(d, [r], family) for r in (distance, 0.0))
    assert_allclose(found[0], at_zero[1], rtol=1e-12)


@pytest.mark.parametrize("family", ORDERS)
@pytest.mark.parametrize("d", [117, 118, 119, 120, 300, 3001])
def test_any_number_of_dimensions(d, family):
    z = np.array([5.0, 20.0, 90.0, 400.0, 2000.0, 10000.0])
    found = spatial(np.zeros((1, 1)), z[np.newaxis], family, d=d)[0]
    mu = twice_mu(family, d) / 2.0
    with np.errstate(over="ignore"):
        log_k = np.log(kve(mu, z)) - z
    known = np.isfinite(log_k)  # SciPy's K overflows for short distances in many dimensions
    expected = np.exp(mu * np.log(z) + log_k - (mu - 1.0) * np.log(2.0) - gammaln(mu))
    assert known.sum() > 1
    assert_allclose(found[known], SCALE * expected[known], rtol=1e-9, atol=1e-290)
    # Near 0 it is a parabola.
    near = spatial(np.zeros((1, 1)), np.array([[0.0, 1e-3]]), family, d=d)[0]
    assert_allclose(near, [SCALE, SCALE * (1.0 - 1e-6 / (4.0 * (mu - 1.0)))], rtol=1e-12)


@all_families
@pytest.mark.parametrize("d", [1, 2, 117, 300])
def test_infinitely_far(d, family):
    far = [[1e3, 1e5, 1e155, 1e308]]
    found = spatial(np.full((1, 1), -1e308), np.array(far), family, d=d)
    assert_array_equal(found, 0.0)


def test_without_an_order():
    with pytest.raises(ValueError, match="2 mu must be at least 1"):
        fast.spatial(*np.zeros((2, 1, 1)), Family.MATERN12, 0, 1.0, np.empty((1, 1)))


@pytest.mark.parametrize("family", ORDERS)
@pytest.mark.parametrize("d", [2, 4, 6, 8, 20, 58])
def test_series_of_even_dimensions(d, family):
    """Many distances at once are as accurate as the recurrence of each."""
    z = np.concatenate([[0.0], np.geomspace(1e-6, 490.0, 300)])
    found, mu = spatial(np.zeros((1, 1)), z[np.newaxis], family, d=d)[0], twice_mu(family, d) / 2.0
    assert found[0] == pytest.approx(SCALE, rel=1e-13)
    z, found = z[1:], found[1:] / SCALE
    expected = np.exp(mu * np.log(z) + np.log(kve(mu, z)) - z - (mu - 1) * np.log(2) - gammaln(mu))
    known = np.isfinite(expected)  # the function of SciPy overflows near 0
    assert known.sum() > 150
    assert_allclose(found[known], expected[known], rtol=3e-12)
