"""An acquisition function as the maximizer asks for it: in one state, checked, or as a formula."""

import numpy as np

from .._fast.posterior import Formula
from .._validation import check_real, invalid, real_array
from . import UCB, ExpectedImprovement, PosteriorMean, ProbabilityOfImprovement

# Exact types only: a subclass may compute anything.
_FORMULAS = {
    UCB: Formula.BOUND,
    PosteriorMean: Formula.BOUND,
    ProbabilityOfImprovement: Formula.PROBABILITY,
    ExpectedImprovement: Formula.IMPROVEMENT,
}


# Derivatives in a place, of functions scaled to the unit box, are differences over this distance.
_STEP = np.sqrt(np.finfo(np.float64).eps)


class Score:
    """An acquisition function in one state: a callable of mean and standard deviation.

    Parameters
    ----------
    acquisition : callable
    state : AcquisitionState

    Attributes
    ----------
    sees_places : bool
        Whether it is called, always of several places at once, with the places (m, u) in unit form
        after mean and standard deviation; ``with_slopes`` then has the derivatives (m, u) in the
        place besides.
    """

    sees_places = False

    def __init__(self, acquisition, state):
        self.acquisition = acquisition
        self.state = state

    @property
    def formula(self):
        """What compiled code computes, and its parameter; None where it is something else.

        The parameter is the width of a bound, or the value that is to be exceeded, in units of y.
        """
        acquisition = self.acquisition
        formula = _FORMULAS.get(type(acquisition))
        if formula is None or type(acquisition) is PosteriorMean:
            return formula if formula is None else (formula, 0.0)
        if formula == Formula.BOUND:
            return formula, float(np.sqrt(acquisition.beta_value(self.state)))
        xi = check_real(acquisition.xi, "xi", acquisition, interval="[0, inf)")
        return formula, self.state.incumbent + xi

    def __call__(self, mean, std):
        """Score, and its derivatives in mean and standard deviation; arrays or floats."""
        found = self.acquisition(mean, std, self.state)
        # Scores of many places are few, and come first; of single ones there are hundreds.
        if np.ndim(mean) or not _is_usable(found):
            _check(found, mean, std, self.acquisition)
        return found

    def with_slopes(self, mean, std):
        """The same at several places, of which the derivatives are wanted too; three arrays."""
        found = self.acquisition(mean, std, self.state)
        _check(found, mean, std, self.acquisition, slopes=True)
        return [np.broadcast_to(part, mean.shape) for part in found]


class ScoreInside(Score):
    """An acquisition function with a ``margin``, in one state.

    Parameters
    ----------
    acquisition : callable
    state : AcquisitionState
    inside : sktvbo.acquisition._boundary_margin.Inside
    """

    sees_places = True

    def __init__(self, acquisition, state, inside):
        super().__init__(acquisition, state)
        self.inside = inside

    def __call__(self, mean, std, U):
        """Score (m,), and its derivatives in mean and standard deviation."""
        root = self.inside.root(U)
        value, on_mean, on_std = super().__call__(mean, root * std)
        return value, on_mean, root * on_std

    def with_slopes(self, mean, std, U):
        """The same, and the derivatives (m, u) in the place."""
        root, slopes = self.inside.root_with_slopes(U)
        value, on_mean, on_std = super().with_slopes(mean, root * std)
        return value, on_mean, root * on_std, (on_std * std)[:, np.newaxis] * slopes


class ScoreOfPlaces:
    """An acquisition function that sees places, in one state.

    Parameters
    ----------
    acquisition : callable
        With ``sees_places = True``.
    state : AcquisitionState
    rows : callable, (m, u) -> (m, d + 1)
        What the acquisition function is shown of places in unit form: queries and their times.
    """

    sees_places = True

    def __init__(self, acquisition, state, rows):
        self.acquisition = acquisition
        self.state = state
        self._rows = rows

    def __call__(self, mean, std, U):
        """Score (m,), and its derivatives in mean and standard deviation."""
        found = self.acquisition(mean, std, self.state, self._rows(U))
        _check(found, mean, std, self.acquisition, slopes=True)
        return [np.broadcast_to(part, mean.shape) for part in found]

    def with_slopes(self, mean, std, U):
        """The same, and the derivatives (m, u) in the place, by differences."""
        value, on_mean, on_std = self(mean, std, U)
        on_place = np.empty(U.shape)
        for i, column in enumerate(U.T):
            step, beside = np.where(column < 0.5, _STEP, -_STEP), U.copy()
            beside[:, i] += step
            with np.errstate(invalid="ignore"):  # where both are ruled out
                on_place[:, i] = (self(mean, std, beside)[0] - value) / step
        return value, on_mean, on_std, on_place


def _check(found, mean, std, acquisition, slopes=False):
    """Refuse what an acquisition function returned, unless it is usable.

    Its derivatives matter at single places, and at several with ``slopes``, where each may also be
    one number; but not where a place is ruled out.
    """
    name = getattr(acquisition, "__name__", type(acquisition).__name__)
    subject, shape = f"What {name} returns", np.shape(mean)
    if not isinstance(found, tuple | list) or len(found) != 3:
        expected = "a tuple: the score, and its derivatives in mean and standard deviation"
        raise invalid(subject, expected, found)
    matters = ~(np.isnan(mean) | np.isnan(std))
    for i, part in enumerate(found):
        if i and ((shape and not slopes) or not matters.any()):
            break
        numbers = real_array(part, subject)
        if numbers.shape != shape and not (i and slopes and numbers.shape == ()):
            expected = f"of the shape {shape} of the mean"
            raise invalid(subject, expected, got=f"shape {numbers.shape}")
        if np.any(np.isnan(numbers) & matters):
            advice = "Return a score of -inf where there is nothing to gain."
            raise invalid(subject, "numbers", got="NaN", advice=advice)
        if i == 0:
            matters = matters & (numbers > -np.inf)


def _is_usable(found):
    """Whether a score of a single place is made of three floats, none of them NaN."""
    if type(found) is not tuple or len(found) != 3:
        return False
    value, on_mean, on_std = found
    if not (isinstance(value, float) and isinstance(on_mean, float) and isinstance(on_std, float)):
        return False
    return value == value and on_mean == on_mean and on_std == on_std
