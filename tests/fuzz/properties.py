"""Try a property on inputs that reach new lines of the package, for a while.

    python tests/fuzz/properties.py test_files.test_a_journal_of_any_bytes_is_refused --seconds 60
    python tests/fuzz/properties.py --list

Inputs are chosen by the lines that they reach: pip install atheris.
What fails is worth an ``@example`` beside the property.
"""

import argparse
import importlib
import os
import random
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def properties():
    """Names of all properties, and what imports them."""
    # This file has the name of the folder, and stands before it.
    sys.path[:] = [str(TESTS), *(entry for entry in sys.path if Path(entry) != TESTS / "fuzz")]
    for path in sorted((TESTS / "properties").glob("test_*.py")):
        module = importlib.import_module(f"properties.{path.stem}")
        for name, thing in vars(module).items():
            if hasattr(thing, "hypothesis"):
                yield f"{path.stem}.{name}", thing.hypothesis


def main():
    import atheris  # changes how modules are imported

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="?", help="MODULE.PROPERTY; all in turn when left out")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each property")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    arguments = parser.parse_args()
    with atheris.instrument_imports(include=["sktvbo", "properties"]):
        known = dict(properties())
    if arguments.list:
        print("\n".join(known))
        return
    if arguments.name is None:
        # The fuzzer ends its process: each property has one of its own.
        for name in known:
            command = [sys.executable, __file__, name, "--seconds", str(arguments.seconds)]
            if code := os.spawnv(
                os.P_WAIT, sys.executable, [*command, "--seed", str(arguments.seed)]
            ):
                sys.exit(code)
        return
    print(f"{arguments.name}, seed {arguments.seed}", flush=True)
    try_one = known[arguments.name].fuzz_one_input
    options = [f"-max_total_time={arguments.seconds:g}", f"-seed={arguments.seed or 1}"]
    options += ["-max_len=4096", "-len_control=0", "-verbosity=0", "-print_final_stats=1"]
    # Without some bytes to begin with, nothing can be drawn from an input.
    corpus, rng = Path(tempfile.mkdtemp()), random.Random(arguments.seed)
    for i in range(20):
        (corpus / str(i)).write_bytes(rng.randbytes(1024))
    atheris.Setup([sys.argv[0], *options, str(corpus)], try_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
