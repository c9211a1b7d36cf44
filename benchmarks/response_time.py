"""Response time R(n) of a W-DBO step, tell and ask, by the size n of the data set (d = 3).

For the response times that sktvbo.evaluation names: "sktvbo" is ours; "papers" is wdbo_algo's,
W-DBO by its authors on BoTorch, measured where that can be imported. Prints the times and the
coefficients of 1, n, n² and n³, which are >= 0, in seconds.

With a budget for hardly any removal, a step fits the hyperparameters, computes the relevancies
once, and maximizes the acquisition function. Each time is the median of the steps of a repetition,
and of the repetitions the least: other processes only ever add to it. Theirs uses as many threads
as it likes, unless OMP_NUM_THREADS says otherwise.
"""

import argparse
import warnings

import numpy as np
from _timing import header, seconds

from sktvbo import WDBO
from sktvbo.staleness import ResponseTime

D = 3
ALPHA = 1e-12  # W-DBO's budget


def objective(x, t, rng):
    return np.sin(4.0 * np.sum(x) + 6.0 * t) + 0.1 * rng.normal()


class Ours:
    name = "sktvbo"

    def __init__(self, n):
        self._optimizer = WDBO([(0.0, 1.0)] * D, alpha=ALPHA, n_initial_points=n, random_state=0)

    def tell(self, x, y, t):
        self._optimizer.tell(x, y, t)

    def ask(self, t):
        return self._optimizer.ask(t)

    @property
    def size(self):
        return len(self._optimizer.X_)


class Theirs:
    name = "papers"

    def __init__(self, n):
        import gpytorch
        import torch
        from wdbo_algo.optimizer import WDBOOptimizer

        torch.set_default_dtype(torch.float64)
        warnings.filterwarnings("ignore", module="gpytorch|botorch|linear_operator")
        np.random.seed(0)  # theirs is the global one
        matern = gpytorch.kernels.MaternKernel
        box = np.array([[0.0, 1.0]] * D)
        self._optimizer = WDBOOptimizer(box, matern, matern, [2.5], [1.5], n, ALPHA)

    def tell(self, x, y, t):
        self._optimizer.tell(x, t, y)
        self._optimizer.clean(t)

    def ask(self, t):
        return self._optimizer.next_query(t)

    @property
    def size(self):
        return self._optimizer.dataset_size()


def measure(make, n, steps, repeats):
    """Seconds of a step with about n observations, the least and the most, and the size they had.

    Theirs may remove an observation though the budget is nothing, so the size is looked up.
    """
    medians, sizes = [], []
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        optimizer, times = make(n), []
        # Time runs over [0, 1] as theirs expects.
        for t in np.linspace(0.0, 0.5, n):
            x = rng.uniform(size=D)
            optimizer.tell(x, objective(x, t, rng), t)
        x = optimizer.ask(t)
        for _ in range(steps):
            t += 0.5 / n
            y = objective(x, t, rng)

            def step(x=x, y=y, t=t, optimizer=optimizer):
                optimizer.tell(x, y, t)
                return optimizer.ask(t)

            elapsed, x = seconds(step)
            times.append(elapsed)
            sizes.append(optimizer.size)
        medians.append(np.median(times))
    return min(medians), max(medians), np.median(sizes)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[15, 30, 60, 120, 240])
    parser.add_argument("--steps", type=int, default=5, help="steps of a repetition")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions")
    parser.add_argument("--only", choices=["sktvbo", "papers"], help="measure only this one")
    arguments = parser.parse_args()
    header(f"A W-DBO step at d = {D}; {arguments.steps} steps, {arguments.repeats} repetitions")
    for make in (Ours, Theirs):
        if arguments.only not in (None, make.name):
            continue
        try:
            make(1)
        except ImportError as exc:
            print(f"{make.name}: left out, {exc}")
            continue
        sizes, least = [], []
        for n in arguments.sizes:
            low, high, size = measure(make, n, arguments.steps, arguments.repeats)
            sizes.append(size)
            least.append(low)
            shown = f"{1e3 * low:9.2f} ms  (to {1e3 * high:.2f})"
            print(f"{make.name:8s} n = {size:5.1f}  {shown}", flush=True)
        fit = ResponseTime(sizes, least)
        shown = ", ".join(f"{c:.3g}" for c in fit.coefficients)
        errors = " ".join(f"{fit(n) / low - 1.0:+.0%}" for n, low in zip(sizes, least))
        print(f"{make.name:8s} R(n) = ({shown}) · (1, n, n², n³); off by {errors}")


if __name__ == "__main__":
    main()
