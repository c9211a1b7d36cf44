"""Times of this checkout beside those of the last release, or of another version.

    python benchmarks/speed/against_release.py [BASE] [--rounds 5] [--slower 1.3]

BASE is a requirement (sktvbo==0.1.0), a wheel, or a tag or commit of this repository; the default
is the latest tag. It is installed into a folder of its own, with the same NumPy and SciPy. Both
sides run the same calls in turn, each in a process of its own, so that changes of the machine's
pace affect both. Processor time, medians; the exit status is 1 if a call takes ``--slower`` times
as long as before.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from time import process_time

import numpy as np

N_STEPS = 60
ROOT = Path(__file__).resolve().parents[2]


def calls():
    """Name and function of what is timed: the public names that every release has."""
    from sklearn.gaussian_process.kernels import RBF

    from sktvbo import (
        BOLT,
        TVGPUCB,
        WDBO,
        SparseTimeVaryingGPRegressor,
        TimeVaryingGPRegressor,
    )
    from sktvbo.domain import FiniteSet
    from sktvbo.dpp import sample_kdpp
    from sktvbo.kernels import Forgetting

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(600, 2)), np.arange(600.0)])
    y = np.sin(5.0 * X[:, 0] + X[:, 2] / 40.0) + 0.1 * rng.normal(size=600)
    held = TimeVaryingGPRegressor(optimizer=None).fit(X[:400], y[:400])
    K = np.exp(-30.0 * (X[:, :1] - X[:, :1].T) ** 2) + 1e-8 * np.eye(600)

    def steps():
        opt = WDBO([(0.0, 1.0)] * 2, n_initial_points=10, random_state=0)
        for t in range(40):
            x = opt.ask(t)
            opt.tell(x, -float(np.sum((x - 0.5 - 0.002 * t) ** 2)))

    def tracking(n):
        """A step of BOLT, W-DBO's with a data set of n observations, of a function that changes."""
        draw = np.random.default_rng(1)
        opt = BOLT([(0.0, 1.0)] * 3, max_size=n, n_initial_points=n, random_state=0)

        def step(t, x=None):
            x = opt.ask(float(t)) if x is None else x
            opt.tell(x, np.sin(4.0 * np.sum(x) + 6.0 * t / n) + 0.1 * draw.normal(), float(t))

        for t in range(n):
            step(t, draw.uniform(size=3))
        return partial(next, map(step, count(n)))

    def arms(n=1000, side=50):
        """A step of TV-GP-UCB on side² arms, from n observations."""
        axis = np.linspace(0.0, 1.0, side)
        points = np.column_stack([np.repeat(axis, side), np.tile(axis, side)])
        gp = TimeVaryingGPRegressor(RBF(0.1), Forgetting(0.03), noise_variance=0.01, optimizer=None)
        opt = TVGPUCB(FiniteSet(points), surrogate=gp, n_initial_points=n, random_state=0)

        def step(t, x=None):
            x = opt.ask(float(t)) if x is None else x
            opt.tell(x, np.sin(5.0 * x[0] + 0.01 * t), float(t))

        for t in range(n):
            step(t, points[(7919 * t) % len(points)])
        return partial(next, map(step, count(n)))

    def search():
        TimeVaryingGPRegressor(random_state=0).fit(X[:200], y[:200])

    def sparse():
        SparseTimeVaryingGPRegressor(n_inducing=30, random_state=0).fit(X, y)

    def rows():
        TimeVaryingGPRegressor(optimizer=None).fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])

    return {
        "40 steps of W-DBO": steps,
        "a search of hyperparameters, n = 200": search,
        "a sparse fit, n = 600": sparse,
        "300 rows more": rows,
        "relevancies, n = 400": held.relevancy,
        "600 predictions, n = 400": lambda: held.predict(X, return_std=True),
        "a k-DPP sample, N = 600": lambda: sample_kdpp(K, 20, random_state=0),
        **{f"a step of BOLT, n = {n}, d = 3": tracking(n) for n in (60, 120, 240, 400)},
        "a step on 2,500 arms, n = 1,000": arms(),
    }


def measure(folder):
    """Seconds of each call, the first one left out, as JSON, with the package in a folder.

    Of what goes on from step to step it is the median of many.
    """
    start = process_time()
    import sktvbo

    sktvbo.TimeVaryingGPRegressor()
    times, functions = {"import": process_time() - start}, calls()
    found = Path(sktvbo.__file__).parents[1]
    if not found.samefile(folder):
        sys.exit(f"the package was to be found in {folder}, and was in {found}")
    for name, function in functions.items():
        found = []
        for _ in range(1 + (N_STEPS if name.startswith("a step") else 1)):
            start = process_time()
            function()
            found.append(process_time() - start)
        times[name] = median(found[1:])
    print(json.dumps(times))


def latest_tag():
    """The latest tag before this commit, or None."""
    command = ["git", "describe", "--tags", "--abbrev=0"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def install(base, folder):
    """The base in a folder: from a commit of this repository, a wheel, or the package index."""
    commit = subprocess.run(
        ["git", "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    if commit.returncode == 0:
        archive = folder / "base.zip"
        command = ["git", "archive", "--prefix=sktvbo/", "-o", archive, base]
        subprocess.run(command, cwd=ROOT, check=True)
        base = archive
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    subprocess.run([*pip, folder / "base", str(base)], check=True)
    return folder / "base"


def timed(path):
    """What `measure` finds with the package in this folder."""
    environment = {**os.environ, "PYTHONPATH": str(path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--measure", str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", nargs="?", help="requirement, wheel, tag or commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slower", type=float, default=1.3, help="the ratio that fails")
    parser.add_argument("--measure", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure)
    base = options.base or latest_tag()
    if base is None:
        print("There is no release yet to compare with: name a BASE.")
        return None
    with tempfile.TemporaryDirectory() as folder:
        sides = {"base": install(base, Path(folder)), "here": ROOT}
        rounds = [
            {side: timed(path) for side, path in sides.items()} for _ in range(options.rounds)
        ]
    worst = 0.0
    print(f"{'':40}{'this':>12}{base[-12:]:>14}{'ratio':>8}   (medians of {options.rounds}, ms)")
    for name in rounds[0]["here"]:
        here, before = (
            1e3 * np.median([one[side][name] for one in rounds]) for side in ("here", "base")
        )
        worst = max(worst, here / before)
        print(f"{name:40}{here:12.2f}{before:14.2f}{here / before:8.2f}")
    return int(worst > options.slower)


if __name__ == "__main__":
    sys.exit(main())
