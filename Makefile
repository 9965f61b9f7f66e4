# Everything that a fresh machine with Python 3.11, git and make needs is installed by the targets themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The real datasets, where they lie beside the project; otherwise tests that need them skip and say so.
ifneq ($(wildcard ../shared/data/TUDataset),)
export GRAPHCONDENSE_DATA ?= $(abspath ../shared/data)
endif

.PHONY: help install quickstart test lint types format bench scaling reproduce results docs fuzz audit clean

help:
	@echo "make quickstart   install, then condense hand-written digits and print how good the result is"
	@echo "make test         install, then lint, type checks and all tests with coverage"
	@echo "make format       format the code"
	@echo "make bench        measure the speed against the plainly written algorithm (an hour)"
	@echo "make scaling      measure 1 and 2 ranks beside each other (a quarter of an hour on two idle cores)"
	@echo "make reproduce    run the paper's tables and figures again (a day; continues where it stopped)"
	@echo "make results      write docs/results.md and docs/performance.md from the stored results"
	@echo "make fuzz         fuzz every reader of files, SECONDS=600 each (two hours; TARGETS=\"tu ogb\" for some)"
	@echo "make audit        see that all that is installed is pinned, and look for known vulnerabilities where possible"
	@echo "make docs         build the documentation into site/, warnings are errors"
	@echo "make clean        remove the environment and all caches"

install: $(STAMP)

# Nothing is asked of the network when the stamp is newer than what decides the installation.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt torch
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[dev]"
	touch $(STAMP)

quickstart: $(STAMP)
	$(BIN)/graphcondense quickstart

test: $(STAMP) lint types
	$(BIN)/python -m pytest --cov --cov-report=term

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy --strict src

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP)
	$(BIN)/python benchmarks/bench.py run

scaling: $(STAMP)
	$(BIN)/python benchmarks/scaling.py run
	$(BIN)/python benchmarks/bench.py render

EXPERIMENTS := table1 beyond table1-splits table2 table3 fig-size fig-bilevel fig-sparsity fig-terms fig-tsne

reproduce: $(STAMP)
	for one in $(EXPERIMENTS); do $(BIN)/graphcondense reproduce $$one --full --jobs 2 --out runs/reproduce/full || exit; done
	$(BIN)/python benchmarks/results_page.py runs/reproduce/full

results: $(STAMP)
	$(BIN)/python benchmarks/results_page.py
	$(BIN)/python benchmarks/bench.py render

SECONDS ?= 600
TARGETS ?= condensed checkpoint run comparison shards tu ogb planetoid arrays import settings cached

fuzz: $(STAMP)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e ".[fuzz]"
	for one in $(TARGETS); do $(BIN)/python fuzz/run.py $$one --seconds $(SECONDS) || exit; done

audit: $(STAMP)
	$(BIN)/python .ci/audit.py

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .coverage build site src/*.egg-info
