"""The policy of ``sktvbo/_limits.py``, point by point."""

import warnings

import numpy as np
import pytest
from gaussian_process.cases import data, everything, make
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import JitterWarning
from sktvbo.relevancy import wasserstein_relevancy

KINDS = {
    "exact": TimeVaryingGPRegressor,
    "sparse": lambda **options: SparseTimeVaryingGPRegressor(n_inducing=12, warn=False, **options),
}
every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


# --- 1 and 2: what comes in and what goes out is finite -------------------------------------------


@every_kind
@pytest.mark.parametrize(("size", "where"), [(1e151, 0), (-1e200, 1), (1.7e308, 2), (-1e300, 2)])
def test_places_and_times_have_a_largest_size(kind, size, where):
    X, y = data()
    far = X[:1].copy()
    far[0, where] = size
    message = r"X must be of sizes up to 1e\+150. Got \d"
    with pytest.raises(ValueError, match=message):
        kind().fit(np.vstack([X, far]), np.append(y, 0.0))
    gp = kind(optimizer=None).fit(X, y)
    for call in (
        gp.predict,
        gp.sample_y,
        lambda rows: gp.partial_fit(rows, [0.0]),
        lambda rows: gp.updated(rows, [0.0]),
    ):
        with pytest.raises(ValueError, match=message):
            call(far)
    assert len(gp.X_train_) == len(X)


@pytest.mark.parametrize("kernel", [RBF(), Matern(nu=0.5), Matern(nu=2.5), RationalQuadratic()])
def test_far_away_there_is_the_prior(kernel):
    X, y = data()
    gp = make(kernel, Matern(2.0, nu=2.5)).fit(X, y)
    for far in ([1e150, 0.0, 0.0], [0.0, 0.0, 1e150], [-1e150, 1e150, -1e150]):
        mean, std = gp.predict([far], return_std=True)
        assert_allclose([mean[0], std[0]], [0.0, np.sqrt(1.3)], atol=1e-12)


def test_places_are_a_finite_number_of_lengthscales_away():
    X, y = data()
    with pytest.raises(ValueError, match=r"X must be within 1e\+150 lengthscales of 0. Got a len"):
        make(Matern(1e-160, nu=1.5)).fit(X, y)


@pytest.mark.parametrize("size", [1e306, -1.7e308])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_values_have_a_largest_size(size, normalize_y):
    X, y = data()
    message = r"y must be of sizes up to 1e\+305"
    gp = make(normalize_y=normalize_y)
    with pytest.raises(ValueError, match=message):
        gp.fit(X, np.append(y[1:], size))
    gp.fit(X, y)
    for add in (gp.partial_fit, gp.updated):
        with pytest.raises(ValueError, match=message):
            add(X[:1], [size])
    assert_array_equal(gp.y_train_, y)


@pytest.mark.parametrize("size", [1e160, 1e200, 1e304])
def test_a_covariance_without_a_float_is_an_error(size):
    X, y = data()
    gp = make(normalize_y=True).fit(X, size * y)
    assert np.isfinite(gp.predict(X, return_std=True)).all()
    with pytest.raises(ValueError, match="The posterior uncertainty must be finite"):
        gp.predict(X, return_cov=True)


def test_draws_need_no_covariance_in_the_units_of_y():
    X, y = data()
    small, large = (make(normalize_y=True).fit(X, np.ldexp(y, k)) for k in (0, 900))
    assert_array_equal(np.ldexp(small.sample_y(X, 3), 900), large.sample_y(X, 3))
    draws = [
        gp.posterior_at(9.0).sample(X[:, :-1], np.random.RandomState(0)) for gp in (small, large)
    ]
    assert_array_equal(np.ldexp(draws[0], 900), draws[1])


class Hole(RBF):
    """NaN at places beyond 5."""

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y, eval_gradient)
        return np.where(np.asarray(X)[:, :1] > 5.0, np.nan, K)


def test_a_kernel_without_a_value_is_no_silent_nan():
    X, y = data(d=1)
    gp = make(Hole()).fit(X, y)
    with pytest.raises(ValueError, match=r"posterior mean must be finite\. Got 1 NaN or inf"):
        gp.predict([[6.0, 1.0], [1.0, 1.0]])


