"""Errors: their messages, and that they change nothing."""

import copy
import re
import reprlib
from functools import partial

import numpy as np
import pytest
from gaussian_process.cases import X0, Y0, data, each, everything, make
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, RationalQuadratic, WhiteKernel

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import NotPositiveDefiniteError
from sktvbo.kernels import Forgetting

SPARSE = SparseTimeVaryingGPRegressor

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
    "fit: lengths": lambda gp, X, y: gp.fit(X, y[:-1]),
    "fit: parameters": lambda gp, X, y: gp.set_params(signal_variance=-1.0).fit(X[:, 1:], y),
    "fit: time column": lambda gp, X, y: gp.set_params(time_column=2).fit(X[:, 1:], y),
    "fit: covariance": lambda gp, X, y: gp.fit(np.vstack([X, FAR]), np.append(y, 0.0)),
    "partial_fit: columns": lambda gp, X, y: gp.partial_fit(X[:, 1:], y),
    "partial_fit: variances": lambda gp, X, y: gp.partial_fit(X[:1], y[:1], [-1.0]),
    "partial_fit: covariance": lambda gp, X, y: gp.partial_fit(FAR, [0.0]),
    "partial_fit: last row": lambda gp, X, y: gp.partial_fit(np.vstack([X[:1], FAR]), y[:2]),
    "forget: everything": lambda gp, X, y: gp.forget(np.arange(len(y))),
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
    learnt = state.keys() - gp.get_params(deep=False).keys()
    assert vars(gp).keys() == state.keys()
    assert all(vars(gp)[name] is state[name] for name in learnt)
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
PAIR = r"must be 'fixed' or a pair 0 < low <= high < inf\. Got"
KERNEL = "must be a scikit-learn kernel or None. Got"
COUNT = r"must be an int in the range \[0, inf\)\. Got"
COLUMN = r"must be the position or name of one of the 3 columns of X\. Got"

# (parameters, message); a message that starts with "must be" follows the name of the parameter.
PARAMETER_ERRORS = [
    ({"signal_variance": 0.0}, rf"{POSITIVE} 0\.0 instead"),
    ({"noise_variance": -1.0}, rf"{POSITIVE} -1\.0 instead"),
    ({"noise_variance": np.nan}, f"{POSITIVE} nan instead"),
    ({"signal_variance_bounds": "free"}, f"{PAIR} 'free' instead"),
    ({"noise_variance_bounds": (2.0, 1.0)}, rf"{PAIR} \(2\.0, 1\.0\) instead"),
    ({"spatial_kernel": "rbf"}, f"{KERNEL} 'rbf' instead"),
    ({"temporal_kernel": Forgetting(1.5)}, r"The 'epsilon' parameter of Forgetting must .* \(0, 1"),
    ({"spatial_kernel": RBF([1.0] * 3)}, r"one, or one per column \(2\)\. Got 3 lengthscales"),
    ({"spatial_kernel": RBF(-1.0)}, "parameter of RBF must be positive and finite"),
    ({"optimizer": "adam"}, "must be 'fmin_l_bfgs_b', a callable or None. Got 'adam' instead"),
    ({"n_restarts_optimizer": 1.5}, rf"{COUNT} 1\.5 instead"),
    ({"time_column": 3}, f"{COLUMN} 3 instead"),
    ({"time_column": -4}, f"{COLUMN} -4 instead"),
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


BOUNDS = [(1e-3, np.inf), (0.0, 1.0), (-np.inf, np.inf), (2.0, 1.0), (np.nan, 1.0), None]
BOUNDED = {
    "length_scale_bounds of RBF": lambda pair: RBF(1.0, pair),
    "k2__noise_level_bounds of Sum": lambda pair: RBF(1.0) + WhiteKernel(0.1, pair),
    "k1__constant_value_bounds of Product": lambda pair: ConstantKernel(1.0, pair) * RBF(1.0),
}


@each
@pytest.mark.filterwarnings("error:.*in log:RuntimeWarning")
@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("part", ["spatial_kernel", "temporal_kernel", "level_kernel"])
def test_a_search_needs_finite_bounds(kind, name, part):
    for pair in BOUNDS:
        gp = kind(**{part: BOUNDED[name](pair)})
        expected = (
            rf"{name} must be 'fixed' or pairs .* Got {re.escape(reprlib.repr(pair))} instead"
        )
        with pytest.raises(ValueError, match=expected):
            gp.fit(*data())
        if pair == (1e-3, np.inf):
            gp.set_params(optimizer=None).fit(*data())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.full((5, 3), np.nan), Y0), "Input X contains NaN"),
        ((np.full((5, 3), np.inf), Y0), "Input X contains infinity"),
        ((X0, Y0[:3]), "inconsistent numbers of samples"),
        ((X0, np.ones((5, 2))), "y should be a 1d array"),
        ((X0[:, 0], Y0), "Expected 2D array"),
        ((1j * X0, Y0), "Complex data not supported"),
        ((X0, Y0, np.ones(4)), r"y_variance must be 5 .* Got shape \(4,\)"),
        ((X0, Y0, [1, 1, np.inf, 1, 1]), r"y_variance must be 5 .* Got inf in row 2"),
        ((X0, Y0, [1, np.nan, 1, 1, 1]), r"y_variance must be 5 .* Got nan in row 1"),
        ((X0, Y0, -np.ones(5)), r"y_variance must be 5 non-negative .* minimum -1\.0"),
    ],
    ids=range(10),
)
def test_wrong_data(arguments, message):
    for call in (make().fit, make().partial_fit, make().fit(*data()).partial_fit):
        with pytest.raises(ValueError, match=message):
            call(*arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda gp: gp.predict(X0, True, True), "return_cov must be False with return_std=True"),
        (lambda gp: gp.predict(X0[:, 1:]), "X has 2 features, but TimeVaryingGPRegressor"),
        (lambda gp: gp.predict(X0 * np.nan), "Input X contains NaN"),
        (lambda gp: gp.sample_y(X0, 0), r"n_samples must be an int .* Got 0"),
        (lambda gp: gp.log_marginal_likelihood([0.0] * 3), r"shape \(4,\)\. Got shape \(3,\)"),
    ],
)
def test_wrong_queries(call, message):
    with pytest.raises(ValueError, match=message):
        call(make().fit(X0, Y0))


MISSING = {"None": None, "nan": np.nan, "NaT": np.datetime64("NaT")}


@pytest.mark.parametrize("form", [list, partial(np.array, dtype=object), "Series"])
@pytest.mark.parametrize("name", [*MISSING, "<NA>"])
def test_missing_values_of_y_are_named_wherever_it_is_taken(name, form):
    if form == "Series" or name == "<NA>":
        pd = pytest.importorskip("pandas")
        form = partial(pd.Series, dtype=object) if form == "Series" else form
    y = form([*Y0[:-1].tolist(), pd.NA if name == "<NA>" else MISSING[name]])
    gp, sparse = make(optimizer="fmin_l_bfgs_b").fit(X0, Y0), make(kind=SPARSE, n_inducing=3)
    others = sparse.fit, make().fit, make().partial_fit, lambda X, y: gp.refit((X, y))
    for call in (gp.fit, gp.partial_fit, gp.condition_on, *others):
        with pytest.raises(ValueError, match=rf"Input y contains NaN: {name} in row 4\. Drop"):
            call(X0, y)
    assert_array_equal(gp.X_train_, X0)


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
    gp = make(Fragile()).fit(X0, Y0)
    with pytest.raises(ValueError, match=r"posterior mean must be finite\. Got 1 NaN or inf"):
        gp.predict(FAR)
