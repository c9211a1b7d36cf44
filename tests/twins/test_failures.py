"""The probability of success: its model, and what it makes of acquisition functions."""

import numpy as np
import pytest
from contract.failing import UNIT, drive
from numpy.testing import assert_allclose
from optimizers.limited import on_a_line
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, WDBO
from sktvbo.acquisition import UCB, AcquisitionState, ExpectedImprovement, ProbabilityOfImprovement
from sktvbo.acquisition._compiled import CompiledObjective, objective_of
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.acquisition._optimize import optimize
from sktvbo.domain import Box
from sktvbo.optimizers import _failures
from sktvbo.optimizers._durable import run_of
from sktvbo.optimizers._suggest import Choice, joint


@pytest.fixture(scope="module")
def failing():
    """An optimizer that has seen failures, and is to be copied."""
    return drive(WDBO(UNIT, n_initial_points=5, random_state=0), 20)


def chance_of(opt, t, latest=None):
    """Probability of success at a time, or in a window."""
    return joint(Choice(opt._run, None, t, None).causes, t, latest)


def told(opt, x, t, failed):
    opt.tell(x, None if failed else 1.0, float(t), failed=bool(failed))


# --- what is learnt -------------------------------------------------------------------------------


# What is assumed before anything is learnt: the variances of labels, and their mean.
SUCCEEDED, NEAR = 0.01, 0.01


def failed_with(n_succeeded):
    """Variance of a failure after some successes."""
    rate = 1.0 / (10.0 + n_succeeded)
    return rate / (1.0 - rate)


def expected(places, t, X, times, labels, variances):
    """Mean and variance (m,) of labels by a Gaussian process, whose intervals are of length 1."""
    space, time = Matern(0.2, nu=1.5), Matern(50.0, nu=0.5)
    times = np.reshape(times, (-1, 1))
    K = 0.25 * space(X) * time(times) + np.diag(variances)
    k = 0.25 * space(places, X) * time([[t]], times)
    mean = k @ np.linalg.solve(K, labels)
    return mean, 0.25 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)


def probability(mean, variance):
    return norm.cdf(6.0 * (0.5 - mean) / np.sqrt(1.0 + 36.0 * variance))


def test_the_chance_is_that_of_a_gaussian_process_of_labels():
    opt = GPUCB(UNIT, random_state=0)
    opt.tell([0.2, 0.2], 5.0, 0.0)
    opt.tell([0.8, 0.8], -3.0, 1.0)
    opt.tell([0.3, 0.3], t=2.0, failed=True)
    X = np.array([[0.2, 0.2], [0.8, 0.8], [0.3, 0.3]])
    places = np.random.RandomState(0).uniform(size=(7, 2))
    variances = np.array([SUCCEEDED, SUCCEEDED, failed_with(2)]) + NEAR
    p = probability(*expected(places, 4.0, X, np.arange(3.0), [0.0, 0.0, 1.0], variances))
    weight = p * np.minimum(2.0 * p, 1.0) ** 10
    chance = chance_of(opt, 4.0)
    assert_allclose(np.exp(chance.log(places)), p, rtol=1e-9)
    assert_allclose(np.exp(chance.log_weight(places)), weight, rtol=1e-9)


def test_a_place_that_failed_once_among_many_is_no_bad_place():
    opt, here = GPUCB(UNIT, random_state=0), np.array([[0.3, 0.3]])
    opt.tell_many([[0.3, 0.3]] * 9, [1.0] * 9, [float(t) for t in range(9)])
    opt.tell([0.32, 0.3], t=9.0, failed=True)
    assert chance_of(opt, 9.0).log(here)[0] > np.log(0.5)
    opt.tell_many([[0.3, 0.305]] * 4, None, [10.0, 11.0, 12.0, 13.0], failed=[True] * 4)
    assert chance_of(opt, 14.0).log(here)[0] < np.log(0.2)
    opt.tell([0.3, 0.3], 1.0, 15.0)
    assert chance_of(opt, 15.0).log(here)[0] > np.log(0.9)


