"""Record of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._validation import (
    check_bool,
    check_int,
    finite_array,
    finite_number,
    invalid,
    invalid_observation,
)

# Columns of a record, in this order.
ARRAYS = {
    "times": np.float64,
    "queries": np.float64,
    "observations": np.float64,
    "regrets": np.float64,
    "response_times": np.float64,
    "dataset_sizes": np.intp,
    "removed_counts": np.intp,
}
_COUNTS = {name for name, kind in ARRAYS.items() if kind is np.intp}


@dataclass(eq=False)
class RunResult:
    """Record of a run; every array has one entry per query, initial queries first.

    Attributes
    ----------
    problem : str
        Name of the problem.
    horizon : float
        End of the run.
    n_initial : int
        Number of queries of the initial design.
    times : ndarray of shape (n,)
        Times of the queries.
    queries : ndarray of shape (n, d)
        Points of the queries.
    observations : ndarray of shape (n,)
        Noisy values told to the optimizer.
    regrets : ndarray of shape (n,)
        Noise-free max_x f(x, t) - f(x_t, t).
    response_times : ndarray of shape (n,)
        Measured seconds of ask and tell; of tell alone for the initial design.
    dataset_sizes : ndarray of shape (n,)
        Number of observations in the optimizer's data set after each tell.
    removed_counts : ndarray of shape (n,)
        Number of observations removed so far.
    history : dict of str to ndarray of shape (n,)
        The optimizer's ``history_``, such as resets, budget or window; NaN before the latest
        ``history`` observations that it exposes.
    optimizer : estimator or None
        Optimizer at the end of the run.
    seed : int or None
        The ``random_state`` of the run, if it was a number.
    violations : ndarray of bool of shape (n,), or None
        Queries at which a noise-free outcome was beyond its limit; None without limits.

    Examples
    --------
    >>> from sktvbo import evaluation, problems
    >>> from sktvbo.optimizers import RandomSearch
    >>> problem = problems.make("six-hump-camel", horizon=50.0)
    >>> result = evaluation.run(RandomSearch(problem.domain), problem)
    >>> result.regrets.shape
    (50,)
    >>> result.average_regret > 0.0
    True
    """

    problem: str
    horizon: float
    n_initial: int
    times: np.ndarray
    queries: np.ndarray
    observations: np.ndarray
    regrets: np.ndarray
    response_times: np.ndarray
    dataset_sizes: np.ndarray
    removed_counts: np.ndarray
    history: dict = field(default_factory=dict, repr=False)
    optimizer: Any = field(default=None, repr=False)
    seed: int | None = None
    violations: np.ndarray | None = None

    def _after_initial(self, values):
        if len(values) <= self.n_initial:
            expected = f"of at least one query after the {self.n_initial} initial ones"
            got = f"none before the horizon {self.horizon}"
            advice = "Use a longer horizon or a faster clock."
            raise invalid_observation("An average", expected, got=got, advice=advice)
        return values[self.n_initial :]

    @property
    def average_regret(self) -> float:
        """Mean regret over the queries after the initial ones.

        Raises
        ------
        InvalidObservationError
            There is none.
        """
        return float(np.mean(self._after_initial(self.regrets)))

    @property
    def time_average_regret(self) -> float:
        """Mean regret over the time from the first query after the initial ones to the horizon.

        Each regret is weighted by the time until the next query.

        Raises
        ------
        InvalidObservationError
            There is none.
        """
        durations = np.diff(self._after_initial(self.times), append=self.horizon)
        return float(np.average(self._after_initial(self.regrets), weights=durations))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields except the optimizer as plain numbers and lists, ready for JSON.

        Returns
        -------
        dict
            ``average_regret`` and ``time_average_regret`` are None if undefined. JSON has no NaN
            and no infinity, so in ``history`` they are None, "Infinity" and "-Infinity".
        """
        averaged = len(self.times) > self.n_initial
        limited = {} if self.violations is None else {"violations": self.violations.tolist()}
        return limited | {
            "problem": self.problem,
            "seed": self.seed,
            "horizon": self.horizon,
            "n_initial": self.n_initial,
            "average_regret": self.average_regret if averaged else None,
            "time_average_regret": self.time_average_regret if averaged else None,
            **{name: getattr(self, name).tolist() for name in ARRAYS},
            "history": {name: _to_json(column) for name, column in self.history.items()},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RunResult:
        """Return the run written by `to_dict`, without its optimizer.

        Parameters
        ----------
        content : dict

        Returns
        -------
        RunResult

        Raises
        ------
        ValueError
            Invalid content.

        Examples
        --------
        >>> from sktvbo import evaluation, problems
        >>> from sktvbo.optimizers import RandomSearch
        >>> problem = problems.make("six-hump-camel", horizon=50.0)
        >>> result = evaluation.run(RandomSearch(problem.domain), problem)
        >>> again = evaluation.RunResult.from_dict(result.to_dict())
        >>> again.average_regret == result.average_regret
        True
        """
        try:
            n = len(content["times"])
            arrays = {name: _array(content[name], name, n) for name in ARRAYS}
            history = {name: _from_json(column) for name, column in content["history"].items()}
            violations = content.get("violations")
            if violations is not None:
                violations = np.array([check_bool(v, "violations") for v in violations], dtype=bool)
            columns = [*arrays.values(), *history.values()]
            columns += [] if violations is None else [violations]
            lengths = {len(column) for column in columns}
            if lengths - {n}:
                raise ValueError(f"its columns have different lengths, {sorted(lengths)}")
            if not isinstance(content["problem"], str):
                raise TypeError("its problem's name is not a str")
            seed = content["seed"]
            result = cls(
                problem=content["problem"],
                horizon=finite_number(content["horizon"], "horizon"),
                n_initial=check_int(content["n_initial"], "n_initial", low=0),
                seed=seed if seed is None else check_int(seed, "seed", low=0),
                history=history,
                violations=violations,
                **arrays,
            )
            with np.errstate(over="ignore"):
                spans = np.diff(result.times[result.n_initial :], append=result.horizon)
                total = spans.sum()
            if len(spans) and not (spans.min() >= 0.0 and 0.0 < spans[-1] <= total < np.inf):
                raise ValueError("its times are not in order, or not before its horizon")
            if content["average_regret"] != result.to_dict()["average_regret"]:
                raise ValueError("its average regret is not that of its regrets")
            return result
        except (KeyError, TypeError, AttributeError, ValueError) as exc:
            expected, advice = "what RunResult.to_dict returns", f"{type(exc).__name__}: {exc}"
            raise invalid("content", expected, got=type(content).__name__, advice=advice) from exc


def _array(values, name, n):
    """Return a column of n rows as an array of finite numbers, of its dtype and sign."""
    if n == 0 and name == "queries":
        return np.empty((0, 0))
    array = finite_array(values, name, (n, "d") if name == "queries" else (n,))
    if name in _COUNTS and ((array != np.floor(array)) | (array > 2.0**53)).any():
        raise ValueError(f"{name} are not integers")
    if name in _COUNTS | {"response_times"} and (array < 0.0).any():
        raise ValueError(f"{name} are negative")
    return array.astype(ARRAYS[name])


def _to_json(column):
    """Return a column as values of JSON: None for NaN, and names for the infinities."""
    names = {math.inf: "Infinity", -math.inf: "-Infinity"}
    return [None if v != v else names.get(v, v) for v in column.tolist()]


def _from_json(column):
    return np.array(
        [math.nan if v is None else float(v) if isinstance(v, str) else v for v in column]
    )
