"""What users see of a run: the attributes of an optimizer, which its docstring explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._queries import handles

if TYPE_CHECKING:
    from .._typing import Array
    from ..staleness import StaleDataPolicy, Surrogate
    from ._queries import Query


class Attributes:
    """Attributes of an optimizer, read from the state of its run."""

    @property
    def X_(self) -> Array:
        run = self._begun()
        return run.kept.rows.reshape(-1, run.domain.n_dims + 1).copy()

    @property
    def y_(self) -> Array:
        return self._begun().kept.y.copy()

    @property
    def told_X_(self) -> Array:
        run = self._begun()
        return run.rows(run.shown)

    @property
    def told_y_(self) -> Array:
        return np.array([entry.y for entry in self._begun().shown], dtype=np.float64)

    @property
    def removed_at_(self) -> Array:
        run = self._begun()
        shown = run.shown
        positions = np.array(run.positions, dtype=np.intp)[len(run.entries) - len(shown) :]
        removed_at = np.full(len(shown), np.nan)
        for entry in shown:
            removed_at[np.isin(positions, entry.removed)] = entry.now
        removed_at[np.isin(positions, run.kept.positions)] = np.nan  # it has come back
        return removed_at

    @property
    def history_(self) -> dict[str, Array]:
        rows = [{"time": entry.now, "n": entry.n, **entry.record} for entry in self._begun().shown]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) for row in rows], dtype=np.float64) for name in names}

    @property
    def pending_(self) -> list[Query]:
        run = self._begun()
        return handles(run.domain, run.pending)

    @property
    def pending_X_(self) -> Array:
        run = self._begun()
        rows = [np.append(query.x, query.t) for query in run.pending]
        return np.array(rows).reshape(-1, run.domain.n_dims + 1)

    @property
    def surrogate_(self) -> Surrogate | None:
        return self._begun().surrogate

    @property
    def belief_(self) -> Surrogate | None:
        return self._begun().belief

    @property
    def policy_(self) -> StaleDataPolicy:
        return self._begun().policy

    @property
    def n_told_(self) -> int:
        return self._begun().n_told

    @property
    def n_removed_(self) -> int:
        run = self._begun()
        return run.n_told - run.size

    @property
    def n_absorbed_(self) -> int:
        return self._begun().n_absorbed

    @property
    def n_failed_(self) -> int:
        return self._begun().n_failed

    @property
    def failed_X_(self) -> Array:
        run = self._begun()
        if run.failures is None:
            return np.empty((0, run.domain.n_dims + 1))
        return run.failures.rows.copy()

    @property
    def next_time_(self) -> float | None:
        return self._begun().next_time
