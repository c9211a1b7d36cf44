"""What users write: the type checker finds nothing wrong in it."""

from pathlib import Path

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial
from scipy.optimize import Bounds, LinearConstraint
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sktvbo import (
    ABO,
    BOLT,
    GPUCB,
    WDBO,
    Journal,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
    evaluation,
    optimize,
    problems,
)
from sktvbo.acquisition import UCB, AcquisitionState, ExpectedImprovement, LogBeta, ThompsonSampling
from sktvbo.domain import Arms, Box, FiniteSet
from sktvbo.dpp import greedy_map, sample_kdpp
from sktvbo.gaussian_process import GeometricInjection
from sktvbo.integrations.optuna import TimeVaryingSampler
from sktvbo.journal import events
from sktvbo.kernels import Forgetting
from sktvbo.model_selection import OnlineRun, OnlineTuner
from sktvbo.optimizers import BayesianOptimizer
from sktvbo.plotting import RegretDisplay
from sktvbo.relevancy import wasserstein_relevancy
from sktvbo.staleness import (
    FittedSurrogate,
    KeepAll,
    NoiseThreshold,
    PeriodicReset,
    RelevancyBudget,
    SlidingWindow,
    StaleDataPolicy,
    Surrogate,
)
from sktvbo.theory import recommended_dataset_size


def loop() -> float:
    opt = WDBO([(0.0, 1.0), (-5.0, 5.0)], alpha=0.3, random_state=np.random.default_rng(0))
    for t in range(20):
        x = opt.ask(t)
        opt.tell(x, -float(np.sum((x - 0.5) ** 2)) + x[0] * x[1])
    when = ABO([(0.0, 1.0)]).suggest(0.0).t
    batch = opt.suggest(20.0, n=3)
    for asked in [*batch, *opt.suggest(20.0, 2)]:
        opt.tell(asked, float(asked.x.sum()), y_variance=0.01)
    opt.tell(batch[0].x, 1.0, 20.0)
    query = opt.suggest()
    opt.cancel(query)
    times = opt.X_[:, -1]
    return opt.recommend(21.0)[0] + times.max() + when + opt.n_told_ + query.t


def named() -> dict[str, object]:
    opt = GPUCB({"C": ("log-real", 1e-3, 1e3), "kernel": ("categorical", ["rbf", "poly"])})
    settings = opt.ask()
    opt.tell(settings, 1.0)
    opt.tell({"C": 1.0, "kernel": "rbf"}, 0.5, 3.0)
    return {"C": 2.0 * settings["C"], **settings}


def domains() -> list[BayesianOptimizer]:
    return [
        WDBO(Box([(0, 1)])),
        WDBO(FiniteSet([[0.0], [1.0]]), clock="step"),
        WDBO(np.array([[0.0, 1.0]]), clock=lambda: 3.0),
        WDBO(Bounds([0.0], [1.0]), journal=Path("run.db")),
        BOLT([(0, 1)] * 2, constraints=LinearConstraint([1.0, 1.0], 0.0, 1.0)),
        WDBO([(0.0, 1.0)], journal=Journal("run.db", synchronous="full", resume=True)),
        WDBO.resume("run.db"),
        WDBO(Box([(0, 1)])).with_parameters(domain=[(0, 2)], journal="next.db"),
        WDBO(Arms([0, 2])).with_parameters(domain=Arms(3)),
    ]


class Latest(StaleDataPolicy):
    def after_add(self, surrogate, now):
        return np.flatnonzero(surrogate.X_train_[:, -1] < now - 10.0)


def greedy(mean, std, state: AcquisitionState):
    return mean - state.incumbent, 1.0, 0.0


class OfPlaces:
    sees_places = True

    def __call__(self, mean, std, state: AcquisitionState, X: np.ndarray):
        return mean + X[:, 0], np.ones(len(X)), np.zeros(len(X))


class Listed(StaleDataPolicy):
    def after_add(self, surrogate: Surrogate, now: float) -> list[int]:
        return [int(i) for i in np.argsort(surrogate.X_train_[:, -1])[:-9]]


