"""
=======================================
Maximum power of a partly shaded string
=======================================

Three photovoltaic modules in series, each with a bypass diode, have several local maxima of the
power while one is shaded. Clouds change the power of all voltages from minute to minute; the shade
of a chimney moves from module to module, and the best voltage jumps. Every minute W-DBO sets the
voltage and measures the power. Perturb and observe, the usual rule, repeats a step that raised the
power and reverses another; it cannot leave a local maximum.

With less shade the rule loses less than W-DBO: ``benchmarks/decisions/power_tracking.py`` compares
them over the seasons of a typical year. Run it with ``python power_tracking.py``; the picture needs
Matplotlib.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO

MINUTES, VOLTAGES = np.arange(480), np.linspace(36.0, 120.0, 421)
rng = np.random.default_rng(0)


def string_power(sun):
    """Return the power (W) at all voltages; the modules get ``sun`` (3,), 1 without shade."""
    diode = np.append(np.linspace(0.0, 30.0, 100), np.linspace(30.1, 40.0, 300))
    currents = 8.0 * sun[:, np.newaxis] - 1e-9 * np.expm1(diode / 1.65)
    shared = np.sort(np.maximum(currents.ravel(), 0.0))
    volts = sum(np.interp(shared, own[::-1], diode[::-1], right=-0.5) for own in currents)
    return VOLTAGES * np.interp(VOLTAGES, volts[::-1], shared[::-1], right=0.0)


clouds = np.convolve(rng.normal(size=MINUTES.size + 29), np.full(30, 0.15), mode="valid")
beam = np.sin(np.pi * (MINUTES + 60.0) / 600.0) / (1.0 + np.exp(2.0 * clouds - 2.0))
shade = 0.7 * np.exp(-(((MINUTES - [[120.0], [260.0], [400.0]]) / 45.0) ** 4))
power = np.array([string_power(sun) for sun in 0.1 + 0.8 * (beam * (1.0 - shade)).T])


def energy_lost(used):
    return 100.0 * (1.0 - sum(map(np.interp, used, [VOLTAGES] * 480, power)) / power.max(1).sum())


def measure(voltage, t):
    return np.interp(voltage, VOLTAGES, power[t]) + rng.normal()


optimizer, voltage, step, last = WDBO([(36.0, 120.0)], random_state=0), 96.0, 1.0, 0.0
climbed = []
for t in MINUTES:
    x = optimizer.ask(t)
    optimizer.tell(x, measure(x[0], t))
    climbed.append(voltage)
    now = measure(voltage, t)
    step, last = (step if now > last else -step), now
    voltage = np.clip(voltage + step, 36.0, 120.0)

tracked = optimizer.told_X_[:, 0]
print(f"W-DBO: {energy_lost(tracked):.1f} % of the energy lost")
print(f"perturb and observe: {energy_lost(climbed):.1f} % of the energy lost")

# %%
# The colour is the power in units of the largest one of the minute:

_, ax = plt.subplots(figsize=(8.0, 4.0), layout="constrained")
mesh = ax.pcolormesh(MINUTES, VOLTAGES, (power / power.max(axis=1, keepdims=True)).T)
ax.plot(MINUTES, tracked, "r.", markersize=3, label="W-DBO")
ax.plot(MINUTES, climbed, "w-", linewidth=1.0, label="perturb and observe")
ax.plot(MINUTES, VOLTAGES[power.argmax(axis=1)], "c--", linewidth=1.0, label="best")
ax.set(xlabel="time (minutes)", ylabel="voltage (V)")
ax.legend(loc="lower right")
plt.colorbar(mesh, label="share of the largest power")
plt.show()
