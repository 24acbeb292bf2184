# Everything a developer does here, from set-up to the checks. `make help` lists it.

PYTHON ?= python3
VENV := .venv
VENV_SAM := .venv-sam
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
STAMP_SAM := $(VENV_SAM)/.set-up
OLDEST := 3.11

# $(call new_venv,FOLDER): an empty environment, or a plain word on what is missing.
define new_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < tuple(map(int, "$(OLDEST)".split("."))))' || \
	  { echo "Python $(OLDEST) or later is needed; '$(PYTHON)' is older or missing. Name another: make PYTHON=python3.13 ..." >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(1) || \
	  { echo "Python's venv module does not work here. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
endef

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format sam lock clean

help:  ## List what there is to make
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make the environment .venv with everything locked, once

$(STAMP): requirements/dev.txt pyproject.toml
	$(call new_venv,$(VENV))
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup  ## Run a day of a made-up marketplace through the local stack
	@$(BIN)/quarterhour demo

test: setup  ## Run the tests
	@$(BIN)/pytest

lint: setup  ## Check style and types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: setup  ## Put the code into the project's format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

sam: $(STAMP_SAM)  ## Validate the template and build it (needs python3.13)
	$(VENV_SAM)/bin/sam validate --lint
	$(VENV_SAM)/bin/sam build

$(STAMP_SAM): requirements/sam.txt
	$(call new_venv,$(VENV_SAM))
	$(VENV_SAM)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/sam.txt
	@touch $@

# From the most general to the most particular, each held to what the one before chose.
LOCK := uv pip compile --quiet --universal --python-version $(OLDEST) --generate-hashes --no-emit-index-url
lock:  ## Lock the dependencies anew (needs uv)
	$(LOCK) requirements/dev.in -o requirements/dev.txt
	$(LOCK) requirements/local.in -c requirements/dev.txt -o requirements/local.txt
	$(LOCK) requirements/layer.in -c requirements/dev.txt -o layers/quarterhour/requirements.txt
	$(LOCK) requirements/sam.in -o requirements/sam.txt

clean:  ## Remove environments, builds and caches
	rm -rf $(VENV) $(VENV_SAM) .aws-sam build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
