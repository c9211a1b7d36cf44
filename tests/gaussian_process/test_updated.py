"""``updated``: rows dropped and appended, in a new estimator."""

import copy
import pickle
from functools import partial

import joblib
import numpy as np
import pytest
from gaussian_process.cases import (
    X0,
    Y0,
    as_learnt,
    data,
    everything,
    first_start,
    lifted,
    make,
    prior,
)
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

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
    fresh = copy.deepcopy(model).fit(
        np.vstack([X[keep], NEW]), np.append(y[keep], NEW_Y), np.append(v[keep], NEW_V)
    )
    fresh.advance(max(new.now_, fresh.now_))
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
    kept = gp.updated(NEW, NEW_Y).updated(drop=drop)
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


# --- a scale that is held -------------------------------------------------------------------------

noisy = partial(make, noise_variance=0.05)


def dense_prediction(gp, X, y, noise, new, mean, scale):
    """Mean and standard deviation of y standardized by hand, noise in the standardized units."""
    k = prior(gp)
    P = np.linalg.inv(k(X) + np.diag(noise))
    K = k(new, X)
    variance = k.diag(new) - np.einsum("ij,jk,ik->i", K, P, K)
    return mean + scale * K @ P @ ((y - mean) / scale), scale * np.sqrt(variance)


SCALED = {
    "exact": noisy(Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), normalize_y=True),
    "unknown": noisy(RationalQuadratic(0.4), Matern(3.0, nu=1.5), normalize_y=True),
}


@pytest.mark.parametrize("drop", [[], [3, 11], range(30)], ids=["none", "two", "all"])
@pytest.mark.parametrize("name", SCALED)
def test_a_held_scale_stays(name, drop):
    X, y, v = lifted()
    mean, scale = y.mean(), y.std()
    gp = fitted(SCALED[name]).updated(NEW, 40.0 + NEW_Y, NEW_V, drop=list(drop), hold_scale=True)

    keep = np.delete(np.arange(30), list(drop))
    X, y = np.vstack([X[keep], NEW]), np.append(y[keep], 40.0 + NEW_Y)
    noise = 0.05 + np.append(v[keep], NEW_V) / scale**2
    assert_array_equal(gp.X_train_, X)
    test = lifted(6, seed=2)[0]
    expected = dense_prediction(gp, X, y, noise, test, mean, scale)
    assert_allclose(gp.predict(test, return_std=True), expected, rtol=1e-9)
    assert_allclose(gp.noise_std_, np.sqrt(0.05) * scale, rtol=1e-12)

    # Held for this once, the scale follows the targets again, from the next change on.
    gp.forget([0])
    noise = 0.05 + np.append(v[keep], NEW_V)[1:] / y[1:].std() ** 2
    expected = dense_prediction(gp, X[1:], y[1:], noise, test, y[1:].mean(), y[1:].std())
    assert_allclose(gp.predict(test, return_std=True), expected, rtol=1e-9)


def test_a_held_scale_stays_through_forgetting_and_pickling():
    X, y, _ = lifted()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    gp = gp.updated(drop=np.arange(28), hold_scale=True)
    restored = pickle.loads(pickle.dumps(gp)).updated(X[:1], y[:1], hold_scale=True)
    kept = np.append(y[28:], y[0])
    rows_kept = np.vstack([X[28:], X[:1]])
    expected = dense_prediction(gp, rows_kept, kept, np.full(3, 0.05), X[:5], y.mean(), y.std())
    assert_allclose(restored.predict(X[:5], return_std=True), expected, rtol=1e-9)


def scale_of(gp):
    """By what y is divided."""
    return gp.noise_std_ / np.sqrt(gp.noise_variance_)


def test_a_copy_holds_for_itself():
    X, y, _ = lifted()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    other = copy.copy(gp).updated(X[:1], 50.0 + y[:1], hold_scale=True)
    gp.partial_fit(X[:1], 50.0 + y[:1])
    assert scale_of(other) == pytest.approx(y.std(), rel=1e-12)
    assert scale_of(gp) == pytest.approx(np.append(y, 50.0 + y[0]).std())


