"""SparQ-GP-UCB's own decisions: what it discards, what it asks the expert, what it makes of it."""

import numpy as np
import pytest
from optimizers.dense import GRID, check_query, information_gain
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import SparQGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import Box, FiniteSet
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError
from sktvbo.gaussian_process import QuadraticInjection


def value(X, t):
    return 20.0 + 4.0 * np.sin(6.0 * np.asarray(X)[:, 0] + 0.3 * t)


def make(**options):
    return SparQGPUCB(
        **({"domain": [(0.0, 1.0)], "n_initial_points": 8, "random_state": 0} | options)
    )


def step(opt, t, expert=True):
    if expert:
        places = opt.ask_expert(t)
        opt.tell_expert(places, value(places, t))
    x = opt.ask(t)
    opt.tell(x, value([x], t)[0])


# --- what it discards -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cap", "g"),
    [
        ("log", np.log),
        (4.0, lambda s: 4.0),
        (lambda s: s**0.2, lambda s: s**0.2),
        (0.0, lambda s: 0.0),
    ],
    ids=["log", "constant", "callable", "nothing"],
)
def test_discards_what_became_too_noisy(cap, g):
    """Observations with 1 + age² > g(t), but for the newest."""
    opt = make(noise_cap=cap)
    rng = np.random.RandomState(0)
    kept, now, longest = np.empty(0), 0.0, 0
    for s in range(1, 61):
        now += rng.exponential(0.4)
        step(opt, now, expert=s % 4 == 0)
        kept = np.append(kept, now)
        if s >= 8:
            fresh = 1.0 + (now - kept) ** 2 <= g(s)
            fresh[-1] = True
            kept = kept[fresh]
            assert opt.history_["cap"][-1] == pytest.approx(g(s))
        np.testing.assert_array_equal(opt.X_[:, 1], kept)
        longest = max(longest, len(kept))
    assert opt.n_removed_ > 20
    assert len(kept) == 1 if cap == 0.0 else longest > 3


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
    arms = FiniteSet(
        np.linspace(-3.0, 5.0, 40)[:, np.newaxis]
    )  # places come again, and are far apart
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
        RBF(0.3),
        ConstantKernel(1.0, "fixed"),
        noise_model=QuadraticInjection(),
        optimizer=None,
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
    np.testing.assert_array_equal(*rounds)
    assert len(np.unique(rounds[0], axis=0)) > 1


def test_named_parameters_are_asked_about_by_name():
    domain = {"gain": ("log-real", 0.01, 1.0), "mode": ("categorical", ["slow", "fast"])}
    opt = make(domain=domain)

    def measure(x, t):
        return np.cos(np.log(x["gain"]) + 0.1 * t) + (x["mode"] == "fast")

    for t in range(14):
        places = opt.ask_expert(float(t))
        assert isinstance(places, list)
        assert bool(places) == (t >= 8)
        assert all(isinstance(x, dict) and set(x) == {"gain", "mode"} for x in places)
        opt.tell_expert(places, [measure(x, t) for x in places])
        assert len(opt.expert_X_) == len(opt.expert_y_) == len(places)
        x = opt.ask(float(t))
        opt.tell(x, measure(x, t))


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
        places = opt.ask_expert(t)
        answers = value(places, t)
        opt.tell_expert(places, answers)
        assert len(places) == 9
        np.testing.assert_array_equal(opt.expert_X_, np.column_stack([places, np.full(9, t)]))
        np.testing.assert_array_equal(opt.expert_y_, answers)
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


def test_answers_are_for_the_next_query_alone(asked):
    opt = make(noise_cap=50.0)
    for t in np.arange(12.0):
        step(opt, t)
    step(opt, 12.0)
    x = opt.ask(13.0)  # without the expert
    X, y = opt.X_[:, :1], opt.y_
    noise = opt.surrogate_.noise_variance_ * y.var() * (1.0 + (13.0 - opt.X_[:, 1]) ** 2)
    mean, std, width = posterior(opt, X, y, noise)
    got = asked["state"].posterior(GRID)
    np.testing.assert_allclose(got, (mean, std), rtol=1e-5)
    assert asked["width"] == pytest.approx(width, rel=1e-6)
    assert len(X) >= 8
    opt.tell(x, value([x], 13.0)[0])


