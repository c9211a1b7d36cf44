"""SparQ-GP-UCB's own decisions: what it discards, what it asks the expert, what it makes of it."""

import numpy as np
import pytest
from contract.cases import (
    BY_NAME,
    DOMAINS,
    N_INITIAL,
    STEPS,
    fingerprint,
    objective,
    points,
    points_of,
    space,
)
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import GRID, check_query, information_gain
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import SparQGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import FiniteSet
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError
from sktvbo.gaussian_process import QuadraticInjection


def value(X, t):
    return 20.0 + 4.0 * np.sin(6.0 * np.asarray(X)[:, 0] + 0.3 * t)


def make(**options):
    return SparQGPUCB(
        **({"domain": [(0.0, 1.0)], "n_initial_points": 8, "random_state": 0} | options)
    )


def consult(opt, t):
    """Ask the expert; return the places and the answers."""
    places = opt.ask_expert(t)
    answers = value(places, t)
    opt.tell_expert(places, answers)
    return places, answers


def step(opt, t, expert=True):
    if expert:
        consult(opt, t)
    x = opt.ask(t)
    opt.tell(x, value([x], t)[0])


# --- what it discards -----------------------------------------------------------------------------


def test_what_is_told_late_ages_from_when_it_was_seen():
    opt = make(noise_cap=5.0)
    for t in range(8):
        step(opt, float(t))
    assert opt.X_[:, 1].tolist() == [5.0, 6.0, 7.0]
    opt.tell([0.3], 20.0, 5.5)
    assert opt.X_[:, 1].tolist() == [5.0, 6.0, 7.0, 5.5]
    opt.tell([0.3], 20.0, 2.0)
    assert opt.X_[:, 1].tolist() == [5.0, 6.0, 7.0, 5.5]
    assert opt.removed_at_[-1] == 7.0


# --- what it asks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_queries", "expected"),
    [
        ("log", lambda t: int(np.ceil(6.0 * np.log(t)))),
        (5, lambda t: 5),
        (lambda t: t // 4, lambda t: t // 4),
        (0, lambda t: 0),
    ],
    ids=["log", "constant", "callable", "none"],
)
def test_asks_about_so_many_different_places_told(n_queries, expected):
    # Places come again, and are far apart.
    arms = FiniteSet(np.linspace(-3.0, 5.0, 40)[:, np.newaxis])
    opt = make(domain=arms, n_queries=n_queries)
    for t in range(30):
        opt.tell(arms.points[(7 * t) % 23], 0.1 * t, float(t))
        places = opt.ask_expert(float(t))
        told = np.unique(opt.told_X_[:, :1])
        count = 0 if t < 7 else min(expected(t + 1), len(told))
        assert places.shape == (count, 1)
        assert len(np.unique(places)) == count
        assert np.isin(places, told).all()
    assert len(told) == 23


def test_places_repel_one_another():
    """A k-DPP: of two places that are nearly the same seldom both are asked about."""
    surrogate = TimeVaryingGPRegressor(
        RBF(0.3), ConstantKernel(1.0, "fixed"), noise_model=QuadraticInjection(), optimizer=None
    )
    opt = make(n_queries=3, n_initial_points=6, surrogate=surrogate)
    pairs = np.array([[0.1], [0.101], [0.5], [0.501], [0.9], [0.901]])
    for t, x in enumerate(pairs):
        opt.tell(x, value([x], t)[0], float(t))
    both = 0
    for t in range(6, 36):
        places = opt.ask_expert(float(t))
        both += np.min(np.diff(places[:, 0])) < 0.05
    # A pair has a determinant of 1e-5; 12 of the 20 subsets hold one.
    assert both == 0


def test_asking_the_expert_again_draws_anew_and_the_same_seed_the_same():
    opt, twin = make(n_queries=4), make(n_queries=4)
    rounds = []
    for o in (opt, twin):
        for t in np.arange(25.0):
            step(o, t, expert=False)
        rounds.append([o.ask_expert(25.0) for _ in range(5)])
    assert_array_equal(*rounds)
    assert len(np.unique(rounds[0], axis=0)) > 1


# --- what it makes of the answers -----------------------------------------------------------------


def posterior(opt, X, y, variances):
    """At the grid, by scikit-learn, given noise variances in units of y²; and √β."""
    gp, location, scale = opt.surrogate_, y.mean(), y.std()
    kernel = ConstantKernel(gp.signal_variance_) * gp.spatial_kernel_
    alpha = variances / scale**2
    with_mean = kernel + ConstantKernel(1.0)
    reference = GaussianProcessRegressor(with_mean, alpha=alpha, optimizer=None)
    mean, std = reference.fit(X, (y - location) / scale).predict(GRID, return_std=True)
    # Theorem 3.1, the logarithm of a root of determinants and δ = 0.05.
    log = information_gain(kernel(X), alpha)
    width = np.sqrt(2.0 * (np.log(2.0 / 0.05) + log)) + 1.0
    return location + scale * mean, scale * std, width


