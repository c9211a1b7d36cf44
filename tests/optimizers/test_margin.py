"""A bound with a margin: standard deviations count for less near the faces of the box."""

import math

import numpy as np
import pytest
from gaussian_process.test_views import fitted  # noqa: F401
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from sktvbo import ABO, BOLT, GPUCB, WDBO, BayesianOptimizer
from sktvbo._maximizer import TimeWindow, maximize
from sktvbo._score import Inside, Score, ScoreInside
from sktvbo.acquisition import UCB, AcquisitionState, ExpectedImprovement
from sktvbo.caution import TrustRegion
from sktvbo.domain import Arms, Box, FiniteSet, WithContext

ALL = np.ones(3, dtype=bool)
COMPILED = ("matern", "ard-rbf", "forgetting-injection", "static", "sparse")


def score_of(gp, posterior, rates, beta=2.0):
    state = AcquisitionState(30, 30, 2, gp, posterior)
    return ScoreInside(UCB(beta, margin=0.2), state, Inside(np.asarray(rates)))


@pytest.mark.parametrize("margin", [0.05, 0.2, 1.0, 20.0])
def test_the_share_that_lies_in_the_box(margin):
    """Of the weight of a neighbourhood, by quadrature."""

    def within(x):
        points = [x] if 0.0 < x < 1.0 else None
        return quad(lambda v: np.exp(-(((v - x) / margin) ** 2)), 0.0, 1.0, points=points)[0]

    x = np.array([0.0, 1e-3, 0.1, 0.37, 0.5, 0.9, 1.0])
    root = Inside(np.array([1.0 / margin])).root(x[:, np.newaxis])
    assert_allclose(root**2, [within(each) / within(0.5) for each in x], rtol=1e-8)


def test_shares_of_coordinates_are_multiplied():
    U, rates = np.random.RandomState(0).uniform(size=(20, 3)), np.array([5.0, 0.0, 2.0])
    first, _, last = (Inside(np.array([rate or 1.0])).root(column[:, np.newaxis])
                      for rate, column in zip(rates, U.T))  # fmt: skip
    assert_allclose(Inside(rates).root(U), first * last, rtol=1e-12)
    corner, face, centre = Inside(np.full(3, 10.0)).root(
        np.array([[0.0, 1.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.5, 0.5]])
    )
    assert_allclose([corner, face, centre], np.sqrt([0.125, 0.5, 1.0]), rtol=1e-9)


def test_slopes_are_differences():
    inside, h = Inside(np.array([5.0, 0.0, 2.0])), 1e-6
    U = np.random.RandomState(1).uniform(0.01, 0.99, size=(10, 3))
    root, slopes = inside.root_with_slopes(U)
    assert_array_equal(root, inside.root(U))
    for i in range(3):
        step = h * np.eye(3)[i]
        difference = (inside.root(U + step) - inside.root(U - step)) / (2.0 * h)
        assert_allclose(slopes[:, i], difference, atol=1e-8)


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("window", [False, True])
def test_the_score_and_its_slopes(fitted, name, window):  # noqa: F811
    """Of the plain formula; and compiled values are the same but for location and scale."""
    gp, t = fitted[name], 61.0
    posterior = gp.posterior_between(t, 64.0) if window else gp.posterior_at(t)
    score = score_of(gp, posterior, [5.0, 5.0, 0.0] if window else [5.0, 5.0])
    U = np.random.RandomState(2).uniform(size=(200, 2 + window))
    mean, std = posterior(U)
    expected = mean + np.sqrt(2.0) * std * score.inside.root(U)
    assert_allclose(score(mean, std, U)[0], expected, rtol=1e-12)
    found = posterior.landscape(score).values(U) * posterior.scale
    assert_allclose(found + np.mean(expected - found), expected, rtol=1e-8, atol=1e-10)
    value, on_mean, on_std, on_place = score.with_slopes(mean, std, U)
    assert_allclose(value, expected, rtol=1e-12)
    assert_allclose(on_mean, 1.0)
    assert_allclose(on_std, np.sqrt(2.0) * score.inside.root(U), rtol=1e-12)
    step, inner = 1e-6 * np.eye(len(U.T)), np.clip(U, 1e-3, 1.0 - 1e-3)
    *_, on_place = score.with_slopes(mean, std, inner)
    for i in range(len(U.T)):
        up, down = (score(mean, std, inner + s * step[i])[0] for s in (1.0, -1.0))
        assert_allclose(on_place[:, i], (up - down) / 2e-6, atol=1e-7 * max(1.0, std.max()))


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("n", [1, 6])
def test_the_leading_scores_are_exact(fitted, name, n):  # noqa: F811
    gp, U = fitted[name], np.random.RandomState(0).uniform(size=(300, 2))
    posterior = gp.posterior_at(61.0)
    landscape = posterior.landscape(score_of(gp, posterior, [5.0, 5.0]))
    exact, found = landscape.values(U), landscape.leading(U, n)
    order = np.argsort(-exact, kind="stable")[:n]
    assert_array_equal(np.argsort(-found, kind="stable")[:n], order)
    assert_allclose(found[order], exact[order], rtol=1e-9, atol=1e-12)
    assert (found >= exact - 1e-9 * np.ptp(exact)).all()


