"""A champion and its challengers: values, which a batch and a round turn into the next ones."""

import copy
from dataclasses import dataclass, field, replace

import numpy as np
from sklearn.utils import check_random_state

from ..domain import as_domain
from ..optimizers._log import Log
from ._evidence import Evidence
from ._mixture import Weights

# A loss counts as at most the champion's and this many times what champions usually have: learners
# that diverge would leave no scale for the differences between the others.
_WORST = 1.0

# Who is better is judged by losses of rows that count as at most so many usual ones: a single row
# of a learner that diverges would be all that is known.
_OUTLYING = 9.0

# A challenger that is better with at least this probability, but not yet for sure, goes on.
_PROMISING = 0.5

# What told who is better counts this much of what it did a round before.
_FADING = 0.9

# A classifier also votes by the mean of so many states: the present one, and those at the ends of
# the latest rounds.
_N_STATES = 4

# A newcomer is the best of so many settings drawn at random, by a draw of what each may gain.
_N_DRAWN = 64


@dataclass(frozen=True)
class Member:
    """A learner with a setting.

    Attributes
    ----------
    setting : dict
        Hyperparameters.
    learner : estimator or None
        None after it has failed.
    standing : bool
        It stays, be it better or not.
    earlier : tuple of estimator
        What a classifier was at the ends of the latest rounds, the latest first.
    """

    setting: dict
    learner: object
    standing: bool = False
    earlier: tuple = ()

    def remembered(self):
        """The member a round later."""
        return replace(self, earlier=(self.learner, *self.earlier)[: _N_STATES - 1])


@dataclass(frozen=True)
class Round:
    """What a round has told of its members, the champion first.

    Attributes
    ----------
    time : float
        Number of the round.
    n_rows : int
        Rows scored until its end.
    settings : tuple of dict
    losses : ndarray of shape (m,)
        Means over the rows of the round; NaN of learners that failed.
    gains, variances : ndarray of shape (m,)
        What the optimizer was told.
    probabilities : ndarray of shape (m,)
        That a member is better than the champion.
    promoted : int
        Position of the member that serves from now on; 0 is the champion.
    """

    time: float
    n_rows: int
    settings: tuple
    losses: np.ndarray
    gains: np.ndarray
    variances: np.ndarray
    probabilities: np.ndarray
    promoted: int


def paired_gains(losses, expected=None):
    """Gains (m,), and variances (m,), of losses (n, m) on the same rows, the champion's first.

    What makes a batch hard is hard for all, and cancels in differences. Without knowledge these are
    taken to the champion. When gains (m,) are expected, what the losses of a row have in common
    beyond them is taken away, so that gains of rounds with other members, and another champion, are
    on one scale. Of learners that failed losses are NaN, and so are the gains.
    """
    if expected is None:
        reference, level = losses[:, :1], 0.0
    else:
        alive = ~np.isnan(losses).any(axis=0)
        reference, level = losses[:, alive].mean(axis=1, keepdims=True), expected[alive].mean()
    differences = reference - losses
    # How hard the rows are is known from the same rows, and no better than their mean loss is.
    variances = differences.var(axis=0, ddof=1) + losses[:, 0].var(ddof=1)
    return level + differences.mean(axis=0), variances / len(losses)


