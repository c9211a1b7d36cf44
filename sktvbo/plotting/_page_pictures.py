"""Pictures of a page: displays of a run as SVG that follows the colours of the page."""

import io
import re

import numpy as np

from ..domain import as_domain
from ..gaussian_process._fitted import FittedGP
from ..optimizers._outcomes import OBJECTIVE, measured
from ._baseline import BaselineDisplay
from ._common import N_VECTORS, OptimizerView, PanelDisplay, line_style, time_labels
from ._comparison import DatasetSizeDisplay
from ._panels import OutcomeDisplay, SliceDisplay, TrackDisplay
from ._parameters import axes_of, coordinates

# Largest number of parameters, and of outcomes, drawn; number of times with a recommendation.
_MAX_PANELS, _N_TIMES = 12, 40

# Width and height of a picture in inches: its text is as large as the page's on a phone.
_SIZE = (4.8, 3.3)

# Colours of Matplotlib and of displays, and those of the page, light or dark, that replace them.
_INKS = {"#000000": "--ink", "#ffffff": "--paper", "#404040": "--soft", "#595959": "--soft"}
_INKS |= {"#b0b0b0": "--line", "#cccccc": "--line"}

# Text stays text, in the font of the page.
_STYLE = {
    "svg.fonttype": "none",
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "font.size": 10.0,
}


class _Dots(PanelDisplay):
    """Values over time, with those that are no longer in the data set as crosses."""

    def __init__(self, axis, values, times, kept, **labels):
        self.axis, self.values, self.times, self.kept = axis, values, times, kept
        self.time_unit, self.dates = labels.get("time_unit", ""), labels.get("dates", False)

    def plot(self, axes):
        (ax,) = self._panels(axes)
        rows = np.column_stack([self.values, self.times])
        if hasattr(self.axis, "set_up"):
            self.axis.set_up(ax, "y")
        else:
            ax.set_ylabel(self.axis)
        self._draw_observations(ax, rows[self.kept], rows[~self.kept], size=4.0)
        self._set_up_time(ax)
        return self._finish([ax])


class _Seconds(PanelDisplay):
    """Seconds of answers and of steps over the time of a clock."""

    dates, time_unit = True, "s"

    def __init__(self, **curves):
        self.curves = curves

    def plot(self, axes):
        (ax,) = self._panels(axes)
        for i, (label, (times, seconds)) in enumerate(self.curves.items()):
            style = {"color": line_style(i)["color"], "markersize": 3.0, "label": label}
            style["rasterized"] = len(times) > N_VECTORS
            ax.plot(self._on_axis(times), np.maximum(seconds, 1e-6), "o", **style)
        ax.set(yscale="log", ylabel="seconds")
        self._set_up_time(ax)
        return self._finish([ax])


def pictures(found, baseline, units):
    """Return titles and pictures of a run, and its display beside a baseline or None.

    Parameters
    ----------
    found : Watched
    baseline : point or None
    units : dict of str to str

    Returns
    -------
    pictures : list of (title, svg)
    notes : list of str
        Omitted pictures, with the reasons.
    beside : BaselineDisplay or None
    """
    made, notes, beside = [], [], None
    run = found.run
    if run is not None and len(run.shown):
        made, notes, beside = _of_run(found, baseline, units)
    elif run is not None and run.history.n_told:
        notes.append("The observations are not shown: history=0.")
    elif run is None:
        made += _told(found.events)
    seconds = {
        "answers": found.answers.T,
        "ask": _of_events(found.events, "ask"),
        "tell": _of_events(found.events, "tell"),
    }
    seconds = {name: curve for name, curve in seconds.items() if len(curve[0])}
    if sum(len(curve[0]) for curve in seconds.values()) > 1:
        made.append(("Times: until an answer, and of ask and tell", _Seconds(**seconds)))
    return [(title, _svg(display)) for title, display in made], notes, beside


def _told(events):
    """Return a display of the observations in the events, without a run."""
    told = [(event.body["t"], event.body["y"]) for event in events if event.kind == "tell"]
    if not told:
        return []
    times, y = np.transpose(told)
    return [("The objective, as told", _Dots(OBJECTIVE, y, times, np.ones(len(y), dtype=bool)))]


def _of_events(events, kind):
    """Return when steps of a kind were made, and their seconds, each (n,)."""
    known = [(e.at, e.body["seconds"]) for e in events if e.kind == kind and "seconds" in e.body]
    return np.reshape(known, (-1, 2)).T