# --- 3: units -------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("power", [1, -3, 300, -300, 1000, -950])
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


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-20, 1e20, 1e200, 1e300])
def test_values_of_all_sizes(size):
    X, y = data()
    expected = TimeVaryingGPRegressor(normalize_y=True).fit(X, y)
    gp = TimeVaryingGPRegressor(normalize_y=True).fit(X, size * y)
    for a, b in zip(expected.predict(X, return_std=True), gp.predict(X, return_std=True)):
        assert_allclose(b / size, a, rtol=1e-4, atol=1e-4)
    assert_allclose(gp.relevancy(9.0), expected.relevancy(9.0), rtol=1e-3)


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-20, 1e20, 1e100])
def test_without_normalization_the_model_s_own_units_may_have_any_size(size):
    X, y = data()
    expected = make().fit(X, y)
    fixed = {"signal_variance": 1.3 * size**2, "noise_variance": 0.02 * size**2}
    if size**2 == 0.0:  # the variances have no floats; those of a model of size 1 swamp such y
        assert_allclose(make().fit(X, size * y).predict(X) / size, expected.predict(X), rtol=1e-9)
        return
    gp = make(**fixed).fit(X, size * y)
    assert_allclose(gp.predict(X) / size, expected.predict(X), rtol=1e-9)
    assert_allclose(gp.relevancy(9.0), expected.relevancy(9.0), rtol=1e-9)


@pytest.mark.parametrize("size", [1e-140, 1e-50, 1.0, 1e50, 1e140])
def test_the_relevancy_is_a_ratio(size):
    X, y = data()
    arguments = {"spatial_kernel": RBF(0.5), "temporal_kernel": RBF(3.0), "now": 9.0}
    found = wasserstein_relevancy(
        X, size * y, signal_variance=size**2, noise_variance=0.1 * size**2, **arguments
    )
    expected = wasserstein_relevancy(X, y, signal_variance=1.0, noise_variance=0.1, **arguments)
    assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("size", [1e150, 1e200, 1e300])
def test_relevancy_of_values_that_say_everything(size):
    # Of y far larger than the model expects the means are all that matters, and their ratio is that
    # of y of 1e50 already.
    X, y = data()
    arguments = {"spatial_kernel": RBF(0.5), "temporal_kernel": RBF(3.0), "now": 9.0}
    arguments |= {"signal_variance": 1.0, "noise_variance": 1e-3}
    expected = wasserstein_relevancy(X, 1e50 * y, **arguments)
    assert_allclose(wasserstein_relevancy(X, size * y, **arguments), expected, rtol=1e-9)


@pytest.mark.parametrize("noise", [1e-300, 1e-12, 1e12, 1e200, 1e300])
def test_any_noise(noise):
    X, y = data()
    gp = make(noise_variance=noise).fit(X, y)
    assert np.isfinite(everything(gp, X)).all()
    relevancy = gp.relevancy(9.0)
    assert np.isfinite(relevancy).all()
    assert (relevancy >= 0.0).all()
    assert relevancy.max() > 0.0


@pytest.mark.parametrize("noise", [(1e-300, 1e-299), (1e-12, 1e-11), (1e-6, 1e1), (1e5, 1e6)])
@pytest.mark.parametrize("scales", [(1e-8, 1e-7), (1e-5, 1e5), (1e7, 1e8), (1e100, 1e120)])
def test_hyperparameters_at_their_bounds(noise, scales):
    X, y = data()
    gp = TimeVaryingGPRegressor(
        Matern(scales[0], scales, nu=2.5),
        noise_variance=noise[0],
        noise_variance_bounds=noise,
        normalize_y=True,
    ).fit(X, y)
    assert np.isfinite(everything(gp, X)).all()
    relevancy = gp.relevancy(9.0)
    assert np.isfinite(relevancy).all()
    assert (relevancy >= 0.0).all()


# --- time -----------------------------------------------------------------------------------------


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
    gp = make(Matern(0.5, nu=2.5), Matern(3.0, nu=1.5)).fit(X, y)
    after = make(Matern(0.5, nu=2.5), Matern(3.0, nu=1.5)).fit(X[20:], y[20:])
    # What was before the gap is forgotten. Times in lengthscales are rounded to 1e-16 of the gap.
    assert_allclose(gp.predict(X[20:]), after.predict(X[20:]), rtol=1e-6, atol=1e-8)
    relevancy = gp.relevancy()
    assert_array_equal(relevancy[:20], 0.0)
    assert_allclose(relevancy[20:], after.relevancy(), rtol=1e-5)


