"""Extreme numbers, duplicates, few rows, other units, types and layouts."""

import warnings
from functools import partial

import numpy as np
import pytest
from gaussian_process.cases import MODELS, data, everything, make
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import JitterWarning
from sktvbo.gaussian_process import WeightedTimeVaryingGPRegressor
from sktvbo.relevancy import wasserstein_relevancy

KINDS = {
    "exact": TimeVaryingGPRegressor,
    "sparse": partial(SparseTimeVaryingGPRegressor, n_inducing=12),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


TOO_LARGE = r"must be at most 1e\+100 in absolute value\. Got \d.* Use a larger unit"


@every_kind
@pytest.mark.parametrize(("size", "where"), [(1.1e100, 0), (-1e200, 1), (1.7e308, 2)])
def test_large_inputs_and_targets_are_refused(kind, size, where):
    X, y = data()
    far = X[:1].copy()
    far[0, where] = size
    gp = kind(optimizer=None).fit(X, y)
    for call in (gp.predict, partial(gp.partial_fit, y=[0.0]), partial(gp.fit, y=[0.0])):
        with pytest.raises(ValueError, match=f"X {TOO_LARGE}"):
            call(far)
    for call in (gp.partial_fit, kind(normalize_y=True).fit):
        with pytest.raises(ValueError, match=f"y {TOO_LARGE}"):
            call(X[:1], [size])
    assert_array_equal(gp.X_train_, X)


@pytest.mark.parametrize("kernel", [RBF(), Matern(nu=0.5), Matern(nu=2.5), RationalQuadratic()])
def test_far_away_there_is_the_prior(kernel):
    X, y = data()
    gp = make(kernel, Matern(2.0, nu=2.5)).fit(X, y)
    for far in ([1e100, 0.0, 0.0], [0.0, 0.0, 1e100], [-1e100, 1e100, -1e100]):
        mean, std = gp.predict([far], return_std=True)
        assert_allclose([mean[0], std[0]], [0.0, np.sqrt(1.3)], atol=1e-12)


@every_kind
@pytest.mark.parametrize("power", [-3, 300, -300])
def test_the_unit_of_y_changes_no_digit(kind, power):
    X, y = data()
    one, other = (kind(normalize_y=True, random_state=0).fit(X, np.ldexp(y, k)) for k in (0, power))
    for _ in range(2):
        assert_array_equal(other.theta_, one.theta_)
        assert_array_equal(other.relevancy(9.0), one.relevancy(9.0))
        for a, b in zip(one.predict(X, return_std=True), other.predict(X, return_std=True)):
            assert_array_equal(np.ldexp(a, power), b)
        assert other.log_marginal_likelihood() == one.log_marginal_likelihood()
        one.partial_fit(X[:2] + 0.1, y[:2]).forget([3])
        other.partial_fit(X[:2] + 0.1, np.ldexp(y[:2], power)).forget([3])


@pytest.mark.parametrize(
    ("origin", "unit"),
    [(1.7e9, 1.0), (1.7e18, 1e9), (-1e15, 1.0), (0.0, 3e7), (1e17, 1e17)],
    ids=["Unix seconds", "Unix nanoseconds", "long before", "years apart", "beyond"],
)
def test_clocks_of_all_kinds(origin, unit):
    X, y = data()
    X[:, -1] = np.round(64.0 * X[:, -1])
    there = X.copy()
    there[:, -1] = origin + unit * X[:, -1]
    expected, gp = (TimeVaryingGPRegressor(normalize_y=True).fit(Z, y) for Z in (X, there))
    assert_allclose(gp.predict(there), expected.predict(X), rtol=1e-3, atol=1e-3)
    assert_allclose(gp.relevancy(), expected.relevancy(), rtol=1e-2)


def test_a_gap_of_years():
    X, y = data()
    X[:, -1] = np.round(64.0 * X[:, -1]) / 64.0
    X[20:, -1] += 10 * 365.25 * 86400.0
    gp, after = make().fit(X, y), make().fit(X[20:], y[20:])
    # Rows before the gap are irrelevant. Times in lengthscales are rounded to 1e-16 of the gap.
    assert_allclose(gp.predict(X[20:]), after.predict(X[20:]), rtol=1e-6, atol=1e-8)
    relevancy = gp.relevancy()
    assert_array_equal(relevancy[:20], 0.0)
    assert_allclose(relevancy[20:], after.relevancy(), rtol=1e-5)


@pytest.mark.parametrize(
    ("value", "normalize_y"),
    [*((value, True) for value in (0.0, 1e-300, -1.0, 1e12, 1e100)), (0.0, False), (-1e9, False)],
)
def test_constant_values(value, normalize_y):
    X, _ = data()
    gp = TimeVaryingGPRegressor(normalize_y=normalize_y).fit(X, np.full(len(X), value))
    if normalize_y:
        assert_allclose(gp.predict(X), value, rtol=1e-12)
    assert np.isfinite(everything(gp, X)).all()
    assert np.isfinite(gp.relevancy()).all()


@pytest.mark.parametrize("level", [1.0, -1e-100, 1e99])
def test_a_relative_spread_of_1e_12(level):
    X, y = data()
    expected = TimeVaryingGPRegressor(normalize_y=True).fit(X, y).predict(X)
    # Adding the level rounds to about 4 digits.
    gp = TimeVaryingGPRegressor(normalize_y=True).fit(X, level + 1e-12 * level * y)
    assert_allclose((gp.predict(X) - level) / (1e-12 * level), expected, atol=5e-3)


SMALL_SPREAD = {
    "constant": lambda y: np.full_like(y, 3.3),
    "zero": lambda y: 0.0 * y,
    "rounding of 1e6": lambda y: 1e6 + 1e-12 * y,
    "1e-9 of 1e6": lambda y: 1e6 + 1e-9 * y,
    "1e-12 of 3.3": lambda y: 3.3 + 1e-12 * y,
    "all but one": lambda y: np.eye(len(y))[0],
    "tiny": lambda y: 1e-150 * y,
    "subnormal": lambda y: 1e-310 * y,
    "large": lambda y: 1e99 * y,
    "single": lambda y: y.astype(np.float32),
}
SPREAD_KINDS = KINDS | {"weighted": WeightedTimeVaryingGPRegressor}
MEANS = [{}, {"mean_prior_std": np.inf}, {"normalize_y": True}]


@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.ModelWarning")
@pytest.mark.filterwarnings("ignore:.*ended at its:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", SPREAD_KINDS.values(), ids=list(SPREAD_KINDS))
@pytest.mark.parametrize("name", SMALL_SPREAD)
def test_a_search_stays_finite_whatever_the_spread_of_y(kind, name):
    for seed, options in enumerate(MEANS):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.uniform(size=40), np.arange(40.0)])
        y = np.sin(6.0 * X[:, 0] + 0.1 * X[:, 1]) + 0.05 * rng.normal(size=40)
        X = X.astype(np.float32 if name == "single" else float)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            gp = kind(random_state=0, **options).fit(X, SMALL_SPREAD[name](y))
        assert np.isfinite(gp.theta_).all()
        assert np.isfinite(gp.predict(X, return_std=True)).all()


