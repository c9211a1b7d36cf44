"""Threads of the linear algebra: small matrices wake none, and nobody's limits are touched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

USES = """
import json, os, sys, threading
import numpy as np, scipy.linalg
from pathlib import Path
from threadpoolctl import threadpool_info
from sktvbo import WDBO, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sklearn.gaussian_process.kernels import Matern
from sktvbo.dpp import sample_kdpp
from sktvbo.kernels import with_seasons

def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.arange(n)])
    return X, np.sin(5.0 * X[:, 0] + X[:, 2] / 20.0) + 0.1 * rng.normal(size=n)

def fits(n=60, seed=0, optimizer="fmin_l_bfgs_b", temporal=None):
    X, y = data(n, seed)
    gp = TimeVaryingGPRegressor(temporal_kernel=temporal, optimizer=optimizer).fit(X[:-1], y[:-1])
    gp.partial_fit(X[-1:], y[-1:])
    gp.predict(X, return_std=True)
    sweep = gp.fitted_.relevancy_sweep()
    sweep.remove(int(np.argmin(sweep.relevancy())))
    gp.forget([0]).log_marginal_likelihood(gp.theta_, eval_gradient=True)

def steps():
    opt = WDBO([(0.0, 1.0)] * 2, n_initial_points=10, random_state=0)
    for t in range(14):
        x = opt.ask(t)
        opt.tell(x, -float(np.sum((x - 0.5) ** 2)))

def sparse():
    SparseTimeVaryingGPRegressor(n_inducing=20, random_state=0).fit(*data(400))

def fails():
    try:
        TimeVaryingGPRegressor(optimizer=None, signal_variance=1e300).fit(*data(50))
    except ValueError:
        pass

def dpp():
    X, _ = data(60)
    sample_kdpp(np.exp(-np.abs(X[:, :1] - X[:, :1].T)), 5, random_state=0)

def together():
    # Sizes on both sides of where threads are worth it, so that calls begin and end in all orders.
    sizes = (60, 320, 90, 305)
    jobs = [threading.Thread(target=fits, args=(n, n, None)) for n in sizes]
    for job in jobs: job.start()
    for job in jobs: job.join()

def fork():
    child = os.fork()
    if child == 0:
        fits(310, 1, None)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def limits():
    return sorted((info["filepath"], info["num_threads"]) for info in threadpool_info())

def worked():
    # Nanoseconds that threads other than this one have computed.
    tasks = [t for t in Path("/proc/self/task").iterdir() if int(t.name) != os.getpid()]
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks)
"""


def run(code):
    """What a fresh process prints as its last line: in this one the threads are limited."""
    command, environment = [sys.executable, "-c", USES + code], _environment()
    options = {"capture_output": True, "text": True, "check": True, "timeout": 600}
    done = subprocess.run(command, env=environment, **options)
    return json.loads(done.stdout.splitlines()[-1])


def _environment():
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    root = str(Path(__file__).parents[1])
    return free | {"PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_limits_are_as_before():
    code = """
seen = {"before": limits()}
for use in (fits, steps, sparse, fails, dpp, together, fork):
    use()
    seen[use.__name__] = limits()
print(json.dumps(seen))
"""
    seen = run(code)
    assert seen["before"]
    assert seen == dict.fromkeys(seen, seen["before"])


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="needs Linux' /proc")
@pytest.mark.slow
def test_small_matrices_wake_no_thread():
    code = """
spent = {}
for name, use in {
    "ours": lambda: (fits(100, 0, None), fits(250, 0, None)),
    "seasons": lambda: fits(250, 0, None, with_seasons(Matern(20.0, nu=2.5), 24.0)),
    "numpy's": lambda: [np.ones((200, 200)) @ np.ones((200, 200)) for _ in range(50)],
}.items():
    use()
    before = worked()
    use()
    spent[name] = worked() - before
print(json.dumps(spent))
"""
    spent = run(code)
    if spent["numpy's"] < 1e6:
        pytest.skip("this BLAS has no threads of its own to wake")
    # Milliseconds would be those of some thousands of calls.
    assert max(spent["ours"], spent["seasons"]) < 1e6
