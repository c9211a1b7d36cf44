"""Atomic writes of files, and JSON."""

import contextlib
import json
import os
from pathlib import Path


@contextlib.contextmanager
def replacing(path):
    """Context with the path of a temporary file, which replaces ``path`` once it is on disk.

    Readers never see a partial file, not even after a crash. After an error the old file is
    unchanged, and the new one is removed.
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


def write_json(path, content):
    """Write a JSON file atomically. NaN and infinity, which JSON lacks, raise ValueError."""
    text = json.dumps(content, allow_nan=False)
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def read_json(path):
    """Return the content of a JSON file. NaN and infinity raise ValueError."""
    return json.loads(Path(path).read_text(encoding="utf-8"), parse_constant=_refuse)


def _refuse(name):
    raise ValueError(f"{name} is not JSON")
