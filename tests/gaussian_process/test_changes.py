"""``condition_on``, ``without``, ``with_rows``, ``refit`` and ``at`` return a new estimator."""

import copy
from itertools import cycle

import joblib
import numpy as np
import pytest
from gaussian_process.cases import as_learnt, data, everything, first_start, lifted, make
from gaussian_process.models import MODELS as ALL_MODELS
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor as SPARSE
from sktvbo.kernels import Wiener

FAMILIES = ("matern", "ard-rbf", "rational-time", "forgetting-injection", "weighted")
MODELS = {name: ALL_MODELS[name] for name in FAMILIES} | {
    "kalman": make(
        *(Matern(0.5, "fixed"), Matern(3.0, "fixed")),
        noise_variance_bounds="fixed",
        solver="kalman",
        normalize_y=True,
    ),
    "sparse": make(kind=SPARSE, inducing=lifted(12, seed=7)[0], normalize_y=True),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
X, Y, V = lifted()
NEW, NEW_Y, NEW_V = lifted(n=4, seed=9)
PLACES = lifted(n=9, seed=2)[0]
EXTRA = lifted(n=7, seed=3)[0], lifted(n=7, seed=3)[1] + 5.0

# name: (change, rows of X that remain, whether the rows of NEW follow them)
CHANGES = {
    "condition_on": (lambda gp, **o: gp.condition_on(NEW, NEW_Y, NEW_V, **o), range(30), True),
    "without": (lambda gp, **o: gp.without([7, 0], **o), [*range(1, 7), *range(8, 30)], False),
    "without many": (lambda gp, **o: gp.without(range(29), **o), [29], False),
    "with_rows": (lambda gp, **o: with_rows(gp, NEW, NEW_Y, NEW_V, **o), [], True),
    "both": (
        lambda gp, **o: gp.without([7, 0], **o).condition_on(NEW, NEW_Y, NEW_V, **o),
        [*range(1, 7), *range(8, 30)],
        True,
    ),
}


def with_rows(gp, *rows, **options):
    """Return a regressor with other rows, hyperparameters held."""
    return gp.fitted_.with_rows(*rows, **options).regressor()


def fitted(model, **parameters):
    """Return a copy of a model, fitted to 30 rows."""
    return copy.deepcopy(model).set_params(**parameters).fit(X, Y, V)


def fingerprint(gp):
    """Return a hash of the state and the predictions of an estimator."""
    says = everything(gp, PLACES), gp.theta_, gp.X_train_, gp.y_train_, gp.now_, gp.noise_std_
    gp.spatial_kernel_  # noqa: B018  (computed at the first access)
    return joblib.hash((says, vars(gp)))


# --- rows come and go -----------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize(
    "change",
    [
        lambda gp: gp.condition_on(NEW, NEW_Y, NEW_V).without([7, 0]),
        lambda gp: with_rows(gp, NEW, NEW_Y, NEW_V),
        lambda gp: gp.refit(),
        lambda gp: gp.refit(EXTRA, temporal_kernel=clone(gp.temporal_kernel)),
        lambda gp: gp.fitted_.at(99.0).regressor(),
    ],
    ids=["rows", "with_rows", "refit", "refit with all", "at"],
)
def test_the_original_is_unchanged(model, change):
    gp = fitted(model, optimizer=first_start)
    before, state = fingerprint(gp), set(vars(gp))
    new = change(gp)
    assert (new is gp) <= (model.noise_model is None)  # without one a later time changes nothing
    if new is not gp:
        assert type(new) is type(gp)
        new.partial_fit(NEW, NEW_Y).forget([0]).advance(99.0)
        new.set_params(noise_variance=3.0)
    assert fingerprint(gp) == before
    assert set(vars(gp)) == state


