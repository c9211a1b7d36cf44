"""Scores reduced near the faces of the box: shares, slopes and compiled climbs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.test_margin import drive
from scipy.integrate import quad

from sktvbo import ABO, WDBO
from sktvbo.acquisition import UCB, AcquisitionState
from sktvbo.acquisition._compiled import objective_of
from sktvbo.acquisition._objective import BoundaryMargin, Score
from sktvbo.domain import WithContext

COMPILED = ("matern", "ard-rbf", "forgetting-injection", "static", "sparse")


def score_of(gp, posterior, rates, beta=2.0):
    state = AcquisitionState(30, 30, 2, gp, posterior)
    return Score(UCB(beta, margin=0.2), state, BoundaryMargin(np.asarray(rates)))


def posterior_of(gp, window):
    return gp.fitted_.posterior_between(61.0, 64.0) if window else gp.posterior_at(61.0)


@pytest.mark.parametrize("margin", [0.05, 0.2, 1.0, 20.0])
def test_the_share_inside_the_box(margin):
    """Share of a Gaussian neighbourhood inside the box, by quadrature."""

    def within(x):
        points = [x] if 0.0 < x < 1.0 else None
        return quad(lambda v: np.exp(-(((v - x) / margin) ** 2)), 0.0, 1.0, points=points)[0]

    x = np.array([0.0, 1e-3, 0.1, 0.37, 0.5, 0.9, 1.0])
    root = BoundaryMargin(np.array([1.0 / margin])).factor(x[:, np.newaxis])
    assert_allclose(root**2, [within(each) / within(0.5) for each in x], rtol=1e-8)


def test_shares_of_coordinates_are_multiplied():
    U, rates = np.random.RandomState(0).uniform(size=(20, 3)), np.array([5.0, 0.0, 2.0])
    first, last = (BoundaryMargin(rates[i : i + 1]).factor(U[:, i : i + 1]) for i in (0, 2))
    assert_allclose(BoundaryMargin(rates).factor(U), first * last, rtol=1e-12)
    corner, face, centre = BoundaryMargin(np.full(3, 10.0)).factor(
        np.array([[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.5, 0.5]])
    )
    assert_allclose([corner, face, centre], np.sqrt([0.125, 0.5, 1.0]), rtol=1e-9)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("window", [False, True])
def test_the_score_and_its_slopes(fitted, name, window):
    """Against the formula; compiled values agree up to location and scale."""
    gp, posterior = fitted[name], posterior_of(fitted[name], window)
    score = score_of(gp, posterior, [5.0, 5.0, 0.0] if window else [5.0, 5.0])
    U = np.random.RandomState(2).uniform(size=(200, 2 + window))
    mean, std = posterior(U)
    expected = mean + np.sqrt(2.0) * std * score.margin.factor(U)
    assert_allclose(score.values(mean, std, U), expected, rtol=1e-12)
    found = objective_of(score, posterior).values(U) * posterior.scale
    assert_allclose(found + np.mean(expected - found), expected, rtol=1e-8, atol=1e-10)
    value, on_mean, on_std, on_place = score.with_gradient(mean, std, U)
    assert_allclose(value, expected, rtol=1e-12)
    assert_allclose(on_mean, 1.0)
    assert_allclose(on_std, np.sqrt(2.0) * score.margin.factor(U), rtol=1e-12)
    step, inner = 1e-6 * np.eye(len(U.T)), np.clip(U, 1e-3, 1.0 - 1e-3)
    *_, on_place = score.with_gradient(mean, std, inner)
    for i in range(len(U.T)):
        up, down = (score.values(mean, std, inner + s * step[i]) for s in (1.0, -1.0))
        assert_allclose(on_place[:, i], (up - down) / 2e-6, atol=1e-7 * max(1.0, std.max()))


def test_places_excluded_by_the_margin_are_not_evaluated(fitted, monkeypatch):
    """The margin reduces their bounds as it does their scores."""
    gp, looked = fitted["matern"], []
    posterior = gp.posterior_at(61.0)
    faces = np.random.RandomState(5).uniform(size=(200, 2))
    faces[::2, 0] = 0.0
    for rates in ([5.0, 5.0], [0.0, 0.0]):
        objective = objective_of(score_of(gp, posterior, rates, 1e6), posterior)
        exact, found = objective.values(faces), objective.leading(faces, 6)
        looked.append(np.isclose(found, exact, rtol=1e-12)[::2].sum())
        # The leading scores are exact, the others bounds.
        order = np.argsort(-exact, kind="stable")[:6]
        assert_array_equal(np.argsort(-found, kind="stable")[:6], order)
        assert_allclose(found[order], exact[order], rtol=1e-9, atol=1e-12)
        assert (found >= exact - 1e-9 * np.ptp(exact)).all()
    assert looked[0] < 0.5 * looked[1]


def rates_seen(monkeypatch, opt, times, **asked):
    """Return the rates (list of ndarray) of the margins in the scores of queries."""
    seen = []

    class Spy(BoundaryMargin):
        def __init__(self, rates):
            seen.append(rates)
            super().__init__(rates)

    monkeypatch.setattr("sktvbo.acquisition._objective.BoundaryMargin", Spy)
    for t in times:
        opt.tell(opt.suggest(float(t), **asked), -float(t % 3))
    return seen


def quarter():
    return {"acquisition": UCB(1.0, margin=0.25), "n_initial_points": 5, "random_state": 0}


def test_integers_categories_and_contexts_have_no_faces(monkeypatch):
    space = {"rate": ("log-real", 1e-3, 1.0), "depth": ("integer", 2, 9), "kind": ["a", "b"]}
    seen = rates_seen(monkeypatch, WDBO(space, **quarter()), range(12))
    assert len(seen) == 7
    assert_array_equal(seen, [[4.0, 0.0, 0.0, 0.0]] * 7)
    in_context = WDBO(WithContext([(0.0, 1.0)] * 2, [(-1.0, 1.0)]), **quarter())
    assert_array_equal(rates_seen(monkeypatch, in_context, range(6), context=[0.3]), [[4, 4, 0]])


def test_time_has_no_faces(monkeypatch):
    opt = drive(ABO([(0.0, 1.0)], lookahead=1.0, refit_every=50, **quarter()), 25, 1)
    seen = rates_seen(monkeypatch, opt, [])
    opt.cancel(opt.ask(25.0))
    t = opt.suggest(25.0).t
    assert t > 25.0
    assert_array_equal(seen[0], [4.0])
    assert_array_equal(seen[1], [4.0, 0.0])
