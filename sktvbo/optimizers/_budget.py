"""Budget of processor time for a step: its clock, and searches of hyperparameters in slices."""

import math
import time
from collections import deque
from dataclasses import dataclass, field

import numpy as np

from .._values import replaced
from .._warnings import warn_caller
from ..acquisition._optimize import N_CANDIDATES
from ..exceptions import StepBudgetWarning
from ..gaussian_process._fitted import FittedGP
from ..gaussian_process._quasi_newton import next_part
from ._part import Part

# Share of the budget that the slowest part of a step may take, and all parts together.
_SHARE_OF_PART, _SHARE_OF_STEP = 0.45, 0.85

# Resolution of the processor's clock.
_RESOLUTION = 1e-9

# Least share of a part's time that grows with the number of rows.
_LEAST_GROWING = 0.1

# The limit of the data set's size is the median of this many measured ones.
_N_LIMITS = 5

# An update from the rows alone is timed if the last timed one had less than this share of the
# present rows, or is this many updates ago.
_SIMILAR_SIZE, _OLD = 0.8, 256

# A search that is expected to be too long is timed again after this many updates: the machine may
# have been busy during the last one.
_TRY_AGAIN = 50

# Least size of the data set, as fewer rows take hardly less time, and most rows removed in one
# step.
_MIN_SIZE, _MAX_REMOVED = 30, 10

# Least number of Sobol points in the search for a query.
_MIN_CANDIDATES = 16

# Warn if this many of the latest steps exceeded the budget. The first steps measure the times of
# the parts, and do not count unless at least this share of them exceeded it.
_N_STEPS, _MAX_EXCEEDED, _MAX_SHARE = 100, 3, 0.5

MODEL, SEARCH, QUERY, REST = (
    "the update of the model",
    "the hyperparameter search",
    "the search for the query",
    "the rest of the step",
)


