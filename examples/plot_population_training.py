"""
========================================
Training a population of neural networks
========================================

The best learning rate of a neural network is large at first and small in the end, so that finding
it means finding a schedule. A population finds it in one training: at every epoch the best
weights are copied, and a time-varying optimizer says with which learning rates and penalties the
copies go on (population-based training with a Gaussian process, PB2).
"""

# %%
# Data and network
# ----------------
# Digits with noise, half of them to learn from, a quarter to choose by, a quarter to judge by.
# :class:`~sktvbo.model_selection.WarmStarted` makes one epoch a ``partial_fit`` that goes on from
# the present weights, in which a new learning rate takes effect at once.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from sktvbo.model_selection import OnlineTuner, WarmStarted
from sktvbo.plotting import TuningDisplay

# An epoch does not converge, which is meant.
warnings.filterwarnings("ignore", category=ConvergenceWarning)

X, y = load_digits(return_X_y=True)
X = X / 16.0 + 0.3 * np.random.RandomState(0).normal(size=X.shape)
X, X_rest, y, y_rest = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
X_choose, X_judge, y_choose, y_judge = train_test_split(
    X_rest, y_rest, test_size=0.5, random_state=0
)

network = WarmStarted(
    MLPClassifier(
        (64,), solver="sgd", learning_rate_init=0.01, batch_size=32, max_iter=1, random_state=0
    )
)
space = {
    "estimator__learning_rate_init": ("log-real", 1e-4, 1.0),
    "estimator__alpha": ("log-real", 1e-6, 1.0),
}

# %%
# The training
# ------------
# With ``validation`` a batch is an epoch: members are scored on the same rows each time. The loss
# is that of the probabilities, which says more than the number of errors.

# Small when a test runs this file.
n_epochs = 40 if __name__ == "__main__" else 4
tuner = OnlineTuner(network, space, n_challengers=4, loss="log_loss", random_state=0)


def log_loss(model):
    return -np.log(
        np.clip(model.predict_proba(X_judge), 1e-6, 1.0)[np.arange(len(y_judge)), y_judge]
    )


with threadpool_limits(1):
    tuned = []
    for _ in range(n_epochs):
        tuner.partial_fit(X, y, validation=(X_choose, y_choose))
        tuned.append(log_loss(tuner).mean())

# %%
# The comparison is with networks whose learning rate never changes, one training for each.

rates = (0.001, 0.01, 0.1, 0.5)
fixed = {}
with threadpool_limits(1):
    for rate in rates:
        model = clone(network).set_params(estimator__learning_rate_init=rate)
        fixed[rate] = []
        for _ in range(n_epochs):
            fixed[rate].append(log_loss(model.partial_fit(X, y)).mean())

print("loss at the end, on rows that nobody has seen; the best on the way")
for rate in rates:
    print(f"  learning rate {rate:<6g}  {fixed[rate][-1]:.3f}   {min(fixed[rate]):.3f}")
print(f"  population            {tuned[-1]:.3f}   {min(tuned):.3f}")

# %%
# The picture
# -----------
# Left, the loss of each epoch. Right, the learning rates that were tried, and the champion's: the
# schedule that was found.

figure, (left, right) = plt.subplots(1, 2, figsize=(11.0, 4.4), layout="constrained")
colours = ("#56B4E9", "#0072B2", "#D55E00", "#E69F00")
for rate, colour in zip(rates, colours):
    left.plot(range(1, n_epochs + 1), fixed[rate], color=colour, label=f"learning rate {rate:g}")
left.plot(range(1, n_epochs + 1), tuned, color="black", lw=1.8, label="population")
left.set(xlabel="epoch", ylabel="log loss, unseen rows", yscale="log")
left.legend(frameon=False)
display = TuningDisplay.from_estimator(tuner).plot(right)
right.set(ylabel="learning rate", xlabel="rows of validation scored")
plt.show()
