"""Algorithms as published: their queries are those of the papers' equations, computed here."""

import copy

import numpy as np
import pytest
from contract.cases import ALGORITHMS
from numpy.testing import assert_allclose, assert_array_equal
from papers.cases import HORIZONS
from scipy.stats import gamma, qmc
from sklearn.gaussian_process.kernels import RBF

from sktvbo import Journal, papers
from sktvbo.acquisition import AcquisitionState
from sktvbo.domain import Arms, FiniteSet
from sktvbo.exceptions import ModelWarning
from sktvbo.kernels import Empirical
from sktvbo.theory import dataset_size_criterion

pytestmark = pytest.mark.filterwarnings(
    "ignore:SparQ-GP-UCB was asked:sktvbo.exceptions.ModelWarning"
)

NAMES = [entry.name for entry in papers.available()]
BOX = [(0.0, 2.0), (-1.0, 1.0)]
# The unit square holds them as they are, since they span it.
PLACES = np.vstack([[0.0, 0.0], [1.0, 1.0], np.random.RandomState(3).uniform(size=(14, 2))])
STEPS = 25
# Few initial points, so that 25 steps show the algorithm.
FEW = {"n_initial_points": 6}


def f(x, t):
    """A bump that moves, and jumps at step 15, with a little noise."""
    centre = np.array([0.2 + 0.01 * t, 0.3 if t < 15 else 0.9])
    return 2.0 * np.exp(-8.0 * np.sum((x - centre) ** 2)) + 0.05 * np.sin(37.0 * t)


def make(name, domain=None, **parameters):
    few = FEW if name in ("UI-TVBO", "ABO", "W-DBO", "BOLT") else {}
    return papers.published(
        name, domain, **HORIZONS.get(name, {}) | few | {"random_state": 0} | parameters
    )


def run(opt, steps=range(STEPS), duration=1.0):
    """Ask and tell; yield step, optimizer before the query, and the query."""
    for t in steps:
        before = copy.deepcopy(opt)
        x = opt.ask(duration * t)
        yield t, before, x
        opt.tell(x, f(x, t))


def told(places, values, *args, **parameters):
    """Return a published algorithm that was told values of places, at times 0, 1, ...."""
    opt = make(*args, **parameters)
    for t, (x, value) in enumerate(zip(places, values)):
        opt.tell(x, value, t)
    return opt


# --- the papers' formulas -------------------------------------------------------------------------


def se(A, B, l=0.2):
    return np.exp(-0.5 * np.sum(((A[:, None] - B[None]) / l) ** 2, axis=2))


def matern52(A, B, l):
    r = np.sqrt(5.0) * np.sqrt(np.sum((A[:, None] - B[None]) ** 2, axis=2)) / l
    return (1.0 + r + r**2 / 3.0) * np.exp(-r)


def posterior(X, y, noise, kernel, now):
    """Mean and standard deviation at all places at a time, zero prior mean."""
    Q = np.column_stack([PLACES, np.full(len(PLACES), float(now))])
    k = kernel(Q, X)
    solve = np.linalg.solve(kernel(X, X) + np.diag(np.broadcast_to(noise, len(y))), k.T)
    variance = np.diag(kernel(Q, Q)) - np.sum(k.T * solve, axis=0)
    return solve.T @ y, np.sqrt(np.maximum(variance, 0.0))


def static(A, B):
    return se(A[:, :-1], B[:, :-1])


def greedy_gain(n, variance):
    """Information gain of n points of the unit square, chosen greedily, from determinants."""
    C = qmc.Sobol(2, scramble=False).random_base2(8)
    K, chosen = se(C, C), []
    for _ in range(n):
        left = np.diag(K)
        if chosen:
            k = K[:, chosen]
            noisy = K[np.ix_(chosen, chosen)] + variance * np.eye(len(chosen))
            left = left - np.sum(k * np.linalg.solve(noisy, k.T).T, axis=1)
        chosen.append(int(np.argmax(left)))
    return 0.5 * np.linalg.slogdet(np.eye(n) + K[np.ix_(chosen, chosen)] / variance)[1]


def maximizes(x, mean, std, beta):
    """True if the query has the largest bound; None where the bounds are all the same."""
    score = mean + np.sqrt(beta) * std
    at = np.flatnonzero((x == PLACES).all(axis=1))
    assert len(at) == 1
    return bool(score[at[0]] >= score.max() - 1e-6) if np.ptp(score) > 1e-3 else None


