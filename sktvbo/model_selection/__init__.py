"""Hyperparameters of optimizers, chosen on problems; of a learner, chosen on its stream."""

from ._online_run import OnlineRun
from ._tuner import OnlineTuner

__all__ = ["OnlineRun", "OnlineTuner"]
