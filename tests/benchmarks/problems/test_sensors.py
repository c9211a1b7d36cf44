import numpy as np
import pytest
from datasets import (
    MissingDataError,
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
    load_sp500,
)
from numpy.testing import assert_allclose, assert_array_equal
from problems import make
from problems._sensors import SensorArms

from sktvbo import TVGPUCB, evaluation
from sktvbo.domain import Arms
from sktvbo.kernels import Empirical, Forgetting

# --- arms with an empirical covariance: synthetic tables ------------------------------------------


def table(n_rows=20, m=4, seed=0):
    rng = np.random.RandomState(seed)
    return 20.0 + 3.0 * rng.normal(size=(n_rows, m)) @ rng.normal(size=(m, m))


class SyntheticArms(SensorArms):
    def __init__(self, readings=None, *, train=(0, 2), test=(3, 4), rows_per_day=4, **options):
        self.readings = table() if readings is None else readings
        super().__init__("synthetic", train=train, test=test, rows_per_day=rows_per_day, **options)

    def _read(self, data_dir, *, rows_per_day):
        assert data_dir is None
        return self.readings, np.arange(self.readings.shape[1]) + 100, rows_per_day


def test_a_row_is_a_step_and_the_next_days_follow():
    readings = table()
    problem = SyntheticArms(readings, normalize=False)
    assert problem.domain == Arms(4)
    assert problem.horizon == 8.0
    for k in range(8):
        assert_array_equal(problem.values(problem.domain.points, k), readings[12 + k])
    assert_array_equal(problem.training, readings[:12])
    # Without days the first half is before the second: two of five days.
    halves = SyntheticArms(readings, normalize=False, train=None, test=None)
    assert_array_equal(halves.training, readings[:8])
    assert halves.horizon == 12.0
    assert_array_equal(halves.values(halves.domain.points, 11.0), readings[19])


def test_arms_are_linear_between_rows_and_the_last_row_lasts():
    problem, readings = SyntheticArms(normalize=False), table()
    between = 0.75 * readings[14] + 0.25 * readings[15]
    assert_allclose(problem.values(problem.domain.points, 2.25), between, rtol=1e-12)
    assert_allclose(problem.values(problem.domain.points, 7.5), readings[19], rtol=1e-12)
    assert_allclose(problem.values(problem.domain.points, 8.0), readings[19], rtol=1e-12)
    one_time_each = problem.values(problem.domain.points, [0.0, 1.0, 2.0, 3.0])
    assert_array_equal(one_time_each, np.diag(readings[12:16]))


def test_readings_are_normalized_by_the_training_days():
    readings = table()
    problem = SyntheticArms(readings)
    assert (problem.training.mean(), problem.training.std()) == pytest.approx((0.0, 1.0))
    assert (problem.location, problem.scale) == (readings[:12].mean(), readings[:12].std())
    values = problem.values(problem.domain.points, 5.0)
    assert_allclose(problem.location + problem.scale * values, readings[17], rtol=1e-12)
    plain = SyntheticArms(readings, normalize=False)
    assert (plain.location, plain.scale) == (0.0, 1.0)
    for t in (0.0, 2.5, 7.0):
        (x_star, f_star), values = problem.optimum(t), plain.values(plain.domain.points, t)
        assert x_star == np.argmax(values)
        assert problem.location + problem.scale * f_star == pytest.approx(values.max())


def test_empirical_mean_and_covariance_are_those_of_the_training_days():
    readings = table()
    readings[12:] = 1e6  # the test days must not be used
    problem = SyntheticArms(readings)
    training = (readings[:12] - readings[:12].mean()) / readings[:12].std()
    deviations = training - training.mean(axis=0)
    assert_allclose(problem.empirical_mean, training.mean(axis=0), rtol=1e-9, atol=1e-12)
    kernel = problem.empirical_kernel()
    assert type(kernel) is Empirical
    assert_allclose(kernel.covariance, deviations.T @ deviations / 11, rtol=1e-9)
    assert_allclose(kernel([[2.0]], [[3.0]]), kernel.covariance[2, 3])


def test_more_arms_than_training_rows_give_a_regular_covariance():
    problem = SyntheticArms(table(m=30))
    assert np.linalg.matrix_rank(np.cov(problem.training, rowvar=False)) == 11
    covariance = problem.empirical_kernel().covariance
    assert np.linalg.eigvalsh(covariance)[0] > 1e-3 * np.trace(covariance) / 30
    sample = np.cov(problem.training, rowvar=False, bias=True)
    assert np.trace(covariance) == pytest.approx(np.trace(sample))
    assert_array_equal(problem.empirical_kernel()(problem.domain.points), covariance)


@pytest.mark.parametrize("rows_per_day", [1, 50])
def test_forgetting_rate_is_that_of_the_readings_within_a_day(rows_per_day):
    # Stationary, with correlation √(1 − ε) over a row; every 50 rows all is new.
    rng, epsilon, n_arms = np.random.default_rng(0), 0.3, 40
    days = rng.normal(size=(20, 50, n_arms))
    for row in range(1, 50):
        days[:, row] = np.sqrt(1 - epsilon) * days[:, row - 1] + np.sqrt(epsilon) * days[:, row]
    readings = days.reshape(-1, n_arms) + 3.0 * rng.normal(size=n_arms)
    last = len(readings) // rows_per_day - 1
    problem = SyntheticArms(readings, train=(0, last - 1), test=last, rows_per_day=rows_per_day)
    # With one row a day the new beginnings count as change: one step in 50 has no correlation.
    expected = epsilon if rows_per_day > 1 else 1.0 - (0.98**2) * (1.0 - epsilon)
    assert problem.forgetting_rate() == pytest.approx(expected, abs=0.01)
    alternating = np.outer((-1.0) ** np.arange(20), np.ones(3))
    assert SyntheticArms(alternating).forgetting_rate() == 1.0