def _of_run(found, baseline, units):
    """Return the displays of a run that has observations, as `pictures`."""
    optimizer, run = found.optimizer, found.run
    names, made, notes, beside = _of_parameters(run), [], [], None
    label = f"objective ({units[OBJECTIVE]})" if OBJECTIVE in units else OBJECTIVE
    if run.surrogate is None:
        notes.append("There is no model yet: these are the observations alone.")
        made += _observations(run, optimizer, units, label)
    else:
        view = OptimizerView(optimizer)
        moves = float(view.told_at.min()) < view.now
        if baseline is not None and isinstance(run.surrogate, FittedGP):
            beside = BaselineDisplay.from_optimizer(optimizer, baseline, value_label=label)
            made.append(("The objective beside the baseline", beside))
        else:
            made += _observations(run, optimizer, units, label)[:1]
        own = {name: unit for name, unit in units.items() if name in names}
        if moves:
            made += _tracks(optimizer, own)
        else:
            notes.append("All observations have the same time: nothing is shown over time.")
        made += _slices(optimizer, own, label)
        if run.config.limits and moves:
            made += _outcomes(optimizer, run, units)
    if len(names) > _MAX_PANELS:
        notes.append(f"The first {_MAX_PANELS} of {len(names)} parameters are shown.")
    if len(run.shown) > 1:
        made.append(
            ("Observations that the model keeps", DatasetSizeDisplay.from_optimizer(optimizer))
        )
    return made, notes, beside


def _of_parameters(run):
    """Return the names of the parameters and of the context's variables."""
    return [axis.name for axis in axes_of(as_domain(run.algorithm.domain), 2)]


def _times(display):
    """Return the labels of a display's times."""
    return {"time_unit": display.time_unit, "dates": display.dates}


def _observations(run, optimizer, units, label):
    """Return displays of the observations alone: of y, and of each parameter."""
    rows, gone = run.rows(run.shown), np.isfinite(optimizer.removed_at_)
    times, labels = rows[:, -1], time_labels(optimizer, {})
    y = np.array([entry.y for entry in run.shown])
    made = [("The objective", _Dots(label, y, times, ~gone, **labels))]
    domain, own = as_domain(run.algorithm.domain), _of_parameters(run)
    axes = axes_of(domain, 2, units={name: units[name] for name in own if name in units})
    for axis, values in list(zip(axes, coordinates(domain, rows[:, :-1]).T))[:_MAX_PANELS]:
        made.append((f"{axis.name}, over time", _Dots(axis, values, times, ~gone, **labels)))
    return made


def _tracks(optimizer, units):
    """Return a display over time for each parameter."""
    whole = TrackDisplay.from_optimizer(optimizer, n_times=_N_TIMES, n_values=41, units=units)
    options = _times(whole) | {"now": whole.now, "safety": whole.safety}
    options["maximize"] = whole.maximize
    return [
        (
            f"{track.axis.name}, over time",
            TrackDisplay([track], whole.times, whole.told_at, whole.kept, **options),
        )
        for track in whole.tracks[:_MAX_PANELS]
    ]


def _slices(optimizer, units, label):
    """Return a display of the present for each parameter."""
    whole = SliceDisplay.from_optimizer(optimizer, n_values=61, units=units)
    options = _times(whole) | {"value_label": label}
    return [
        (f"{part.axis.name}, now", SliceDisplay([part], whole.times, whole.y, **options))
        for part in whole.slices[:_MAX_PANELS]
    ]


def _outcomes(optimizer, run, units):
    """Return a display over time for each outcome with a limit."""
    own = {name: units[name] for name in (*measured(run), OBJECTIVE) if name in units}
    whole = OutcomeDisplay.from_optimizer(optimizer, n_times=_N_TIMES, units=own)
    shared = whole.times, whole.told_at, whole.kept
    return [
        (f"{track.name}, and its limits", OutcomeDisplay([track], *shared, **_times(whole)))
        for track in whole.tracks[:_MAX_PANELS]
    ]


# --- SVG ------------------------------------------------------------------------------------------


def _svg(display):
    """Draw a display as the text of an SVG element."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(_STYLE | {"svg.hashsalt": "sktvbo"}):
        figure = Figure(figsize=_SIZE, layout="constrained")
        ax = figure.subplots()
        display.plot(ax)
        if isinstance(display, BaselineDisplay):  # the page has its numbers
            ax.set_title("")
            handles, labels = ax.get_legend_handles_labels()
            ax.get_legend().remove()
            figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
        _show_names_as_they_are(figure)
        file = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", metadata=nothing)
    text = file.getvalue()
    text = re.sub("<!--.*?-->", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, name in _INKS.items():
        text = text.replace(f": {colour}", f": var({name})")
    return text


def _show_names_as_they_are(figure):
    """Turn off mathematics in labels of axes and in categories: a name may contain dollars."""
    from matplotlib.ticker import FixedFormatter

    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            axis.label.set_parse_math(False)
            if isinstance(axis.get_major_formatter(), FixedFormatter):
                for text in axis.get_ticklabels():
                    text.set_parse_math(False)
