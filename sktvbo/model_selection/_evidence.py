"""Which of a few learners is better: paired differences of their losses on the same rows."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import ndtr

# How much the rows of a batch err together is known from so many pairs of batches, the latest; to
# begin with, as from one pair, that they do not.
_N_PAIRS = 50

# Squares of larger losses would overflow.
_LARGEST = 1e140


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the losses of members tell, each compared with each; the champion is the first.

    Attributes
    ----------
    total, squares : ndarray of shape (m, m)
        Sums over rows of the differences d, the losses of member i less those of j, and of d².
    mean, variance : ndarray of shape (m,)
        Of the latest batch: the mean of the champion's losses less a member's, and the variance
        which that mean has if rows are independent. NaN where there was none.
    ratios : tuple of float
        Of pairs of batches, one after the other: the square by which a mean has changed, over the
        variance of the change if rows are independent.
    """

    total: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    squares: np.ndarray = field(default_factory=lambda: np.zeros((1, 1)))
    mean: np.ndarray = field(default_factory=lambda: np.full(1, np.nan))
    variance: np.ndarray = field(default_factory=lambda: np.full(1, np.nan))
    ratios: tuple = ()

    def after(self, losses):
        """With the losses (n, m) of one more batch; NaN of learners that failed."""
        losses = np.minimum(losses, _LARGEST)
        pairs = losses[:, :, np.newaxis] - losses[:, np.newaxis, :]
        gains = losses[:, :1] - losses
        mean, variance = gains.mean(axis=0), np.full(losses.shape[1], np.nan)
        if len(losses) > 1:
            variance = gains.var(axis=0, ddof=1) / len(losses)
        change, expected = (mean - self.mean) ** 2, variance + self.variance
        seen = expected > 0.0  # neither NaN nor learners that do the same
        return Evidence(
            self.total + pairs.sum(axis=0),
            self.squares + (pairs * pairs).sum(axis=0),
            mean,
            variance,
            (*self.ratios, *(change[seen] / expected[seen]).tolist())[-_N_PAIRS:],
        )

    @property
    def redundancy(self):
        """How many rows of a batch tell as much as a single one that is independent, at least 1."""
        return max((1.0 + sum(self.ratios)) / (1.0 + len(self.ratios)), 1.0)

    def over(self, i):
        """How probable it is that each member (m,) is better than member i: Φ(Σd / √(r Σd²)).

        r is the redundancy. Where a member is no better, and d symmetric and independent, a
        self-normalized sum exceeds z with a probability of at most exp(−z²/2), however few the
        rows (Efron 1969); of many rows it is normal. Between equals it is 1/2, and for a member
        that has failed 0.
        """
        spread = np.sqrt(self.redundancy * self.squares[i])
        z = np.divide(self.total[i], spread, out=np.zeros(len(spread)), where=spread != 0.0)
        return np.nan_to_num(ndtr(z))

    def of(self, members):
        """The evidence on some of the members, the first of which is the champion from now on."""
        pairs = np.ix_(members, members)
        kept = replace(self, total=self.total[pairs], squares=self.squares[pairs])
        if members[0] == 0:
            return replace(kept, mean=self.mean[members], variance=self.variance[members])
        nothing = np.full(len(members), np.nan)
        return replace(kept, mean=nothing, variance=nothing)

    def joined(self, n):
        """With n more members, of whom nothing is known."""
        more = ((0, n), (0, n))
        return replace(
            self,
            total=np.pad(self.total, more),
            squares=np.pad(self.squares, more),
            mean=np.pad(self.mean, (0, n), constant_values=np.nan),
            variance=np.pad(self.variance, (0, n), constant_values=np.nan),
        )

    def faded(self, share):
        """With sums that count a share of what they did."""
        return replace(self, total=share * self.total, squares=share * self.squares)
