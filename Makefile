# One command for each intention. `make` alone lists them. ARGS goes to the tool: make test ARGS="tests/unit/wire -k gzip"
SHELL := /bin/bash
PYTHON ?= python3
WORKERS ?= 2
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
COMPILED := .venv-compiled
# What serves: the compiled package once `make compiled` has made it, and then always from the sources as they are.
SERVES := $(if $(wildcard $(COMPILED)/.installed),$(COMPILED),$(VENV))

.DEFAULT_GOAL := help
.PHONY: help setup serve compiled test test-compiled lint format bench soak clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## make the virtual environment, unless it is up to date

$(INSTALLED): pyproject.toml tools/make-venv
	@tools/make-venv $(VENV) $(PYTHON)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

serve: $(SERVES)/.installed ## start a server: make serve ARGS="--in-memory --port 8001"
	@$(SERVES)/bin/dyno serve $(ARGS)

compiled: $(COMPILED)/.installed ## compile what requests pass through, for `make serve`; needs gcc and python3-dev

$(COMPILED)/.installed: pyproject.toml tools/make-compiled $(shell find src -name '*.py')
	@tools/make-compiled $(COMPILED) $(PYTHON)
	@touch $@

test: $(INSTALLED) ## run the tests, but for the long runs
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-compiled: $(COMPILED)/.installed ## run the same tests on the compiled package
	$(COMPILED)/bin/python -m pytest -n $(WORKERS) $(ARGS)

lint: $(INSTALLED) ## style, types, and which package imports which
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy --strict src
	$(BIN)/lint-imports --no-cache

format: $(INSTALLED) ## put the sources in the common form
	$(BIN)/ruff format src tests bench
	$(BIN)/ruff check --fix src tests bench

bench: $(COMPILED)/.installed ## measure the compiled package beside peers; needs wrk
	$(COMPILED)/bin/python bench/run.py $(ARGS)
	$(COMPILED)/bin/python bench/following.py
	$(COMPILED)/bin/python bench/bulk.py

soak: $(INSTALLED) ## the long runs: crashes, simulations, load over time
	$(BIN)/python -m pytest -m soak -s -o faulthandler_timeout=0 $(ARGS)

clean: ## remove everything that was made
	rm -rf $(VENV) $(COMPILED) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