@dataclass(frozen=True)
class Population:
    """What a tuner holds between two batches.

    Attributes
    ----------
    members : tuple of Member
        The champion first.
    optimizer : ask/tell optimizer
        It was told the gains of all rounds, whose numbers are its time.
    seed : int
        Of the settings that are drawn at random.
    classes : ndarray or None
        Of a classifier, as far as they are known.
    evidence : Evidence
        Of the rounds on who is better.
    weights : Weights or None
        Of the voices in what is served, member by member; None where the champion serves alone.
    pending : tuple of ndarray of shape (n, m)
        Losses since the last round, by batch.
    n_rows : int
        Scored so far.
    total_loss : float
        Of what was served, over these rows.
    rounds : Log of Round
    """

    members: tuple
    optimizer: object
    seed: int
    classes: object = None
    evidence: Evidence = field(default_factory=Evidence)
    weights: Weights | None = None
    pending: tuple = ()
    n_rows: int = 0
    total_loss: float = 0.0
    rounds: Log = field(default_factory=Log)

    @property
    def champion(self):
        return self.members[0]

    @property
    def settings(self):
        return tuple(member.setting for member in self.members)

    @property
    def n_voices(self):
        """How often a member has a weight: of classifiers as it is, and as it was lately."""
        return 1 if self.classes is None else 2

    @property
    def n_pending(self):
        """How many rows have been scored since the last round."""
        return sum(map(len, self.pending))

    def scored(self, losses, served=None, weights=None):
        """The population after losses (n, m) on new rows, NaN of learners that failed.

        With the losses (n,) of what was served, None being the champion's, and the weights after.
        """
        served = losses[:, 0] if served is None else served
        return replace(
            self,
            pending=(*self.pending, losses),
            n_rows=self.n_rows + len(losses),
            total_loss=self.total_loss + served.sum(),
            weights=self.weights if weights is None else weights,
        )

    def judged(self, confidence, *, fresh_rows=True):
        """The population at the end of a round: perhaps another champion, and who goes on.

        With ``fresh_rows=False`` rounds are scored on the same rows, and the latest one counts.
        """
        losses, time = np.concatenate(self.pending), float(len(self.rounds))
        optimizer, gains, variances = self._told(losses, time)
        evidence = self.evidence.faded(_FADING)
        if not fresh_rows:
            evidence = Evidence().joined(len(self.members) - 1)
        largest = _OUTLYING * self.total_loss / self.n_rows or np.inf
        for batch in self.pending:
            evidence = evidence.after(np.minimum(batch, largest))
        working = [member.learner is not None for member in self.members]
        better = np.where(working, evidence.over(0), 0.0)
        best = int(better.argmax())
        promoted = best if better[best] >= confidence else 0
        over = np.where(working, evidence.over(promoted), 0.0)
        promising, weights = over >= _PROMISING, self.weights
        if weights is not None and self.classes is not None:
            # Who is sure of what is wrong may have the better Brier score and more errors.
            weights = replace(weights, barred=np.repeat(over < 1.0 - confidence, self.n_voices))
        promising &= np.abs(losses - losses[:, [promoted]]).max(axis=0) > 0.0
        if fresh_rows:
            promising |= np.array([m.standing for m in self.members]) & working
        promising[promoted] = False
        stay = [promoted, *np.flatnonzero(promising).tolist()]
        members = tuple(self.members[i] for i in stay)
        if weights is not None:
            voices = np.arange(len(weights.total)).reshape(-1, self.n_voices)
            weights = weights.of(voices[stay].ravel()).faded()
            if self.n_voices > 1:
                members = tuple(member.remembered() for member in members)
        entry = Round(
            time,
            self.n_rows,
            self.settings,
            losses.mean(axis=0),
            gains,
            variances,
            better,
            promoted,
        )
        return replace(
            self,
            members=members,
            optimizer=optimizer,
            evidence=evidence.of(stay),
            weights=weights,
            pending=(),
            rounds=self.rounds.append(entry),
        )

    def _told(self, losses, time):
        """The optimizer after the losses (n, m) of a round, and the gains and variances told."""
        gains, variances = paired_gains(losses, self._expected(time))
        floor = gains[0] - _WORST * self.total_loss / self.n_rows
        gains = np.where(gains > floor, gains, floor)  # where it was NaN too
        variances = np.nan_to_num(variances)
        optimizer = copy.copy(self.optimizer)  # a step replaces its state, and changes nothing
        for setting, gain, variance in zip(self.settings, gains.tolist(), variances.tolist()):
            optimizer.tell(setting, gain, time, y_variance=variance)
        return optimizer, gains, variances

    def _expected(self, time):
        """Gains (m,) that the surrogate expects of the members; None without one."""
        surrogate = _surrogate(self.optimizer)
        if surrogate is None:
            return None
        domain = as_domain(self.optimizer.domain)
        places = domain.to_unit(domain.validate_points(list(self.settings)))
        return surrogate.predict(np.column_stack([places, np.full(len(places), time)]))

    def joined(self, n_challengers, make_learner, n_standing=0):
        """The population with new challengers, so that there are so many.

        When the optimizer has a surrogate, each gets the best of settings drawn at random, by a
        draw of what they may gain; else what the optimizer asks for. Of the first challengers so
        many stand.
        """
        missing, time = n_challengers + 1 - len(self.members), float(len(self.rounds))
        optimizer = copy.copy(self.optimizer)
        surrogate = _surrogate(optimizer)
        if surrogate is not None:
            settings = self._drawn(missing, surrogate, time)
        else:
            settings = optimizer.ask(time, n_points=missing) if missing else []
        newcomers = tuple(
            Member(setting, make_learner(setting), i < n_standing, self.champion.earlier)
            for i, setting in enumerate(settings)
        )
        n = len(newcomers)
        return replace(
            self,
            members=self.members + newcomers,
            optimizer=optimizer,
            evidence=self.evidence.joined(n),
            weights=None if self.weights is None else self.weights.joined(n * self.n_voices),
        )

    def _drawn(self, n, surrogate, time):
        """So many settings, none of which a member has if there are others."""
        rng = check_random_state((self.seed + len(self.rounds)) % 2**32)
        domain = as_domain(self.optimizer.domain)
        places = domain.sample(_N_DRAWN, rng)
        rows = np.column_stack([domain.to_unit(places), np.full(_N_DRAWN, time)])
        mean, std = surrogate.predict(rows, return_std=True)
        order = np.argsort(-(mean + std * rng.normal(size=_N_DRAWN)))
        drawn = domain.decode_all(places[order])
        new = [setting for i, setting in enumerate(drawn) if setting not in drawn[:i]]
        new.sort(key=lambda setting: setting in self.settings)
        return (new + drawn)[:n]


def _surrogate(optimizer):
    """The optimizer's surrogate; None of one without, or that has not begun."""
    return getattr(optimizer, "surrogate_", None)
