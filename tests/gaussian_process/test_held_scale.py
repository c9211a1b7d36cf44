"""A scale of y that is held while a handful of rows is left."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from gaussian_process import cases
from gaussian_process.cases import dense_prediction, lifted
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

make = partial(cases.make, noise_variance=0.05)
NEW, NEW_Y, NEW_V = lifted(n=4, seed=9)

SCALED = {
    "exact": make(Matern(0.4, nu=2.5), Matern(3.0, nu=1.5), normalize_y=True),
    "unknown": make(RationalQuadratic(0.4), Matern(3.0, nu=1.5), normalize_y=True),
}


@pytest.mark.parametrize("drop", [[], [3, 11], range(30)], ids=["none", "two", "all"])
@pytest.mark.parametrize("name", SCALED)
def test_a_held_scale_stays(name, drop):
    X, y, v = lifted()
    mean, scale = y.mean(), y.std()
    gp = (
        copy.deepcopy(SCALED[name])
        .fit(X, y, v)
        .updated(NEW, 40.0 + NEW_Y, NEW_V, drop=list(drop), hold_scale=True)
    )

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


@pytest.mark.parametrize(
    "change",
    [
        lambda gp: gp.forget([0]),
        lambda gp: gp.partial_fit(NEW[:1], [9.0]),
        lambda gp: gp.updated(NEW[:1], [9.0]),
        lambda gp: gp.updated(NEW[:1], [9.0], drop=range(5)),
    ],
    ids=["forget", "partial_fit", "updated", "nothing left"],
)
def test_the_next_change_lets_go_of_the_scale(change):
    X, y, _ = lifted()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    held = gp.updated(NEW, 50.0 * NEW_Y, drop=range(29), hold_scale=True)
    assert scale_of(held) == pytest.approx(y.std(), rel=1e-12)
    changed = change(held)
    assert scale_of(changed) == pytest.approx(changed.y_train_.std() or 1.0, rel=1e-12)
    assert abs(scale_of(changed) / y.std() - 1.0) > 0.05


def test_fit_lets_go_of_the_scale():
    X, y, _ = lifted()
    gp = copy.deepcopy(SCALED["exact"]).fit(X, y)
    gp = gp.updated(X[:1], y[:1], hold_scale=True)
    gp.fit(X, 100.0 * y)
    fresh = copy.deepcopy(SCALED["exact"]).fit(X, 100.0 * y)
    assert_array_equal(gp.predict(X), fresh.predict(X))


def test_a_search_holds_the_scale_of_what_it_learns_from():
    X, y, _ = lifted()
    gp = copy.deepcopy(SCALED["exact"]).set_params(optimizer="fmin_l_bfgs_b").fit(X, y)
    gp.forget(np.arange(20))
    more = X[:5] + 0.05, y[:5] + 10.0
    new = gp.updated(*more, refit=True, hold_scale=True, learn_with=(X[:20], y[:20]))
    assert not np.allclose(new.theta_, gp.theta_)
    learnt_from = np.append(y, more[1])
    assert_array_equal(new.y_train_, np.append(y[20:], more[1]))
    assert scale_of(new) == pytest.approx(learnt_from.std(), rel=1e-12)
    # Far from all data the mean is that of the rows learnt from.
    far = np.array([[500.0, 500.0, 600.0]])
    assert new.predict(far)[0] == pytest.approx(learnt_from.mean(), rel=1e-12)


def test_without_normalization_there_is_nothing_to_hold():
    X, y, _ = lifted()
    gp = make(RBF(0.4), RBF(3.0)).fit(X, y)
    gp = gp.updated(X[:1] + 0.1, y[:1] + 9.0, drop=[2], hold_scale=True)
    fresh = make(RBF(0.4), RBF(3.0)).fit(gp.X_train_, gp.y_train_)
    assert_allclose(gp.predict(X), fresh.predict(X), rtol=1e-9)
