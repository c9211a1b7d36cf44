PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := build/checked
SANITIZED := build/sanitized
# A process for each core; a module's tests stay together until one has nothing left to do.
SPREAD ?= --numprocesses auto --dist worksteal

.PHONY: help demo test lint format checked sanitize fuzz coverage minimum nightly bench compare arena docs dist clean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

PIP = $(BIN)/python -m pip install --quiet
BUILD_REQUIRES = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")

# Remade when what it is built from has changed.
$(VENV)/.installed: pyproject.toml setup.py $(wildcard sktvbo/_fast/*.p*)
	@echo "1 of 3: a Python environment in $(VENV), and what compiles (half a minute)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip
	@$(BIN)/python -c '$(BUILD_REQUIRES)' | $(PIP) --requirement /dev/stdin
	@echo "2 of 3: compile 12 modules (a minute or two)"
	@$(BIN)/python setup.py --quiet build_ext --inplace
	@echo "3 of 3: sktvbo, and the packages of its tests (a minute or two)"
	@$(PIP) --no-build-isolation --editable ".[test]"
	@touch $@

demo: $(VENV)/.installed  ## track a moving optimum: a table and a picture
	@$(BIN)/python examples/optimize/demo.py

test: lint checked  ## lint, the bounds-checked kernels, then the whole suite
	@echo "All tests: ten minutes on two cores"
	$(BIN)/python -m pytest $(SPREAD)

lint: $(VENV)/.installed  ## ruff, both as linter and formatter, the spelling and the types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python

format: $(VENV)/.installed  ## let ruff rewrite
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(CHECKED)/.built: $(VENV)/.installed $(shell find sktvbo -name '*.py')
	@echo "Compile with bounds checks (two minutes)"
	SKTVBO_BOUNDS_CHECK=1 $(BIN)/python setup.py --quiet build \
		--build-base build/checked-tmp --build-lib $(CHECKED)
	@touch $@

checked: $(CHECKED)/.built  ## the tests of sktvbo._fast on a build that checks every index
	PYTHONPATH=$(CHECKED) SKTVBO_EXPECT_BUILD=checked $(BIN)/pytest --quiet -p no:cacheprovider tests/fast

$(SANITIZED)/.built: $(VENV)/.installed $(shell find sktvbo -name '*.py')
	SKTVBO_SANITIZE=1 $(BIN)/python setup.py --quiet build \
		--build-base build/sanitized-tmp --build-lib $(SANITIZED)
	@touch $@

# The sanitizers' libraries have to be there before Python; what Python itself keeps is no leak.
SANITIZERS = $(shell $(CC) -print-file-name=libasan.so) $(shell $(CC) -print-file-name=libubsan.so)
RUN_SANITIZED = LD_PRELOAD="$(SANITIZERS)" ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc \
	UBSAN_OPTIONS=print_stacktrace=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=$(SANITIZED) SKTVBO_EXPECT_BUILD=sanitized

sanitize: $(SANITIZED)/.built  ## sktvbo._fast with every access to memory checked: tests, random calls
	$(RUN_SANITIZED) $(BIN)/pytest --quiet -p no:cacheprovider tests/fast
	$(RUN_SANITIZED) $(BIN)/python tests/fuzz/compiled.py --seconds 45

fuzz: $(VENV)/.installed  ## a minute each of random calls: compiled code, then all algorithms
	$(BIN)/python tests/fuzz/compiled.py --seconds 60
	SKTVBO_PROPERTIES=60 $(BIN)/pytest --quiet tests/properties/test_optimizers.py

# A copy, in which the C code lies beside its source, compiled so that each line is seen.
coverage: $(VENV)/.installed  ## which lines the tests reach, those of the compiled code included (slow)
	$(BIN)/python -m pip install --quiet "pytest-cov>=5"
	rm -rf build/coverage
	mkdir -p build/coverage
	cp -R benchmarks docs sktvbo tests CHANGELOG.md LICENSE README.md pyproject.toml setup.py build/coverage
	find build/coverage -name '*.so' -delete
	cd build/coverage && SKTVBO_COVERAGE=1 $(abspath $(BIN))/python setup.py --quiet build_ext --inplace
	cd build/coverage && PYTHONPATH=. $(abspath $(BIN))/pytest --quiet -p no:cacheprovider \
		$(SPREAD) --cov --cov-report=term --cov-report=html:html $(COVERED)

# Files that the tests need, copied beside another environment.
COPIED = benchmarks docs examples recipe sktvbo tests .pre-commit-config.yaml [A-Z]*.* LICENSE Makefile \
	pyproject.toml requirements-minimum.txt setup.py
MINIMUM := build/minimum

minimum:  ## all tests with the lowest versions that are allowed, in an environment of their own
	rm -rf $(MINIMUM)
	$(PYTHON) -m venv $(MINIMUM)/env
	$(MINIMUM)/env/bin/python -m pip install --quiet --requirement requirements-minimum.txt
	cp -R $(COPIED) $(MINIMUM)
	find $(MINIMUM)/sktvbo -name '*.so' -delete
	cd $(MINIMUM) && env/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	cd $(MINIMUM) && env/bin/python -m pytest $(SPREAD)

NIGHTLY := build/nightly
NIGHTLY_INDEX := https://pypi.anaconda.org/scientific-python-nightly-wheels/simple

nightly:  ## all tests with the nightly builds of NumPy, SciPy and scikit-learn
	rm -rf $(NIGHTLY)
	$(PYTHON) -m venv $(NIGHTLY)/env
	cp -R $(COPIED) $(NIGHTLY)
	cd $(NIGHTLY) && env/bin/python -m pip install --quiet --editable ".[test]"
	$(NIGHTLY)/env/bin/python -m pip install --pre --upgrade --only-binary :all: \
		--extra-index-url $(NIGHTLY_INDEX) numpy scipy scikit-learn
	find $(NIGHTLY)/sktvbo -name '*.so' -delete
	cd $(NIGHTLY) && env/bin/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	cd $(NIGHTLY) && env/bin/python -m pytest $(SPREAD)

bench: $(VENV)/.installed  ## side by side with the peers (installs torch, botorch, wdbo-algo apart)
	$(MAKE) -C benchmarks PYTHON=$(abspath $(BIN)/python)

compare: $(VENV)/.installed  ## times beside those of the last release (BASE=: another version, tag or wheel)
	$(BIN)/python benchmarks/speed/against_release.py $(BASE)

arena: $(VENV)/.installed  ## the rivals on the papers' problems, at equal queries and at equal time (many hours)
	$(MAKE) -C benchmarks arena PYTHON=$(abspath $(BIN)/python)

docs: $(VENV)/.installed  ## user guide, API reference and gallery in docs/_build/html
	@echo "What builds pages (a minute), then the examples and the pages (ten minutes the first time)"
	@$(PIP) --editable ".[docs]"
	$(BIN)/python -m sphinx -W -E -b html docs docs/_build/html
	$(BIN)/python -m pytest --quiet tests/test_site.py tests/test_pages.py

dist: $(VENV)/.installed  ## source distribution and wheel in dist/
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

clean:  ## everything that was built
	rm -rf $(VENV) build dist *.egg-info docs/_build docs/gallery docs/generated
	find sktvbo -name '*.so' -delete