@pytest.mark.parametrize(
    ("name", "how", "restandardize"), pairs_of(MODELS, CHANGES, (None, False, True))
)
def test_a_change_of_rows_is_a_fresh_fit(name, how, restandardize):
    model, (change, left, appended) = MODELS[name], CHANGES[how]
    new = change(fitted(model), restandardize=restandardize)
    arrays = X[left], Y[left], V[left]
    if appended:
        arrays = [np.concatenate(pair) for pair in zip(arrays, (NEW, NEW_Y, NEW_V))]
    rows, y, v = arrays
    assert_array_equal(new.X_train_, rows)
    assert_array_equal(new.y_train_, y)
    assert new.now_ == rows[:, -1].max()
    location, scale = 0.0, 1.0
    if model.normalize_y:
        scaled = y if restandardize else Y
        location, scale = scaled.mean(), scaled.std() if len(scaled) > 1 else 1.0
    expected = copy.deepcopy(model).set_params(normalize_y=False)
    expected.fit(rows, (y - location) / scale, v / scale**2)
    mean, std = expected.predict(PLACES, return_std=True)
    expected = np.r_[location + scale * mean, scale * std, expected.log_marginal_likelihood()]
    assert_allclose(everything(new, PLACES), expected, rtol=1e-8, atol=1e-8)


@every_model
def test_the_methods_in_place_do_the_same(model):
    pure = fitted(model).condition_on(NEW, NEW_Y, NEW_V).without([7, 0])
    in_place = fitted(model).partial_fit(NEW, NEW_Y, NEW_V).forget([7, 0])
    assert_array_equal(everything(pure, PLACES), everything(in_place, PLACES))


def test_with_rows_alone_rewinds_the_present_time():
    """With a noise model the noise is that of the ages at the latest row."""
    gp = fitted(MODELS["forgetting-injection"], optimizer=first_start).advance(80.0)
    assert gp.condition_on(NEW, NEW_Y).now_ == 80.0
    assert gp.without([29]).now_ == 80.0
    assert gp.refit(EXTRA).now_ == 80.0
    again = with_rows(gp, X, Y, V)
    assert again.now_ == X[:, -1].max()
    expected = fitted(MODELS["forgetting-injection"])
    assert np.any(np.abs(gp.predict(PLACES) - expected.predict(PLACES)) > 1e-3)
    assert_allclose(everything(again, PLACES), everything(expected, PLACES), rtol=1e-9)


@every_model
def test_rows_of_both_kinds_of_noise_come_and_go(model):
    """A total variance belongs to the rows that came with it, at whatever index they are."""
    gp = fitted(model)

    def extended(gp):
        new = gp.condition_on(NEW, NEW_Y, NEW_V, total_variance=True)
        return new.condition_on(PLACES[:2], [3.0, 4.0])

    found, expected = extended(gp).without(range(25)), extended(gp.without(range(25)))
    assert_allclose(everything(found, PLACES), everything(expected, PLACES), rtol=1e-8, atol=1e-8)
    options = ({}, {"y_variance": NEW_V}, {"y_variance": NEW_V, "total_variance": True})
    means = np.array([gp.condition_on(NEW, NEW_Y, **each).predict(PLACES) for each in options])
    assert np.abs(np.diff(means[[0, 1, 2, 0]], axis=0)).max(axis=1).min() > 1e-6


# --- refit ----------------------------------------------------------------------------------------


def test_a_search_goes_on_from_the_present_hyperparameters():
    X, y = data(n=60)
    gp = TimeVaryingGPRegressor(RBF(0.5), RBF(2.0)).fit(X[:50], y[:50])
    held = gp.condition_on(X[50:], y[50:])
    searched = held.refit()
    assert_array_equal(held.theta_, gp.theta_)
    assert_array_equal(searched.X_train_, X)
    assert searched.log_marginal_likelihood() >= held.log_marginal_likelihood()
    assert np.any(searched.theta_ != gp.theta_)
    fresh = as_learnt(searched).fit(X, y)
    assert_allclose(everything(searched, X), everything(fresh, X), rtol=1e-8)
    waiting = copy.deepcopy(held).set_params(optimizer=first_start).refit()
    assert_allclose(waiting.theta_, gp.theta_, rtol=1e-12)


