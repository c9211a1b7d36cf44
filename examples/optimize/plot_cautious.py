"""
==============
Cautious moves
==============

Some machines must not jump from one setting to another. With ``max_step`` each setting is near the
one before, also among the first queries. This costs little if the best setting drifts slowly.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO


def best(t):
    return 5.0 + 3.0 * np.sin(0.04 * np.asarray(t))


def run(**options):
    optimizer = WDBO([(0.0, 10.0)], random_state=1, **options)
    for t in np.arange(150.0):
        x = optimizer.ask(t)
        optimizer.tell(x, -((x[0] - best(t)) ** 2))
    return optimizer


free, gentle = run(), run(max_step=0.05)

# %%
# The left plot shows queries without a limit, the right one steps of at most half a unit:

_, axes = plt.subplots(1, 2, figsize=(10.0, 4.0), sharey=True, layout="constrained")
for ax, optimizer, title in zip(axes, (free, gentle), ("free", "max_step=0.05")):
    x, t = optimizer.told_X_.T
    ax.plot(t, best(t), color="C2", label="best setting")
    ax.plot(t, x, ".-", linewidth=0.8, label="settings")
    ax.set(xlabel="time", title=f"{title}: {np.abs(np.diff(x)).sum():.0f} units of movement")
axes[0].set_ylabel("setting")
axes[1].legend()
plt.show()
