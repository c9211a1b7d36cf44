"""Hyperparameter selection for optimizers on problems, and for a learner on its data stream."""

from ._online_run import OnlineRun
from ._tuner import OnlineTuner

__all__ = ["OnlineRun", "OnlineTuner"]
