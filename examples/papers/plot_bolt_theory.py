"""
=============================
How much data is enough data?
=============================

Observations of a changing function become stale, and the more of them an optimizer keeps, the
longer it takes to choose the next query. :mod:`sktvbo.theory` computes two consequences: a lower
bound of the regret of any algorithm, and the best number of observations (BOLT, sections 3.2 and
3.3).
"""

# %%
# A bound for any algorithm
# -------------------------
# An oracle observes the whole function every *c* seconds, without noise. Between two observations
# the function moves: the error is the power of its spectrum above half the sampling frequency. The
# plot shows the oracle's expected regret per step, a lower bound for any algorithm, for temporal
# kernels with the same lengthscale. Observing more often helps most if the function is smooth in
# time. Compare the curves, and do not rely on their heights: see the notes of
# :func:`~sktvbo.theory.regret_slope_lower_bound`.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo.theory import (
    dataset_size_criterion,
    recommended_dataset_size,
    regret_slope_lower_bound,
)

kernels = {
    "Matérn-1/2": Matern(length_scale=1.0, nu=0.5),
    "Matérn-3/2": Matern(length_scale=1.0, nu=1.5),
    "Matérn-5/2": Matern(length_scale=1.0, nu=2.5),
    "RBF": RBF(length_scale=1.0),
}
styles = dict(
    zip(kernels, [("#D55E00", "-"), ("#0072B2", "--"), ("#009E73", "-."), ("black", ":")])
)

frequency = np.geomspace(0.02, 8.0, 200)
figure, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
for name, kernel in kernels.items():
    slope = regret_slope_lower_bound(
        spatial_kernel=RBF(length_scale=1.0),
        temporal_kernel=kernel,
        signal_variance=1.0,
        lipschitz=1.0,
        n_dims=4,
        call_duration=1.0 / frequency,
    )
    color, line = styles[name]
    ax.loglog(frequency, slope, line, color=color, label=name)
ax.set(
    xlabel="sampling frequency 1/c (Hz)",
    ylabel="least regret per step (units of f)",
    xlim=(0.02, 8.0),
    ylim=(1e-12, 1.0),
)
ax.legend(title="kernel in time, l = 1 s")
plt.show()

# %%
# The best number of observations
# -------------------------------
# With *n* observations an iteration takes R(n) seconds, so that the *i*-th latest is i R(n)
# seconds old. The sum of their squared correlations with the present, ``dataset_size_criterion``,
# is roughly the number of fresh observations with the same information. Fitting a Gaussian process
# takes O(n³): below some size more data help, and above it they are too old when they are used. The
# dots are at ``recommended_dataset_size``.


def response_time(n):
    return 0.02 + 1e-6 * n**3


sizes = np.unique(np.geomspace(1, 300, 120).astype(int))
figure, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
for name, kernel in kernels.items():
    color, line = styles[name]
    worth = [dataset_size_criterion(kernel, response_time, n) for n in sizes]
    best = recommended_dataset_size(kernel, response_time)
    ax.semilogx(sizes, worth, line, color=color, label=f"{name}: {best}")
    ax.plot(best, dataset_size_criterion(kernel, response_time, best), "o", color=color)
ax.set(xlabel="observations kept, n", ylabel="worth, in fresh observations")
ax.legend(title="kernel in time: best n")
plt.show()

# %%
# The response time decides
# -------------------------
# The plot shows five optimizers with the same kernel. Each needs 20 ms per iteration plus a time
# that grows with the data, at different rates. The slower it grows, the more observations should be
# kept. If it did not grow at all, no number would be too large, although old data would be worth
# nothing: the recommendation is then the cap, ``max_size``.

kernel = kernels["RBF"]
response_times = {
    "constant": lambda n: 0.02,
    "20 ms + 0.5 ms · log n": lambda n: 0.02 + 5e-4 * np.log(n),
    "20 ms + 0.5 ms · n": lambda n: 0.02 + 5e-4 * n,
    "20 ms + 0.5 ms · n²": lambda n: 0.02 + 5e-4 * n**2,
    "20 ms + 0.5 ms · n³": lambda n: 0.02 + 5e-4 * n**3,
}
lines = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
colors = ["black", "#CC79A7", "#0072B2", "#009E73", "#D55E00"]

figure, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
for (name, R), line, color in zip(response_times.items(), lines, colors):
    best = recommended_dataset_size(kernel, R, max_size=1000)
    worth = [dataset_size_criterion(kernel, R, n) for n in sizes]
    label = f"{name}: {'no maximum' if best == 1000 else best}"
    ax.semilogx(sizes, worth, linestyle=line, color=color, label=label)
    if best < 1000:
        ax.plot(best, dataset_size_criterion(kernel, R, best), "o", color=color)
ax.set(xlabel="observations kept, n", ylabel="worth, in fresh observations")
ax.legend(title="response time R(n): best n")
plt.show()
