"""A bound with a margin: standard deviations count for less near the faces of the box."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import without_prior_mean

from sktvbo import ABO, BOLT, GPUCB, WDBO, BayesianOptimizer
from sktvbo.acquisition import UCB, ExpectedImprovement
from sktvbo.acquisition._objective import BoundaryMargin
from sktvbo.domain import Arms, FiniteSet, WithContext


def drive(opt, steps=40, d=2):
    rng = np.random.RandomState(0)
    for t in range(steps):
        x = opt.ask(t)
        opt.tell(x, -np.sum((np.asarray(x)[:d] - 0.5) ** 2) + 0.01 * rng.normal())
    return opt


@pytest.mark.parametrize(
    "algorithm",
    [
        WDBO,
        GPUCB,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (BOLT, ABO, BayesianOptimizer)),
    ],
)
def test_queries_keep_from_the_faces(algorithm):
    """The optimum is in the middle: what is near the faces is looked at less often."""
    # A prior mean that is highest in the middle would keep queries from the faces as well.
    kind, box, far = without_prior_mean(algorithm), [(0.0, 1.0)] * 4, []
    for margin in (0.0, 0.2):
        acquisition = UCB(16.0, margin=margin)
        options = {"n_initial_points": 10, "refit_every": 10, "random_state": 0}
        opt = drive(kind(box, acquisition=acquisition, **options), 60, 4)
        queried = opt.told_X_[10:, :-1]
        far.append(np.mean((queried < 0.05) | (queried > 0.95)))
    assert far[1] < 0.5 * far[0]
    assert far[0] > 0.1


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


@pytest.mark.parametrize("margin", [5e-324, 1.7e308])
def test_margins_of_any_width(margin):
    """The narrowest and the widest make no difference but at the very face."""
    plain, other = (
        drive(WDBO([(0.0, 1.0)] * 2, acquisition=a, n_initial_points=5, random_state=0), 8)
        for a in (UCB(0.01), UCB(0.01, margin=margin))
    )
    assert_allclose(other.told_X_, plain.told_X_, atol=1e-4)


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
def test_a_bad_margin_of_ones_own(margin):
    with pytest.raises(ValueError, match="'margin' parameter of Improvement must be a float"):
        WDBO([(0.0, 1.0)], acquisition=Improvement(margin)).ask(0.0)
