"""Hyperpriors from earlier fits: values, units, what must agree, and the gain with few rows."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, ExpSineSquared, Matern
from sklearn.linear_model import Ridge

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticInjection,
    SparseTimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
    hyperpriors_from,
)
from sktvbo.kernels import Forgetting

SPACE, TIME = Matern([0.5, 0.5], (0.05, 10.0), nu=2.5), Matern(5.0, (0.5, 500.0), nu=1.5)

MODELS = {
    "plain": TimeVaryingGPRegressor(SPACE, TIME),
    "default in space": TimeVaryingGPRegressor(None, TIME),
    "normalized": TimeVaryingGPRegressor(SPACE, TIME, normalize_y=True, mean_prior_std=1.0),
    "sum in time": TimeVaryingGPRegressor(SPACE, TIME + ConstantKernel(0.1) * Matern(1.0, nu=0.5)),
    "level": TimeVaryingGPRegressor(SPACE, TIME, level_kernel=0.5 * Matern(3.0, nu=0.5)),
    "noise that grows": TimeVaryingGPRegressor(
        SPACE, ConstantKernel(1.0, "fixed"), noise_model=QuadraticInjection(0.1)
    ),
    "forgetting": TimeVaryingGPRegressor(RBF(0.5), Forgetting(0.05)),
    "sparse": SparseTimeVaryingGPRegressor(SPACE, TIME, n_inducing=15, random_state=0),
    "weighted": WeightedTimeVaryingGPRegressor(RBF(0.5), Forgetting(0.05)),
    "known signal": TimeVaryingGPRegressor(SPACE, TIME, signal_variance_bounds="fixed"),
}


def data(seed, n=40):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.arange(n)])
    f = np.sin(4.0 * X[:, 0] + 0.1 * X[:, 2] + seed) + 0.5 * X[:, 1] ** 2
    return X, f + 0.1 * rng.normal(size=n)


def fits(model, n=3, **options):
    return [clone(model).fit(*data(seed, **options)) for seed in range(n)]


@pytest.mark.parametrize("name", MODELS)
def test_the_next_fit_takes_them(name):
    model, earlier = MODELS[name], fits(MODELS[name])
    before = [fit.theta_ for fit in earlier]
    priors = hyperpriors_from(earlier)
    names = earlier[0].fitted_.gp.covariance.names
    assert list(priors) == list(dict.fromkeys(names))
    medians = np.concatenate([np.ravel(prior.median()) for prior in priors.values()])
    assert_allclose(np.log(medians), np.median(before, axis=0), atol=1e-9)
    # As wide as the fits differ, and never narrower than a factor.
    low, high = (
        np.concatenate([np.ravel(p.ppf(q)) for p in priors.values()]) for q in norm.cdf([-1, 1])
    )
    spread = 0.5 * np.log(high / low)
    assert (spread >= np.std(before, axis=0, ddof=1)).all()
    assert (spread >= 0.5).all()
    further = clone(model).set_params(hyperpriors=priors).fit(*data(9, n=6))
    nearer = np.abs(further.theta_ - np.log(medians)) / spread
    assert (nearer < 3.0).all()
    assert_allclose([fit.theta_ for fit in earlier], before)


def test_one_fit_is_known_less_well_than_many():
    earlier = fits(MODELS["plain"], 6)
    one, same = hyperpriors_from(earlier[:1]), hyperpriors_from(earlier[:1] * 6)
    for name in one:
        assert_allclose(one[name].median(), same[name].median())
        widths = [np.log(p.ppf(0.9) / p.ppf(0.1)) for p in (one[name], same[name])]
        assert (widths[0] > 1.2 * widths[1]).all()


def test_each_lengthscale_has_its_own():
    priors = hyperpriors_from(fits(MODELS["plain"]))
    space = priors["spatial_kernel__length_scale"]
    assert np.shape(space.median()) == (2,)
    assert space.median()[1] > 1.2 * space.median()[0]  # the second input matters less
    assert np.ndim(priors["temporal_kernel__length_scale"].median()) == 0


@pytest.mark.parametrize("normalize_y", [False, True])
def test_units(normalize_y):
    """Lengthscales are in units of the columns, variances in those of y or of standardized y."""
    scale, units = 2.0**5, np.array([2.0**3, 2.0**-2, 2.0**4])

    def priors(units, scale):
        lows, space, time = [0.05, 10.0] * units[:2, np.newaxis], 0.5 * units[:2], 5.0 * units[2]
        model = TimeVaryingGPRegressor(
            Matern(space, lows, nu=2.5),
            Matern(time, (0.1 * time, 100.0 * time), nu=1.5),
            normalize_y=normalize_y,
            signal_variance=1.0 if normalize_y else scale**2,
            signal_variance_bounds=np.array([1e-3, 1e3]) * (1.0 if normalize_y else scale**2),
            noise_variance=0.01 * (1.0 if normalize_y else scale**2),
            noise_variance_bounds=np.array([1e-6, 1e1]) * (1.0 if normalize_y else scale**2),
        )
        rows = [data(seed) for seed in range(3)]
        return hyperpriors_from([clone(model).fit(X * units, scale * y) for X, y in rows])

    one, other = priors(np.ones(3), 1.0), priors(units, scale)
    of_y = 1.0 if normalize_y else scale**2
    factors = [of_y, units[:2], units[2], of_y]
    for name, factor in zip(one, factors):
        assert_allclose(other[name].median(), factor * one[name].median(), rtol=1e-3)


def test_dates():
    X, y = data(0)

    def fit(unit, kind="datetime"):
        when = X[:, 2]
        if kind == "datetime":
            when = pd.Timestamp("2026-01-01") + pd.to_timedelta(when, unit="h")
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "when": when})
        options = {"time_column": "when", "time_unit": unit}
        return TimeVaryingGPRegressor(SPACE, TIME, **options).fit(frame, y)

    priors = hyperpriors_from([fit("h"), fit("h")])
    numbers = hyperpriors_from([TimeVaryingGPRegressor(SPACE, TIME).fit(X, y)])
    for name in priors:
        assert_allclose(priors[name].median(), numbers[name].median(), rtol=1e-3)
    with pytest.raises(ValueError, match=r"fitted\[1\] .* time_unit is h. Got min"):
        hyperpriors_from([fit("h"), fit("min")])
    with pytest.raises(ValueError, match=r"fitted\[1\] .* kind of times"):
        hyperpriors_from([fit("h"), fit("h", "number")])


# --- the gain -------------------------------------------------------------------------------------


def test_few_rows_of_the_eleventh_sensor():
    rng, t = np.random.RandomState(0), 0.25 * np.arange(80.0)[:, np.newaxis]
    root = np.linalg.cholesky(Matern(3.0, nu=1.5)(t) + 1e-10 * np.eye(len(t)))
    values = 20.0 + 4.0 * root @ rng.normal(size=(80, 22)) + 0.5 * rng.normal(size=(80, 22))
    model = TimeVaryingGPRegressor(
        None, Matern(1.0, (0.1, 100.0), nu=1.5), mean_prior_std=np.inf, noise_variance=0.1
    )
    priors = hyperpriors_from([clone(model).fit(t, y) for y in values.T[:10]])
    assert 1.5 < priors["temporal_kernel__length_scale"].median() < 6.0
    assert 0.15 < priors["noise_variance"].median() < 0.4
    scores = []
    for given in (None, priors):
        further = clone(model).set_params(hyperpriors=given)
        for y in values.T[10:]:
            further.fit(t[:4], y[:4])
            mean, std = further.predict(t[4:8], return_std=True)
            std = np.hypot(std, further.noise_std_)
            scores.append([np.mean((mean - y[4:8]) ** 2), norm(mean, std).logpdf(y[4:8]).mean()])
    (alone, surprise), (errors, calm) = np.mean(np.reshape(scores, (2, -1, 2)), axis=1)
    assert errors < 0.95 * alone
    assert calm > surprise + 0.1


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([], ValueError, r"fitted must be a list of fitted regressors .* Got \[\] instead"),
        (TimeVaryingGPRegressor(), ValueError, r"Give \[regressor\]"),
        (None, ValueError, "a list of fitted regressors"),
        ([Ridge()], ValueError, r"fitted\[0\] must be a regressor of sktvbo"),
        ([TimeVaryingGPRegressor()], NotFittedError, "not fitted"),
    ],
)
def test_what_is_no_fit(given, error, message):
    with pytest.raises(error, match=message):
        hyperpriors_from(given)


OTHERS = {
    "spatial_kernel__nu": {"spatial_kernel": Matern([0.5, 0.5], nu=1.5)},
    "spatial_kernel is Matern": {"spatial_kernel": RBF([0.5, 0.5])},
    "temporal_kernel__nu": {"temporal_kernel": Matern(5.0, nu=0.5)},
    "learnt hyperparameters": {"spatial_kernel": Matern(0.5, nu=2.5)},
    "learnt hyperparameters is": {"noise_variance_bounds": "fixed"},
    "learnt": {"temporal_kernel": TIME + Matern(1.0, nu=0.5)},
    "level_kernel|learnt": {"level_kernel": Matern(3.0, nu=0.5)},
    "normalize_y is False": {"normalize_y": True},
    "noise_model is NoneType": {"noise_model": QuadraticInjection(0.1, rate_bounds="fixed")},
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_structure_is_named(name):
    first = TimeVaryingGPRegressor(SPACE, TIME).fit(*data(0))
    other = TimeVaryingGPRegressor(SPACE, TIME).set_params(**OTHERS[name]).fit(*data(1))
    for pair in ([first, other], [first, first, other], [other, first]):
        with pytest.raises(
            ValueError, match=rf"fitted\[{len(pair) - 1}\] must be like fitted\[0\]"
        ):
            hyperpriors_from(pair)
    with pytest.raises(ValueError, match=f"whose ({name})"):
        hyperpriors_from([first, other])


def test_other_columns_are_named():
    X, y = data(0)
    model = TimeVaryingGPRegressor(RBF(0.5), TIME)
    fewer = clone(model).fit(X[:, 1:], y)
    with pytest.raises(ValueError, match=r"number of columns is 3\. Got 2"):
        hyperpriors_from([clone(model).fit(X, y), fewer])
    frames = [pd.DataFrame(X, columns=names) for names in (["a", "b", "t"], ["b", "a", "t"])]
    with pytest.raises(ValueError, match="names of columns"):
        hyperpriors_from([clone(model).fit(frame, y) for frame in frames])
    first = clone(model).set_params(time_column=0).fit(X[:, [2, 0, 1]], y)
    with pytest.raises(ValueError, match="position of time is 2"):
        hyperpriors_from([clone(model).fit(X, y), first])


def test_other_values_of_what_is_fixed_are_named():
    def fit(period):
        season = Matern(9.0) * ExpSineSquared(1.0, period, periodicity_bounds="fixed")
        return TimeVaryingGPRegressor(RBF(0.5), season).fit(*data(0))

    hyperpriors_from([fit(12.0), fit(12.0)])
    with pytest.raises(ValueError, match=r"temporal_kernel__k2__periodicity is 12\.0. Got 24\.0"):
        hyperpriors_from([fit(12.0), fit(24.0)])


def test_noise_models_of_two_kinds():
    models = QuadraticInjection(0.1), GeometricInjection(0.9)
    pair = [
        TimeVaryingGPRegressor(RBF(0.5), Forgetting(0.05), noise_model=model).fit(*data(0))
        for model in models
    ]
    with pytest.raises(ValueError, match="noise_model is QuadraticInjection"):
        hyperpriors_from(pair)