@pytest.mark.parametrize("maximize", [True, False])
@pytest.mark.parametrize("factor", [None, 0.01, 25.0])
def test_query_follows_recent_observations_and_the_experts_answers(factor, maximize, asked):
    """Recent ones with σ² (1 + age²), answers with their own variance, or σ²."""
    # Relative to the σ² that is fitted: below it, or above.
    sigma = 0.3
    variance = None if factor is None else factor * sigma**2
    opt = make(noise_cap=12.0, n_queries=9, maximize=maximize, expert_noise_variance=variance)
    sign = 1.0 if maximize else -1.0
    for t in np.arange(14.0):
        step(opt, t)
    for t in (14.0, 14.5, 16.0):
        places, answers = consult(opt, t)
        assert len(places) == 9
        assert_array_equal(opt.expert_X_, np.column_stack([places, np.full(9, t)]))
        assert_array_equal(opt.expert_y_, answers)
        x = opt.ask(t)

        X = np.vstack([opt.X_[:, :1], places])
        y = sign * np.append(opt.y_, answers)
        noise = opt.surrogate_.noise_variance_ * y.var()
        recent = noise * (1.0 + (t - opt.X_[:, 1]) ** 2)
        expert = np.full(9, noise if variance is None else variance)
        mean, std, width = posterior(opt, X, y, np.append(recent, expert))
        check_query(asked, x, mean, std, width)

        opt.tell(x, value([x], t)[0])
        assert opt.expert_X_.shape == (0, 2)
        assert opt.expert_y_.shape == (0,)
    assert len(opt.X_) > 2
    if factor is not None:
        assert (variance < noise) == (factor < 1.0)


def test_answers_age_until_the_next_query_and_are_for_this_one_alone(asked):
    opt = make(noise_cap=300.0)
    for t in np.arange(12.0):
        step(opt, t)
    places, answers = consult(opt, 12.0)
    for t in (14.0, 15.0):
        x, X, y, times = opt.ask(t), opt.X_[:, :1], opt.y_, opt.X_[:, 1]
        if t == 14.0:
            X, y = np.vstack([X, places]), np.append(y, answers)
            times = np.append(times, np.full(len(places), 12.0))
        noise = opt.surrogate_.noise_variance_ * y.var() * (1.0 + (t - times) ** 2)
        mean, std, width = posterior(opt, X, y, noise)
        assert_allclose(asked["state"].posterior(GRID), (mean, std), rtol=1e-5)
        assert t == 14.0 or asked["width"] == pytest.approx(width, rel=1e-6)
        assert len(X) >= 10
        opt.tell(x, value([x], t)[0])


def test_a_count_of_queries_must_be_one():
    opt = make(n_initial_points=2, n_queries=lambda t: None)
    opt.tell([0.3], 1.0, 0.0), opt.tell([0.6], 1.0, 1.0)
    with pytest.raises(ValueError, match="'n_queries' parameter"):
        opt.ask_expert(2.0)


def test_what_the_expert_taught_is_not_searched_again_from_stale_rows():
    opt = make()
    for t in np.arange(14.0):
        places, _ = consult(opt, t)
        x = opt.ask(t)
        taught = opt.surrogate_.theta_ if opt.surrogate_ is not None else None
        opt.tell(x, value([x], t)[0])
        if len(places):
            assert_array_equal(opt.surrogate_.theta_, taught)
    assert len(opt.X_) < 8


# --- the calls, on every domain -------------------------------------------------------------------

CASE = BY_NAME["SparQGPUCB-expert"]


def started(domain="box"):
    return CASE.after(domain=domain)[0]


@pytest.mark.parametrize("domain", DOMAINS)
def test_places_are_those_that_were_queried(domain):
    opt = started(domain)
    places = opt.ask_expert(STEPS)
    assert isinstance(places, list) == (domain == "named")
    rows = points(places, domain)
    told = set(map(tuple, opt.told_X_[:, :-1]))
    assert set(map(tuple, rows)) <= told
    assert len(np.unique(rows, axis=0)) == len(rows) >= min(len(told), 5)
    opt.tell_expert(places, [objective(x, STEPS, domain) for x in places])
    assert_array_equal(opt.expert_X_, np.column_stack([rows, np.full(len(rows), STEPS)]))
    assert opt.expert_y_.tolist() == [objective(x, STEPS, domain) for x in places]


