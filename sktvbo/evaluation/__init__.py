"""Runs of optimizers on problems against a clock, and comparisons of optimizers."""

from ._clocks import Clock, SimulatedClock, StepClock, ThinkingClock, WallClock, response_time
from ._compare import compare
from ._comparison import Comparison, Failure
from ._optimizer import Optimizer
from ._problems import Fresh
from ._results import RunResult
from ._run import Step, run, steps

__all__ = [
    "Clock",
    "Comparison",
    "Failure",
    "Fresh",
    "Optimizer",
    "RunResult",
    "SimulatedClock",
    "Step",
    "StepClock",
    "ThinkingClock",
    "WallClock",
    "compare",
    "response_time",
    "run",
    "steps",
]
