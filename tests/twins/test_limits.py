"""Probabilities of limits and certified places: slopes, compiled scores, deviations, steps."""

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.limited import BOX, LIMITS, drive, on_a_line, told_of

from sktvbo import GPUCB, WDBO
from sktvbo._values import replaced
from sktvbo.acquisition import UCB, AcquisitionState, ExpectedImprovement, ProbabilityOfImprovement
from sktvbo.acquisition._compiled import objective_of
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.acquisition._optimize import optimize as maximum
from sktvbo.domain import Box, FiniteSet, as_domain
from sktvbo.optimizers._chance import Chance
from sktvbo.optimizers._durable import run_of
from sktvbo.optimizers._feasibility import Certificate, Feasibility, near, steps_from
from sktvbo.optimizers._outcomes import beyond_limits


@pytest.fixture(scope="module")
def limited():
    """Return a run after 25 steps; it is only read."""
    return drive(WDBO(BOX, outcome_constraints=LIMITS, random_state=0), 25)


@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("level", [None, 0.9])
def test_slopes_of_the_log_weight(limited, window, level):
    run = limited._run
    cause = Feasibility(run) if level is None else Certificate(run, level)
    chance = cause.at(25.0, 40.0) if window else cause.at(25.0)
    U = np.random.RandomState(0).uniform(size=(7, 2 + window))
    log_weight, slopes = chance.log_weight_with_slopes(U)
    assert_allclose(log_weight, chance.log_weight(U), rtol=1e-9)
    for i in range(U.shape[1]):
        step = 1e-6 * np.eye(U.shape[1])[i]
        differences = (chance.log_weight(U + step) - chance.log_weight(U - step)) / 2e-6
        assert_allclose(slopes[:, i], differences, rtol=1e-4, atol=1e-6)


SCORES = UCB(2.0), ExpectedImprovement(), ProbabilityOfImprovement()


