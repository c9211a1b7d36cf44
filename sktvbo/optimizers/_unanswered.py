"""Queries that stay pending although their answers are probably told: one warning."""

from dataclasses import dataclass

from .._values import replaced
from .._warnings import warn_caller
from ..exceptions import UnansweredQueryWarning
from ._part import Part
from ._state import at_place, of_time

# Queries that are passed over before the warning.
_MANY = 10


@dataclass(frozen=True, eq=False)
class Unanswered(Part):
    """Pending queries that were passed over by observations which answer none.

    Such an observation has the time of a query and another place, as what a motor reads back, or
    its place and another time, that of the measurement. It passes over the latest query of its
    time, or else of its place. An observation beside the run does so as well.

    Attributes
    ----------
    passed : tuple of int
        Ids of these queries.
    has_warned : bool
    """

    passed: tuple = ()
    has_warned: bool = False

    name = "unanswered"

    @classmethod
    def begun(cls, config):
        return cls()

    def told(self, run, after, told):
        if told.query is not None or self.has_warned:
            return self
        pending = after.pending_now
        left = [query for query in pending if query.id not in self.passed]
        earlier = [query for query in left if query.t <= told.t]
        found = of_time(left, told.t, after.begin) or at_place(after.domain, told.x, earlier)
        if not found:
            return self
        known = {query.id for query in pending}
        passed = (*(i for i in self.passed if i in known), found[-1].id)
        if len(passed) < _MANY:
            return replaced(self, passed=passed)
        warn_caller(
            f"{_MANY} queries are pending whose times or places were told, but not both: "
            "tell(x, y, t) answers a query of the time t, and x may be rounded by a hundredth of "
            "each range. Other queries keep away from pending ones. Tell the handle of suggest(t): "
            "tell(query, y), with t=... for the time of the measurement and x=... for what was "
            "set. If these observations are beside the run, ignore this.",
            UnansweredQueryWarning,
        )
        return replaced(self, passed=(), has_warned=True)

    def continued(self, run, new, change):
        return run.part(self.name)
