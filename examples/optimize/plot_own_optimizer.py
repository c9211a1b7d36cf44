"""
==============================
Pictures of your own optimizer
==============================

A training run is tuned while its data drift: the best learning rate moves. The displays need only
the optimizer, not the true function. They use the names, units and scales of the parameters.
"""

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import optimize
from sktvbo.evaluation import StepClock
from sktvbo.plotting import (
    BaselineDisplay,
    DatasetSizeDisplay,
    RelevancyDisplay,
    SliceDisplay,
    TrackDisplay,
)

rng = np.random.RandomState(0)


def loss(p, day):
    best = -3.0 + 1.5 * np.sin(day / 20.0)
    tuned = (np.log10(p["rate"]) - best) ** 2 + 10.0 * (p["dropout"] - 0.2) ** 2
    return tuned + 1.0 * (p["penalty"] == "l1") + 0.05 * rng.normal()


space = {"rate": ("log-real", 1e-6, 1.0), "dropout": ("real", 0.0, 0.6), "penalty": ["l1", "l2"]}
found = optimize(loss, space, n_calls=60, clock=StepClock(), maximize=False, random_state=0)
print(found.x)

# %%
# :class:`~sktvbo.plotting.SliceDisplay` shows the prediction along each parameter through the
# recommended setting, now and a month ago:

now = found.calls[-1].t
options = {"time_unit": "days", "units": {"rate": "1/step"}}
SliceDisplay.from_optimizer(
    found.optimizer, [now - 30.0, now], value_label="loss", **options
).plot()
plt.show()

# %%
# :class:`~sktvbo.plotting.TrackDisplay` shows each parameter over time, with the observations that
# were kept and removed:

TrackDisplay.from_optimizer(found.optimizer, n_times=30, **options).plot()
plt.show()

# %%
# :class:`~sktvbo.plotting.BaselineDisplay` estimates how much better the queries were than the
# setting of the first day:

BaselineDisplay.from_optimizer(
    found.optimizer, found.calls[0].x, value_label="loss", time_unit="days"
).plot()
plt.show()

# %%
# :class:`~sktvbo.plotting.RelevancyDisplay` shows how much each observation matters to the future,
# and :class:`~sktvbo.plotting.DatasetSizeDisplay` the size of the data set:

_, axes = plt.subplots(1, 2, figsize=(11.0, 4.0), layout="constrained")
RelevancyDisplay.from_optimizer(found.optimizer, time_unit="days").plot(axes[0])
DatasetSizeDisplay.from_optimizer(found.optimizer, time_unit="days").plot(axes[1])
plt.show()