def test_answers_age_until_the_query(asked):
    opt = make(noise_cap=50.0)
    for t in np.arange(12.0):
        step(opt, t)
    places = opt.ask_expert(12.0)
    answers = value(places, 12.0)
    opt.tell_expert(places, answers)
    x = opt.ask(14.0)
    X, y = np.vstack([opt.X_[:, :1], places]), np.append(opt.y_, answers)
    ages = 14.0 - np.append(opt.X_[:, 1], np.full(len(places), 12.0))
    noise = opt.surrogate_.noise_variance_ * y.var() * (1.0 + ages**2)
    mean, std, _ = posterior(opt, X, y, noise)
    np.testing.assert_allclose(asked["state"].posterior(GRID), (mean, std), rtol=1e-5)
    opt.tell(x, value([x], 14.0)[0])


def test_told_again_the_expert_is_believed_the_second_time():
    opt, twin = make(), make()
    for t in np.arange(10.0):
        step(opt, t), step(twin, t)
    places = opt.ask_expert(10.0)
    np.testing.assert_array_equal(places, twin.ask_expert(10.0))
    opt.tell_expert(places, value(places, 3.0))
    opt.tell_expert(places, value(places, 10.0))
    twin.tell_expert(places, value(places, 10.0))
    np.testing.assert_array_equal(opt.expert_y_, twin.expert_y_)
    assert opt.ask(10.0) == pytest.approx(twin.ask(10.0), abs=0.02)


def test_the_expert_helps():
    """Against a fast change, what was seen a while ago is worth nothing."""
    regrets = []
    for expert in (True, False):
        opt, regret = make(), 0.0
        for t in range(40):
            if expert:
                places = opt.ask_expert(float(t))
                opt.tell_expert(places, value(places, t))
            x = opt.ask(float(t))
            opt.tell(x, value([x], t)[0])
            regret += value(GRID, t).max() - value([x], t)[0]
        regrets.append(regret)
    assert regrets[0] < 0.5 * regrets[1]


# --- errors ---------------------------------------------------------------------------------------


def test_expert_before_there_are_data():
    opt = make()
    with pytest.raises(AskTellError, match=r"t must be given unless ask_expert\(\) was called"):
        opt.tell_expert([[0.5]], [1.0])
    assert opt.ask_expert(0.0).shape == (0, 1)
    opt.tell_expert(np.empty((0, 1)), [])  # the answer to no question
    with pytest.raises(AskTellError, match=r"at least n_initial_points=8\. Got 0"):
        opt.tell_expert([[0.5]], [1.0])


@pytest.mark.parametrize(
    ("X", "y", "t", "error", "message"),
    [
        (
            [[0.5], [0.6]],
            [1.0],
            None,
            InvalidObservationError,
            r"y must be an array of shape \(2,\)",
        ),
        ([[0.5]], [[1.0]], None, InvalidObservationError, r"y must be .* Got shape \(1, 1\)"),
        ([[0.5]], 1.0, None, InvalidObservationError, r"y must be .* Got shape \(\) instead"),
        ([[0.5]], [np.nan], None, InvalidObservationError, "y must be finite"),
        ([[0.5]], ["high"], None, InvalidObservationError, "y must be real numbers"),
        (
            [],
            [1.0],
            None,
            InvalidObservationError,
            r"X must be .* 1 coordinate\(s\) along its last axis",
        ),
        ([[0.5]], [], None, InvalidObservationError, r"y must be .* Got shape \(0,\)"),
        (0.5, [1.0], None, InvalidObservationError, "X must"),
        ([[0.5, 0.5]], [1.0], None, InvalidObservationError, r"X must .* 1 coordinate"),
        ([[np.nan]], [1.0], None, InvalidObservationError, "X must be finite"),
        ([[1.5]], [1.0], None, DomainError, r"X\[0, 0\] must be in \[0.0, 1.0\]"),
        ([[0.5]], [1.0], np.nan, InvalidObservationError, "t must be finite"),
        ([[0.5]], [1.0], 3.0, InvalidObservationError, "t must be at least"),
    ],
)
def test_a_bad_answer_says_why_and_changes_nothing(X, y, t, error, message):
    opt, twin = make(), make()
    for now in np.arange(10.0):
        step(opt, now), step(twin, now)
    places = opt.ask_expert(10.0)
    np.testing.assert_array_equal(places, twin.ask_expert(10.0))
    with pytest.raises(error, match=message):
        opt.tell_expert(X, y, t)
    assert opt.expert_X_.shape == (0, 2)
    for o in (opt, twin):  # the corrected call succeeds
        o.tell_expert(places, value(places, 10.0))
    np.testing.assert_array_equal(opt.ask(10.0), twin.ask(10.0))


