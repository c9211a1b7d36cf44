"""
================================
A controller polled at odd times
================================

An operator adjusts a furnace at irregular times, after minutes or after hours. Times are real
times, not steps: the optimizer accounts for the age of each observation.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO

rng = np.random.RandomState(3)
polls = np.cumsum(rng.choice([0.05, 0.4, 1.5], size=90, p=[0.3, 0.5, 0.2]))
polls[60:] += 7.0  # a night


def best(t):
    return 60.0 + 25.0 * np.sin(np.asarray(t) / 5.0)


def output(x, t):
    return 10.0 - ((x - best(t)) / 10.0) ** 2 + 0.05 * rng.normal()


opt = WDBO({"setting": ("real", 0.0, 100.0)}, n_initial_points=8, random_state=0)
settings, since, doubts = [], [], []
for i, t in enumerate(polls):
    x = opt.ask(t)
    if i >= 8:  # how sure it was of the old setting, from the poll before to this one
        since.append(np.linspace(polls[i - 1], t, 6))
        doubts.append(opt.predict([settings[-1]] * 6, since[-1], return_std=True)[1])
    opt.tell(x, output(x["setting"], t))
    settings.append(x)
gap = np.mean([abs(x["setting"] - best(t)) for x, t in zip(settings[20:], polls[20:])])
print(f"{gap:.1f} from the best setting on average; at random 30.")

# %%
# Above, the settings, each until the next poll, and the best one. Below, the standard deviation of
# the output at the present setting: it grows between two polls, most during the night.

_, (above, below) = plt.subplots(2, 1, figsize=(9.0, 5.4), sharex=True, layout="constrained")
above.plot(np.linspace(0.0, polls[-1], 500), best(np.linspace(0.0, polls[-1], 500)), color="C2")
above.step(polls, [x["setting"] for x in settings], where="post", linewidth=0.9)
above.plot(polls, [x["setting"] for x in settings], ".", color="C0", markersize=4.0)
above.set_ylabel("setting")
below.plot(np.concatenate(since), np.concatenate(doubts), color="C1")
below.plot(polls, np.zeros(len(polls)), "|", color="black", markersize=9.0, label="polls")
below.set(xlabel="time (h)", ylabel="standard deviation")
below.legend(loc="upper left")
plt.show()