def test_fit_lets_go_of_the_scale():
    X, y, _ = lifted()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    gp = gp.updated(X[:1], y[:1], hold_scale=True)
    gp.fit(X, 100.0 * y)
    fresh = copy.deepcopy(SCALED["exact"]).fit(X, 100.0 * y)
    assert_array_equal(gp.predict(X), fresh.predict(X))


def test_a_search_holds_the_scale_of_what_it_learns_from():
    X, y, _ = lifted()
    gp = fitted(SCALED["exact"], optimizer="fmin_l_bfgs_b").forget(np.arange(20))
    more = X[:5] + 0.05, y[:5] + 10.0
    new = gp.updated(*more, refit=True, hold_scale=True, learn_with=(X[:20], y[:20]))
    assert not np.allclose(new.theta_, gp.theta_)
    learnt_from = np.append(y, more[1])
    assert_array_equal(new.y_train_, np.append(y[20:], more[1]))
    assert scale_of(new) == pytest.approx(learnt_from.std(), rel=1e-12)
    # Far from all data the mean is that of the rows learnt from.
    far = np.array([[50.0, 50.0, 60.0]])
    assert new.predict(far)[0] == pytest.approx(learnt_from.mean(), rel=1e-12)


def test_without_normalization_there_is_nothing_to_hold():
    X, y, _ = lifted()
    gp = noisy(RBF(0.4), RBF(3.0)).fit(X, y)
    gp = gp.updated(X[:1] + 0.1, y[:1] + 9.0, drop=[2], hold_scale=True)
    fresh = noisy(RBF(0.4), RBF(3.0)).fit(gp.X_train_, gp.y_train_)
    assert_allclose(gp.predict(X), fresh.predict(X), rtol=1e-9)


# --- noise that is all given ----------------------------------------------------------------------


@pytest.mark.parametrize("model", [None, QuadraticInjection(0.5)], ids=str)
@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, WeightedGPRegressor])
def test_a_total_variance_is_the_whole_noise_of_a_row(kind, model):
    """Answers of an expert: neither σ² nor its growth with age are theirs."""
    X, y, v = lifted()
    gp = noisy(RBF(0.4), RBF(3.0), kind, noise_model=model, normalize_y=True).fit(X, y, v)
    given = np.array([1e-4, 0.3, 2.0])
    extra, answers = X[:3] + 0.02, y[:3] + 0.5
    gp = gp.updated(extra, answers, given, total_variance=True)

    X, y = np.vstack([X, extra]), np.append(y, answers)
    age = X[:, -1].max() - X[:, -1]
    growth = 0.05 * (1.0 + (0.5 * age) ** 2) if model else np.full(len(X), 0.05)
    noise = np.append(growth[:-3] + v / y.std() ** 2, given / y.std() ** 2)
    test = lifted(6, seed=2)[0]
    mean, std = dense_prediction(gp, X, y, noise, test, y.mean(), y.std())
    assert_allclose(gp.predict(test), mean, rtol=1e-9)
    if kind is WeightedGPRegressor:
        c = np.linalg.solve(prior(gp)(X) + np.diag(noise), prior(gp)(X, test))
        excess = np.append(growth[:-3] - 0.05, np.zeros(3))
        std = np.sqrt(std**2 - y.std() ** 2 * excess @ c**2)
    assert_allclose(gp.predict(test, return_std=True)[1], std, rtol=1e-9)


def test_a_noise_that_is_all_given_has_no_share_in_the_likelihoods_gradient():
    X, y, _ = lifted()
    model = QuadraticInjection(0.5, (1e-3, 1e1))
    gp = noisy(RBF(0.4), RBF(3.0), noise_model=model).fit(X, y)
    gp = gp.updated(X[:3] + 0.02, y[:3] + 0.5, [1e-2, 0.3, 2.0], total_variance=True)
    theta = gp.theta_ + 0.1
    gradient = gp.log_marginal_likelihood(theta, eval_gradient=True)[1]
    assert_allclose(gradient, approx_fprime(theta, gp.log_marginal_likelihood, 1e-6), rtol=1e-3)


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
    "drop: all": ((), {"drop": range(30)}, "At least one of the 30 rows has to stay"),
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
