"""
================================
A context: measured, not chosen
================================

The best speed of a pump depends on the load, which is measured before each choice, and the pump
wears. With the load as a context, the optimizer learns the best speed at each load; without it, the
effect of the load is noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO
from sktvbo.domain import Context

rng = np.random.RandomState(0)
loads = 50.0 + 45.0 * np.sin(np.cumsum(rng.uniform(0.0, 1.5, size=120)))


def best(load, t):
    return 0.25 + 0.005 * load + 0.1 * np.sin(t / 30.0)


def efficiency(speed, load, t):
    return 1.0 - 4.0 * (speed - best(load, t)) ** 2


regrets, optimizers = {"load as a context": [], "without the load": []}, []
for name, lost in regrets.items():
    told = name == "load as a context"
    domain = {"speed": ("real", 0.0, 1.0)} | ({"load": Context(0.0, 100.0)} if told else {})
    opt = WDBO(domain, n_initial_points=8, random_state=0)
    for t, load in enumerate(loads):
        x = opt.ask(t, context={"load": load} if told else None)
        y = efficiency(x["speed"], load, t)
        opt.tell(x, y + 0.01 * rng.normal())
        lost.append(1.0 - y)
    optimizers.append(opt)
print({name: round(float(np.mean(lost[15:])), 4) for name, lost in regrets.items()})

# %%
# Left, the predicted efficiency at the end with the best speeds at that time. Many of the latest 60
# queries are above that line: they were made earlier, when the best speeds were higher. Right, the
# average regret.

pump = optimizers[0]
speeds, at = np.linspace(0.0, 1.0, 60), np.linspace(0.0, 100.0, 50)
grid = [({"speed": s}, {"load": load}) for load in at for s in speeds]
points, contexts = map(list, zip(*grid))
believed = pump.predict(points, 120.0, context=contexts).reshape(50, 60)

_, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.2), layout="constrained")
mesh = left.pcolormesh(at, speeds, believed.T, vmin=0.0, vmax=1.0, shading="gouraud")
plt.colorbar(mesh, ax=left, label="predicted efficiency")
left.plot(at, best(at, 120.0), color="red", label="best speed at the end")
left.plot(*pump.told_X_[-60:, 1::-1].T, ".", color="black", label="latest 60 queries")
left.set(xlabel="load (measured)", ylabel="speed (chosen)", ylim=(0.0, 1.0))
left.legend(loc="lower right")
for name, lost in regrets.items():
    right.semilogy(np.cumsum(lost) / np.arange(1, 121), label=name)
right.set(xlabel="time", ylabel="average regret so far")
right.legend()
plt.show()
