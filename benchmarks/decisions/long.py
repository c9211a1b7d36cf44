"""Long runs: rows, time, memory and regret of each thousand steps.

    python benchmarks/decisions/long.py --steps 20000
    python benchmarks/decisions/long.py --steps 3000 --systems circle-90 still --seeds 2
    python benchmarks/decisions/long.py --variants default unlimited BOLT --steps 5000
    python benchmarks/decisions/long.py --systems still --variants random --steps 200000 --journal
    python benchmarks/decisions/long.py --systems walk --steps 20000 --journal

A run has one query a step, at equal intervals, with noise of 0.05. For each part of the run
(``--part`` steps) it prints the rows of the data set at its end, the median and the 99th percentile
of the processor time of a step in milliseconds (``ask`` and ``tell``), the memory of the process at
its end, and the mean regret; a better value beyond a limit has none. With ``--journal`` the run has
one, and its size follows, with the seconds of what reads the whole history. Each run has a process
of its own.

The value is 1 less the squared distance from a best place, in units of 0.35 (in more than two
parameters of 0.35 √(d/2)).

============  ======================================================================================
System        What the best place does
============  ======================================================================================
circle-P      goes round the middle in P steps, with two parameters
one-P, six-P  the same with one parameter, and with six, two of which move
walk          takes steps of 0.02, reflected at the faces
jumps         jumps every 150 steps
level         walks as above, slower, while a level of all values takes steps of 0.1
still         nothing, for the whole run
regimes       stands still for half of the run, then goes round in 90 steps
daily         goes round in 144 steps and the values have the same period: a season, not told
season        the same, told
arms          one of 12 arms, whose values go up and down in 200 to 800 steps
mixed         walks; two reals, an integer and a category
late          goes round in 251 steps; each answer is told five steps later
constraint    goes round in 90 steps; inputs with a sum above 1.2 are excluded by a constraint
limit         the same with a limit of a measured outcome, the sum with noise of 0.02
angle         goes round in 251 steps, an angle and a real
context       goes round in 251 steps, beside a load that raises all values and moves the best place
============  ======================================================================================
"""

import argparse
import gc
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import LinearConstraint

from sktvbo import BOLT, TVGPUCB, WDBO, RandomSearch
from sktvbo import journal as journals
from sktvbo.domain import Arms, Context
from sktvbo.exceptions import ModelWarning

NOISE, WIDTH, DAY, DELAY, N_ARMS, LARGEST_SUM = 0.05, 0.35, 144.0, 5, 12, 1.2
REAL = ("real", 0.0, 1.0)
SYSTEMS = ("circle-63", "circle-90", "circle-251", "circle-330", "circle-942")
SYSTEMS += ("one-251", "six-251", "walk", "jumps", "level", "still", "regimes", "daily", "season")
SYSTEMS += ("arms", "mixed", "late", "constraint", "limit", "angle", "context")
VARIANTS = {
    "default": (WDBO, {}),
    "max_size=150": (WDBO, {"max_size": 150}),
    "max_size=300": (WDBO, {"max_size": 300}),
    "unlimited": (WDBO, {"max_size": None}),
    "alpha=0.05": (WDBO, {"alpha": 0.05, "max_size": None}),
    "BOLT": (BOLT, {}),
    "TV-GP-UCB-300": (TVGPUCB, {"max_size": 300}),
    "random": (RandomSearch, {}),
}


