# The development tasks, from set-up to the checks. `make help` lists them.

PYTHON ?= python3
VENV := .venv
VENV_SAM := .venv-sam
VENV_SECURITY := .venv-security
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
STAMP_LOCKED := $(VENV)/.locked
STAMP_SAM := $(VENV_SAM)/.set-up
STAMP_SECURITY := $(VENV_SECURITY)/.set-up
OLDEST := 3.11
# The locks name every package, so pip has nothing to resolve. Python compiles modules when they are first imported.
INSTALL := pip install --quiet --disable-pip-version-check --no-deps

SAM := SAM_CLI_TELEMETRY=0 $(VENV_SAM)/bin/sam
# pyenv's shim fails for a version that is not selected, so the version's own folder precedes it on the PATH.
PYENV_3_13 := $(lastword $(wildcard $(or $(PYENV_ROOT),$(HOME)/.pyenv)/versions/3.13.*/bin))
WITH_LAMBDA_PYTHON := $(if $(PYENV_3_13),PATH="$(PYENV_3_13):$$PATH")
HAS_LAMBDA_PYTHON := $(WITH_LAMBDA_PYTHON) python3.13 -c '' 2>/dev/null
STAGE := dev

# Python must write compiled modules, even if the machine turns that off: otherwise each process compiles them again.
unexport PYTHONDONTWRITEBYTECODE

SIDE_BY_SIDE := --numprocesses auto --dist loadfile --no-loadscope-reorder
# One more than there are cores: slow tests often wait, for a browser, a container or another engine.
ONE_MORE = --numprocesses $$($(PYTHON) -c 'import os; print(os.cpu_count() + 1)') --dist worksteal

# $(call new_venv,FOLDER): make an empty environment, or say what is missing.
define new_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < tuple(map(int, "$(OLDEST)".split("."))))' || \
	  { echo "Python $(OLDEST) or later is needed; '$(PYTHON)' is older or missing. Name another: make PYTHON=python3.13 ..." >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(1) || \
	  { echo "Python's venv module does not work here. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
endef

# $(call compile,FOLDER,PLACE): compile what Lambda unpacks to PLACE, where it cannot write. Lambda sets its own times of
# files, so nothing may depend on them.
compile = $(WITH_LAMBDA_PYTHON) python3.13 -m compileall -qf --invalidation-mode unchecked-hash -s $(1) -p $(2) $(1)

.DEFAULT_GOAL := help
.PHONY: help setup demo test proof bench screenshots openapi lint format security sam validate build deploy
.PHONY: lock vendor clean runtime

help:  ## List the tasks
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make the environment .venv from the locks, once

$(STAMP): $(STAMP_LOCKED) pyproject.toml clients/python/pyproject.toml
	$(BIN)/$(INSTALL) --no-build-isolation -e . -e clients/python
	@touch $@

$(STAMP_LOCKED): requirements/dev.txt
	$(call new_venv,$(VENV))
	$(BIN)/$(INSTALL) --no-compile --require-hashes -r requirements/dev.txt
	@touch $@

demo: setup  ## Run a generated day and a generated year of a marketplace through the emulator
	@rm -rf build/demo
	@$(BIN)/quarterhour demo --out build/demo

test: setup  ## Run the tests without the slow ones
	@$(BIN)/pytest $(SIDE_BY_SIDE) -m "not slow"

proof: setup $(STAMP_SAM)  ## Run the slow tests: crash points, interleavings, both engines, all examples of the laws
	@$(BIN)/pytest $(ONE_MORE) -m "slow or law" --hypothesis-profile=full

bench: setup  ## Measure every budget of the design
	@$(BIN)/python -m benchmarks

screenshots: setup  ## Draw the documentation's pictures of the console again (needs Chromium)
	@$(BIN)/python -m tests.e2e.screenshots

openapi: setup  ## Write the OpenAPI document again, and the reference of the HTTP API to build/api.md
	@$(BIN)/python -m quarterhour_tools.openapi

lint: setup  ## Check style, types, the direction of imports, words, and what is generated
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 clients/python/src clients/python/examples
	PYTHONPATH=.:layers/quarterhour:clients/python/src $(BIN)/lint-imports --no-logo
	$(BIN)/codespell
	$(BIN)/python .ci/words.py
	$(BIN)/python -m quarterhour_tools.openapi --check
	$(BIN)/python .ci/words.py build/api.md

