"""Types for hints; only type checkers read this module."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
Mask: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = float | Array
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None
PathLike: TypeAlias = str | os.PathLike[str]

# Of a hyperparameter.
Bounds: TypeAlias = Sequence[float] | Array | Literal["fixed"]

# A query as a user gives it, and rows of them.
Parameters: TypeAlias = Mapping[str, Any]
PointLike: TypeAlias = ArrayLike | Parameters
PointsLike: TypeAlias = ArrayLike | Sequence[Parameters]


class Posterior(Protocol):
    """Mean (m,) and standard deviation (m,) at inputs (m, u) in unit form."""

    def __call__(self, U: Array, /) -> tuple[Array, Array]: ...


class Sweep(Protocol):
    """Relevancies (n,) that stay up to date while rows are removed; see `RelevancySweep`."""

    @property
    def index(self) -> Indices: ...
    def relevancy(self) -> Array: ...
    def remove(self, i: Any, /) -> None: ...


# What is left of the domain for one query.
Fixed: TypeAlias = Mapping[str, object] | None
Available: TypeAlias = Mapping[str, Sequence[object]] | PointsLike | None

# Measured values: one context, and one for each query.
ContextLike: TypeAlias = ArrayLike | Parameters | None
ContextsLike: TypeAlias = ContextLike | Sequence[Parameters]

# A number of Python or of NumPy.
Real: TypeAlias = float | np.floating[Any] | np.integer[Any]

# In the user's unit, or a date.
Time: TypeAlias = Real | date | np.datetime64

# Seconds of a step with n observations.
ResponseTimes: TypeAlias = Callable[[int], float]

# Time, when ``ask`` is given none.
TimeSource: TypeAlias = Literal["wall", "calendar", "step"] | Callable[[], Time]

if TYPE_CHECKING:

    class Point(NDArray[np.float64], dict[str, Any]):
        """A query: an array (d,), or a dict of named parameters.

        The domain decides, which no checker can follow. It has the methods of both.
        """

        @overload
        def __getitem__(self, key: int, /) -> float: ...
        @overload
        def __getitem__(self, key: str, /) -> Any: ...
        @overload
        def __getitem__(self, key: slice | Sequence[int] | NDArray[Any] | None, /) -> Array: ...

    class Points(NDArray[np.float64], list[Point]):
        """Queries: an array (n, d), or a list of dicts."""

        @overload
        def __getitem__(self, key: int, /) -> Point: ...
        @overload
        def __getitem__(self, key: object, /) -> Array: ...
        def __iter__(self) -> Iterator[Point]: ...


class SurrogateLike(Protocol):
    """Methods of all surrogates, regressors or others: see `sktvbo.staleness.Surrogate`."""

    def fit(self, *args: Any, **kwargs: Any) -> Any: ...
    def condition_on(self, *args: Any, **kwargs: Any) -> Any: ...
    def without(self, *args: Any, **kwargs: Any) -> Any: ...
    def refit(self, *args: Any, **kwargs: Any) -> Any: ...
    def at(self, *args: Any, **kwargs: Any) -> Any: ...
    def predict(self, *args: Any, **kwargs: Any) -> Any: ...
    def posterior_at(self, *args: Any, **kwargs: Any) -> Any: ...


class StreamModel(Protocol):
    """Model that learns row by row, as those of river."""

    def learn_one(self, *args: Any, **kwargs: Any) -> Any: ...
    def predict_one(self, *args: Any, **kwargs: Any) -> Any: ...
