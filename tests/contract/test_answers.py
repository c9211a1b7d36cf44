"""What an optimizer believes and was told, in the user's units, names and sign."""

import sys

import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, DOMAINS, STEPS, ask_and_tell, fingerprint, points, space
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import GPUCB, RandomSearch
from sktvbo.exceptions import MissingExtraError


def directly(opt, X, t, domain="box"):
    """Mean and standard deviation of the surrogate at rows, as the user sees them."""
    rows = np.column_stack([space(domain).to_unit(X), np.broadcast_to(t, len(X))])
    surrogate = opt.belief_.at(np.max(t))
    mean, std = surrogate.predict(rows, return_std=True)
    return (mean if opt.maximize else -mean), std


@pytest.mark.parametrize(
    ("name", "maximize"),
    [("WDBO", True), ("WGPUCB", False), ("SparQGPUCB-expert", True), ("UITVBO", False)],
)
def test_predictions_are_those_of_the_surrogate_with_the_users_sign(name, maximize):
    case = BY_NAME[name]
    opt = case.make(maximize=maximize)
    case.drive(opt, 7, sign=1.0 if maximize else -1.0)
    case.consult(opt, 7.0, sign=1.0 if maximize else -1.0)
    X = space("box").sample(6, np.random.RandomState(0))
    before = fingerprint(opt)
    found = opt.predict(X, 12.0, return_std=True)
    assert fingerprint(opt) == before
    for a, b in zip(found, directly(opt, X, 12.0), strict=True):
        assert a.shape == (6,)
        assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    assert_array_equal(opt.predict(X, 12.0), found[0])
    noisy = opt.predict(X, 12.0, return_std=True, include_noise=True)
    assert_array_equal(noisy[0], found[0])
    assert_allclose(noisy[1] ** 2 - found[1] ** 2, opt.belief_.noise_std_**2, rtol=1e-6)


def test_one_place_has_plain_numbers_and_none_an_empty_array():
    opt, _ = BY_NAME["WDBO"].after()
    assert [type(number) for number in opt.predict([1.0, 0.0], 20.0, return_std=True)] == [
        float
    ] * 2
    assert opt.predict(np.empty((0, 2)), []).shape == (0,)


def test_without_a_time_the_clock_is_read():
    opt = GPUCB(BOX, clock="step", n_initial_points=2, random_state=0)
    assert opt.now() == 0.0
    for y in (1.0, 2.0, 3.0):
        opt.tell(opt.ask(), y)
    assert opt.now() == 3.0
    assert opt.predict([1.0, 0.0]) == opt.predict([1.0, 0.0], 3.0)
    assert_array_equal(opt.recommend(), opt.recommend(3.0))


# --- the frame ------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_frame_has_all_that_was_asked_and_told(domain):
    pytest.importorskip("pandas")
    opt, _ = BY_NAME["SWGPUCB"].after(domain=domain)
    opt.tell(opt.ask(STEPS), 1.0), opt.untell(t=2.0)
    lost = opt.suggest(STEPS + 0.5)
    opt.tell(lost, failed=True)
    asked = opt.suggest(STEPS + 1.0)
    frame = opt.to_frame()
    assert len(frame) == STEPS + 2
    names = list(DOMAINS["named"]) if domain == "named" else ["x0", "x1"]
    own = ["time", "y", "predicted_mean", "predicted_std", "residual", "outlier_weight"]
    assert list(frame) == [*names, *own, "removed_at", "failed", "pending", "query"]
    told = frame[~frame.pending & ~frame.failed]
    assert_array_equal(told[["time", "y", "removed_at"]].T, [
        opt.told_X_[:, -1], opt.told_y_, opt.removed_at_
    ])  # fmt: skip
    failed, last = frame.iloc[-2], frame.iloc[-1]
    assert frame.failed.tolist() == [False] * STEPS + [True, False]
    assert (failed["query"], failed.time) == (lost.id, STEPS + 0.5)
    assert np.isnan(failed.y)
    assert not failed.pending
    assert last.pending
    assert np.isnan(last.y)
    assert (last["query"], last.time) == (asked.id, STEPS + 1.0)
    rows = frame[names]
    if domain == "named":
        assert frame["loss"].isin(["l1", "l2", None]).all()
        rows = points(rows.astype(object).where(rows.notna(), None).to_dict("records"), domain)
    assert_array_equal(rows, np.vstack([opt.told_X_, opt.failed_X_, opt.pending_X_])[:, :-1])


def test_the_frame_goes_as_far_as_the_history():
    pytest.importorskip("pandas")
    space = {"y": ("real", 0.0, 1.0), "time": ["a", "b"]}
    opt = RandomSearch(space, history=2, random_state=0)
    assert len(opt.to_frame()) == 0
    ask_and_tell(opt, 4, lambda x, t: float(t))
    opt.tell({"y": 0.5, "time": "a"}, 9.0, 5.0)
    frame = opt.to_frame()
    assert list(frame)[:4] == ["y", "time", "time_", "y_"]
    assert frame["y_"].tolist() == [3.0, 9.0]
    assert frame["query"].isna().tolist() == [False, True]
    opt.tell({"y": 0.5, "time": "b"}, t=6.0, failed=True)
    assert opt.to_frame()["query"].isna().tolist() == [False, True, True]


def test_without_pandas_it_is_said_what_to_do(monkeypatch):
    opt, _ = BY_NAME["GPUCB"].after(3)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        opt.to_frame()
