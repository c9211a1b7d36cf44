"""The state of a run as its JSON has it: read, and changed."""

import hashlib
import json

from sktvbo import GPUCB


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


def copied(value):
    """Return a value as it comes back from JSON, where it is a parameter of an optimizer."""
    return GPUCB.from_json(GPUCB([(0.0, 1.0)], exploration=value).to_json()).exploration


def read(plain):
    """Return what plain data stand for, where they are a parameter of an optimizer."""
    content = json.loads(GPUCB([(0.0, 1.0)]).to_json())
    del content["sha256"]
    content["parameters"]["exploration"] = {"value": plain}
    content["sha256"] = digest(content)
    return GPUCB.from_json(json.dumps(content)).exploration