@every_kind
@pytest.mark.parametrize(
    ("distance", "noise", "copies"),
    [(0.0, 1e-2, 30), (1e-14, 1e-10, 30), (1e-9, 1e-10, 60)],
)
def test_near_duplicates_by_the_thousand(kind, distance, noise, copies, rng):
    X, y = data(n=10)
    X = np.tile(X, (copies, 1)) + distance * rng.normal(size=(10 * copies, 3))
    X[:, -1] = np.maximum(X[:, -1], 0.0)
    gp = kind(Matern(0.5, nu=2.5), RBF(3.0), noise_variance=noise, optimizer=None).fit(
        X, np.tile(y, copies)
    )
    assert_allclose(gp.predict(X[:10]), y, atol=5e-3)
    sweep = gp.fitted_.relevancy_sweep(9.0)
    for _ in range(3):
        relevancy = sweep.relevancy()
        assert ((relevancy >= 0.0) & (relevancy < 0.1)).all()  # each has duplicates
        sweep.remove(np.argmin(relevancy))


@pytest.mark.parametrize("noise", [1e-6, 1e-9, 1e-10, 1e-12, 1e-14])
@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9])
def test_near_duplicates_do_not_matter(distance, noise, rng):
    X = np.column_stack([rng.uniform(size=12), np.arange(12.0)])
    X = np.vstack([X, X + distance * rng.normal(size=X.shape)])
    y = np.sin(5.0 * X[:, 0] + X[:, 1] / 3.0)
    model = {"spatial_kernel": RBF(1.0), "temporal_kernel": Matern(4.0, nu=0.5), "now": 13.0}
    found = wasserstein_relevancy(X, y, signal_variance=1.0, noise_variance=noise, **model)
    # Exact values are below 1.3e-3 at noise 1e-6, and below 6e-5 with less.
    assert (found >= 0.0).all()
    assert found.max() < (2e-3 if noise == 1e-6 else 4e-4)


