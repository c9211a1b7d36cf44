"""ABO chooses the time too: when to query, and what that means for the calls."""

import numpy as np
import pytest
from contract.cases import BY_NAME, DOMAINS, objective, points, space, timed
from optimizers.dense import length_scale_of
from sklearn.gaussian_process.kernels import RBF

from sktvbo import ABO, TimeVaryingGPRegressor
from sktvbo.acquisition import UCB, DimensionBeta
from sktvbo.exceptions import InvalidObservationError

LOOKAHEAD = 0.5
GRID = np.linspace(0.0, 1.0, 101)


def value(x, t):
    return np.exp(-20.0 * (x[0] - 0.5 - 0.3 * np.sin(0.05 * t)) ** 2)


def drive(opt, until, value=value):
    """Ask where and when, wait, answer; what was asked, with the state it was asked in."""
    t = 0.0
    while t < until:
        surrogate, history = getattr(opt, "surrogate_", None), getattr(opt, "history_", {})
        x, t_query = timed(opt.suggest(t))
        assert opt.next_time_ == t_query
        yield t, x, t_query, surrogate, history
        opt.tell(x, value(x, t_query))
        assert opt.told_X_[-1].tolist() == [*x, t_query]
        t = t_query + 1.0


def settled(length_scales):
    """Whether a line through the last five lengthscales changes by less than a tenth a step."""
    latest = length_scales[~np.isnan(length_scales)][-5:]
    if len(latest) < 5:
        return False
    return abs(np.polyfit(np.arange(5), latest, 1)[0]) < 0.1 * latest.mean()


@pytest.mark.parametrize(("seed", "maximize"), [(1, True), (3, False)])
def test_waits_only_once_the_lengthscale_has_settled_and_not_too_long(seed, maximize):
    opt = ABO(
        [(0.0, 1.0)], lookahead=LOOKAHEAD, n_initial_points=6, maximize=maximize, random_state=seed
    )
    n_early, n_unsettled, waits = 0, 0, []
    sign = 1.0 if maximize else -1.0
    run = drive(opt, 120.0, lambda x, t: sign * value(x, t))
    for t, _, t_query, surrogate, history in run:
        if surrogate is None:
            assert t_query == t
            continue
        scales = history["length_scale"]
        assert scales[-1] == pytest.approx(length_scale_of(surrogate.temporal_kernel_))
        if settled(scales):
            assert t <= t_query <= t + LOOKAHEAD * scales[-1] * (1.0 + 1e-12)
            waits.append((t_query - t) / scales[-1])
        else:
            assert t_query == t
            n_early += np.isfinite(scales).sum() < 5
            n_unsettled += np.isfinite(scales).sum() >= 5
    assert n_early == 4  # at least: too few lengthscales to tell
    assert n_unsettled >= 1
    assert len(waits) >= 5
    assert max(waits) > 0.1


def fixed(l_T=40.0):
    return TimeVaryingGPRegressor(RBF(0.2), RBF(l_T), optimizer=None, normalize_y=True)


@pytest.mark.parametrize(("beta", "inside"), [(0.001, True), (9.0, False)])
def test_place_and_time_are_best_together(beta, inside):
    """The upper confidence bound at the query beats a dense grid of places and times."""
    opt = ABO(
        [(0.0, 1.0)],
        lookahead=LOOKAHEAD,
        surrogate=fixed(15.0),
        acquisition=UCB(beta),
        n_initial_points=6,
        random_state=0,
    )
    for t, x in zip(np.linspace(0.0, 60.0, 60), np.random.RandomState(0).uniform(size=60)):
        opt.tell([x], np.cos(0.1 * t) - (x - 0.4) ** 2, t)  # high tide will be at t = 62.8
    x, t_query = timed(opt.suggest(60.0))
    gp, latest = opt.surrogate_, 60.0 + LOOKAHEAD * 15.0
    rows = np.stack(np.meshgrid(GRID, np.linspace(60.0, latest, 201)), axis=-1).reshape(-1, 2)
    mean, std = gp.predict(np.vstack([[*x, t_query], rows]), return_std=True)
    score = mean + np.sqrt(beta) * std
    assert score[0] >= score[1:].max() - 1e-3 * np.ptp(score)
    assert (60.0 < t_query < latest) == inside
    assert inside == (abs(t_query - 62.8) < 1.0)


# --- what it means for the calls ------------------------------------------------------------------


def waiting(domain="box", **options):
    """An ABO whose lengthscale has settled."""
    # It is held, and so settled after five steps. A wide bound makes it worth while to wait.
    options = {"refit_every": 1000, "acquisition": UCB(DimensionBeta(0.2))} | options
    opt = BY_NAME["ABO"].make(domain, **options)
    X = space(domain).sample(10, np.random.RandomState(0))
    for t, x in enumerate(X):
        opt.tell(x, objective(x, t, domain), t)
    assert opt.policy_.settled
    return opt


@pytest.mark.parametrize("domain", DOMAINS)
def test_time_of_the_query_is_not_before_that_of_the_question(domain):
    opt = waiting(domain)
    span = opt.lookahead * length_scale_of(opt.surrogate_.temporal_kernel_)
    waits = []
    for t in (10.0, 11.0, 40.0, 41.0):
        x, query_time = timed(opt.suggest(t))
        assert opt.next_time_ == query_time
        assert t <= query_time <= t + span * (1.0 + 1e-12)
        assert len(points([x], domain)) == 1
        waits.append(query_time - t)
    # Of named parameters there are always some that are no less certain now than later.
    assert domain == "named" or max(waits) > 0.0


def test_while_waiting_it_may_be_asked_again_and_told_earlier():
    opt = waiting()
    x, t = timed(opt.suggest(10.0))
    assert t > 10.2
    assert opt.suggest(10.1).t >= 10.1
    with pytest.raises(InvalidObservationError, match=r"t must be at least 10\.1"):
        opt.ask(10.0)
    opt.tell(x, 0.5, 10.2)
    assert opt.told_X_[-1, 2] == 10.2
    assert opt.ask(10.3).shape == (2,)


def test_in_the_plain_loop_a_query_is_for_now():
    """A caller that takes the point alone cannot wait for its time."""
    opt = waiting()
    for t in (10.0, 10.5, 11.0):
        x = opt.ask(t)
        assert opt.next_time_ == t
        opt.tell(x, objective(x, t))
        assert opt.told_X_[-1].tolist() == [*x, t]
    assert opt.suggest(11.5).t > 11.5
