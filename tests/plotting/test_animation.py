"""Animation of a run."""

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from plotting.cases import made_run
from sklearn.base import BaseEstimator

from sktvbo import WDBO, RandomSearch, TimeVaryingGPRegressor, evaluation, problems
from sktvbo.exceptions import AskTellError, DomainError, MissingExtraError
from sktvbo.plotting import animate_run

SHORT = {"horizon": 30.0, "n_initial": 8, "random_state": 3}


@pytest.fixture
def film(camel, plt, tmp_path):
    """Contents of each of three frames."""
    pillow = pytest.importorskip("PIL.Image")
    from matplotlib.animation import PillowWriter

    drawn = []

    def look(i, n):
        ax = plt.gca()
        lines = {line.get_label(): line.get_xydata() for line in ax.lines}
        drawn.append((ax.texts[0].get_text(), lines, ax.collections[1], ax.get_ylim()))

    animation = animate_run(
        WDBO(n_initial_points=8), camel, **SHORT, n_frames=3, n_places=5, time_unit="steps"
    )
    path = tmp_path / "run.gif"
    animation.save(path, writer=PillowWriter(fps=10), dpi=40, progress_callback=look)
    with pillow.open(path) as image:
        assert image.n_frames == 3
    return drawn


def test_animation_shows_the_posterior_at_each_query(film, camel):
    result = evaluation.run(WDBO(n_initial_points=8), camel, **SHORT)
    # The first, middle and last of the 22 queries with a surrogate, at 8 to 29. A shorter run with
    # the same seed ends just before the query.
    before = [
        evaluation.run(WDBO(n_initial_points=8), camel, **SHORT | {"horizon": t}).optimizer
        for t in (8.0, 18.0, 29.0)
    ]
    grid = np.linspace(0.0, 1.0, 5)
    gone = np.zeros((0, 2))
    for (title, lines, dots, _), optimizer, t in zip(film, before, (8, 18, 29), strict=True):
        assert title == f"WDBO on six-hump-camel, t = {t} steps, {len(optimizer.X_)} kept"
        mean = optimizer.surrogate_.predict(np.column_stack([grid, np.full(5, t)]))
        np.testing.assert_allclose(lines["posterior mean"], np.column_stack([grid, mean]))
        truth = camel.values(grid[:, np.newaxis], float(t))
        np.testing.assert_allclose(lines["objective"], np.column_stack([grid, truth]))
        (x_star,), f_star = camel.optimum(t)
        np.testing.assert_allclose(lines["optimum"], [[x_star, f_star]])
        np.testing.assert_array_equal(
            lines["query"], [[result.queries[t, 0], result.observations[t]]]
        )
        X, y = optimizer.X_, optimizer.y_
        np.testing.assert_array_equal(dots.get_offsets(), np.column_stack([X[:, 0], y]))
        # Observations fade over a quarter of the horizon.
        fade = [max(0.15, 1.0 - (t - then) / 7.5) for then in X[:, 1]]
        np.testing.assert_allclose(dots.get_alpha(), fade)
        removed = np.isfinite(optimizer.removed_at_)
        now_gone = np.column_stack([optimizer.told_X_[removed, 0], optimizer.told_y_[removed]])
        if t > 8:
            just = [row for row in now_gone.tolist() if row not in gone.tolist()]
            assert sorted(lines["just removed"].tolist()) == sorted(just)
        gone = now_gone
    assert len(gone) > 0
    assert len({limits for *_, limits in film}) == 1  # all frames have the same scale


def test_animation_band_and_labels(camel, plt, tmp_path):
    _, ax = plt.subplots()
    animation = animate_run(
        WDBO(n_initial_points=8),
        camel,
        **SHORT | {"horizon": 12.0},
        n_frames=1,
        n_places=3,
        value_label="f (V)",
        ax=ax,
    )
    assert ax.has_data()  # before it plays
    animation.save(tmp_path / "run.gif", writer="pillow", dpi=40)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "f (V)")
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    beliefs = {"± 2 s.d.", "posterior mean", "objective", "optimum"}
    assert set(entries) == beliefs | {"kept (pale: old)", "just removed", "query"}
    surrogate = evaluation.run(
        WDBO(n_initial_points=8), camel, **SHORT | {"horizon": 8.0}
    ).optimizer.surrogate_
    mean, std = surrogate.predict([[x, 8.0] for x in (0.0, 0.5, 1.0)], return_std=True)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((mean + 2.0 * std).max())
    assert band.min() == pytest.approx((mean - 2.0 * std).min())


