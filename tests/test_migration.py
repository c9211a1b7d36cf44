"""The programs side by side: ours run here, theirs where their package is installed."""

import re
import textwrap
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "migration.rst").read_text(encoding="utf-8")
FIRST = re.search(r"\.\. code-block:: python\n\n((?:   .*\n|\n)+)", PAGE)[1]
# (whose, code), theirs before ours.
PROGRAMS = [
    (whose, textwrap.dedent(code))
    for whose, code in re.findall(
        r"      \*\*(.+)\*\*\n\n      \.\. code-block:: python\n\n((?:         .*\n|\n)+)", PAGE
    )
]
MODULES = {
    "wdbo-algo": "wdbo_algo",
    "scikit-optimize": "skopt",
    "Optuna": "optuna",
    "bayesian-optimization": "bayes_opt",
    "Xopt": "xopt",
    "river": "river",
    "scikit-learn": "sklearn",
    "sktvbo": "sktvbo",
}


def test_all_programs_are_found():
    assert {whose for whose, _ in PROGRAMS} == set(MODULES)
    assert [whose for whose, _ in PROGRAMS[1::2]] == ["sktvbo"] * (len(PROGRAMS) // 2)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("whose", "code"), PROGRAMS, ids=[f"{whose}-{i // 2}" for i, (whose, _) in enumerate(PROGRAMS)]
)
def test_it_runs(whose, code):
    if "import optuna" in code:
        pytest.importorskip("optuna")
    needed = [MODULES[whose], *(["torch"] * ("GPSampler" in code)), *(["xopt"] * ("xopt" in code))]
    if any(find_spec(name) is None for name in needed):
        pytest.skip(f"{' or '.join(needed)} is not installed")
    names = {"__name__": "__main__"}
    exec(textwrap.dedent(FIRST), names)
    exec(compile(code, whose, "exec"), names)
    if "mean" in names:
        assert abs(names["mean"][0] - 20.0) < 20.0
        assert np.isfinite(names["std"][0])
    if whose == "sktvbo" and "best" in names:
        best = names["best"]
        place = next(iter(best.values())) if isinstance(best, dict) else best[0]
        assert np.isfinite(place)
