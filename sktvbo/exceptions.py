"""Errors and warnings of the package.

Each error is also one of Python's (ValueError, RuntimeError, ...), so ordinary ``except`` clauses
catch it.
"""

__all__ = [
    "AmbiguousQueryWarning",
    "AskTellError",
    "DomainError",
    "InvalidObservationError",
    "JitterWarning",
    "JournalError",
    "LimitWarning",
    "MissingExtraError",
    "ModelWarning",
    "NotPositiveDefiniteError",
    "OverconfidenceWarning",
    "SktvboError",
    "StepBudgetWarning",
    "UnansweredQueryWarning",
    "UnsupportedKernelError",
]


class SktvboError(Exception):
    """Root of this package's errors."""


class DomainError(SktvboError, ValueError):
    """An invalid domain, or a point outside of it."""


class InvalidObservationError(SktvboError, ValueError):
    """An invalid point, value or time."""


class UnsupportedKernelError(SktvboError, ValueError):
    """A kernel without a form that is required, such as a convolution that exists."""


class NotPositiveDefiniteError(SktvboError, ValueError):
    """A covariance matrix that cannot be factored."""


class AskTellError(SktvboError, RuntimeError):
    """A call that does not fit the state of the optimizer."""


class MissingExtraError(SktvboError, ImportError):
    """A missing optional dependency."""


class JitterWarning(UserWarning):
    """A covariance matrix was factored after an increase of its diagonal."""


class ModelWarning(UserWarning):
    """A model that does not fit its data, with a remedy."""


class OverconfidenceWarning(ModelWarning):
    """Observations of a run that differ from their predictions by more than these say."""


class AmbiguousQueryWarning(UserWarning):
    """Several pending queries match an x that was told or cancelled."""


class UnansweredQueryWarning(UserWarning):
    """Observations that answer no pending query, although they probably should."""


class StepBudgetWarning(UserWarning):
    """Steps that took longer than their budget of processor time."""


class LimitWarning(UserWarning):
    """No point is known to be within the measured limits with the required probability."""


class JournalError(SktvboError, RuntimeError):
    """A journal that cannot be written or read, or belongs to another run."""
