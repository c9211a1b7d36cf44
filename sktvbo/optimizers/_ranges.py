"""Parts for the ranges of contexts: declared ones, which may be wrong, and learnt ones."""

from dataclasses import dataclass

import numpy as np

from .._values import replaced
from .._warnings import warn_caller
from ..exceptions import ModelWarning
from ._part import Part

# Contexts are compared with their declared ranges at every tenth observation, from the 30th on: the
# latest of them should span at least a tenth of a range, and at most three ranges.
_EVERY, _N_CONTEXTS, _N_SPANNED, _NARROW, _WIDE = 10, 30, 200, 0.1, 3.0

# Kinds of numbers that are scaled by their range.
_SCALED = "straight", "curved"


@dataclass(frozen=True, eq=False)
class LearntRanges(Part):
    """Learnt ranges of contexts that have no declared ones; the domain scales contexts by them.

    They follow the latest contexts. A range changes when these are more than twice as wide or less
    than half as wide; lengthscales keep their meaning. The ``domain`` of the run has these ranges,
    and this part stores them: `_begin` changes both.

    Attributes
    ----------
    lower, upper : ndarray of shape (d,)
        Bounds of rows of the domain.
    """

    lower: np.ndarray
    upper: np.ndarray

    name = "learnt ranges"

    @classmethod
    def of(cls, config):
        domain = config.domain
        return cls(domain.lower, domain.upper) if domain.learnt.any() else None

    def applied(self, run):
        """Return a run whose domain has these ranges."""
        domain = run.domain.ranging(self.lower, self.upper)
        return replaced(run, config=replaced(run.config, domain=domain)).with_part(self)

    def domain_after(self, run, rows):
        """Return the domain of a run with the ranges of its latest rows and further ones (n, d)."""
        latest = run.history.latest(max(_N_SPANNED - len(rows), 0))
        return run.domain.learnt_from(np.vstack([run.rows(latest)[:, :-1], rows[-_N_SPANNED:]]))

    def continued(self, run, new, change):
        return type(self)(change.domain.lower, change.domain.upper)


@dataclass(frozen=True, eq=False)
class ContextRanges(Part):
    """Check of the declared ranges of contexts: one warning if measured values differ much.

    Contexts are scaled by their ranges, and lengthscales are bounded in these units. Contexts that
    span a small part of a range hardly affect the model. Over many ranges, all of them look new.

    Attributes
    ----------
    has_warned : bool
    """

    has_warned: bool = False

    name, is_stored = "context ranges", False

    @classmethod
    def of(cls, config):
        return cls() if _declared(config.domain).any() else None

    def told(self, run, after, answer):
        n = after.history.n_told
        if self.has_warned or answer.y is None or n < _N_CONTEXTS or n % _EVERY:
            return self
        domain = after.domain
        rows = after.rows(after.history.latest(_N_SPANNED))[:, :-1]
        spans = np.ptp(domain.unit_of(rows)[:, domain.unit_columns], axis=0)
        strange = (spans > 0.0) & ((spans < _NARROW) | (spans > _WIDE)) & _declared(domain)
        if not strange.any():
            return self
        i = np.argmax(strange)
        low, high = rows[:, i].min(), rows[:, i].max()
        warn_caller(
            f"The context {domain.columns[i]!r} was measured from {low:.4g} to {high:.4g}, and its "
            f"range is declared as {domain.lower[i]:.4g} to {domain.upper[i]:.4g}: the model "
            "hardly learns at such a scale. If the values are typical, continue with a range that "
            "they fill: opt = opt.with_parameters(domain=...).",
            ModelWarning,
        )
        return replaced(self, has_warned=True)

    def continued(self, run, new, change):
        return run.part(self.name)


def _declared(domain):
    """Return which coordinates (d,) of a row are numbers of a context whose range is declared."""
    declared = np.isin(domain.kinds, _SCALED) & ~domain.learnt
    declared[: domain.n_chosen] = False
    return declared
