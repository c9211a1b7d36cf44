"""``updated``: rows dropped and appended, in a new estimator."""

import copy

import joblib
import numpy as np
import pytest
from gaussian_process.cases import (
    X0,
    Y0,
    afresh,
    as_learnt,
    data,
    everything,
    first_start,
    lifted,
    make,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, RationalQuadratic

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticInjection,
    SparseTimeVaryingGPRegressor,
    WeightedGPRegressor,
)
from sktvbo.kernels import Wiener

MODELS = {
    "exact": make(),
    "normalized": make(normalize_y=True),
    "unknown": make(RationalQuadratic(0.4), normalize_y=True),
    "ageing": make(noise_model=QuadraticInjection(0.3), normalize_y=True),
    "weighted": make(kind=WeightedGPRegressor, noise_model=GeometricInjection(0.9)),
    "sparse": make(
        kind=SparseTimeVaryingGPRegressor, inducing=lifted(12, seed=7)[0], normalize_y=True
    ),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
DROPS = {"none": [], "two": [7, 0], "all": range(30)}
every_drop = pytest.mark.parametrize("drop", DROPS.values(), ids=list(DROPS))
NEW, NEW_Y, NEW_V = lifted(n=4, seed=9)
PLACES = lifted(n=9, seed=2)[0]


def fitted(model, **parameters):
    """A fresh copy of a model that has seen 30 rows."""
    X, y, v = lifted()
    return copy.deepcopy(model).set_params(**parameters).fit(X, y, v)


def fingerprint(gp):
    """Of all that an estimator holds and says."""
    says = everything(gp, PLACES), gp.theta_, gp.X_train_, gp.y_train_, gp.now_, gp.noise_std_
    gp.spatial_kernel_  # noqa: B018  (made when first asked for)
    return joblib.hash((says, vars(gp)))


# --- it is what the verbs in place do, but pure ---------------------------------------------------


@every_model
@every_drop
@pytest.mark.parametrize("refit", [False, True])
def test_the_original_stays_as_it_is(model, drop, refit):
    gp = fitted(model, optimizer=first_start)
    before, state = fingerprint(gp), set(vars(gp))
    new = gp.updated(NEW, NEW_Y, NEW_V, drop=drop, refit=refit, hold_scale=True)
    new.partial_fit(NEW, NEW_Y).forget([0]).advance(99.0)
    new.set_params(noise_variance=3.0)
    assert fingerprint(gp) == before
    assert set(vars(gp)) == state
    assert new is not gp
    assert type(new) is type(gp)


@every_model
@every_drop
def test_it_is_forgetting_and_appending(model, drop):
    new = fitted(model).updated(NEW, NEW_Y, NEW_V, drop=drop)
    if len(drop) == 30:
        expected = fitted(model).partial_fit(NEW, NEW_Y, NEW_V).forget(drop)
    else:
        expected = fitted(model).forget(drop).partial_fit(NEW, NEW_Y, NEW_V)
    assert_array_equal(new.X_train_, expected.X_train_)
    assert_array_equal(new.y_train_, expected.y_train_)
    assert new.now_ == expected.now_
    assert new.noise_std_ == pytest.approx(expected.noise_std_, rel=1e-12)
    if not isinstance(new, SparseTimeVaryingGPRegressor):
        assert_allclose(everything(new, PLACES), everything(expected, PLACES), rtol=1e-8)


@every_model
@every_drop
def test_it_is_a_fresh_fit_to_what_is_left(model, drop):
    X, y, v = lifted()
    new = fitted(model).updated(NEW, NEW_Y, NEW_V, drop=drop)
    keep = np.delete(np.arange(30), list(drop))
    arrays = np.vstack([X[keep], NEW]), np.append(y[keep], NEW_Y), np.append(v[keep], NEW_V)
    fresh = afresh(fitted(model), *arrays)
    assert_array_equal(new.X_train_, fresh.X_train_)
    assert_allclose(everything(new, PLACES), everything(fresh, PLACES), rtol=1e-8, atol=1e-8)


@every_model
def test_dropping_alone_and_changing_nothing(model):
    gp = fitted(model)
    mask = np.isin(np.arange(30), [3, 11])
    for drop in ([3, 11], mask, mask.tolist(), (-19, 3, 3)):
        expected = fitted(model).forget([3, 11])
        assert_array_equal(everything(gp.updated(drop=drop), PLACES), everything(expected, PLACES))
    assert_array_equal(everything(gp.updated(), PLACES), everything(gp, PLACES))


@pytest.mark.parametrize("refit", [False, True])
@every_drop
def test_no_change_turns_the_clock_back(drop, refit):
    gp = fitted(MODELS["ageing"], optimizer=first_start).advance(80.0)
    new = gp.updated(NEW, NEW_Y, drop=drop, refit=refit)
    kept = gp.updated(NEW, NEW_Y).updated(drop=drop, refit=refit)
    assert new.now_ == kept.now_ == 80.0
    assert_allclose(everything(new, PLACES), everything(kept, PLACES), rtol=1e-9)


# --- searching ------------------------------------------------------------------------------------


def test_going_on_searching_from_what_was_learnt():
    X, y = data(n=60)
    gp = TimeVaryingGPRegressor(RBF(0.5), RBF(2.0)).fit(X[:50], y[:50])
    held = gp.updated(X[50:], y[50:], refit=False)
    searched = gp.updated(X[50:], y[50:], refit=True)
    assert_array_equal(held.theta_, gp.theta_)
    assert_array_equal(searched.X_train_, X)
    assert searched.log_marginal_likelihood() >= held.log_marginal_likelihood()
    assert np.any(searched.theta_ != gp.theta_)
    waiting = copy.deepcopy(gp).set_params(optimizer=first_start)
    waiting = waiting.updated(X[50:], y[50:], refit=True)
    assert_allclose(waiting.theta_, gp.theta_, rtol=1e-12)
    expected = gp.partial_fit(X[50:], y[50:])
    assert_allclose(everything(held, X), everything(expected, X), rtol=1e-12)


@pytest.mark.parametrize("drop", [[], [7, 0], range(50)], ids=["none", "two", "all"])
@pytest.mark.parametrize("refit", [False, True])
def test_dropping_and_adding_in_one_step(drop, refit):
    X, y = data(n=60)
    gp = TimeVaryingGPRegressor(RBF(0.5), RBF(2.0)).fit(X[:50], y[:50])
    gp = gp.updated(X[50:], y[50:], drop=drop, refit=refit)
    left = np.setdiff1d(np.arange(60), drop)
    assert_array_equal(gp.X_train_, X[left])
    fresh = as_learnt(gp).fit(X[left], y[left])
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


@every_model
def test_without_an_optimizer_nothing_is_searched(model):
    gp = fitted(model)
    options = {"learn_with": (PLACES, np.zeros(9)), "temporal_kernel": RBF(9.0)}
    new = gp.updated(NEW, NEW_Y, drop=[2], refit=True, **options)
    expected = gp.updated(NEW, NEW_Y, drop=[2])
    assert_array_equal(new.theta_, gp.theta_)
    assert new.temporal_kernel == gp.temporal_kernel
    assert_array_equal(everything(new, PLACES), everything(expected, PLACES))


@every_model
@every_drop
@pytest.mark.parametrize("hold_scale", [False, True])
def test_rows_to_learn_with_are_learnt_from_and_forgotten(model, drop, hold_scale):
    gp = fitted(model, optimizer="fmin_l_bfgs_b")
    more, values, _ = lifted(n=7, seed=3)
    values = values + 5.0
    new = gp.updated(
        NEW, NEW_Y, drop=drop, refit=True, hold_scale=hold_scale, learn_with=(more, values)
    )
    kept = 30 - len(drop)
    X, y = np.vstack([gp.X_train_, NEW]), np.append(gp.y_train_, NEW_Y)
    assert_array_equal(new.X_train_, np.delete(X, list(drop), axis=0))
    assert_array_equal(new.y_train_, np.delete(y, list(drop)))
    # The same by way of an estimator that holds them all.
    rows, targets = np.vstack([more, NEW]), np.append(values, NEW_Y)
    learnt = gp.updated(rows, targets, drop=drop, refit=True)
    assert_allclose(new.theta_, learnt.theta_, rtol=1e-9)
    assert np.any(new.theta_ != gp.updated(NEW, NEW_Y, drop=drop, refit=True).theta_)
    expected = learnt.updated(drop=kept + np.arange(7), hold_scale=hold_scale)
    assert_allclose(everything(new, PLACES), everything(expected, PLACES), rtol=1e-8, atol=1e-8)
    if model.normalize_y:
        from_all = np.append(np.delete(gp.y_train_, list(drop)), targets).std()
        scale = from_all if hold_scale else new.y_train_.std()
        assert new.noise_std_ == pytest.approx(np.sqrt(new.noise_variance_) * scale)


def test_no_rows_to_learn_with():
    gp = fitted(MODELS["exact"], optimizer="fmin_l_bfgs_b")
    new = gp.updated(NEW, NEW_Y, refit=True, learn_with=(np.empty((0, 3)), []))
    expected = gp.updated(NEW, NEW_Y, refit=True)
    assert_array_equal(everything(new, PLACES), everything(expected, PLACES))


def test_another_temporal_kernel():
    """One that starts before a late row, which the present one does not know of."""
    X, y, _ = lifted()
    late = X[:1] - np.array([0.0, 0.0, 20.0])
    gp = make(RBF(0.4), Wiener(0.2, "fixed", start=50.0), optimizer=first_start).fit(X, y)
    with pytest.raises(ValueError, match="start"):
        gp.updated(late, [3.0], refit=True)
    kernel = Wiener(0.3, "fixed", start=late[0, 2])
    new = gp.updated(late, [3.0], refit=True, temporal_kernel=kernel)
    assert gp.temporal_kernel_.start == 50.0
    assert new.temporal_kernel is kernel
    assert new.temporal_kernel_ == kernel
    fresh = as_learnt(new).fit(new.X_train_, new.y_train_)
    assert_allclose(everything(new, X), everything(fresh, X), rtol=1e-9)


@every_model
def test_rows_of_both_kinds_of_noise_come_and_go(model):
    """A total variance is of the rows that came with it, wherever they are moved to."""
    gp = fitted(model)
    both = gp.updated(NEW, NEW_Y, NEW_V, total_variance=True).updated(PLACES[:2], [3.0, 4.0])
    # Instead of dropping what stood before them, they are appended to what is left.
    expected = gp.updated(drop=range(25)).updated(NEW, NEW_Y, NEW_V, total_variance=True)
    expected = expected.updated(PLACES[:2], [3.0, 4.0])
    found = both.updated(drop=range(25))
    assert_allclose(everything(found, PLACES), everything(expected, PLACES), rtol=1e-8, atol=1e-8)
    plain = gp.updated(NEW, NEW_Y, NEW_V)
    assert np.abs(plain.predict(PLACES) - gp.updated(NEW, NEW_Y).predict(PLACES)).max() > 1e-6


# --- errors ---------------------------------------------------------------------------------------

ROW, VALUE = [[0.1, 0.2, 61.0]], [1.0]
BAD = {
    "X: columns": ((np.ones((2, 2)), [1.0, 2.0]), {}, r"X must be .* shape \(m, 3\).* \(2, 2\)"),
    "X: one row": (([0.1, 0.2, 61.0], [1.0]), {}, r"X must be .* \(m, 3\). Got shape \(3,\)"),
    "X: none": ((np.empty((0, 3)), []), {}, r"X must be .* Got shape \(0, 3\)"),
    "X: NaN": (([[0.1, np.nan, 61.0]], [1.0]), {}, "X must be finite. Got 1 NaN or infinity"),
    "X: words": (([["a", "b", "c"]], [1.0]), {}, "X must be real numbers"),
    "X: missing": ((None, [1.0]), {}, "X must be given with y and y_variance. Got None"),
    "y: length": ((ROW, [1.0, 2.0]), {}, r"y must be .* shape \(1,\). Got shape \(2,\)"),
    "y: infinite": ((ROW, [np.inf]), {}, "y must be finite"),
    "y: missing": ((ROW,), {}, r"y must be .* shape \(1,\). Got shape \(\)"),
    "y_variance: length": ((ROW, VALUE, [1.0, 2.0]), {}, r"y_variance must be 1 non-negative"),
    "y_variance: negative": ((ROW, VALUE, [-1.0]), {}, r"y_variance must be .* minimum -1\.0"),
    "y_variance: NaN": ((ROW, VALUE, [np.nan]), {}, "y_variance must be 1 non-negative finite"),
    "drop: not there": ((ROW, VALUE), {"drop": [30]}, r"rows of X_train_, in \[0, 30\). Got 30"),
    "drop: not whole": ((ROW, VALUE), {"drop": [0.5]}, "indices must be integers or a mask"),
    "drop: short mask": ((ROW, VALUE), {"drop": [True, False]}, r"shape \(30,\). Got shape \(2,"),
    "drop: all": ((), {"drop": range(30)}, "rows to drop must be fewer than all 30"),
    "learn_with: held": (
        (ROW, VALUE), {"learn_with": (ROW, VALUE)}, "learn_with must be None without refit=True",
    ),
    "learn_with: lengths": (
        (ROW, VALUE), {"refit": True, "learn_with": (ROW, [1.0, 2.0])}, "y of learn_with must be",
    ),
    "learn_with: columns": (
        (ROW, VALUE), {"refit": True, "learn_with": (np.ones((1, 2)), [1.0])}, "X of learn_with",
    ),
    "learn_with: NaN": (
        (ROW, VALUE), {"refit": True, "learn_with": (ROW, [np.nan])}, "y of learn_with must be fi",
    ),
    "total_variance: none given": (
        (ROW, VALUE), {"total_variance": True}, "y_variance must be given with total_variance",
    ),
    "temporal_kernel: held": (
        (ROW, VALUE), {"temporal_kernel": RBF()}, "temporal_kernel must be None without refit=Tr",
    ),
    "temporal_kernel: none": (
        (ROW, VALUE), {"refit": True, "temporal_kernel": "rbf"}, "'temporal_kernel' parameter of ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("model", [MODELS["normalized"], MODELS["sparse"]], ids=["exact", "sparse"])
@pytest.mark.parametrize(("arguments", "options", "message"), BAD.values(), ids=list(BAD))
def test_bad_arguments_change_nothing(model, arguments, options, message):
    gp = fitted(model, optimizer=first_start)
    before = fingerprint(gp)
    with pytest.raises(ValueError, match=message):
        gp.updated(*arguments, **options)
    assert fingerprint(gp) == before


def test_before_fit():
    with pytest.raises(NotFittedError):
        make().updated(X0, Y0)


def test_the_callers_arrays_are_the_callers():
    X, y, v = (a.copy() for a in (NEW, NEW_Y, NEW_V))
    drop, learn_with = np.array([2, 1]), (PLACES.copy(), np.ones(9))
    gp = fitted(MODELS["normalized"], optimizer=first_start)
    new = gp.updated(X, y, v, drop=drop, refit=True, learn_with=learn_with, total_variance=True)
    before = everything(new, PLACES)
    assert_array_equal(drop, [2, 1])
    for array, given in zip((X, y, v, *learn_with), (NEW, NEW_Y, NEW_V, PLACES, np.ones(9))):
        assert_array_equal(array, given)
        array[:] = 7.0
    assert_array_equal(everything(new, PLACES), before)
