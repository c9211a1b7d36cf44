"""A learner on a stream that tunes itself."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.exceptions import FitFailedWarning
from sklearn.gaussian_process.kernels import Matern
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from .._checks import check_choice, check_int, check_real, invalid
from ..acquisition import UCB, DimensionBeta
from ..domain import ParameterSpace
from ..evaluation._arguments import check_optimizer
from ..gaussian_process import TimeVaryingGPRegressor
from ..optimizers import BayesianOptimizer
from ..staleness import SlidingWindow
from ._batches import as_rows, cut
from ._delegate import Delegate
from ._losses import find_loss, losses_of
from ._mixture import Answers, Lately, Together, Weights
from ._population import Member, Population

if TYPE_CHECKING:
    from typing import Any, Self

    from numpy.typing import ArrayLike, NDArray

    from .._typing import Array


def default_optimizer(n_members):
    """The optimizer for populations of so many, whose time counts rounds.

    It takes it for granted that the best setting moves: it knows the gains of the latest twenty
    rounds, and believes in nothing that stays for more than thirty. Without these bounds a
    population that has gathered at one place is sure of it for ever. A setting may well be best at
    an end of its range, from which a margin would keep it.
    """
    surrogate = TimeVaryingGPRegressor(
        Matern(0.5, (0.1, 2.0), nu=2.5),
        Matern(15.0, (5.0, 30.0), nu=1.5),
        signal_variance_bounds=(0.05, 20.0),
        noise_variance=0.05,
        noise_variance_bounds=(0.01, 1.0),
        normalize_y=True,
    )
    return BayesianOptimizer(
        surrogate=surrogate,
        acquisition=UCB(DimensionBeta(0.05)),
        policy=SlidingWindow(20 * n_members),
        n_initial_points=2 * n_members,
        refit_every=n_members,
    )


@dataclass(eq=False, repr=False)
class OnlineTuner(Delegate):
    """A learner on a stream whose hyperparameters follow the stream.

    Each batch is predicted, then scored, then learnt ("prequential"). A champion and some
    challengers with other settings learn side by side, and serve together: what is predicted is an
    average, whose weights go to those that would have lowered its loss. So a challenger that
    explores has no weight until it is useful. Classifiers have two votes each: as they are, and as
    they were, on average, after the latest four rounds. At the end of a round

    1. a challenger that has been better on the same rows becomes the champion, when that is as
       probable as ``confidence``;
    2. the optimizer is told the gain of each member, that is by how much its loss was lower than
       usual for the batch, with the variance of that mean;
    3. of the challengers that explore, those that are less probably better than not make room for
       copies of the champion with new settings, drawn by Thompson sampling.

    Some challengers stand: they keep the settings, drawn at random, with which they began. Where
    the stream turns, one that was no use for long may be the one that is needed.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor with ``partial_fit``, with the setting to begin with. `Windowed`
        gives one to any other, `WarmStarted` one that heeds every new hyperparameter.
    space : dict or ParameterSpace
        What to tune: names that ``estimator.set_params`` takes, see
        `~sktvbo.domain.ParameterSpace`. The estimator's own setting must be in it.
    optimizer : ask/tell optimizer, default=None
        Its domain, random state and ``maximize=True`` come from the tuner, its time is the number
        of the round, and ``tell`` is given a ``y_variance``. None is a
        `~sktvbo.optimizers.BayesianOptimizer` that knows the gains of the latest twenty rounds, and
        takes it for granted that they change within thirty.
    n_challengers : int, default=11
        Each costs what the champion costs. With 4 the loss is about two percent higher.
    loss : {"auto", "zero_one", "log_loss", "squared_error", "absolute_error"} or callable, \
