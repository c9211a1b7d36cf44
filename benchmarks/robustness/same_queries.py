"""Compare the decisions of two versions of the package, told the same observations.

    python benchmarks/robustness/same_queries.py record runs.json     # with the old version
    python benchmarks/robustness/same_queries.py replay runs.json     # with the new version

``record`` runs all algorithms on three domains (a box, a finite set, named parameters with a
context) for 120 steps, maximizing and minimizing, with a batch of three queries every tenth step.
It stores queries, observations and data sets. ``replay`` asks the new version for each query and
tells it the recorded observations. It prints, for each run, the first step at which a query differs
by more than 1e-6 of the range or the data set differs, and exits with 1 if there is one.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np

import sktvbo
from sktvbo.domain import Context, FiniteSet, WithContext, as_domain

STEPS, BATCH_EVERY, BATCH = 120, 10, 3
TOLERANCE = 1e-6

NAMES = ["GPUCB", "IGPUCB", "RGPUCB", "BRGPUCB", "SWGPUCB", "TVGPUCB", "WGPUCB", "UITVBO"]
NAMES += ["ETGPUCB", "ABO", "WDBO", "BOLT", "SparQGPUCB"]
OWN = {
    "RGPUCB": {"reset_period": 40},
    "BRGPUCB": {"horizon": STEPS},
    "SWGPUCB": {"window": 30},
    "BOLT": {"max_size": 40},
}
ALGORITHMS = {"RandomSearch": {}}
ALGORITHMS |= {name: {"n_initial_points": 6, **OWN.get(name, {})} for name in NAMES}


def domains():
    """Return the three domains by name."""
    points = np.random.RandomState(3).uniform(size=(30, 2))
    named = {
        "rate": ("log-real", 1e-3, 1.0),
        "depth": ("integer", 1, 8),
        "loss": ("categorical", ["l1", "l2", "huber"]),
        "load": Context(0.0, 1.0),
    }
    return {
        "box": as_domain([(0.0, 2.0), (-1.0, 1.0)]),
        "finite": FiniteSet(points),
        "named": as_domain(named),
    }


def context_of(domain, t):
    """Return the context at time t for a domain that has one, else None."""
    has_context = isinstance(domain, WithContext) or domain.n_chosen < domain.n_dims
    return {"load": 0.5 + 0.4 * np.sin(0.3 * t)} if has_context else None


def value(domain, x, context, t, rng):
    """Return a noisy observation of a bump that drifts and jumps once."""
    row = np.asarray(domain.place(x, context), dtype=float)
    u = domain.to_unit(row[np.newaxis])[0]
    center = 0.4 + 0.2 * np.sin(0.05 * t) + 0.3 * (t >= 80)
    return float(np.exp(-2.0 * np.sum((u - center) ** 2)) + 0.02 * rng.normal())


def plain(x):
    """Return a point as JSON data."""
    if isinstance(x, dict):
        return {name: v.item() if hasattr(v, "item") else v for name, v in x.items()}
    return np.asarray(x).tolist()


def suggest(opt, t, n, context):
    """Return a list of n queries, or of one if n is None."""
    if n is None:
        return [opt.suggest(t, context=context)]
    return opt.suggest(t, n=n, context=context)


def cases():
    """Yield (key, optimizer, domain) for every algorithm, domain and direction."""
    for name, options in ALGORITHMS.items():
        for where, domain in domains().items():
            for maximize in (True, False):
                # Minimization repeats what maximization shows: one domain suffices.
                if not maximize and where != "box":
                    continue
                kind = getattr(sktvbo, name)
                opt = kind(domain, maximize=maximize, random_state=0, clock="step", **options)
                yield f"{name}/{where}/{'max' if maximize else 'min'}", opt, domain


def record():
    """Run every case and return what was asked, told and kept."""
    found = {}
    for key, opt, domain in cases():
        rng, steps, latest = np.random.RandomState(1), [], 0.0
        for i in range(STEPS):
            # ABO may query later than it was asked.
            t, context = max(float(i), latest), context_of(domain, i)
            n = BATCH if i % BATCH_EVERY == BATCH_EVERY - 1 else None
            queries = suggest(opt, t, n, context)
            sign = 1.0 if opt.maximize else -1.0
            y = [sign * value(domain, q.x, context, t, rng) for q in queries]
            for query, each in zip(queries, y):
                opt.tell(query, each)
            asked = [[plain(q.x), float(q.t)] for q in queries]
            latest = max(at for _, at in asked)
            steps.append({"t": t, "asked": asked, "y": y, "kept": opt.X_[:, -1].tolist()})
        found[key] = steps
        print(f"recorded {key}", file=sys.stderr)
    return found


def difference(domain, context, x, recorded):
    """Return the largest difference of two points, as a part of the ranges."""
    rows = [np.asarray(domain.place(each, context), dtype=float) for each in (x, recorded)]
    units = domain.to_unit(np.array(rows))
    return float(np.abs(units[0] - units[1]).max())


def replay(recorded):
    """Ask for the recorded queries, tell the recorded observations; return the first exceptions."""
    exceptions = {}
    for key, opt, domain in cases():
        worst, latest = 0.0, 0.0
        for i, step in enumerate(recorded[key]):
            t, context = max(step["t"], latest), context_of(domain, i)
            n = BATCH if len(step["asked"]) > 1 else None
            queries = suggest(opt, t, n, context)
            latest = max(query.t for query in queries)
            gaps = [
                max(difference(domain, context, query.x, x), abs(query.t - at))
                for query, (x, at) in zip(queries, step["asked"])
            ]
            worst = max(worst, *gaps)
            if max(gaps) <= TOLERANCE:
                for query, y in zip(queries, step["y"]):
                    opt.tell(query, y)
            else:
                # The recorded observations are told all the same.
                exceptions.setdefault(key, f"step {i}: the query differs by {max(gaps):.1e}")
                for query in queries:
                    opt.cancel(query)
                for (x, at), y in zip(step["asked"], step["y"]):
                    opt.tell(x, y, at, context=context)
            kept = opt.X_[:, -1]
            same = len(kept) == len(step["kept"]) and np.allclose(kept, step["kept"], atol=1e-5)
            if not same:
                exceptions.setdefault(key, f"step {i}: the data set differs")
        print(f"{key:24s} {exceptions.get(key, f'same, largest difference {worst:.0e}')}")
    return exceptions


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["record", "replay"])
    parser.add_argument("path", type=Path)
    arguments = parser.parse_args()
    if arguments.action == "record":
        arguments.path.write_text(json.dumps(record()))
    else:
        sys.exit(1 if replay(json.loads(arguments.path.read_text())) else 0)


if __name__ == "__main__":
    main()
