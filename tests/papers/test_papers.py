"""What all presets have in common."""

import numpy as np
import pytest
from papers.cases import SEEDS, run

from sktvbo.papers._presets import PRESETS


@pytest.mark.parametrize(
    ("preset", "problem", "horizon"),
    [
        pytest.param("wdbo-table2", "wlan", 2.0, marks=pytest.mark.slow),
        pytest.param("bolt-table3", "temperature-field", 5.0, marks=pytest.mark.slow),
        ("tvgp-fig3", "temperature-arms", 20.0),
        pytest.param("tvgp-fig3", "traffic-day-7", 20.0, marks=pytest.mark.slow),
        pytest.param("et-fig3", "temperature-days-4-5", 20.0, marks=pytest.mark.slow),
        pytest.param("et-fig3", "cart-pole", 17.0, marks=pytest.mark.slow),
        ("sparq-fig2", "ozone", 12.0),
        ("sensors", "temperature-arms", 8.0),
        pytest.param("tvgp-fig2", "Matern 5/2, eps=0.03", 4.0, marks=pytest.mark.slow),
        pytest.param("et-fig2", "eps=0.05, believed 0.001", 6.0, marks=pytest.mark.slow),
        ("et-table1", "gp-abrupt", 6.0),
        ("et-table2", "eps=0.01", 6.0),
        pytest.param("sparq-fig1", "moving bump", 14.0, marks=pytest.mark.slow),
    ],
)
def test_presets_run(preset, problem, horizon, data, tmp_path):
    made = PRESETS[preset].task(problem, horizon=horizon, as_published=preset != "sensors")
    comparison = run([made], tmp_path)
    assert comparison.failures == []
    names = PRESETS[preset].algorithms
    assert set(comparison.algorithms) <= {*names, *(f"{name}, as published" for name in names)}
    for runs in comparison.results.values():
        assert [result.seed for result in runs] == SEEDS
        for result in runs:
            assert len(result.times) > result.n_initial
            assert np.isfinite(result.average_regret)


def test_a_preset_is_cut_to_what_is_asked_for():
    made = PRESETS["et-fig3"].task("cart-pole", ["UI-TVBO", "GP-UCB"], 30.0)
    assert list(made.optimizers) == ["UI-TVBO", "GP-UCB"]
    assert made.horizon == 30.0


@pytest.mark.parametrize("name", PRESETS)
def test_tasks_have_the_names_and_the_algorithms_that_the_preset_names(name, data):
    preset = PRESETS[name]
    named = set()
    for problem, make in preset.tasks.items():
        made = make()
        assert made.name == problem
        assert list(made.optimizers) == [a for a in preset.algorithms if a in made.optimizers]
        assert set(made.as_published) <= set(made.optimizers)
        named |= set(made.optimizers)
    assert named == set(preset.algorithms)
    assert preset.rival in (None, *preset.algorithms)


def test_seeds_are_counted_or_drawn():
    assert PRESETS["et-table1"].seeds(2, 3) == [2, 3, 4]
    drawn = np.random.RandomState(2).randint(np.iinfo(np.int32).max, size=3).tolist()
    assert PRESETS["wdbo-table2"].seeds(2, 3) == drawn
