"""Files that are complete or absent, and say whether they are still what was written."""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path

_SEAL = "sha256"

# A part of a file is written in seconds: one as old as this was left by a process that is no more.
_FORGOTTEN = 3600.0


@contextlib.contextmanager
def replacing(path):
    """Path of a new file, which takes the place of that at ``path`` once it is on the disk.

    Neither readers nor a crash ever meet half a file. After an error the old one is as it was, and
    nothing is left of the new one.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def remove_forgotten_parts(folder):
    """Remove what killed processes have left of files that they had not finished."""
    for part in Path(folder).glob(".*.part"):
        with contextlib.suppress(OSError):  # it is another process', which has just finished it
            if time.time() - part.stat().st_mtime > _FORGOTTEN:
                part.unlink()


def write_json(path, content):
    """Write all or nothing; NaN and infinity, which JSON does not have, are a ValueError."""
    text = json.dumps(content, allow_nan=False)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def read_json(path):
    """The content of a file, in which NaN and infinity are a ValueError."""
    return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)


def _refuse(name):
    raise ValueError(f"{name} is no JSON")


def sealed(content):
    """A dict of plain data with its checksum."""
    return {**content, _SEAL: _checksum(content)}


def unsealed(content):
    """The dict that `sealed` was given, or a ValueError when it is not what it was."""
    if not isinstance(content, dict):
        raise ValueError(f"a {type(content).__name__}, not an object")
    bare = {name: value for name, value in content.items() if name != _SEAL}
    if content.get(_SEAL) != _checksum(bare):
        raise ValueError("its checksum is another one")
    return bare


def _checksum(content):
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