@every_model
def test_without_an_optimizer_nothing_is_searched(model):
    gp = fitted(model)
    assert gp.refit(EXTRA, temporal_kernel=Matern(9.0)) is gp


@every_model
def test_extra_rows_are_learnt_from_and_not_conditioned_on(model):
    gp = fitted(model, optimizer="fmin_l_bfgs_b")
    new = gp.refit(EXTRA)
    assert_array_equal(new.X_train_, X)
    assert_array_equal(new.y_train_, Y)
    learnt = gp.condition_on(*EXTRA).refit()
    assert_array_equal(new.theta_, learnt.theta_)
    assert np.any(new.theta_ != gp.refit().theta_)
    expected = learnt.without(30 + np.arange(7), restandardize=False)
    assert_allclose(everything(new, PLACES), everything(expected, PLACES), rtol=1e-8, atol=1e-8)
    if model.normalize_y:
        scale = np.append(Y, EXTRA[1]).std()
        assert new.noise_std_ == pytest.approx(np.sqrt(new.noise_variance_) * scale)
    assert_array_equal(gp.refit((np.empty((0, 3)), [])).theta_, gp.refit().theta_)
    # Their variances count.
    assert np.any(new.theta_ != gp.refit((*EXTRA, np.full(7, 3.0))).theta_)


def test_another_temporal_kernel():
    """A Wiener kernel that starts before a late row, at which the present one is not defined."""
    late = X[:1] - np.array([0.0, 0.0, 20.0])
    gp = make(RBF(0.4), Wiener(0.2, "fixed", start=50.0), optimizer=first_start).fit(X, Y)
    with pytest.raises(ValueError, match="start"):
        gp.condition_on(late, [3.0])
    kernel = Wiener(0.3, "fixed", start=late[0, 2])
    new = gp.refit(temporal_kernel=kernel)
    assert gp.temporal_kernel_.start == 50.0
    assert new.temporal_kernel is kernel
    assert new.temporal_kernel_ == kernel
    new = new.condition_on(late, [3.0])
    fresh = as_learnt(new).fit(new.X_train_, new.y_train_)
    assert_allclose(everything(new, X), everything(fresh, X), rtol=1e-9)


# --- errors ---------------------------------------------------------------------------------------

ROW, VALUE = [[0.1, 0.2, 61.0]], [1.0]
WHOLE = "indices must be integers or a mask"
FEWER = "rows to drop must be fewer than all 30"
# (call, message)
BAD = [
    (lambda gp: gp.condition_on(np.empty((0, 3)), []), "0 sample.* minimum of 1 is required"),
    (lambda gp: gp.condition_on(ROW, VALUE, total_variance=True), "y_variance must be given with"),
    (lambda gp: gp.condition_on(np.ones((1, 2)), VALUE), "X has 2 features, but .* expecting 3"),
    (lambda gp: gp.condition_on(ROW, None), "requires y to be passed"),
    (lambda gp: gp.condition_on(ROW, VALUE, [-1.0]), r"y_variance must be .* minimum -1\.0"),
    (lambda gp: gp.refit((np.ones((1, 2)), VALUE)), "X has 2 features, but .* expecting 3"),
    (lambda gp: gp.refit((ROW, [np.inf])), "Input y contains infinity"),
    (lambda gp: gp.refit((ROW, VALUE, [1.0, 2.0])), "y_variance must be 1 non-negative"),
    (lambda gp: gp.refit(temporal_kernel="rbf"), "'temporal_kernel' parameter of "),
    (lambda gp: gp.without([30]), r"rows of X_train_, in \[0, 30\). Got 30"),
    (lambda gp: gp.without([-31, 0]), r"rows of X_train_, in \[0, 30\)\. Got -31 to 0 instead"),
    (lambda gp: gp.without([0.5]), f"{WHOLE}. Got dtype float64"),
    (lambda gp: gp.without(["a"]), WHOLE),
    (lambda gp: gp.without(None), WHOLE),
    (lambda gp: gp.without([True, False]), r"shape \(30,\). Got shape \(2,"),
    (lambda gp: gp.without(np.ones(30, dtype=bool)), FEWER),
    (lambda gp: gp.without(range(30)), FEWER),
    (lambda gp: gp.fitted_.at(np.nan), "now must be a float in the range"),
]