def test_failure_while_consulting_changes_nothing(monkeypatch):
    opt, twin = make(), make()
    for now in np.arange(10.0):
        step(opt, now), step(twin, now)
    places = opt.ask_expert(10.0)
    twin.ask_expert(10.0)

    def fail(*args, **options):
        raise MemoryError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(type(opt.surrogate_), "updated", fail)
        with pytest.raises(MemoryError, match="planted"):
            opt.tell_expert(places, value(places, 10.0))
    with monkeypatch.context() as patch:
        patch.setattr(Box, "decode_all", fail)
        with pytest.raises(MemoryError, match="planted"):
            opt.ask_expert(11.0)
    for o in (opt, twin):
        o.tell_expert(places, value(places, 10.0))
    np.testing.assert_array_equal(opt.ask(10.0), twin.ask(10.0))


def test_callers_answers_are_neither_changed_nor_kept():
    opt = make()
    for t in np.arange(9.0):
        step(opt, t)
    places = opt.ask_expert(9.0)
    mine, answers = places.copy(), value(places, 9.0)
    opt.tell_expert(mine, answers)
    mine[:], answers[:] = 77.0, 77.0
    opt.expert_X_[:] = 77.0
    opt.expert_y_[:] = 77.0
    np.testing.assert_array_equal(opt.expert_X_[:, :1], places)
    np.testing.assert_array_equal(opt.expert_y_, value(places, 9.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_queries": -1}, "'n_queries' parameter .* 'log', an int in the range"),
        ({"n_queries": 2.5}, "'n_queries' parameter"),
        ({"n_queries": "all"}, "'n_queries' parameter"),
        ({"n_queries": lambda t: None}, "'n_queries' parameter"),
        ({"noise_cap": -1.0}, "'cap' parameter of NoiseThreshold"),
        ({"noise_cap": "high"}, "'cap' parameter of NoiseThreshold"),
        ({"expert_noise_variance": 0.0}, "'expert_noise_variance' parameter .* float in the range"),
        ({"expert_noise_variance": "none"}, "'expert_noise_variance' parameter"),
    ],
)
def test_bad_parameters(options, message):
    opt = make(n_initial_points=2, **options)
    with pytest.raises(ValueError, match=message):
        [(opt.tell([0.3 * t], 1.0, t), opt.ask_expert(t)) for t in range(3)]


def test_what_the_expert_taught_is_not_searched_again_from_stale_rows():
    opt = SparQGPUCB([(0.0, 1.0)], n_initial_points=8, random_state=0)
    for t in range(14):
        places = opt.ask_expert(float(t))
        if len(places):
            opt.tell_expert(places, np.sin(6.0 * places[:, 0] + 0.3 * t))
        x = opt.ask(float(t))
        taught = opt.surrogate_.theta_ if opt.surrogate_ is not None else None
        opt.tell(x, np.sin(6.0 * x[0] + 0.3 * t))
        if len(places):
            np.testing.assert_array_equal(opt.surrogate_.theta_, taught)
    assert len(opt.X_) < 8
