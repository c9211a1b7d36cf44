"""Data frames, dates, column transformers and metadata routing."""

import copy
import warnings
from functools import partial

import numpy as np
import pytest
from gaussian_process.cases import data, everything, make
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.pipeline import make_pipeline

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor

pd = pytest.importorskip("pandas")

# --- data frames ----------------------------------------------------------------------------------


@pytest.fixture
def hours():
    X, y = data()
    return pd.DataFrame({"hour": X[:, 2], "east": X[:, 0], "north": X[:, 1]}), y


def test_time_column_by_name(hours):
    X, y = hours
    gp = make(time_column="hour").fit(X[:38], y[:38]).partial_fit(X[38:], y[38:])
    expected = make(time_column=0).fit(X.to_numpy(), y)
    assert_allclose(everything(gp, X), everything(expected, X.to_numpy()), rtol=1e-9, atol=1e-9)
    assert list(gp.feature_names_in_) == ["hour", "east", "north"]
    assert_allclose(everything(make(time_column=0).fit(X, y), X), everything(gp, X), rtol=1e-9)


def test_missing_time_columns(hours):
    X, y = hours
    with pytest.raises(ValueError, match=r"must be one of \['hour', 'e.* Got 'day'"):
        make(time_column="day").fit(X, y)


def test_a_fit_without_names_removes_them(hours):
    X, y = hours
    gp = make(time_column=0).fit(X, y).fit(X.to_numpy(), y)
    assert not hasattr(gp, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gp.predict(X.to_numpy())


# --- dates and pipelines --------------------------------------------------------------------------

KINDS = [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor]

each = pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)


def frame(tz=None):
    rng = np.random.RandomState(0)
    when = pd.date_range("2024-03-01", periods=60, freq="6h", tz=tz)
    east, north = rng.uniform(0.0, 1000.0, 60), rng.uniform(0.0, 10.0, 60)
    X = pd.DataFrame({"when": when, "east": east, "north": north})
    return X, np.sin(X["east"] / 200.0) + 0.1 * rng.normal(size=60)


def by_name(kind=TimeVaryingGPRegressor, **options):
    options = {"time_column": "when", "optimizer": None, "random_state": 0} | options
    return kind(RBF(300.0), Matern(2 * 86400.0, nu=1.5), **options)


@each
def test_columns_named_by_numbers(kind):
    X, y = frame(tz="Europe/Zurich")
    X = X[["east", "north", "when"]]
    numbered = X.set_axis([0, 1, 2], axis=1)
    gp = by_name(kind, time_column=2).fit(numbered[:50], y[:50]).partial_fit(numbered[50:], y[50:])
    named = by_name(kind).fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    assert_array_equal(gp.predict(numbered), named.predict(X))
    assert gp.now_ == X["when"].max().timestamp()
    assert not hasattr(gp, "feature_names_in_")
    with pytest.raises(ValueError, match=r"a position, as X has no column names. Got '2'"):
        by_name(kind, time_column="2").fit(numbered, y)
    broken = numbered.copy()
    broken.loc[3, 2] = pd.NaT
    with pytest.raises(ValueError, match="Column 2 must be dates without gaps"):
        gp.predict(broken)


def test_two_columns_of_one_name():
    """They are rejected, as they are ambiguous."""
    X, y = frame()
    gp = by_name().fit(X, y)
    before = gp.predict(X)
    for names in (["when", "east", "east"], ["when", "when", "north"]):
        twice = X.set_axis(names, axis=1)
        for use in (gp.predict, partial(gp.fit, y=y), partial(gp.partial_fit, y=y)):
            with pytest.raises(ValueError, match="unique column names"):
                use(twice)
    assert_array_equal(gp.predict(X), before)


def test_metadata_routing_of_known_variances():
    X, y = frame()
    variance = np.linspace(0.0, 2.0, len(X))
    with config_context(enable_metadata_routing=True):
        gp = by_name().set_fit_request(y_variance=True)
        routed = make_pipeline("passthrough", gp).fit(X, y, y_variance=variance)
    direct = by_name().fit(X, y, y_variance=variance)
    assert_array_equal(routed.predict(X), direct.predict(X))
    assert np.abs(by_name().fit(X, y).predict(X) - direct.predict(X)).max() > 0.01


# --- arrays of other libraries --------------------------------------------------------------------


class Tensor:
    """Array of another library, which NumPy can read."""

    def __init__(self, values):
        self._values = np.asarray(values)
        self.shape, self.ndim, self.dtype = self._values.shape, self._values.ndim, "its.float64"

    def __len__(self):
        return len(self._values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype=dtype)

    def __array_namespace__(self, api_version=None):
        raise TypeError("its namespace has other dtypes")


