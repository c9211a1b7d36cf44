"""Cython extensions; everything else about the package is in pyproject.toml.

This is the one place with compile flags. Environment switches, read at build time:

- ``SKTVBO_BOUNDS_CHECK=1``: check every index in the compiled code (slow; ``make test`` runs the
  tests of ``sktvbo._fast`` on such a build).
- ``SKTVBO_SANITIZE=1``: check every access to memory and every operation that C leaves undefined
  (slower still; ``make sanitize`` runs the same tests, and random calls, on such a build).
- ``SKTVBO_NATIVE=1``: compile for this machine's processor only.
- ``SKTVBO_COVERAGE=1``: let the compiled code be traced, line by line (``make coverage``).
- ``GITHUB_SERVER_URL``, ``GITHUB_REPOSITORY``: the project's home, which the metadata name, and
  where a package index finds the README's pictures. Where releases are built these are set; a build
  elsewhere names none.
- ``SKTVBO_DOCS``: the address of the built documentation; the README links its pages.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

CHECKED = os.environ.get("SKTVBO_BOUNDS_CHECK") == "1"
SANITIZE = os.environ.get("SKTVBO_SANITIZE") == "1"
NATIVE = os.environ.get("SKTVBO_NATIVE") == "1"
COVERAGE = os.environ.get("SKTVBO_COVERAGE") == "1"
WINDOWS = os.name == "nt"

# Reductions may be reordered, so that they vectorize; NaN and infinity keep their meaning.
UNIX_FLAGS = [
    "-O3",
    "-g0",
    "-fno-asynchronous-unwind-tables",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fassociative-math",
]
compile_args = ["/O2"] if WINDOWS else UNIX_FLAGS + ["-march=native"] * NATIVE
# Without symbols for debuggers the modules are a fifth as large, and quicker to load.
link_args = ["-s"] if sys.platform.startswith("linux") else []
if SANITIZE:
    link_args = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    compile_args = ["-O1", "-g", "-fno-omit-frame-pointer", *link_args]

# The headers count on the order of operations, and say themselves which sums may be reordered.
ORDERED = {"gram", "posterior", "series", "sums", "tiles"}
HEADERS = [f"sktvbo/_fast/{name}.h" for name in ("correlation", "product", "series", "triangle")]
ordered_args = [flag for flag in compile_args if flag != "-fassociative-math"]
ordered_args += [] if WINDOWS else ["-fopenmp-simd"]

macros = [("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")]
# Without it Microsoft's math.h has no pi.
macros += [("_USE_MATH_DEFINES", None)] * WINDOWS
if COVERAGE:
    macros += [
        ("CYTHON_TRACE", "1"),
        ("CYTHON_TRACE_NOGIL", "1"),
        ("CYTHON_USE_SYS_MONITORING", "0"),
    ]


def home():
    """Where the project lives, as far as the build knows: the package index shows it."""
    server, repository = (os.environ.get(f"GITHUB_{key}") for key in ("SERVER_URL", "REPOSITORY"))
    if not (server and repository):
        return {}
    url = f"{server}/{repository}"
    docs = os.environ.get("SKTVBO_DOCS", "").rstrip("/")
    return {
        "Source": url,
        "Issues": f"{url}/issues",
        "Changelog": f"{url}/blob/main/CHANGELOG.md",
    } | ({"Documentation": docs} if docs else {})


def described(home):
    """The README; that of a release has its addresses, and installs from the package index."""
    here = Path(__file__).resolve().parent
    text = (here / "README.md").read_text(encoding="utf-8")
    if not home:
        return text
    project = tomllib.loads((here / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def address(match):
        picture, label, path = match.groups()
        if "Documentation" in home and re.fullmatch(r"docs/.*\.rst", path):
            page = path.removeprefix("docs/").removesuffix(".rst")
            return f"[{label}]({home['Documentation']}/{page}.html)"
        view = "raw" if picture else "blob"  # a picture itself, a page about a file
        return f"{picture}[{label}]({home['Source']}/{view}/v{project['version']}/{path})"

    text = re.sub(r"<!-- clone -->.*?<!-- end -->\n\n?", "", text, flags=re.DOTALL)
    text = text.replace("pip install --editable .", "pip install sktvbo")
    return re.sub(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)", address, text)


# What Cython gives every module that has arrays, once for all: the modules are half as large. The
# name has the package's in it, as Cython enters it among all modules without the folder.
SHARED = "sktvbo._fast._sktvbo_cython"

extensions = [
    Extension(
        f"sktvbo._fast.{name}",
        [f"sktvbo/_fast/{name}.pyx"],
        include_dirs=[numpy.get_include()],
        define_macros=macros,
        extra_compile_args=ordered_args if name in ORDERED else compile_args,
        extra_link_args=link_args,
        depends=HEADERS if name in ORDERED else [],
    )
    for name in (
        "ascent",
        "cholesky",
        "convolution",
        "gram",
        "kalman",
        "kdpp",
        "limits",
        "posterior",
        "series",
        "sums",
        "tiles",
    )
]
extensions.append(
    Extension(
        SHARED,
        ["sktvbo/_fast/_sktvbo_cython.c"],  # made by Cython
        define_macros=macros,
        extra_compile_args=compile_args,
        extra_link_args=link_args,
    )
)

build_dir = "build/cython-checked" if CHECKED else "build/cython"
if COVERAGE:
    build_dir = None  # what reads the traces looks for the C code beside its source
directives = {
    "language_level": 3,
    "boundscheck": CHECKED,
    "wraparound": False,
    "initializedcheck": CHECKED,
    "cdivision": True,
    "embedsignature": True,
    "linetrace": COVERAGE,
    "show_performance_hints": False,  # hundreds of lines, of loops that call Python on purpose
    # Nothing is written at the level of a module, and an object's buffers are its own.
    "freethreading_compatible": True,
}


class Compile(build_ext):
    """Makes C code when it is to be compiled: a source distribution does without."""

    def build_extension(self, extension):
        (made,) = cythonize(
            [extension],
            force=CHECKED or COVERAGE,
            build_dir=build_dir,
            compiler_directives=directives,
            shared_utility_qualified_name=SHARED,
            quiet=True,
        )
        extension.sources = made.sources
        print(f"compile {extension.name}", flush=True)
        super().build_extension(extension)


setup(
    project_urls=home(),
    long_description=described(home()),
    long_description_content_type="text/markdown",
    cmdclass={"build_ext": Compile},
    ext_modules=extensions,
)
