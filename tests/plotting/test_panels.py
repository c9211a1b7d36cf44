"""Displays with a panel for each parameter or outcome: numbers, names, units and scales."""

import warnings

import numpy as np
import pytest
from contract.cases import fingerprint
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import WDBO
from sktvbo.domain import Context, FiniteSet, WithContext, as_domain
from sktvbo.exceptions import DomainError, LimitWarning
from sktvbo.plotting import (
    BaselineDisplay,
    DatasetSizeDisplay,
    OutcomeDisplay,
    PosteriorDisplay,
    RelevancyDisplay,
    SliceDisplay,
    TrackDisplay,
)

SPACE = {
    "rate": ("log-real", 1e-4, 1.0),
    "depth": ("integer", 2, 9),
    "width": ("log-integer", 8, 1024),
    "seed": ("integer", 0, 10**6),
    "drop": ("real", -4.0, 4.0),
    "loss": ["l1", None],
    "size": ("ordinal", ["small", "medium", "large"], ["small", "large"]),
    "load": ("discrete", [0, 1, 10]),
}


def told(domain, maximize=True):
    """Return an optimizer that was told uniform queries, in their contexts."""
    opt = WDBO(domain, maximize=maximize, n_initial_points=8, random_state=0)
    space = as_domain(domain)
    for t, row in enumerate(space.sample(20, np.random.RandomState(1))):
        y = float(np.exp(-np.sum((space.to_unit(row) - 0.4 - 0.005 * t) ** 2)))
        context = space.decode_context(row)
        opt.tell(space.decode(row), y if maximize else -y, t, context=context)
    return opt


@pytest.fixture(scope="module")
def named():
    return told(SPACE)


@pytest.fixture(scope="module")
def box():
    return told([(0.0, 2.0), (-1.0, 1.0), (5.0, 6.0)], maximize=False)


# --- numbers --------------------------------------------------------------------------------------


def test_slices_are_the_posterior_through_the_recommended_point(named):
    times = [5.0, 25.0]
    display = SliceDisplay.from_optimizer(named, times, n_values=9)
    space, gp = as_domain(SPACE), named.surrogate_
    texts = {"loss": ["l1", None], "size": ["small", "large"]}
    for k, t in enumerate(times):
        best = named.recommend(t)
        for part in display.slices:
            for i in (0, -1):
                value = texts.get(part.axis.name, part.axis.values)[i]
                point = best | {part.axis.name: value}
                u = space.to_unit(space.validate_point(point))
                mean, std = gp.predict([[*u, t]], return_std=True)
                assert_allclose(part.mean[k, i], mean[0], rtol=1e-9, atol=1e-12)
                assert_allclose(part.std[k, i], std[0], rtol=1e-7)
        row = space.validate_point(best)
        assert_array_equal([part.incumbent[k] for part in display.slices], row)
    assert_array_equal(display.times, times)
    assert_array_equal(display.y, named.y_)
    observed = np.column_stack([part.observed for part in display.slices])
    assert_array_equal(observed, named.X_[:, :-1])


def test_distances_are_from_the_slice(box):
    display = SliceDisplay.from_optimizer(box)
    space = as_domain(box.domain)
    best, at = space.to_unit(box.recommend(19.0)), space.to_unit(box.X_[:, :-1])
    for i, part in enumerate(display.slices):
        others = np.delete(at - best, i, axis=1)
        assert_allclose(part.distance, np.linalg.norm(others, axis=1), atol=1e-9)


def test_the_present_is_the_default_and_the_sign_is_the_users(box):
    display = SliceDisplay.from_optimizer(box)
    assert_array_equal(display.times, [19.0])
    part = display.slices[0]
    assert part.mean.max() < 0.1
    best = np.argmin(part.mean[0])
    assert abs(part.axis.values[best] - part.incumbent[0]) < 0.1
    surrogate = box.surrogate_.posterior_at(19.0)
    row = as_domain(box.domain).to_unit([part.axis.values[7], *box.recommend(19.0)[1:]])
    assert_allclose(part.mean[0, 7], -surrogate(row[np.newaxis])[0][0], rtol=1e-9)