class StepTimer(Part):
    """Processor time of the steps of a run, and the work that fits into one; changes in place.

    It is read as `RunState.timer`: by `_durable`, `_observe` and `_models`, whose work it times,
    and by `_suggest`, whose search it limits.

    Work in all threads of the process counts.

    Parameters
    ----------
    seconds : float
        Budget of a step.
    """

    name, is_stored = "step budget", False

    @classmethod
    def of(cls, config):
        budget = config.step_budget
        return None if budget is None else cls(float(budget))

    def __init__(self, seconds):
        self.seconds, self._n_candidates = seconds, N_CANDIDATES
        self._end = self._lap = math.inf
        self._parts = {}
        self._steps, self._warned, self._learns = deque(maxlen=_N_STEPS), False, True
        self._limits = {part: deque(maxlen=_N_LIMITS) for part in (MODEL, SEARCH, QUERY)}
        self._least = dict.fromkeys(self._limits, math.inf)
        self._timed, self._n_updates, self._pending = 0, 0, None
        self._since_search = 0

    # --- a step -----------------------------------------------------------------------------------

    def begin(self):
        """Begin a step."""
        self._lap = time.process_time()
        self._end, self._parts = self._lap + self.seconds, {}

    def lap(self, part):
        """Count the time since the last lap for a part of the step; return it."""
        now = time.process_time()
        seconds, self._lap = now - self._lap, now
        self._parts[part] = self._parts.get(part, 0.0) + seconds
        return seconds

    def stop(self):
        """End a step that has changed nothing, if it has begun: it does not count."""
        self._end = math.inf

    def end(self, kind):
        """End a step of a kind, if it has begun."""
        if self._end == math.inf:
            return
        self.lap(REST)
        total, self._end, slow = sum(self._parts.values()), math.inf, None
        if total > self.seconds:
            part = max(self._parts, key=self._parts.get)
            slow = kind, total, part, self._parts[part]
        self._steps.append(slow)
        if self._learns and len(self._steps) == _N_STEPS:
            self._steps.clear()
            self._learns = False
        self._warn()

    def _warn(self):
        """Warn, once, if too many of the latest steps exceeded the budget."""
        slow = [step for step in self._steps if step is not None]
        allowed = _MAX_SHARE * len(self._steps) if self._learns else 0.0
        if self._warned or len(slow) < max(_MAX_EXCEEDED, allowed):
            return
        self._warned = True
        kind, total, part, seconds = max(slow, key=lambda step: step[1])
        warn_caller(
            f"{len(slow)} of the latest {len(self._steps)} steps took longer than "
            f"step_budget={self.seconds}, the longest, of {kind}(), {total:.2g} seconds of "
            f"processor time: {part} took {seconds:.2g}. Give a larger step_budget, a "
            "smaller max_size, or a surrogate with compiled kernels.",
            StepBudgetWarning,
        )

    @property
    def until(self):
        """Time, by `time.process_time`, at which the expensive parts of this step must end."""
        return self._end - (1.0 - _SHARE_OF_STEP) * self.seconds

    def effort(self, n_left):
        """Return arguments of `optimize` for the first of the ``n_left`` queries of a step."""
        now, until = time.process_time(), self.until
        until = now + (until - now) / n_left
        return {"n_candidates": self._n_candidates, "until": until}

    def suggested(self, run, optima):
        """End the search for queries."""
        if optima:
            seconds, n = self.lap(QUERY), len(run.data)
            if seconds > _SHARE_OF_STEP * self.seconds:
                if self._n_candidates == _MIN_CANDIDATES:
                    self._set_limit(QUERY, n, seconds)
                self._n_candidates = max(self._n_candidates // 2, _MIN_CANDIDATES)
            elif seconds < 0.3 * self.seconds:
                self._n_candidates = min(2 * self._n_candidates, N_CANDIDATES)
        return self

    # --- size of the data set ---------------------------------------------------------------------

    @property
    def limit(self):
        """Largest data set whose slowest steps keep within the budget; infinite if unknown."""
        medians = [np.median(limits) for limits in self._limits.values() if limits]
        return max(int(min(medians)), _MIN_SIZE) if medians else math.inf

    def size_for(self, n):
        """Return the size that a data set of n observations may have now.

        A limit that was measured with far fewer rows does not count.
        """
        if n > self.limit and self._timed < _SIMILAR_SIZE * n:
            return n
        return int(min(max(self.limit, n - _MAX_REMOVED), 2 * n))

    def wants_timing(self, n):
        """Return True if an update to n rows should start from the rows alone, and be timed."""
        is_near = self._timed >= _SIMILAR_SIZE * n
        return not self._timed or self._n_updates > _OLD or (n > self.limit and not is_near)

    def model_updated(self, n, fresh):
        """End the update of the model to n rows, ``fresh`` if it started from the rows alone."""
        seconds = self.lap(MODEL)
        self._least[MODEL] = min(self._least[MODEL], seconds)
        # The first update after a fresh one computes results that later ones only update.
        if fresh:
            self._pending, self._timed, self._n_updates = seconds, n, 0
        elif self._pending is not None:
            self._set_limit(MODEL, n, max(seconds, self._pending))
            self._pending = None
        elif seconds > _SHARE_OF_STEP * self.seconds:
            self._set_limit(MODEL, n, seconds)
        self._n_updates, self._since_search = self._n_updates + 1, self._since_search + 1

    def searched(self, n, seconds):
        """Record the largest time of a part of a search with n rows."""
        self._set_limit(SEARCH, n, seconds)
        self._since_search = 0

    def n_sure(self, sliced):
        """Return the number of parts of a search to compute, whatever their time."""
        waited = self._since_search >= _TRY_AGAIN
        return int(waited and not sliced.results and self.is_too_long(sliced))

    def _set_limit(self, part, n, seconds):
        """Limit the size by the time of a part with n rows.

        Time beyond the least one of this part so far is proportional to n³.
        """
        self._least[part] = least = min(self._least[part], seconds)
        growing = max(seconds - least, _LEAST_GROWING * seconds, _RESOLUTION)
        allowed = _SHARE_OF_PART * self.seconds - least
        self._limits[part].append(n * max(allowed / growing, 0.0) ** (1.0 / 3.0))

    def is_too_long(self, sliced):
        """Return True if a part of a search may never fit into a step."""
        return max(sliced.cost, sliced.expected) > _SHARE_OF_PART * self.seconds

    def expected(self, part, n):
        """Return the expected time of a part of a step with n rows; 0 if it is not known."""
        limits, least = self._limits[part], self._least[part]
        if not limits:
            return 0.0
        ratio = n / max(np.median(limits), 1.0)
        return least + max(_SHARE_OF_PART * self.seconds - least, 0.0) * ratio**3

    def fits(self, part, n):
        """Return True if a part with n rows still fits into the step."""
        return time.process_time() + self.expected(part, n) <= self.until


@dataclass(frozen=True, eq=False)
class Search:
    """Search of the hyperparameters that may take several steps, an immutable value.

    It stores the results of all parts so far. The computation itself is only a cache: the first
    value that continues takes it. A step that is repeated after an error, a copy, a pickle or
    another thread begins a new computation, and sends it the stored results.

    Attributes
    ----------
    surrogate : FittedGP
        With the rows of the search, and the hyperparameters before it.
    arguments : dict
        Arguments of its ``refitted``.
    expected : float
        Expected time of a part.
    results : tuple
        Results of the parts that are done.
    cost : float
        Largest time of a part, in seconds of processor time.
    optimum : FittedGP or None
        Result of the search, not in use yet.
    """

    surrogate: FittedGP
    arguments: dict
    expected: float = 0.0
    results: tuple = ()
    cost: float = 0.0
    optimum: FittedGP | None = None
    _interrupted: list = field(default_factory=list, repr=False)

    def __getstate__(self):
        return vars(self) | {"_interrupted": []}

    @property
    def n(self):
        """Number of rows, without additional ones."""
        return len(self.surrogate.X_train_)

    def continued(self, until, n_sure=0):
        """Return the search after further parts, until a time of `time.process_time`.

        No part begins that would end later, except for the first ``n_sure``.
        """
        if self.optimum is not None:
            return self
        results, cost, optimum, interrupted = list(self.results), self.cost, None, None
        while n_sure > 0 or max(cost, self.expected) <= until - time.process_time():
            if interrupted is None:
                interrupted = self._resumed()
                continue  # starting takes as long as a part
            computation, part = interrupted
            begin = time.process_time()
            results.append(part())
            cost, n_sure = max(cost, time.process_time() - begin), n_sure - 1
            part, optimum = next_part(computation, results[-1])
            interrupted = computation, part
            if part is None:
                interrupted = None
                break
        if len(results) == len(self.results):
            if interrupted is not None:
                self._interrupted.append(interrupted)
            return self
        changes = {"results": tuple(results), "cost": cost, "optimum": optimum}
        return replaced(self, **changes, _interrupted=[interrupted] if interrupted else [])

    def _resumed(self):
        """Return the computation and its next part."""
        try:
            return self._interrupted.pop()  # one thread only
        except IndexError:
            computation = self.surrogate.refitted(**self.arguments)
            part, _ = next_part(computation)
            for known in self.results:
                part, _ = next_part(computation, known)
            return computation, part
