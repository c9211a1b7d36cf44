"""
=========================
Workers of a Dask cluster
=========================

Several workers measure at the same time. Each result is told as soon as it is there, and the worker
gets the next query, away from those still being measured. The cluster here runs in this process; in
production, give the address of a scheduler.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from sktvbo import optimize


def best_input(t):
    return 3.0 + 2.0 * np.sin(3.0 * t)


def measure(x, t):
    time.sleep(0.05 * (1.0 + x[0] / 10.0))  # some take longer
    return -((x[0] - best_input(t)) ** 2)


cluster = LocalCluster(n_workers=4, threads_per_worker=1, processes=False, dashboard_address=None)
with cluster, Client(cluster) as client:
    found = optimize(
        measure,
        [(0.0, 10.0)],
        executor=client.get_executor(pure=False),
        n_jobs=4,
        n_calls=60,
        random_state=0,
    )

times = np.array([call.t for call in found.calls])
print(f"{len(times)} calls of some 0.07 s in {found.calls[-1].seconds:.1f} s")
fig, ax = plt.subplots(layout="constrained")
ax.plot(times, [call.x[0] for call in found.calls], ".", label="queries")
ax.plot(np.sort(times), best_input(np.sort(times)), "k", label="best input")
ax.set(xlabel="time (s)", ylabel="x")
ax.legend()
plt.show()
