"""Regret of the first queries: designs of the first points, and what earlier runs teach.

    python benchmarks/decisions/earlier.py FOLDER --seeds 6 --queries 48
    python benchmarks/decisions/earlier.py FOLDER --seeds 4 --queries 48 --set held-out
    python benchmarks/decisions/earlier.py FOLDER --kinds taught --designs five default one six
    python benchmarks/decisions/earlier.py FOLDER --designs default six --other-kinds --seeds 2
    python benchmarks/decisions/earlier.py FOLDER --designs five default six --variants

A run has 160 queries on a system of `_systems.py`, which lists the kinds. Cells have the regret
over that of uniform queries ± the standard error over the seeds: of the first 12 queries, of the
first 48, and of the others. A seed is that of the system's typical setting, of the run, and of the
optimizer.

=========  =========================================================================================
Design     First queries
=========  =========================================================================================
five       five points far from each other, the first anywhere: the default before
default    those of W-DBO: three, the first in the middle
one, six   as many earlier runs of 160 queries on systems of the kind (``earlier=``)
=========  =========================================================================================

With ``--other-kinds`` the earlier runs are of each other kind of the same space. With
``--variants`` the new system differs from the earlier ones: y in other units, shifted bounds, twice
the noise, a third of the time scale. Finished runs are stored in FOLDER: the same command resumes.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from _systems import KINDS, N_STEPS, System, regrets_of

from sktvbo import WDBO, RandomSearch
from sktvbo.exceptions import ModelWarning

# Queries of the columns.
PARTS = slice(12), slice(48), slice(48, None)

# Kinds of the tables of earlier runs, and those that share a space.
TAUGHT = (
    "drift", "jump", "delayed", "still", "settles", "level", "daily", "six", "six off", "narrow",
    "mixed", "arms", "limited",
)  # fmt: skip
ALIKE = "drift", "jump", "still", "settles", "level", "narrow", "noisy"

N_EARLIER = {"one": 1, "six": 6}
VARIANTS = {
    "same": {},
    "other units": {"y_scale": 1000.0, "y_offset": -5000.0},
    "shifted bounds": {"bounds": (-0.15, 0.9)},
    "noise": {"noise": 2.0},
    "time scale": {"speed": 3.0},
}
VARIED = "drift", "jump", "settles", "six off"


class Five(WDBO):
    """W-DBO with five first points."""

    _n_spread = 5

    def suggest(self, t=None, context=None, n=None, **options):
        if self.pending_ or self.n_told_ or n is None:
            return super().suggest(t, context=context, n=n, **options)
        known = {name: getattr(self, name) for name in ("domain", "constraints", "random_state")}
        first = self.announce(RandomSearch(**known).ask(t, context=context), t, context=context)
        others = super().suggest(t, context=context, n=n - 1, **options) if n > 1 else []
        return [first, *others]


class Runs:
    """Runs of the benchmark, which are stored in a folder."""

    def __init__(self, folder, held_out, n):
        self.folder, self.held_out, self.n = Path(folder), held_out, n
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = self.folder / f"{'held-out' if held_out else 'development'}.jsonl"
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._done = {tuple(key): values for key, values in map(json.loads, lines)}

    def regrets(self, kind, seed, design, of, variant):
        """Return the regret (n_parts,) over that of uniform queries in each part of a run.

        Parameters
        ----------
        kind : str
        seed : int
        design : str
        of : str
            Kind of the earlier runs, if there are any.
        variant : str
        """
        key = kind, seed, design, of, variant, self.n
        if key not in self._done:
            system = System(kind, seed, 0, self.held_out, **VARIANTS[variant])
            options = dict(system.options)
            if design in N_EARLIER:
                earlier = range(1, 1 + N_EARLIER[design])
                options["earlier"] = [self.earlier(of, seed, i) for i in earlier]
            make = Five if design == "five" else WDBO
            optimizer = make(
                system.domain, constraints=system.constraints, random_state=seed, **options
            )
            regrets, uniform = regrets_of(optimizer, system, self.n), system.uniform[: self.n]
            values = [float(regrets[p].sum() / uniform[p].sum()) for p in PARTS[: self.n_parts]]
            self._done[key] = values
            with self._file.open("a") as stream:
                print(json.dumps([key, values]), file=stream)
        return np.array(self._done[key])

    @property
    def n_parts(self):
        return len(PARTS) if self.n > PARTS[-1].start else len(PARTS) - 1

    def earlier(self, kind, instance, seed):
        """Return an earlier run as JSON."""
        path = self.folder / f"{kind}-{instance}-{seed}-{self.held_out:d}.json"
        if not path.exists():
            system = System(kind, instance, seed, self.held_out)
            random_state = 1000 * instance + seed
            optimizer = WDBO(system.domain, random_state=random_state, **system.options)
            regrets_of(optimizer, system)
            path.write_text(optimizer.to_json())
        return path.read_text()


def table(rows):
    """Print means and errors of rows: names, and arrays (n_designs, n_seeds, n_parts)."""
    for name, values in rows:
        cells = f"{name:26}"
        for runs in values:
            error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else runs * 0.0
            pairs = zip(runs.mean(axis=0), np.ravel(error))
            cells += "  |" + "".join(f" {mean:.3f} ± {e:.3f}" for mean, e in pairs)
        print(cells, flush=True)
        yield np.array([runs.mean(axis=0) for runs in values])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--set", choices=("development", "held-out"), default="development")
    parser.add_argument("--kinds", nargs="+", choices=(*KINDS, "taught"), default=KINDS)
    parser.add_argument(
        "--designs", nargs="+", choices=("five", "default", *N_EARLIER), default=["five", "default"]
    )
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--queries", type=int, default=N_STEPS)
    parser.add_argument("--other-kinds", action="store_true")
    parser.add_argument("--variants", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ModelWarning)
    runs = Runs(arguments.folder, arguments.set == "held-out", arguments.queries)
    kinds = TAUGHT if "taught" in arguments.kinds else arguments.kinds
    cases = [(kind, kind, "same") for kind in kinds]
    if arguments.other_kinds:
        cases = [(kind, of, "same") for kind in ALIKE for of in ALIKE if of != kind]
    elif arguments.variants:
        cases = [(kind, kind, variant) for kind in VARIED for variant in VARIANTS]

    def rows():
        for kind, of, variant in cases:
            name = f"{of} -> {kind}" if of != kind else kind
            name += f", {variant}" if variant != "same" else ""
            values = [
                [
                    runs.regrets(kind, seed, design, of if design in N_EARLIER else kind, variant)
                    for seed in range(arguments.seeds)
                ]
                for design in arguments.designs
            ]
            yield name, np.array(values)

    print(f"{'':26}" + "".join(f"  | {design:43}" for design in arguments.designs))
    means = np.array(list(table(rows())))
    ratios = np.exp(np.log(means / means[:, :1]).mean(axis=0))
    cells = ["".join(f" {ratio:.3f}        " for ratio in each) for each in ratios]
    print(f"{'over the first, geometric':26}" + "".join(f"  |{cell}" for cell in cells))
    worst = (means / means[:, :1]).max(axis=0)
    cells = ["".join(f" {ratio:.3f}        " for ratio in each) for each in worst]
    print(f"{'largest':26}" + "".join(f"  |{cell}" for cell in cells))


if __name__ == "__main__":
    main()
