"""Measurements that failed: learnt from, heeded, and remembered wherever a run is."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.cases import ARMS, BOX, DOMAINS, SHOWN, same_state, timed
from scipy.spatial.distance import pdist
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Matern

from sktvbo import ABO, GPUCB, WDBO, RandomSearch, SparQGPUCB
from sktvbo.acquisition import (
    UCB,
    AcquisitionState,
    ExpectedImprovement,
    ProbabilityOfImprovement,
)
from sktvbo.acquisition._compiled import CompiledObjective, objective_of
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.acquisition._optimize import optimize
from sktvbo.domain import Box, as_domain
from sktvbo.exceptions import AskTellError, InvalidObservationError
from sktvbo.optimizers import _failures
from sktvbo.optimizers._failures import MAX_FAILURES

UNIT = [(0.0, 1.0)] * 2


def fails(x, t=0.0):
    """In a quarter of the unit box."""
    return np.max(np.abs(np.asarray(x) - 0.5)) < 0.25


def value(x, t):
    return float(np.exp(-4.0 * np.sum((np.asarray(x) - 0.6) ** 2)))


def drive(opt, steps, start=0):
    for t in range(start, start + steps):
        x = opt.ask(t)
        if fails(x):
            opt.tell(x, failed=True)
        else:
            opt.tell(x, value(x, t))
    return opt


@pytest.fixture(scope="module")
def failing():
    """An optimizer that has seen failures, and is to be copied."""
    return drive(WDBO(UNIT, n_initial_points=5, random_state=0), 20)


# --- what a failure is ----------------------------------------------------------------------------


def test_a_failure_is_no_observation(case):
    opt, _ = case.after(7)
    case.consult(opt, 7.0)
    x = opt.ask(7.0)
    surrogate, shown = opt.surrogate_, opt.told_X_
    opt.tell(x, failed=True)
    assert (opt.n_failed_, opt.n_told_) == (1, 7)
    assert_array_equal(opt.failed_X_, [[*x, 7.0]])
    assert_array_equal(opt.told_X_, shown)
    assert opt.surrogate_ is surrogate
    assert len(opt.pending_X_) == 0
    with pytest.raises(AskTellError, match="still pending"):
        opt.tell(x, failed=True)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_same_place_is_not_asked_at_once_again(few, domain):
    opt, _ = few.after(8, domain)
    space = as_domain(DOMAINS[domain])

    def nearest(heeding):
        told, places = copy.deepcopy(opt), []
        for t in (8.0, 8.5, 9.0):
            one = told if heeding else copy.deepcopy(told)
            x = one.ask(t)
            one.tell(x, failed=True)
            places.append(space.to_unit(space.validate_point(x)))
        return min(pdist(places, "chebyshev"))

    # Who forgets each failure at once stays where it is, but for what time changes.
    assert nearest(heeding=True) > 5.0 * nearest(heeding=False)


def test_times_and_queries_that_were_not_asked_for():
    opt = GPUCB(BOX, random_state=0)
    opt.tell([1.0, 0.5], t=3.0, failed=True)
    assert_array_equal(opt.failed_X_, [[1.0, 0.5, 3.0]])
    with pytest.raises(InvalidObservationError, match=r"at least 3\.0"):
        opt.ask(2.0)
    with pytest.raises(AskTellError, match="still pending when no t is given"):
        opt.tell([1.0, 0.5], failed=True)


def test_a_failure_takes_a_step_of_the_clock_that_counts():
    opt = GPUCB(BOX, clock="step", random_state=0)
    for step in range(4):
        x, t = timed(opt.suggest())
        assert t == step
        opt.tell(x, *([] if step % 2 else [1.0]), failed=bool(step % 2))


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"y": np.nan}, "y must be finite. Got nan instead"),
        ({}, "y must be one real number. Got None instead"),
        ({"y": 1.0, "failed": True}, "y must be left out, or NaN, with failed=True. Got 1.0"),
        ({"failed": "yes"}, "failed must be True or False. Got 'yes' instead"),
        ({"failed": True, "t": np.nan}, "t must be finite"),
    ],
)
def test_bad_arguments_change_nothing(failing, told, message):
    opt, twin = copy.deepcopy(failing), copy.deepcopy(failing)
    x = opt.ask(20.0)
    twin.ask(20.0)
    with pytest.raises(ValueError, match=message):
        opt.tell(x, **told)
    same_state(opt, twin)


def test_the_latest_are_remembered():
    opt = RandomSearch(UNIT, random_state=0)
    for t in range(MAX_FAILURES + 5):
        opt.tell([0.5, 0.5], t=t, failed=True)
    assert opt.n_failed_ == MAX_FAILURES + 5
    assert_array_equal(opt.failed_X_[[0, -1], -1], [5.0, MAX_FAILURES + 4.0])


# --- the first queries ----------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
def test_when_all_fails_queries_stay_random(domain):
    opt, asked = WDBO(DOMAINS[domain], n_initial_points=3, random_state=0), []
    for t in range(10):
        asked.append(opt.ask(t))
        opt.tell(asked[-1], failed=True)
    assert opt.surrogate_ is None
    assert opt.n_failed_ == 10
    assert len({str(x) for x in asked}) >= 9  # of the 12 members of the finite set
    with pytest.raises(AskTellError, match=r"at least n_initial_points=3\. Got 0"):
        opt.recommend(10)


def test_failures_do_not_count_as_initial_points():
    opt = WDBO(UNIT, n_initial_points=4, random_state=0)
    for t in range(6):
        opt.tell(opt.ask(t), failed=True)
    for t in range(6, 10):
        assert opt.surrogate_ is None
        opt.tell(opt.ask(t), 1.0)
    assert opt.surrogate_ is not None


def test_random_queries_keep_away_as_well():
    opt = RandomSearch(UNIT, random_state=0)
    drive(opt, 40)
    late = sum(fails(opt.ask(40)) for _ in range(100))
    assert late <= 12  # of 25 that chance would have


# --- what is learnt -------------------------------------------------------------------------------


def test_the_chance_is_that_of_a_gaussian_process_of_labels():
    opt = GPUCB(UNIT, random_state=0)
    opt.tell([0.2, 0.2], 5.0, 0.0)
    opt.tell([0.8, 0.8], -3.0, 1.0)
    opt.tell([0.3, 0.3], t=2.0, failed=True)
    X = np.array([[0.2, 0.2], [0.8, 0.8], [0.3, 0.3]])
    times, places = np.arange(3.0)[:, np.newaxis], np.random.RandomState(0).uniform(size=(7, 2))
    space, time = Matern(0.2, nu=1.5), Matern(50.0, nu=1.5)  # intervals are of length 1
    K = 0.25 * space(X) * time(times) + 0.01 * np.eye(3)
    k = 0.25 * space(places, X) * time([[4.0]], times)
    mean = k @ np.linalg.solve(K, [0.0, 0.0, 1.0])
    variance = 0.25 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)
    p = norm.cdf(6.0 * (0.5 - mean) / np.sqrt(1.0 + 36.0 * variance))
    weight = p * np.minimum(2.0 * p, 1.0) ** 10
    chance = opt._run.risk.at(4.0)
    assert_allclose(np.exp(chance.log(places)), p, rtol=1e-9)
    assert_allclose(np.exp(chance.log_weight(places)), weight, rtol=1e-9)


def test_the_latest_at_a_place_is_what_counts():
    opt, here = GPUCB(UNIT, random_state=0), np.array([[0.3, 0.3]])
    for t in range(9):
        opt.tell([0.3, 0.3], 1.0, t)
    opt.tell([0.32, 0.3], t=9.0, failed=True)
    assert opt._run.risk.at(9.0).log(here)[0] < np.log(0.1)
    opt.tell([0.3, 0.31], 1.0, 10.0)
    assert opt._run.risk.at(10.0).log(here)[0] > np.log(0.9)


def test_failures_fade():
    opt = GPUCB(UNIT, random_state=0)
    opt.tell([0.8, 0.8], 1.0, 0.0)
    opt.tell([0.3, 0.3], t=1.0, failed=True)
    here, far = np.array([[0.3, 0.3]]), np.array([[0.0, 1.0]])
    now, later = opt._run.risk.at(1.0), opt._run.risk.at(500.0)
    assert now.log(here)[0] < np.log(0.02)
    assert_allclose(later.log(here), later.log(far), rtol=1e-4)


def test_what_always_fails_and_what_only_for_a_while_are_told_apart():
    learnt = {}
    rng = np.random.RandomState(0)
    for kind in ("stands", "moves"):
        opt = GPUCB(UNIT, n_initial_points=1000, random_state=0)
        for t in range(120):
            x = rng.uniform(size=2)
            edge = 0.0 if kind == "stands" else 0.5 * np.sin(t / 6.0)
            if x[0] < 0.5 + edge:
                opt.tell(x, t=t, failed=True)
            else:
                opt.tell(x, 1.0, t)
        learnt[kind] = opt._run.failures.learnt
    assert learnt["stands"][1] > 10.0 * learnt["moves"][1]


@pytest.mark.parametrize("window", [False, True])
def test_slopes_of_the_chance(failing, window):
    risk, rng = failing._run.risk, np.random.RandomState(0)
    chance = risk.between(20.0, 25.0) if window else risk.at(20.0)
    U = rng.uniform(size=(6, 2 + window))
    log_weight, slopes = chance.log_weight_with_slopes(U)
    assert_allclose(log_weight, chance.log_weight(U), rtol=1e-9)
    for i in range(U.shape[1]):
        step = 1e-6 * np.eye(U.shape[1])[i]
        differences = (chance.log_weight(U + step) - chance.log_weight(U - step)) / 2e-6
        assert_allclose(slopes[:, i], differences, rtol=1e-5, atol=1e-7)


# --- what it does to an acquisition function ------------------------------------------------------

SCORES = {
    "ucb": UCB(2.0),
    "ei": ExpectedImprovement(),
    "pi": ProbabilityOfImprovement(),
}


def weighed(opt, acquisition, floor=0.2):
    run = opt._run
    posterior = run.surrogate.posterior_at(20.0)
    state = AcquisitionState(20, 20, 2, run.surrogate, posterior)
    score = Score(acquisition, state)
    return score.weighed(run.risk.at(20.0), floor), score, posterior


@pytest.mark.parametrize("name", SCORES)
def test_slopes_of_the_weighed_score(failing, name):
    score, _, _ = weighed(failing, SCORES[name])
    rng = np.random.RandomState(1)
    mean, std, U = rng.normal(size=8), rng.uniform(0.1, 1.0, size=8), rng.uniform(size=(8, 2))
    value, on_mean, on_std, on_place = score.with_gradient(mean, std, U)
    assert_allclose(score.values(mean, std, U), value, rtol=1e-9)
    h = 1e-6

    def slope(*step):
        plus, minus = (
            score.values(mean + sign * step[0], std + sign * step[1], U + sign * np.array(step[2:]))
            for sign in (1.0, -1.0)
        )
        return (plus - minus) / (2.0 * h)

    for found, step in [
        (on_mean, (h, 0, 0, 0)),
        (on_std, (0, h, 0, 0)),
        (on_place[:, 0], (0, 0, h, 0)),
        (on_place[:, 1], (0, 0, 0, h)),
    ]:
        assert_allclose(found, slope(*step), rtol=2e-5, atol=1e-7)


def test_improvements_are_multiplied_and_bounds_are_expected(failing):
    U = np.random.RandomState(2).uniform(size=(50, 2))
    for name, worth in (("ei", np.exp), ("pi", norm.cdf)):
        score, plain, posterior = weighed(failing, SCORES[name])
        p, value = np.exp(failing._run.risk.at(20.0).log_weight(U)), plain.values(*posterior(U), U)
        assert_allclose(np.exp(score.values(*posterior(U), U)), p * worth(value), rtol=1e-8)
    floor = 0.2
    score, plain, posterior = weighed(failing, UCB(2.0), floor)
    value = plain.values(*posterior(U), U)
    expected = np.where(value > floor, p * value + (1.0 - p) * floor, value)
    assert_allclose(score.values(*posterior(U), U), expected, rtol=1e-9)
    assert (value > floor).any()


def test_the_compiled_climb_finds_what_the_plain_one_does(failing):
    score, _, posterior = weighed(failing, UCB(2.0))
    compiled, plain = objective_of(score, posterior), ScipyClimber.of_posterior(score, posterior)
    assert type(compiled) is CompiledObjective
    space = Box(UNIT).search_space()
    rows = [optimize(each, space, np.random.RandomState(0)) for each in (compiled, plain)]
    assert_allclose(rows[0], rows[1], atol=1e-4)
    best = plain.values(np.random.RandomState(3).uniform(size=(20000, 2))).max()
    assert plain.values(rows[0][np.newaxis])[0] >= best - 1e-6


def test_draws_are_expected_as_well(failing):
    chance, U = failing._run.risk.at(20.0), np.random.RandomState(0).uniform(size=(200, 2))
    p = np.exp(chance.log_weight(U))
    draw = chance.weigh_draw(lambda U: 3.0 + U[:, 0])
    floor = 3.0 + U[:, 0].min()
    assert_allclose(draw(U), p * (3.0 + U[:, 0]) + (1.0 - p) * floor, rtol=1e-12)


# --- whole runs -----------------------------------------------------------------------------------


def test_every_algorithm_learns_to_keep_away(few):
    opt = few.kind(UNIT, random_state=0, **{"n_initial_points": 5} if few.modelled else {})
    opt.set_params(**copy.deepcopy(few.options))
    unaware = copy.deepcopy(opt)
    drive(opt, 24)
    asked = []
    for t in range(24):
        asked.append(unaware.ask(t))
        unaware.tell(asked[-1], value(asked[-1], t))
    # The best of the box fails, and so do places around it, where who is told values goes most.
    assert opt.n_failed_ <= max(10, 0.6 * sum(map(fails, asked)))
    assert np.max(np.abs(opt.recommend(24) - 0.5)) > 0.2


def test_the_window_of_abo():
    opt = ABO(UNIT, lookahead=2.0, n_initial_points=5, refit_every=50, random_state=0)
    t, waited = 0.0, 0.0
    for _ in range(30):
        x, query = timed(opt.suggest(t))
        waited = max(waited, query - t)
        opt.tell(x, *([] if fails(x) else [value(x, query)]), failed=bool(fails(x)))
        t = query + 1.0
    assert waited > 1.0
    assert opt.n_failed_ <= 15


def test_an_arm_that_fails_is_left_for_a_while():
    opt, rng = WDBO(ARMS, n_initial_points=4, random_state=0), np.random.RandomState(0)
    broken = ARMS.points[3]
    times = []
    for t in range(60):
        x = opt.ask(t)
        if np.array_equal(x, broken):
            times.append(t)
            opt.tell(x, failed=True)
        else:
            opt.tell(x, rng.normal())
    assert 1 <= len(times) <= 8
    assert min(np.diff(times), default=9) > 1


def test_what_the_expert_said_was_for_the_query_that_failed():
    opt = SparQGPUCB(UNIT, n_initial_points=4, random_state=0)
    for t in range(6):
        opt.tell(opt.ask(t), float(t))
    places = opt.ask_expert(6.0)
    opt.tell_expert(places, np.ones(len(places)))
    assert len(opt.expert_y_)
    opt.tell(opt.ask(6.0), failed=True)
    assert len(opt.expert_y_) == 0


@pytest.mark.parametrize("options", [{}, {"max_step": 0.1}], ids=["free", "limited"])
@pytest.mark.parametrize("n_initial", [4, 20], ids=["modelled", "random"])
def test_the_chance_of_success_is_worked_out_once_a_call(options, n_initial, monkeypatch):
    opt = drive(WDBO(UNIT, n_initial_points=n_initial, random_state=0, **options), 8)
    opt.tell([0.5, 0.5], failed=True, t=8.0)
    fitted, fits = _failures._fitted, []
    monkeypatch.setattr(_failures, "_fitted", lambda *of: fits.append(of) or fitted(*of))
    opt.suggest(9.0, n=3)
    assert len(fits) == 1


# --- remembered -----------------------------------------------------------------------------------


def ways(opt, path):
    """The optimizer after all that it may go through."""
    return {
        "pickle": pickle.loads(pickle.dumps(opt)),
        "json": type(opt).from_json(opt.to_json()),
        "journal": type(opt).resume(path),
    }


def test_a_run_with_failures_survives(tmp_path):
    path = tmp_path / "run.db"
    drive(WDBO(UNIT, n_initial_points=5, random_state=0, journal=path), 20).close()
    opt = drive(WDBO(UNIT, n_initial_points=5, random_state=0), 20)
    assert opt._run.failures.learnt is not None
    found = ways(opt, path)
    expected = drive(copy.deepcopy(opt), 6, start=20)
    for way, other in found.items():
        assert other.n_failed_ == opt.n_failed_ > 0, way
        drive(other, 6, start=20)
        for name in SHOWN:
            if name not in ("belief_", "policy_", "surrogate_", "history_"):
                assert_array_equal(getattr(other, name), getattr(expected, name), err_msg=way)
    found["journal"].close()


def test_the_journal_tells_of_failures(tmp_path, capsys):
    from sktvbo import journal
    from sktvbo._cli import main

    path = tmp_path / "run.db"
    opt = RandomSearch(BOX, random_state=0, journal=path)
    x = opt.ask(0.0)
    opt.tell(x, failed=True)
    opt.close()
    assert journal.check(path) == {"begin": 1, "ask": 1, "fail": 1}
    *_, event = journal.events(path)
    assert event.body == {"x": x.tolist(), "t": 0.0}
    main(["journal", "show", str(path)])
    assert "fail" in capsys.readouterr().out


@pytest.mark.parametrize("level", [-1000.0, 1000.0])
def test_what_a_failure_costs_does_not_depend_on_the_level_of_y(level):
    queries = []
    for shift in (0.0, level):
        opt = GPUCB(UNIT, n_initial_points=8, random_state=0)
        rng = np.random.RandomState(0)
        for x in rng.uniform(size=(24, 2)):
            if fails(x):
                opt.tell(x, t=0.0, failed=True)
            else:
                opt.tell(x, value(x, 0.0) + shift, 0.0)
        queries.append(opt.ask(0.0))
    assert_allclose(queries[0], queries[1], atol=1e-3)
    assert not fails(queries[1])
