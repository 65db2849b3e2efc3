.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
RELEASING := build/releasing

.PHONY: help setup quick demo test test-all mutants check golden conformance records rehearse report bench site release workflows clean

help: ## List the commands
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

# pip itself first: the one that Python 3.11 brings takes twice the processor time, here and in tests.
INSTALL := $(BIN)/python -m pip install --quiet --require-virtualenv --constraint requirements-dev.lock

setup: $(READY) ## Make .venv with everything installed in it

$(READY): pyproject.toml requirements-dev.lock
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) pip
	$(INSTALL) --editable '.[dev]'
	@touch $@

GOLDEN := --revision all --with all --extension all --runtime mcp_protogen.runtime --out generated/mcp_revisions

quick: $(READY) ## Check a change in a minute (FILES=… or SINCE=REV)
	@PYTHONPATH=tests $(BIN)/python -m support.quick --golden '$(GOLDEN)' $(if $(SINCE),--since '$(SINCE)') $(FILES)

demo: $(READY) ## Generate a package, then talk through its stubs
	$(BIN)/mcp-gen --revision 2025-11-25 --out build/demo/pkg
	PYTHONPATH=build/demo $(BIN)/python examples/demo.py

# More workers than processors, because many tests wait for processes and sockets.
WORKERS ?= $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN))

# Recording slows the run by half.
RECORD ?=
PYTEST = $(BIN)/python -m pytest -n $(WORKERS) $(if $(RECORD),--record=build/quick.json)

test: $(READY) ## Run the tests, with a sample of large tables (RECORD=1: for quick)
	$(PYTEST)

test-all: $(READY) ## Run the tests, with all of every table
	$(PYTEST) --all

# SEED chooses the sample, AREA the folders of code, such as AREA=emit; FIRST names tests to run first.
SEED ?= 0
AREA ?=
FIRST ?=

mutants: $(READY) ## Change the code at sampled places, and record which changes tests notice
	PYTHONPATH=tests nice $(BIN)/python -m support.mutants --seed $(SEED) $(addprefix --area ,$(AREA)) --first $(FIRST)

check: $(READY) ## Lint, format check and strict types of our own code
	$(BIN)/ruff check codegen tests benchmarks examples docs/website .github/releasing
	$(BIN)/black --check --quiet codegen tests benchmarks examples docs/website .github/releasing
	$(BIN)/pyright
	$(BIN)/mypy

golden: $(READY) ## Rewrite generated/ from schema/ and templates/
	$(BIN)/mcp-gen $(GOLDEN) --force

conformance: $(READY) ## Run the official suite, and write docs/conformance.md
	PYTHONPATH=.github:tests:docs $(BIN)/python -m support.conformance.suite

records: $(READY) ## Compare all types with the schemas, talk to all peers, and record the results
	PYTHONPATH=tests $(BIN)/python -m support.report.recording

rehearse: $(READY) ## Make a revision of each proposal in schema/rehearsals, and record the results
	PYTHONPATH=tests $(BIN)/python -m support.rehearsals

report: $(READY) ## Write docs/generated-artifacts.md from schema/ and the records
	PYTHONPATH=tests $(BIN)/python -m support.report.page

bench: $(READY) ## Measure beside other tools, and write docs/speed.md
	PYTHONPATH=docs $(BIN)/python -m benchmarks --record

# The address of the site, if not that of [project.urls] in pyproject.toml.
URL ?=

site: $(READY) ## Build the site into build/site
	PYTHONPATH=docs:codegen $(BIN)/python -m website --url "$(URL)"

# Only releases need these tools.
$(RELEASING): .github/releasing/requirements.txt
	$(PYTHON) -m venv $(RELEASING)
	$(RELEASING)/bin/python -m pip install --quiet --require-virtualenv --requirement .github/releasing/requirements.txt
	@touch $@

# TAG is read from the environment, where make puts it, so no shell runs the name of a tag.
release: $(RELEASING) ## Build sdists, wheels and all other files of a release into dist/
	PYTHONPATH=.github $(RELEASING)/bin/python -m releasing --tag "$$TAG"
	PYTHONPATH=.github $(RELEASING)/bin/python -m releasing.trying dist/packages

workflows: $(RELEASING) ## Check the workflows for security problems
	$(RELEASING)/bin/zizmor --offline --quiet --persona pedantic .github docs/workflows/mcp-*.yml

clean: ## Remove the files that the other commands made
	rm -rf build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache $(VENV)
