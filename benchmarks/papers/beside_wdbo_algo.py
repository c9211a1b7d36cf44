"""One step of W-DBO as published beside that of its authors' package wdbo_algo.

    python benchmarks/papers/beside_wdbo_algo.py tests/papers/wdbo_algo.json

It prints a table, and stores the numbers of wdbo_algo in the file for tests/papers. Data,
hyperparameters and the scale of y are the same on both sides and held within the step. Needs
wdbo-algo 1.0.7 and wdbo-criterion 2.2.1 of requirements-peers.txt. The table has the largest
differences:

- mean, deviation: of the posterior of f at some places, of standardized y;
- bound: of UCB, whose deviation is that of noisy observations in wdbo_algo;
- relevancy: of eq. (12). wdbo_algo caps the convolution of the spatial kernel at 1;
- capped: of the same with that cap, and -1 for the square root of a negative number;
- removed: observations that both remove, of those that either removes, and the budgets left;
- fit: relative, of the hyperparameters that wdbo_algo learns and those of the variant "all" of
  regret_beside_wdbo_algo.py.

Then both that variant and wdbo_algo are told the same observations of two problems: the number of
steps after which they have the same data set. Of several rows with -1, wdbo_algo removes the one
that an unstable sort puts first, and the variant the oldest.
"""

import argparse
import json
import warnings

import gpytorch
import numpy as np
import torch
import wdbo_criterion
from _rivals import WdboAlgo
from _wdbo_variants import AsAuthors, relevancies, variants
from botorch.acquisition import UpperConfidenceBound
from sklearn.gaussian_process.kernels import Matern
from wdbo_algo.model import SpaceTimeGPModel
from wdbo_algo.optimizer import WDBOOptimizer

from sktvbo import TimeVaryingGPRegressor, problems
from sktvbo.acquisition import AcquisitionState
from sktvbo.papers import published
from sktvbo.papers._bardou2024 import UncappedBudget, smooth_surrogate

# d, n, λ, l_S, l_T, σ². In the last two the cap binds: the convolution at distance 0 exceeds 1.
CASES = (
    (1, 12, 0.8, 0.15, 0.30, 0.40),
    (1, 14, 1.5, 0.40, 0.60, 0.50),
    (2, 14, 1.0, 0.30, 0.40, 0.10),
    (3, 16, 1.2, 0.50, 0.25, 0.10),
    (4, 16, 0.9, 0.45, 0.50, 0.15),
    (1, 12, 1.0, 1.20, 0.40, 0.10),
    (2, 14, 1.0, 0.69, 0.69, 0.69),
)
SPATIAL_NU, TEMPORAL_NU = 2.5, 1.5
N_PLACES = 6

# Time since the step before, in units of l_T: pays for some removals.
ELAPSED = 2.5


class Held(WDBOOptimizer):
    """The authors' optimizer with data, hyperparameters (λ, l_S, l_T, σ²) and scale of y given."""

    def __init__(self, S, t, y, theta):
        kernel = gpytorch.kernels.MaternKernel
        box = np.array([[0.0, 1.0]] * S.shape[1])
        super().__init__(box, kernel, kernel, [SPATIAL_NU], [TEMPORAL_NU], len(y))
        self._moments = y.mean(), y.std()
        self._lambda, self._lS, self._lT, self._noise = theta
        self.rows = []
        for place, time, value in zip(S, t, y):
            self.tell(place, time, value)

    def normalize_y(self, y):
        return (y - self._moments[0]) / self._moments[1]

    def update_surrogate_model(self, verbose=False):
        self.rows.append(self._xx_tt)
        self._yy_normalized = self.normalize_y(self._yy)
        X, z = torch.tensor(self._xx_tt), torch.tensor(self._yy_normalized)
        kernel, likelihood = (
            gpytorch.kernels.MaternKernel,
            gpytorch.likelihoods.GaussianLikelihood(),
        )
        likelihood.noise = self._noise
        self._gpr = SpaceTimeGPModel(kernel, [SPATIAL_NU], kernel, [TEMPORAL_NU], X, z, likelihood)
        self._gpr.set_parameters(self._lambda, self._lS, self._lT)
        self._gpr.eval()
        likelihood.eval()

    def removed(self):
        """Return the indices of the removed rows, in order."""
        first, found = self.rows[0], []
        for before, after in zip(self.rows, self.rows[1:]):
            times = np.setdiff1d(before[:, -1], after[:, -1])
            found += np.flatnonzero(np.isin(first[:, -1], times)).tolist()
        return found


def reference(d, n, *theta, seed):
    """Return data and results of wdbo_algo of one case, lists and numbers."""
    rng = np.random.RandomState(seed)
    S, t = rng.uniform(size=(n, d)), np.sort(rng.uniform(size=n))
    y = 3.0 + 2.0 * np.sin(4.0 * S.sum(axis=1) + 3.0 * t) + 0.5 * rng.normal(size=n)
    places = rng.uniform(size=(N_PLACES, d))
    theirs, now = Held(S, t, y, theta), float(t[-1])
    at = torch.tensor(np.column_stack([places, np.full(N_PLACES, now)]))
    beta = 0.2 * d * np.log(2 * n)
    with torch.no_grad():
        latent, noisy = theirs._gpr(at), theirs._gpr.posterior(at)
        bound = UpperConfidenceBound(theirs._gpr, beta=beta)(at[:, np.newaxis])
    kinds = [
        wdbo_criterion.MaternKernel(l, nu)
        for l, nu in ((theta[1], SPATIAL_NU), (theta[2], TEMPORAL_NU))
    ]
    z, variances = theirs._yy_normalized, (theta[0], theta[3])
    relevancy = wdbo_criterion.wasserstein_criterion(S, z, t, n, d, *variances, *kinds, now, 0, 1)
    theirs._current_time = before = now - ELAPSED * theta[2]
    theirs.clean(now)
    return {
        "theta": list(theta),
        "S": S.tolist(),
        "t": t.tolist(),
        "y": y.tolist(),
        "places": places.tolist(),
        "mean": latent.mean.tolist(),
        "std": latent.stddev.tolist(),
        "noisy_std": noisy.stddev.tolist(),
        "bound": bound.tolist(),
        "relevancy": relevancy.tolist(),
        "before": before,
        "removed": theirs.removed(),
        "budget": float(theirs._budget),
    }