class System:
    """A system of one kind: the value at a point and a step, and the largest one."""

    def __init__(self, kind, n_steps, seed):
        self.kind, _, period = kind.partition("-")
        rng, self.options, self.d = np.random.RandomState(seed), {}, 2
        self.noise, self.level = np.random.RandomState(seed + 1000), np.zeros(n_steps)
        phases, self.depth, t = rng.uniform(0.0, 2.0 * np.pi, 2), None, np.arange(n_steps)
        if self.kind in ("one", "six"):
            self.d = {"one": 1, "six": 6}[self.kind]
        known = {"daily": DAY, "season": DAY} | dict.fromkeys(("late", "angle", "context"), 251.0)
        period = float(period or known.get(kind, 90.0))
        circle = 0.3 * np.sin(2.0 * np.pi * t[:, np.newaxis] / period + phases + [0.0, 1.0])
        walk = 0.004 if kind == "level" else 0.02
        if self.kind in ("walk", "level", "mixed"):
            steps = walk * rng.normal(size=(n_steps, 2))
            moves = np.abs(rng.uniform(size=2) + np.cumsum(steps, axis=0))
            circle = 0.8 * (1.0 - np.abs(1.0 - moves % 2.0)) - 0.4
        elif kind == "jumps":
            circle = rng.uniform(-0.4, 0.4, (n_steps // 150 + 1, 2))[t // 150]
        elif kind == "still":
            circle = np.full((n_steps, 2), rng.uniform(-0.3, 0.3, 2))
        elif kind == "regimes":
            circle[: n_steps // 2] = circle[n_steps // 2]
        self.centre = np.full((n_steps, self.d), 0.5)
        self.centre[:, : min(self.d, 2)] += circle[:, : min(self.d, 2)]
        self.width = WIDTH * max(np.sqrt(self.d / 2.0), 1.0)
        if kind == "level":
            self.level = np.cumsum(0.1 * rng.normal(size=n_steps))
        elif kind == "context":
            load = 0.5 + 0.3 * np.sin(2.0 * np.pi * t / 37.0) + 0.1 * rng.normal(size=n_steps)
            self.load = np.clip(load, 0.0, 1.0)
            self.centre[:, 0] += 0.3 * (self.load - 0.5)
            self.level = 2.0 * self.load
        elif kind in ("daily", "season"):
            self.level = np.sin(2.0 * np.pi * t / DAY + phases[0])
        if kind == "season":
            self.options = {"seasonal_periods": DAY}
        elif kind == "mixed":
            self.depth = np.round(4.0 + 3.0 * np.sin(2.0 * np.pi * t / 700.0))
        elif kind == "constraint":
            self.options = {"constraints": LinearConstraint(np.ones((1, 2)), ub=LARGEST_SUM)}
        elif kind == "limit":
            self.options = {"outcome_constraints": {"sum": (None, LARGEST_SUM)}}
        periods = rng.uniform(200.0, 800.0, N_ARMS)
        self.of_arms = np.sin(2.0 * np.pi * t[:, np.newaxis] / periods + rng.uniform(0, 6, N_ARMS))

    @property
    def domain(self):
        if self.kind == "arms":
            return Arms(N_ARMS)
        if self.kind == "mixed":
            ways = ("categorical", ["short", "long"])
            return {"a": REAL, "b": REAL, "depth": ("integer", 1, 8), "way": ways}
        if self.kind == "context":
            return {"a": REAL, "b": REAL, "load": Context(0.0, 1.0)}
        if self.kind == "angle":
            return {"angle": ("cyclic", 0.0, 1.0), "b": REAL}
        return [(0.0, 1.0)] * self.d

    def value(self, x, t):
        if self.kind == "arms":
            return self.of_arms[t, int(x[0])]
        place, penalty = x, 0.0
        if self.kind in ("mixed", "context"):
            place = np.array([x["a"], x["b"]])
        elif self.kind == "angle":
            turn = (x["angle"] - self.centre[t, 0] + 0.5) % 1.0 - 0.5
            place = np.array([self.centre[t, 0] + turn, x["b"]])
        if self.kind == "mixed":
            penalty = 0.05 * (x["depth"] - self.depth[t]) ** 2 + 0.5 * (x["way"] == "short")
        square = (((place - self.centre[t]) / self.width) ** 2).sum()
        return 1.0 - square - penalty + self.level[t]

    def best(self, t):
        if self.kind == "arms":
            return self.of_arms[t].max()
        beyond = 0.0
        if self.kind in ("constraint", "limit"):
            beyond = max(self.centre[t].sum() - LARGEST_SUM, 0.0) / self.width
        return 1.0 - 0.5 * beyond**2 + self.level[t]

    def context(self, t):
        """Return the context of a step, as an argument of ``suggest`` and ``tell``."""
        return {"context": {"load": self.load[t]}} if self.kind == "context" else {}

    def outcomes(self, x):
        """Return the measured outcomes, as an argument of ``tell``."""
        if self.kind != "limit":
            return {}
        return {"outcomes": {"sum": x.sum() + 0.02 * self.noise.normal()}}


def megabytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 2**20


def run(system, variant, n_steps, seed, part, journal):
    """Print what a run costs and loses in each of its parts."""
    made, options = VARIANTS[variant]
    problem = System(system, n_steps, seed)
    options = options | problem.options | ({"journal": journal} if journal else {})
    optimizer = made(problem.domain, random_state=seed, **options)
    delay, answers, times, regrets = DELAY if system == "late" else 0, [], [], []
    for t in range(n_steps):
        start = time.process_time()
        query = optimizer.suggest(float(t), **problem.context(t))
        times.append(time.process_time() - start)
        value = problem.value(query.x, t)
        regrets.append(max(problem.best(t) - value, 0.0))
        answers.append((query, value + NOISE * problem.noise.normal()))
        if t >= delay:
            start = time.process_time()
            query, y = answers.pop(0)
            optimizer.tell(query, y, t=query.t, **problem.outcomes(query.x))
            times[-1] += time.process_time() - start
        if (t + 1) % part == 0:
            median, worst = 1e3 * np.quantile(times[-part:], [0.5, 0.99])
            print(
                f"{system:11}{variant:14}{seed:3}{t + 1:7}{len(optimizer.y_):6} rows"
                f"{median:7.1f}{worst:7.1f} ms{megabytes():7.0f} MB"
                f"  {np.mean(regrets[-part:]):.4f}",
                flush=True,
            )
    if journal:
        print_storage(optimizer, journal)


def print_storage(optimizer, path):
    """Print sizes and seconds of what reads or writes a whole run, and of a tell after resuming."""
    frame, in_frame = timed(optimizer.to_frame)
    text, in_writing = timed(optimizer.to_json)
    _, in_reading = timed(type(optimizer).from_json, text)
    optimizer.close()
    _, in_check = timed(journals.check, path)
    resumed, in_resume = timed(type(optimizer).resume, path)
    _, in_tell = timed(lambda: resumed.tell(resumed.ask(), 0.0))
    resumed.close()
    print(
        f"  journal {path.stat().st_size / 2**20:.1f} MB, checked in {in_check:.1f} s, resumed in "
        f"{in_resume:.2f} s, then a step {in_tell:.2f} s; JSON {len(text) / 2**20:.1f} MB, written "
        f"in {in_writing:.2f} s, read in {in_reading:.2f} s; to_frame {len(frame)} rows in "
        f"{in_frame:.2f} s",
        flush=True,
    )


def timed(function, *arguments):
    """Return the value of a call, and its seconds of processor time."""
    start = time.process_time()
    value = function(*arguments)
    return value, time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=["default"])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--part", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--journal", action="store_true")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ModelWarning)
    for system in arguments.systems:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            for variant in arguments.variants:
                known = arguments.steps, seed, arguments.part
                if arguments.here:
                    with tempfile.TemporaryDirectory() as folder:
                        path = Path(folder) / "run.db" if arguments.journal else None
                        run(system, variant, *known, path)
                    continue
                command = [sys.executable, __file__, "--here", "--systems", system]
                command += ["--variants", variant, "--steps", str(known[0])]
                command += ["--first-seed", str(seed), "--part", str(known[2])]
                command += ["--journal"] * arguments.journal
                subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
