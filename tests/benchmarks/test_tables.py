"""The beginning of each paper's tables: the algorithms as published repeat their runs."""

import json
from pathlib import Path

import pytest
from _presets import PRESETS
from _tasks import AS_PUBLISHED, run
from datasets import MissingDataError

# Average regrets of one run each.
TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table['preset']}-{table['problem']}")
def test_tables_are_repeated(table, tmp_path):
    preset, regrets = PRESETS[table["preset"]], table["regrets"]
    try:
        task = preset.task(table["problem"], list(regrets), table["horizon"], as_published=True)
    except MissingDataError as exc:
        pytest.skip(str(exc))
    task.optimizers = {name: task.optimizers[name + AS_PUBLISHED] for name in regrets}
    results = run([task], [3], n_jobs=1, store=tmp_path, report=str).results
    found = {name: results[name, task.name][0].average_regret for name in regrets}
    assert found == pytest.approx(regrets, rel=1e-4)


def test_every_preset_with_algorithms_as_published_is_there():
    assert {table["preset"] for table in TABLES} == PRESETS.keys() - {"sensors"}
