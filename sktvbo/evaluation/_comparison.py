"""Tables and statistics of the runs of a comparison."""

from __future__ import annotations

import csv
import math
import textwrap
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import check_choice, invalid
from .._warnings import warn_caller
from ..exceptions import MissingExtraError
from ._files import read_json, replacing, write_json
from ._results import RunResult
from ._statistics import holm, mean_and_error, normalized, signed_rank
from ._tables import format_table, regret_columns

if TYPE_CHECKING:
    import pandas as pd

    from .._typing import PathLike

_FORMAT = "sktvbo comparison 1"
# Largest number of failures listed below the printed table.
_SHOWN_FAILURES = 5


@dataclass(frozen=True)
class Failure:
    """Run of a comparison that did not finish.

    Attributes
    ----------
    algorithm, problem : str
    seed : int
        Seed of the replication.
    time : float or None
        Time of the run when it failed; None if it had not started, or if the time is unknown.
    error : str
        Name of the exception's class.
    message : str
    traceback : str
    """

    algorithm: str
    problem: str
    seed: int
    time: float | None
    error: str
    message: str
    traceback: str = field(repr=False)

    def __str__(self):
        when = "" if self.time is None else f", at t={self.time:g}"
        message = textwrap.shorten(self.message, 200, placeholder=" ...")
        return (
            f"{self.algorithm} on {self.problem}, seed {self.seed}{when}: {self.error}: {message}"
        )


def record_failure(exc, algorithm, problem, seed, *, time=None, message=None):
    """Return the `Failure` of a run that has raised exc."""
    return Failure(
        algorithm,
        problem,
        seed,
        time,
        type(exc).__name__,
        str(exc) if message is None else message,
        "".join(traceback.format_exception(exc)),
    )


