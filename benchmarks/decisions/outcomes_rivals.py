"""Violations and regret of measured limits beside other methods, on the problems of `outcomes.py`.

    python benchmarks/decisions/outcomes_rivals.py runs.csv --seeds 10     # resumes
    python benchmarks/decisions/outcomes_rivals.py runs.csv --seeds 0      # the table only

All methods have the same start point and readings with the same noise. The columns are violations
in percent, regret, and regret if the start point were used instead of a query that violates.

SafeOpt and TVSafeOpt (`_safeopt.py`) know the noise, and hyperparameters learnt from 300 uniform
readings over the time of the run, with a lengthscale for each coordinate and for time; SafeOpt
ignores time. With "UCB", an option of SafeOpt's code, they ask for the largest upper bound in the
safe set. "UCB, learns" is TVSafeOpt that learns its hyperparameters during the run.

The other methods do not require safety, and have 5 initial points. Optuna's sampler cannot
condition on time. BoTorch's logarithm of constrained expected improvement has time as an input,
improves on the best mean within the limits at present, and refits at every eighth query.
"""

import argparse
import csv
import pathlib
import time
import warnings
from functools import partial

import numpy as np
from _safeopt import Rival, TVSafeOpt, learnt
from outcomes import FIRST, HELD_OUT, N_STEPS, run

N_INITIAL = 5


class Optuna(Rival):
    """Optuna's Gaussian process with constraints."""

    def __init__(self, box, **options):
        import optuna

        super().__init__(box, **options)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.GPSampler(seed=self.seed, n_startup_trials=N_INITIAL)
        self.study = optuna.create_study(direction="maximize", sampler=sampler)
        floats = optuna.distributions.FloatDistribution
        self.space = {f"x{i}": floats(0.0, 1.0) for i in range(len(box))}
        self.study.enqueue_trial(dict(zip(self.space, self.start.tolist())))

    def ask(self, t):
        self.trial = self.study.ask(self.space)
        return np.array([self.trial.params[name] for name in self.space])

    def tell(self, x, y, outcomes):
        for name, high in self.highs.items():
            self.trial.set_constraint(name, outcomes[name] - high)
        self.study.tell(self.trial, y)


class BoTorch(Rival):
    """BoTorch's logarithm of constrained expected improvement, with time as an input."""

    def suggest(self, t):
        import torch
        from botorch.acquisition import analytic
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import ExactMarginalLogLikelihood

        n, d = len(self.X), self.X.shape[1] - 1
        if n < N_INITIAL:
            return self.sobol.random(1)[0]
        torch.set_default_dtype(torch.float64)
        torch.manual_seed(1000 * self.seed + n)
        X = torch.tensor(self.X / np.append(np.ones(d), N_STEPS))
        models = [SingleTaskGP(X, torch.tensor(v[:, np.newaxis])) for v in self.values.T]
        for i, model in enumerate(models):
            if n > N_INITIAL:
                for part in ("mean_module", "covar_module", "likelihood"):
                    state = getattr(self.models[i], part).state_dict()
                    getattr(model, part).load_state_dict(state)
            if (n - N_INITIAL) % 8 == 0:
                criterion = ExactMarginalLogLikelihood(model.likelihood, model)
                fit_gpytorch_mll(criterion, optimizer_kwargs={"options": {"maxiter": 50}})
        self.models, now, model = models, t / N_STEPS, ModelListGP(*models)
        limits, places = dict.fromkeys(range(1, len(models)), (0.0, None)), X.clone()
        places[:, -1] = now
        with torch.no_grad():
            mean = model.posterior(places).mean
        within = (mean[:, 1:] >= 0.0).all(dim=1)
        acquisition = analytic.LogProbabilityOfFeasibility(model, limits)
        if within.any():
            best = mean[within, 0].max()
            acquisition = analytic.LogConstrainedExpectedImprovement(model, best, 0, limits)
        bounds = torch.stack([torch.zeros(d + 1), torch.ones(d + 1)])
        effort = {"num_restarts": 2, "raw_samples": 512, "options": {"maxiter": 20}}
        found, _ = optimize_acqf(acquisition, bounds, q=1, fixed_features={d: now}, **effort)
        return found[0, :d].numpy()


def methods(problem):
    """Return the options of a run by method."""
    limits = {"outcome_constraints": problem.constraints}
    known = learnt(problem)
    return {
        "sktvbo 0.99": {**limits, "safety": 0.99},
        "sktvbo 0.95": {**limits, "safety": 0.95},
        "TVSafeOpt": {**limits, "kind": partial(TVSafeOpt, learnt=known)},
        "SafeOpt": {**limits, "kind": partial(TVSafeOpt, learnt=known, moves=False)},
        "TVSafeOpt UCB": {**limits, "kind": partial(TVSafeOpt, learnt=known, ucb=True)},
        "UCB, learns": {**limits, "kind": partial(TVSafeOpt, ucb=True)},
        "sktvbo": {**limits, "n_initial_points": N_INITIAL},
        "BoTorch": {**limits, "kind": BoTorch},
        "Optuna": {**limits, "kind": Optuna},
    }


SAFE = ("sktvbo 0.99", "sktvbo 0.95", "TVSafeOpt", "TVSafeOpt UCB", "UCB, learns", "SafeOpt")
METHODS = (*SAFE, "sktvbo", "BoTorch", "Optuna")


def fallbacks(problem):
    """Return the regrets (N_STEPS - FIRST,) of the start point."""
    times = range(FIRST, N_STEPS)
    values = [problem.objective(problem.start[np.newaxis], t)[0] for t in times]
    return problem.optima[FIRST:N_STEPS] - values


def table(rows):
    """Print means over the seeds with their standard errors, and the number of seeds."""
    for name in HELD_OUT:
        for method in METHODS:
            found = [row[3:6] for row in rows if row[:2] == [name, method]]
            if not found:
                continue
            found = np.array(found, dtype=float)
            error = (
                found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.zeros(3)
            )
            line = f"{name:12}{method:14}{len(found):4d}"
            for mean, of_mean in zip(found.mean(axis=0), error):
                line += f"{mean:9.3f} ± {of_mean:.3f}"
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--problems", nargs="+", choices=HELD_OUT, default=list(HELD_OUT))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # the rivals' packages warn in each step
    rows = list(csv.reader(arguments.runs.open())) if arguments.runs.exists() else []
    options = {name: methods(HELD_OUT[name]) for name in arguments.problems if arguments.seeds}
    for seed in range(arguments.seeds):
        for name in arguments.problems:
            for method in arguments.methods:
                if [name, method, str(seed)] in [row[:3] for row in rows]:
                    continue
                start = time.perf_counter()
                violations, regrets = run(HELD_OUT[name], seed, **options[name][method])
                rate, seconds = 100.0 * violations.mean(), time.perf_counter() - start
                fallback = np.where(violations[FIRST:], fallbacks(HELD_OUT[name]), regrets)
                numbers = rate, regrets.mean(), fallback.mean(), seconds
                rows.append([name, method, str(seed), *(f"{value:.5g}" for value in numbers)])
                with arguments.runs.open("a") as file:
                    csv.writer(file).writerow(rows[-1])
    table(rows)


if __name__ == "__main__":
    main()
