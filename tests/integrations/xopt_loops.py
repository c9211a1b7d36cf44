"""Loops of Xopt around the generator, each a function, for an environment with Xopt and torch.

``python xopt_loops.py limits FOLDER`` runs the function ``limits`` and prints its results as JSON.
"""

import json
import os
import signal
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

# Evaluation during which the process is killed.
FATAL = 12


@dataclass
class Machine:
    """A beam size whose best setting drifts, and follows the temperature of the air.

    Evaluation number ``trip`` raises an error, and number ``death`` kills the process; 0 is none.
    """

    air: float = 0.0
    trip: int = 0
    death: int = 0
    n: int = 0

    def __call__(self, inputs):
        self.n += 1
        if self.n == self.trip:
            raise RuntimeError("trip")
        if self.n == self.death:
            os.kill(os.getpid(), signal.SIGKILL)
        air = 20.0 + self.air * ((self.n * 7) % 11) / 11
        best = 0.2 + 0.01 * self.n + 0.02 * (air - 20.0)
        size = 1.0 + (inputs["x"] - best) ** 2 + 0.1 * (inputs.get("k", 2) - 2) ** 2
        loss = inputs["x"] - 0.5
        return {"f": size, "loss": loss, "air": air, "best": best}


def generator_of(fields=None, journal=None):
    from gest_api.vocs import VOCS

    from sktvbo import WDBO
    from sktvbo.integrations.gest import TimeVaryingGenerator

    fields = {"variables": {"x": [0.0, 1.0]}, "objectives": {"f": "MINIMIZE"}} | (fields or {})
    optimizer = WDBO(clock="step", random_state=0, journal=journal)
    return TimeVaryingGenerator(VOCS(**fields), optimizer)


def measure(inputs):
    """Evaluate the machine: a function of the module, which a dump can name."""
    return measure.machine(inputs)


def xopt_of(generator, machine=None, **options):
    from xopt import Evaluator, Xopt

    measure.machine = machine or Machine()
    return Xopt(generator=generator, evaluator=Evaluator(function=measure), **options)


def alone(folder):
    """Names of heavy packages that the generator imports."""
    generator_of().suggest(1)
    return sorted({"torch", "botorch", "xopt"} & sys.modules.keys())


def limits(folder):
    """A constraint, a context, a discrete variable, a constant, an observable and a failure."""
    from gest_api.vocs import ContextualVariable

    air = ContextualVariable(domain=[20.0, 25.0])
    fields = {
        "variables": {"x": [0.0, 1.0], "k": {1, 2, 3}, "air": air},
        "constraints": {"loss": ["LESS_THAN", 0.0]},
        "constants": {"charge": 0.5},
        "observables": ["best"],
    }
    X = xopt_of(generator_of(fields), Machine(air=5.0, trip=6), strict=False)
    for _ in range(40):
        X.step()
    X.evaluate_data([{"x": 0.25, "k": 2, "charge": 0.5}, {"x": 0.75, "k": 3, "charge": 0.5}])
    optimizer, late = X.generator.optimizer, X.data[25:40]
    return {
        "told": optimizer.n_told_,
        "failed": optimizer.n_failed_,
        "pending": len(optimizer.pending_),
        "violations": int((late["loss"] > 0.02).sum()),
        "k": late["k"].mode().tolist(),
        "contexts": optimizer.told_X_[:, 2].tolist(),
        "measured": X.data["air"].dropna().tolist(),
    }


def dump(folder):
    """A run restored from a YAML file, without and with a journal."""
    from xopt import Xopt
    from xopt.generators import generators

    from sktvbo.integrations.gest import TimeVaryingGenerator

    generators[TimeVaryingGenerator.name] = TimeVaryingGenerator
    fields = {"constraints": {"loss": ["BOUNDS", -1.0, 0.0]}}
    whole = xopt_of(generator_of(fields), Machine(trip=4), strict=False)
    for _ in range(16):
        whole.step()
    found = {"expected": whole.data["x"].tolist()[-1]}
    for name, journal in (("yaml", None), ("journal", folder / "dump.db")):
        options = {"strict": False, "xopt_dump_file": str(folder / f"{name}.yml")}
        X = xopt_of(generator_of(fields, journal), Machine(trip=4), **options)
        for _ in range(15):
            X.step()
        X.generator.finalize()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loaded = Xopt.from_file(X.xopt_dump_file)
        optimizer = loaded.generator.optimizer
        counts = [len(loaded.data), optimizer.n_told_, optimizer.n_failed_]
        loaded.step()
        found[name] = {"counts": counts, "x": loaded.data["x"].tolist()[-1]}
        loaded.generator.finalize()
    return found


def kill(folder):
    """A run in a journal that is killed by the system during an evaluation."""
    X = xopt_of(generator_of(journal=folder / "run.db"), Machine(death=FATAL))
    while True:
        X.step()


def restart(folder):
    """The same run, which answers the pending suggestion; and one that nobody killed."""
    from sktvbo import Journal

    generator = generator_of(journal=Journal(folder / "run.db", resume=True))
    (pending,) = generator.optimizer.pending_
    told = generator.optimizer.n_told_
    X = xopt_of(generator, Machine(n=FATAL - 1))
    X.evaluate_data([{**pending.x, "_id": pending.id}])
    for _ in range(8):
        X.step()
    whole = xopt_of(generator_of())
    for _ in range(FATAL + 8):
        whole.step()
    return {"told": told, "x": X.data["x"].tolist(), "expected": whole.data["x"].tolist()}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](Path(sys.argv[2]))))
