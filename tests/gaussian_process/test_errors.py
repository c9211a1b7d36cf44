"""Errors: their messages, and that they change nothing."""

import copy
import pickle

import numpy as np
import pytest
from gaussian_process.cases import X0, Y0, data, everything, make
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, RationalQuadratic

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import NotPositiveDefiniteError
from sktvbo.kernels import Forgetting

# --- an error changes nothing ---------------------------------------------------------------------


class Fragile(RationalQuadratic):
    """Kernel that is NaN far away."""

    def __call__(self, X, Y=None, eval_gradient=False):
        result = super().__call__(X, Y, eval_gradient)
        if np.any(np.abs(X) > 100.0):
            return np.full((len(X), len(X if Y is None else Y)), np.nan)
        return result


FAR = np.array([[1000.0, 0.5, 9.0]])
FAILURES = {
    "fit: NaN in X": lambda gp, X, y: gp.fit(X * np.nan, y),
    "fit: infinite y": lambda gp, X, y: gp.fit(X, y + np.inf),
    "fit: lengths": lambda gp, X, y: gp.fit(X, y[:-1]),
    "fit: variances": lambda gp, X, y: gp.fit(X[:, 1:], y, -np.ones(len(y))),
    "fit: parameters": lambda gp, X, y: gp.set_params(signal_variance=-1.0).fit(X[:, 1:], y),
    "fit: time column": lambda gp, X, y: gp.set_params(time_column=2).fit(X[:, 1:], y),
    "fit: covariance": lambda gp, X, y: gp.fit(np.vstack([X, FAR]), np.append(y, 0.0)),
    "partial_fit: columns": lambda gp, X, y: gp.partial_fit(X[:, 1:], y),
    "partial_fit: NaN": lambda gp, X, y: gp.partial_fit(X[:1], [np.nan]),
    "partial_fit: variances": lambda gp, X, y: gp.partial_fit(X[:1], y[:1], [-1.0]),
    "partial_fit: covariance": lambda gp, X, y: gp.partial_fit(FAR, [0.0]),
    "partial_fit: last row": lambda gp, X, y: gp.partial_fit(np.vstack([X[:1], FAR]), y[:2]),
    "forget: everything": lambda gp, X, y: gp.forget(np.arange(len(y))),
    "forget: not there": lambda gp, X, y: gp.forget([0, 30]),
    "forget: not whole": lambda gp, X, y: gp.forget([0.5]),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=list(FAILURES))
def test_an_error_changes_nothing(failure):
    X, y = data(n=30)
    spare, values = data(n=5, seed=1)
    gp = make(Fragile(0.5), normalize_y=True).fit(X[:29], y[:29]).partial_fit(X[29:], y[29:])
    state, snapshot, before = dict(vars(gp)), copy.deepcopy(gp), everything(gp, spare)
    with pytest.raises(ValueError):
        failure(gp, X, y)
    parameters = gp.get_params(deep=False)
    assert vars(gp).keys() == state.keys()
    assert all(vars(gp)[name] is state[name] for name in state if name not in parameters)
    assert_array_equal(everything(gp, spare), before)
    # The storage behind the arrays is unchanged as well.
    for model in (gp, snapshot):
        model.partial_fit(spare[:2], values[:2]).forget([3])
    assert_allclose(everything(gp, spare), everything(snapshot, spare), rtol=1e-12)


def test_a_first_fit_that_fails_leaves_nothing():
    X, y = data()
    for method in ("fit", "partial_fit"):
        gp = make(RBF([1.0, 2.0, 3.0]))
        with pytest.raises(ValueError, match="lengthscales"):
            getattr(gp, method)(X, y)
        assert vars(gp).keys() == gp.get_params(deep=False).keys()
        with pytest.raises(NotFittedError):
            gp.predict(X)


# --- errors ---------------------------------------------------------------------------------------

POSITIVE = r"must be a float in the range \(0, inf\)\. Got"
PAIR = r"must be 'fixed' or a pair 0 < low <= high\. Got"
KERNEL = "must be a scikit-learn kernel or None. Got"
COUNT = r"must be an int in the range \[0, inf\)\. Got"
COLUMN = r"must be the position or name of one of the 3 columns of X\. Got"

