"""Parts of any kind, the user's own among them, make an optimizer together."""

import numpy as np
import pytest
from contract.cases import ARMS, BOX, DOMAINS, ask_and_tell, fingerprint, objective, timed
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import (
    ABO,
    BOLT,
    ETGPUCB,
    GPUCB,
    IGPUCB,
    WDBO,
    BayesianOptimizer,
    SparQGPUCB,
    TimeVaryingGPRegressor,
)
from sktvbo.acquisition import UCB, PosteriorMean
from sktvbo.domain import as_domain
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.staleness import KeepAll, PeriodicReset, SlidingWindow, StaleDataPolicy

STATIC = ConstantKernel(1.0, "fixed")


def value(x, t):
    """A bump that drifts, and jumps at 20."""
    return 10.0 + 3.0 * np.exp(-20.0 * (x[0] - 0.2 - 0.005 * t - 0.4 * (t >= 20)) ** 2)


# --- custom parts ---------------------------------------------------------------------------------


class EpsilonGreedy(BayesianOptimizer):
    """A toy algorithm: the posterior mean, and now and then what is least known."""

    def __init__(self, domain=None, *, rate=0.25, n_initial_points=5, random_state=None):
        super().__init__(domain, n_initial_points=n_initial_points, random_state=random_state)
        self.rate = rate

    def _make_surrogate(self, times):
        return TimeVaryingGPRegressor(RBF(0.3), Matern(20.0, nu=0.5), normalize_y=True)

    def _make_acquisition(self):
        def explore_every_so_often(mean, std, state):
            if state.n_told % round(1.0 / self.rate) == 0:
                return std, 0.0, 1.0
            return mean, 1.0, 0.0

        return explore_every_so_often

    def _make_policy(self):
        return SlidingWindow(10)


class Witness(StaleDataPolicy):
    """Keeps what it was told of the run."""

    def watch(self, run):
        self.facts_ = run.n_told, run.query_times, run.query_sizes, run.latest(4), run.latest(99)

    def after_add(self, surrogate, now):
        return [0]

    def record(self):
        return None  # it has nothing to say


def test_what_a_policy_is_told_of_the_run():
    opt = BayesianOptimizer(BOX, policy=Witness(), n_initial_points=5, maximize=False)
    sizes = []
    for t in range(12):
        if t >= 5:
            sizes.append(len(opt.X_))
        opt.tell(opt.ask(t), np.cos(t))
        if t < 4:
            assert not hasattr(opt.policy_, "facts_")
            continue
        n_told, times, seen_sizes, (rows, values), everything = opt.policy_.facts_
        assert n_told == t + 1
        assert times.tolist() == list(range(5, t + 1))
        assert seen_sizes.tolist() == sizes
        # As the surrogate sees it, and without the new one.
        X, y = opt.told_X_[:-1], opt.told_y_[:-1]
        assert_array_equal(rows[:, :-1], as_domain(BOX).to_unit(X[-4:, :-1]))
        assert_array_equal(rows[:, -1], X[-4:, -1])
        assert_array_equal(values, -y[-4:])
        assert [len(part) for part in everything] == [t, t]
    assert opt.n_removed_ > 5
    assert list(opt.history_) == ["time", "n"]


class Nearest(BaseEstimator):
    """A toy surrogate: the value of the nearest observation, and its distance for a doubt."""

    def fit(self, X, y):
        self.X_train_, self.values = X, y
        return self

    def with_rows(self, X, y, **options):
        return Nearest().fit(X, y)

    def condition_on(self, X, y, **options):
        return Nearest().fit(np.vstack([self.X_train_, X]), np.append(self.values, y))

    def without(self, indices, **options):
        rows = np.delete(self.X_train_, indices, axis=0)
        return Nearest().fit(rows, np.delete(self.values, indices))

    def refit(self, extra_rows=None, *, temporal_kernel=None):
        return self

    def at(self, now):
        return self

    def predict(self, X):
        return self.posterior_at(0.0)(X[:, :-1])[0]

    def posterior_at(self, t, moving=None):
        def posterior(S):
            distances = cdist(S, self.X_train_[:, :-1])
            return self.values[distances.argmin(axis=1)], distances.min(axis=1)

        return posterior