class WithoutLandscape:
    def __init__(self, posterior):
        self.posterior = posterior
        self.with_gradient = posterior.with_gradient

    def __call__(self, U):
        return self.posterior(U)


class Own(UCB):
    """The same bound, which compiled code does not know."""


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("window", [False, True])
def test_compiled_climbs_end_at_maxima(fitted, name, window):  # noqa: F811
    """Where those of the same score as a function end, and where no step leads up."""
    gp, t = fitted[name], 61.0
    posterior = gp.posterior_between(t, 64.0) if window else gp.posterior_at(t)
    rates, u = ([5.0, 2.0, 0.0] if window else [5.0, 2.0]), 2 + window
    score = score_of(gp, posterior, rates)
    own = ScoreInside(Own(2.0, margin=0.2), score.state, score.inside)
    assert own.formula is None
    starts = np.random.RandomState(3).uniform(size=(5, u))
    places, values = posterior.landscape(score).climb(starts, ALL[:u], 1.0, math.inf)
    best = values.argmax()
    others, found = posterior.landscape(own).climb(starts, ALL[:u], 1.0, math.inf)
    assert_allclose(others[found.argmax()], places[best], atol=1e-5)
    assert_allclose(posterior.landscape(score).values(places), values, rtol=1e-9, atol=1e-12)
    near = np.clip(places[best] + 1e-4 * np.random.RandomState(4).normal(size=(200, u)), 0.0, 1.0)
    assert posterior.landscape(score).values(near).max() <= values[best] + 1e-10


def test_the_maximizer_finds_the_same_without_compiled_code(fitted):  # noqa: F811
    gp, box = fitted["matern"], Box([(0.0, 1.0)] * 2)
    for t, low in ((61.0, None), (75.0, None), (61.0, 61.0)):
        posterior = gp.posterior_at(t) if low is None else gp.posterior_between(low, 64.0)
        domain = box if low is None else TimeWindow(box, low, 64.0)
        score = score_of(gp, posterior, [5.0, 5.0] if low is None else [5.0, 5.0, 0.0])
        rows = [
            maximize(score, p, domain, np.random.RandomState(0))
            for p in (posterior, WithoutLandscape(posterior))
        ]
        assert_allclose(*rows, atol=1e-4)


def drive(opt, steps=40, d=2):
    rng = np.random.RandomState(0)
    for t in range(steps):
        x = opt.ask(t)
        opt.tell(x, -np.sum((np.asarray(x)[:d] - 0.5) ** 2) + 0.01 * rng.normal())
    return opt


@pytest.mark.parametrize("algorithm", [WDBO, BOLT, ABO, BayesianOptimizer, GPUCB])
def test_queries_keep_from_the_faces(algorithm):
    """The optimum is in the middle: what is near the faces is looked at less often."""
    box, far = [(0.0, 1.0)] * 4, []
    for margin in (0.0, 0.2):
        acquisition = UCB(4.0, margin=margin)
        options = {"n_initial_points": 10, "refit_every": 10, "random_state": 0}
        opt = drive(algorithm(box, acquisition=acquisition, **options), 60, 4)
        queried = opt.told_X_[10:, :-1]
        far.append(np.mean((queried < 0.05) | (queried > 0.95)))
    assert far[1] < 0.5 * far[0]


