"""Common parts of the commands: numeric arguments, paragraphs, folders and figures."""

import argparse
import contextlib
import os
import sys
import textwrap

from ._validation import check_int, check_real, invalid
from .evaluation import StoreError
from .evaluation._files import replacing

# Width of paragraphs and tables in characters.
WIDTH = 100


def _argument_type(kind):
    """Decorate a check of a number as the ``type`` of an argument; other text stays text."""

    def decorate(check):
        def convert(text):
            try:
                value = kind(text)
            except ValueError:
                value = text
            try:
                return check(value)
            except ValueError as exc:
                raise argparse.ArgumentTypeError(str(exc)) from exc

        return convert

    return decorate


def whole_number(low=1, high=None):
    """Return the type of an argument that is an int from ``low`` to ``high``."""
    return _argument_type(int)(lambda value: check_int(value, "N", low=low, high=high))


@_argument_type(int)
def jobs(value):
    """Return a number of jobs."""
    if value == 0 or not isinstance(value, int):
        raise invalid("N", "an int other than 0 (-1: one per core)", value)
    return value


@_argument_type(float)
def non_negative(value):
    """Return a non-negative number."""
    return check_real(value, "N", interval="[0, inf)")


def print_paragraph(text):
    """Print a paragraph without buffering, before a long computation."""
    paragraph = textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    print(paragraph + "\n" * text.endswith("\n"), flush=True)


@contextlib.contextmanager
def printing():
    """Context that ends quietly when the reader of the standard output stops, as ``| head``."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes the buffer at exit.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def make_folder(folder, parser):
    """Create a folder, or exit with a usage error of the parser."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        parser.error(f"argument --output: the folder cannot be created: {exc}")


@contextlib.contextmanager
def writing(folder, advice):
    """Context for writing files to a folder: converts an OSError to a StoreError."""
    try:
        yield
    except OSError as exc:
        raise StoreError(f"{folder} cannot be written: {exc.strerror or exc}. {advice}") from exc


def save_figure(figure, path):
    """Write a figure to a PNG file, atomically."""
    with replacing(path) as part:
        figure.savefig(part, dpi=120, format="png")


def has_tqdm():
    """Return True if a progress bar can be shown."""
    try:
        import tqdm.auto  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(size=(13.0, 5.6)):
    """Return an empty figure of a size in inches; without matplotlib print a hint, return None."""
    try:
        import matplotlib  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError:
        print_paragraph('For a picture: pip install "sktvbo[plot]"')
        return None
    # pyplot may need a display.
    return Figure(figsize=size, layout="constrained")
