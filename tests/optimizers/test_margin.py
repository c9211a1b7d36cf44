"""A bound with a margin: standard deviations count for less near the faces of the box."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import without_prior_mean

from sktvbo import ABO, BOLT, GPUCB, WDBO, BayesianOptimizer
from sktvbo.acquisition import UCB, ExpectedImprovement
from sktvbo.domain import Arms, FiniteSet


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
