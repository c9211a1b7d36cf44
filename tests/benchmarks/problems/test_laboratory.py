import numpy as np
import pytest
from datasets import MissingDataError, load_intel_temperature
from numpy.testing import assert_allclose
from problems import make

from sktvbo.exceptions import DomainError


@pytest.fixture(scope="module")
def data():
    try:
        return load_intel_temperature()
    except MissingDataError:
        pytest.skip("intel_lab_temperature.npz is missing: set SKTVBO_DATA")


def unit(data):
    lower, upper = data.xy.min(axis=0), data.xy.max(axis=0)
    return (data.xy - lower) / (upper - lower)


def bin_time(k, n_bins=144, horizon=600.0):
    return horizon * k / (n_bins - 1)


# --- temperature ----------------------------------------------------------------------------------


def test_arms_have_the_temperatures_of_the_bins(data):
    problem = make("temperature")
    for k in (0, 1, 77, 143):
        assert_allclose(problem.values(data.xy, bin_time(k)), data.temperature[k], rtol=1e-9)
    between = 0.75 * data.temperature[10] + 0.25 * data.temperature[11]
    assert_allclose(problem.values(data.xy, bin_time(10.25)), between, rtol=1e-9)


@pytest.mark.parametrize(("day", "first", "last"), [(3, 3, 3), ((2, 4), 2, 4), ([0, 7], 0, 7)])
def test_days(data, day, first, last):
    problem = make("temperature", day=day, horizon=50.0)
    assert_allclose(problem.values(data.xy, 0.0), data.temperature[144 * first])
    assert_allclose(problem.values(data.xy, 50.0), data.temperature[144 * (last + 1) - 1])


def test_only_sensors_can_be_activated(data):
    with pytest.raises(DomainError, match="one of the 46 points"):
        make("temperature").value([1.23, 4.56], 0.0)


# --- temperature-field ----------------------------------------------------------------------------


def test_field_equals_the_sensors_at_the_sensors(data):
    problem, arms = make("temperature-field"), make("temperature")
    for t in (0.0, 123.4, 600.0):
        assert_allclose(problem.values(unit(data), t), arms.values(data.xy, t), rtol=1e-12)


def test_no_point_of_the_field_is_hotter_than_the_optimum(data):
    problem = make("temperature-field", day=(0, 1))
    X = np.vstack([problem.domain.sample(5_000, 0), unit(data)])
    for t in np.linspace(0.0, 600.0, 12):
        x_star, f_star = problem.optimum(t)
        assert f_star == pytest.approx(problem.values(X, t).max(), abs=1e-9)
        assert problem.value(x_star, t) == f_star