@dataclass(eq=False, repr=False)
class Follower(BaseEstimator):
    """Optimizer of another package with a surrogate, which repeats the best recent query."""

    domain: object = None
    maximize: bool = True
    random_state: int | None = None

    n_removed_ = 0
    X_ = np.empty((0, 2))
    y_ = np.empty(0)

    def ask(self, t=None):
        return self.X_[-5:][np.argmax(self.y_[-5:]), :-1]

    def tell(self, x, y, t=None):
        self.X_, self.y_ = np.vstack([self.X_, np.append(x, t)]), np.append(self.y_, y)
        gp = TimeVaryingGPRegressor(optimizer=None)
        rows = np.column_stack([self.domain.to_unit(self.X_[:, :-1]), self.X_[:, -1]])
        self.surrogate_ = gp.fit(rows, self.y_)


def test_animation_of_any_optimizer_with_a_surrogate(camel, plt, tmp_path):
    options = {"horizon": 9.0, "n_initial": 3, "random_state": 3}
    animation = animate_run(Follower(), camel, **options, n_frames=1, n_places=5)
    animation.save(tmp_path / "run.gif", writer="pillow", dpi=40)
    ax = plt.gca()
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    # The first frame is the second query: the first query was made without a surrogate.
    second = list(evaluation.steps(Follower(), camel, **options))[1]
    assert ax.texts[0].get_text() == "Follower on six-hump-camel, t = 1 s, 1 kept"
    grid = np.linspace(0.0, 1.0, 5)
    mean = second.surrogate.predict(np.column_stack([grid, np.ones(5)]))
    np.testing.assert_allclose(lines["posterior mean"], np.column_stack([grid, mean]))
    np.testing.assert_array_equal(lines["query"], [[second.x[0], second.y]])


def test_animation_over_arms(arms, plt, tmp_path):
    _, problem = arms
    optimizer = WDBO(n_initial_points=5)
    animation = animate_run(optimizer, problem, horizon=9.0, n_initial=5, n_frames=2)
    animation.save(tmp_path / "run.gif", writer="pillow", dpi=40)
    ax = plt.gca()
    assert ax.get_xlim() == (-0.5, 5.5)
    assert ax.get_xlabel() == "index of the arm"
    lines = {line.get_label(): line for line in ax.lines}
    truth = problem.values(problem.domain.points, 8.0)
    # The first and the last arm are drawn as wide as the others.
    np.testing.assert_array_equal(lines["objective"].get_ydata(), truth[[0, *range(6), 5]])
    np.testing.assert_array_equal(lines["objective"].get_xdata()[1:-1], np.arange(6))
    assert lines["optimum"].get_xdata().tolist() == [1]
    assert optimizer.domain is None  # it was cloned


def test_animation_refuses_invalid_arguments(camel, plt):
    with pytest.raises(TypeError, match=r"must be an ask/tell optimizer.*Got .*RunResult"):
        animate_run(made_run([0], [1]), camel)
    with pytest.raises(TypeError, match="problem must be a"):
        animate_run(WDBO(), "six-hump-camel")
    with pytest.raises(DomainError, match=r"of one real dimension, or a FiniteSet. Got Box"):
        animate_run(WDBO(), problems.make("ackley"))
    with pytest.raises(AskTellError, match="RandomSearch with none among 16 queries"):
        animate_run(RandomSearch(), camel, horizon=16.0)
    for name, value in (("n_frames", 0), ("n_places", 1), ("fps", 0.0), ("n_frames", 2.5)):
        with pytest.raises(ValueError, match=f"{name} must be an? .*Got {value}"):
            animate_run(WDBO(), camel, **{name: value})
    assert plt.get_fignums() == []  # no unfinished figure remains


def test_animation_without_matplotlib_fails_before_the_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"animate_run needs .*sktvbo\[plot\]"):
        animate_run(WDBO(), None)
