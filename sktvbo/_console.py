"""What the commands share: numbers among their arguments, paragraphs, folders and figures."""

import argparse
import contextlib
import os
import sys
import textwrap

from ._validation import check_int, check_real, invalid
from .evaluation import StoreError
from .evaluation._files import replacing

# Paragraphs and tables are at most this many characters wide.
WIDTH = 100


def whole_number(low=1, high=None):
    """Type of an argument that is an int from ``low`` to ``high``."""
    return _typed(lambda text: check_int(_number(int, text), "N", low=low, high=high))


def jobs(text):
    """Type of an argument that is a number of jobs."""
    return _typed(_check_jobs)(text)


def non_negative(text):
    """Type of an argument that is a number, of seconds for one."""
    return _typed(lambda text: check_real(_number(float, text), "N", interval="[0, inf)"))(text)


def _typed(check):
    def typed(text):
        try:
            return check(text)
        except ValueError as exc:
            raise argparse.ArgumentTypeError(str(exc)) from exc

    return typed


def _number(kind, text):
    """The text as a number, or as it is where it is none."""
    try:
        return kind(text)
    except ValueError:
        return text


def _check_jobs(text):
    value = _number(int, text)
    if value == 0 or not isinstance(value, int):
        raise invalid("N", "an int other than 0 (-1: one per core)", text)
    return value


def print_paragraph(text):
    """Print a paragraph at once: the work that follows takes a while."""
    paragraph = textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    print(paragraph + "\n" * text.endswith("\n"), flush=True)


@contextlib.contextmanager
def printing():
    """Context that ends quietly when who reads the standard output has left, as ``| head`` does."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # What is still buffered is flushed at exit, and has to go somewhere.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def make_folder(folder, parser):
    """Make a folder, or end with a usage error of the parser."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        parser.error(f"argument --output: the folder cannot be made: {exc}")


@contextlib.contextmanager
def writing(folder, advice):
    """Context in which files are written to a folder: a full disk is an error that says so."""
    try:
        yield
    except OSError as exc:
        raise StoreError(f"{folder} cannot be written: {exc.strerror or exc}. {advice}") from exc


def save_figure(figure, path):
    """Write a figure as a picture, all or nothing."""
    with replacing(path) as part:
        figure.savefig(part, dpi=120, format="png")


def has_tqdm():
    """Whether a progress bar can be shown."""
    try:
        import tqdm.auto  # noqa: F401
    except ImportError:
        return False
    return True


def new_figure(size=(13.0, 5.6)):
    """Empty figure of a size in inches, or None and a hint when matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
        from matplotlib.figure import Figure
    except ImportError:
        print_paragraph('For a picture: pip install "sktvbo[plot]"')
        return None
    # The figure is not made by pyplot, which may need a screen.
    return Figure(figsize=size, layout="constrained")