default="auto"
        What is to be low. "auto" is "zero_one" for classifiers and "squared_error" for regressors.
        A callable ``(y, prediction)`` returns a loss of the range [0, inf) for each row.
    confidence : float, default=0.9
        Probability from which a challenger that is better replaces the champion.
    round_size : int, default=50
        A round ends with the batch that gives it so many rows, at least 2. Batches may have single
        rows.
    warm_start : bool, default=True
        New challengers begin as copies of the champion, with its weights, or else as new learners.
    serve : {"mixture", "champion"}, default="mixture"
        Who answers: all members together, which asks each of them, or the champion alone. Without
        fresh rows (``validation``), and where classes have several columns, it is the champion.
    n_standing : int, default=None
        Challengers that stand, with ``validation`` none. None is three in four.
    batch_size : int, default=100
        ``fit`` takes its rows, in their order, for a stream of such batches.
    n_jobs : int, default=None
        Members that predict and learn at a time, as in joblib.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    learner_ : estimator
        The champion.
    best_params_ : dict
        Its setting.
    weights_ : ndarray of shape (n_members,)
        Of the champion and the challengers in what is predicted.
    challengers_ : list of dict
        Settings of those beside it.
    optimizer_ : ask/tell optimizer
    prequential_loss_ : float
        Mean loss of what was served, over all rows that were scored.
    history_ : dict of str to ndarray of shape (n_rounds,)
        By round: "time", its number; "n_rows" scored until its end; the champion's "loss";
        whether a challenger was "promoted"; ``param_...`` of the champion.
    trials_ : dict of str to ndarray of shape (n_trials,)
        The same of each member in each round, the champion first, and besides: whether it is the
        "champion"; "gain" and "variance", as told; the "probability" that it is better than the
        champion.
    classes_ : ndarray of shape (n_classes,)
        Of a classifier.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (p,)
        When X has names.

    See Also
    --------
    Windowed : A ``partial_fit`` for any learner.
    WarmStarted : A ``partial_fit`` for learners with ``warm_start``.
    sktvbo.plotting.TuningDisplay : The history in a picture.

    Notes
    -----
    With d the differences of the losses of a challenger and the champion on the rows that both
    have predicted, the probability is Φ(Σd / √(r Σd²)), where what was seen a round earlier counts
    0.9 of it, and no loss more than nine usual ones. Rows of a batch may err together, as all sites
    do on a day: r, at least 1, is how many of them tell as much as one. It is learnt from how much
    more the means of d differ between batches than they would if rows were independent. Between
    equal learners the probability of many rows is above ``confidence`` in a part 1 − ``confidence``
    of all rounds; of few it is cautious. A champion that was promoted by luck is replaced in the
    same way. Each member is compared with each, so that challengers, and a champion that was
    replaced, are known beside a new champion.

    Gains are told on one scale: from the losses of a round is taken away what they have in common
    beyond what the optimizer expects of these settings. So it does not matter that some batches
    are hard, nor who is the champion.

    What is predicted is Σ wᵢ pᵢ: of classifiers pᵢ are probabilities, or votes of those that know
    none, and the class is the most probable; ``decision_function`` is the logarithm of the odds.
    With g = −∇ℓ · (pᵢ − p), the gain of a batch to first order, in Brier's score or the loss of
    regressors (the difference of losses where that is not squared), wᵢ is proportional to
    Σg / (Σg² + v) where Σg > 0: polynomially weighted averages (Gaillard et al. 2014), which are as
    good as the best fixed average in the long run. What was seen a round earlier counts 0.95, and
    v is a typical g². Of regressors, what is more than three typical errors from the weighted
    median does not count: a learner may diverge within a batch. Classifiers that err more than the
    champion, as probably as ``confidence``, are barred: probabilities near 0 and 1 may have the
    better score, and be wrong. But an average may need who is worse alone. So the weights are those
    with the barred, times the probability that these weights have lost less than those without.

    A classifier costs four predictions, of its states after the latest rounds. Their mean errs less
    than each of them; where the stream has turned it has no weight.

    A learner whose weights are dear is trained as a population (PB2, Parker-Holder et al. 2020):
    one call of ``partial_fit`` an epoch, with ``validation``. The best weights are copied, and the
    optimizer finds the settings that get on best from there.

    References
    ----------
    J. Parker-Holder, V. Nguyen, S. Roberts, "Provably efficient online hyperparameter optimization
    with population-based bandits", NeurIPS 2020.

    P. Gaillard, G. Stoltz, T. van Erven, "A second-order bound with excess losses", COLT 2014.

    B. Efron, "Student's t-test under symmetry conditions", JASA 1969.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDRegressor
    >>> from sktvbo.model_selection import OnlineTuner
    >>> tuner = OnlineTuner(
    ...     SGDRegressor(learning_rate="constant", eta0=0.001),
    ...     {"eta0": ("log-real", 1e-4, 0.3)},
    ...     random_state=0,
    ... )
    >>> rng = np.random.RandomState(0)
    >>> for t in range(40):
    ...     X = rng.normal(size=(50, 2))
    ...     y = np.cos(0.1 * t) * X[:, 0] + np.sin(0.1 * t) * X[:, 1]      # it turns
    ...     tuner = tuner.partial_fit(X, y)
    >>> tuner.best_params_["eta0"] > 0.01
    True
    """

    estimator: BaseEstimator
    space: object
    _: KW_ONLY
    optimizer: BaseEstimator | None = None
    n_challengers: int = 11
    loss: str | Callable = "auto"
    confidence: float = 0.9
    round_size: int = 50
    warm_start: bool = True
    serve: str = "mixture"
    n_standing: int | None = None
    batch_size: int = 100
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    # --- learning ---------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Begin anew, and take these rows, in their order, for a stream of batches.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self : OnlineTuner

        Raises
        ------
        TypeError, ValueError
            See `partial_fit`. What was learnt before stays.
        """
        new = copy.copy(self)
        vars(new).pop("_population", None)
        validate_data(new, X, y, skip_check_array=True)
        check_int(self.batch_size, "batch_size", self)
        X, y = as_rows(X), as_rows(y)
        check_consistent_length(X, y)
        classes = np.unique(y) if is_classifier(self.estimator) else None
        for start in range(0, max(len(y), 1), self.batch_size):
            batch = slice(start, start + self.batch_size)
            new.partial_fit(cut(X, batch), cut(y, batch), classes)
        self.__dict__ = new.__dict__
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        *,
        validation: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Predict a batch, score it, learn it.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,)
        classes : array-like of shape (n_classes,), default=None
            All classes that there will be, in the first call for a classifier; None are those of
            the first batch.
        validation : (X, y) pair of array-likes, default=None
            Rows to score on in place of the batch: for learners that see the same rows in each
            epoch. A call is then a round.

        Returns
        -------
        self : OnlineTuner

        Raises
        ------
        TypeError
            A learner without ``partial_fit``, or something that is no optimizer.
        ValueError
            Parameters or data that make no sense, or what the champion says of them. The tuner is
            as before. Of a challenger that fails there is a `FitFailedWarning`: it is replaced, and
            the optimizer told that its setting is bad.
        """
        self._check_parameters()
        new, begun = copy.copy(self), self.__sklearn_is_fitted__()
        validate_data(new, X, y, reset=not begun, skip_check_array=True)
        X, y = as_rows(X), as_rows(y)
        check_consistent_length(X, y)
        if begun:
            scored_on = (X, y) if validation is None else validation
            population = self._after_scoring(*scored_on, fresh_rows=validation is None)
        else:
            population = self._first_population(y, classes)
        population = self._after_learning(population, X, y)
        if not begun and self.serve == "mixture" and may_be_averaged(self.estimator, y):
            weights = Weights.before(y, classifier=is_classifier(self.estimator))
            n_voices = population.n_voices * len(population.members)
            population = replace(population, weights=weights.joined(n_voices - 1))
        new._population = population
        self.__dict__ = new.__dict__
        return self

    def _check_parameters(self):
        if not hasattr(self.estimator, "partial_fit"):
            raise invalid(
                "estimator",
                "a learner with partial_fit",
                self.estimator,
                self,
                advice="Use Windowed(estimator), which is fitted anew to the latest rows.",
                error=TypeError,
            )
        if self.optimizer is not None:
            check_optimizer(self.optimizer, "optimizer", self)
        check_int(self.n_challengers, "n_challengers", self)
        check_int(self.round_size, "round_size", self, low=2)
        check_real(self.confidence, "confidence", self, interval="(0.5, 1)")
        check_choice(self.serve, ("mixture", "champion"), "serve", self)
        if self.n_standing is not None:
            check_int(self.n_standing, "n_standing", self, low=0, high=self.n_challengers)
        find_loss(self.loss, self.estimator, self)

    def _first_population(self, y, classes):
        """Champion and challengers that have learnt nothing."""
        space = self.space if isinstance(self.space, ParameterSpace) else ParameterSpace(self.space)
        learner, parameters = clone(self.estimator), self.estimator.get_params()
        unknown = [name for name in space.names if name not in parameters]
        if unknown:
            expected = f"made of parameters of {type(learner).__name__}"
            raise invalid("space", expected, self.space, self, got=", ".join(map(repr, unknown)))
        setting = {name: parameters[name] for name in space.names}
        try:
            space.validate_point(setting)
        except ValueError as exc:
            exc.add_note("It is the setting of the estimator, with which the champion begins.")
            raise
        rng = copy.deepcopy(check_random_state(self.random_state))
        seeds = rng.randint(np.iinfo(np.int32).max, size=2)
        optimizer = self.optimizer
        if optimizer is None:
            optimizer = default_optimizer(self.n_challengers + 1)
        optimizer = clone(optimizer).set_params(
            domain=space, maximize=True, random_state=int(seeds[0])
        )
        if classes is None and is_classifier(self.estimator):
            classes = np.unique(y)
        population = Population((Member(setting, learner),), optimizer, int(seeds[1]), classes)
        return population.joined(self.n_challengers, self._new_learner, self._n_standing)

    @property
    def _n_standing(self):
        return 3 * self.n_challengers // 4 if self.n_standing is None else self.n_standing

    def _new_learner(self, setting):
        return clone(self.estimator).set_params(**setting)

    def _after_scoring(self, X, y, *, fresh_rows):
        """The population after a batch was scored, and a round perhaps ended."""
        population = self._population
        loss = find_loss(self.loss, self.estimator, self)
        X, y = as_rows(X), as_rows(y)

        def told(member):
            answers = [Answers(learner, X) for learner in (member.learner, *member.earlier)]
            voices = [answers[0], Lately(answers)][: population.n_voices]
            return voices, losses_of(loss, answers[0], X, y)

        found = self._with_each(population, "predict", told)
        nothing = [None] * population.n_voices, np.full(len(y), np.nan)
        each, columns = zip(*(nothing if pair is None else pair for pair in found))
        voices = [voice for of_member in each for voice in of_member]
        losses, served, weights = np.column_stack(columns), None, None
        if population.weights is not None and fresh_rows:
            together = Together(voices, population.weights)
            served, gains = losses_of(loss, together, X, y), None
            if callable(self.loss) or self.loss == "absolute_error":
                working = [voices[0] if voice is None else voice for voice in voices]
                alone = [losses_of(loss, voice, X, y) for voice in working]
                gains = served[:, np.newaxis] - np.column_stack(alone)
            weights = together.learnt(X, y, gains)
            if weights.barred.any():
                without, including = (
                    losses_of(loss, Together(voices, population.weights.trusting(barred)), X, y)
                    for barred in (False, True)
                )
                weights = weights.compared(without - including)
        population = population.scored(losses, served, weights)
        if population.n_pending < (self.round_size if fresh_rows else 2):
            return population
        population = population.judged(self.confidence, fresh_rows=fresh_rows)

        def copied(setting):
            return copy.deepcopy(population.champion.learner).set_params(**setting)

        make = copied if self.warm_start else self._new_learner
        return population.joined(self.n_challengers, make)

    def _after_learning(self, population, X, y):
        """The population with copies of its learners that have learnt a batch."""
        options, takes = {}, inspect.signature(population.champion.learner.partial_fit).parameters
        if population.classes is not None and "classes" in takes:
            options["classes"] = population.classes

        def learnt(member):
            return copy.deepcopy(member.learner).partial_fit(X, y, **options)

        found = self._with_each(population, "learn", learnt)
        members = (
            replace(member, learner=learner) for member, learner in zip(population.members, found)
        )
        return replace(population, members=tuple(members))

    def _with_each(self, population, verb, action):
        """What an action makes of each member; None of challengers that fail."""
        found = Parallel(self.n_jobs, prefer="threads")(
            delayed(_attempt)(action, member) for member in population.members
        )
        if found[0][1] is not None:
            raise found[0][1]
        for member, (_, error) in zip(population.members[1:], found[1:]):
            if error is not None:
                warnings.warn(
                    f"A challenger could not {verb}, and is replaced: {member.setting}. "
                    f"{type(error).__name__}: {error}",
                    FitFailedWarning,
                    stacklevel=4,
                )
        return [result for result, _ in found]

    # --- what was learnt --------------------------------------------------------------------------

    def __sklearn_is_fitted__(self):
        return "_population" in vars(self)

    @property
    def learner_(self) -> BaseEstimator:
        return self._begun().champion.learner

    def _answering(self):
        population = self._begun()
        if population.weights is None or population.weights.shares[0] == 1.0:
            return population.champion.learner
        voices, shares = [], population.weights.shares.reshape(len(population.members), -1)
        for member, share in zip(population.members, shares[:, -1]):
            serves = share and member.learner is not None
            lately = (member.learner, *member.earlier) if serves else None
            voices += [member.learner, lately][: population.n_voices]
        return Together(voices, population.weights)

    @property
    def best_params_(self) -> dict[str, Any]:
        return dict(self._begun().champion.setting)

    @property
    def challengers_(self) -> list[dict[str, Any]]:
        return [dict(setting) for setting in self._begun().settings[1:]]

    @property
    def weights_(self) -> Array:
        population = self._begun()
        if population.weights is None:
            return np.eye(len(population.members))[0]
        return population.weights.shares.reshape(len(population.members), -1).sum(axis=1)

    @property
    def optimizer_(self) -> BaseEstimator:
        return self._begun().optimizer

    @property
    def prequential_loss_(self) -> float:
        population = self._begun()
        return population.total_loss / population.n_rows if population.n_rows else np.nan

    @property
    def trials_(self) -> list[dict[str, Any]]:
        rounds = self._begun().rounds
        trials = [(entry, i) for entry in rounds for i in range(len(entry.settings))]
        columns = {
            "time": [entry.time for entry, _ in trials],
            "n_rows": [entry.n_rows for entry, _ in trials],
            "champion": [i == 0 for _, i in trials],
            "loss": [entry.losses[i] for entry, i in trials],
            "gain": [entry.gains[i] for entry, i in trials],
            "variance": [entry.variances[i] for entry, i in trials],
            "probability": [entry.probabilities[i] for entry, i in trials],
            "promoted": [i == entry.promoted != 0 for entry, i in trials],
        }
        for name in self._begun().champion.setting:
            columns[f"param_{name}"] = [entry.settings[i][name] for entry, i in trials]
        return {name: _column(values) for name, values in columns.items()}

    @property
    def history_(self) -> dict[str, NDArray[Any]]:
        trials = self.trials_
        first = trials["champion"].astype(bool)
        history = {name: trials[name][first] for name in ("time", "n_rows", "loss")}
        history["promoted"] = np.array([entry.promoted > 0 for entry in self._begun().rounds])
        parameters = [name for name in trials if name.startswith("param_")]
        return history | {name: trials[name][first] for name in parameters}

    def _begun(self):
        check_is_fitted(self)
        return self._population


def may_be_averaged(estimator, y):
    """Whether what such learners predict has an average."""
    return is_regressor(estimator) or (is_classifier(estimator) and np.ndim(y) == 1)


def _column(values):
    """An array (n,) of numbers, or of whatever there is."""
    if all(isinstance(value, Real) for value in values):
        return np.array(values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _attempt(action, member):
    """What an action makes of a member, or else the error; without a learner nothing."""
    if member.learner is None:
        return None, None
    try:
        return action(member), None
    except Exception as error:
        return None, error
