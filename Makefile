# Targets for people; 'make help' lists them. Works with GNU make 3.81 (macOS) and later.
# Another Python: make PYTHON=python3.12 study (where .venv is there already, remove it first).

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WARM := $(VENV)/.warm

RIGHT_PYTHON := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))

# The first Python of a version that works; if there is none, python3, and the check says why not.
ifeq ($(origin PYTHON), undefined)
PYTHON := $(shell for python in python3 python3.13 python3.12 python3.14 python3.11; do \
	"$$python" -c '$(RIGHT_PYTHON)' 2>/dev/null \
	&& { echo "$$python"; exit; }; done; echo python3)
endif

.PHONY: help check setup warm study smoke test lab doctor
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-7s %s\n", $$1, $$2 }' Makefile

study: warm ## set up, run every notebook at scale study, end with the path of outputs/index.html
	@$(BIN)/assignlab run --scale study

smoke: warm ## the same with small parameters, in a minute or two
	@$(BIN)/assignlab run --scale smoke

test: warm ## set up and run all tests
	@$(BIN)/python -m pytest

lab: warm ## set up and open JupyterLab on notebooks/
	@$(BIN)/jupyter lab notebooks

doctor: ## say what is missing on this machine, and how to get it
	@PYTHONPATH=lib PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m assignlab.doctor --before-setup

setup: $(READY) ## make .venv with the pinned packages, and Java where the machine has none
	@$(BIN)/python -m assignlab.java constraints.txt

warm: setup $(WARM)

# Before anything starts: one line for each problem.
check:
	@PYTHONPATH=lib PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m assignlab.doctor --before-setup --quiet

# Order-only: the check runs every time, but does not make the environment out of date.
$(READY): pyproject.toml constraints.txt | check
	@echo "set-up: installing into $(VENV) with $(PYTHON)"
	@$(BIN)/python -c '$(RIGHT_PYTHON)' 2>/dev/null \
	|| $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $(READY)

# The machine code is kept on disk; it is made anew where the library has changed.
$(WARM): $(READY) $(shell find lib/assignlab -name '*.py')
	@$(BIN)/assignlab warm
	@touch $(WARM)
