"""The state of a run as its JSON has it: read, and changed."""

import hashlib
import json


def parts_of(opt):
    """Return the fields of the parts of a state, plain data by names."""
    parts = json.loads(opt.to_json())["state"]["parts"]
    return {name: _fields(part) for name, part in parts.items()}


def _fields(part):
    return part.get("of", part.get("state", part)) if isinstance(part, dict) else part


def digest(content):
    """Return the checksum of the content of JSON."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def with_fields(opt, part, **fields):
    """Return an optimizer as it would be with other fields of a part of its state."""
    content = json.loads(opt.to_json())
    del content["sha256"]
    _fields(content["state"]["parts"][part]).update(fields)
    content["sha256"] = digest(content)
    return type(opt).from_json(json.dumps(content))
