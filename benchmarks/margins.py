"""What a margin near the faces of the box is worth to algorithms other than W-DBO.

    python benchmarks/margins.py FOLDER --replications 2
    python benchmarks/margins.py FOLDER --replications 2 --still

The regret with the default margin in units of that without, on all development problems (see
decisions.py), moving or stopped in the middle of their time; one query every 4 s. FOLDER keeps
finished runs.
"""

import argparse

from _development import development_problems, later_problems
from _still import Still
from decisions import print_table, study

from sktvbo import optimizers

STATIC = ("GPUCB", "IGPUCB")
# W-DBO, BOLT and ABO, which have a narrower bound, are in decisions.py.
MOVING = (*STATIC, "RGPUCB", "ETGPUCB", "BRGPUCB", "SWGPUCB", "WGPUCB", "TVGPUCB", "UITVBO")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="where finished runs are kept")
    parser.add_argument("--replications", type=int, default=2)
    parser.add_argument("--still", action="store_true", help="stop the functions")
    arguments = parser.parse_args()
    found = [*development_problems(), *later_problems()]
    if arguments.still:
        found = [Still(problem) for problem in found]
    compared, units = {}, []
    for name in STATIC if arguments.still else MOVING:
        algorithm = getattr(optimizers, name)
        without = algorithm()._make_acquisition().set_params(margin=0.0)
        pair = algorithm.label, f"{algorithm.label} without"
        compared |= zip(pair, (algorithm(), algorithm(acquisition=without)))
        units.append(pair)
    print_table(study(arguments.folder, 4.0, arguments.replications, compared, found), units)


if __name__ == "__main__":
    main()
