"""Choose hyperparameters: of an algorithm, by runs on problems; of a learner, on its stream."""

from ._online_run import OnlineRun
from ._tuner import OnlineTuner
from ._warm import WarmStarted
from ._windowed import Windowed

__all__ = ["OnlineRun", "OnlineTuner", "WarmStarted", "Windowed"]
