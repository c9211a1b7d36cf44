"""Energy lost by tracking the maximum power point of a partly shaded string, one query a minute.

    python benchmarks/decisions/power_tracking.py FOLDER
    python benchmarks/decisions/power_tracking.py FOLDER --set held-out --replications 3
    python benchmarks/decisions/power_tracking.py FOLDER --tune     # settings of the practitioners

The string, its weather and its shade are those of `_photovoltaics.py`; needs pvlib. The control is
the voltage, in [0.3, 1] of the open-circuit voltage; a reading is the power averaged over a minute,
with noise of 0.2 % of the rated power. A run is a day that starts cold: all minutes count, from the
first one. The seed of a replication is that of the clouds, of the noise and of the controller;
seeds are 0, 1, and so on. The columns have the energy lost, in percent of that of the true maximum
of each minute: means over the days of a season, and of the year ± their standard error over the
days. A day is the mean of its replications.

Development days are the 8th and the 22nd of the middle months of the seasons; held-out days are the
11th of the first month and the 4th and the 25th of the last month. The settings of perturb and
observe, extremum seeking and the constant voltage are the best ones of --tune, which tries a grid
on the development days with seed 0. Finished runs are stored in FOLDER: the same command resumes.
The store does not know the constants of `_photovoltaics.py`: with others, use another FOLDER.
"""

import argparse
import functools
import itertools
import sys
from pathlib import Path

import numpy as np
from _photovoltaics import BOX, GRID, day
from joblib import parallel_config

from sktvbo import GPUCB, TVGPUCB, WDBO, RandomSearch, evaluation

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from _stored import compare

SETS = {
    "development": {
        "winter": ("01-08", "01-22"),
        "spring": ("04-08", "04-22"),
        "summer": ("07-08", "07-22"),
        "autumn": ("10-08", "10-22"),
    },
    "held-out": {
        "winter": ("12-11", "02-04", "02-25"),
        "spring": ("03-11", "05-04", "05-25"),
        "summer": ("06-11", "08-04", "08-25"),
        "autumn": ("09-11", "11-04", "11-25"),
    },
}

# First voltage of the practitioners' controllers: the usual fraction of that of an open circuit.
START = 0.8


class Constant:
    """The same voltage all day."""

    def __init__(self, voltage=0.78):
        self.voltage = voltage

    def ask(self, t):
        return np.array([self.voltage])

    def tell(self, x, y, t):
        pass


class PerturbAndObserve(Constant):
    """A step of fixed length a minute, in the other direction when the power fell."""

    def __init__(self, step=0.01):
        super().__init__(START)
        self.step, self.power = step, -np.inf

    def tell(self, x, y, t):
        low, high = BOX[0]
        if y < self.power or not low < self.voltage < high:
            self.step = -self.step
        self.power, self.voltage = y, np.clip(self.voltage + self.step, low, high)


class ExtremumSeeking(Constant):
    """A sinusoid around a voltage that integrates its product with the high-passed power.

    Powers are in units of the largest one so far. Each minute the voltage moves by ``gain`` times
    the estimated slope. The time constant of the high-pass filter is ``washout`` periods.
    """

    def __init__(self, amplitude=0.03, period=3.0, gain=0.003, washout=0.25):
        super().__init__(START)
        self.amplitude, self.gain = amplitude, gain
        self.rate, self.keep = 2.0 * np.pi / period, np.exp(-1.0 / (washout * period))
        self.scale, self.low_passed = 0.0, None

    def ask(self, t):
        return np.clip([self.voltage + self.amplitude * np.sin(self.rate * t)], *BOX[0])

    def tell(self, x, y, t):
        self.scale = max(self.scale, y, 1e-9)
        if self.low_passed is None:
            self.low_passed = y
        self.low_passed += (1.0 - self.keep) * (y - self.low_passed)
        slope = 2.0 / self.amplitude * np.sin(self.rate * t) * (y - self.low_passed) / self.scale
        self.voltage = np.clip(self.voltage + self.gain * slope, *BOX[0])


CONTROLLERS = {
    "W-DBO, max_step": WDBO(max_step=0.05),
    "W-DBO": WDBO(),
    "TV-GP-UCB": TVGPUCB(),
    "GP-UCB": GPUCB(),
    "perturb and observe": PerturbAndObserve(),
    "extremum seeking": ExtremumSeeking(),
    "constant": Constant(),
    "random": RandomSearch(),
}

# Settings that --tune compares.
GRIDS = {
    Constant: {"voltage": GRID[::10].tolist()},
    PerturbAndObserve: {"step": (0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.08)},
    ExtremumSeeking: {
        "amplitude": (0.01, 0.02, 0.03),
        "period": (3.0, 4.0, 6.0),
        "gain": (0.0001, 0.0003, 0.001, 0.003),
        "washout": (0.25, 0.5, 1.0, 2.0),
    },
}


def energy_lost(make_controller, days, seed=0, *, label="controller", store=None, jobs=1):
    """Return the energy lost (days,) in percent of that of the true maximum of each minute.

    Parameters
    ----------
    make_controller : Optimizer, or function (domain, random_state) that makes one
        An optimizer of this package, which is cloned, or any object with ``ask(t)`` and
        ``tell(x, y, t)``, where x is an array with the voltage in units of the reference.
    days : sequence of str
        Months and days, such as "07-22".
    seed : int, default=0
        Seed of clouds, noise and controller.
    label, store, jobs
        Name of the controller in the store, the folder of the store, and parallel jobs.
    """
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = compare(
            {label: make_controller},
            {date: functools.partial(day, date) for date in days},
            clock=evaluation.StepClock(),
            n_initial=0,
            seeds=[seed],
            n_jobs=jobs,
            store=store,
            on_error="raise",
        )
    lost = [comparison.results[label, date][0].regrets.sum() for date in days]
    return 100.0 * np.array(lost) / [day(date, seed).energy() for date in days]


def tune():
    """Print the three best settings of each practitioners' controller, and what they lose."""
    days = [date for season in SETS["development"].values() for date in season]
    for kind, grid in GRIDS.items():
        settings = [dict(zip(grid, each)) for each in itertools.product(*grid.values())]
        found = [energy_lost(kind(**setting), days).mean() for setting in settings]
        for i in np.argsort(found)[:3]:
            print(f"{kind.__name__:20}{found[i]:8.2f}  {settings[i]}", flush=True)


def table(arguments):
    """Print the energy lost by each controller."""
    seasons = SETS[arguments.set]
    days = [date for season in seasons.values() for date in season]
    options = {"store": Path(arguments.folder, arguments.set), "jobs": arguments.jobs}
    print(f"{'energy lost (%)':22}" + "".join(f"{name:>9}" for name in (*seasons, "year")))
    for label in arguments.controllers:
        runs = [
            energy_lost(CONTROLLERS[label], days, seed, label=label, **options)
            for seed in range(arguments.replications)
        ]
        lost = np.mean(runs, axis=0)
        means = (*lost.reshape(len(seasons), -1).mean(axis=1), lost.mean())
        error = lost.std(ddof=1) / np.sqrt(len(lost))
        print(f"{label:22}" + "".join(f"{mean:9.2f}" for mean in means) + f" ± {error:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--set", choices=SETS, default="development")
    parser.add_argument("--tune", action="store_true", help="compare settings instead")
    parser.add_argument("--controllers", nargs="+", choices=CONTROLLERS, default=list(CONTROLLERS))
    parser.add_argument("--replications", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.tune:
        tune()
    else:
        table(arguments)


if __name__ == "__main__":
    main()
