"""The one list of the parts of a run; a new capability is one line here, and one module."""

from ._budget import StepTimer
from ._expert import Expert
from ._failures import Failures
from ._limits import Limits
from ._query_parts import Cancelled, Exploration, Start, Visits
from ._step_limiter import StepLimiter
from ._warning_parts import Calibration, Unanswered

# Their order is that in which a query is narrowed: each sees what those before it allow.
KINDS = (
    StepTimer,
    Failures,
    StepLimiter,
    Cancelled,
    Start,
    Exploration,
    Limits,
    Visits,
    Expert,
    Calibration,
    Unanswered,
)


def begun_parts(config):
    """Return the parts of a run that begins, by name.

    Parameters
    ----------
    config : RunConfig
    """
    parts = (kind.begun(config) for kind in KINDS)
    return {part.name: part for part in parts if part is not None}
