"""Cython extensions; everything else about the package is in pyproject.toml.

This is the one place with compile flags. Environment switches, read at build time:

- ``SKTVBO_BOUNDS_CHECK=1``: check every index in the compiled code (slow; ``make test`` runs the
  tests of ``sktvbo._fast`` on such a build).
- ``SKTVBO_SANITIZE=1``: check every access to memory and every operation that C leaves undefined
  (slower still; ``make sanitize`` runs the same tests, and random calls, on such a build).
- ``SKTVBO_NATIVE=1``: compile for this machine's processor only.
"""

import os
import sys

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

CHECKED = os.environ.get("SKTVBO_BOUNDS_CHECK") == "1"
SANITIZE = os.environ.get("SKTVBO_SANITIZE") == "1"
NATIVE = os.environ.get("SKTVBO_NATIVE") == "1"

# Reductions may be reordered, so that they vectorize; NaN and infinity keep their meaning.
UNIX_FLAGS = [
    "-O3",
    "-g0",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-signed-zeros",
    "-fassociative-math",
]
compile_args = [] if os.name == "nt" else UNIX_FLAGS + ["-march=native"] * NATIVE
# Without symbols for debuggers the modules are a fifth as large, and quicker to load.
link_args = ["-s"] if sys.platform.startswith("linux") else []
if SANITIZE:
    link_args = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    compile_args = ["-O1", "-g", "-fno-omit-frame-pointer", *link_args]

# correlation.h counts on the order of its operations, and says itself which sums may be reordered.
ORDERED = {"posterior"}
ordered_args = [flag for flag in compile_args if flag != "-fassociative-math"]
ordered_args += [] if os.name == "nt" else ["-fopenmp-simd"]

extensions = [
    Extension(
        f"sktvbo._fast.{name}",
        [f"sktvbo/_fast/{name}.pyx"],
        include_dirs=[numpy.get_include()],
        define_macros=[("NPY_NO_DEPRECATED_API", "NPY_1_7_API_VERSION")],
        extra_compile_args=ordered_args if name in ORDERED else compile_args,
        extra_link_args=link_args,
        depends=["sktvbo/_fast/correlation.h"] if name in ORDERED else [],
    )
    for name in (
        "ascent",
        "cholesky",
        "convolution",
        "gram",
        "kalman",
        "kdpp",
        "posterior",
        "relevancy",
        "tiles",
    )
]

setup(
    ext_modules=cythonize(
        extensions,
        force=CHECKED,
        build_dir="build/cython-checked" if CHECKED else "build/cython",
        compiler_directives={
            "language_level": 3,
            "boundscheck": CHECKED,
            "wraparound": False,
            "initializedcheck": CHECKED,
            "cdivision": True,
            "embedsignature": True,
        },
    )
)
