"""Kill journalled runs at random moments, and compare them with undisturbed runs.

    python benchmarks/robustness/crash.py [--kills 300] [--steps 40] [--seed 0]

A child process makes the run, notes which calls have returned, and is killed by SIGKILL; the next
child resumes, until the run is long enough. The run has every kind of call: single queries and
batches, in a context where there is one, observations, failures, several observations at once, some
that are taken back, cancelled queries. Then its journal is compared with a run of the same seed in
one process: no observation is missing, doubled, or back after it was taken back, and the queries
agree to 1e-4. Some runs amplify rounding, such as BOLT's with 12 rows, whose likelihood has two
optima: their queries differ by at most ten times what relative changes of the values by 1e-13 and
1e-10 make. After any kill nothing that had returned is missing.
"""

import argparse
import json
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

from sktvbo import BOLT, SWGPUCB, UITVBO, WDBO, Journal, SparQGPUCB, journal
from sktvbo.domain import WithContext
from sktvbo.exceptions import JournalError

# Relative changes of values: rounding, and less than a climb's tolerance of a query makes.
ROUNDING = 1e-13, 1e-10

BOX = [(0.0, 2.0), (-1.0, 1.0)]
BESIDE = WithContext(BOX, [(0.0, 1.0)])
KINDS = (
    (WDBO, BOX, {}),
    (SWGPUCB, BOX, {"window": 12, "refit_every": 10}),
    (WDBO, BESIDE, {"alpha": 1.0}),
    (SparQGPUCB, BOX, {"n_queries": 4}),
    (BOLT, BESIDE, {"max_size": 12}),
    (UITVBO, BOX, {"refit_every": 5}),
)


def make(number, seed, **options):
    kind, domain, own = KINDS[number % len(KINDS)]
    options = {"n_initial_points": 6, "clock": "step", "random_state": seed + number} | options
    return kind(domain, **own, **options)


def value(row):
    return float(np.exp(-np.sum((row[:2] - 0.3 - 0.01 * row[-1]) ** 2)))


def step(optimizer, note=lambda *what: None, change=0.0):
    """The next call of a run, whatever came before; values have a relative ``change``."""
    pending, answered = optimizer.pending_, optimizer.n_told_ + optimizer.n_failed_
    # How many there have been, those included that were taken back.
    history = optimizer._current().history
    total, untold = history.total, history.untold
    beside = isinstance(optimizer.domain, WithContext)
    there = {"context": 0.1 * (answered % 7)} if beside else {}
    if not pending and len(untold) < total // 6:
        optimizer.untell(id=history.entries[-1 if total % 4 else -3].query)
        note("untell", len(untold) + 1)
    elif not pending:
        optimizer.suggest(n=2 if answered % 5 == 3 else 1, **there)
        note("ask", len(optimizer.pending_))
    elif len(pending) > 1 and answered % 2:
        optimizer.cancel(pending[0])
        note("cancel", len(pending) - 1)
    elif answered % 7 == 6:
        optimizer.tell(pending[0], failed=True)
        note("fail", answered + 1)
    elif answered % 9 == 4:
        places = [pending[-1], [0.2 + 0.01 * total, 0.5]]
        values = [value(np.append(pending[-1].x, pending[-1].t)), 0.25]
        optimizer.tell_many(places, values, pending[-1].t, **there)
        note("tell", total + 2)
    else:
        query = pending[-1]
        optimizer.tell(query, (1.0 + change) * value(np.append(query.x, query.t)))
        note("tell", total + 1)


def child(path, number, seed, steps, notes):
    """Make the run, or go on with it, until it is long enough."""
    try:
        optimizer = make(number, seed, journal=Journal(path, resume=True))

        def note(*what):
            os.write(notes, (json.dumps(what) + "\n").encode())

        while getattr(optimizer, "n_told_", 0) < steps:
            step(optimizer, note)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(3)


