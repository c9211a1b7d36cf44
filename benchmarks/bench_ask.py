"""How long an ask takes, beside another version's and beside the arithmetic that it needs.

    python benchmarks/bench_ask.py [FOLDER]

Hyperparameters are held, so that nothing but the search for the next query is timed. FOLDER is
another checkout with its extensions built: a process of its own asks the same of it, in turn. The
limit is what one ask of this version needs at least: for the candidates one triangular solve and
one exponential for each observation, for each turn of the climbs two solves and one exponential,
by SciPy's BLAS and NumPy's exp; how many turns there were is counted.
"""

import argparse
import os
import pickle
import subprocess
import sys
from time import process_time

import numpy as np
from _timing import header
from scipy.linalg import blas

SIZES, DIMENSIONS = (30, 60, 120, 240, 400), (1, 3, 6)
ROUNDS, CALLS = 7, 5
N_CANDIDATES = 515


def prepared(n, d):
    """An optimizer with n observations of a function that drifts, and the time."""
    from sklearn.gaussian_process.kernels import Matern

    from sktvbo import GPUCB, TimeVaryingGPRegressor

    rng = np.random.default_rng(0)
    kernels = Matern(0.3 * np.sqrt(d), nu=2.5), Matern(n / 2.0, nu=1.5)
    gp = TimeVaryingGPRegressor(*kernels, noise_variance=0.01, normalize_y=True, optimizer=None)
    opt = GPUCB([(0.0, 1.0)] * d, surrogate=gp, n_initial_points=n, random_state=0)
    for t in range(n):
        x = rng.uniform(size=d)
        opt.tell(x, np.sin(4.0 * x.sum() + 6.0 * t / n) + 0.1 * rng.normal(), float(t))
    return opt, float(n)


def asks(optimizers):
    """CPU seconds of an ask, of each optimizer: the machine may have other things to do."""
    found = []
    for text in optimizers:
        copies = [pickle.loads(text) for _ in range(CALLS)]
        start = process_time()
        for opt, t in copies:
            opt.ask(t)
        found.append((process_time() - start) / CALLS)
    return found


def serve():
    """In a process of its own: seconds of all asks whenever a line comes."""
    optimizers = [pickle.dumps(prepared(n, d)) for n in SIZES for d in DIMENSIONS]
    asks(optimizers)
    for _ in sys.stdin:
        print(*asks(optimizers), flush=True)


class Version:
    """A checkout in a process of its own."""

    def __init__(self, folder):
        environment = os.environ | {"PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, os.path.abspath(__file__), "--serve"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=environment, **pipes)

    def asks(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return [float(part) for part in self.process.stdout.readline().split()]


def turns(n, d):
    """How many climbs each turn of an ask had."""
    from sktvbo.gaussian_process import _views

    counts, original = [], _views.climb

    def counting(posterior, formula, parameter, ascents, X, columns, unit, until):
        while len(ascents.active):
            counts.append(len(ascents.active))
            trials = X[ascents.active]
            trials[:, columns] = ascents.trials
            mean, std, *slopes = posterior.with_gradients(trials)
            value, *by = _views._posterior.scores(formula, parameter, mean, std)
            gradient = by[0][:, None] * slopes[0] + by[1][:, None] * slopes[1]
            ascents.advance(value / unit, gradient[:, columns] / unit)

    _views.climb = counting
    opt, t = prepared(n, d)
    opt.ask(t)
    _views.climb = original
    return counts


def limit(n, counts):
    """Seconds of the bare BLAS and exponentials of an ask."""
    rng = np.random.default_rng(0)
    L = np.asfortranarray(np.eye(n) + 0.01 * np.tril(rng.normal(size=(n, n))))
    B = np.asfortranarray(rng.normal(size=(n, N_CANDIDATES)))
    found = []
    for _ in range(ROUNDS):
        K = np.copy(B, order="F")
        start = process_time()
        np.exp(K, out=K)
        blas.dtrsm(1.0, L, K, lower=1, overwrite_b=1)
        for m in counts:
            k = np.exp(B[:, :m])
            for transposed in (0, 1):
                blas.dtrsm(1.0, L, k, lower=1, trans_a=transposed, overwrite_b=1)
        found.append(process_time() - start)
    return np.median(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", help="another checkout")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve()
    header("An ask of GP-UCB, hyperparameters held, one thread")
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    versions = [Version(folder) for folder in (here, arguments.folder) if folder]
    rounds = [[version.asks() for version in versions] for _ in range(ROUNDS)]
    medians = np.median(rounds, axis=0)
    cases = [(n, d) for n in SIZES for d in DIMENSIONS]
    print(f"{'n':>5}{'d':>3}{'ask, ms':>10}{'other, ms':>11}{'ratio':>7}{'over the limit':>16}")
    for i, (n, d) in enumerate(cases):
        other = f"{'':18}"
        if len(versions) > 1:
            other = f"{1e3 * medians[1, i]:11.2f}{medians[1, i] / medians[0, i]:7.1f}"
        over = medians[0, i] / limit(n, turns(n, d))
        print(f"{n:5}{d:3}{1e3 * medians[0, i]:10.2f}{other}{over:16.1f}")
    for version in versions:
        version.process.stdin.close()
        version.process.wait()


if __name__ == "__main__":
    main()
