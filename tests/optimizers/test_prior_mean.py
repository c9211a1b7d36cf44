"""Optimizers whose surrogate has a quadratic prior mean."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.dense import without_prior_mean
from scipy.optimize import LinearConstraint
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import ABO, BOLT, WDBO, BayesianOptimizer, TimeVaryingGPRegressor, evaluation, problems
from sktvbo.domain import Context, FiniteSet, WithContext
from sktvbo.gaussian_process import QuadraticMean
from sktvbo.optimizers._default_models import Times, smooth_surrogate
from sktvbo.staleness import RelevancyBudget


def surrogate(**options):
    parameters = {
        "normalize_y": True,
        "mean_prior_std": 1.0,
        "prior_mean": QuadraticMean(0.25),
    } | options
    return TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Matern(20.0, nu=2.5), **parameters)


def dixon_price(z):
    weights = np.arange(2, len(z) + 1)
    return (z[0] - 1.0) ** 2 + np.sum(weights * (2.0 * z[1:] ** 2 - z[:-1]) ** 2)


def test_it_pays_where_the_best_places_are_inside():
    """Dixon's and Price's valley, whose place in the box goes round."""

    def centre(t):
        return 0.5 + 0.15 * np.sin(t / 16.0 + np.arange(4))

    def value(x, t):
        return -dixon_price(1.0 + 8.0 * (np.asarray(x) - centre(t)))

    def optimum(t):
        z = 2.0 ** (2.0 ** -np.arange(4) - 1.0)
        return (z - 1.0) / 8.0 + centre(t), 0.0

    problem = problems.from_callable(
        value, [(0.0, 1.0)] * 4, horizon=100.0, optimum=optimum, noise_variance=4.0
    )

    def regret(optimizer):
        runs = [evaluation.run(optimizer, problem, random_state=seed) for seed in range(3)]
        return np.mean([run.average_regret for run in runs])

    without = regret(without_prior_mean(WDBO)())
    assert regret(WDBO()) < 0.75 * without


def told(domain, point, n=8, **options):
    rng = np.random.RandomState(0)
    opt = BayesianOptimizer(domain, surrogate=surrogate(), n_initial_points=5, random_state=0)
    for t in range(n):
        opt.tell(point(rng), rng.normal(), t, **{k: make(rng) for k, make in options.items()})
    return opt


def test_it_is_one_of_the_reals():
    domain = {
        "kind": ("categorical", ["a", "b", "c"]),
        "size": ("integer", 1, 9),
        "rate": ("log-real", 1e-3, 1.0),
        "share": ("real", 0.0, 1.0),
    }
    point = {"kind": "b", "size": 3, "rate": 0.1, "share": 0.5}
    opt = told(domain, lambda rng: point | {"share": rng.uniform()})
    d = opt.surrogate_.X_train_.shape[1] - 1
    assert opt.surrogate_.prior_mean.columns == [d - 2, d - 1]
    assert opt.ask(9.0)["kind"] in "abc"


def test_a_context_is_not_chosen():
    domain = {"x": ("real", 0.0, 1.0), "load": Context("real", 0.0, 1.0)}
    opt = told(
        domain, lambda rng: {"x": rng.uniform()}, context=lambda rng: {"load": rng.uniform()}
    )
    assert opt.surrogate_.prior_mean.columns == [0]


def test_columns_that_were_given_stay():
    rng = np.random.RandomState(0)
    given = surrogate(prior_mean=QuadraticMean(columns=[1]))
    opt = BayesianOptimizer([(0.0, 1.0)] * 2, surrogate=given, n_initial_points=5)
    for t in range(6):
        opt.tell(rng.uniform(size=2), rng.normal(), t)
    assert opt.surrogate_.prior_mean.columns == [1]
    assert given.prior_mean.columns == [1]


@pytest.mark.parametrize(
    ("algorithm", "is_default"),
    [(WDBO, True), (BOLT, True), (BayesianOptimizer, True), (ABO, False)],
)
def test_whose_default_it_is(algorithm, is_default):
    opt = algorithm([(0.0, 1.0)], n_initial_points=3, random_state=0)
    for t in range(4):
        opt.tell(opt.ask(t), 1.0 + t, t)
    assert (opt.surrogate_.prior_mean is not None) is is_default


def test_with_constraints_it_is_no_default():
    """They are made for places that would be better: the best that may be queried are at them."""
    half = LinearConstraint([1.0], -np.inf, 0.4)
    free, bound = Times(np.arange(2.0), np.arange(2.0)), [(0.0, 1.0)]
    assert smooth_surrogate(free).prior_mean.only_if_likelier
    assert smooth_surrogate(replace(free, is_constrained=True)).prior_mean is None
    given = surrogate(prior_mean=QuadraticMean(only_if_likelier=True))
    expected = {"domain": True, "constraints": False, "both": False, "given": True}
    for name, options in {
        "domain": {"domain": bound},
        "constraints": {"domain": bound, "constraints": half},
        "both": {"domain": WithContext(bound, bound), "constraints": half},
        "given": {"domain": bound, "constraints": half, "surrogate": given},
    }.items():
        opt = WDBO(n_initial_points=3, random_state=0, **options)
        context = {"context": [0.5]} if name == "both" else {}
        for t in range(4):
            opt.tell(opt.ask(t, **context), 1.0 + t, t, **context)
        assert (opt.surrogate_.prior_mean is not None) is expected[name]


def test_a_finite_set_has_no_faces():
    points = np.random.RandomState(0).uniform(size=(20, 2))
    opt = told(FiniteSet(points), lambda rng: points[rng.randint(20)])
    assert opt.surrogate_.prior_mean is None


@pytest.mark.parametrize("maximize", [True, False])
def test_it_is_highest_inside_whatever_the_sign(maximize):
    """The optimizer maximizes what the surrogate sees: with nothing known of it, the middle."""
    known = surrogate(optimizer=None)
    opt = BayesianOptimizer(
        [(0.0, 1.0)] * 2, surrogate=known, maximize=maximize, n_initial_points=5
    )
    rng = np.random.RandomState(0)
    for t in range(6):
        opt.tell(rng.uniform(size=2), rng.normal(), t)
    assert_allclose(opt.recommend(1e6), 0.5, atol=1e-4)


def test_copies_go_on_alike():
    def value(x, t):
        return -np.sum((np.asarray(x) - 0.4 - 0.2 * np.sin(t / 3.0)) ** 2)

    opt = BayesianOptimizer(
        [(0.0, 1.0)] * 2,
        surrogate=surrogate(),
        policy=RelevancyBudget(),
        n_initial_points=6,
        random_state=0,
    )
    for t in range(80):
        x = opt.ask(t)
        opt.tell(x, value(x, t))
    expected = opt.n_removed_, opt.X_
    assert expected[0] > 5
    copies = [pickle.loads(pickle.dumps(opt)), clone(opt).from_json(opt.to_json())]
    for copy in copies:
        assert_array_equal(copy.X_, expected[1])
    queries = [copy.ask(80.0) for copy in (opt, *copies)]
    for query in queries[1:]:
        assert_array_equal(query, queries[0])
