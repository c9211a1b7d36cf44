"""Regret and cost of moves, with a part of the price of a move in the score.

    python benchmarks/decisions/move_cost.py
    python benchmarks/decisions/move_cost.py --set held-out --acquisitions UCB --prices 4

W-DBO on systems of `live.py`, over the unit box. A move costs its price for each unit of distance,
in standard deviations of the values over the box. The score has a part of it, see "Composing an
optimizer". Cells have the average regret, the average cost, and their sum over that of the first
part ± its standard error over the seeds, from query 40 on.
"""

import argparse
import warnings

import numpy as np
from live import Live

from sktvbo import WDBO
from sktvbo.acquisition import UCB, ExpectedImprovement, ProbabilityOfImprovement
from sktvbo.exceptions import ModelWarning

N_STEPS, N_FIRST = 200, 40
ACQUISITIONS = {"UCB": UCB(), "EI": ExpectedImprovement(), "PI": ProbabilityOfImprovement()}


class MoveCost:
    """An acquisition function of means that are reduced by the price of a move."""

    sees_places = True

    def __init__(self, acquisition, price):
        self.acquisition, self.price = acquisition, price

    def __call__(self, mean, std, state, X):
        moves = np.abs(X - state.latest)[:, :-1].sum(axis=1)
        return self.acquisition(mean - self.price * moves, std, state)


def losses(acquisition, problem, seed):
    """Return the average regret, and the average distance of the moves."""
    optimizer = WDBO([(0.0, 1.0)] * problem.d, acquisition=acquisition, random_state=seed)
    regret, places = [], []
    for t in range(N_STEPS):
        x = optimizer.ask(float(t))
        value = problem.values(x[np.newaxis], t)[0]
        regret.append(problem.best[t] - value)
        places.append(x)
        optimizer.tell(x, problem.observed(value))
    moves = np.abs(np.diff(places, axis=0)).sum(axis=1)
    return np.mean(regret[N_FIRST:]), np.mean(moves[N_FIRST - 1 :])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", choices=("development", "held-out"), default="development")
    parser.add_argument("--kinds", nargs="+", default=["drift", "jumps"])
    parser.add_argument("--dims", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--acquisitions", nargs="+", choices=ACQUISITIONS, default=["UCB"])
    parser.add_argument("--prices", type=float, nargs="+", default=[1.0, 4.0])
    parser.add_argument("--parts", type=float, nargs="+", default=[0.0, 0.1, 1.0])
    parser.add_argument("--seeds", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ModelWarning)
    for name in options.acquisitions:
        for kind in options.kinds:
            for d in options.dims:
                for price in options.prices:
                    print_row(f"{name}, {kind}, {d}d, {price:g}", name, kind, d, price, options)


def print_row(label, name, kind, d, price, options):
    first, cells = None, []
    for part in options.parts:
        acquisition = MoveCost(ACQUISITIONS[name], part * price)
        runs = np.array(
            [
                losses(acquisition, Live(kind, d, seed, options.set == "held-out"), seed)
                for seed in range(options.seeds)
            ]
        ) * [1.0, price]
        totals = runs.sum(axis=1)
        first = totals if first is None else first
        error = np.std(totals / first, ddof=1) / np.sqrt(len(totals))
        regret, cost = runs.mean(axis=0)
        ratio = np.mean(totals / first)
        cells.append(f"{regret:7.3f} + {cost:.3f}, {ratio:.2f} ± {error:.2f}")
    print(f"{label:20}" + "  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