def test_the_least_noise_of_relevancies_is_small():
    X, y = data()
    tiny, small = (make(noise_variance=noise).fit(X, y).relevancy(9.0) for noise in (1e-13, 1e-9))
    assert_allclose(tiny, small, rtol=1e-3)


@pytest.mark.parametrize(
    ("n", "d", "normalize_y"),
    [(1, 500, False), (5, 300, True), (40, 117, False), (40, 118, True), (700, 1, True)],
)
def test_far_more_rows_than_columns_and_fewer(n, d, normalize_y):
    X, y = data(n=n, d=d)
    options = {"optimizer": None} if n > 100 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", JitterWarning)
        gp = TimeVaryingGPRegressor(normalize_y=normalize_y, **options).fit(X, y)
    assert np.isfinite(everything(gp, X)).all()
    assert np.all((gp.relevancy(9.0) >= 0.0) & np.isfinite(gp.relevancy(9.0)))


# --- duplicates, few rows, types and layouts ------------------------------------------------------


@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 2), (1, 0), (2, 6), (3, 0)])
def test_few_observations(n, d, normalize_y, optimizer):
    X, y = data(n=n, d=d)
    gp = TimeVaryingGPRegressor(optimizer=optimizer, normalize_y=normalize_y).fit(X, y)
    assert np.isfinite(everything(gp, data(d=d, seed=1)[0])).all()
    gp.partial_fit(X + 0.1, y).forget([0])
    assert np.isfinite(everything(gp, X)).all()


def test_all_at_one_time_or_at_one_place():
    X, y = data()
    for frozen in ([2], [0, 1], [0, 1, 2]):
        held = X.copy()
        held[:, frozen] = 0.5
        assert np.isfinite(everything(TimeVaryingGPRegressor().fit(held, y), X)).all()


@pytest.mark.parametrize("kind", [np.float32, np.float16, int, np.uint8])
def test_other_real_types(kind):
    X, y = data()
    X, y = (16.0 * X).astype(kind), (16.0 * y + 20.0).astype(kind)
    model = make(Matern(8.0, nu=2.5), Matern(20.0, nu=1.5))
    gp = clone(model).fit(X[:38], y[:38]).partial_fit(X[38:], y[38:])
    assert gp.X_train_.dtype == gp.y_train_.dtype == gp.predict(X).dtype == np.float64
    expected = model.fit(X.astype(float), y.astype(float))
    assert_allclose(everything(gp, X), everything(expected, X.astype(float)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["ard-matern", "time-first", "rational-matern"])
def test_any_layout(name):
    spatial, temporal, d, column = MODELS[name]
    X, y = data(d=d)
    expected = everything(make(spatial, temporal, time_column=column).fit(X, y), X)
    strided = lambda A: np.repeat(A, 2, axis=-1)[..., ::2]  # noqa: E731
    for layout in (np.asfortranarray, strided, np.ndarray.tolist):
        gp = make(spatial, temporal, time_column=column)
        gp.fit(layout(X[:38]), layout(y[:38]), layout(np.zeros(38)))
        gp.partial_fit(layout(X[38:]), layout(y[38:]))
        assert_allclose(everything(gp, layout(X)), expected, rtol=1e-9, atol=1e-9)