def test_tracks_are_the_posterior_over_time(named):
    display = TrackDisplay.from_optimizer(named, n_times=4, n_values=6)
    assert_array_equal(display.times, np.linspace(0.0, 19.0, 4))
    space, gp = as_domain(SPACE), named.surrogate_
    for j, t in enumerate(display.times):
        best = named.recommend(t)
        row = space.validate_point(best)
        assert_array_equal([track.recommended[j] for track in display.tracks], row)
        u = space.to_unit(space.validate_point(best | {"rate": display.tracks[0].axis.values[2]}))
        assert_allclose(display.tracks[0].mean[2, j], gp.predict([[*u, t]])[0], rtol=1e-9)
    assert_array_equal(display.told_at, named.told_X_[:, -1])
    assert_array_equal(display.kept, np.isnan(named.removed_at_))
    assert_array_equal([track.queried for track in display.tracks], named.told_X_[:, :-1].T)


def test_a_prior_does_not_fill_the_picture(box, plt):
    display = SliceDisplay.from_optimizer(box, [19.0, 1e6], n_values=5).plot()
    shown = np.append([part.mean for part in display.slices], display.y)
    low, high = display.axes_[0].get_ylim()
    assert low < shown.min() < shown.max() < high
    assert high - low <= 1.01 * (2.0 + 0.2) * np.ptp(shown)
    wide = SliceDisplay(display.slices, display.times, display.y)
    for part in wide.slices:
        part.std[:] = 1e3
    assert wide.plot().axes_[0].get_ylim() == pytest.approx(
        (shown.min() - 0.6 * np.ptp(shown), shown.max() + 0.6 * np.ptp(shown))
    )


def test_times_whose_slices_lie_on_one_another_are_said(plt):
    part = SliceDisplay.from_optimizer(told([(0.0, 1.0)]), [5.0, 6.0, 7.0], n_values=5).slices[0]
    part.mean[1:], part.std[1:] = part.mean[0], part.std[0]
    part.mean[2] += 0.2 * np.ptp(part.mean)
    part.incumbent[:] = 0.1, 0.2, 0.3
    y = part.observed
    display = SliceDisplay([part], np.array([5.0, 6.0, 7.0]), y).plot()
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert texts[1:] == ["t = 5 and 6 (the same)", "t = 7"]
    marks = [line.get_xdata()[0] for line in display.axes_[0].lines if line.get_linestyle() == ":"]
    assert sorted(marks) == [0.1, 0.2, 0.3]


# --- axes -----------------------------------------------------------------------------------------


def test_axes_are_in_the_users_names_units_and_scales(named, plt):
    display = SliceDisplay.from_optimizer(
        named, n_values=21, units={"rate": "1/s"}, value_label="loss"
    ).plot(c="red")
    panels = dict(zip(SPACE, display.axes_))
    labels = ["rate (1/s)", "depth", "width", "seed", "drop", "loss", "size", "load"]
    assert [ax.get_xlabel() for ax in display.axes_] == labels
    scales = [panels[name].get_xscale() for name in SPACE]
    assert scales == ["log", "linear", "log"] + ["linear"] * 5
    assert [text.get_text() for text in panels["loss"].get_xticklabels()] == ["l1", "None"]
    assert [text.get_text() for text in panels["size"].get_xticklabels()] == ["small", "large"]
    by_name = {part.axis.name: part.axis for part in display.slices}
    assert_allclose(by_name["rate"].values, np.geomspace(1e-4, 1.0, 21), rtol=1e-9)
    assert_array_equal(by_name["depth"].values, np.arange(2, 10))
    assert len(by_name["seed"].values) == 21
    single = [name for name, axis in by_name.items() if axis.discrete]
    assert single == ["depth", "loss", "size", "load"]
    assert_array_equal(by_name["load"].values, [0, 1, 10])
    assert panels["loss"].containers[0].lines[0].get_color() == "red"
    assert display.axes_[0].get_ylabel() == "loss"
    assert display.figure_ is display.axes_[0].figure


def test_a_band_is_two_standard_deviations(box, plt):
    display = SliceDisplay.from_optimizer(box, n_values=5).plot(observations=False, lw=3.0)
    ax, part = display.axes_[1], display.slices[1]
    (line,) = [line for line in ax.lines if len(line.get_xdata()) == 5]
    assert_array_equal(line.get_ydata(), part.mean[0])
    assert line.get_linewidth() == 3.0
    edges = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert_allclose(edges.max(), (part.mean + 2.0 * part.std).max())
    assert_allclose(edges.min(), (part.mean - 2.0 * part.std).min())


