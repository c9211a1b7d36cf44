"""Computations in parts, such as a search of the hyperparameters over several steps.

A computation is a generator. It yields its expensive parts, functions without arguments, and is
sent their results. Cheap code between the parts is its own; a part changes nothing that another one
needs, so that parts whose results are known can be left out.
"""


def completed(computation):
    """Compute all parts of a computation; return its result."""
    found = None
    while True:
        try:
            part = computation.send(found)
        except StopIteration as end:
            return end.value
        found = part()


def next_part(computation, found=None):
    """Send the result of a part; return the next part and None, or None and the final result."""
    try:
        return computation.send(found), None
    except StopIteration as end:
        return None, end.value