# Limits are moved by the shift: with 9 they are hopeless.
@pytest.mark.parametrize(
    ("acquisition", "shift", "window"), pairs_of(SCORES, (0.0, 9.0), (False, True))
)
def test_weighed_scores_are_climbed_as_without_compiled_code(limited, acquisition, shift, window):
    run, t = limited._run, 25.0
    limits = tuple(
        limit._replace(high=limit.high - shift, low=-np.inf) for limit in run.config.limits
    )
    run, model = replaced(run, config=replaced(run.config, limits=limits)), run.surrogate
    at_t, feasibility, space = model.posterior_at(t), Feasibility(run), Box(BOX).search_space()
    posterior, chance = at_t, feasibility.at(t)
    if window:
        posterior, chance = model.posterior_between(t, 40.0), feasibility.at(t, 40.0)
        space = space.during(t, 40.0)
    state = AcquisitionState(25, 25, 2, model, at_t, succeeds=feasibility.at(t).succeeds)
    score = Chance([chance]).weigh(Score(acquisition, state), at_t, space, model.X_train_[:, :-1])
    assert score.success.decides == (shift > 0.0)
    objectives = objective_of(score, posterior), ScipyClimber.of_posterior(score, posterior)
    assert objectives[0].formula is not None
    places = [maximum(each, space, np.random.RandomState(0)) for each in objectives]
    assert_allclose(*places, rtol=1e-3, atol=1e-3)
    U = np.random.RandomState(1).uniform(size=(200, 2 + window))
    found, expected = (each.values(U) for each in objectives)
    if isinstance(acquisition, UCB) and not shift:  # of the standardized y
        found = found * at_t.scale + np.mean(expected - found * at_t.scale)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_of_several_causes_all_must_succeed():
    values = np.linspace(-1.0, 1.0, 20)
    runs = [run_of(told_of(limits, values)) for limits in ((None, 0.3), (-0.5, None))]
    first, second = (Certificate(run, 0.9).at(19.0) for run in runs)
    grid = np.linspace(0.1, 0.3, 41)[:, np.newaxis]
    parts, both = (first.succeeds(grid), second.succeeds(grid)), Chance([first, second])
    assert_array_equal(both.succeeds(grid), parts[0] & parts[1])
    assert parts[0].any() > parts[0].all()
    assert parts[1].any() > parts[1].all()


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("name", ["c", "objective"])
def test_a_measured_violation_counts_where_the_model_takes_it_for_noise(name, side):
    # A square wave that a smooth kernel takes for noise; the noise is 0.02. Two of four rows are
    # elsewhere, and 3 lower.
    rng, limit = np.random.RandomState(0), (None, 1.0) if side > 0.0 else (-1.0, None)
    limits = {"c": (-9.0, 9.0), name: limit}
    options = {"safety": 0.9, "start_points": [[0.5]], "random_state": 0}
    opt = GPUCB([(0.0, 1.0)], outcome_constraints=limits, **options)
    times = np.arange(80)
    wave = 0.7 + 0.18 * np.where(times // 20 % 2, 1.0, -1.0) + 0.02 * rng.standard_normal(80)
    elsewhere = times % 4 >= 2
    values = side * np.where(elsewhere, wave - 3.0, wave)
    told = {"c": np.zeros(80), "objective": np.zeros(80)} | {name: values}
    x = np.where(elsewhere, 0.1 + 0.005 * times, 0.5)[:, np.newaxis]
    opt.tell_many(x, told["objective"], times, outcomes={"c": told["c"]})
    feasibility, state = Feasibility(opt._run, widens=True), opt._run
    model = state.surrogate if name == "objective" else state.part("limits").models[0].surrogate
    assert model.noise_std_ > 0.1

    def violated(value):
        known = {"c": 0.0, "objective": 0.0} | {name: value}
        c, y = (np.array([known[each]], dtype=float) for each in ("c", "objective"))
        distances = beyond_limits(state, c[np.newaxis], y)[:, 0]
        return feasibility.violated(state.domain.unit_of([[0.5]]), 80.0, distances)

    assert violated(side * 1.07) == 1.0
    for value in (side * 1.01, side * 0.7, None, np.nan):
        assert violated(value) < 0.5


@pytest.mark.parametrize("value", [0.6, 0.7])
def test_constant_outcomes_at_the_limit_or_beyond_it_may_be_within_it(value):
    opt = told_of((None, 0.6), np.full(10, value))
    log_p = Certificate(run_of(opt), 0.9).at(10.0).log(np.linspace(0.0, 1.0, 11)[:, np.newaxis])
    assert log_p.min() > np.log(1e-9)


# --- near places ----------------------------------------------------------------------------------


def test_near_places_are_within_a_step_or_the_next_integer_of_a_known_one():
    domain = as_domain({"a": ("real", 0.0, 1.0), "n": ("integer", 0, 4), "k": ["u", "v"]})
    known = domain.to_unit(np.array([[0.5, 1.0, 0.0], [0.9, 4.0, 1.0]]))
    contains = near(domain, known, 0.1)
    rows = [[0.6, 1, 1], [0.61, 1, 0], [0.45, 2, 0], [0.5, 3, 0], [0.9, 3, 0], [0.5, 4, 0]]
    found = contains(domain.to_unit(np.array(rows, dtype=float)))
    assert_array_equal(found, [True, False, True, False, True, False])


def test_the_next_member_on_each_side_is_a_step():
    grid = [[a, b] for a in np.arange(0.0, 10.1, 0.5) for b in (0.0, 0.5, 1.0)]
    domain = as_domain(FiniteSet(grid))
    rows = domain.from_unit(steps_from(domain, domain.to_unit(np.array([5.0, 0.5]))))
    assert_allclose(sorted(map(tuple, rows)), [(4.5, 0.5), (5.0, 0.0), (5.0, 1.0), (5.5, 0.5)])
    assert_array_equal(
        steps_from(as_domain(FiniteSet([[0.0], [1.0], [9.0]])), np.array([1 / 9])), 0.0
    )


def test_an_outcome_that_varies_is_certified_far_from_known_places():
    for scale, far in ((4.0, True), (0.1, False)):
        opt = on_a_line({"c": (None, 5.0)}, safety=0.95, n_initial_points=4)
        for t, x in enumerate(np.linspace(0.0, 0.4, 9)):
            opt.tell([x], x, float(t), outcomes={"c": scale * np.sin(4.0 * x)})
        found = Certificate(run_of(opt), 0.95).at(9.0).succeeds(np.array([[0.47], [0.44]]))
        assert_array_equal(found, [far, True])


@pytest.mark.parametrize(("told", "is_backup"), [(1.06, True), (1.4, False)])
def test_a_start_point_measured_beyond_the_limit_by_noise_remains_the_backup(told, is_backup):
    opt = on_a_line({"c": (None, 1.0)}, safety=0.95, start_points=[[0.3]])
    rng = np.random.RandomState(0)
    for t in range(20):
        x = 0.3 if t % 4 == 0 else rng.uniform(0.0, 0.5)
        c = 0.9 + 0.1 * np.sin(9.0 * x) + 0.05 * rng.normal()
        opt.tell([x], x, float(t), outcomes={"c": c})
    opt.tell([0.3], 0.3, 20.0, outcomes={"c": told})
    run = run_of(opt)
    found = Certificate(run, 0.95).least_risky(run.domain.search_space(), 21.0)
    assert (found[0] == 0.3) == is_backup