def test_no_margin_is_the_plain_bound():
    box = [(0.0, 1.0)] * 2
    plain, none = (
        drive(WDBO(box, acquisition=a, n_initial_points=5, random_state=0))
        for a in (UCB(1.0), UCB(1.0, margin=0.0))
    )
    assert_array_equal(plain.told_X_, none.told_X_)


@pytest.mark.parametrize(
    "domain", [Arms(12), FiniteSet(np.random.RandomState(0).uniform(size=(30, 2)))], ids=repr
)
def test_what_has_no_faces_has_no_margin(domain):
    plain, wide = (
        drive(WDBO(domain, acquisition=a, n_initial_points=5, random_state=0), 25, 1)
        for a in (UCB(1.0), UCB(1.0, margin=0.3))
    )
    assert_array_equal(plain.told_X_, wide.told_X_)


def rates_seen(monkeypatch, opt, times, **asked):
    """What an optimizer makes of its margin in the scores of its queries."""
    seen = []

    class Spy(Inside):
        def __init__(self, rates):
            seen.append(rates)
            super().__init__(rates)

    monkeypatch.setattr("sktvbo.optimizers._choosing.Inside", Spy)
    for t in times:
        opt.tell(opt.ask(float(t), return_query=True, **asked), -float(t % 3))
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
    _, t = opt.ask(25.0, return_time=True)
    assert t > 25.0
    assert_array_equal(seen[0], [4.0])
    assert_array_equal(seen[1], [4.0, 0.0])


def test_the_faces_are_those_of_the_box_wherever_queries_may_go():
    """A region that follows the incumbent has no faces of its own; failures are heeded besides."""
    opt = WDBO(
        [(0.0, 1.0)] * 2,
        acquisition=UCB(1.0, margin=0.2),
        trust_region=TrustRegion(),
        n_initial_points=5,
        random_state=0,
    )
    for t in range(25):
        x = opt.ask(t)
        fails = x[0] > 0.8
        opt.tell(x, *([] if fails else [-np.sum((x - 0.5) ** 2)]), failed=fails)
    assert opt.n_failed_ < 10
    assert_allclose(opt.recommend(25), [0.5, 0.5], atol=0.1)


@pytest.mark.parametrize("margin", [5e-324, 1e-12, 1e3, 1.7e308])
def test_margins_of_any_width(margin):
    """The narrowest and the widest make no difference but at the very face."""
    plain, other = (
        drive(WDBO([(0.0, 1.0)] * 2, acquisition=a, n_initial_points=5, random_state=0), 15)
        for a in (UCB(0.01), UCB(0.01, margin=margin))
    )
    assert_allclose(other.told_X_[:8], plain.told_X_[:8], atol=1e-4)


class Improvement(ExpectedImprovement):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin


def test_an_acquisition_function_of_ones_own_may_have_one():
    opts = [
        drive(WDBO([(0.0, 1.0)] * 3, acquisition=a, n_initial_points=8, random_state=0), 30, 3)
        for a in (ExpectedImprovement(), Improvement(0.2))
    ]
    assert (opts[0].told_X_ != opts[1].told_X_).any()


@pytest.mark.parametrize("margin", [-0.1, np.inf, np.nan, "wide", None])
def test_a_bad_margin(margin):
    opt = WDBO([(0.0, 1.0)], acquisition=UCB(1.0, margin=margin), random_state=0)
    with pytest.raises(ValueError, match=r"'margin' parameter of UCB must be a float in the range"):
        opt.ask(0.0)
    assert not hasattr(opt, "told_X_")
    with pytest.raises(ValueError, match="'margin' parameter of Improvement must be a float"):
        WDBO([(0.0, 1.0)], acquisition=Improvement(margin)).ask(0.0)


def test_the_formula_of_a_margin_is_that_of_the_bound(fitted):  # noqa: F811
    gp = fitted["matern"]
    posterior = gp.posterior_at(61.0)
    plain = Score(UCB(2.0), AcquisitionState(30, 30, 2, gp, posterior))
    assert score_of(gp, posterior, [5.0, 5.0]).formula == plain.formula