def assert_maximizes(*arguments):
    assert maximizes(*arguments) is True


def fading(A, B):
    return static(A, B) * (1.0 - 0.03) ** (np.abs(A[:, None, -1] - B[None, :, -1]) / 2.0)


def bogunovic_beta(t, X):
    """β of section 5.1; steps count from 1."""
    return 0.8 * np.log(4.0 * (t + 1))


def frequentist_beta(t, X):
    gain = greedy_gain(len(X), 1.2)
    return (1.0 + np.sqrt(0.1) * np.sqrt(2.0 * (gain + 1.0 - np.log(0.1)))) ** 2


@pytest.mark.parametrize(
    ("name", "parameters", "size", "noise", "kernel", "beta"),
    [
        ("GP-UCB", {}, lambda t: t, 0.01, static, bogunovic_beta),
        ("TV-GP-UCB", {"epsilon": 0.03}, lambda t: t, 0.01, fading, bogunovic_beta),
        ("R-GP-UCB", {"block_length": 6}, lambda t: t % 6, 0.01, static, bogunovic_beta),
        ("IGP-UCB", {"horizon": 10}, lambda t: t, 1.2, static, frequentist_beta),
        ("SW-GP-UCB", {"window": 7}, lambda t: min(t, 7), 1.2, static, frequentist_beta),
        ("BR-GP-UCB", {"reset_period": 7}, lambda t: t % 7, 1.2, static, frequentist_beta),
    ],
)
def test_queries_maximize_the_equations(name, parameters, size, noise, kernel, beta):
    horizon = {"horizon": 10} if beta is frequentist_beta else {}
    opt = make(name, FiniteSet(PLACES), **horizon | parameters)
    for t, before, x in run(opt):
        if size(t):
            X, y = before.X_, before.y_
            assert len(X) == size(t)
            assert_maximizes(x, *posterior(X, y, noise, kernel, t), beta(t, X))


@pytest.mark.parametrize(("block_length", "ignores"), [(4, True), (5, False)])
def test_the_first_query_of_a_block_ignores_the_data(block_length, ignores):
    X = np.random.RandomState(1).uniform(size=(4, 2))
    plus, minus = (
        told(X, sign * X[:, 0], "R-GP-UCB", BOX, block_length=block_length).ask(4)
        for sign in (1.0, -1.0)
    )
    assert np.abs(plus - minus).max() == 0.0 if ignores else np.abs(plus - minus).max() > 0.1


@pytest.mark.parametrize("epsilon", [0.05, 0.001])
def test_block_lengths_are_those_of_et(epsilon):
    opt = told([[0.5, 0.0], [0.5, 0.1]], np.zeros(2), "R-GP-UCB", BOX, epsilon=epsilon, horizon=400)
    assert opt.policy_.period_ == np.ceil(12.0 * epsilon**-0.25)


def test_et_gp_ucb_maximizes_and_resets():
    opt = make("ET-GP-UCB", FiniteSet(PLACES))
    steps, resets = 1, 0
    for t, before, x in run(opt):
        if not t:
            continue
        X, y = before.X_, before.y_
        mean, std = posterior(X, y, 0.02, static, t)
        assert_maximizes(x, mean, std, 0.4 * np.log(4.0 * (t + 1)))
        steps += 1
        rho = 2.0 * np.log(2.0 * np.pi**2 * steps**2 / 6.0 / 0.1)
        at = np.flatnonzero((x == PLACES).all(axis=1))[0]
        reset = abs(f(x, t) - mean[at]) > np.sqrt(rho) * std[at] + np.sqrt(0.02 * rho)
        copied = copy.deepcopy(opt)
        copied.tell(x, f(x, t))
        assert len(copied.X_) == (1 if reset else len(X) + 1)
        resets += reset
        steps = 0 if reset else steps
    assert resets > 0


@pytest.mark.parametrize(("name", "length"), [("SW-GP-UCB", "window_"), ("BR-GP-UCB", "period_")])
def test_window_and_block_follow_the_variation_budget(name, length):
    places = [[0.5, 0.0], [0.5, 0.1], [0.5, 0.2]]
    opt = told(places, np.zeros(3), name, BOX, horizon=60, variation_budget=4.0)
    expected = np.ceil(greedy_gain(60, 1.0 + 2.0 / 60) ** 0.25 * np.sqrt(60 / 4.0))
    assert getattr(opt.policy_, length) == expected