def test_tracks_are_drawn_on_the_axes_given(box, plt):
    _, axes = plt.subplots(1, 3)
    display = TrackDisplay.from_optimizer(
        box, names=["a", "b", "c"], units={"b": "mm"}, n_times=4, n_values=5, time_unit="steps"
    ).plot(axes)
    assert list(display.axes_) == list(axes)
    assert [ax.get_ylabel() for ax in axes] == ["a", "b (mm)", "c"]
    assert axes[0].get_xlabel() == "time (steps)"
    mesh = axes[1].collections[0]
    assert_allclose(mesh.get_array().ravel(), display.tracks[1].mean.ravel())
    shown = {line.get_label(): line for line in axes[2].lines}
    assert_array_equal(shown["recommended"].get_ydata(), display.tracks[2].recommended)
    assert len(shown[f"kept ({len(box.X_)})"].get_xdata()) == len(box.X_)
    with pytest.raises(ValueError, match="axes must be 3 of them"):
        display.plot(axes[:2])


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("display", "options", "message"),
    [
        (SliceDisplay, {"names": ["a"]}, "names must be 3 of them"),
        (SliceDisplay, {"units": {"speed": "m/s"}}, r"units must be a dict with some of x0"),
        (SliceDisplay, {"n_values": 1}, "n_values must be an int"),
        (SliceDisplay, {"times": [np.nan]}, "times must be finite"),
        (SliceDisplay, {"times": [[1.0]]}, "times must be an array of shape"),
        (TrackDisplay, {"since": 5.0, "until": 5.0}, r"until must be later than since=5\.0"),
        (TrackDisplay, {"n_times": 1}, "n_times must be an int"),
        (OutcomeDisplay, {}, "one with outcome_constraints"),
    ],
)
def test_invalid_options_are_refused(box, named, display, options, message):
    with pytest.raises(ValueError, match=message):
        display.from_optimizer(box, **options)
    with pytest.raises(ValueError, match="names must be None for a domain that has names"):
        SliceDisplay.from_optimizer(named, names=list("abcdefg"))


@pytest.mark.parametrize("display", [OutcomeDisplay, TrackDisplay])
def test_a_display_needs_a_history(limited, display):
    opt = WDBO([(0.0, 1.0)], outcome_constraints=LIMITS, history=0, random_state=0)
    for x, y, t in zip(limited.told_X_[:6, :1], limited.told_y_, range(6)):
        opt.tell(x, y, float(t), outcomes={"load": 0.5})
    with pytest.raises(ValueError, match="'history' parameter of WDBO must be None, or an int of"):
        display.from_optimizer(opt)


# --- with a context -------------------------------------------------------------------------------

ARMS = FiniteSet(np.random.RandomState(0).uniform(size=(6, 2)))
NAMED = {"power": ("real", 0.0, 1.0), "kind": ["a", "b"], "load": Context(0.0, 100.0)}
NAMED |= {"shift": Context(["day", "night"])}
BOX = WithContext([(0.0, 2.0), (5.0, 6.0)], [(0.0, 1.0)])
IN_CONTEXT = {
    "box": (BOX, [0.3], ["x0", "x1", "context0"]),
    "arms": (WithContext(ARMS, [(0.0, 1.0)]), [0.3], ["arm", "context0"]),
    "named": (NAMED, {"load": 30.0, "shift": "night"}, list(NAMED)),
}


@pytest.mark.parametrize("name", IN_CONTEXT)
def test_slices_and_tracks_in_a_context(name, plt):
    domain, context, names = IN_CONTEXT[name]
    opt = told(domain)
    before, space, gp = fingerprint(opt), as_domain(domain), opt.surrogate_
    display = SliceDisplay.from_optimizer(opt, 20.0, context=context, n_values=5)
    assert [part.axis.name for part in display.slices] == names
    best = space.place(opt.recommend(20.0, context=context), context)
    mean, std = gp.posterior_at(20.0)(space.to_unit(best[np.newaxis]))
    for i, part in enumerate(display.slices):
        # Every slice goes through the recommended point in the context.
        here = best[i] if name != "arms" else [ARMS.indices(best[np.newaxis, :2])[0], 0.3][i]
        assert part.incumbent == [here]
        assert part.mean.shape == part.std.shape == (1, len(part.axis.values))
        if here in part.axis.values:
            k = list(part.axis.values).index(here)
            assert_allclose([part.mean[0, k], part.std[0, k]], [mean[0], std[0]], rtol=1e-9)
        assert len(part.observed) == len(part.distance) == len(opt.X_)
    if name != "named":  # the last axis is the whole context
        off = space.to_unit(opt.X_[:, :-1]) - space.to_unit(best[np.newaxis])
        expected = np.linalg.norm(off[:, : space.chosen.n_unit], axis=1)
        assert_allclose(display.slices[-1].distance, expected, rtol=1e-9)
    assert len(display.plot().axes_) == len(names)
    tracks = TrackDisplay.from_optimizer(opt, context=context, n_times=3, n_values=4)
    assert [track.axis.name for track in tracks.tracks] == names
    assert len(tracks.plot().axes_) == len(names)
    assert RelevancyDisplay.from_optimizer(opt).plot().figure_.axes
    assert DatasetSizeDisplay.from_optimizer(opt).plot().figure_.axes
    with pytest.raises(DomainError, match=r"or a FiniteSet.*Use a SliceDisplay or a TrackDisplay"):
        PosteriorDisplay.from_run(opt)
    assert fingerprint(opt) == before