@pytest.mark.parametrize("domain", DOMAINS)
def test_nobody_is_asked_before_there_is_a_surrogate(domain):
    opt = CASE.make(domain)
    for t in range(N_INITIAL):
        places = opt.ask_expert(t)
        assert len(places) == 0
        assert isinstance(places, list) == (domain == "named")
        opt.tell_expert(places, [])
        x = opt.ask(t)
        with pytest.raises(AskTellError, match=r"before tell_expert\(\) must be at least"):
            opt.tell_expert([x], [0.5], t)
        opt.tell(x, 0.1 * t)
    assert len(opt.ask_expert(N_INITIAL)) > 0


def test_answers_about_other_places_and_at_another_time():
    opt = started()
    opt.tell_expert([[0.3, 0.3], [1.7, -0.2]], [0.2, 0.1], STEPS + 2.0)
    assert opt.expert_X_.tolist() == [[0.3, 0.3, STEPS + 2.0], [1.7, -0.2, STEPS + 2.0]]
    with pytest.raises(InvalidObservationError, match="t must be at least"):
        opt.ask(STEPS + 1.0)
    assert opt.ask(STEPS + 2.0).shape == (2,)


def test_the_callers_arrays_are_neither_changed_nor_kept():
    opt = started()
    places = opt.ask_expert(STEPS)
    mine, answers = places.copy(), np.linspace(0.0, 1.0, len(places))
    opt.tell_expert(mine, answers)
    assert_array_equal(mine, places)
    mine[:] = answers[:] = 77.0
    opt.expert_X_[:] = opt.expert_y_[:] = 88.0
    assert opt.expert_X_.max() < 20.0
    assert opt.expert_y_.max() <= 1.0


BAD_CALLS = [
    (lambda o, X: o.tell_expert(X[:, :1], np.ones(len(X))), "X must"),
    (lambda o, X: o.tell_expert(X + 9.0, np.ones(len(X))), r"X\[0, [01]\] must be in"),
    (lambda o, X: o.tell_expert(X * np.nan, np.ones(len(X))), "X must be finite"),
    (lambda o, X: o.tell_expert(X, np.ones(len(X) - 1)), r"y must be an array of shape \(\d+,\)"),
    (lambda o, X: o.tell_expert(X, np.full(len(X), np.nan)), "y must be finite"),
    (lambda o, X: o.tell_expert(X, 1.0), r"y must be .* Got shape \(\) instead"),
    (lambda o, X: o.tell_expert(X, ["a"] * len(X)), "y must be real numbers"),
    (lambda o, X: o.tell_expert(X, np.ones(len(X)), 3.0), "t must be at least"),
    (lambda o, X: o.tell_expert(X, np.ones(len(X)), np.nan), "t must be finite"),
    (lambda o, X: o.ask_expert(3.0), "at least"),
    (lambda o, X: o.ask_expert(np.inf), "t must be finite"),
]


def test_a_bad_call_says_why_and_changes_nothing():
    opt = started()
    places = opt.ask_expert(STEPS)
    before = fingerprint(opt)
    for bad, message in BAD_CALLS:
        error = DomainError if "must be in" in message else InvalidObservationError
        with pytest.raises(error, match=message):
            bad(opt, places)
        assert fingerprint(opt) == before, message


def test_answers_without_a_question_need_a_time():
    opt = BY_NAME["SparQGPUCB"].after()[0]
    with pytest.raises(AskTellError, match=r"t must be given unless ask_expert\(\)"):
        opt.tell_expert([[0.5, 0.5]], [0.1])
    opt.tell_expert([[0.5, 0.5]], [0.1], STEPS)
    assert opt.expert_y_.tolist() == [0.1]


def test_answers_and_pending_queries_together():
    opt = started()
    first = opt.ask(STEPS)
    CASE.consult(opt, STEPS + 1)
    batch = points_of(opt.suggest(STEPS + 1, n=3))
    U = space("box").to_unit(np.vstack([first, batch]))
    assert len(np.unique(U.round(3), axis=0)) == 4
    opt.tell(batch[0], 0.4)
    opt.tell(first, 0.3)
    assert opt.told_X_[-2:, 2].tolist() == [STEPS + 1.0, STEPS]


def test_answers_end_with_an_observation_that_is_taken_back_but_not_with_a_query():
    opt = make()
    for t in np.arange(10.0):
        step(opt, t)
    places, _ = consult(opt, 10.0)
    opt.announce(places[0], 10.0)
    opt.cancel(places[0])
    assert len(opt.expert_y_) == len(places) > 0
    opt.untell()
    assert len(opt.expert_y_) == 0
    assert_array_equal(opt.belief_.X_train_, opt.surrogate_.X_train_)