def test_labels_of_both_sides_of_an_edge_are_not_averaged():
    rises, places = [], np.linspace(0.0, 1.0, 51)
    for seed in range(3):
        opt = GPUCB([(0.0, 1.0)], random_state=0)
        for t, x in enumerate(np.random.RandomState(seed).permutation(places)):
            told(opt, [x], t, x > 0.5)
        rises.append(np.ptp(np.exp(chance_of(opt, 51.0).log(np.array([[0.46], [0.54]])))))
    assert np.mean(rises) > 0.5


@pytest.mark.parametrize(("bad", "rate"), [("nowhere", 0.1), ("half", 0.0), ("ball", 0.1)])
def test_failures_by_chance_and_by_place_are_told_apart(bad, rate):
    regions = {
        "nowhere": lambda x: False,
        "half": lambda x: x[0] > 0.5,
        "ball": lambda x: np.hypot(*np.subtract(x, 0.5)) < 0.3,
    }
    learnt = []
    for seed in range(2):
        opt, rng = GPUCB(UNIT, n_initial_points=1000, random_state=0), np.random.RandomState(seed)
        for t in range(250):
            x = rng.uniform(size=2)
            told(opt, x, t, regions[bad](x) or rng.uniform() < rate)
        learnt.append(opt._run.failures.learnt[2])
        p = np.exp(chance_of(opt, 250.0).log(np.array([[0.1, 0.1], [0.6, 0.5], [0.1, 0.9]])))
        assert p[[0, 2]].min() > 0.5
        assert p[1] > 0.5 if bad == "nowhere" else p[1] < p[[0, 2]].min() - 0.2
    assert 0.4 * rate < np.mean(learnt) < 0.03 + 1.5 * rate


@pytest.mark.slow
def test_failures_that_are_older_than_the_successes_in_use_do_not_count():
    opt, rng = GPUCB(UNIT, n_initial_points=10_000, random_state=0), np.random.RandomState(0)
    failed, y = rng.uniform(size=1500) < 0.1, np.ones(1500)
    y[failed] = np.nan
    opt.tell_many(rng.uniform(size=(1500, 2)), y, np.arange(1500.0), failed=failed)
    assert 0.05 < opt._run.failures.learnt[2] < 0.15


def test_failures_fade():
    here, far = np.array([[0.3, 0.3]]), np.array([[0.0, 1.0]])
    for n_failed, chance in ((1, 0.3), (3, 0.1)):
        opt = GPUCB(UNIT, random_state=0)
        opt.tell([0.8, 0.8], 1.0, 0.0)
        for t in range(n_failed):
            opt.tell([0.3, 0.3], t=1.0 + t, failed=True)
        now, later = chance_of(opt, float(n_failed)), chance_of(opt, 500.0)
        assert now.log(here)[0] < np.log(chance)
        assert_allclose(later.log(here), later.log(far), rtol=1e-4)


def test_what_always_fails_and_what_only_for_a_while_are_told_apart():
    learnt = {}
    rng = np.random.RandomState(0)
    for kind in ("stands", "moves"):
        opt = GPUCB(UNIT, n_initial_points=1000, random_state=0)
        for t in range(120):
            x = rng.uniform(size=2)
            edge = 0.0 if kind == "stands" else 0.5 * np.sin(t / 6.0)
            told(opt, x, t, x[0] < 0.5 + edge)
        learnt[kind] = opt._run.failures.learnt
    assert learnt["stands"][1] > 10.0 * learnt["moves"][1]


@pytest.mark.parametrize("window", [False, True])
def test_slopes_of_the_chance(failing, window):
    rng = np.random.RandomState(0)
    chance = chance_of(failing, 20.0, 25.0 if window else None)
    U = rng.uniform(size=(6, 2 + window))
    log_weight, slopes = chance.log_weight_with_slopes(U)
    assert_allclose(log_weight, chance.log_weight(U), rtol=1e-9)
    for i in range(U.shape[1]):
        step = 1e-6 * np.eye(U.shape[1])[i]
        differences = (chance.log_weight(U + step) - chance.log_weight(U - step)) / 2e-6
        assert_allclose(slopes[:, i], differences, rtol=1e-5, atol=1e-7)


# --- what it does to an acquisition function ------------------------------------------------------


def weighed(opt, acquisition, floor=0.2):
    posterior = opt.surrogate_.posterior_at(20.0)
    score = Score(acquisition, AcquisitionState(20, 20, 2, opt.surrogate_, posterior))
    return score.weighed(chance_of(opt, 20.0), floor), score, posterior


