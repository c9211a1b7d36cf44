"""Exact tracking by the Kalman filter: steps for ever, streams, and what others take.

``python bench_kalman.py PART ...`` with parts

- ``steps [side] [n]``: n steps of TV-GP-UCB on side² points; CPU time of a step and the size of
  the process as it goes (defaults 50 and 3,000; the full run has 100,000);
- ``arms [n]``: a step at n observations of 2,500 points, against the Cholesky factor;
- ``regressor``: 46 sites at 20,000 times, and against the dense solver at sizes both can do;
- ``series``: one series, against celerite2 and GPy where they are installed;
- ``crossover``: from which n on the filter is faster, by the size of its state;
- ``beta [horizon] [trials]``: a constant β on a 20 x 20 grid (Mandl & Kekkonen's experiment: RBF of
  lengthscale 0.1, noise variance 0.01, horizon 10,000, 100 trials).

Times are CPU seconds of this process, with as many threads as OMP_NUM_THREADS says.
"""

import resource
import sys
from functools import partial
from itertools import product
from time import process_time

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import TVGPUCB, TimeVaryingGPRegressor
from sktvbo.acquisition import UCB
from sktvbo.domain import FiniteSet
from sktvbo.kernels import Forgetting


def grid(side):
    axis = np.linspace(0.0, 1.0, side)
    return np.array(list(product(axis, axis)))


def tracker(points, epsilon=0.03, beta=4.0, seed=0, solver="kalman", **options):
    surrogate = TimeVaryingGPRegressor(
        RBF(0.1), Forgetting(epsilon), noise_variance=0.01, optimizer=None, solver=solver
    )
    return TVGPUCB(
        FiniteSet(points),
        surrogate=surrogate,
        acquisition=UCB(beta=beta),
        n_initial_points=1,
        clock="step",
        random_state=seed,
        **options,
    )


def megabytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 2**20


def cpu(function):
    start = process_time()
    result = function()
    return process_time() - start, result