# --- 4: constants ---------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 1e-300, -1.0, 1e12, 1e300])
def test_constant_values(value):
    X, _ = data()
    gp = TimeVaryingGPRegressor(normalize_y=True).fit(X, np.full(len(X), value))
    assert_allclose(gp.predict(X), value, rtol=1e-12)
    assert np.isfinite(gp.relevancy()).all()


@pytest.mark.parametrize("level", [1.0, -1e-200, 1e10, 1e280])
def test_a_spread_of_a_millionth_of_a_millionth(level):
    X, y = data()
    expected = TimeVaryingGPRegressor(normalize_y=True).fit(X, y).predict(X)
    # What arrives has been rounded to some 4 digits.
    gp = TimeVaryingGPRegressor(normalize_y=True).fit(X, level + 1e-12 * level * y)
    assert_allclose((gp.predict(X) - level) / (1e-12 * level), expected, atol=5e-3)


# --- 5 and 6: near duplicates ---------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("distance", "noise", "copies"),
    [(0.0, 1e-2, 30), (1e-14, 1e-10, 30), (0.0, 1e-10, 30), (1e-9, 1e-10, 100)],
)
def test_near_duplicates_by_the_thousand(kind, distance, noise, copies, rng):
    X, y = data(n=10)
    X = np.tile(X, (copies, 1)) + distance * rng.normal(size=(10 * copies, 3))
    X[:, -1] = np.maximum(X[:, -1], 0.0)
    gp = kind(
        spatial_kernel=Matern(0.5, nu=2.5),
        temporal_kernel=RBF(3.0),
        noise_variance=noise,
        optimizer=None,
    ).fit(X, np.tile(y, copies))
    assert_allclose(gp.predict(X[:10]), y, atol=5e-3)
    sweep = gp.relevancy_sweep(9.0)
    for _ in range(3):
        relevancy = sweep.relevancy()
        assert np.isfinite(relevancy).all()
        assert (relevancy >= 0.0).all()
        assert relevancy.max() < 0.1  # each has others that say the same
        sweep.remove(np.argmin(relevancy))


@pytest.mark.parametrize("noise", [1e-6, 1e-9, 1e-10, 1e-12, 1e-14])
@pytest.mark.parametrize("distance", [0.0, 1e-12, 1e-9])
def test_near_duplicates_do_not_matter(distance, noise, rng):
    X = np.column_stack([rng.uniform(size=12), np.arange(12.0)])
    X = np.vstack([X, X + distance * rng.normal(size=X.shape)])
    y = np.sin(5.0 * X[:, 0] + X[:, 1] / 3.0)
    found = wasserstein_relevancy(
        X,
        y,
        spatial_kernel=RBF(1.0),
        temporal_kernel=Matern(4.0, nu=0.5),
        signal_variance=1.0,
        noise_variance=noise,
        now=13.0,
    )
    # Exactly, each is below 1.3e-3 at noise 1e-6 and below 6e-5 with less.
    assert (found >= 0.0).all()
    assert found.max() < (2e-3 if noise == 1e-6 else 4e-4)


def test_the_noise_that_relevancies_suppose_is_small():
    X, y = data()
    tiny, small = (make(noise_variance=noise).fit(X, y).relevancy(9.0) for noise in (1e-13, 1e-9))
    assert_allclose(tiny, small, rtol=1e-3)


# --- shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(1, 500), (5, 300), (40, 117), (40, 118), (700, 1)])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_far_more_rows_than_columns_and_fewer(n, d, normalize_y):
    X, y = data(n=n, d=d)
    options = {"optimizer": None} if n > 100 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("error", JitterWarning)
        gp = TimeVaryingGPRegressor(normalize_y=normalize_y, warn=False, **options).fit(X, y)
    assert np.isfinite(everything(gp, X)).all()
    relevancy = gp.relevancy(9.0)
    assert np.isfinite(relevancy).all()
    assert (relevancy >= 0.0).all()
