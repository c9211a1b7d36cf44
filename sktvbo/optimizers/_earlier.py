"""Earlier runs as a prior of a new run, whose data may contradict it.

An `EarlierRun` summarizes one run, in the unit form of the new run's domain and in units of y. A
`Prior` contains one for each run. It gives each model

- the start of the search of its hyperparameters, and their priors (`sktvbo.gaussian_process`);
- location and scale of y, unless y contradicts them;
- the static part of y, with the weight of a few observations;

and it gives the run its first query, and the categories and members that may be the best.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from .._validation import invalid
from .._values import replaced
from .._warnings import warn_caller
from ..domain import as_domain
from ..domain._change import Change, UnfitDomainError
from ..domain._constrained import Constrained
from ..exceptions import DomainError, ModelWarning
from ..gaussian_process._data import Moments
from ..gaussian_process._exact_posterior import Dense
from ..gaussian_process._fitted import FittedGP
from ..gaussian_process._learnt_priors import (
    LEAST_SPREAD,
    LearntMean,
    LogMixture,
    pooled,
    uncertainties,
)
from ..gaussian_process._static_part import StaticPart, information_of
from ..journal._encoding import decode, encode
from ..journal._read import opened
from ._ask_tell import AskTell
from ._durable import read_json, read_optimizer
from ._models import models_of
from ._outcomes import OBJECTIVE
from ._serialization import state_errors

if TYPE_CHECKING:
    from .._typing import Array, Mask
    from ..domain._base import Domain

# A run with fewer observations is left out.
_MIN_TOLD = 30

# Number of the latest rows of a run that are read.
_N_ROWS = 500

# The typical setting is one of the observations after the first of these numbers, or in the later
# half of a shorter run. About the second number of them are compared.
_N_EARLY, _N_COMPARED = 48, 200

# A value that has a smaller share of these in each run is no contender.
_LEAST_SHARE = 0.05

# A run has the weight of this many observations on the static part of others.
_N_STATIC = 3.0

# Typical settings of single runs are queried as well if a discrete parameter differs by more than
# this part of its range. At most the second number of settings are queried.
_SAME, _MOST_POINTS = 0.25, 5

# y contradicts the location of earlier runs if its mean is farther away than the first number of
# their scales. From the third number of values on, y contradicts their scale if the ratio of its
# deviation to this scale is outside of the second numbers.
_FARTHEST, _VARIES, _N_VARYING = 5.0, (0.1, 10.0), 5


@dataclass(frozen=True, eq=False)
class LearntModel:
    """Hyperparameters, scale and static part of one model of a run: of y, or of an outcome.

    Attributes
    ----------
    names : tuple of str
        Names of the hyperparameters, as in ``hyperpriors``, one for each entry of ``logs``.
    logs : ndarray of shape (n_theta,)
        Their logarithms: variances in units of y², lengthscales in sides of the unit box.
    variances : ndarray of shape (n_theta,)
        Variances of these logarithms, given the data of the run.
    location, scale : float
        Of y, with its sign for maximization.
    static : StaticPart or None
        Information of its observations about the static part.
    """

    names: tuple
    logs: np.ndarray
    variances: np.ndarray
    location: float
    scale: float
    static: StaticPart | None = None


@dataclass(frozen=True, eq=False)
class EarlierRun:
    """Summary of one run.

    Attributes
    ----------
    n_told : int
    setting : ndarray of shape (d,)
        The typical setting, a row of the domain.
    contenders : tuple of (ndarray or None)
        Values of each coordinate of a row that were queried often, None for a real.
    models : dict of str to LearntModel
        By the name of the outcome, or "objective".
    """

    n_told: int
    setting: np.ndarray
    contenders: tuple
    models: dict


@dataclass(frozen=True, eq=False)
class ModelPrior:
    """Prior of one model of a new run.

    Attributes
    ----------
    names : tuple of str
    logs, variances : ndarray of shape (n_runs, n_theta)
    location, scale : float
    static : StaticPart or None
    """

    names: tuple
    logs: np.ndarray
    variances: np.ndarray
    location: float
    scale: float
    static: StaticPart | None

    @classmethod
    def of(cls, models):
        """Return the prior from some `LearntModel`, without those of rarer kernels in time."""
        names = Counter(model.names for model in models).most_common(1)[0][0]
        same = [model for model in models if model.names == names]
        known = [model.static for model in models if model.static is not None]
        location = float(np.median([model.location for model in models]))
        scale = float(np.exp(np.median(np.log([model.scale for model in models]))))
        static = static_of_another(known, scale) if known else None
        known = (np.array([getattr(each, name) for each in same]) for name in ("logs", "variances"))
        return cls(names, *known, location, scale, static)

    @cached_property
    def pooled(self):
        """Medians and deviations of the logarithms by name, a dict of (k,) and (k,)."""
        medians, spreads = pooled(self.logs, self.variances)
        where = {name: [i for i, n in enumerate(self.names) if n == name] for name in self.names}
        return {name: (medians[i], spreads[i]) for name, i in where.items()}

    def suits(self, y):
        """Return True if the location and scale of the earlier runs suit values of y."""
        if not len(y):
            return False
        n, mean, std = Moments.of(y)
        low, high = _VARIES
        varies = n < _N_VARYING or low * self.scale < std < high * self.scale
        return varies and abs(mean - self.location) < _FARTHEST * self.scale

    def scaled(self, surrogate, y):
        """Return an unfitted regressor with this location and scale, unless y contradicts them.

        Parameters
        ----------
        surrogate : TimeVaryingGP
        y : ndarray of shape (n,)
            Values that it is fitted to.
        """
        if self.suits(y):
            known = {"location": self.location, "scale": self.scale, "standardize": False}
            surrogate._known_of_rows = known
        return surrogate

    def informed(self, surrogate, y):
        """Return an unfitted regressor that starts where earlier runs ended, with priors from them.

        Parameters are those of `scaled`.
        """
        priors, changes = dict(surrogate.hyperpriors or {}), {}
        scale = surrogate._known_of_rows.get("scale")
        scale = scale or (Moments.of(y).std if len(y) else 0.0) or 1.0
        if surrogate.prior_mean is not None:
            changes["prior_mean"] = self._informed_mean(surrogate.prior_mean, scale)
        for name in ("signal_variance", "noise_variance"):
            bounds = getattr(surrogate, f"{name}_bounds")
            if name in self.pooled and not isinstance(bounds, str):
                log, spread = self.pooled[name]
                median = np.exp(log) / scale**2
                changes[name] = float(np.clip(median, *bounds)[0])
                priors[name] = LogMixture.of(median, spread, priors.get(name), [bounds])
        for part in ("spatial_kernel", "temporal_kernel", "level_kernel"):
            kernel = getattr(surrogate, part)
            if kernel is not None:
                changes[part] = self._informed_kernel(kernel, part, priors)
        return surrogate.set_params(hyperpriors=priors, **changes)

    def _informed_mean(self, mean, scale):
        """Return the prior mean from earlier runs, or the given one if they have none."""
        static = self.static
        if mean is None or static is None or not mean.spread:
            return mean
        deviation = StaticPart.empty(static.columns, mean.spread).deviation
        known = mean.get_params() | {"columns": static.columns.tolist()}
        return LearntMean(**known, static=replaced(static, deviation=deviation), scale=scale)

    def _informed_kernel(self, kernel, part, priors):
        """Return a kernel that starts where earlier runs ended, and add its priors to a dict."""
        free = [h for h in kernel.hyperparameters if not h.fixed]
        names = [f"{part}__{h.name}" for h in free]
        if part != "spatial_kernel":
            own = tuple(n for h, n in zip(free, names) for _ in range(h.n_elements))
            if own != tuple(n for n in self.names if n.startswith(part)):
                return kernel
        kernel, values = kernel.clone_with_theta(kernel.theta), []
        for h, name in zip(free, names):
            log, spread = self.pooled.get(name, (np.empty(0), None))
            if len(log) != h.n_elements:
                return kernel
            bounds = np.array(h.bounds)
            if part != "spatial_kernel" and h.name.endswith("length_scale"):
                # The data of a new run are still shorter than those of earlier runs.
                bounds[:, 1] = np.maximum(bounds[:, 1], np.exp(log + 2.0 * LEAST_SPREAD))
                kernel.set_params(**{f"{h.name}_bounds": tuple(bounds[0])})
            priors[name] = LogMixture.of(np.exp(log), spread, priors.get(name), bounds)
            values.append(np.clip(log, *np.log(bounds).T))
        return kernel.clone_with_theta(np.concatenate(values)) if values else kernel


def static_of_another(parts, scale):
    """Return the information of the static parts of some runs about that of another run.

    With C the covariance of their mean w, in which each run counts as `_N_STATIC` observations, and
    S the variances between the runs, the coefficients of another run are N(w, C + S).

    Parameters
    ----------
    parts : list of StaticPart
    scale : float
        Of y.
    """
    first, *others = parts
    total = first
    for other in others:
        total = total.plus(other.information, other.shift)
    n_known = scale**2 * np.trace(total.information) / len(total.shift)
    total = total.faded(min(_N_STATIC * len(parts) / max(n_known, 1e-300), 1.0))
    if not others:
        return total
    # Hardly any prior information, for coefficients without data in any run.
    least = 1e-3 / scale**2 * np.eye(len(total.shift))
    known = [np.linalg.solve(each.information + least, each.shift) for each in parts]
    covariance = np.linalg.inv(total.information + least) + np.diag(np.var(known, axis=0, ddof=1))
    information = np.linalg.inv(covariance)
    w = np.linalg.solve(total.information + least, total.shift)
    return replaced(total, information=information, shift=information @ w)


@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """Prior from earlier runs: ``prior_`` of an optimizer, and a value for ``earlier``.

    Its repr shows the typical setting, and for y and each limited outcome the location, the scale,
    and the median of each hyperparameter with the factor of its spread. Variances are in units of
    y², lengthscales of reals in the user's units, others in sides of the unit box.

    Attributes
    ----------
    domain : Domain
        Of the run that it was made for, without constraints.
    maximize : bool
    time_unit : str
    runs : tuple of EarlierRun
        A summary of each run.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> monday = WDBO([(0.0, 10.0)], random_state=0)
    >>> for t in range(40):
    ...     x = monday.ask(t)
    ...     monday.tell(x, -((x[0] - 7.0) ** 2))
    >>> tuesday = WDBO([(0.0, 10.0)], earlier=[monday], random_state=1)
    >>> bool(abs(tuesday.ask(0.0)[0] - 7.0) < 0.5)
    True
    >>> print(repr(tuesday.prior_).splitlines()[0])
    Prior of 1 earlier run with 40 observations
    """

    domain: object
    maximize: bool
    time_unit: str
    runs: tuple

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "models"}

    @cached_property
    def models(self) -> dict[str, ModelPrior]:
        """Prior of the model of the objective, and of each outcome, by name."""
        known = {}
        for run in self.runs:
            for name, model in run.models.items():
                known.setdefault(name, []).append(model)
        return {name: ModelPrior.of(models) for name, models in known.items()}

    # --- the domain -------------------------------------------------------------------------------

    def start_points(self, domain: Domain) -> Array:
        """Return the settings to query first: the typical one of all runs.

        Those of single runs follow if they have another member or category, or a far integer.

        Parameters
        ----------
        domain : Domain
            That of the prior, perhaps with constraints.

        Returns
        -------
        ndarray of shape (k, d)
            NaN for contexts.
        """
        points = np.array([run.setting for run in self.runs])
        k = domain.n_chosen
        points = np.column_stack([points, np.full((len(points), domain.n_dims - k), np.nan)])
        points = points[domain.queryable(points)]
        if not len(points):
            return points
        points = points[_by_centrality(domain, points)]
        discrete = ~np.isin(domain.kinds, _NUMBERS) & (np.arange(domain.n_dims) < k)
        places = domain.unit_of(points)[:, domain.unit_mask(discrete)]
        chosen = [0]
        for i, place in enumerate(places):
            gaps = np.abs(place - places[chosen]).max(axis=1, initial=0.0)
            if gaps.min() > _SAME and len(chosen) < _MOST_POINTS:
                chosen.append(i)
        return points[chosen]

    def may_be_best(self, rows: Array) -> Mask:
        """Return which members of a finite domain an earlier run may have found best.

        Parameters
        ----------
        rows : ndarray of shape (m, d)

        Returns
        -------
        ndarray of bool of shape (m,)
        """
        best = np.ones(len(rows), dtype=bool)
        for i in range(len(self.runs[0].contenders)):
            best &= self._has_contenders(i, rows[:, i])
        return best

    def may_have_best(self, domain: Domain) -> Mask:
        """Return which unit coordinates are not those of categories that earlier runs rejected.

        Parameters
        ----------
        domain : Domain

        Returns
        -------
        ndarray of bool of shape (n_unit,)
        """
        best = np.ones(domain.n_unit, dtype=bool)
        for columns in domain.categories:
            i = np.searchsorted(domain.unit_columns, columns[0], side="right") - 1
            best[columns] = self._has_contenders(i, columns - domain.unit_columns[i])
        return best

    def _has_contenders(self, i, values):
        """Return which values (m,) of the i-th coordinate were queried often in an earlier run."""
        known = [run.contenders[i] for run in self.runs]
        if any(each is None for each in known):
            return np.ones(len(values), dtype=bool)
        return np.isin(values, np.concatenate(known))

    def over(self, domain: Domain, what: str, owner: object) -> Prior:
        """Return the prior over another domain.

        Parameters
        ----------
        domain : Domain
            Without constraints.
        what : str
            Name of the prior in messages.
        owner : object
            Owner of the parameter, for messages.

        Returns
        -------
        prior : Prior

        Raises
        ------
        DomainError
            Names or kinds of the parameters differ.
        """
        if domain == self.domain:
            return self
        move = Move.between(self.domain, domain, what, owner)
        runs = tuple(filter(None, map(move.run, self.runs)))
        return Prior(domain, self.maximize, self.time_unit, runs)

    # --- text -------------------------------------------------------------------------------------

    def to_json(self) -> str:
        """Return the prior as JSON, which ``earlier`` accepts.

        Returns
        -------
        text : str
        """
        return json.dumps({"prior": encode(self)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Prior:
        """Restore the prior of `to_json`.

        Parameters
        ----------
        text : str

        Returns
        -------
        prior : Prior

        Raises
        ------
        JournalError
            The text is not from `to_json`.
        """
        with state_errors("JSON"):
            prior = decode(json.loads(text)["prior"])
            numbers = [run.setting for run in prior.runs]
            for run in prior.runs:
                for model in run.models.values():
                    numbers += [model.logs, model.variances, [model.location, model.scale]]
            if not np.isfinite(np.concatenate(numbers)).all():
                raise ValueError("a number that is not finite")
        return prior

    def __repr__(self):
        n_told = sum(run.n_told for run in self.runs)
        runs = "1 earlier run" if len(self.runs) == 1 else f"{len(self.runs)} earlier runs"
        lines = [f"Prior of {runs} with {n_told} observations"]
        for name, model in self.models.items():
            sign = 1.0 if self.maximize or name != OBJECTIVE else -1.0
            lines.append(f"{name}: about {sign * model.location:.3g}, scale {model.scale:.3g}")
            for hyperparameter, (logs, spreads) in model.pooled.items():
                shown = np.exp(logs) * self._units(hyperparameter, len(logs))
                pairs = zip(shown, np.exp(spreads))
                values = ", ".join(f"{value:.3g} (×/÷ {factor:.2g})" for value, factor in pairs)
                lines.append(f"    {hyperparameter}: {values}")
        setting = self.domain.decode(self.start_points(self.domain)[0])
        return "\n".join([*lines, f"typical setting: {setting}"])

    def _units(self, name, n):
        """Return the factors (n,) from the unit form to the units of users."""
        domain = self.domain
        if not name.startswith("spatial_kernel") or n != domain.n_dims:
            return np.ones(n)
        straight = domain.kinds == "straight"
        return np.where(straight, domain.upper - domain.lower, 1.0)


# Kinds of coordinates without members.
_NUMBERS = ("straight", "curved", "cyclic")


def _by_centrality(domain, rows):
    """Return the order (m,) of rows (m, d) by their distances from all: the most central first."""
    places = domain.unit_of(rows)[:, : domain.n_unit]
    places = places[:, ~np.isnan(places).any(axis=0)]
    return np.argsort(cdist(places, places, "cityblock").sum(axis=1), kind="stable")


# --- runs in another domain -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Move:
    """Map from inputs of an earlier run to the domain of a new one.

    Attributes
    ----------
    old, new : Domain
        Without constraints.
    order : list of int
        Coordinates of the old rows in the order of the new ones.
    scales : ndarray of shape (d,)
        Factors of distances in the unit form, for each coordinate of a new row.
    typical : float
        Their geometric mean.
    change : Change
    """

    old: object
    new: object
    order: list
    scales: np.ndarray
    typical: float
    change: Change

    @classmethod
    def between(cls, old, new, what, owner):
        """Return the move between two domains; an error if names or kinds differ."""
        try:
            change = Change.between(old, new)
        except UnfitDomainError as exc:
            raise DomainError(
                f"{what} of {type(owner).__name__} must be a run over the same parameters, by name "
                "and kind; bounds may differ. To use it, the domain of this run must be "
                f"{exc.reason}"
            ) from exc
        order = [old.columns.index(name) for name in new.columns]
        scales = change.scales[change.domain.unit_columns][order]
        return cls(old, new, order, scales, change.typical, change)

    def row(self, row):
        """Return the new row (k,) for an old one, within the bounds; None if a value is gone."""
        k = self.new.n_chosen
        old, new = (getattr(each, "chosen", each) for each in (self.old, self.new))
        numbers = np.isin(new.kinds, ("straight", "curved", "steps"))
        row = np.array(row[: old.n_dims], dtype=np.float64)
        if not new.is_named:
            return new.from_unit(np.clip(new.unit_of(row[np.newaxis]), 0.0, 1.0))[0]
        for i in np.flatnonzero(numbers):
            j = self.order[i]
            row[j] = np.clip(row[j], new.lower[i], new.upper[i])
        try:
            return new.validate_point(old.decode(row))[:k]
        except DomainError:
            return None

    def run(self, run):
        """Return an `EarlierRun` of the old domain in the new one; None if its setting is gone."""
        setting = self.row(run.setting)
        if setting is None:
            return None
        contenders = []
        for i in range(self.new.n_chosen):
            known = run.contenders[self.order[i]]
            contenders.append(None if known is None else self._values(run, i, known))
        models = {name: self.model(model) for name, model in run.models.items()}
        return EarlierRun(run.n_told, setting, tuple(contenders), models)

    def _values(self, run, i, values):
        """Return the new values of the i-th coordinate for old ones."""
        rows = np.tile(run.setting, (len(values), 1))
        rows[:, self.order[i]] = values
        moved = [self.row(row) for row in rows]
        return np.array([row[i] for row in moved if row is not None])

    def model(self, model):
        """Return a `LearntModel` with lengthscales, and a static part, of the new unit form."""
        logs, variances = np.array(model.logs), np.array(model.variances)
        where = [i for i, name in enumerate(model.names) if name == _LENGTHS]
        if len(where) == len(self.order) > 1:
            logs[where] = logs[where][self.order] + np.log(self.scales)
            variances[where] = variances[where][self.order]
        elif where:
            logs[where] += np.log(self.typical)
        static = None if model.static is None else self._static(model.static)
        return replaced(model, logs=logs, variances=variances, static=static)

    def _static(self, static):
        """Return a static part over the new box."""
        merged, new = self.change.domain, self.new
        known, columns = _keys(merged), np.flatnonzero(new.continuous)
        own = np.flatnonzero(merged.continuous)
        ends = np.array([self.old.lower, self.old.upper])
        before = self.old.unit_of(ends)[0, static.columns]
        factors = self.change.scales[own]
        offsets = merged.unit_of(self.change.rows(ends))[0, own] - factors * before
        moved = static.moved(own, factors, offsets)
        order = [own.tolist().index(known.index(_keys(new)[column])) for column in columns]
        both = [*order, *(len(order) + i for i in order)]
        information, shift = moved.information[np.ix_(both, both)], moved.shift[both]
        return replaced(moved, columns=columns, information=information, shift=shift)


_LENGTHS = "spatial_kernel__length_scale"


def _keys(domain):
    """Return the name of the parameter, and the position in it, of each unit coordinate (list)."""
    widths = np.diff(domain.unit_columns, append=domain.n_unit)
    return [(name, i) for name, width in zip(domain.columns, widths) for i in range(width)]


# --- the parameter ``earlier`` --------------------------------------------------------------------

_EXPECTED = "an optimizer, its JSON, the path of its journal, or a prior_"


def as_prior(earlier, owner):
    """Return the `Prior` for the parameter ``earlier``, None without any run.

    Parameters
    ----------
    earlier : Prior, optimizer, str, path-like, a list of those, or None
    owner : AskTell
        Optimizer with this parameter.
    """
    if earlier is None:
        return None
    several = isinstance(earlier, list | tuple)
    domain, runs = _plain(as_domain(owner.domain)), ()
    if isinstance(earlier, Prior) and earlier.domain == domain:
        _check_same(earlier, "earlier", owner)
        return earlier
    for i, given in enumerate(earlier if several else [earlier]):
        what = f"earlier[{i}]" if several else "earlier"
        known = _prior_of(given, what, owner)
        if known is not None:
            _check_same(known, what, owner)
            here = known.over(domain, what, owner).runs
            if len(here) < len(known.runs):
                warn_caller(
                    f"{what}: a run whose typical setting is not in the domain any more is left "
                    "out.",
                    ModelWarning,
                )
            runs += here
    return Prior(domain, owner.maximize, owner.time_unit, runs) if runs else None


def _plain(domain):
    """Return a domain without constraints."""
    return domain.domain if isinstance(domain, Constrained) else domain


def _check_same(prior, what, owner):
    """Raise a ValueError unless observations mean the same in earlier runs and in a new one."""
    for name in ("maximize", "time_unit"):
        value, expected = getattr(prior, name), getattr(owner, name)
        if value != expected:
            raise invalid(what, f"a run with {name}={expected!r}", got=f"{value!r}", owner=owner)


def _prior_of(given, what, owner):
    """Return the `Prior` of one earlier run, or of a prior; None if it has learnt too little."""
    if isinstance(given, Prior):
        return given
    if isinstance(given, str) and given.lstrip().startswith("{"):
        if given.lstrip().startswith('{"prior"'):
            return Prior.from_json(given)
        given = read_json(AskTell, given, _NOT_NEEDED)
    elif isinstance(given, str | os.PathLike):
        with opened(given) as content:
            given = read_optimizer(AskTell, content, _N_ROWS, _NOT_NEEDED)
    if not isinstance(given, AskTell):
        raise invalid(what, _EXPECTED, given, owner)
    run = given._resumed()
    n_told = 0 if run is None else run.history.n_told
    if n_told < _MIN_TOLD or not isinstance(run.surrogate, FittedGP):
        lacks = "no model of this package" if n_told >= _MIN_TOLD else f"{n_told} observations"
        warn_caller(
            f"{what} has {lacks}, and is left out: an earlier run needs {_MIN_TOLD} observations "
            "and a surrogate of this package.",
            ModelWarning,
        )
        return None
    algorithm, domain = run.algorithm, _plain(run.domain)
    return Prior(domain, algorithm.maximize, algorithm.time_unit, (learnt_from(run, domain),))


# Parameters of an earlier run that may be missing, if a file cannot hold them.
_NOT_NEEDED = ("clock", "constraints", "acquisition")


def learnt_from(run, domain):
    """Return the `EarlierRun` of the state of a run over a domain."""
    rows = run.rows(run.history.latest(_N_ROWS))[:, : domain.n_chosen]
    rows = rows[min(_N_EARLY, len(rows) // 2) :]
    some = rows[:: max(len(rows) // _N_COMPARED, 1)]
    chosen = getattr(domain, "chosen", domain)
    setting = some[_by_centrality(chosen, some)[0]]
    models = {OBJECTIVE: _learnt_model(run.surrogate, domain)}
    for model, limit in zip(models_of(run), run.config.measured_limits):
        if isinstance(model.surrogate, FittedGP):
            models[limit.name] = _learnt_model(model.surrogate, None)
    contenders = tuple(
        None if kind in _NUMBERS else _frequent(column)
        for kind, column in zip(chosen.kinds, rows.T)
    )
    return EarlierRun(run.history.n_told, setting, contenders, models)


def _frequent(values):
    """Return the distinct values that are frequent among the values (n,)."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[counts >= _LEAST_SHARE * len(values)]


def _learnt_model(surrogate, domain):
    """Return the `LearntModel` of a surrogate, with a static part over a domain if it is given."""
    gp = surrogate.gp
    covariance, rows = gp.covariance, gp.rows
    logs = np.array(covariance.theta)
    for i, name in enumerate(covariance.names):
        if name in ("signal_variance", "noise_variance"):
            logs[i] += 2.0 * np.log(rows.scale)
    static, columns = None, () if domain is None else np.flatnonzero(domain.continuous)
    if type(gp) is Dense and len(columns):
        static = rows.static or StaticPart.empty(columns, 1.0)
        static = static.plus(*information_of(gp, np.arange(rows.n)[-_N_ROWS:], static))
    variances = uncertainties(covariance, surrogate.record)
    known = tuple(covariance.names), logs, variances, surrogate.mean_, rows.scale
    return LearntModel(*known, static)
