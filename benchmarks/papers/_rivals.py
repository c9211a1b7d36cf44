"""Optimizers of other packages behind this package's ask and tell, for `arena.py`.

Each is used as its documentation shows, with its defaults. Static ones are told every observation,
without its time. All maximize.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator


@dataclass(kw_only=True, eq=False, repr=False)
class Rival(BaseEstimator):
    """Optimizer over the unit box that stores its observations.

    A subclass defines ``_start(d, seed)``, ``_suggest(t)`` -> place (d,) of the unit box, and
    ``_learn(u, y, t)``.
    """

    domain: object = field(default=None, kw_only=False)
    maximize: bool = True
    random_state: int | None = None

    n_removed_ = 0

    def _begin(self):
        if not hasattr(self, "X_"):
            self.X_, self.y_ = np.empty((0, self.domain.n_dims + 1)), np.empty(0)
            self._start(self.domain.n_dims, self.random_state)

    def ask(self, t):
        self._begin()
        return self.domain.from_unit(np.clip(self._suggest(t), 0.0, 1.0))

    def tell(self, x, y, t=None):
        self._begin()
        self.X_, self.y_ = np.vstack([self.X_, np.append(x, t)]), np.append(self.y_, y)
        self._learn(self.domain.to_unit(np.asarray(x)), float(y), t)

    def _learn(self, u, y, t):
        """Do nothing: ``X_`` and ``y_`` store the observation."""

    def _units(self):
        """Return the places (n, d) of the observations in the unit box."""
        return self.domain.to_unit(self.X_[:, :-1])


@dataclass(kw_only=True, eq=False, repr=False)
class WdboAlgo(Rival):
    """W-DBO by its authors, wdbo_algo 1.0.7, with Matérn 5/2 in space and, by default, 3/2 in time.

    Its model starts from lengthscales that are meant for a time that runs over [0, 1]. If
    ``cleans`` is false, its method ``clean`` is not called: no observation is removed.
    """

    horizon: float = 600.0
    n_initial: int = 15
    temporal_nu: float = 1.5
    cleans: bool = True

    def _start(self, d, seed):
        import gpytorch
        import torch
        from wdbo_algo.optimizer import WDBOOptimizer

        torch.set_default_dtype(torch.float64)
        warnings.filterwarnings("ignore", module="gpytorch|botorch|linear_operator")
        # It draws from the global generators.
        np.random.seed(seed)
        torch.manual_seed(seed)
        kernel = gpytorch.kernels.MaternKernel
        box = np.array([[0.0, 1.0]] * d)
        self._theirs = WDBOOptimizer(box, kernel, kernel, [2.5], [self.temporal_nu], self.n_initial)

    def _suggest(self, t):
        return self._theirs.next_query(t / self.horizon)

    def _learn(self, u, y, t):
        self._theirs.tell(u, t / self.horizon, y)
        if self.cleans:
            self._theirs.clean(t / self.horizon)
        size = self._theirs.dataset_size()
        # A simulated clock needs their number only; they need not be the same ones.
        self.X_, self.n_removed_ = self.X_[len(self.X_) - size :], len(self.y_) - size


@dataclass(kw_only=True, eq=False, repr=False)
class Optuna(Rival):
    """Optuna, with one of its samplers."""

    sampler: str = "TPESampler"

    def _start(self, d, seed):
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
        sampler = getattr(optuna.samplers, self.sampler)(seed=seed)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        floats = optuna.distributions.FloatDistribution
        self._space = {f"x{i}": floats(0.0, 1.0) for i in range(d)}
        self._trial = None

    def _suggest(self, t):
        self._trial = self._study.ask(self._space)
        return np.array([self._trial.params[name] for name in self._space])

    def _learn(self, u, y, t):
        import optuna

        if self._trial is not None:
            self._study.tell(self._trial, y)
            self._trial = None
        else:
            trial = optuna.trial.create_trial(
                params=dict(zip(self._space, u.tolist())), distributions=self._space, value=y
            )
            self._study.add_trial(trial)


@dataclass(kw_only=True, eq=False, repr=False)
class BoTorch(Rival):
    """BoTorch's single-task Gaussian process with log expected improvement.

    With ``context`` time is one more input, which the acquisition function does not move, and the
    best value is that of the posterior mean now.
    """

    context: bool = False
    horizon: float = 600.0

    def _start(self, d, seed):
        import torch

        torch.set_default_dtype(torch.float64)
        torch.manual_seed(seed)
        warnings.filterwarnings("ignore", module="gpytorch|botorch|linear_operator")

    def _suggest(self, t):
        import torch
        from botorch.acquisition import LogExpectedImprovement
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        U, d = self._units(), self.domain.n_dims
        now = t / self.horizon
        if self.context:
            U = np.column_stack([U, self.X_[:, -1] / self.horizon])
        model = SingleTaskGP(torch.tensor(U), torch.tensor(self.y_[:, np.newaxis]))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        places = U.copy()
        if self.context:
            places[:, -1] = now
        with torch.no_grad():
            best = model.posterior(torch.tensor(places)).mean.max()
        acquisition = LogExpectedImprovement(model, best_f=best)
        bounds = torch.stack([torch.zeros(U.shape[1]), torch.ones(U.shape[1])])
        fixed = {d: now} if self.context else None
        found, _ = optimize_acqf(
            acquisition, bounds, q=1, num_restarts=10, raw_samples=256, fixed_features=fixed
        )
        return found[0].numpy()[:d]


class ScikitOptimize(Rival):
    """scikit-optimize's Gaussian process with its portfolio of acquisition functions."""

    def _start(self, d, seed):
        from skopt import Optimizer

        warnings.filterwarnings("ignore", module="skopt")
        self._theirs = Optimizer([(0.0, 1.0)] * d, "GP", n_initial_points=1, random_state=seed)

    def _suggest(self, t):
        return np.array(self._theirs.ask())

    def _learn(self, u, y, t):
        # Some 15 initial observations need no fit each.
        self._theirs.tell(u.tolist(), -y, fit=len(self.y_) >= 15)