def test_w_gp_ucb_maximizes_its_equations():
    """With features φ, k(x, x') = φ'φ, in the matrices V and Ṽ of weighted linear bandits."""
    K = se(PLACES, PLACES)
    features = np.linalg.cholesky(K + 1e-12 * np.eye(len(K)))
    discount = 0.9
    for t, before, x in run(
        make("W-GP-UCB", FiniteSet(PLACES), discount=discount, regularizer=2.0)
    ):
        if not t:
            continue
        X, y = before.X_, before.y_
        rows = [np.flatnonzero((row == PLACES).all(axis=1))[0] for row in X[:, :-1]]
        w, lam = discount ** -X[:, -1], 2.0 * discount**-t
        Phi, eye = features[rows], np.eye(len(K))
        V = (Phi.T * w) @ Phi + lam * eye
        Vt = (Phi.T * w**2) @ Phi + lam**2 / 2.0 * eye
        mean = features @ np.linalg.solve(V, Phi.T @ (w * y))
        middle = np.linalg.solve(V, np.linalg.solve(V, Vt).T)
        std = np.sqrt(2.0 * np.sum((features @ middle) * features, axis=1))
        noise = 2.0 * discount ** -(t - X[:, -1])
        gain = (
            0.5 * np.linalg.slogdet(np.eye(t) + static(X, X) / np.sqrt(np.outer(noise, noise)))[1]
        )
        beta = (1.0 + np.sqrt(0.1 / 2.0) * np.sqrt(2.0 * (gain - np.log(0.1)))) ** 2
        assert_maximizes(x, mean, std, beta)


@pytest.mark.parametrize("horizon", [60, 60.0])
def test_the_discount_follows_the_variation_budget(horizon):
    opt = make("W-GP-UCB", BOX, horizon=horizon, variation_budget=0.5)
    expected = 1.0 - greedy_gain(60, 1.0) ** -0.25 * np.sqrt(0.5 / 60)
    assert_allclose(opt.surrogate.noise_model.discount, expected)


def test_ui_tvbo_maximizes_its_equations():
    opt = make("UI-TVBO", FiniteSet(PLACES))
    for t, before, x in run(opt, range(3, 3 + STEPS)):
        if before.n_told_ < 6 if t > 3 else True:
            continue
        X, y = before.X_, before.y_
        l = before.surrogate_.spatial_kernel_.length_scale
        assert np.shape(l) == (2,)
        assert np.all((l >= 0.5 / 8.0) & (l <= 6.0 / 8.0))
        assert_allclose(before.surrogate_.noise_std_, 0.005)
        mean0, std0 = y[:6].mean(), y[:6].std()

        def kernel(A, B, l=l):
            since = np.minimum(A[:, None, -1], B[None, :, -1]) - 3.0
            return se(A[:, :-1], B[:, :-1], l) * (1.0 + 0.03 * since)

        mean, std = posterior(X, (y - mean0) / std0, (0.005 / std0) ** 2, kernel, t)
        assert_maximizes(x, mean, std, 2.0)
    assert before.n_removed_ == 0


def test_the_prior_of_ui_tvbo_is_that_of_its_code():
    opt = make("UI-TVBO", BOX)  # 8 wide
    for _ in run(opt, range(6)):
        pass
    prior, x = opt.surrogate_.hyperpriors["spatial_kernel__length_scale"], np.array([0.6, 1.8])
    assert_allclose(prior.logpdf(x / 8.0), gamma(6.0, scale=0.3).logpdf(x) + np.log(8.0))
    assert_allclose(opt.surrogate_.spatial_kernel.length_scale, [1.8 / 8.0] * 2)


def test_abo_maximizes_its_equations():
    opt, found = make("ABO", FiniteSet(PLACES)), []
    for t, before, x in run(opt):
        if t < 6:
            continue
        X, y = before.X_, before.y_
        gp = before.surrogate_
        scales = np.append(gp.spatial_kernel_.length_scale, gp.temporal_kernel_.length_scale)
        assert len(scales) == 3

        def kernel(A, B, gp=gp, scales=scales):
            return gp.signal_variance_ * se(A, B, scales)

        mean, std = posterior(X, y, gp.noise_variance_, kernel, t)
        kappa = np.sqrt(2.0 * np.log(t ** (3.0 / 2.0 + 2.0) * np.pi**2 / 0.3)) / 5.0
        found.append(maximizes(x, mean, std, kappa**2))
    # The likelihood finds pure noise at some steps.
    assert found.count(True) >= 8
    assert False not in found