def live(path, number, seed, steps, lifetime):
    """One life of a run: whether it was killed, and what it has noted."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        child(path, number, seed, steps, write)
    os.close(write)
    time.sleep(lifetime)
    os.kill(process, signal.SIGKILL)
    with os.fdopen(read) as notes:
        noted = [json.loads(line) for line in notes.read().splitlines()]
    status = os.waitpid(process, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError(f"The child failed: {os.WEXITSTATUS(status)}")
    return os.WIFSIGNALED(status), noted


def told_in(path):
    """Observations of a journal that was just left behind, and which are taken back.

    An observation is (query, x, t, y): two queries of a batch may be of one place.
    """
    if not Path(path).is_file():
        return [], set()
    try:
        found = list(journal.events(path))
    except JournalError as exc:
        if "holds no run yet" in str(exc):
            return [], set()
        raise
    told = [event for event in found if event.kind == "tell"]
    assert [event.told for event in told] == list(range(len(told)))
    untold = [event.body["told"] for event in found if event.kind == "untell"]
    assert len(set(untold)) == len(untold), "an observation was taken back twice"
    rows = [(e.body["query"], *e.body["x"], e.body["t"], e.body["y"]) for e in told]
    return rows, set(untold)


def undisturbed(number, seed, steps, change=0.0):
    """Queries and values (n, d + 2) of a run in one process; see `step`."""
    optimizer = make(number, seed)
    while getattr(optimizer, "n_told_", 0) < steps:
        step(optimizer, change=change)
    return np.column_stack([optimizer.told_X_, optimizer.told_y_])


def crash(kills, steps, seed, longest=0.15, say=print):
    """So many kills, in as many runs as it takes; counts of what happened."""
    rng, killed, number, finished = np.random.RandomState(seed), 0, 0, 0
    while killed < kills:
        with tempfile.TemporaryDirectory() as folder:
            path, acknowledged = str(Path(folder) / "run.db"), {"tell": 0, "untell": 0}
            while True:
                if killed >= kills:
                    finish(path, number, seed, steps)
                    break
                was_killed, noted = live(path, number, seed, steps, rng.uniform(0.0, longest))
                killed += was_killed
                known = {name: [n for what, n in noted if what == name] for name in acknowledged}
                acknowledged = {name: max([n, *known[name]]) for name, n in acknowledged.items()}
                told, untold = told_in(path)
                assert len(told) >= acknowledged["tell"], "an observation that was told is missing"
                assert len(untold) >= acknowledged["untell"], "what was taken back is there again"
                # What was taken back may be asked for, and told, again.
                left = [row for i, row in enumerate(told) if i not in untold]
                assert len(set(left)) == len(left), "an observation is there twice"
                if not was_killed:
                    break
            rows = undisturbed(number, seed, steps)
            told, untold = told_in(path)
            assert untold or steps < 8
            left = [row for i, (_, *row) in enumerate(told) if i not in untold]
            # A surrogate that was conditioned again differs by rounding, and so do later queries.
            assert np.shape(left) == rows.shape, "another run"
            if not np.allclose(left, rows, atol=1e-4):
                others = [undisturbed(number, seed, steps, change) for change in ROUNDING]
                spread = max(np.abs(other - rows).max() for other in others)
                assert np.abs(left - rows).max() <= 10.0 * spread, "another run"
            journal.check(path)
            finished += 1
        number += 1
    say(f"{killed} kills in {finished} runs of {steps} steps: nothing missing, doubled or changed")
    return killed, finished


def finish(path, number, seed, steps):
    """Go on to the end without a kill."""
    process = os.fork()
    if process == 0:
        child(path, number, seed, steps, os.open(os.devnull, os.O_WRONLY))
    assert os.waitpid(process, 0)[1] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=0.15, help="seconds that a child may live")
    arguments = parser.parse_args()
    crash(arguments.kills, arguments.steps, arguments.seed, arguments.longest)


if __name__ == "__main__":
    sys.exit(main())