format: setup  ## Format the code
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# The template as it is deployed, after SAM's translation. W1020 is about a name that SAM generates.
TRANSLATED := build/template.json
TRANSLATE := import json; from tests.template.stack import parsed, plain; print(json.dumps(plain(parsed())))
security: setup $(STAMP_SAM) $(STAMP_SECURITY)  ## Look for weaknesses in the template, the code and the dependencies
	@mkdir -p $(dir $(TRANSLATED))
	@AWS_DEFAULT_REGION=us-east-1 $(BIN)/python -c '$(TRANSLATE)' >$(TRANSLATED)
	$(VENV_SAM)/bin/cfn-lint --ignore-checks W1020 -- $(TRANSLATED)
	$(VENV_SECURITY)/bin/checkov --file $(TRANSLATED)
	$(VENV_SECURITY)/bin/bandit --quiet --recursive layers/quarterhour/quarterhour functions quarterhour_tools \
	  clients/python/src
	$(VENV_SECURITY)/bin/python .ci/audit.py layers/quarterhour/requirements.txt $(sort $(wildcard requirements/*.txt))

sam: validate build  ## Validate the template and build the deployment

validate: $(STAMP_SAM)  ## Validate the template and those of the options
	@for template in template.yaml options/*/template.yaml; do \
	  $(SAM) validate --lint --template $$template || exit 1; done

# A container's build is not compiled, so its functions start more slowly.
build: runtime $(STAMP_SAM)  ## Build the functions and the layer
	@if $(HAS_LAMBDA_PYTHON); then \
	  $(WITH_LAMBDA_PYTHON) $(SAM) build $(SAM_OPTIONS) && $(call compile,.aws-sam/build/QuarterhourLayer,/opt) && \
	  for function in .aws-sam/build/*Function .aws-sam/build/*Option/*Function; do \
	    test ! -d $$function || $(call compile,$$function,/var/task) || exit 1; \
	  done; \
	else \
	  $(SAM) build --use-container --mount-symlinks $(SAM_OPTIONS); \
	fi

runtime:
	@$(HAS_LAMBDA_PYTHON) || docker info >/dev/null 2>&1 || { echo "Python 3.13, the functions' runtime, is missing:" \
	  "install it with pyenv or as python3.13 on the PATH, or start Docker, which builds without it." >&2; exit 1; }

deploy: runtime setup  ## Build, deploy and try the stack of dev, or of STAGE=prod
	@$(BIN)/python -m quarterhour_tools.deploy $(STAGE) --sam $(abspath $(VENV_SAM))/bin/sam

$(STAMP_SAM): requirements/sam.txt
	$(call new_venv,$(VENV_SAM))
	$(VENV_SAM)/bin/$(INSTALL) --no-compile --require-hashes -r requirements/sam.txt
	@touch $@

$(STAMP_SECURITY): requirements/security.txt
	$(call new_venv,$(VENV_SECURITY))
	$(VENV_SECURITY)/bin/$(INSTALL) --no-compile --require-hashes -r requirements/security.txt
	@touch $@

# The widest set first; the narrower sets use its versions.
LOCK := uv pip compile --quiet --universal --python-version $(OLDEST) --generate-hashes --no-emit-index-url
LAYER := requirements/layer.in
TOOLS := $(LAYER) requirements/tools.in
SIGN_IN := quarterhour_tools/sign_in
lock:  ## Lock the dependencies again (needs uv and npm)
	$(LOCK) $(TOOLS) requirements/dev.in -o requirements/dev.txt
	$(LOCK) $(TOOLS) -c requirements/dev.txt -o requirements/tools.txt
	$(LOCK) $(LAYER) -c requirements/dev.txt -o layers/quarterhour/requirements.txt
	$(LOCK) requirements/sam.in -o requirements/sam.txt
	$(LOCK) requirements/security.in -o requirements/security.txt
	$(LOCK) requirements/runtime.in -o requirements/runtime.txt
	cd $(SIGN_IN) && rm package-lock.json && npm install --package-lock-only --ignore-scripts --no-audit --no-fund

vendor: setup  ## Update the console's vendored libraries and their lock (needs npm)
	@$(BIN)/python .ci/vendor.py

clean:  ## Remove environments, builds and caches
	rm -rf $(VENV) $(VENV_SAM) $(VENV_SECURITY) .aws-sam build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