class Scaled:
    """A surrogate of which only the temporal lengthscale matters."""

    def __init__(self, length_scale):
        self.temporal_kernel_ = RBF(length_scale)


def test_the_lengthscale_of_abo_is_stable_at_the_third_hit_for_good():
    policy = make("ABO")._make_policy()
    lengths = [1.0] * 5 + [1.3, 1.39, 1.45, 9.0, 9.0]
    for length in lengths:
        policy.after_add(Scaled(length), 0.0)
        # From the sixth on: |1.3 − 1|/4 and |1.39 − 1|/4 are hits, |1.45 − 1|/4 = 0.1125 is none.
        assert not policy.settled
    policy.after_add(Scaled(1.5), 0.0)
    assert policy.settled
    policy.after_add(Scaled(40.0), 0.0)
    assert policy.settled


def test_w_dbo_maximizes_its_equations_and_pays_from_its_budget():
    opt, found, removed = make("W-DBO", FiniteSet(PLACES)), [], 0
    for t, before, x in run(opt, range(40), duration=0.05):
        if t < 6:
            continue
        X, y = before.X_, before.y_
        gp = before.surrogate_
        l_S, l_T = gp.spatial_kernel_.length_scale, gp.temporal_kernel_.length_scale

        def kernel(A, B, gp=gp, l_S=l_S, l_T=l_T):
            r = np.sqrt(3.0) * np.abs(A[:, None, -1] - B[None, :, -1]) / l_T
            temporal = (1.0 + r) * np.exp(-r)
            return gp.signal_variance_ * matern52(A[:, :-1], B[:, :-1], l_S) * temporal

        z = (y - y.mean()) / y.std()
        bounds = posterior(X, z, gp.noise_variance_, kernel, 0.05 * t)
        found.append(maximizes(x, *bounds, 0.2 * 2 * np.log(2.0 * len(X))))
        after = copy.deepcopy(opt)
        after.tell(x, f(x, t))
        # Eq. (80), with l_T of the start of the interval.
        budget = before.policy_.budget_ * 1.25 ** (0.05 / l_T)
        for _, relevancy in after.policy_.removals_:
            assert budget > 1.0 + relevancy
            budget /= 1.0 + relevancy
        assert_allclose(after.policy_.budget_, budget)
        least = after.surrogate_.relevancy(now=0.05 * t).min()
        assert budget <= (1.0 + least) * (1.0 + 1e-6) or len(after.X_) == 2
        removed = after.n_removed_
    assert removed > 0
    assert found.count(True) >= 15
    assert False not in found


def test_bolt_removes_one_observation_and_fits_a_cubic():
    opt = make("BOLT", FiniteSet(PLACES), max_size=9)
    sizes = [len(before.X_) if t else 0 for t, before, _ in run(opt)]
    assert max(sizes) == sizes[-1] == 9
    opt = make("BOLT", FiniteSet(PLACES), max_size=20)
    for _ in run(opt, range(20)):
        pass
    surrogate = opt.surrogate_
    rows = type(opt._make_policy())(12).after_add(surrogate, 19.0)
    assert_array_equal(rows, [np.argmin(surrogate.relevancy(now=19.0))])

    class Told:
        query_sizes = np.array([6, 7, 8, 9, 10, 11, 12])
        query_times = np.array([0.0, 1.0, 2.5, 3.0, 4.6, 6.0, 8.5])

    policy = type(opt._make_policy())()
    policy.watch(Told)
    fitted = np.polyfit(Told.query_sizes[:-1], np.diff(Told.query_times), 3)
    assert_allclose(policy.coefficients_, fitted[::-1], rtol=1e-6)
    policy.coefficients_ = (0.2, 0.0, 0.0, 1e-4)
    policy.after_add(surrogate, 19.0)
    values = [
        dataset_size_criterion(surrogate.temporal_kernel_, policy.response_time, n)
        for n in range(1, 200)
    ]
    assert policy.max_size_ == 1 + np.argmax(values)