@pytest.mark.parametrize("name", IN_CONTEXT)
def test_the_context_of_the_latest_observation_is_the_default(name):
    domain, _, names = IN_CONTEXT[name]
    opt = told(domain)
    space, rows = as_domain(domain), opt.told_X_
    n_context = len(names) - len(names[: -rows.shape[1] + 1 + space.n_chosen or None])
    display = TrackDisplay.from_optimizer(opt, n_times=5, n_values=4)
    for j, t in enumerate(display.times):
        row = rows[np.searchsorted(rows[:, -1], t, side="right") - 1, :-1]
        here = space.decode_context(row)
        best = space.place(opt.recommend(t, context=here), here)
        if name != "arms":
            chosen = [track.recommended[j] for track in display.tracks[:-n_context]]
            assert_array_equal(chosen, best[: space.n_chosen])
    assert all(track.recommended is None for track in display.tracks[-n_context:])
    # What is at a time before all observations is in the context of the first.
    (first, last), k = [rows[0, :-1], rows[-1, :-1]], space.n_chosen
    display = SliceDisplay.from_optimizer(opt, [-1.0, 30.0], n_values=4)
    shown = np.array([part.incumbent for part in display.slices[-n_context:]]).T
    assert_array_equal(shown, [first[k:], last[k:]])


def test_a_context_is_refused_where_there_is_none(box, limited):
    opt = told(IN_CONTEXT["box"][0])
    for kind in (SliceDisplay, TrackDisplay):
        with pytest.raises(ValueError, match="context"):
            kind.from_optimizer(box, context=[0.3])
    with pytest.raises(ValueError, match="context"):
        OutcomeDisplay.from_optimizer(limited, context=[0.3])
    with pytest.raises(ValueError, match="context"):
        BaselineDisplay.from_optimizer(box, [0.0, 0.0, 5.5], context=[0.3])
    labels = SliceDisplay.from_optimizer(opt, units={"context0": "kW"}).slices
    assert labels[-1].axis.label == "context0 (kW)"
    with pytest.raises(ValueError, match=r"units must be a dict with some of x0, x1, context0"):
        SliceDisplay.from_optimizer(opt, units={"load": "kW"})


def test_no_context_is_recommended(plt):
    axes = TrackDisplay.from_optimizer(told(IN_CONTEXT["box"][0]), n_times=3).plot().axes_
    labels = [{line.get_label() for line in ax.lines} for ax in axes]
    assert ["recommended" in each for each in labels] == [True, True, False]


def test_outcomes_are_predicted_in_the_context_of_each_time():
    domain = {"x": ("real", 0.0, 1.0), "load": Context(0.0, 10.0)}
    opt = WDBO(domain, outcome_constraints={"heat": (None, 19.0)}, random_state=0)
    for t in range(16):
        load = 10.0 * (t % 2)
        x = opt.ask(t, context={"load": load})
        opt.tell(x, x["x"], outcomes={"heat": load + x["x"]})
    (track,) = OutcomeDisplay.from_optimizer(opt, n_times=16).tracks
    assert_allclose(track.mean, track.told, atol=1.5)
    (track,) = OutcomeDisplay.from_optimizer(opt, n_times=16, context={"load": 10.0}).tracks
    assert track.mean.min() > 7.0


# --- outcomes -------------------------------------------------------------------------------------

LIMITS = {"load": (None, 0.8), "objective": (-1.0, None)}