def test_surrogate_has_the_empirical_kernel_and_fixed_hyperparameters():
    problem = SyntheticArms(noise=0.1)
    surrogate = problem.surrogate(Forgetting(0.1, "fixed"))
    assert surrogate.spatial_kernel == problem.empirical_kernel()
    signal = np.diag(problem.empirical_kernel().covariance).mean()
    assert surrogate.noise_variance == pytest.approx(0.05 * signal + problem.noise_variance)
    static = problem.surrogate().fit([[0.0, 0.0]], [1.0])
    assert_array_equal(static.predict([[1.0, 0.0]]), static.predict([[1.0, 99.0]]))
    X, y = [[0.0, 0.0], [2.0, 1.0]], [1.0, -1.0]
    surrogate = problem.surrogate(Forgetting(0.1, "fixed"), noise_variance=0.2).fit(X, y)
    assert surrogate.theta_.size == 0
    C = problem.empirical_kernel().covariance
    K = C[np.ix_([0, 2], [0, 2])] * [[1.0, 0.9**0.5], [0.9**0.5, 1.0]] + 0.2 * np.eye(2)
    k = C[1, [0, 2]] * [0.9, 0.9**0.5]
    assert surrogate.predict([[1.0, 2.0]])[0] == pytest.approx(k @ np.linalg.solve(K, y))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"train": (0, 3)}, r"outside of the days of train, \(0, 3\)\. Got \(3, 4\)"),
        ({"train": 4}, r"outside of the days of train, \(4, 4\)"),
        ({"train": (0, 9)}, r"'train' parameter of .* an int in the range \[0, 4\] or a pair"),
        ({"test": 5}, r"'test' parameter of .* an int in the range \[0, 4\] or a pair"),
        ({"train": 0, "test": 7, "rows_per_day": 1}, "days with at least two rows"),
    ],
)
def test_invalid_options_of_arms(options, message):
    with pytest.raises(ValueError, match=message):
        SyntheticArms(**options)


# --- arms with an empirical covariance: the real data ---------------------------------------------


ARMS = {
    "temperature-arms": (load_intel_temperature, "temperature", 46, 288),
    "traffic": (load_la_traffic, "speed", 50, 60),
    "ozone": (load_ny_ozone, "ozone", 25, 169),
    "wind": (load_irish_wind, "wind", 12, 365),
    "stocks": (load_sp500, "close", 48, 823),
}


def arms_problem(name, **options):
    try:
        return make(name, **options), ARMS[name][0]()
    except MissingDataError as exc:
        pytest.skip(str(exc))


@pytest.mark.parametrize("name", ARMS)
def test_arms_of_the_real_data(name):
    problem, data = arms_problem(name)
    _, values, n_arms, n_rows = ARMS[name]
    assert problem.name == name
    assert problem.domain == Arms(n_arms)
    assert (problem.horizon, problem.noise_variance) == (n_rows, 0.0)
    assert len(problem.labels) == n_arms
    assert problem.training.std() == pytest.approx(1.0)
    columns = [k for k, v in data.items() if v is not None and np.ndim(v) == 1]
    names = next(data[k] for k in columns if k in ("sensor_id", "site_id", "station", "ticker"))
    # The last row is the last of the test days, but for the traffic.
    last = {"temperature-arms": 719}.get(name, -1)
    if name != "traffic":
        places = [list(names).index(label) for label in problem.labels]
        readings = problem.location + problem.scale * problem.values(
            problem.domain.points, problem.horizon - 1
        )
        assert_allclose(readings, data[values][last, places], rtol=1e-12)
    optimizer = TVGPUCB(surrogate=problem.surrogate(Forgetting(0.03, "fixed")))
    result = evaluation.run(optimizer, problem, horizon=8.0, n_initial=1)
    assert np.all(result.regrets >= 0.0)


def test_traffic_is_of_the_morning_hours():
    problem, data = arms_problem("traffic")
    columns = [list(data.sensor_id).index(label) for label in problem.labels]
    assert len(set(columns)) == 50
    tuesday = data.speed[5 * 288 : 6 * 288, columns]
    readings = [problem.values(problem.domain.points, k) for k in range(60)]
    expected = (tuesday[72:132] - problem.location) / problem.scale  # 6 to 11 o'clock
    assert_allclose(readings, expected, atol=1e-12)
    assert problem.training.shape == (300, 50)


def test_traffic_with_chosen_sensors_and_hours():
    problem, data = arms_problem("traffic", sensors=[7, 3], hours=(0, 24), test=(5, 6))
    assert_array_equal(problem.labels, data.sensor_id[[7, 3]])
    assert problem.horizon == 576.0
    readings = problem.location + problem.scale * problem.values(problem.domain.points, 1.0)
    assert_allclose(readings, data.speed[5 * 288 + 1, [7, 3]], rtol=1e-12)
    everything, _ = arms_problem("traffic", sensors=207)
    assert_array_equal(everything.labels, data.sensor_id)
