"""
===============================
How much an observation matters
===============================

Some observations of a changing function matter to predictions of the future, others are stale or
redundant. The *relevancy* of an observation is how much the posterior of all
future times would change without it, relative to what all observations together contribute
(Wasserstein distances, W-DBO eq. 12). It has a closed form.
"""

# %%
# A small data set
# ----------------
# Sixty observations of a function of one dimension and time. A dozen of them, late ones, crowd
# around one input.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.staleness import RelevancyBudget


def truth(x, t):
    return np.sin(6.0 * x + 0.15 * t)


rng = np.random.RandomState(0)
now = 30.0
t = np.sort(rng.uniform(0.0, now, size=60))
x = rng.uniform(0.0, 1.0, size=60)
x[44:56] = 0.75 + 0.02 * rng.normal(size=12)
X = np.column_stack([x, t])  # time is the last column
y = truth(x, t) + 0.05 * rng.normal(size=60)

gp = TimeVaryingGPRegressor(Matern(nu=2.5), Matern(nu=1.5)).fit(X, y)
print(f"space {gp.spatial_kernel_}, time {gp.temporal_kernel_}, noise {gp.noise_variance_:.2g}")

# %%
# Which would be removed
# ----------------------
# :class:`~sktvbo.staleness.RelevancyBudget`, the policy of W-DBO, has a budget that grows with time
# and is spent on the observation that matters least, again and again, while it suffices. The policy
# starts counting at its first call; five seconds later it can afford some.

policy = RelevancyBudget(alpha=0.25)
policy.after_add(gp, now)
removed = policy.after_add(gp, now + 5.0)
print(f"{len(removed)} of {len(X)} observations would go")

# %%
# The picture
# -----------
# The larger and darker a dot, the more the observation matters from now on. Old observations matter
# little, and so do those of the crowd, which are redundant.

relevancy = gp.relevancy(now)
figure, ax = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
dots = ax.scatter(
    t, x, c=relevancy, s=25 + 350 * relevancy / relevancy.max(), cmap="viridis_r", edgecolor="0.4"
)
ax.plot(t[removed], x[removed], "x", color="#D55E00", markersize=8, label="would be removed")
ax.axvline(now, color="black", label="now")
ax.set(xlabel="time (s)", ylabel="x", xlim=(-0.8, 31.2), ylim=(-0.05, 1.05))
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
figure.colorbar(dots, ax=ax, label="relevancy")
plt.show()

# %%
# What it costs
# -------------
# ``forget`` takes rows out of a fitted regressor without fitting it again. The forecast hardly
# moves.

places = np.linspace(0.0, 1.0, 101)
later = now + 2.0
grid = np.column_stack([places, np.full(101, later)])
before, std = gp.predict(grid, return_std=True)
after = gp.forget(removed).predict(grid)

figure, ax = plt.subplots(figsize=(7.6, 3.8), layout="constrained")
ax.fill_between(places, before - std, before + std, alpha=0.2, color="#0072B2", linewidth=0)
ax.plot(places, before, color="#0072B2", label=f"all {len(X)} observations, ± s.d.")
ax.plot(places, after, "--", color="#D55E00", label=f"{len(gp.X_train_)} observations")
ax.plot(places, truth(places, later), ":", color="black", label="truth")
ax.set(xlabel="x", ylabel=f"f(x, t), t = {later:g} s")
ax.legend()
plt.show()