@pytest.mark.parametrize(
    "acquisition", [UCB(2.0), ExpectedImprovement(), ProbabilityOfImprovement()]
)
def test_slopes_of_the_weighed_score(failing, acquisition):
    score, _, _ = weighed(failing, acquisition)
    rng = np.random.RandomState(1)
    mean, std, U = rng.normal(size=8), rng.uniform(0.1, 1.0, size=8), rng.uniform(size=(8, 2))
    value, on_mean, on_std, on_place = score.with_gradient(mean, std, U)
    assert_allclose(score.values(mean, std, U), value, rtol=1e-9)
    for found, (a, b, *c) in zip((on_mean, on_std, *on_place.T), 1e-6 * np.eye(4)):
        up, down = (score.values(mean + s * a, std + s * b, U + s * np.array(c)) for s in (1, -1))
        assert_allclose(found, (up - down) / 2e-6, rtol=2e-5, atol=1e-7)


def test_improvements_are_multiplied_and_bounds_are_expected(failing):
    U = np.random.RandomState(2).uniform(size=(50, 2))
    for kind, worth in ((ExpectedImprovement, np.exp), (ProbabilityOfImprovement, norm.cdf)):
        score, plain, posterior = weighed(failing, kind())
        p, value = np.exp(chance_of(failing, 20.0).log_weight(U)), plain.values(*posterior(U), U)
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
    chance, U = chance_of(failing, 20.0), np.random.RandomState(0).uniform(size=(200, 2))
    p = np.exp(chance.log_weight(U))
    draw = chance.weigh_draw(lambda U: 3.0 + U[:, 0])
    floor = 3.0 + U[:, 0].min()
    lost = np.ptp(U[:, 0]) * np.maximum(1.0 - 2.0 * p, 0.0)
    assert_allclose(draw(U), p * (3.0 + U[:, 0]) + (1.0 - p) * floor - lost, rtol=1e-12)
    assert (lost > 0.0).any()


@pytest.mark.parametrize("options", [{}, {"max_step": 0.1}], ids=["free", "limited"])
@pytest.mark.parametrize("n_initial", [4, 20], ids=["modelled", "random"])
def test_the_chance_of_success_is_worked_out_once_a_call(options, n_initial, monkeypatch):
    opt = drive(WDBO(UNIT, n_initial_points=n_initial, random_state=0, **options), 8)
    opt.tell([0.5, 0.5], failed=True, t=8.0)
    fitted, fits = _failures._fitted, []
    monkeypatch.setattr(_failures, "_fitted", lambda *of: fits.append(of) or fitted(*of))
    opt.suggest(9.0, n=3)
    assert len(fits) == 1


def test_in_a_wider_domain_the_learnt_lengthscale_keeps_its_meaning():
    opt = WDBO([(0.0, 1.0)], random_state=0)
    for t in range(12):
        x = (0.37 * t) % 1.0
        told(opt, [x], t, x > 0.6)
    length, *others = run_of(opt).failures.learnt
    wider = opt.with_parameters(domain=[(0.0, 4.0)])
    assert run_of(wider).failures.learnt == (length / 4.0, *others)


def of_failures(opt, t):
    """Probability at a time that a query does not fail, None if nothing is known of it."""
    cause = Choice(run_of(opt), None, None, t, None, t).causes.get("failures")
    return cause and cause(t, t, None)


def test_a_failure_that_a_limit_explains_is_no_other_failure():
    opt = on_a_line({"load": (None, 0.8)}, GPUCB)
    for t in range(4):
        opt.tell([0.2 * t], failed=True, t=float(t), outcomes={"load": 0.9})
    # Without a model of the outcome it is a failure as any.
    assert np.exp(of_failures(opt, 4.0).log(np.array([[0.2]])))[0] < 0.5
    for t in range(4, 10):
        opt.tell([0.09 * t], 1.0, float(t), outcomes={"load": 0.1})
    assert of_failures(opt, 9.0) is None
    opt.tell([0.95], failed=True, t=10.0, outcomes={"load": 0.7})
    found = np.exp(of_failures(opt, 10.0).log(np.array([[0.2], [0.95]])))
    assert found.tolist() == pytest.approx([1.0, 0.0], abs=0.35)
    assert opt.n_failed_ == 5
