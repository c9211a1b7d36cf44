"""Compiled scores and climbs against the posterior, and against L-BFGS-B."""

import numpy as np
import pytest
from acquisition.cases import unit_box
from gaussian_process.models import MODELS
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo._fast.posterior import Formula
from sktvbo.acquisition import (
    UCB,
    AcquisitionState,
    ExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
)
from sktvbo.acquisition._compiled import CompiledObjective, objective_of
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.acquisition._optimize import search
from sktvbo.domain import Box
from sktvbo.kernels import Forgetting

ACQUISITIONS = [UCB(2.0), PosteriorMean(), ExpectedImprovement(), ProbabilityOfImprovement()]
COMPILED = ("matern", "ard-rbf", "forgetting-injection", "static", "prior-mean")
COMPILED += ("time-first", "sparse")
# At one time any temporal kernel has a compiled form.
AT_A_TIME = (*COMPILED, "season", "wiener", "rational-time", "weighted", "sparse-wiener")

all_acquisitions = pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=str)


class Own(UCB):
    """Custom acquisition function without a compiled form."""


def score_of(gp, acquisition, t):
    posterior = gp.posterior_at(t)
    return Score(acquisition, AcquisitionState(30, 30, 2, gp, posterior)), posterior


@all_acquisitions
@pytest.mark.parametrize("name", AT_A_TIME)
def test_scores_are_those_of_the_posterior(fitted, name, acquisition):
    gp, U = fitted[name], np.random.RandomState(0).uniform(size=(300, 3))
    score, at_t = score_of(gp, acquisition, 61.0)
    window = gp.fitted_.posterior_between(61.0, 64.0)
    both = [(at_t, np.ascontiguousarray(U[:, :2])), (window, U)]
    for posterior, places in both if name in COMPILED else both[:1]:
        expected = score.values(*posterior(places), places)
        objective = objective_of(score, posterior)
        found = objective.values(places)
        if objective.formula[0] == Formula.BOUND:  # of the standardized y
            found = found * posterior.scale
            found += np.mean(expected - found)
        assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in COMPILED])
def test_other_kernels_have_none_where_time_moves(fitted, name):
    gp = fitted[name]
    score, posterior = score_of(gp, UCB(2.0), 61.0)
    assert (posterior.compiled() is None) == (name not in AT_A_TIME)
    assert isinstance(objective_of(score, posterior), CompiledObjective) == (name in AT_A_TIME)
    assert gp.fitted_.posterior_between(61.0, 62.0).compiled() is None


@pytest.mark.parametrize(
    ("acquisition", "name", "n"), pairs_of([*ACQUISITIONS, Own(2.0)], COMPILED, (1, 6, 20)), ids=str
)
def test_the_leading_scores_are_exact(fitted, name, acquisition, n):
    """The others are bounds, below all of them."""
    gp, U = fitted[name], np.random.RandomState(0).uniform(size=(300, 3))
    score, at_t = score_of(gp, acquisition, 61.0)
    for posterior, places in (
        (at_t, np.ascontiguousarray(U[:, :2])),
        (gp.fitted_.posterior_between(61.0, 64.0), U),
    ):
        objective = objective_of(score, posterior)
        exact, found = objective.values(places), objective.leading(places, n)
        order = np.argsort(-exact, kind="stable")[:n]
        assert_array_equal(np.argsort(-found, kind="stable")[:n], order)
        assert_allclose(found[order], exact[order], rtol=1e-9, atol=1e-12)
        bounded = np.abs(found - exact) > 1e-9 * np.ptp(exact)
        assert (found >= exact - 1e-9 * np.ptp(exact)).all()
        assert found[bounded].max(initial=-np.inf) < found[order[-1]]