@pytest.fixture(scope="module")
def limited():
    opt = WDBO([(0.0, 1.0)], outcome_constraints=LIMITS, random_state=0)
    for t in range(20):
        x = opt.ask(float(t))
        opt.tell(x, x[0], outcomes={"load": x[0] + 0.2 * np.sin(t / 6.0)})
    return opt


def test_tracks_have_the_probability_that_limits_hold(limited, plt):
    display = TrackDisplay.from_optimizer(limited, n_times=4, n_values=9)
    (track,) = display.tracks
    for j, t in enumerate(display.times):
        X = track.axis.values[:, np.newaxis]
        assert_allclose(track.feasible[:, j], limited.probability_feasible(X, t), rtol=1e-9)
    figure = display.plot().figure_
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "limits hold with less than 0.5" in labels
    # Hatched is what is left of a parameter where they do not, also of one with categories.
    hatched = [part for part in display.axes_[0].collections if part.get_hatch()]
    assert hatched
    safe = limited.with_parameters(safety=0.9, start_points=[[0.1]])
    assert TrackDisplay.from_optimizer(safe, n_times=2, n_values=2).safety == 0.9


def test_categories_are_hatched_by_their_cells(plt):
    limits = {"load": (None, 0.5)}
    domain = {"kind": ["a", "b"], "one": ["z"]}
    opt = WDBO(domain, outcome_constraints=limits, n_initial_points=4, random_state=0)
    for t in range(12):
        x = {"kind": "ab"[t % 2], "one": "z"}
        opt.tell(x, 0.0, t, outcomes={"load": float(t % 2)})
    display = TrackDisplay.from_optimizer(opt, n_times=5)
    low = display.tracks[0].feasible < 0.5
    assert_array_equal(low, np.array([[False] * 5, [True] * 5]))
    ax = display.plot().axes_[0]
    spans = [part.get_paths() for part in ax.collections if part.get_hatch()]
    (path,) = [path for paths in spans for path in paths if len(path.vertices)]
    assert (path.vertices[:, 1].min(), path.vertices[:, 1].max()) == (0.5, 1.5)


def test_outcomes_over_time(limited, plt):
    before = fingerprint(limited)
    display = OutcomeDisplay.from_optimizer(limited, n_times=5, until=25.0, units={"load": "%"})
    assert fingerprint(limited) == before
    load, objective = display.tracks
    assert (load.label, load.low, load.high) == ("load (%)", -np.inf, 0.8)
    assert_array_equal(objective.told, limited.told_y_)
    assert_allclose(load.told, limited.told_X_[:, 0] + 0.2 * np.sin(display.told_at / 6.0))
    x = limited.recommend(25.0)
    found = limited.predict(x, 25.0, True, outcome="load")
    assert_allclose([load.mean[-1], load.std[-1]], found)
    axes = display.plot(c="red").axes_
    assert [ax.get_ylabel() for ax in axes] == ["load (%)", "objective"]
    lines = {line.get_label(): line for line in axes[0].lines}
    assert lines["limit"].get_ydata()[0] == 0.8
    assert lines["predicted where recommended"].get_color() == "red"


def test_displays_do_not_warn_of_limits_at_past_times(limited, tmp_path):
    hard = limited.with_parameters(outcome_constraints={"load": (None, -5.0)})
    with pytest.warns(LimitWarning):
        hard.recommend(19.0)
    makers = [
        lambda: TrackDisplay.from_optimizer(hard, n_times=3),
        lambda: OutcomeDisplay.from_optimizer(hard, n_times=3),
        lambda: SliceDisplay.from_optimizer(hard),
        lambda: BaselineDisplay.from_optimizer(hard, [0.2]),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for make in makers:
            make()


def test_two_limits_have_one_entry_in_the_legend(limited, plt):
    told, times = np.array([0.1, 0.7]), np.array([0.0, 1.0])
    kind = type(OutcomeDisplay.from_optimizer(limited, n_times=2).tracks[0])
    track = kind("load", "load", 0.2, 0.8, told, told, 0.1 * told)
    display = OutcomeDisplay([track], times, times, np.array([True, False])).plot()
    lines = [line for line in display.axes_[0].lines if line.get_linestyle() == "--"]
    assert [line.get_ydata()[0] for line in lines] == [0.2, 0.8]
    labels = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert labels.count("limit") == 1
    found = {line.get_label(): list(line.get_ydata()) for line in display.axes_[0].lines}
    assert (found["kept (1)"], found["removed (1)"]) == ([0.1], [0.7])