@pytest.mark.parametrize("policy", [None, SlidingWindow(7), PeriodicReset(9)])
def test_a_custom_surrogate_needs_eight_methods(policy):
    surrogate = Nearest()
    parts = {"surrogate": surrogate, "acquisition": UCB(0.25), "policy": policy}
    opt = BayesianOptimizer(ARMS, **parts, n_initial_points=4, random_state=0)
    for t in range(20):
        x = opt.ask(t)
        opt.tell(x, objective(x, 0.0, "finite"))
        gp = opt.surrogate_
        if gp is not None:
            assert_array_equal(gp.X_train_[:, -1], opt.X_[:, -1])
            assert_array_equal(gp.values, opt.y_)
    assert not hasattr(surrogate, "X_train_")
    assert len(opt.suggest(20, n=3)) == 3
    assert opt.recommend(20.0) in ARMS.points
    if policy is None:
        values = [objective(x, 0.0, "finite") for x in ARMS.points]
        assert objective(opt.recommend(20.0), 0.0, "finite") == max(values)


class OnlyTheProtocol(BaseEstimator):
    """A surrogate that has the names that `Surrogate` writes down, and no others."""

    NAMES = (
        "X_train_",
        "check_relevancy",
        "information_gain",
        "noise_model_",
        "noise_std_",
        "noise_variance_",
        "posterior_at",
        "posterior_between",
        "predict",
        "relevancy_sweep",
        "signal_variance_",
        "spatial_kernel_",
        "temporal_kernel_",
    )

    def __init__(self, inner=None, temporal_kernel=None):
        self.inner = inner
        self.temporal_kernel = temporal_kernel

    def _holding(self, fitted):
        new = clone(self)
        new.fitted = fitted
        return new

    def fit(self, X, y):
        inner = clone(self.inner)
        if self.temporal_kernel is not None:
            inner.set_params(temporal_kernel=self.temporal_kernel)
        self.fitted = inner.fit(X, y).fitted_
        return self

    def __getattr__(self, name):
        if name in self.NAMES:
            return getattr(self.fitted, name)
        if name in ("condition_on", "without", "with_rows", "refit", "at"):
            return lambda *args, **options: self._holding(
                getattr(self.fitted, name)(*args, **options)
            )
        raise AttributeError(name)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (IGPUCB, {}),
        (ETGPUCB, {}),
        (ABO, {}),
        (WDBO, {"alpha": 1.0}),
        (BOLT, {"max_size": 12}),
        (SparQGPUCB, {"expert_noise_variance": 0.01}),
        (BayesianOptimizer, {"acquisition": PosteriorMean()}),
    ],
)
def test_no_optimizer_asks_for_more_than_the_protocol(kind, options):
    """A surrogate with these names alone makes the same run, to the bit.

    With ``refit_every="auto"`` it would be searched at every observation, as it has no
    ``search_gain``.
    """
    temporal = Matern(20.0, (5.0, 100.0), nu=1.5) if kind in (ABO, WDBO, BOLT) else STATIC
    noise = QuadraticInjection(0.2) if kind is SparQGPUCB else None
    bounds = {"noise_variance_bounds": (1e-4, 1.0), "normalize_y": True, "noise_model": noise}
    model = TimeVaryingGPRegressor(RBF(0.3, (0.05, 2.0)), temporal, **bounds)
    options = {"refit_every": 1, "n_initial_points": 8, "random_state": 0} | options
    opts = [kind([(0.0, 1.0)], surrogate=s, **options) for s in (model, OnlyTheProtocol(model))]
    for opt in opts:
        t = 0.0
        for _ in range(15):
            if kind is SparQGPUCB:
                places = opt.ask_expert(t)
                opt.tell_expert(places, [value(x, t) for x in places])
            x, t = timed(opt.suggest(t))
            opt.tell(x, value(x, t))
            t += 1.0
        opt.suggest(t + 20.0, n=2)
    assert_array_equal(opts[0].told_X_, opts[1].told_X_)
    assert_array_equal(opts[0].removed_at_, opts[1].removed_at_)


@pytest.mark.parametrize("name", ["box", "finite", "named"])
def test_the_toy_algorithm_keeps_the_contract(name):
    opt = EpsilonGreedy(DOMAINS[name], random_state=0)
    for t in range(20):
        x = opt.ask(t)
        gp = opt.surrogate_
        if name == "box" and gp is not None:
            places = np.vstack([as_domain(BOX).to_unit(x), np.random.RandomState(t).rand(99, 2)])
            mean, std = gp.posterior_at(t)(places)
            scores = std if t % 4 == 0 else mean
            assert scores[0] >= scores[1:].max() - 1e-6
        opt.tell(x, objective(x, t, name))
    assert len(opt.X_) == 10
    assert isinstance(gp.spatial_kernel_, RBF)
    assert clone(opt).set_params(rate=0.5).rate == 0.5