def test_few_places_are_evaluated_exactly():
    """With recent observations near the optimum, as an optimizer makes them."""
    rng = np.random.RandomState(0)
    U = np.vstack([rng.uniform(size=(60, 2)), 0.5 + 0.1 * rng.normal(size=(60, 2))])
    y = -np.sum((U - 0.5) ** 2, axis=1)
    gp = TimeVaryingGPRegressor(
        Matern(0.3), Matern(60.0, nu=1.5), noise_variance=1e-3, optimizer=None, normalize_y=True
    ).fit(np.column_stack([U, np.arange(120.0)]), y)
    score, posterior = score_of(gp, UCB(2.0), 120.0)
    objective, places = objective_of(score, posterior), rng.uniform(size=(512, 2))
    changed = objective.leading(places, 6) > objective.values(places)
    assert changed.sum() > 400


def random_problem(seed):
    """Return score, posterior, domain and random state of a random problem."""
    rng = np.random.RandomState(seed)
    d, n = rng.choice([1, 2, 3, 4]), rng.choice([5, 12, 30])
    scales = np.exp(rng.uniform(np.log(0.1), np.log(2.0), size=d))
    spatial = [RBF(scales), Matern(scales, nu=1.5), Matern(scales, nu=2.5)][rng.randint(3)]
    temporal = [ConstantKernel(1.0, "fixed"), Forgetting(0.03), Matern(n / 2.0, nu=1.5)]
    U = rng.uniform(size=(n, d))
    y = np.sin(U @ rng.normal(scale=3.0, size=d) + 0.05 * np.arange(n)) + 0.1 * rng.normal(size=n)
    gp = TimeVaryingGPRegressor(
        spatial,
        temporal[rng.randint(3)],
        noise_variance=np.exp(rng.uniform(-7.0, -1.0)),
        mean_prior_std=rng.choice([0.0, 1.0, np.inf]),
        normalize_y=True,
        optimizer=None,
    ).fit(np.column_stack([U, np.arange(n)]), y)
    acquisition, box = ACQUISITIONS[rng.randint(4)], Box([(0.0, 1.0)] * d)
    score, posterior = score_of(gp, acquisition, float(n))
    if rng.uniform() < 0.25:
        window = n, 1.25 * n
        return score, gp.fitted_.posterior_between(*window), box.search_space().during(*window), rng
    return score, posterior, box.search_space(), rng


def test_the_maximum_is_never_worse_than_without_compiled_code():
    """Up to the tolerances, on 40 problems."""
    for seed in range(40):
        score, posterior, space, rng = random_problem(seed)
        objective = objective_of(score, posterior)
        twin = ScipyClimber.of_posterior(score, posterior)
        candidates = space.candidates(512, rng)
        places = [search(each, space, candidates, 6) for each in (objective, twin)]
        found, expected = objective.values(np.array(places))
        spread = np.ptp(objective.values(space.candidates(512)))
        assert found >= expected - 1e-7 * spread, seed


@pytest.mark.parametrize("acquisition", ACQUISITIONS[:2], ids=str)
def test_a_custom_function_is_climbed_as_its_formula_is(fitted, acquisition):
    """All starts at once, to the same places."""
    gp = fitted["matern"]
    known, posterior = score_of(gp, UCB(2.0), 61.0)
    own, _ = score_of(gp, Own(2.0), 61.0)
    starts = np.random.RandomState(2).uniform(size=(5, 2))
    one, other = objective_of(known, posterior), objective_of(own, posterior)
    assert one.formula is not None
    assert other.formula is None
    found, _ = one.climb(starts, unit_box(2), 1.0)
    again, values = other.climb(starts, unit_box(2), 1.0)
    assert_allclose(again, found, atol=1e-6)
    assert_allclose(values, own.values(*posterior(again), again), rtol=1e-9)


def test_fixed_coordinates_stay_the_same_to_the_bit(fitted):
    score, posterior = score_of(fitted["ard-rbf"], UCB(2.0), 61.0)
    starts = np.random.RandomState(3).uniform(size=(5, 2))
    space = unit_box(2).within([0.0, 0.0], [0.0, 1.0])
    moved, _ = objective_of(score, posterior).climb(starts, space, 1.0)
    assert_array_equal(moved[:, 0], starts[:, 0])
    assert (moved[:, 1] != starts[:, 1]).any()
