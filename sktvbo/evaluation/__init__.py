"""Run optimizers on problems against a clock, and compare them on equal terms."""

from ._clocks import Clock, SimulatedClock, StepClock, WallClock
from ._compare import Comparison, compare
from ._run import RunResult, run

__all__ = [
    "Clock",
    "Comparison",
    "RunResult",
    "SimulatedClock",
    "StepClock",
    "WallClock",
    "compare",
    "run",
]
