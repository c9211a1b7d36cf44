"""Many observations at once: one search, and what the policy would have done one by one."""

import functools

import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, CASES, objective, some, space
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sktvbo import GPUCB, TimeVaryingGPRegressor, journal
from sktvbo.exceptions import InvalidObservationError

QUICK = ("RandomSearch", "WDBO", "SWGPUCB", "BOLT-max-size", "SparQGPUCB-expert", "thompson")


def data(n, domain="box", seed=0):
    X = space(domain).sample(n, np.random.RandomState(seed))
    t = np.linspace(0.0, 20.0, n)
    y = np.array([objective(x, s, domain) for x, s in zip(X, t)])
    return X, y, t


def held(case, **options):
    """A case whose hyperparameters never change: then one by one is all there is."""
    gp = TimeVaryingGPRegressor(normalize_y=True, optimizer=None)
    return case.make(surrogate=gp, **options)


@pytest.mark.parametrize(
    ("name", "before"),
    [*zip(("GPUCB", "WDBO", "SWGPUCB", "ETGPUCB", "BOLT-max-size"), (3, 9, 0, 9, 3)), ("WDBO", 0)],
)
def test_it_is_telling_one_by_one_with_the_hyperparameters_held(name, before):
    # A window of fewer than 10 would hold the scale of y.
    options = {"window": 12} if name == "SWGPUCB" else {}
    opt, twin = (held(BY_NAME[name], **options) for _ in range(2))
    X, y, t = data(24)
    variances = np.linspace(0.0, 0.1, 24)
    for each, upto in ((opt, before), (twin, 24)):
        for x, value, s, v in zip(X[:upto], y, t, variances):
            each.tell(x, value, s, y_variance=v)
    order = before + np.random.RandomState(1).permutation(24 - before)
    opt.tell_many(X[order], y[order], t[order], y_variance=variances[order])
    for attribute in ("X_", "y_", "told_X_", "told_y_", "removed_at_"):
        assert_array_equal(getattr(opt, attribute), getattr(twin, attribute))
    for column, values in twin.history_.items():
        assert_allclose(opt.history_[column], values, rtol=1e-6)
    rows = np.column_stack([data(5, seed=1)[0] / 2.0, np.full(5, 21.0)])
    assert_allclose(opt.surrogate_.predict(rows), twin.surrogate_.predict(rows), atol=1e-7)


@pytest.mark.parametrize("name", some([case.name for case in CASES], QUICK))
def test_the_data_set_respects_the_policy(name):
    case = BY_NAME[name]
    opt, (X, y, t) = case.make(), data(30)
    opt.tell_many(X, y, t)
    assert opt.n_told_ == 30
    assert len(opt.y_) == 30 - opt.n_removed_
    assert set(opt.history_) == {"time", "n", *(case.records if case.modelled else ())}
    if name in ("SWGPUCB", "BOLT-max-size"):
        assert len(opt.y_) == {"SWGPUCB": 6, "BOLT-max-size": 10}[name]
    if name == "WDBO":
        assert opt.n_removed_ > 0
    opt.tell_many(X[:0], [], [])
    assert opt.n_told_ == 30
    case.drive(opt, 2, 21)


@pytest.mark.parametrize("name", ["GPUCB", "WDBO"])
def test_the_hyperparameters_are_those_of_a_fit_to_all(name, tmp_path):
    path = tmp_path / "run.db"
    opt, (X, y, t) = BY_NAME[name].make(journal=path), data(40)
    opt.tell_many(X, y, t)
    rows = np.column_stack([space("box").to_unit(X), t])
    fresh = clone(opt.surrogate_).fit(rows, y)
    assert_allclose(opt.surrogate_.theta_, fresh.theta_, atol=1e-6)
    assert journal.check(path)["search"] == 1


FAILURES = [2, 3, 6, 9, 10, 11, 17]


@pytest.mark.parametrize(
    ("name", "missing"),
    [("RandomSearch", None), ("WDBO", np.nan), ("GPUCB", np.nan), ("SparQGPUCB", np.nan)],
)
def test_failures_are_told_as_columns(name, missing):
    case = BY_NAME[name]
    # That of SparQGPUCB has a noise model, and is searched at each observation.
    make = functools.partial(held, case) if name in ("WDBO", "GPUCB") else case.make
    opt, twin = make(), make()
    X, y, t = data(24)
    failed = np.isin(np.arange(24), FAILURES)
    told = [missing if f else v for f, v in zip(failed, y)]
    opt.tell_many(X, told, t, failed=failed)
    for x, value, time, has_failed in zip(X, y, t, failed):
        twin.tell(x, t=time, **({"failed": True} if has_failed else {"y": value}))
    for attribute in ("X_", "y_", "told_X_", "told_y_", "failed_X_", "n_failed_"):
        assert_array_equal(getattr(opt, attribute), getattr(twin, attribute))
    if name != "SparQGPUCB":
        assert_allclose(opt.ask(25.0), twin.ask(25.0), atol=1e-4)
    assert opt.n_failed_ == failed.sum()


def test_failures_alone():
    opt = GPUCB(BOX, random_state=0, max_step=0.1)
    X, _, t = data(4)
    opt.tell_many(X, t=t, failed=True)
    assert_array_equal(opt.failed_X_, np.column_stack([X, t]))
    assert opt.n_told_ == 0
    # That is where the machine is.
    assert np.abs((opt.ask(t[-1] + 1.0) - X[-1]) / 2.0).max() <= 0.1 + 1e-9
    opt.tell_many([], [], failed=[])
    with pytest.raises(InvalidObservationError, match=r"be finite\. Got 4 NaN .* failed=True"):
        opt.tell_many(X, t=t)
    for y in ([0.0, None, 1.0, 2.0], np.array([0.0, np.nan, 1.0, 2.0], dtype=object)):
        with pytest.raises(InvalidObservationError, match=r"Got 1 NaN .* y contains NaN, tell"):
            opt.tell_many(X, y, t)
        opt.tell_many(X, y, t, failed=[False, True, False, False])
