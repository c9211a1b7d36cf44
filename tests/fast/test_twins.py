"""Each compiled function has a twin, and the two differ."""

from importlib import import_module

import pytest

MODULES = {
    "ascent": ["climb", "model_minimum"],
    "cholesky": ["solve_lower", "append", "drop", "symmetrize", "add_outer", "block_plus"],
    "convolution": ["spatial"],
    "kalman": ["filter", "smooth"],
    "kdpp": ["is_symmetric", "best", "eliminate", "swap_chain"],
    "limits": ["excess", "log_weights", "within"],
    "posterior": ["Posterior", "scores"],
    "series": ["Chains"],
    "sums": ["Sum"],
    "tiles": ["factor", "inverse", "solve_lower", "product", "half_product", "product_with_few"],
}


@pytest.mark.parametrize("module", MODULES)
def test_twins_are_two(module):
    fast, twin = import_module(f"sktvbo._fast.{module}"), import_module(f"twins.{module}")
    for name in MODULES[module]:
        assert getattr(fast, name) is not getattr(twin, name)
    functions = {name for name, value in vars(fast).items() if callable(value) and name[0] != "_"}
    functions = {name for name in functions if getattr(fast, name).__module__ == fast.__name__}
    assert functions - {"Ascents", "Formula", "Limits"} == set(MODULES[module])
