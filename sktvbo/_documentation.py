"""Addresses of the pages of the documentation."""

import sys
from importlib.metadata import PackageNotFoundError, metadata


def documentation_page(cls):
    """Return the address of a class's page in the API reference, or "".

    The installed metadata name the documentation where the build did: see setup.py. Public classes
    of the package have a page.
    """
    module = cls.__module__.split("._")[0]
    if not module.startswith("sktvbo.") or cls.__name__ not in sys.modules[module].__all__:
        return ""
    try:
        urls = metadata("sktvbo").get_all("Project-URL", [])
    except PackageNotFoundError:
        return ""
    home = dict(url.split(", ", 1) for url in urls).get("Documentation")
    return f"{home}/generated/{module}.{cls.__name__}.html" if home else ""