class BayesianOptimization(Rival):
    """The package bayesian-optimization, with its own upper confidence bound."""

    def _start(self, d, seed):
        from bayes_opt import BayesianOptimization

        self._names = [f"x{i:02d}" for i in range(d)]
        self._theirs = BayesianOptimization(
            f=None,
            pbounds=dict.fromkeys(self._names, (0.0, 1.0)),
            random_state=seed,
            verbose=0,
            allow_duplicate_points=True,
        )

    def _suggest(self, t):
        found = self._theirs.suggest()
        return np.array([found[name] for name in self._names])

    def _learn(self, u, y, t):
        self._theirs.register(params=dict(zip(self._names, u.tolist())), target=y)


class CMAES(Rival):
    """pycma, started at the best of the initial design; a generation at a time."""

    def _start(self, d, seed):
        self._strategy, self._queue, self._asked, self._generation = None, [], None, []

    def _suggest(self, t):
        if self._strategy is None:
            import cma

            d = self.domain.n_dims
            start = self._units()[np.argmax(self.y_)] if len(self.y_) else np.full(d, 0.5)
            options = {"bounds": [0.0, 1.0], "seed": self.random_state or 1, "verbose": -9}
            options |= {"tolfun": 0.0, "tolx": 0.0, "maxiter": np.inf, "tolflatfitness": np.inf}
            self._strategy = cma.CMAEvolutionStrategy(start, 0.3, options)
        if not self._queue:
            self._queue = self._strategy.ask()
        self._asked = self._queue.pop(0)
        return self._asked

    def _learn(self, u, y, t):
        if self._asked is None:
            return
        self._generation.append((self._asked, -y))
        self._asked = None
        if not self._queue:
            self._strategy.tell(*map(list, zip(*self._generation)))
            self._generation = []


def rivals(horizon):
    """Return all of them by name."""
    return {
        "wdbo_algo": WdboAlgo(horizon=horizon),
        "Optuna TPE": Optuna(),
        "Optuna CMA-ES": Optuna(sampler="CmaEsSampler"),
        "Optuna GP": Optuna(sampler="GPSampler"),
        "BoTorch": BoTorch(horizon=horizon),
        "BoTorch, time as context": BoTorch(context=True, horizon=horizon),
        "scikit-optimize": ScikitOptimize(),
        "bayesian-optimization": BayesianOptimization(),
        "CMA-ES": CMAES(),
    }
