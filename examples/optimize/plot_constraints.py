"""
====================================
Constraints on what may be queried
====================================

A valve and a heater share a budget, and near one combination the plant vibrates. The optimum moves
up and down through both forbidden areas. The queries follow along their edges, and no query breaks
a constraint.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint

from sktvbo import WDBO

constraints = [
    LinearConstraint([1.0, 1.0], -np.inf, 1.3),  # a shared budget
    NonlinearConstraint(lambda x: np.hypot(x[0] - 0.5, x[1] - 0.5), 0.2, np.inf),  # vibrations
]


def optimum(t):
    return np.array([0.55, 0.5 + 0.45 * np.cos(t / 18.0)])


def output(x, t):
    return 1.0 - 3.0 * np.sum((x - optimum(t)) ** 2)


opt = WDBO([(0.0, 1.0)] * 2, constraints=constraints, n_initial_points=10, random_state=0)
for t in range(110):
    x = opt.ask(t)
    opt.tell(x, output(x, t))
X = opt.told_X_[:, :2]
broken = (X.sum(axis=1) > 1.3) | (np.hypot(*(X - 0.5).T) < 0.2)
print(f"{broken.sum()} of {len(X)} queries break a constraint")

# %%
# Inputs that break a constraint are hatched. The optimum without constraints moves down the line
# and back. Queries, coloured by their time, follow as far as the constraints allow.

ticks = np.linspace(0.0, 1.0, 301)
A, B = np.meshgrid(ticks, ticks)
forbidden = (A + B > 1.3) | (np.hypot(A - 0.5, B - 0.5) < 0.2)
path = np.array([optimum(t) for t in range(110)])

_, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
ax.contourf(A, B, forbidden, levels=[0.5, 1.5], colors=["0.92"], hatches=["//"])
ax.plot(*path.T, color="0.5", linestyle="--", label="optimum without constraints")
dots = ax.scatter(*X.T, c=opt.told_X_[:, 2], s=22, zorder=3, label="queries")
plt.colorbar(dots, ax=ax, label="time")
ax.set(xlabel="valve", ylabel="heater", aspect="equal", xlim=(0.0, 1.0), ylim=(0.0, 1.0))
ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
plt.show()
