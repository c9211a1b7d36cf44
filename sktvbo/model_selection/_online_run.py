"""Hyperparameter search for optimizers with scikit-learn's tools: the samples are problems."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np

from .. import evaluation
from .._sklearn import BaseEstimator
from .._validation import check_choice, check_int, invalid
from ..evaluation import Clock, Optimizer, RunResult
from ..evaluation._arguments import check_horizon, check_problem, check_run_options, random_seeds
from ..evaluation._optimizer import SET_BY_RUN
from ..exceptions import OverconfidenceWarning
from ..problems import Problem

if TYPE_CHECKING:
    from .._typing import RandomState
    from ..evaluation._optimizer import Expert


@dataclass(eq=False, repr=False)
class OnlineRun(BaseEstimator):
    """Estimator around an optimizer: the samples are problems, the score is minus the regret.

    ``score(problems)`` runs a clone of the optimizer on each problem and returns minus the mean of
    the average regrets. `sklearn.model_selection.GridSearchCV` and similar searches then work on
    parameters such as "optimizer__alpha".

    ``fit`` only validates: nothing is learnt before a run, and the training folds are not used.
    With K folds, each candidate runs once on every problem, in the fold where it is tested.

    All problems and candidates get the same seeds. The runs on a problem start from the same
    initial design with the same noise, which makes comparisons paired.

    Parameters
    ----------
    optimizer : estimator
        An ask/tell optimizer. Its domain, random state and ``maximize=True`` come from the run.
    horizon : float, default=None
        End of the runs, at most each problem's own horizon, which is the default (None).
    clock : Clock, default=None
        Clock of the runs; None is a `~sktvbo.evaluation.StepClock`. On a
        `~sktvbo.evaluation.WallClock` parallel jobs slow each other down, and scores vary.
    n_initial : int, default=15
        Number of points of the initial design.
    n_replications : int, default=1
        Runs per problem, each with its own seed.
    average : {"query", "time"}, default="query"
        Average regret over the queries after the initial ones, or over the time.
    normalize : {None, "random"}, default=None
        "random" divides the regrets on a problem by the expected regret of uniform queries there.
        No problem then dominates the mean by its scale. A score of 0 is perfect, and -1 is that of
        random search. The divisor is one number per problem.
    random_state : int, RandomState, Generator or None, default=0
        Source of the seeds of the replications, the same as in `sktvbo.evaluation.compare`. None
        draws new seeds in each call, and comparisons are not paired.
    expert : callable, (X, t) -> (q,), or "problem", default=None
        See `sktvbo.evaluation.run`.

    Attributes
    ----------
    problem_names_ : list of str
        Names of the problems given to ``fit``.

    Notes
    -----
    `sklearn.model_selection.HalvingGridSearchCV` works with ``resource="n_replications"``:
    remaining candidates keep the earlier seeds and get more. Its default
    ``return_train_score=True`` also runs the problems of the training folds.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sktvbo import WDBO, problems
    >>> from sktvbo.model_selection import OnlineRun
    >>> some = [problems.make(name, horizon=20.0) for name in ("six-hump-camel", "eggholder")]
    >>> search = GridSearchCV(
    ...     OnlineRun(WDBO(n_initial_points=5), n_initial=5, normalize="random"),
    ...     {"optimizer__alpha": [0.25, 1.0]},
    ...     cv=2,
    ... ).fit(some)
    >>> sorted(search.best_params_)
    ['optimizer__alpha']
    """

    optimizer: Optimizer
    _: KW_ONLY
    horizon: float | None = None
    clock: Clock | None = None
    n_initial: int = 15
    n_replications: int = 1
    average: Literal["query", "time"] = "query"
    normalize: str | None = None
    random_state: RandomState = 0
    expert: Expert | None = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        tags.requires_fit = False
        return tags

    def fit(self, problems: Sequence[Problem], y: object = None) -> Self:
        """Validate the parameters and the problems, without running or learning.

        Parameters
        ----------
        problems : list of Problem
        y : None
            Ignored.

        Returns
        -------
        self : OnlineRun

        Raises
        ------
        TypeError
            Not a list of problems, or not an ask/tell optimizer.
        ValueError
            An empty list, a horizon beyond a problem's own, or an invalid parameter.
        """
        self.problem_names_ = [problem.name for problem in self._check(problems)]
        return self

    def run(self, problems: Sequence[Problem]) -> list[RunResult]:
        """Run the optimizer on the problems.

        Parameters
        ----------
        problems : list of Problem

        Returns
        -------
        list of RunResult
            All replications on the first problem, then those on the second, and so on.

        Raises
        ------
        TypeError, ValueError
            See `fit`. An error in a run has a note that names the run.
        """
        problems = self._check(problems)
        seeds = random_seeds(deepcopy(self.random_state), self.n_replications)
        results = []
        for problem in problems:
            for seed in seeds:
                try:
                    with warnings.catch_warnings():
                        # Some hyperparameters of a search do not suit the problem.
                        warnings.simplefilter("ignore", OverconfidenceWarning)
                        result = evaluation.run(
                            self.optimizer,
                            problem,
                            clock=self.clock,
                            horizon=self.horizon,
                            n_initial=self.n_initial,
                            random_state=seed,
                            expert=self.expert,
                        )
                except Exception as exc:
                    exc.add_note(
                        f"In the run on {problem.name!r} with random_state={seed} of {self!r}."
                    )
                    raise
                results.append(result)
        return results

    def score(self, problems: Sequence[Problem], y: object = None) -> float:
        """Return minus the average regret, a mean over problems and replications.

        Parameters
        ----------
        problems : list of Problem
        y : None
            Ignored.

        Returns
        -------
        float

        Raises
        ------
        TypeError, ValueError
            See `run`.
        InvalidObservationError
            A run without a query after the initial ones.
        """
        problems = self._check(problems)
        name = "average_regret" if self.average == "query" else "time_average_regret"
        regrets = np.array([getattr(result, name) for result in self.run(problems)])
        regrets = regrets.reshape(len(problems), self.n_replications)
        if self.normalize == "random":
            regrets /= [[_random_regret(problem, self.horizon)] for problem in problems]
        return -float(np.mean(regrets))

    def _check(self, problems):
        """Validate the parameters, and return the problems as a list."""
        optimizer = self.optimizer
        known = all(hasattr(optimizer, method) for method in ("ask", "tell", "get_params"))
        if (
            not known
            or isinstance(optimizer, type)
            or SET_BY_RUN - optimizer.get_params(deep=False).keys()
        ):
            raise invalid(
                "optimizer",
                "an ask/tell optimizer that is a scikit-learn estimator with the parameters "
                f"{', '.join(sorted(SET_BY_RUN))}, which a run sets",
                optimizer,
                self,
                advice="Use for example sktvbo.WDBO().",
                error=TypeError,
            )
        check_choice(self.average, ("query", "time"), "average", self)
        check_choice(self.normalize, (None, "random"), "normalize", self)
        check_int(self.n_replications, "n_replications", self)
        check_run_options(self.n_initial, self.expert, self)
        if not np.iterable(problems):
            expected, advice = "a list of problems", "Write [problem] for one."
            raise invalid("problems", expected, problems, advice=advice, error=TypeError)
        problems = list(problems)
        if not problems:
            raise invalid("problems", "a list of at least one problem", got="none")
        for problem in problems:
            check_problem(problem)
            check_horizon(self.horizon, problem, self)
        return problems


def _random_regret(problem, horizon):
    """Return the expected regret of uniform queries, from 64 points at 64 times in [0, horizon]."""
    problem = deepcopy(problem)  # so that the caller's problem does not cache these optima
    horizon = problem.horizon if horizon is None else horizon
    rng = np.random.RandomState(0)
    regrets = [
        problem.optimum(t)[1] - np.mean(problem.values(problem.domain.sample(64, rng), t))
        for t in ((np.arange(64) + 0.5) / 64 * horizon).tolist()
    ]
    regret = float(np.mean(regrets))
    if not (math.isfinite(regret) and regret > 0.0):
        raise invalid(
            f"The regret of random queries on {problem.name!r}",
            "positive with normalize='random'",
            regret,
            advice="Leave the problem out, or use normalize=None.",
        )
    return regret
