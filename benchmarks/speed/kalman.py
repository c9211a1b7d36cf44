"""The Kalman filter: long runs on a finite set and streams of rows.

    python benchmarks/speed/kalman.py steps [n]       # n steps of TV-GP-UCB on 2,500 points
    python benchmarks/speed/kalman.py regressor       # 46 sites, beside the dense solver
    python benchmarks/speed/kalman.py season          # a seasonal kernel, at one site and at 46
    python benchmarks/speed/kalman.py crossover       # rows from which the filter is faster

Times are processor seconds of this process, with as many threads as OMP_NUM_THREADS says.
"""

import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from _timing import seconds
from sklearn.gaussian_process.kernels import RBF, ExpSineSquared, Matern

from sktvbo import TVGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import FiniteSet
from sktvbo.kernels import Forgetting


def megabytes():
    """Return the memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 2**20


def steps(n=3000, side=50):
    """Print time per step and memory, ten times in n steps."""
    points = np.array(list(product(np.linspace(0.0, 1.0, side), repeat=2)))
    surrogate = TimeVaryingGPRegressor(
        RBF(0.1), Forgetting(0.03), noise_variance=0.01, optimizer=None, solver="kalman"
    )
    opt = TVGPUCB(
        FiniteSet(points), surrogate=surrogate, n_initial_points=1, history=0, random_state=0
    )
    rng, window = np.random.RandomState(0), []
    print(f"TV-GP-UCB on {len(points)} points; ms of CPU per step [median, mean, largest]; MB")
    for t in range(n):

        def step(t=t):
            x = opt.ask(float(t))
            opt.tell(x, np.sin(5.0 * x[0] + 0.01 * t) + 0.1 * rng.normal(), float(t))

        window.append(1e3 * seconds(step)[0])
        if (t + 1) % max(n // 10, 1) == 0:
            found = np.median(window), np.mean(window), np.max(window)
            print(f"{t + 1:8d}", *(f"{v:9.3f}" for v in found), f"{megabytes():9.1f}", flush=True)
            window = []


def panel(n_sites, n_times, missing=0.2):
    """Return rows of sites observed at regular times, some missing."""
    rng = np.random.default_rng(0)
    sites, t = rng.uniform(size=(n_sites, 2)), np.repeat(np.arange(float(n_times)), n_sites)
    X = np.column_stack([np.tile(sites, (n_times, 1)), t])
    y = np.sin(4.0 * X[:, 0] + t / 40.0) + 0.1 * rng.normal(size=len(t))
    there = rng.uniform(size=len(t)) > missing
    return X[there], y[there]


def made(solver, nu=1.5):
    return TimeVaryingGPRegressor(
        Matern(0.5, nu=2.5), Matern(20.0, nu=nu), solver=solver, optimizer=None
    )


def regressor():
    """Print the times to condition, of a likelihood with gradient and of predictions."""
    print("46 sites, a fifth missing; CPU seconds: condition, likelihood with gradient, predict")
    both = "dense", "kalman"
    for n_times, solvers in ((20, both), (60, both), (2000, both[1:]), (20000, both[1:])):
        X, y = panel(46, n_times)
        questions = X[:: len(X) // 100] + np.array([0.0, 0.0, 0.3])
        answers = []
        for solver in solvers:
            condition, gp = seconds(partial(made(solver).fit, X, y))
            likelihood, found = seconds(partial(gp.log_marginal_likelihood, gp.theta_, True))
            predict, said = seconds(partial(gp.predict, questions, return_std=True))
            print(f"{len(y):8d} rows {solver:8s} {condition:9.3f} {likelihood:9.3f} {predict:9.3f}")
            answers.append((*said, *found))
        if len(answers) == 2:
            gap = max(float(np.max(np.abs(np.asarray(a) - b))) for a, b in zip(*answers))
            print("         largest difference", gap, flush=True)


def season():
    """Print the times of a likelihood and its gradient with a season, by rows, and memory."""
    kernel = Matern(200.0, nu=0.5) * ExpSineSquared(2.0, 24.0)
    print("rows at sites: CPU seconds of a likelihood, and of its gradient; MB")
    for n_sites, n_times in ((1, 5000), (1, 10000), (1, 20000), (46, 500), (46, 1000), (46, 2000)):
        X, y = panel(n_sites, n_times)
        if n_sites == 1:
            X = X[:, 2:]
        space = RBF(0.5) if n_sites > 1 else None
        gp = TimeVaryingGPRegressor(space, kernel, solver="kalman", optimizer=None, warn=False)
        taken = [seconds(partial(gp.fit, X, y))[0]]
        if n_sites == 1:
            taken += [seconds(partial(gp.log_marginal_likelihood, gp.theta_, True))[0]]
        print(f"{len(y):8d} {n_sites:4d}", *(f"{v:9.3f}" for v in taken), f"{megabytes():9.1f}")


def crossover():
    """Print likelihood times by the size of the state and the number of rows, both solvers."""
    print("CPU ms of a likelihood and its gradient: state N, rows n, dense, filter")
    for n_sites, nu in ((1, 1.5), (10, 0.5), (20, 1.5), (46, 1.5), (60, 2.5), (150, 0.5)):
        state = {0.5: 1, 1.5: 2, 2.5: 3}[nu] * n_sites
        for ratio in (0.5, 1.0, 2.0, 4.0):
            n, taken = max(64, int(ratio * state)), []
            X, y = panel(n_sites, 2 * n // n_sites + 2)
            for solver in ("dense", "kalman"):
                gp = made(solver, nu).fit(X[:n], y[:n])
                call = partial(gp.log_marginal_likelihood, gp.theta_, True)
                taken.append(1e3 * np.median([seconds(call)[0] for _ in range(5)]))
            print(f"{state:6d} {n:6d} {taken[0]:9.3f} {taken[1]:9.3f}", flush=True)


PARTS = {function.__name__: function for function in (steps, regressor, season, crossover)}

if __name__ == "__main__":
    name, *numbers = sys.argv[1:] or ["steps"]
    PARTS[name](*map(int, numbers))
