"""
============================================
A hundred machines that learn from the first
============================================

Each machine has its own optimizer, and its own journal. The first ten begin without any knowledge;
the others begin with what the ten have learnt, ``earlier=``. The runs are calls on a Dask cluster
of two processes, here on this computer: with the address of a scheduler, and journals in a folder
that all workers see, the same program runs on many. One of the workers dies in the middle of a run.
Its machine loses nothing: Dask repeats the call, which resumes from the journal.
"""

import os
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from sktvbo import WDBO, Journal

N_MACHINES, N_FIRST, N_QUERIES = 100, 10, 48
DOMAIN = {"speed": ("real", 600.0, 1800.0), "valve": ("real", 0.0, 100.0)}
DIES = 23, 20  # a machine, and the number of its answers when its worker dies


def lost(x, t, machine):
    """Power (kW) beyond the least: the best setting differs a little, and drifts."""
    rng = np.random.default_rng(machine)
    speed = 1450.0 + 40.0 * rng.normal() + 30.0 * np.sin(t / 25.0 + rng.uniform(0.0, 6.0))
    valve = 30.0 + 4.0 * rng.normal()
    return ((x["speed"] - speed) / 150.0) ** 2 + ((x["valve"] - valve) / 12.0) ** 2


def run(folder, machine, prior=None):
    """Return the power lost (n,) in a machine's queries, seconds, and queries made before.

    A call may be repeated, also one that was completed on a worker that has died since.
    """
    journal = Journal(Path(folder, f"machine-{machine}.db"), resume=True)
    optimizer = WDBO(
        DOMAIN, maximize=False, earlier=prior, random_state=machine, journal=journal, clock="step"
    )
    begun, n_before = time.process_time(), optimizer.n_told_
    for t in range(n_before, N_QUERIES):
        if (machine, t) == DIES and not optimizer.pending_:
            optimizer.suggest(t)
            os._exit(1)
        query = optimizer.pending_[0] if optimizer.pending_ else optimizer.suggest(t)
        noise = np.random.default_rng([machine, t]).normal()
        optimizer.tell(query, 75.0 + lost(query.x, t, machine) + 0.3 * noise)
    seconds = time.process_time() - begun
    asked = optimizer.to_frame()
    optimizer.close()
    points = [{"speed": speed, "valve": valve} for speed, valve in asked[[*DOMAIN]].to_numpy()]
    return [lost(x, t, machine) for t, x in enumerate(points)], seconds, n_before


def main():
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        first = client.gather(client.map(run, [folder] * N_FIRST, range(N_FIRST), pure=False))
        journals = [Path(folder, f"machine-{machine}.db") for machine in range(N_FIRST)]
        prior = WDBO(DOMAIN, maximize=False, clock="step", earlier=journals).prior_
        print(prior)
        rest = range(N_FIRST, N_MACHINES)
        calls = client.map(run, [folder] * len(rest), rest, prior=prior, pure=False)
        return first + client.gather(calls)


# %%
# The process of a worker begins by importing this file: only the program itself may start workers.

if __name__ == "__main__":
    runs = main()
    regrets = np.array([regret for regret, *_ in runs])
    _, seconds, n_before = map(np.array, zip(*runs))
    milliseconds = 1e3 * seconds.sum() / (N_QUERIES - n_before).sum()
    print(
        f"{milliseconds:.1f} ms a step; machine {DIES[0]} resumed after {n_before[DIES[0]]} queries"
    )

    fig, (left, right) = plt.subplots(
        1, 2, figsize=(10.0, 4.0), width_ratios=[2, 1], layout="constrained"
    )
    numbers, means = 1 + np.arange(N_MACHINES), regrets.mean(axis=1)
    for part, color, label in (
        (slice(N_FIRST), "C1", "alone"),
        (slice(N_FIRST, None), "C0", "with earlier="),
    ):
        left.plot(numbers[part], means[part], "o", color=color, markersize=4.0, label=label)
        left.hlines(means[part].mean(), *numbers[part][[0, -1]], color=color)
        right.semilogy(1 + np.arange(N_QUERIES), regrets[part].mean(axis=0), color, label=label)
    left.plot(*np.transpose([(DIES[0] + 1, means[DIES[0]])]), "kx", label="its worker died")
    left.set(xlabel="machine", ylabel=f"power lost in {N_QUERIES} queries (kW)", yscale="log")
    right.set(xlabel="query", ylabel="power lost (kW)")
    left.legend()
    plt.show()
