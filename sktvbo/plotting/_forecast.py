"""Display of a regressor over time: its data, and its predictions from then on."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.gaussian_process.kernels import ExpSineSquared, Matern

from .._durations import number_of_duration
from .._validation import check_bool, check_int, check_real, finite_array, finite_number, invalid
from ..gaussian_process import LinearMean
from ..gaussian_process._composite import summands
from ..kernels import split_time
from ._common import (
    N_VECTORS,
    PanelDisplay,
    display_data,
    draw_band,
    legend_above,
    line_style,
    merge_style,
    names_of_places,
    regressor_labels,
    set_left_label,
)

if TYPE_CHECKING:
    from datetime import timedelta

    from matplotlib.axes import Axes

    from .._typing import Time
    from ..gaussian_process import TimeVaryingGPRegressor

# Largest number of sites that are found in the data, and of sites with terms by default; number of
# horizons shown before the latest row.
_MAX_SITES, _MAX_WITH_TERMS, _N_HORIZONS = 20, 3, 4.0


@dataclass(frozen=True, eq=False)
class SiteForecast:
    """Prediction at one site.

    Attributes
    ----------
    label : str
        Names and values of its coordinates; empty if time is the only column.
    observed_at, observed : ndarray of shape (n,)
        Times and values of its observations in the range shown.
    mean, lower, upper : ndarray of shape (n_times,)
        Prediction, and interval of new observations.
    terms : ndarray of shape (n_terms, n_times), or None
        Predictions of the terms; None if they are not shown.
    """

    label: str
    observed_at: np.ndarray
    observed: np.ndarray
    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    terms: np.ndarray | None = None


@display_data
class ForecastDisplay(PanelDisplay):
    """Observations and predictions of a regressor over time, by site, with the terms below.

    Made by `from_estimator`.

    Parameters
    ----------
    sites : list of SiteForecast
    times : ndarray of shape (n_times,)
    now : float
        Time of the latest row that the regressor was fitted to: later times are ahead.
    level : float
        Probability of the intervals.
    terms : list of str
        Names of the terms; empty if they are not shown.
    time_unit : str, default=""
    dates : bool, default=False
        Times are dates, in this unit since 1970.
    value_label : str, default="y"

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes of shape (n_sites,), or (2 * n_sites,) with terms
        After `plot`.
    figure_ : matplotlib Figure
        After `plot`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.kernels import with_seasons
    >>> from sktvbo.plotting import ForecastDisplay
    >>> hours = np.arange(96.0)[:, np.newaxis]
    >>> y = 0.1 * hours[:, 0] + np.sin(2.0 * np.pi * hours[:, 0] / 24.0)
    >>> kernel = with_seasons(Matern(48.0, nu=2.5), 24.0)
    >>> gp = TimeVaryingGPRegressor(None, kernel, normalize_y=True).fit(hours, y)
    >>> display = ForecastDisplay.from_estimator(gp, 24.0, time_unit="h")
    >>> float(display.times[-1] - display.now), display.terms[1]
    (24.0, 'season of 24 h')
    >>> display.plot().figure_.savefig("forecast.png")  # doctest: +SKIP
    """

    sites: list
    times: np.ndarray
    _: KW_ONLY
    now: float
    level: float
    terms: list
    time_unit: str = ""
    dates: bool = False
    value_label: str = "y"

    @classmethod
    def from_estimator(
        cls,
        gp: TimeVaryingGPRegressor,
        horizon: float | timedelta | np.timedelta64,
        *,
        sites: ArrayLike | None = None,
        since: Time | None = None,
        level: float = 0.9,
        terms: bool | None = None,
        n_times: int = 400,
        **labels: Any,
    ) -> Self:
        """Predict over time with a fitted regressor, up to a horizon after its latest row.

        Parameters
        ----------
        gp : TimeVaryingGPRegressor
            A fitted regressor.
        horizon : float or duration
            Time ahead of the latest row, in the regressor's unit of time.
        sites : array-like of shape (n_sites, d), default=None
            Coordinates of the sites, in the order of the columns other than time. None: those of
            the rows, if there are at most 20 different ones.
        since : float or date, default=None
            First time; None: the first row, but at most four horizons before the latest.
        level : float, default=0.9
            Probability of the intervals of new observations.
        terms : bool, default=None
            Show the terms of `predict_terms`; None: if there are several, with up to three sites.
        n_times : int, default=400
            Number of times.
        **labels : str
            ``time_unit``, ``value_label``: see `ForecastDisplay`.

        Returns
        -------
        ForecastDisplay

        Raises
        ------
        ValueError
            The horizon is not positive, ``since`` is not before the end, or ``sites`` have another
            number of coordinates, or are missing for rows with more than 20.

        Notes
        -----
        Predictions up to the latest row use all rows, also later ones: they are not forecasts.
        """
        check_int(n_times, "n_times", low=2)
        S, t = split_time(gp.X_train_, gp.time_column_)
        now, y = float(t.max()), gp.y_train_
        times = np.linspace(*_span(gp, t, now, horizon, since), n_times)
        sites, names = _sites(S, sites), names_of_places(gp)
        labels = regressor_labels(gp, labels)
        names_of_terms = _names_of_terms(gp, labels.get("time_unit", gp.time_unit or ""))
        if terms is None:
            terms = len(names_of_terms) > 1 and len(sites) <= _MAX_WITH_TERMS
        check_bool(terms, "terms")
        predicting, found = _taking_numbers(gp), []
        for site in sites:
            here = np.equal(S, site).all(axis=1) & (t[:, 0] >= times[0])
            X = np.insert(np.tile(site, (n_times, 1)), gp.time_column_, times, axis=1)
            interval = predicting.predict_interval(X, level)
            parts = predicting.predict_terms(X).T if terms else None
            label = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, site))
            curves = predicting.predict(X), *interval, parts
            found.append(SiteForecast(label, t[here, 0], y[here], *curves))
        options = {"now": now, "level": float(level), "terms": names_of_terms if terms else []}
        return cls(found, times, **options, **labels)

    def plot(self, axes: Sequence[Axes] | NDArray[Any] | None = None, **line_options: Any) -> Self:
        """Draw a panel per site, and below it one with the terms.

        A vertical line is the latest row: forecasts are to its right.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            One per site, and with terms then another one per site; None: a new figure.
        **line_options
            Keywords of matplotlib's ``plot`` for the predictions, such as ``linewidth``.

        Returns
        -------
        self : ForecastDisplay

        Raises
        ------
        MissingExtraError
            matplotlib is not installed.
        """
        n = len(self.sites)
        self._panel_size = (6.4, 2.7) if n == 1 else PanelDisplay._panel_size
        options = {"columns": n} if self.terms else {}
        if n > 1:
            options["sharey"] = "row" if self.terms else True
        axes = self._panels(axes, n * (2 if self.terms else 1), sharex=True, **options)
        for i, site in enumerate(self.sites):
            self._draw_site(axes[i], site, line_options)
            if self.terms:
                self._draw_terms(axes[n + i], site)
        for ax in axes:
            ax.axvline(self._on_axis(self.now), color="black", linewidth=1.0)
            ax.set_xlim(*self._on_axis(self.times[[0, -1]]))
            self._set_up_time(ax)
        self._finish(axes)
        if self.terms:
            legend_above(axes[n], ncols=2, fontsize="small")
        return self

    def _draw_site(self, ax, site, options):
        """Draw observations, prediction and interval of a site."""
        times, style = self._on_axis(self.times), line_style(0)
        dots = {"color": "0.25", "markersize": 3.0, "rasterized": len(site.observed) > N_VECTORS}
        ax.plot(self._on_axis(site.observed_at), site.observed, "o", **dots, label="observed")
        label = f"interval of observations ({self.level:.3g})"
        draw_band(ax, times, site.lower, site.upper, style["color"], label=label)
        ax.plot(times, site.mean, **merge_style(style | {"label": "predicted"}, options))
        ax.set_title(site.label, fontsize="medium")
        set_left_label(ax, self.value_label)

    def _draw_terms(self, ax, site):
        """Draw the terms at a site."""
        for i, (name, curve) in enumerate(zip(self.terms, site.terms)):
            ax.plot(self._on_axis(self.times), curve, **line_style(i + 1), label=name)
        set_left_label(ax, f"terms of {self.value_label}")


def _taking_numbers(gp):
    """Return a copy of a regressor that takes arrays, with times as numbers, also after a frame."""
    new = copy.copy(gp)
    vars(new).pop("feature_names_in_", None)
    new.time_kinds_ = {}
    return new


def _span(gp, t, now, horizon, since):
    """Return the first and the last time to show."""
    horizon = number_of_duration(horizon, gp._fitted_unit)
    horizon = check_real(horizon, "horizon", interval="(0, inf)")
    end = now + horizon
    if since is None:
        return max(float(t.min()), now - _N_HORIZONS * horizon), end
    first = finite_number(gp._number_of(since, "since"), "since")
    if not first < end:
        raise invalid("since", f"before the end, {end}", since)
    return first, end


def _sites(S, sites):
    """Return the sites (n_sites, d) to show, for rows at inputs S (n, d)."""
    if sites is not None:
        return finite_array(sites, "sites", ("n_sites", S.shape[1]))
    distinct = np.unique(S, axis=0)
    if len(distinct) > _MAX_SITES:
        expected = f"given for rows with more than {_MAX_SITES} sites"
        raise invalid("sites", expected, got=f"None for {len(distinct)} of them")
    return distinct


def _names_of_terms(gp, unit):
    """Return the names of the terms of `predict_terms`."""
    names = [_name_of(kernel, unit) for kernel in summands(gp.temporal_kernel_)]
    if gp.level_kernel_ is not None:
        names += [f"level: {_name_of(kernel, unit)}" for kernel in summands(gp.level_kernel_)]
    return names + ["linear mean"] * isinstance(gp.prior_mean_, LinearMean)


def _name_of(kernel, unit):
    """Return a name of a term in time: a season, a rough part or a trend, with its scale."""
    parts = [kernel, *(v for v in kernel.get_params().values() if hasattr(v, "get_params"))]
    unit = f" {unit}" if unit else ""
    for part in parts:
        if isinstance(part, ExpSineSquared):
            return f"season of {part.periodicity:.4g}{unit}"
    is_rough = any(type(part) is Matern and part.nu == 0.5 for part in parts)
    scales = [part.length_scale for part in parts if hasattr(part, "length_scale")]
    scale = f", lengthscale {float(np.ravel(scales[0])[0]):.4g}{unit}" if scales else ""
    return f"{'rough part' if is_rough else 'trend'}{scale}"
