"""
=========================
Antenna beams: a heat map
=========================

A base station has 32 beams and measures the gain of one at a time. A user walks, so the best beam
moves. Around time 150 a bus blocks the direct path, and the beam of a reflection is best. W-DBO
chooses which beam to measure next; GP-UCB assumes that the gains do not change.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import GPUCB, WDBO, RandomSearch
from sktvbo.domain import FiniteSet

angles, times = np.linspace(-60.0, 60.0, 32), np.arange(250)


def gain(angle, t):
    """Gain of a beam in dB: the direct path, and a reflection."""
    user = 45.0 * np.sin(t / 40.0)
    blocked = np.exp(-(((t - 150.0) / 25.0) ** 4))
    direct = 25.0 * (1.0 - 0.8 * blocked) * np.exp(-(((angle - user) / 15.0) ** 2))
    return direct + 12.0 * np.exp(-(((angle + 0.5 * user - 20.0) / 12.0) ** 2))


gains = gain(angles, times[:, np.newaxis])
optimizers = {}
for algorithm in (WDBO, GPUCB, RandomSearch):
    rng = np.random.default_rng(0)
    optimizer = algorithm(FiniteSet(angles[:, np.newaxis]), random_state=0)
    for t in times:
        x = optimizer.ask(t)
        optimizer.tell(x, gain(x[0], t) + rng.normal())
    loss = gains.max(axis=1) - gain(optimizer.told_X_[:, 0], times)
    print(f"{algorithm.label}: {loss.mean():.1f} dB below the best beam")
    optimizers[algorithm] = optimizer

# %%
# Left, the true gain, the best beam and the beams that W-DBO measured; right, its posterior mean.

wdbo = optimizers[WDBO]
believed = np.array([wdbo.predict(angles[:, np.newaxis], t) for t in times])
figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.0), sharey=True, layout="constrained")
for ax, values, title in zip(axes, (gains, believed), ("gain", "posterior mean at the end")):
    mesh = ax.pcolormesh(times, angles, values.T, vmin=0.0, vmax=30.0)
    ax.set(title=title, xlabel="time", ylabel="beam (degrees)")
axes[0].plot(times, angles[gains.argmax(axis=1)], "c--", label="best beam")
axes[0].plot(times, wdbo.told_X_[:, 0], "r.", markersize=4, label="measured")
axes[0].legend(loc="lower right")
figure.colorbar(mesh, ax=axes, label="dB")
plt.show()