def difference(ours, theirs):
    return np.abs(np.asarray(ours) - theirs).max()


def differences(case):
    """Return the largest differences of W-DBO as published from the reference, by name."""
    S, t, y, places = (np.array(case[name]) for name in ("S", "t", "y", "places"))
    (n, d), now, theta = S.shape, t[-1], case["theta"]
    gp = TimeVaryingGPRegressor(
        Matern(theta[1], nu=SPATIAL_NU),
        Matern(theta[2], nu=TEMPORAL_NU),
        signal_variance=theta[0],
        noise_variance=theta[3],
        normalize_y=True,
        optimizer=None,
    ).fit(np.column_stack([S, t]), y)
    mean, std = gp.predict(np.column_stack([places, np.full(len(places), now)]), return_std=True)
    mean, std = (mean - y.mean()) / y.std(), std / y.std()
    ucb, state = published("W-DBO", horizon=1.0).acquisition, AcquisitionState(n, n, d)
    policy = UncappedBudget()
    policy.budget_, policy.now_, policy.length_scale_ = 1.0, case["before"], theta[2]
    removed, theirs = policy.after_add(gp, now).tolist(), case["removed"]
    return {
        "mean": difference(mean, case["mean"]),
        "deviation": difference(std, case["std"]),
        "bound": difference(ucb(mean, std, state)[0], case["bound"]),
        "bound, noisy": difference(
            ucb(mean, np.hypot(std, theta[3] ** 0.5), state)[0], case["bound"]
        ),
        "relevancy": difference(gp.relevancy(now), case["relevancy"]),
        "capped": difference(relevancies(gp, now, capped=True), case["relevancy"]),
        "removed": f"{len(set(removed) & set(theirs))} of {len(set(removed) | set(theirs))}",
        "budget": abs(policy.budget_ - case["budget"]),
        "fit": fit_difference(S, t, y),
    }


def fit_difference(S, t, y):
    """Return the largest relative difference of hyperparameters learnt by both."""
    kernel = gpytorch.kernels.MaternKernel
    box = np.array([[0.0, 1.0]] * S.shape[1])
    theirs = WDBOOptimizer(box, kernel, kernel, [SPATIAL_NU], [TEMPORAL_NU], len(y))
    for place, time, value in zip(S, t, y):
        theirs.tell(place, time, value)
    ours = AsAuthors(**smooth_surrogate(TEMPORAL_NU, 1.0).get_params(deep=False))
    ours.fit(np.column_stack([S, t]), y)
    found = [theirs._lambda, theirs._lS, theirs._lT, theirs._noise]
    return difference(np.exp(ours.theta_) / found, 1.0)


def same_steps(name, n_steps=25, horizon=600.0):
    """Return after how many steps, of how many, the data sets of both are the same."""
    problem = problems.make(name, horizon=horizon, noise=0.05).seed(0)
    rng = np.random.RandomState(0)
    both = [
        variants(horizon)["all"].set_params(domain=problem.domain, random_state=0),
        WdboAlgo(domain=problem.domain, horizon=horizon, random_state=0),
    ]
    times = [*np.sort(rng.uniform(0.0, 15.0, 15)), *(15.0 + 4.0 * np.arange(1, n_steps + 1))]
    n_same = 0
    for x, t in zip(problem.domain.sample(len(times), rng), times):
        y = problem.observe(x, t)
        for optimizer in both:
            optimizer.tell(x, y, t)
        found = both[0].X_[:, -1], horizon * both[1]._theirs._xx_tt[:, -1]
        n_same += t > 15.0 and len(found[0]) == len(found[1]) and np.allclose(*found)
    return f"{name}: {n_same} of {n_steps} steps with the same data set"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", nargs="?", help="JSON file for the reference numbers")
    arguments = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    warnings.filterwarnings("ignore", module="gpytorch|botorch|linear_operator")
    cases = [reference(*case, seed=seed) for seed, case in enumerate(CASES)]
    for i, case in enumerate(cases):
        found = differences(case)
        if not i:
            print(*(f"{name:>12}" for name in ("d", "n", "l_S", *found)))
        n, d = np.shape(case["S"])
        cells = [d, n, case["theta"][1], *found.values()]
        print(*(f"{c:>12.1e}" if isinstance(c, np.floating) else f"{c:>12}" for c in cells))
    for name in ("styblinski-tang", "powell"):
        print(same_steps(name))
    if arguments.file:
        with open(arguments.file, "w", encoding="utf-8") as file:
            file.write("[\n" + ",\n".join(map(json.dumps, cases)) + "\n]\n")


if __name__ == "__main__":
    main()
