"""
===========================
A controller of 5 ms cycles
===========================

In each cycle the controller asks for a setting, applies it, measures the plant and tells the
value. The latency is the time of ask and tell, which ``step_budget`` limits. A cycle that takes
longer than 5 ms skips the next one. Run it with ``python controller.py [n_cycles]``; the histogram
needs Matplotlib.
"""

# sphinx_gallery_thumbnail_path = '_static/thumb_controller.svg'

import math
import sys
import time

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO

CYCLE = 0.005  # seconds
n_cycles = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
rng = np.random.RandomState(0)


def plant(x, t):
    """Efficiency of a plant at a setting; the best setting drifts."""
    return -((x[0] - 5.0 - 3.0 * math.sin(t / 2.0)) ** 2) + 0.1 * rng.normal()


optimizer = WDBO(
    [(0.0, 10.0)],
    step_budget=0.002,  # seconds of ask, and of tell
    random_state=0,
)
latencies, late = [], 0
start = cycle = time.perf_counter()
for _ in range(n_cycles):
    t = cycle - start
    begun = time.perf_counter()
    query = optimizer.suggest(t)
    asked = time.perf_counter()
    y = plant(query.x, t)
    measured = time.perf_counter()
    optimizer.tell(query, y)
    end = time.perf_counter()
    latencies.append(1e3 * (asked - begun + end - measured))
    n_passed = max(1, math.ceil((end - cycle) / CYCLE))
    late += n_passed > 1
    cycle += n_passed * CYCLE
    time.sleep(max(0.0, cycle - time.perf_counter() - 0.001))
    while time.perf_counter() < cycle:  # sleep() may be late by a millisecond
        pass

quantiles = np.quantile(latencies, [0.5, 0.9, 0.99, 1.0])
print("latency, ms: median {:.2f}, 90 % {:.2f}, 99 % {:.2f}, largest {:.2f}".format(*quantiles))
print(f"{late} of {n_cycles} cycles took longer than {1e3 * CYCLE:g} ms")
_, ax = plt.subplots(layout="constrained")
ax.hist(latencies, bins=np.geomspace(min(latencies), max(latencies), 50))
ax.axvline(1e3 * CYCLE, color="k", linestyle="dashed", label="cycle")
ax.set(xscale="log", yscale="log", xlabel="latency of ask and tell (ms)", ylabel="cycles")
ax.legend()
plt.show()