def sparq_bounds(opt, now, latest):
    """Return mean and standard deviation at all places, and β of theorem 3.1."""
    gp = opt.belief_
    X, y, noise = gp.X_train_, gp.y_train_, 0.01 * (1.0 + (latest - gp.X_train_[:, -1]) ** 2)

    def kernel(A, B):
        return gp.signal_variance_ * se(A[:, :-1], B[:, :-1], gp.spatial_kernel_.length_scale)

    ratio = np.linalg.slogdet(np.diag(noise) + kernel(X, X))[1] - np.log(noise).sum()
    width = np.sqrt(2.0 * (np.log(2.0 / 0.05) + 0.5 * ratio)) + 1.0
    return *posterior(X, y, noise, kernel, now), width**2


def test_sparq_maximizes_its_equations_and_discards():
    opt, found = make("SparQ-GP-UCB", FiniteSet(PLACES)), []
    for t, before, x in run(opt, range(8)):
        if t:
            found.append(maximizes(x, *sparq_bounds(before, t, t - 1.0)))  # eq. (10)
            # σ² (1 + age²) > σ² log t goes.
            assert np.all(1.0 + (t - 1.0 - before.X_[:, -1]) ** 2 <= max(np.log(t), 1.0))
    assert found.count(True) >= 3
    assert False not in found
    places = opt.ask_expert(7.0)
    assert len(places) > 2
    opt.tell_expert(places, [f(place, 7.0) for place in places])
    before = copy.deepcopy(opt)
    assert_maximizes(opt.ask(8.0), *sparq_bounds(before, 8.0, 7.0))


@pytest.mark.filterwarnings("default")
def test_sparq_without_an_expert_warns_once():
    opt = make("SparQ-GP-UCB", BOX)
    with pytest.warns(ModelWarning, match="without an expert") as caught:
        for _ in run(opt, range(5)):
            pass
    assert len(caught) == 1


# --- all of them ----------------------------------------------------------------------------------


def test_their_names():
    assert sorted(NAMES) == sorted(ALGORITHMS)
    for name in NAMES:
        by_class = make(ALGORITHMS[name].__name__, **HORIZONS.get(name, {}))
        assert type(by_class) is type(make(name))
    assert all(entry.paper and 2000 < entry.year < 2100 for entry in papers.available())
    with pytest.raises(ValueError, match="Did you mean 'W-DBO'"):
        papers.published("W-DB")
    with pytest.raises(TypeError, match="epsilon"):
        papers.published("W-DBO", horizon=1.0, epsilon=0.1)


INSTEAD = {"R-GP-UCB": {"block_length": 9}, "SW-GP-UCB": {"window": 9}}
INSTEAD |= {"BR-GP-UCB": {"reset_period": 9}, "W-GP-UCB": {"discount": 0.9}}


@pytest.mark.parametrize("name", HORIZONS)
def test_the_length_of_the_run_has_no_default(name):
    refused = rf"'horizon' parameter of published\('{name}'\) must be given: the length of the run"
    with pytest.raises(ValueError, match=refused):
        papers.published(name, BOX)
    with pytest.raises(ValueError, match=rf"published\('{name}'\) must be .*\(0, inf\).* Got -1"):
        papers.published(name, BOX, horizon=-1)
    if name in INSTEAD:
        assert papers.published(name, BOX, **INSTEAD[name]).ask(0.0).shape == (2,)
    assert {found.name for found in papers.available()} > HORIZONS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_journals_are_resumed(name, tmp_path):
    journal = Journal(tmp_path / "run.db", resume=True)
    opt, plain = make(name, BOX, journal=journal), make(name, BOX)
    for each in (opt, plain):
        for t in range(10):
            x = each.ask(t)
            each.tell(x, f(x, t))
    opt.close()
    resumed = make(name, BOX, journal=journal)
    assert_allclose(resumed.ask(10), plain.ask(10), atol=1e-6)
    assert_array_equal(resumed.told_y_, plain.told_y_)


def test_other_parameters_pass_through():
    K = se(PLACES, PLACES)
    options = {"spatial_kernel": Empirical(K), "c2": 0.4, "maximize": False}
    opt = papers.published("TV-GP-UCB", Arms(len(K)), random_state=0, **options)
    assert (opt.maximize, opt.clock) == (False, "step")
    for _ in range(5):
        opt.tell(opt.ask(), 1.0)
    assert opt.acquisition.beta_value(AcquisitionState(n=1, n_told=1, n_dims=1)) == 0.0