class Scripted(KeepAll):
    """A policy that answers once, from one of its methods."""

    def __init__(self, method="before_add", answer=()):
        self.method = method
        self.answer = answer

    def before_add(self, surrogate, x, t, y):
        return self.answer if self.method == "before_add" and t == 7 else []

    def after_add(self, surrogate, now):
        return self.answer if self.method == "after_add" and now == 7 else []


def scripted(method, answer):
    """An optimizer with observations at 0 to 6, and its query at 7, where its policy answers."""
    policy = Scripted(method, answer)
    options = {"n_initial_points": 5, "refit_every": None, "random_state": 0}
    opt = BayesianOptimizer(BOX, policy=policy, **options)
    ask_and_tell(opt, 7)
    return opt, opt.ask(7)


@pytest.mark.parametrize(
    ("method", "answer", "dropped"),
    [
        ("before_add", [2, -7, 2, 0], [0, 2]),
        ("before_add", [True] * 7, [0, 1, 2, 3, 4, 5, 6]),
        ("after_add", [-1], [7]),
        ("after_add", np.arange(8) > 4, [5, 6, 7]),
    ],
    ids=str,
)
def test_a_policy_may_count_from_the_end_or_answer_with_a_mask(method, answer, dropped):
    opt, x = scripted(method, answer)
    opt.tell(x, objective(x, 7))
    assert opt.X_[:, 2].tolist() == np.delete(np.arange(8.0), dropped).tolist()
    assert_array_equal(opt.surrogate_.X_train_[:, 2], opt.X_[:, 2])
    assert_array_equal(opt.surrogate_.y_train_, opt.y_)
    assert np.flatnonzero(opt.removed_at_ == 7.0).tolist() == dropped


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("before_add", [7], r"rows of X_train_, in \[0, 7\)\. Got 7 to 7 instead"),
        ("after_add", [8], r"rows of X_train_, in \[0, 8\)\. Got 8 to 8 instead"),
        ("after_add", [0.7], r"integers or a mask\. Got dtype float64 instead"),
        ("after_add", [True] * 7, r"a mask of shape \(8,\)\. Got shape \(7,\) instead"),
        ("after_add", [True] * 8, r"fewer than all 8\. Got all of them instead"),
    ],
    ids=str,
)
def test_what_a_policy_cannot_drop(method, answer, message):
    opt, x = scripted(method, answer)
    before = fingerprint(opt)
    with pytest.raises(ValueError, match=rf"that Scripted.{method} returns must be .*{message}"):
        opt.tell(x, 0.5)
    assert fingerprint(opt) == before


MISWRITTEN = {
    "nan": (lambda m, s: (m * np.nan, 1.0, 0.0), r"numbers\. Got NaN instead\. Return a sc"),
    "nan-slope": (lambda m, s: (m, np.nan, 0.0), r"numbers\. Got NaN"),
    "column": (lambda m, s: (np.reshape(m, (-1, 1)), 1.0, 0.0), r"shape .*, 1\) instead"),
    "long-slope": (lambda m, s: (m, np.ones(2), 0.0), r"shape \(6,\) .* Got shape \(2,\) instead"),
    "words": (lambda m, s: (m, "up", 0.0), r"real numbers\. Got 'up'"),
    "one-slope": (lambda m, s: (m, 1.0), "a tuple: the score, and its derivatives"),
}


class Miswritten(BaseEstimator):
    def __init__(self, how):
        self.how = how

    def __call__(self, mean, std, state):
        return MISWRITTEN[self.how][0](mean, std)


@pytest.mark.parametrize("how", MISWRITTEN)
def test_an_acquisition_that_is_written_badly(how):
    message = MISWRITTEN[how][1]
    opt = GPUCB(BOX, acquisition=Miswritten(how), n_initial_points=5, random_state=0)
    ask_and_tell(opt, 5)
    before = fingerprint(opt)
    with pytest.raises(ValueError, match=rf"What Miswritten returns must be .*{message}"):
        opt.ask(5)
    assert fingerprint(opt) == before
