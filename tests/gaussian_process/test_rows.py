"""Rows: observations as an immutable value."""

import pickle
from dataclasses import FrozenInstanceError

import joblib
import numpy as np
import pytest
from gaussian_process.cases import lifted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.gaussian_process._covariance import SeparableCovariance
from sktvbo.gaussian_process._data import Layout, Moments, Rows

COVARIANCE = SeparableCovariance.of(
    RBF(0.4), RBF(3.0), (1.3, (1e-3, 1e3)), (0.05, (1e-6, 1e1)), 2, QuadraticInjection(0.3)
)


def given(n=12, seed=0, position=2):
    """Return inputs, targets, variances, and the mask of total variances."""
    X, y, variance = lifted(n, seed=seed)
    X = np.insert(X[:, :-1], position, X[:, -1], axis=1)
    return X, y, variance, np.arange(n) % 3 == 0


def make(*arrays, standardize=True, position=2, origin=50.0):
    return Rows.of(*arrays, Layout(position, origin), standardize=standardize)


def assert_equal(a, b):
    for name in ("X", "y", "variance", "total", "S", "t", "ages", "targets"):
        assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ("n", "now", "latest", "layout", "standardize", "location", "scale"):
        assert getattr(a, name) == getattr(b, name), name


@pytest.mark.parametrize("position", [0, 1, 2])
def test_space_and_time(position):
    X, *rest = given(position=position)
    rows = make(X, *rest, position=position)
    assert_array_equal(rows.S, np.delete(X, position, axis=1))
    assert_array_equal(rows.t, X[:, position] - 50.0)
    assert rows.S.flags.c_contiguous
    assert rows.now == rows.latest == X[:, position].max()
    assert_allclose(rows.ages, X[:, position].max() - X[:, position], atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
def test_targets(standardize):
    X, y, *rest = given()
    rows = make(X, y, *rest, standardize=standardize)
    location, scale = (y.mean(), y.std()) if standardize else (0.0, 1.0)
    assert_allclose([rows.location, rows.scale], [location, scale], rtol=1e-12)
    assert_allclose(rows.targets, (y - location) / scale, rtol=1e-12)
    assert_array_equal(rows.y, y)


def test_targets_without_a_scale():
    X, _, *rest = given()
    for value in (0.0, 5.0, -1e9):
        rows = make(X, np.full(12, value), *rest)
        assert (rows.location, rows.scale) == (pytest.approx(value), 1.0)
    big = make(X, 1e99 * np.arange(12.0), *rest)
    assert big.scale == pytest.approx(1e99 * np.arange(12.0).std())


def test_noise_is_that_of_the_model_plus_known_variances_or_a_total_one():
    X, y, variance, total = given()
    rows = make(X, y, variance, total).at(70.0)
    model = 0.05 * (1.0 + (0.3 * (70.0 - X[:, 2])) ** 2)
    expected = np.where(total, 0.0, model) + variance / y.var()
    assert_allclose(rows.noise(COVARIANCE), expected, rtol=1e-12)
    for some in (slice(4, 7), [1, 9], slice(12, None)):
        assert_allclose(rows.noise(COVARIANCE, some), expected[some], rtol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("m", [1, 5])
def test_append(standardize, m):
    first, more = given(12), given(m, seed=1)
    rows = make(*first, standardize=standardize)
    grown = rows.append(*more)
    both = [np.concatenate(parts) for parts in zip(first, more)]
    assert_equal(grown, make(*both, standardize=standardize).with_scale_of(rows))
    assert_equal(rows, make(*first, standardize=standardize))


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("indices", [[0], [3, 11], range(11), []], ids=str)
def test_drop(standardize, indices):
    arrays = given()
    rows = make(*arrays, standardize=standardize)
    fewer = rows.drop(indices)
    left = [np.delete(a, indices, axis=0) for a in arrays]
    # The present time stays, even if the latest row is dropped.
    assert_equal(fewer, make(*left, standardize=standardize).with_scale_of(rows).at(rows.now))
    assert_equal(rows, make(*arrays, standardize=standardize))


def test_at():
    rows = make(*given())
    later = rows.at(75)
    assert later.now == 75.0
    assert isinstance(later.now, float)
    assert later.latest == rows.latest
    assert_allclose(later.ages - rows.ages, 75.0 - rows.now, rtol=1e-12)
    assert later.append(*given(2, seed=1)).now == 75.0
    assert rows.now == rows.latest


def test_location_and_scale_follow_y_until_it_has_a_scale():
    X, y, *rest = given()
    y = np.array([5.0, 5.0, 5.0, 0.0, 6.0, 7.0, 1.0, 2.0, 3.0, 4.0, 8.0, 9.0])
    rows = make(X[:1], y[:1], *(a[:1] for a in rest))
    assert (rows.location, rows.scale) == (5.0, 1.0)
    for i in range(1, 12):
        rows = rows.append(X[i : i + 1], y[i : i + 1], *(a[i : i + 1] for a in rest))
        told = y[: i + 1]
        assert rows.location == pytest.approx(told.mean(), rel=1e-12)
        assert rows.scale == pytest.approx(told.std() or 1.0, rel=1e-12)
        assert rows.standardize is (i < 11)
    assert rows.append(X[:1], np.array([1e6]), *(a[:1] for a in rest)).scale == rows.scale
    assert rows.drop(range(1, 12)).scale == rows.scale
    # Two distinct values define a scale.
    X, nothing, total = np.arange(120.0)[:, np.newaxis], np.zeros(120), np.zeros(120, dtype=bool)
    two = make(X, np.arange(120.0) % 2.0, nothing, total, position=0)
    assert not two.standardize
    assert two.drop(range(30)).scale == pytest.approx(0.5)


def test_frozen():
    rows = make(*given())
    for name in ("X", "y", "variance", "total", "now", "layout", "standardize", "scale", "other"):
        with pytest.raises(FrozenInstanceError):
            setattr(rows, name, 1.0)
    with pytest.raises(FrozenInstanceError):
        rows.layout.origin = 0.0
    with pytest.raises(AttributeError):
        rows.targets = rows.y


def test_caches_are_no_part_of_a_pickle():
    used, unused = make(*given()), make(*given())
    assert joblib.hash(used) == joblib.hash(unused)
    assert_equal(used, unused)
    assert joblib.hash(used) == joblib.hash(make(*given()))
    assert len(pickle.dumps(used)) == len(pickle.dumps(make(*given())))
    assert_equal(pickle.loads(pickle.dumps(used)), unused)


def test_appended_rows_share_memory_only_where_equal():
    """Two extensions of the same rows, one after the other and in pieces."""
    rows = make(*(a[:8] for a in given()))
    one = rows.append(*(a[8:10] for a in given()))
    other = rows.append(*(a[10:12] for a in given()))
    longer = one.append(*(a[10:12] for a in given()))
    assert np.shares_memory(one.X, longer.X)
    assert not np.shares_memory(one.X, other.X)
    assert_equal(one, make(*(a[:10] for a in given())))
    assert_equal(other, make(*(np.delete(a, [8, 9], axis=0) for a in given())))
    assert_equal(longer, make(*given()).with_scale_of(one))
    assert pickle.loads(pickle.dumps(longer)).storage is None
    again = pickle.loads(pickle.dumps(one)).append(*(a[10:12] for a in given()))
    assert_equal(again, longer)


def test_the_scale_is_updated_with_many_rows():
    rng = np.random.RandomState(0)
    y = 1e3 + rng.normal(size=1500) * np.linspace(1.0, 50.0, 1500)
    X, nothing = np.arange(1500.0)[:, np.newaxis], np.zeros(1500)
    total = np.zeros(1500, dtype=bool)
    rows = make(X[:1000], y[:1000], nothing[:1000], total[:1000], position=0)
    for i in range(1000, 1500, 5):
        new = slice(i, i + 5)
        rows = rows.append(X[new], y[new], nothing[new], total[new], standardize=True)
    assert_allclose([rows.location, rows.scale], [y.mean(), y.std()], rtol=1e-13)
    huge = rows.append(X[:1], np.array([1e300]), nothing[:1], total[:1], standardize=True)
    assert np.isfinite(huge.scale)


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
def test_moments_are_combined(scale):
    rng = np.random.RandomState(0)
    y = scale * (3.0 + rng.normal(size=1000))
    first, *others = np.split(y, [1, 2, 40, 41, 700])
    found = Moments.of(first)
    for part in others:
        found = found.plus(Moments.of(part))
    assert found.n == 1000
    assert_allclose(
        [found.mean, found.std], [scale * (y / scale).mean(), scale * (y / scale).std()]
    )
