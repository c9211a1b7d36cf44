"""Pages whose data come with a package that is not installed are left out."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("river") else ["guide/tutorial.rst"]