# (parameters, message); a message that starts with "must be" follows the name of the parameter.
PARAMETER_ERRORS = [
    ({"signal_variance": 0.0}, rf"{POSITIVE} 0\.0 instead"),
    ({"signal_variance": np.inf}, f"{POSITIVE} inf instead"),
    ({"signal_variance": "one"}, f"{POSITIVE} 'one' instead"),
    ({"signal_variance": True}, f"{POSITIVE} True instead"),
    ({"noise_variance": -1.0}, rf"{POSITIVE} -1\.0 instead"),
    ({"noise_variance": np.nan}, f"{POSITIVE} nan instead"),
    ({"noise_variance": [0.1, 0.2]}, rf"{POSITIVE} \[0\.1, 0\.2\] instead"),
    ({"signal_variance_bounds": "free"}, f"{PAIR} 'free' instead"),
    ({"signal_variance_bounds": None}, f"{PAIR} None instead"),
    ({"signal_variance_bounds": ("a", "b")}, rf"{PAIR} \('a', 'b'\) instead"),
    ({"noise_variance_bounds": (2.0, 1.0)}, rf"{PAIR} \(2\.0, 1\.0\) instead"),
    ({"noise_variance_bounds": (0.0, 1.0)}, rf"{PAIR} \(0\.0, 1\.0\) instead"),
    ({"noise_variance_bounds": (1.0, np.inf)}, rf"{PAIR} \(1\.0, inf\) instead"),
    ({"noise_variance_bounds": (0.1, 1.0, 2.0)}, rf"{PAIR} \(0\.1, 1\.0, 2\.0\) instead"),
    ({"spatial_kernel": "rbf"}, f"{KERNEL} 'rbf' instead"),
    ({"temporal_kernel": RBF}, f"{KERNEL} <class .*RBF'> instead"),
    ({"temporal_kernel": Forgetting(1.5)}, r"The 'epsilon' parameter of Forgetting must .* \(0, 1"),
    ({"temporal_kernel": Forgetting(0.5, (1e-3, 1.0))}, "The 'epsilon_bounds' parameter of Forget"),
    ({"spatial_kernel": RBF([1.0] * 3)}, r"one, or one per column \(2\)\. Got 3 lengthscales"),
    ({"temporal_kernel": RBF([1.0] * 2)}, r"one, or one per column \(1\)\. Got 2 lengthscales"),
    ({"spatial_kernel": RBF(-1.0)}, "parameter of RBF must be positive and finite"),
    ({"optimizer": "adam"}, "must be 'fmin_l_bfgs_b', a callable or None. Got 'adam' instead"),
    ({"n_restarts_optimizer": -1}, f"{COUNT} -1 instead"),
    ({"n_restarts_optimizer": 1.5}, rf"{COUNT} 1\.5 instead"),
    ({"n_restarts_optimizer": True}, f"{COUNT} True instead"),
    ({"time_column": 3}, f"{COLUMN} 3 instead"),
    ({"time_column": -4}, f"{COLUMN} -4 instead"),
    ({"time_column": 0.0}, rf"{COLUMN} 0\.0 instead"),
    ({"time_column": "hour"}, "a position, as X has no column names. Got 'hour'"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETER_ERRORS, ids=str)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_wrong_parameters(parameters, message, method):
    (name,) = parameters
    if message.startswith("must be"):
        message = f"^The '{name}' parameter of TimeVaryingGPRegressor {message}"
    gp = TimeVaryingGPRegressor(**parameters)
    with pytest.raises(ValueError, match=message):
        getattr(gp, method)(*data())


def test_a_search_needs_finite_bounds():
    with pytest.raises(
        ValueError, match="bounds of all hyperparameters to be searched must be finite"
    ):
        TimeVaryingGPRegressor(RBF(1.0, (1e-3, np.inf))).fit(*data())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.full((5, 3), np.nan), Y0), "Input X contains NaN"),
        ((np.full((5, 3), np.inf), Y0), "Input X contains infinity"),
        ((X0, np.full(5, np.nan)), "Input y contains NaN"),
        ((X0, np.full(5, -np.inf)), "Input y contains infinity"),
        ((X0, Y0[:3]), "inconsistent numbers of samples"),
        ((X0, np.ones((5, 2))), "y should be a 1d array"),
        ((X0[:, 0], Y0), "Expected 2D array"),
        ((X0[:0], Y0[:0]), "0 sample"),
        ((1j * X0, Y0), "Complex data not supported"),
        ((X0, Y0, np.ones(4)), r"y_variance must be 5 .* Got shape \(4,\)"),
        ((X0, Y0, np.ones((5, 1))), r"y_variance must be 5 .* Got shape \(5, 1\)"),
        ((X0, Y0, [1, 1, np.inf, 1, 1]), r"y_variance must be 5 .* Got inf in row 2"),
        ((X0, Y0, [1, np.nan, 1, 1, 1]), r"y_variance must be 5 .* Got nan in row 1"),
        ((X0, Y0, -np.ones(5)), r"y_variance must be 5 non-negative .* minimum -1\.0"),
        ((X0, Y0, np.full(5, np.nan)), "y_variance must be 5 non-negative finite numbers"),
        ((X0, Y0, np.full(5, np.inf)), "y_variance must be 5 non-negative finite numbers"),
    ],
    ids=range(16),
)
def test_wrong_data(arguments, message):
    for call in (make().fit, make().partial_fit, make().fit(*data()).partial_fit):
        with pytest.raises(ValueError, match=message):
            call(*arguments)


