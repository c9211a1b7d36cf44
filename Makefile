PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKED := build/checked

.PHONY: help demo test lint format checked bench arena docs dist clean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Remade when what it is built from has changed.
$(VENV)/.installed: pyproject.toml setup.py $(wildcard sktvbo/_fast/*.p*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[test]"
	@touch $@

demo: $(VENV)/.installed  ## track a moving optimum: a table and a picture, in a minute or two
	$(BIN)/python -m sktvbo demo

test: lint checked  ## lint, the bounds-checked kernels, then the whole suite
	$(BIN)/python -m pytest

lint: $(VENV)/.installed  ## ruff, both as linter and formatter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.installed  ## let ruff rewrite
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(CHECKED)/.built: $(VENV)/.installed $(shell find sktvbo -name '*.py')
	SKTVBO_BOUNDS_CHECK=1 $(BIN)/python setup.py --quiet build \
		--build-base build/checked-tmp --build-lib $(CHECKED)
	@touch $@

checked: $(CHECKED)/.built  ## the tests of sktvbo._fast on a build that checks every index
	PYTHONPATH=$(CHECKED) SKTVBO_EXPECT_CHECKED=1 $(BIN)/pytest --quiet -p no:cacheprovider tests/fast

bench: $(VENV)/.installed  ## side by side with the peers (installs torch, botorch, wdbo-algo apart)
	$(MAKE) -C benchmarks PYTHON=$(abspath $(BIN)/python)

arena: $(VENV)/.installed  ## the rivals on the papers' problems, at equal queries and at equal time (many hours)
	$(MAKE) -C benchmarks arena PYTHON=$(abspath $(BIN)/python)

docs: $(VENV)/.installed  ## user guide, API reference and gallery in docs/_build/html
	$(BIN)/python -m pip install --quiet --editable ".[docs]"
	$(BIN)/python -m sphinx -W -b html docs docs/_build/html

dist: $(VENV)/.installed  ## source distribution and wheel in dist/
	$(BIN)/python -m pip install --quiet build
	$(BIN)/python -m build

clean:  ## everything that was built
	rm -rf $(VENV) build dist *.egg-info docs/_build docs/gallery docs/generated
	find sktvbo -name '*.so' -delete