def documented(X: np.ndarray, y: np.ndarray, study: Study, trial: FrozenTrial) -> float:
    """Types of arguments and results that the documentation names."""
    gp = TimeVaryingGPRegressor(sites=[[0.0], [1.0]], max_size=30).fit(X, y)
    SparseTimeVaryingGPRegressor(inducing=[[0.0, 1.0], [0.5, 2.0]]).fit(X, y)
    surrogate: Surrogate = gp
    fitted: FittedSurrogate = gp.fitted_
    dropped = KeepAll().after_add(surrogate, now=3.0).size + Listed().after_add(gp, 3.0)[0]
    dropped += RelevancyBudget().after_add(gp, 3.0).size + SlidingWindow(9).after_add(gp, 3.0).size
    dropped += int(fitted.relevancy_sweep(3.0).relevancy().argmin())
    evaluation.SimulatedClock(response_time="papers")
    NoiseThreshold(cap=lambda n: 2.0 * n)
    terms, stds = gp.predict_terms(X, return_std=True)
    total = gp.predict_terms(X).sum() + stds.sum() + terms.shape[0]
    total += Forgetting(0.1)(X).sum() + Forgetting(0.1)(X, eval_gradient=True)[1].sum()
    opt = BayesianOptimizer([(0, 1)], acquisition=OfPlaces(), policy=PeriodicReset(10))
    opt.tell(opt.ask(np.int64(3)), np.float32(0.5), np.float32(3.0))
    opt.suggest(np.arange(5)[4])
    resets = opt.policy_.n_resets_
    result = evaluation.run(WDBO(), problems.make("ackley"))
    sampler = TimeVaryingSampler("W-DBO", time=lambda study, trial: 1.0 * trial.number)
    sampler.sample_relative(study, trial, {})
    return total + dropped + resets + len(result.optimizer.X_)


def composed() -> None:
    BayesianOptimizer([(0, 1)], acquisition="ei", policy="sliding-window")
    BayesianOptimizer([(0, 1)], acquisition=greedy, policy=Latest())
    BayesianOptimizer([(0, 1)], acquisition=ThompsonSampling(), policy=RelevancyBudget(alpha=0.5))
    BayesianOptimizer([(0, 1)], acquisition=UCB(LogBeta()), surrogate=TimeVaryingGPRegressor())
    BayesianOptimizer(
        [(0, 1)], acquisition=UCB(beta=2.0), surrogate=SparseTimeVaryingGPRegressor(n_inducing=30)
    )
    BayesianOptimizer([(0, 1)], acquisition=ExpectedImprovement(xi=0.1))


def regression(X: np.ndarray, y: list[float]) -> float:
    gp = TimeVaryingGPRegressor(
        Matern(nu=2.5), Forgetting(epsilon=0.03), noise_model=GeometricInjection(0.9)
    )
    gp.fit(X, y).partial_fit([[0.5, 3.0]], [1.0]).forget([0, 1])
    mean = gp.predict(X)
    mean, std = gp.predict(X, return_std=True)
    mean, cov = gp.predict(X, return_cov=True)
    low, high = gp.predict_interval(X, 0.9)
    value, gradient = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
    inducing = SparseTimeVaryingGPRegressor(RBF()).fit(X, y).inducing_points_
    kept = greedy_map(cov, 3)[sample_kdpp(cov, 3, random_state=np.random.default_rng(0))]
    relevant = gp.relevancy(now=3.0)[kept] + wasserstein_relevancy(
        X,
        y,
        spatial_kernel=RBF(),
        temporal_kernel=RBF(),
        signal_variance=1.0,
        noise_variance=0.1,
        now=3.0,
    )
    numbers = (mean, std, low, high, gradient, inducing, relevant)
    return sum(float(array.sum()) for array in numbers) + value + gp.log_marginal_likelihood()


class OneByOne:
    def learn_one(self, x: dict[str, float], y: float) -> None: ...
    def predict_one(self, x: dict[str, float]) -> float:
        return x["a"]


def scikit_learn(X: np.ndarray, y: np.ndarray) -> float:
    gp = TimeVaryingGPRegressor().set_params(robust=True).fit(X, y)
    search = GridSearchCV(OnlineRun(WDBO(), horizon=10.0), {"optimizer__alpha": [0.1, 0.3]})
    tuner = OnlineTuner(SGDRegressor(), {"alpha": (1e-6, 1e-2)}).set_params(optimizer=WDBO())
    tuner.partial_fit(X, y).predict(X)
    OnlineTuner(OneByOne(), {"rate": (0.0, 1.0)}).partial_fit(X, y)
    pipeline = make_pipeline(StandardScaler(), clone(gp))
    print(search, pipeline.fit(X, y), WDBO([(0, 1)]).get_params()["alpha"])
    return float(gp.score(X, y))


def experiments() -> list[str]:
    problem = problems.make("ackley", horizon=60.0, random_state=0)
    x, best = problem.optimum(3.0)
    result = evaluation.run(WDBO(), problem, clock=evaluation.StepClock(), random_state=0)
    table = evaluation.compare(
        {"W-DBO": WDBO(), "own": lambda domain, seed: GPUCB(domain, random_state=seed)},
        [problem, evaluation.Fresh("markov-gp")],
        n_replications=2,
        seeds=[1, 2],
    )
    RegretDisplay.from_comparison(table).plot()
    score = OnlineRun(WDBO(), horizon=10.0).fit([problem]).score([problem])
    loop = optimize(lambda x, t: -float(x[0]) * t, [(0, 1)], n_calls=10)
    size = recommended_dataset_size(RBF(), lambda n: 1e-6 * n**2)
    told = [event.kind for event in events("run.db")]
    print(best + result.average_regret + score + size, x, loop.calls)
    return told + table.algorithms