def test_wrong_queries():
    gp = make().fit(X0, Y0)
    with pytest.raises(ValueError, match="return_cov must be False with return_std=True"):
        gp.predict(X0, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="X has 2 features, but TimeVaryingGPRegressor is expecti"):
        gp.predict(X0[:, 1:])
    with pytest.raises(ValueError, match="X has 2 features, but TimeVaryingGPRegressor is expecti"):
        gp.partial_fit(X0[:, 1:], Y0)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        gp.predict(X0 * np.nan)
    with pytest.raises(ValueError, match=r"theta must be .* shape \(4,\)\. Got shape \(3,\)"):
        gp.log_marginal_likelihood(np.zeros(3))


MISSING = {"None": None, "nan": np.nan, "NaT": np.datetime64("NaT"), "<NA>": "pandas"}


@pytest.mark.parametrize("form", [list, lambda y: np.array(y, dtype=object), "Series"])
@pytest.mark.parametrize("name", MISSING)
def test_missing_values_of_y_are_named_wherever_it_is_taken(name, form):
    value = MISSING[name]
    if form == "Series" or value == "pandas":
        pd = pytest.importorskip("pandas")
        value = pd.NA if isinstance(value, str) else value
    y = [*Y0[:-1].tolist(), value]
    y = pd.Series(y, dtype=object) if form == "Series" else form(y)
    message, gp = rf"Input y contains NaN: {name} in row {len(Y0) - 1}\. Drop", make().fit(X0, Y0)
    before = pickle.dumps(gp.X_train_)
    for call in (
        make().fit,
        make().partial_fit,
        gp.fit,
        gp.partial_fit,
        gp.condition_on,
        lambda X, y: make(optimizer="fmin_l_bfgs_b").fit(X0, Y0).refit((X, y)),
        lambda X, y: SparseTimeVaryingGPRegressor(n_inducing=3).fit(X, y),
    ):
        with pytest.raises(ValueError, match=message):
            call(X0, y)
    assert pickle.dumps(gp.X_train_) == before


class Indefinite(RationalQuadratic):
    """Kernel that is not positive definite."""

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y, eval_gradient)
        return (2.0 - K[0], K[1]) if eval_gradient else 2.0 - K


def test_a_kernel_that_is_not_positive_definite():
    message = r"The 5 x 5 covariance matrix of 1\.3 \* Indefinite.* is not positive definite.*Raise"
    with pytest.raises(NotPositiveDefiniteError, match=message):
        make(Indefinite()).fit(X0, Y0)


def test_a_kernel_that_is_nan():
    with pytest.raises(NotPositiveDefiniteError, match="has entries that are not finite"):
        make(Fragile()).fit(np.vstack([X0, FAR]), np.append(Y0, 0.0))


@pytest.mark.parametrize("n_samples", [0, -1, 1.5, "two", None])
def test_bad_numbers_of_draws(n_samples):
    with pytest.raises(ValueError, match="n_samples must be an int"):
        make().fit(X0, Y0).sample_y(X0, n_samples)
