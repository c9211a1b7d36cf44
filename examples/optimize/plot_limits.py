"""
===============================
Compressors within their limits
===============================

Three gas compressors share a demand that moves over the day. The power should be small, while each
machine stays away from its surge line and the total flow covers the demand. Both margins are
measured, and ``safety`` requires that both limits hold with a probability of 0.95. The maps are
those of Li et al. (NeurIPS 2024, `arXiv 2409.18000 <https://arxiv.org/abs/2409.18000>`__).
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import WDBO
from sktvbo.plotting import OutcomeDisplay

HEAD = 1.25e5  # J/kg
DEGRADED = np.array([0.05, 0.03, 0.01])
POWER = 1e6 * np.array([19.79, 5.274, 5.375, 0.6055, 0.5718, 0.3319])


def power(flows):
    """Return the power (MW) of all machines at flows (3,) in kg/s."""
    m, h = (flows - 157.4) / 34.37, (HEAD - 1.016e5) / 3.210e4
    terms = np.array([np.ones(3), m, np.full(3, h), m**2, m * h, np.full(3, h**2)])
    return np.sum(POWER @ terms / (1.0 - DEGRADED)) / 1e6


def demand(t):
    return 360.0 + 55.0 * np.sin(2.0 * np.pi * np.asarray(t) / 96.0)


def margins(flows, t):
    """Return the distance to the surge line, and the flow beyond the demand, in kg/s."""
    h = (HEAD - 1.235e5) / 3.764e4
    surge = -1.953 * h**2 + 16.86 * h + 118.1
    return {"surge": flows.min() - surge, "surplus": flows.sum() - demand(t)}


# %%
# The settings begin at flows that cover any demand. Every quarter of an hour the machines are set,
# and power and margins are measured with noise:

optimizer = WDBO(
    [(50.0, 250.0)] * 3,
    maximize=False,
    outcome_constraints={"surge": (0.0, None), "surplus": (0.0, None)},
    safety=0.95,
    start_points=[[150.0] * 3],
    random_state=2,
)
rng = np.random.RandomState(0)
n_violations, used = 0, []
for t in range(120):
    flows = optimizer.ask(t)
    true = margins(flows, t)
    n_violations += min(true.values()) < 0.0
    used.append(power(flows))
    measured = {name: value + 0.5 * rng.normal() for name, value in true.items()}
    optimizer.tell(flows, used[-1] + 0.1 * rng.normal(), outcomes=measured)

saved = 1.0 - np.mean(used[24:]) / power(np.full(3, 150.0))
print(f"{n_violations} of {len(used)} settings violate a limit")
print(f"{100.0 * saved:.0f} % less power than with constant flows")

# %%
# The flow follows the demand. While the demand is low, the surge line is the limit:

display = OutcomeDisplay.from_optimizer(
    optimizer, units={"surge": "kg/s", "surplus": "kg/s"}, time_unit="quarters of an hour"
)
_ = display.plot()

# %%
_, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
times = optimizer.told_X_[:, -1]
ax.plot(times, optimizer.told_X_[:, :3].sum(axis=1), ".-", linewidth=0.8, label="total flow")
ax.plot(times, demand(times), color="black", linestyle="--", label="demand")
ax.set(xlabel="time (quarters of an hour)", ylabel="flow (kg/s)")
ax.legend()
plt.show()
