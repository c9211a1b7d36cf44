"""
===========================================
A logbook, and a setting known to be good
===========================================

A machine has a logbook from before it was optimized. The logbook is told in one step, with one
search of the hyperparameters; the present setting is the first query, and the next ones are near
settings known to be good. Without either, the first queries spread over the whole range.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO

rng = np.random.RandomState(0)


def best(t):
    return 6.0 + 2.5 * np.sin(np.asarray(t) / 25.0)


def output(x, t):
    return 100.0 - 4.0 * (x - best(t)) ** 2 + 0.5 * rng.normal(size=np.shape(x))


past = np.sort(rng.uniform(-300.0, 0.0, size=600))
settings = best(past - 8.0) + 0.8 * rng.normal(size=600)  # operators follow, late
now_on = settings[-1]

informed = WDBO([(0.0, 12.0)], start_points=[[now_on]], max_size=100, random_state=0)
informed.tell_many(settings[:, np.newaxis], output(settings, past), past)
plain = WDBO([(0.0, 12.0)], random_state=0)
runs = {"with logbook and setting": informed, "without": plain}
lost = {name: [] for name in runs}
for name, opt in runs.items():
    for t in range(60):
        x = opt.ask(t)
        opt.tell(x, output(x[0], t))
        lost[name].append(4.0 * (x[0] - best(t)) ** 2)
print({name: round(float(np.mean(values)), 2) for name, values in lost.items()})

# %%
# Left, the settings in the logbook (grey, until time 0) and the queries. Right, the average regret
# since time 0.

_, (left, right) = plt.subplots(
    1, 2, figsize=(11.0, 4.2), width_ratios=[2, 1], layout="constrained"
)
times = np.linspace(-100.0, 60.0, 400)
left.plot(times, best(times), color="black", linewidth=0.8, label="best setting")
left.plot(past, settings, ".", color="0.7", label="logbook")
left.axvline(0.0, color="0.7", linestyle=":")
for name, opt in runs.items():
    left.plot(*opt.told_X_[-60:].T[::-1], "o", markersize=4.0, label=name)
    right.semilogy(np.arange(60), np.cumsum(lost[name]) / np.arange(1, 61), label=name)
left.set(xlabel="time", ylabel="setting", xlim=(-100.0, 60.0), ylim=(0.0, 12.0))
left.legend(loc="lower left", ncols=2, fontsize="small")
right.set(xlabel="time", ylabel="average regret so far")
plt.show()
