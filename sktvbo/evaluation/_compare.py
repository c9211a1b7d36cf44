"""Several optimizers on several problems, replicated in parallel."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state

from ..exceptions import MissingExtraError
from ._run import check_problem, progress_bar, run

__all__ = ["Comparison", "compare"]


def _mean_and_error(values):
    """Mean and standard error; the error of a single value is NaN, since it is unknown."""
    error = math.nan
    if len(values) > 1:
        error = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    return float(np.mean(values)), error


@dataclass(eq=False, repr=False)
class Comparison:
    """The runs of `compare`, and tables of them; ``print`` shows the average regrets.

    Attributes
    ----------
    results : dict of (str, str) to list of RunResult
        The replications of each (algorithm, problem's name).

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
    """

    results: dict

    @property
    def algorithms(self):
        """Names of the algorithms, in the order given."""
        return list(dict.fromkeys(algorithm for algorithm, _ in self.results))

    @property
    def problems(self):
        """Names of the problems, in the order given."""
        return list(dict.fromkeys(problem for _, problem in self.results))

    def summary(self):
        """Summarize each (algorithm, problem), over its replications and the queries after the
        initial ones.

        Returns
        -------
        list of dict
            ``algorithm``, ``problem``, ``average_regret`` (mean of the replications' average
            regrets), ``standard_error`` (of that mean; NaN for a single replication),
            ``time_average_regret``, ``response_time`` (measured seconds), ``dataset_size``,
            ``n_replications``.

        Raises
        ------
        InvalidObservationError
            When a run has no query after the initial ones.
        """
        rows = []
        for (algorithm, problem), runs in self.results.items():
            mean, error = _mean_and_error([r.average_regret for r in runs])
            rows.append(
                {
                    "algorithm": algorithm,
                    "problem": problem,
                    "average_regret": mean,
                    "standard_error": error,
                    "time_average_regret": float(np.mean([r.time_average_regret for r in runs])),
                    "response_time": _mean_after(runs, "response_times"),
                    "dataset_size": _mean_after(runs, "dataset_sizes"),
                    "n_replications": len(runs),
                }
            )
        return rows

    def to_frame(self):
        """Return the summary as a pandas data frame.

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
                "to_frame() needs pandas: pip install 'sktvbo[frames]', or use summary()."
            ) from exc
        return pd.DataFrame(self.summary())

    def __repr__(self):
        return (
            f"<Comparison of {len(self.algorithms)} algorithm(s) on "
            f"{len(self.problems)} problem(s)>"
        )

    def __str__(self):
        cells = {(row["algorithm"], row["problem"]): row for row in self.summary()}
        best = {
            problem: min(cells[a, problem]["average_regret"] for a in self.algorithms)
            for problem in self.problems
        }
        table = [["average regret", *self.problems]]
        for algorithm in self.algorithms:
            line = [algorithm]
            for problem in self.problems:
                row = cells[algorithm, problem]
                mark = "*" if row["average_regret"] == best[problem] else " "
                line.append(_format(row["average_regret"], row["standard_error"]) + mark)
            table.append(line)
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [
            "  ".join(
                [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))]
            ).rstrip()
            for line in table
        ]
        lines.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
        return "\n".join([*lines, "* best of its column; mean ± standard error"])


def _mean_after(runs, name):
    return float(np.mean([np.mean(getattr(r, name)[r.n_initial :]) for r in runs]))


def _format(mean, error):
    if math.isnan(error):
        return f"{mean:.4g}"
    # Two digits of the error, and the mean to the same place.
    places = min(max(1 - math.floor(math.log10(error)), 0), 6) if error > 0.0 else 3
    return f"{mean:.{places}f} ± {error:.{places}f}"


def _replicate(optimizer, problem, options, keep_optimizer):
    result = run(optimizer, problem, **options)
    if not keep_optimizer:
        result.optimizer = None
    return result


def compare(
    optimizers,
    problems,
    n_replications=10,
    *,
    clock=None,
    horizon=None,
    n_initial=15,
    random_state=0,
    n_jobs=None,
    progress=False,
    keep_optimizers=False,
    expert=None,
):
    """Run every optimizer on every problem, several times, in parallel.

    In one replication all optimizers start from the same initial design and seeds. The results
    do not depend on ``n_jobs``, except on a `WallClock`.

    Parameters
    ----------
    optimizers : dict of str to estimator
        The algorithms by name.
    problems : list of Problem
        With distinct names.
    n_replications : int, default=10
    clock, horizon, n_initial
        See `run`.
    random_state : int, RandomState or None, default=0
        The replications' seeds are drawn from it.
    n_jobs : int, default=None
        Parallel jobs, as in joblib; `joblib.parallel_config` chooses the backend. Jobs in
        parallel share the machine, which a `WallClock` notices.
    progress : bool, default=False
        Show a bar; needs tqdm.
    keep_optimizers : bool, default=False
        Keep the optimizers' final states in the results, which makes them heavy.
    expert : callable (X, t) -> (q,), or "problem", default=None
        See `run`.

    Returns
    -------
    Comparison

    Raises
    ------
    TypeError
        Something that is not a problem, or optimizers without names.
    ValueError
        Nothing to compare, or two problems of one name; whatever `run` raises.
    MissingExtraError
        ``progress=True`` without tqdm.

    Examples
    --------
    >>> from sktvbo import evaluation, problems
    >>> from sktvbo.optimizers import RandomSearch
    >>> problem = problems.make("six-hump-camel", horizon=30.0)
    >>> table = evaluation.compare(
    ...     {"random": RandomSearch(problem.domain)}, [problem], n_replications=2
    ... )
    >>> table.summary()[0]["n_replications"]
    2
    """
    if not isinstance(optimizers, Mapping):
        raise TypeError(
            f"optimizers must be a dict of name to optimizer, got {type(optimizers).__name__}."
        )
    problems = list(problems)
    for problem in problems:
        check_problem(problem)
    names = [problem.name for problem in problems]
    if not optimizers or not problems:
        raise ValueError(
            f"compare needs at least one optimizer and one problem, got {len(optimizers)} and "
            f"{len(problems)}."
        )
    if len(set(names)) < len(names):
        raise ValueError(
            f"problems must have distinct names, got {', '.join(names)}; set problem.name."
        )
    if not isinstance(n_replications, int | np.integer) or n_replications < 1:
        raise ValueError(f"n_replications must be a whole number >= 1, got {n_replications!r}.")
    seeds = check_random_state(random_state).randint(np.iinfo(np.int32).max, size=n_replications)
    options = {"clock": clock, "horizon": horizon, "n_initial": n_initial, "expert": expert}
    jobs = [
        (algorithm, problem, seed)
        for algorithm in optimizers
        for problem in problems
        for seed in seeds.tolist()
    ]
    calls = (
        delayed(_replicate)(
            optimizers[algorithm], problem, {**options, "random_state": seed}, keep_optimizers
        )
        for algorithm, problem, seed in jobs
    )
    if progress:
        bar = progress_bar(total=len(jobs), unit="run")
        with bar:
            runs = []
            for result in Parallel(n_jobs=n_jobs, return_as="generator")(calls):
                runs.append(result)
                bar.update()
    else:
        runs = Parallel(n_jobs=n_jobs)(calls)
    results = {}
    for (algorithm, problem, _), result in zip(jobs, runs):
        results.setdefault((algorithm, problem.name), []).append(result)
    return Comparison(results)
