"""
======================
Measurements that fail
======================

A rig jams in a range of its settings, and that range moves. The program tells failed queries as
failures. The optimizer learns where and when measurements succeed, and avoids the jam while it
tracks the best setting.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO


def best(t):
    return 5.0 + 3.0 * np.sin(0.04 * np.asarray(t))


def jams(x, t):
    return abs(x - 5.0 - 2.5 * np.cos(0.025 * t)) < 1.25  # a quarter of the settings


optimizer = WDBO([(0.0, 10.0)], random_state=0)
for t in np.arange(200.0):
    x = optimizer.ask(t)
    if jams(x[0], t):
        optimizer.tell(x, failed=True)
    else:
        optimizer.tell(x, -((x[0] - best(t)) ** 2))
print(f"{optimizer.n_failed_} of 200 queries failed; at random 50 would have.")

# %%
# Circles are measurements, and crosses are failures. Settings in the shaded range jam. The line is
# the best setting, which is sometimes in that range:

times, settings = np.arange(200.0), np.linspace(0.0, 10.0, 400)
_, ax = plt.subplots(figsize=(9.0, 4.5), layout="constrained")
shape = jams(settings[:, np.newaxis], times)
ax.contourf(times, settings, shape, levels=[0.5, 1.0], colors=["0.85"])
ax.plot(times, best(times), color="C2", label="best setting")
ax.plot(*optimizer.told_X_.T[::-1], "o", markersize=3.0, label="measured")
ax.plot(*optimizer.failed_X_.T[::-1], "x", color="C3", label="failed")
ax.set(xlabel="time", ylabel="setting")
ax.legend(loc="lower left", ncols=3)
plt.show()