@each
@pytest.mark.parametrize("dispatch", [False, True])
def test_arrays_of_other_libraries_become_numpy_arrays(kind, dispatch, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X, y = data()
    gp = kind(RBF(0.4), Matern(3.0), optimizer=None, random_state=0)
    expected = clone(gp).fit(X[:30], y[:30])
    with config_context(array_api_dispatch=dispatch):
        gp.fit(Tensor(X[:30]), Tensor(y[:30]))
        for name, method in (READERS | WRITERS).items():
            if name != "score":  # scikit-learn's own
                found = method(gp, Tensor(X[30:]), Tensor(y[30:]))
                then = method(expected, X[30:], y[30:])
                if name in WRITERS:
                    found, then = everything(found, Tensor(X)), everything(then, X)
                assert_array_equal(found, then, err_msg=name)


# --- every method that takes rows -----------------------------------------------------------------

READERS = {
    "predict": lambda gp, X, y: gp.predict(X),
    "predict_interval": lambda gp, X, y: gp.predict_interval(X),
    "predict_terms": lambda gp, X, y: gp.predict_terms(X),
    "sample_y": lambda gp, X, y: gp.sample_y(X),
    "score": lambda gp, X, y: gp.score(X, y),
}
WRITERS = {
    "partial_fit": lambda gp, X, y: copy.deepcopy(gp).partial_fit(X, y),
    "condition_on": lambda gp, X, y: gp.condition_on(X, y),
    "refit": lambda gp, X, y: gp.refit((X, y)),
}
HOURS = 24.0 * 19783.0 + 6.0 * np.arange(60)  # since 1970
WRONG = {
    "order": lambda X: X[["east", "north", "when"]],
    "renamed": lambda X: X.rename(columns={"east": "west"}),
    "missing": lambda X: X[["when", "east"]],
    "numbers": lambda X: X.assign(when=HOURS[50:]),
    "array of numbers": lambda X: X.assign(when=HOURS[50:]).to_numpy(),
    "another kind": lambda X: X.assign(when=X["when"].dt.tz_localize("UTC")),
}


def dated(kind, optimizer):
    """Return a regressor of 50 rows of a frame with dates, and its frame and values of 60 rows."""
    X, y = frame()
    kernels = {"spatial_kernel": RBF(300.0, "fixed"), "temporal_kernel": Matern(48.0, "fixed")}
    gp = by_name(kind, time_unit="h", optimizer=optimizer).set_params(**kernels)
    return gp.fit(X[:50], y[:50]), X, y.to_numpy()


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@each
@pytest.mark.parametrize("method", READERS | WRITERS)
def test_tables_that_differ_from_that_of_fit_are_refused(kind, method):
    gp, X, y = dated(kind, optimizer=lambda objective, theta, bounds: (theta, 0.0))
    before, rows = gp.predict(X), gp.X_train_
    for name, change in WRONG.items():
        with pytest.raises(ValueError) as expected:
            gp.predict(change(X[50:]))
        with pytest.raises(ValueError) as found:
            (READERS | WRITERS)[method](gp, change(X[50:]), y[50:])
        assert str(found.value) == str(expected.value), name
    assert_array_equal(gp.predict(X), before)
    assert np.shares_memory(gp.X_train_, rows)


@each
@pytest.mark.parametrize("method", WRITERS)
def test_rows_with_dates_are_those_with_hours(kind, method):
    optimizer = None if method == "partial_fit" else (lambda f, theta, bounds: (theta - 0.1, 0.0))
    gp, X, y = dated(kind, optimizer=optimizer)
    numbers = X.assign(when=HOURS).to_numpy()
    plain = clone(gp).set_params(time_column=0).fit(numbers[:50], y[:50])
    new = WRITERS[method](gp, X[50:], y[50:])
    expected = WRITERS[method](plain, numbers[50:], y[50:])
    assert_array_equal(new.X_train_, expected.X_train_)
    assert_array_equal(new.predict(X), expected.predict(numbers))
    assert list(new.feature_names_in_) == list(X.columns)


# --- units of time --------------------------------------------------------------------------------


def test_bad_units_of_time():
    X, y = frame()
    with pytest.raises(ValueError, match=r"'time_unit' parameter .* must be 'ns', .* Got 'hours'"):
        TimeVaryingGPRegressor(time_unit="hours").fit(X, y)
