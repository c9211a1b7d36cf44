"""What importing costs, in milliseconds and bytes; theirs: sklearn.gaussian_process."""

import subprocess
import sys
from pathlib import Path

import numpy as np
from _timing import header, report

import sktvbo

STATEMENTS = {
    "sktvbo": "import sktvbo",
    "sktvbo, a regressor": "from sktvbo import TimeVaryingGPRegressor",
    "sktvbo, an optimizer": "from sktvbo import WDBO",
}
THEIRS = "import sklearn.gaussian_process"


def cpu_seconds(statement):
    """CPU time of a statement in a fresh process."""
    code = f"from time import process_time as t; a = t(); {statement}; print(t() - a)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def size_of(folder):
    """Bytes of the compiled modules, and of everything but caches."""
    files = [p for p in Path(folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    compiled = [p for p in files if p.suffix in (".so", ".pyd")]
    return [sum(p.stat().st_size for p in some) for some in (compiled, files)]


def main():
    header("Importing")
    for name, statement in STATEMENTS.items():
        pairs = [(cpu_seconds(statement), cpu_seconds(THEIRS)) for _ in range(9)]
        print(f"{name:24}{report(*np.array(pairs).T)}")
    import sklearn

    for package in (sktvbo, sklearn):
        compiled, everything = size_of(Path(package.__file__).parent)
        print(
            f"{package.__name__:24}{compiled / 1e6:.1f} MB compiled, {everything / 1e6:.1f} in all"
        )


if __name__ == "__main__":
    main()
