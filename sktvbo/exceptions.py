"""What can go wrong, under one root.

Each error is also one of Python's own (ValueError, RuntimeError, ...), so ordinary ``except``
clauses catch it.
"""

from sklearn.exceptions import NotFittedError

__all__ = [
    "AmbiguousQueryWarning",
    "AskTellError",
    "DomainError",
    "ForgottenQueryWarning",
    "InvalidObservationError",
    "JitterWarning",
    "JournalError",
    "MissingDataError",
    "MissingExtraError",
    "ModelWarning",
    "NotBegunError",
    "NotPositiveDefiniteError",
    "SktvboError",
    "UnsupportedKernelError",
    "VersionWarning",
]


class SktvboError(Exception):
    """Root of this package's errors."""


class DomainError(SktvboError, ValueError):
    """A domain that makes no sense, or a point outside of it."""


class InvalidObservationError(SktvboError, ValueError):
    """A point, a value or a time that cannot be used."""


class UnsupportedKernelError(SktvboError, ValueError):
    """A closed form is needed that does not exist for this kernel."""


class NotPositiveDefiniteError(SktvboError, ValueError):
    """A covariance matrix that could not be factored."""


class AskTellError(SktvboError, RuntimeError):
    """A call that does not fit the state the optimizer is in."""


class NotBegunError(NotFittedError, AskTellError):
    """An attribute of a run was read before the run's first step."""


class MissingDataError(SktvboError, FileNotFoundError):
    """A data set that is not at hand."""


class MissingExtraError(SktvboError, ImportError):
    """An optional dependency that is not installed."""


class JitterWarning(UserWarning):
    """A covariance matrix was factored only after its diagonal was increased."""


class ModelWarning(UserWarning):
    """A model that does not suit the data it was given, with what to do about it."""


class ForgottenQueryWarning(UserWarning):
    """More queries were asked for than are remembered until they are told."""


class AmbiguousQueryWarning(UserWarning):
    """An x was told, or cancelled, that several pending queries match."""


class JournalError(SktvboError, RuntimeError):
    """A journal that cannot be written, or read, or is another's."""


class VersionWarning(UserWarning):
    """A pickle was made by another version of this package."""