def steps(side=50, n=3000):
    points = grid(side)
    opt, rng = tracker(points, history=0), np.random.RandomState(0)
    print(f"TV-GP-UCB on {len(points)} points; ms of CPU a step [median, mean, largest]; MB")
    window, every = [], max(n // 10, 1)
    for t in range(n):

        def step(t=t):
            x = opt.ask(t)
            opt.tell(x, np.sin(5.0 * x[0] + 0.01 * t) + 0.1 * rng.normal(), t)

        window.append(1e3 * cpu(step)[0])
        if (t + 1) % every == 0:
            found = np.median(window), np.mean(window), np.max(window)
            print(f"{t + 1:8d}", *(f"{v:9.3f}" for v in found), f"{megabytes():9.1f}")
            window = []


def arms(n=1000, side=50):
    points, rng = grid(side), np.random.RandomState(0)
    X = np.column_stack([points[rng.randint(len(points), size=n)], np.arange(n, dtype=float)])
    y = np.sin(5.0 * X[:, 0] + 0.01 * X[:, 2]) + 0.1 * rng.normal(size=n)
    print(f"A step (ask, tell) at {n} observations of {len(points)} points")
    for solver, repeats in (("dense", 10), ("kalman", 192)):
        opt = tracker(points, solver=solver).set_params(n_initial_points=n)
        for row, value in zip(X, y):
            opt.tell(row[:-1], value, row[-1])
        # The covariance is settled every 64 steps, which are in the mean.
        taken = [1e3 * cpu(partial(one_step, opt, n + i))[0] for i in range(repeats)]
        print(f"{solver:8s} median {np.median(taken):9.3f} ms, mean {np.mean(taken):9.3f} ms")


def one_step(opt, t):
    opt.tell(opt.ask(t), 0.0, t)


def panel(n_sites, n_times, missing=0.2, seed=0):
    """Rows of sites observed at regular times, some missing."""
    rng = np.random.RandomState(seed)
    sites = rng.uniform(size=(n_sites, 2))
    t = np.repeat(np.arange(n_times, dtype=float), n_sites)
    X = np.column_stack([np.tile(sites, (n_times, 1)), t])
    y = np.sin(4.0 * X[:, 0] + t / 40.0) + 0.1 * rng.normal(size=len(t))
    there = rng.uniform(size=len(t)) > missing
    return X[there], y[there]


def regressor():
    def make(solver):
        return TimeVaryingGPRegressor(
            Matern(0.5, nu=2.5), Matern(20.0, nu=1.5), solver=solver, optimizer=None
        )

    print("46 sites, a fifth missing; CPU seconds: condition, likelihood with gradient, predict")
    for n_times, solvers in ((20, "dk"), (60, "dk"), (2000, "k"), (20000, "k")):
        X, y = panel(46, n_times)
        questions = X[:: len(X) // 100].copy()
        questions[:, 2] += 0.3
        answers = []
        for solver in ("dense", "kalman"):
            if solver[0] not in solvers:
                continue
            condition, gp = cpu(partial(make(solver).fit, X, y))
            likelihood, found = cpu(partial(gp.log_marginal_likelihood, gp.theta_, True))
            predict, said = cpu(partial(gp.predict, questions, return_std=True))
            print(f"{len(y):8d} rows {solver:8s} {condition:9.3f} {likelihood:9.3f} {predict:9.3f}")
            answers.append((*said, *found))
        if len(answers) == 2:
            print("         largest difference", max(map(difference, *answers)))


def difference(a, b):
    return float(np.max(np.abs(np.asarray(a) - b)))


def series(n=100_000):
    rng = np.random.RandomState(0)
    t = np.cumsum(rng.uniform(0.5, 1.5, size=n))
    y = np.sin(t / 30.0) + 0.1 * rng.normal(size=n)
    X = t[:, np.newaxis]
    gp = TimeVaryingGPRegressor(
        temporal_kernel=Matern(10.0, nu=1.5), noise_variance=0.01, optimizer=None, solver="kalman"
    )
    print(f"A series of {n} rows, Matérn 3/2; CPU seconds")
    taken, gp = cpu(lambda: gp.fit(X, y))
    print(f"ours       likelihood {taken:8.3f}  log p(y) {gp.log_marginal_likelihood_value_:.6f}")
    taken, _ = cpu(lambda: gp.log_marginal_likelihood(gp.theta_, eval_gradient=True))
    print(f"ours       with gradient {taken:8.3f}")
    taken, (mean, _) = cpu(lambda: gp.predict(X[::10] + 0.2, return_std=True))
    print(f"ours       smoothed at {len(mean)} times {taken:8.3f}")
    try:
        import celerite2
    except ImportError:
        print("celerite2 is not installed")
    else:
        # Its Matérn 3/2 is a limit, reached as eps goes to 0; the default is 0.01.
        for eps in (1e-2, 1e-4):
            term = celerite2.terms.Matern32Term(sigma=1.0, rho=10.0, eps=eps)
            theirs = celerite2.GaussianProcess(term)
            taken, _ = cpu(lambda p=theirs: p.compute(t, diag=np.full(n, 0.01)))
            more, value = cpu(lambda p=theirs: p.log_likelihood(y))
            print(f"celerite2  likelihood {taken + more:8.3f}  log p(y) {value:.6f}  (eps {eps})")
            taken, theirs_mean = cpu(lambda p=theirs: p.predict(y, t=t[::10] + 0.2))
            gap = np.max(np.abs(theirs_mean - mean))
            print(f"celerite2  predicted means {taken:8.3f}, from ours at most {gap:.1e}")
    try:
        import GPy
    except ImportError:
        print("GPy is not installed")
    else:
        some = slice(0, 2000)
        kernel = GPy.kern.src.sde_matern.sde_Matern32(1, variance=1.0, lengthscale=10.0)
        taken, theirs = cpu(
            lambda: GPy.models.StateSpace(X[some], y[some, np.newaxis], kernel, noise_var=0.01)
        )
        gp.fit(X[some], y[some])
        ours, _ = cpu(lambda: gp.log_marginal_likelihood(gp.theta_, eval_gradient=True))
        print(f"GPy        likelihood and gradient of {len(y[some])} rows {taken:8.3f}")
        print(f"           log p(y) {np.sum(theirs.log_likelihood()):.6f}")
        print(f"ours       {ours:8.3f}, log p(y) {gp.log_marginal_likelihood_value_:.6f}")


def crossover():
    print("CPU ms of a likelihood and its gradient: state N, rows n, dense, filter")
    for n_sites, nu in ((1, 1.5), (10, 0.5), (20, 1.5), (46, 1.5), (60, 2.5), (150, 0.5)):
        order = {0.5: 1, 1.5: 2, 2.5: 3}[nu]
        for ratio in (0.5, 1.0, 2.0, 4.0):
            n = max(64, int(ratio * order * n_sites))
            X, y = panel(n_sites, n // n_sites + 1)
            X, y = X[:n], y[:n]
            taken = []
            for solver in ("dense", "kalman"):
                gp = TimeVaryingGPRegressor(
                    Matern(0.5, nu=2.5), Matern(20.0, nu=nu), solver=solver, optimizer=None
                ).fit(X, y)
                times = [
                    cpu(lambda g=gp: g.log_marginal_likelihood(g.theta_, True))[0] for _ in range(5)
                ]
                taken.append(1e3 * np.median(times))
            print(f"{order * n_sites:6d} {n:6d} {taken[0]:9.3f} {taken[1]:9.3f}")


def beta(horizon=2000, trials=2):
    points = grid(20)
    root = np.linalg.cholesky(RBF(0.1)(points) + 1e-9 * np.eye(len(points)))
    constants = (0.5, 1.0, 2.12, 4.34, 6.36, 9.0, 16.0)
    print(f"Average regret of TV-GP-UCB over {horizon} steps and {trials} trials, by a constant β")
    print("  ε   ", *(f"{b:8.2f}" for b in constants))
    for epsilon in (0.1, 0.01, 0.001):
        regrets = np.zeros((trials, len(constants)))
        for trial, (j, constant) in product(range(trials), enumerate(constants)):
            rng = np.random.RandomState(trial)
            opt = tracker(points, epsilon, constant, seed=trial)
            f = root @ rng.normal(size=len(points))
            for t in range(horizon):
                x = opt.ask(t)
                i = int(np.argmin(np.sum((points - x) ** 2, axis=1)))
                regrets[trial, j] += (f.max() - f[i]) / horizon
                opt.tell(x, f[i] + 0.1 * rng.normal(), t)
                fresh = root @ rng.normal(size=len(points))
                f = np.sqrt(1.0 - epsilon) * f + np.sqrt(epsilon) * fresh
        print(f"{epsilon:6g}", *(f"{r:8.4f}" for r in regrets.mean(axis=0)), flush=True)
        if trials > 1:
            error = regrets.std(axis=0, ddof=1) / np.sqrt(trials)
            print("     ±", *(f"{e:8.4f}" for e in error), flush=True)


PARTS = {f.__name__: f for f in (steps, arms, regressor, series, crossover, beta)}

if __name__ == "__main__":
    name, *numbers = sys.argv[1:] or ["steps"]
    PARTS[name](*map(int, numbers))
