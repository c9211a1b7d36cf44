"""
=============================
Latency of steps: a histogram
=============================

The latency of a step is the time of ask and tell. A tell that searches the hyperparameters takes
longer than one that only adds the observation. ``step_budget`` limits each: see :ref:`a controller
of 5 ms cycles <sphx_glr_gallery_production_controller.py>`. The times are those of the machine that
built this page.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO

rng = np.random.default_rng(0)
optimizer = WDBO([(0.0, 1.0)] * 2, random_state=0)
latencies = {"ask": [], "tell": [], "tell, with a search": []}  # ms of processor time
theta = None
for t in range(400):
    begun = time.process_time()
    x = optimizer.ask(t)
    asked = time.process_time()
    best = 0.5 + 0.3 * np.sin(t / 20.0 + np.arange(2))
    y = -np.sum((x - best) ** 2) + 0.1 * rng.normal()
    measured = time.process_time()
    optimizer.tell(x, y)
    told = time.process_time()
    if optimizer.surrogate_ is None:  # an initial point
        continue
    searched = theta is None or not np.array_equal(theta, optimizer.surrogate_.theta_)
    theta = optimizer.surrogate_.theta_
    latencies["ask"].append(1e3 * (asked - begun))
    latencies["tell, with a search" if searched else "tell"].append(1e3 * (told - measured))

figure, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
for name, each in latencies.items():
    middle, high, most = np.quantile(each, [0.5, 0.95, 1.0])
    print(f"{name}: {len(each)}, median {middle:.1f}, 95 % {high:.1f}, largest {most:.1f} ms")
    ax.hist(each, bins=np.geomspace(0.1, 100.0, 60), alpha=0.6, label=name)
ax.set(xscale="log", xlabel="latency (ms)", ylabel="steps")
ax.legend()
plt.show()
