# Every target sets up what it needs; nothing has to be installed first but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DIST_READY := $(VENV)/.dist-ready
DOCS_READY := $(VENV)/.docs-ready
# Many tests wait for something, so three at once fit on two cores. Files run in this order: those that take long come
# first, so that nobody waits for the last one.
AT_ONCE := -n 3 --dist loadfile --no-loadscope-reorder
# Its own tests alone reach every branch of the core; coverage is only measured there, because it costs half as much again.
CORE := rpc schema peer session
CORE_TESTS := tests/conformance $(CORE:%=tests/unit/%)
# pytest heeds --ignore below the folders that it is given, not for these themselves.
OTHER_TESTS := tests/e2e tests/unit $(CORE:%=--ignore=tests/unit/%)
# Tests start hundreds of processes; each would compile everything again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run test check fmt interop bench fuzz soak docs docs-check docs-serve dist dist-check clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Parley needs Python 3.11 or newer; say make PYTHON=python3.12" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --upgrade pip
	@$(BIN)/python -m pip install --quiet --editable . --group test --group check --group fuzz
	@touch $@

# Only the targets below that need Sphinx install it, and the type checkers, which read its extensions.
$(DOCS_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --group docs
	@touch $@

run: $(READY) ## Open the chat; without a terminal, show `parley run` at work
	@$(BIN)/python scripts/show.py

test: $(READY) ## Run the tests: the core with branch coverage, then everything else
	$(BIN)/python -m pytest $(AT_ONCE) $(CORE_TESTS) $(CORE:%=--cov=parley.%) --cov-report=term-missing:skip-covered --cov-fail-under=100
	$(BIN)/python -m pytest $(AT_ONCE) $(OTHER_TESTS)

check: $(DOCS_READY) ## Lint, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports --no-cache

fmt: $(READY) ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

interop: $(READY) ## Talk to the official SDKs and to real agents, compare with the schemas
	$(BIN)/python -m tests.peers --agents
	$(BIN)/python -m pytest tests/interop

bench: $(READY) ## Measure beside the official SDKs
	$(BIN)/python -m tests.peers
	$(BIN)/python -m tests.bench.run

fuzz: $(READY) ## Look for inputs that break something: mutated bytes for a minute, new examples of each property
	$(BIN)/python scripts/fuzz.py
	$(BIN)/python -m pytest $(AT_ONCE) -q -m hypothesis --hypothesis-profile=search tests/unit

soak: $(READY) ## Run connections for ten minutes each, a local one and remote ones; report what grew
	$(BIN)/python scripts/soak.py
	$(BIN)/python -m scripts.soak_remote

# Warnings are errors: a broken link, a page that is in no index, a docstring that cannot be read.
SPHINX := -W --keep-going -q -j 2 -d .doctrees docs site

docs: $(DOCS_READY) ## Write the generated tables again, then build the documentation into site/
	$(BIN)/python scripts/document_methods.py
	$(BIN)/python -m scripts.document_conformance
	$(BIN)/sphinx-build $(SPHINX)

docs-check: $(DOCS_READY) ## Build the documentation from nothing, and look at it in Chromium
	rm -rf site .doctrees
	$(BIN)/sphinx-build $(SPHINX)
	$(BIN)/python -m pytest -q tests/site

docs-serve: $(DOCS_READY) ## Show the documentation on http://127.0.0.1:8000, and build it again after each change
	$(BIN)/sphinx-autobuild --watch src --watch examples --watch CHANGELOG.md --ignore '*/reference/api/*' -j 2 -d .doctrees docs site

$(DIST_READY): $(READY)
	@$(BIN)/python -m pip install --quiet --group dist
	@touch $@

# The time in the archives is that of the commit, so the same commit gives the same bytes.
dist: $(DIST_READY) ## Build the wheel and the source distribution in dist/
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build
	@wc -c dist/*

dist-check: $(DIST_READY) ## Install the wheel of dist/ with each extra, and try it; needs PyPI
	$(BIN)/twine check --strict dist/*
	$(BIN)/python -m pytest tests/install

clean: ## Remove everything that was set up or built
	rm -rf dist $(VENV) .venvs .fuzz .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .doctrees site docs/reference/api