@dataclass(eq=False, repr=False)
class Comparison:
    """Runs of `compare`, with tables and statistics; ``print`` shows the average regrets.

    The printed table has means of the average regrets over the replications, with standard errors.
    ``*`` marks the best of a column. As in the papers' tables, ``+`` marks algorithms whose
    interval, mean ± standard error, overlaps that of the best. This works for two replications but
    is not a statistical test; `paired` is.

    Attributes
    ----------
    results : dict of (str, str) to list of RunResult
        Finished replications by (algorithm, name of the problem); an empty list if all failed.
    failures : list of Failure
        Failed replications.

    Examples
    --------
    >>> from sktvbo import evaluation, problems
    >>> from sktvbo.optimizers import RandomSearch
    >>> problem = problems.make("six-hump-camel", horizon=30.0)
    >>> table = evaluation.compare(
    ...     {"random": RandomSearch(problem.domain)}, [problem], n_replications=2
    ... )
    >>> len(table.results["random", "six-hump-camel"])
    2
    >>> table.failures
    []
    """

    results: dict
    failures: list = field(default_factory=list)

    @property
    def algorithms(self) -> list[str]:
        """Names of the algorithms, in the given order."""
        return list(dict.fromkeys(algorithm for algorithm, _ in self.results))

    @property
    def problems(self) -> list[str]:
        """Names of the problems, in the given order."""
        return list(dict.fromkeys(problem for _, problem in self.results))

    # --- tables -----------------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per run, failed runs last.

        Returns
        -------
        list of dict
            ``algorithm``, ``problem``, ``seed``, ``average_regret``, ``time_average_regret``,
            ``n_queries``, ``response_time`` (mean, measured seconds), ``dataset_size`` (mean),
            ``final_dataset_size``, ``n_removed``, ``failure`` (the error, or None). Means and
            ``n_queries`` are of the queries after the initial ones. Unknown numbers are NaN.
        """
        finished = [_row(key, run) for key, runs in self.results.items() for run in runs]
        return finished + [
            _empty_row(f.algorithm, f.problem, f.seed, f"{f.error}: {f.message}")
            for f in self.failures
        ]

    def summary(self) -> list[dict[str, Any]]:
        """Summarize the finished replications of each algorithm on each problem.

        All numbers refer to the queries after the initial ones.

        Returns
        -------
        list of dict
            ``algorithm``, ``problem``, ``average_regret`` (mean of the replications' average
            regrets), ``standard_error`` (of that mean; NaN for a single replication),
            ``median_regret`` (of the replications' average regrets), ``time_average_regret``,
            ``response_time`` (measured seconds), ``dataset_size``, ``n_replications``,
            ``n_failures``. NaN if no replication has finished, or if one has no query after the
            initial ones.
        """
        failed = Counter((f.algorithm, f.problem) for f in self.failures)
        table = []
        for key, runs in self.results.items():
            rows = [_row(key, run) for run in runs]
            regrets = [row["average_regret"] for row in rows]
            summary = {"algorithm": key[0], "problem": key[1]}
            summary["average_regret"], summary["standard_error"] = mean_and_error(regrets)
            summary["median_regret"] = float(np.median(regrets)) if regrets else math.nan
            for name in ("time_average_regret", "response_time", "dataset_size"):
                summary[name], _ = mean_and_error([row[name] for row in rows])
            table.append(summary | {"n_replications": len(runs), "n_failures": failed[key]})
        return table

    def to_frame(self) -> pd.DataFrame:
        """Return one row per run, see `rows`, as a pandas data frame.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        MissingExtraError
            pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as exc:
            raise MissingExtraError(
                "to_frame() needs pandas: pip install 'sktvbo[frames]', or use rows()."
            ) from exc
        return pd.DataFrame(self.rows())

    def to_csv(self, path: PathLike) -> None:
        """Write one row per run, see `rows`; unknown numbers are empty.

        Parameters
        ----------
        path : path-like
        """
        columns = ["algorithm", "problem", "seed", *_NUMBERS, "failure"]
        with replacing(path) as part, open(part, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            for row in self.rows():
                writer.writerow({k: "" if v != v else v for k, v in row.items()})

    def to_json(self, path: PathLike) -> None:
        """Write all results except the optimizers, to be read by `from_json`.

        Parameters
        ----------
        path : path-like
        """
        content = {
            "format": _FORMAT,
            "results": [
                {"algorithm": algorithm, "problem": problem, "runs": [r.to_dict() for r in runs]}
                for (algorithm, problem), runs in self.results.items()
            ],
            "failures": [asdict(failure) for failure in self.failures],
        }
        write_json(path, content)

    @classmethod
    def from_json(cls, path: PathLike) -> Comparison:
        """Read a file of `to_json`.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Comparison

        Raises
        ------
        ValueError
            The file is not one of `to_json`.
        """
        try:
            content = read_json(path)
            if content["format"] != _FORMAT:
                raise ValueError(f"the format {content['format']!r}")
            return cls(
                {
                    (entry["algorithm"], entry["problem"]): [
                        RunResult.from_dict(run) for run in entry["runs"]
                    ]
                    for entry in content["results"]
                },
                [Failure(**failure) for failure in content["failures"]],
            )
        except (ValueError, KeyError, TypeError) as exc:
            got = f"{type(exc).__name__}: {exc}"
            raise invalid(str(path), "a file of Comparison.to_json", got=got) from exc

    # --- statistics -------------------------------------------------------------------------------

    def normalized(self) -> list[dict[str, Any]]:
        """Compare the algorithms over all problems, on a common scale.

        On each problem the best algorithm's average regret becomes 0 and the worst one's 1.

        Returns
        -------
        list of dict
            Per algorithm: ``algorithm``, ``normalized_regret`` (mean over the problems),
            ``standard_error`` (of that mean, over the problems), ``n_problems``, ``by_problem``
            (dict of problem to normalized regret; NaN, and excluded from the mean, if no
            replication has finished).

        Notes
        -----
        W-DBO figure 3 and the last row of its table 2; BOLT figure 3 and table 3. The numbers
        depend on the set of algorithms: a very bad one makes all others look alike. The standard
        error measures differences between problems, not between replications.

        Examples
        --------
        >>> from sktvbo import evaluation, problems
        >>> from sktvbo.optimizers import GPUCB, RandomSearch
        >>> problem = problems.make("ackley", horizon=30.0)
        >>> algorithms = {"GP-UCB": GPUCB(), "random": RandomSearch()}
        >>> table = evaluation.compare(algorithms, [problem], n_replications=2)
        >>> [row["normalized_regret"] for row in table.normalized()]
        [0.0, 1.0]
        """
        known = {(r["algorithm"], r["problem"]): r["average_regret"] for r in self.summary()}
        keys = [(a, p) for a in self.algorithms for p in self.problems]
        return normalized({key: known.get(key, math.nan) for key in keys})

    def paired(self, reference: str) -> list[dict[str, Any]]:
        """Test each algorithm against a reference, seed by seed.

        In a replication all algorithms have the same initial design and the same function. Their
        difference therefore varies less than each regret.

        Parameters
        ----------
        reference : str
            Name of an algorithm.

        Returns
        -------
        list of dict
            Per problem and other algorithm: ``problem``, ``algorithm``, ``reference``,
            ``difference`` (mean over the seeds of the algorithm's average regret minus the
            reference's: positive if the reference is better), ``standard_error`` (of that
            mean), ``p_value`` (two-sided Wilcoxon signed-rank test that the differences are
            symmetric around 0), ``p_holm`` (corrected for the number of algorithms compared on
            the problem), ``n_pairs`` (number of seeds for which both have finished). Without pairs
            the numbers are NaN, with a warning.

        Raises
        ------
        ValueError
            Unknown algorithm, or one without a finished run.

        Notes
        -----
        With n pairs, p >= 2^(1 - n): fewer than six pairs are never significant at 5 %. Holm's
        correction is per problem, not over problems.

        Examples
        --------
        >>> from sktvbo import evaluation, problems
        >>> from sktvbo.optimizers import GPUCB, RandomSearch
        >>> problem = problems.make("ackley", horizon=30.0)
        >>> algorithms = {"GP-UCB": GPUCB(), "random": RandomSearch()}
        >>> table = evaluation.compare(algorithms, [problem], n_replications=6)
        >>> (row,) = table.paired("GP-UCB")
        >>> row["algorithm"], row["difference"] > 0.0, row["n_pairs"]
        ('random', True, 6)
        """
        check_choice(reference, self.algorithms, "reference")
        regrets_of = {problem: self._by_seed(reference, problem) for problem in self.problems}
        if not any(regrets_of.values()):
            n_failed = sum(failure.algorithm == reference for failure in self.failures)
            got = f"{reference!r}, with {n_failed} failed run(s)"
            expected = "an algorithm with a finished run"
            raise invalid("reference", expected, got=got, advice="See failures.")
        table, unpaired = [], []
        for problem, base in regrets_of.items():
            rows = []
            for algorithm in self.algorithms:
                if algorithm == reference:
                    continue
                regrets = self._by_seed(algorithm, problem)
                pairs = [(regrets[seed], base[seed]) for seed in regrets if seed in base]
                differences = np.array([regret - other for regret, other in pairs])
                mean, error = mean_and_error(differences)
                if not pairs:
                    unpaired.append(f"{algorithm!r} on {problem!r}")
                rows.append(
                    {
                        "problem": problem,
                        "algorithm": algorithm,
                        "reference": reference,
                        "difference": mean,
                        "standard_error": error,
                        "p_value": signed_rank(differences),
                        "p_holm": math.nan,
                        "n_pairs": len(differences),
                    }
                )
            for row, p in zip(rows, holm([row["p_value"] for row in rows])):
                row["p_holm"] = p
            table.extend(rows)
        if unpaired:
            warn_caller(
                f"There is no seed for which {reference!r} and the other have finished: "
                f"{', '.join(unpaired)}. The numbers are NaN. See failures.",
            )
        return table

    def _by_seed(self, algorithm, problem):
        """Return average regrets by seed, or by position for runs without a seed."""
        rows = [_row((algorithm, problem), r) for r in self.results.get((algorithm, problem), ())]
        return {
            i if row["seed"] is None else row["seed"]: row["average_regret"]
            for i, row in enumerate(rows)
            if not math.isnan(row["average_regret"])
        }

    # --- text -------------------------------------------------------------------------------------

    def __repr__(self):
        failed = f", {len(self.failures)} failed run(s)" if self.failures else ""
        return (
            f"<Comparison of {len(self.algorithms)} algorithm(s) on "
            f"{len(self.problems)} problem(s){failed}>"
        )

    def __str__(self):
        algorithms, columns, overlapping = regret_columns(self)
        lines = format_table(list(zip(algorithms, *columns.values())))
        lines.append("* best of its column; mean ± standard error")
        if overlapping:
            lines.append("+ its mean ± standard error overlaps the best's")
        if self.failures:
            lines.append(f"! {len(self.failures)} run(s) failed:")
            lines.extend(f"  {failure}" for failure in self.failures[:_SHOWN_FAILURES])
        if (more := len(self.failures) - _SHOWN_FAILURES) > 0:
            lines.append(f"  and {more} more, see .failures")
        return "\n".join(lines)


# Numbers of a run in `Comparison.rows`.
_NUMBERS = (
    "average_regret",
    "time_average_regret",
    "n_queries",
    "response_time",
    "dataset_size",
    "final_dataset_size",
    "n_removed",
)


def _empty_row(algorithm, problem, seed, failure=None):
    """Return a row of `Comparison.rows` in which all numbers are unknown."""
    row = {"algorithm": algorithm, "problem": problem, "seed": seed}
    return {**row, **dict.fromkeys(_NUMBERS, math.nan), "failure": failure}


def _row(key, run):
    """Return the row of a finished run in `Comparison.rows`."""
    row = _empty_row(*key, run.seed)
    n = row["n_queries"] = max(len(run.times) - run.n_initial, 0)
    row["final_dataset_size"] = int(run.dataset_sizes[-1]) if len(run.times) else 0
    row["n_removed"] = int(run.removed_counts[-1]) if len(run.times) else 0
    if n:
        row["average_regret"] = run.average_regret
        row["time_average_regret"] = run.time_average_regret
        row["response_time"] = float(np.mean(run.response_times[-n:]))
        row["dataset_size"] = float(np.mean(run.dataset_sizes[-n:]))
    return row