@pytest.mark.parametrize("name", ["forgetting-injection", "sparse"])
def test_bad_arguments_change_nothing(name):
    gp = fitted(MODELS[name], optimizer=first_start)
    before = fingerprint(gp)
    for call, message in BAD:
        with pytest.raises(ValueError, match=message):
            call(gp)
        assert fingerprint(gp) == before


def test_arrays_of_the_caller_are_neither_changed_nor_shared():
    gp = fitted(MODELS["ard-rbf"], optimizer=first_start)
    arrays = [NEW.copy(), NEW_Y.copy(), NEW_V.copy(), np.array([2, 1]), *map(np.copy, EXTRA)]
    rows, indices, extra = arrays[:3], arrays[3], tuple(arrays[4:])
    new = gp.without(indices).condition_on(*rows, total_variance=True).refit(extra)
    other = with_rows(gp, *rows)
    before = everything(new, PLACES), everything(other, PLACES)
    for array, given in zip(arrays, (NEW, NEW_Y, NEW_V, [2, 1], *EXTRA)):
        assert_array_equal(array, given)
        array[:] = 7
    assert_array_equal((everything(new, PLACES), everything(other, PLACES)), before)


ROUGH = ConstantKernel(0.3) * Matern(1.0, nu=0.5)
SUM = Matern(2.0, nu=2.5) + ROUGH
SEASON = Matern(9.0, "fixed") * ExpSineSquared(1.0, 8.0, (0.4, 3.0), "fixed")
# Pairs of kernels in time: of the first search, and of the second.
KERNELS = {
    "bounds": (SUM, Matern(3.0, (2.5, 40.0), nu=2.5) + ROUGH),
    "order": (SUM, Matern(2.0, nu=1.5) + ROUGH),
    "fixed": (SUM, Matern(2.0, "fixed", nu=2.5) + ROUGH),
    "value": (Matern(2.0, "fixed", nu=2.5) + ROUGH, Matern(4.0, "fixed", nu=2.5) + ROUGH),
    "product": (SUM, Matern(2.0, nu=2.5) * ROUGH),
    "season": (SEASON, Matern(5.0, "fixed") * ExpSineSquared(1.0, 9.0, (0.6, 2.0), "fixed")),
    "unknown": (RationalQuadratic(2.0), RationalQuadratic(2.0, 1.0, (0.5, 9.0))),
}


@pytest.mark.parametrize(
    ("kernels", "level"), [*zip(KERNELS.values(), cycle([None, RBF(20.0)]))], ids=str
)
def test_a_search_with_a_kept_covariance_is_that_with_a_new_one(kernels, level):
    """A search by an optimizer keeps its covariance, and takes the bounds of another kernel."""
    X, y = data()
    one, two = kernels
    fitted = TimeVaryingGPRegressor(RBF(0.5), one, level_kernel=level).fit(X, y).fitted_
    kept = fitted.refit()
    new = kept.regressor().refit(temporal_kernel=two)
    kept = kept.refit(temporal_kernel=two)
    assert_array_equal(kept.theta_, new.theta_)
    assert_array_equal(kept.gp.covariance.bounds, new.fitted_.gp.covariance.bounds)
    assert kept.gp.covariance.names == new.fitted_.gp.covariance.names
    assert kept.temporal_kernel_ == new.temporal_kernel_
    assert_array_equal(kept.refit().theta_, new.refit().theta_)
    initial = kept.initial, new.fitted_.refit().initial
    assert_allclose(*(each.cross(X[:5, :-1], X[:5, -1]) for each in initial), rtol=1e-14)
