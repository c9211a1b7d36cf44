"""What importing costs, in milliseconds and bytes; theirs: sklearn.gaussian_process.

CPU time. One process after another imports the one, then what the other adds: two processes differ
by more than that.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from _timing import header, report

import sktvbo

THEIRS = "import sklearn.gaussian_process"
STATEMENTS = {
    "sktvbo": "import sktvbo",
    "sktvbo, a regressor": "from sktvbo import TimeVaryingGPRegressor",
    "sktvbo, an optimizer": "from sktvbo import WDBO",
}
ROUNDS = 9


def cpu_seconds(*statements):
    """CPU time of each of some statements in a fresh process, which reads compiled modules."""
    code = "from time import process_time as t\ntimes = [t()]\n"
    code += "".join(f"{statement}\ntimes.append(t())\n" for statement in statements)
    code += "print(*times)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return np.diff([float(time) for time in done.stdout.split()])


def size_of(folder):
    """Bytes of the compiled modules, and of everything but caches."""
    files = [p for p in Path(folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    compiled = [p for p in files if p.suffix in (".so", ".pyd")]
    return [sum(p.stat().st_size for p in some) for some in (compiled, files)]


def main():
    header("Importing")
    cpu_seconds(THEIRS, *STATEMENTS.values())
    found = np.array([cpu_seconds(THEIRS, *STATEMENTS.values()) for _ in range(ROUNDS)])
    found[:, 1] = [cpu_seconds(STATEMENTS["sktvbo"])[0] for _ in range(ROUNDS)]
    theirs, alone, *more = found.T
    regressor = theirs + alone + more[0]
    for name, ours in zip(STATEMENTS, (alone, regressor, regressor + more[1])):
        print(f"{name:24}{report(ours, theirs)}   part of theirs {np.median(ours / theirs):.2f}")
    import sklearn

    for package in (sktvbo, sklearn):
        compiled, everything = size_of(Path(package.__file__).parent)
        print(
            f"{package.__name__:24}{compiled / 1e6:.1f} MB compiled, {everything / 1e6:.1f} in all"
        )


if __name__ == "__main__":
    main()
