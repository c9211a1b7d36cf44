"""Tables and statistics of many runs."""

import csv
import json
import math
import textwrap
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

from ..exceptions import MissingExtraError
from ._results import RunResult
from ._store import write_json

__all__ = ["Comparison", "Failure"]

_FORMAT = "sktvbo comparison 1"
_SHOWN_FAILURES = 5


@dataclass(frozen=True)
class Failure:
    """A run of a comparison that did not finish.

    Attributes
    ----------
    algorithm, problem : str
    seed : int
        The replication's.
    time : float or None
        The run's time when it failed; None where the run had not begun, or nobody was left to tell.
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


def record_failure(exc, algorithm, problem, seed, message=None):
    """The `Failure` of a run that has raised exc."""
    return Failure(
        algorithm,
        problem,
        seed,
        getattr(exc, "failed_at", None),
        type(exc).__name__,
        str(exc) if message is None else message,
        "".join(traceback.format_exception(exc)),
    )


@dataclass(eq=False, repr=False)
class Comparison:
    """The runs of `compare`, tables of them, and statistics; ``print`` shows the average regrets.

    A run's number is its average regret. The printed table has their means over the replications,
    with standard errors, and marks the best of a column by ``*``. Like the papers' tables, it marks
    by ``+`` those whose interval, mean ± standard error, overlaps that of the best. That is easy to
    see and works for two replications, but it is no test: `paired` is.

    Attributes
    ----------
    results : dict of (str, str) to list of RunResult
        The finished replications of each (algorithm, problem's name); an empty list where all
        have failed.
    failures : list of Failure
        The others.

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
    def algorithms(self):
        """Names of the algorithms, in the order given."""
        return list(dict.fromkeys(algorithm for algorithm, _ in self.results))

    @property
    def problems(self):
        """Names of the problems, in the order given."""
        return list(dict.fromkeys(problem for _, problem in self.results))

    # -- tables ----------------------------------------------------------------------------------

    def rows(self):
        """One row per run, the failed ones last.

        Returns
        -------
        list of dict
            ``algorithm``, ``problem``, ``seed``, ``average_regret``, ``time_average_regret``,
            ``n_queries`` (after the initial ones, and so are all means), ``response_time`` (mean,
            measured seconds), ``dataset_size`` (mean), ``final_dataset_size``, ``n_removed``,
            ``failure`` (the error, or None). What is not known is NaN.
        """
        finished = [_row(key, run) for key, runs in self.results.items() for run in runs]
        failed = [
            {
                "algorithm": f.algorithm,
                "problem": f.problem,
                "seed": f.seed,
                **dict.fromkeys(_NUMBERS, math.nan),
                "failure": f"{f.error}: {f.message}",
            }
            for f in self.failures
        ]
        return finished + failed

    def summary(self):
        """Summarize each (algorithm, problem), over its finished replications and the queries
        after the initial ones.

        Returns
        -------
        list of dict
            ``algorithm``, ``problem``, ``average_regret`` (mean of the replications' average
            regrets), ``standard_error`` (of that mean; NaN for a single replication),
            ``median_regret`` (of the replications' average regrets), ``time_average_regret``,
            ``response_time`` (measured seconds), ``dataset_size``, ``n_replications``,
            ``n_failures``. NaN where no replication has finished, or one has no query after the
            initial ones.
        """
        failed = Counter((f.algorithm, f.problem) for f in self.failures)
        table = []
        for key, runs in self.results.items():
            rows = [_row(key, run) for run in runs]
            columns = {name: [row[name] for row in rows] for name in _NUMBERS}
            regrets = columns["average_regret"]
            mean, error = _mean_and_error(regrets)
            table.append(
                {
                    "algorithm": key[0],
                    "problem": key[1],
                    "average_regret": mean,
                    "standard_error": error,
                    "median_regret": float(np.median(regrets)) if regrets else math.nan,
                    "time_average_regret": _mean_and_error(columns["time_average_regret"])[0],
                    "response_time": _mean_and_error(columns["response_time"])[0],
                    "dataset_size": _mean_and_error(columns["dataset_size"])[0],
                    "n_replications": len(runs),
                    "n_failures": failed[key],
                }
            )
        return table

    def to_frame(self):
        """Return one row per run, see `rows`, as a pandas data frame.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        MissingExtraError
            When pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as exc:
            raise MissingExtraError(
                "to_frame() needs pandas: pip install 'sktvbo[frames]', or use rows()."
            ) from exc
        return pd.DataFrame(self.rows())

    def to_csv(self, path):
        """Write one row per run, see `rows`; what is not known stays empty.

        Parameters
        ----------
        path : path-like
        """
        columns = ["algorithm", "problem", "seed", *_NUMBERS, "failure"]
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            for row in self.rows():
                writer.writerow({k: "" if v != v else v for k, v in row.items()})

    def to_json(self, path):
        """Write everything but the optimizers; `from_json` reads it.

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
    def from_json(cls, path):
        """Read what `to_json` has written.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Comparison

        Raises
        ------
        ValueError
            The file holds something else.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']!r}")
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
            raise ValueError(
                f"{path} must be a file of Comparison.to_json, got {type(exc).__name__}: {exc}."
            ) from exc

    # -- statistics ------------------------------------------------------------------------------

    def normalized(self):
        """Compare the algorithms over all problems, whatever their scale.

        On each problem the best algorithm's average regret becomes 0 and the worst one's 1.

        Returns
        -------
        list of dict
            By algorithm: ``algorithm``, ``normalized_regret`` (mean over the problems),
            ``standard_error`` (of that mean, over the problems), ``n_problems``, ``by_problem``
            (dict of problem to normalized regret; NaN, and left out of the mean, where no
            replication has finished).

        Notes
        -----
        W-DBO figure 3 and the last row of its table 2; BOLT figure 3 and table 3. The numbers
        depend on who is compared, and a worst algorithm that is far off makes all others look
        alike. The error shows how much the problems differ, not the replications.

        Examples
        --------
        >>> from sktvbo import evaluation, problems
        >>> from sktvbo.optimizers import GPUCB, RandomSearch
        >>> problem = problems.make("six-hump-camel", horizon=30.0)
        >>> algorithms = {"GP-UCB": GPUCB(), "random": RandomSearch()}
        >>> table = evaluation.compare(algorithms, [problem], n_replications=2)
        >>> [row["normalized_regret"] for row in table.normalized()]
        [0.0, 1.0]
        """
        means = {(r["algorithm"], r["problem"]): r["average_regret"] for r in self.summary()}
        scaled = {algorithm: {} for algorithm in self.algorithms}
        for problem in self.problems:
            column = {a: means.get((a, problem), math.nan) for a in self.algorithms}
            known = [value for value in column.values() if not math.isnan(value)]
            low, width = (min(known), max(known) - min(known)) if known else (0.0, 0.0)
            for algorithm, value in column.items():
                # Where all are the same, all are the best.
                scaled[algorithm][problem] = (value - low) / (width or 1.0)
        table = []
        for algorithm, by_problem in scaled.items():
            known = [value for value in by_problem.values() if not math.isnan(value)]
            mean, error = _mean_and_error(known)
            table.append(
                {
                    "algorithm": algorithm,
                    "normalized_regret": mean,
                    "standard_error": error,
                    "n_problems": len(known),
                    "by_problem": by_problem,
                }
            )
        return table

    def paired(self, reference):
        """Test each algorithm against a reference, seed by seed.

        In a replication all algorithms have the same design, and the same function where it is
        drawn: their difference varies less than they do.

        Parameters
        ----------
        reference : str
            Name of an algorithm.

        Returns
        -------
        list of dict
            By problem and other algorithm: ``problem``, ``algorithm``, ``reference``,
            ``difference`` (mean over the seeds of the algorithm's average regret minus the
            reference's: positive where the reference is better), ``standard_error`` (of that
            mean), ``p_value`` (two-sided Wilcoxon signed-rank test that the differences are
            symmetric around 0), ``p_holm`` (corrected for the number of algorithms compared on
            the problem), ``n_pairs`` (seeds for which both have finished).

        Raises
        ------
        ValueError
            The comparison has no such algorithm.

        Notes
        -----
        n pairs have p >= 2^(1 - n): with fewer than six no difference is significant at 5 %. Holm's
        correction holds for one problem; it does not count the problems.

        Examples
        --------
        >>> from sktvbo import evaluation, problems
        >>> from sktvbo.optimizers import GPUCB, RandomSearch
        >>> problem = problems.make("six-hump-camel", horizon=30.0)
        >>> algorithms = {"GP-UCB": GPUCB(), "random": RandomSearch()}
        >>> table = evaluation.compare(algorithms, [problem], n_replications=6)
        >>> (row,) = table.paired("GP-UCB")
        >>> row["algorithm"], row["difference"] > 0.0, row["n_pairs"]
        ('random', True, 6)
        """
        if reference not in self.algorithms:
            raise ValueError(
                f"reference must be one of {', '.join(self.algorithms)}, the algorithms of the "
                f"comparison, got {reference!r}."
            )
        table = []
        for problem in self.problems:
            base = self._by_seed(reference, problem)
            rows = []
            for algorithm in self.algorithms:
                if algorithm == reference:
                    continue
                own = self._by_seed(algorithm, problem)
                differences = np.array([own[seed] - base[seed] for seed in own if seed in base])
                mean, error = _mean_and_error(differences)
                rows.append(
                    {
                        "problem": problem,
                        "algorithm": algorithm,
                        "reference": reference,
                        "difference": mean,
                        "standard_error": error,
                        "p_value": _signed_rank(differences),
                        "p_holm": math.nan,
                        "n_pairs": len(differences),
                    }
                )
            for row, p in zip(rows, _holm([row["p_value"] for row in rows])):
                row["p_holm"] = p
            table.extend(rows)
        return table

    def _by_seed(self, algorithm, problem):
        """Average regrets by seed; runs made by hand may have none, and go by their position."""
        rows = [_row((algorithm, problem), r) for r in self.results.get((algorithm, problem), ())]
        return {
            i if row["seed"] is None else row["seed"]: row["average_regret"]
            for i, row in enumerate(rows)
            if not math.isnan(row["average_regret"])
        }

    # -- text ------------------------------------------------------------------------------------

    def __repr__(self):
        failed = f", {len(self.failures)} failed run(s)" if self.failures else ""
        return (
            f"<Comparison of {len(self.algorithms)} algorithm(s) on "
            f"{len(self.problems)} problem(s){failed}>"
        )

    def __str__(self):
        rows = self.summary()
        known = [row for row in rows if not math.isnan(row["average_regret"])]
        # From the worst to the best, so that the best remains.
        known.sort(key=lambda row: -row["average_regret"])
        best = {row["problem"]: row for row in known}
        marks = {id(row): _mark(row, best.get(row["problem"])) for row in rows}
        cells = {}
        for row in rows:
            failed = ("!" if row["n_failures"] else " ") if self.failures else ""
            cells[row["algorithm"], row["problem"]] = _format(row) + marks[id(row)] + failed
        table = [["average regret", *self.problems]]
        for algorithm in self.algorithms:
            table.append([algorithm, *(cells.get((algorithm, p), "") for p in self.problems)])
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))]
            ).rstrip()
            for line in table
        ]
        lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
        lines.append("* best of its column; mean ± standard error")
        if "+" in marks.values():
            lines.append("+ its mean ± standard error overlaps the best's")
        if self.failures:
            lines.append(f"! {len(self.failures)} run(s) failed:")
            lines.extend(f"  {failure}" for failure in self.failures[:_SHOWN_FAILURES])
        if (more := len(self.failures) - _SHOWN_FAILURES) > 0:
            lines.append(f"  and {more} more, see .failures")
        return "\n".join(lines)


# What `Comparison.rows` says of a run, besides which run it is.
_NUMBERS = (
    "average_regret",
    "time_average_regret",
    "n_queries",
    "response_time",
    "dataset_size",
    "final_dataset_size",
    "n_removed",
)


def _row(key, run):
    n = len(run.times) - run.n_initial
    some = n > 0
    values = (
        run.average_regret if some else math.nan,
        run.time_average_regret if some else math.nan,
        max(n, 0),
        float(np.mean(run.response_times[-n:])) if some else math.nan,
        float(np.mean(run.dataset_sizes[-n:])) if some else math.nan,
        int(run.dataset_sizes[-1]) if len(run.dataset_sizes) else 0,
        int(run.removed_counts[-1]) if len(run.removed_counts) else 0,
    )
    row = {"algorithm": key[0], "problem": key[1], "seed": run.seed}
    return {**row, **dict(zip(_NUMBERS, values, strict=True)), "failure": None}


def _mean_and_error(values):
    """Mean and standard error; NaN where they are unknown, as is the error of a single value."""
    mean = float(np.mean(values)) if len(values) else math.nan
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return mean, error


def _signed_rank(differences):
    """Two-sided p-value; 1 where no difference is left, NaN where there was none."""
    if not len(differences):
        return math.nan
    return float(wilcoxon(differences).pvalue) if np.any(differences) else 1.0


def _holm(p_values):
    """Holm's step-down correction; unknown p-values stay unknown and do not count."""
    adjusted = np.full(len(p_values), math.nan)
    order = [i for i in np.argsort(p_values) if not math.isnan(p_values[i])]
    largest = 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted.tolist()


def _mark(row, best):
    """``*`` for the best, ``+`` where the intervals overlap; an unknown interval does not."""
    if best is None or math.isnan(row["average_regret"]):
        return " "
    if row["average_regret"] == best["average_regret"]:
        return "*"
    low = row["average_regret"] - row["standard_error"]
    return "+" if low <= best["average_regret"] + best["standard_error"] else " "


def _format(row):
    mean, error = row["average_regret"], row["standard_error"]
    if math.isnan(mean):
        return "unknown" if row["n_replications"] else "failed"
    if math.isnan(error):
        return f"{mean:.4g}"
    # Two digits of the error, and the mean to the same place.
    places = min(max(1 - math.floor(math.log10(error)), 0), 6) if error > 0.0 else 3
    return f"{mean:.{places}f} ± {error:.{places}f}"
