"""Members of discrete spaces: a bad one that becomes the best, and the price where none does.

    python benchmarks/decisions/visits.py --replications 3

One query a step, noise of 0.05 around values in [0, 1]. The columns of "found" have the number of
steps after which a member, the worst until step 100 and then better than all by 0.5, is queried:
the median, and the largest ("-": not within 100). Those of "still" have the regret where nothing
changes over that of uniform queries, of all queries and of the second half.
"""

import argparse
import warnings

import numpy as np

from sktvbo.domain import Arms, FiniteSet
from sktvbo.exceptions import OverconfidenceWarning
from sktvbo.optimizers._names import ALGORITHMS

# Step of the change, and steps of a run where nothing changes.
CHANGE, STILL = 100, 500

PAIRS = {"glue": ["a", "b", "c"], "foil": ["u", "v", "w", "x"]}
PLACES = np.random.RandomState(0).uniform(size=(20, 2))
SPACES = {"arms": Arms(8), "pairs": PAIRS, "finite set": FiniteSet(PLACES)}
SIZES = {"arms": 8, "pairs": 12, "finite set": 20}


def index_of(space, x):
    """Return the position of a member of a space."""
    if space == "pairs":
        return PAIRS["glue"].index(x["glue"]) * 4 + PAIRS["foil"].index(x["foil"])
    return SPACES[space].index(x)


def values_of(space, seed):
    """Return the values (m,) of the members: random, and smooth on the finite set."""
    rng = np.random.RandomState(seed)
    if space != "finite set":
        return rng.permutation(np.linspace(0.0, 1.0, SIZES[space]))
    distances = np.linalg.norm(PLACES - rng.uniform(size=2), axis=1)
    return 1.0 - distances / distances.max()


def queried(label, space, seed, values_at, stop):
    """Return the members (n,) that a run queries, until one is ``stop`` after the change."""
    rng, found = np.random.RandomState(seed), []
    opt = ALGORITHMS[label](SPACES[space], random_state=seed)
    for i in range(CHANGE * 2 if stop is not None else STILL):
        x = opt.ask(float(i))
        found.append(index_of(space, x))
        opt.tell(x, values_at(i)[found[-1]] + 0.05 * rng.normal())
        if i >= CHANGE and found[-1] == stop:
            break
    return np.array(found)


def steps_until_found(label, space, seed):
    """Return the number of steps from the change until its member is queried, or infinity."""
    before = values_of(space, seed)
    after, worst = before.copy(), int(np.argmin(before))
    after[worst] = 1.5
    found = queried(label, space, seed, lambda i: after if i >= CHANGE else before, worst)
    return len(found) - CHANGE if found[-1] == worst else np.inf


def regrets(label, space, seed):
    """Return the regret over that of uniform queries: of all queries, and of the second half."""
    values = values_of(space, seed)
    lost = values.max() - values[queried(label, space, seed, lambda i: values, None)]
    uniform = np.mean(values.max() - values)
    return lost.mean() / uniform, lost[STILL // 2 :].mean() / uniform


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--spaces", nargs="+", choices=SPACES, default=list(SPACES))
    parser.add_argument("--replications", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", OverconfidenceWarning)  # of the change
    print(f"{'':26}{'found':>8}{'worst':>7}{'still':>9}{'second half':>13}")
    for label in arguments.algorithms:
        for space in arguments.spaces:
            seeds = range(arguments.replications)
            found = [steps_until_found(label, space, seed) for seed in seeds]
            still = np.mean([regrets(label, space, seed) for seed in seeds], axis=0)
            cells = [f"{n:.0f}" if np.isfinite(n) else "-" for n in (np.median(found), max(found))]
            print(f"{label:14}{space:12}{cells[0]:>8}{cells[1]:>7}", end="")
            print(f"{still[0]:9.3f}{still[1]:13.3f}", flush=True)


if __name__ == "__main__":
    main()
