"""The recipe of a release: version and checksum of a source distribution filled in, printed."""

import hashlib
import re
import sys
from pathlib import Path


def filled(recipe, archive):
    """The recipe's text with the version and the checksum of an archive sktvbo-VERSION.tar.gz."""
    archive = Path(archive)
    version = archive.name.removeprefix("sktvbo-").removesuffix(".tar.gz")
    values = {"version": version, "sha256": hashlib.sha256(archive.read_bytes()).hexdigest()}
    for name, value in values.items():
        recipe, n = re.subn(rf'^  {name}: ".*"$', f'  {name}: "{value}"', recipe, flags=re.M)
        if n != 1:
            raise ValueError(f"the recipe must have one line for the {name}. Got {n} instead.")
    return recipe


if __name__ == "__main__":
    recipe = Path(__file__).with_name("recipe.yaml").read_text(encoding="utf-8")
    print(filled(recipe, sys.argv[1]), end="")
