"""What ``sktvbo bench`` runs: the papers' comparisons as tables, or a choice of one's own.

A bench is a list of tasks, one per problem, each with its optimizers and its clock. They share a
store, so that the same bench, begun again, goes on where it stopped.
"""

from ._papers import PRESETS
from ._specs import ALGORITHMS
from ._tasks import Preset, Task

__all__ = ["ALGORITHMS", "PRESETS", "Preset", "Task"]
