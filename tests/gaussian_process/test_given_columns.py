"""Arrays with the columns of X: found by name where X has names, with dates as in X.

Inducing points, sites, places of a posterior at one time, and places of a convolution.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.relevancy import spatial_convolution

pd = pytest.importorskip("pandas")

N, START = 60, np.datetime64("2024-03-01T00:00", "us")
COLUMNS = ("north", "when", "east")


def columns():
    rng = np.random.default_rng(0)
    hours = np.arange(N) * np.timedelta64(1, "h")
    return {
        "north": rng.uniform(0.0, 10.0, N),
        "when": START + hours.astype("timedelta64[us]"),
        "east": rng.uniform(0.0, 1e3, N),
    }


def polars_frame(data):
    return pytest.importorskip("polars").DataFrame(data)


TABLES = {"pandas": pd.DataFrame, "polars": polars_frame}
every_table = pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))


def target(data):
    return np.sin(data["north"]) + np.cos(data["east"] / 200.0)


def made(kind, **options):
    kernels = RBF([2.0, 300.0]), Matern(86400.0, nu=1.5)
    options = {"noise_variance": 0.01, "optimizer": None, "time_column": "when"} | options
    return kind(*kernels, **options)


def part(data, names, step=5):
    return {name: data[name][::step] for name in names}


def with_points(points):
    return made(SparseTimeVaryingGPRegressor, inducing=points)


def with_sites(sites, **options):
    return made(TimeVaryingGPRegressor, sites=sites, solver="kalman", **options)


@every_table
def test_inducing_points_are_found_by_name(table):
    data = columns()
    X, y = table(data), target(data)
    expected = with_points(table(part(data, COLUMNS))).fit(X, y)
    assert_array_equal(expected.inducing_points_, expected.X_train_[::5])
    for names in (("when", "north", "east"), ("east", "north", "when")):
        gp = with_points(table(part(data, names))).fit(X, y)
        assert_array_equal(gp.inducing_points_, expected.inducing_points_)
        assert_array_equal(gp.predict(X), expected.predict(X))
    # An array has the order of X, and may hold the numbers of dates.
    gp = with_points(expected.inducing_points_).fit(X, y)
    assert_array_equal(gp.inducing_points_, expected.inducing_points_)
    dates = np.array(list(zip(*part(data, COLUMNS).values())), dtype=object)
    gp = with_points(dates).fit(X, y)
    assert_array_equal(gp.inducing_points_, expected.inducing_points_)


@every_table
def test_sites_are_found_by_name(table):
    data = columns()
    X, y = table(data), target(data)
    sites = part(data, ("north", "east"), 1)
    expected = with_sites(np.column_stack(list(sites.values()))).fit(X, y).predict(X)
    plain = made(TimeVaryingGPRegressor, solver="dense").fit(X, y).predict(X)
    assert_allclose(expected, plain, atol=1e-8)
    for names in (("north", "east"), ("east", "north")):
        gp = with_sites(table(part(data, names, 1))).fit(X, y)
        assert_array_equal(gp.predict(X), expected)
        assert len(gp.fitted_.gp.sites.S) == N  # those of the rows, not others


def test_sites_with_dates():
    data = columns() | {"begun": START - np.arange(N) * np.timedelta64(1, "D")}
    X, y = pd.DataFrame(data), target(data)
    kernels = {"spatial_kernel": RBF([2.0, 300.0, 1e6])}
    gp = with_sites(X[["begun", "east", "north"]]).set_params(**kernels).fit(X, y)
    expected = with_sites(None).set_params(**kernels).fit(X, y)
    assert_allclose(gp.predict(X), expected.predict(X), atol=1e-10)
    assert len(gp.fitted_.gp.sites.S) == N
    zoned = X.assign(begun=X["begun"].dt.tz_localize("UTC"))[["begun", "east", "north"]]
    with pytest.raises(ValueError, match="'begun' must be dates without a time zone, as in the da"):
        gp.set_params(sites=zoned).fit(X, y)


@every_table
def test_places_of_a_posterior_are_found_by_name(table):
    data = columns()
    gp = made(TimeVaryingGPRegressor).fit(table(data), target(data))
    posterior = gp.posterior_at(data["when"][-1])
    places = part(data, ("north", "east"))
    expected = posterior(np.column_stack(list(places.values())))
    for names in (("north", "east"), ("east", "north")):
        assert_array_equal(posterior(table(part(data, names))), expected)
        assert_array_equal(posterior.mean(table(part(data, names))), expected[0])
    with pytest.raises(ValueError, match=r"inputs must be a table with the columns \['north', 'e"):
        posterior(table(part(data, COLUMNS)))


@every_table
def test_places_of_a_convolution_are_found_by_name(table):
    data, kernel = columns(), RBF([2.0, 300.0])
    X = table(part(data, ("north", "east")))
    expected = spatial_convolution(kernel, X)
    Y = table(part(data, ("east", "north")))
    assert_array_equal(spatial_convolution(kernel, X, Y), expected)


@pytest.mark.parametrize(
    "names", [("north", "east", "then"), ("north", "when"), (*COLUMNS, "more")], ids=str
)
@every_table
def test_other_names_are_refused(table, names):
    data = columns()
    X, y = table(data), target(data)
    wrong = table({name: data.get(name, data["north"]) for name in names})
    for make, owner in ((with_points, "Sparse"), (with_sites, "")):
        gp = make(None if make is with_sites else "kdpp").fit(X, y)
        before = gp.predict(X)
        parameter = "sites" if make is with_sites else "inducing"
        gp.set_params(**{parameter: wrong})
        message = rf"'{parameter}' parameter of {owner}Time\w+ must be a table with the columns"
        with pytest.raises(ValueError, match=message) as caught:
            gp.fit(X, y)
        assert f"Got the columns {list(names)}" in str(caught.value)
        assert_array_equal(gp.predict(X), before)


def test_without_names_the_order_is_that_of_x():
    data = columns()
    names = ("north", "east")
    X = np.column_stack([*part(data, names, 1).values(), np.arange(float(N))])
    frame = pd.DataFrame(X[::5], columns=["a", "b", "c"])
    gp = with_points(frame).set_params(time_column=-1).fit(X, target(data))
    assert_array_equal(gp.inducing_points_, X[::5])


@pytest.mark.parametrize("bad", [np.zeros((4, 2)), np.full((4, 3), np.inf), np.full((4, 3), 1e200)])
def test_points_of_wrong_shape_or_size_are_refused(bad):
    data = columns()
    X = np.column_stack([data["north"], data["east"], np.arange(float(N))])
    with pytest.raises(ValueError, match="inducing must be"):
        with_points(bad).set_params(time_column=-1).fit(X, target(data))
