# `make book` builds the book, `make test` checks everything that CI checks; `make` alone lists the rest.
PYTHON ?= python3
PORT ?= 8000
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BENCH_INSTALLED := $(VENV)/.installed-bench
HTML := _build/html
REQUIREMENTS := requirements.txt requirements-dev.txt pyproject.toml

# One thread per process: results do not depend on how many cores the machine has.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

# Heavy experiments are computed once and shared by the build and the tests; keyed by settings and code.
export ATTSVM_CACHE ?= $(CURDIR)/.cache/experiments

# As many processes as the machine has cores; the tests of a file stay together, in their order.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout 600 --nbval-sanitize-with tests/nbval.cfg

.DEFAULT_GOAL := help
.PHONY: help install book serve test test-library test-book lint pyodide lite test-lite test-binder notebooks bench clean clean-all

help:
	@echo "make book       build the book into $(HTML)"
	@echo "make test       everything that CI checks"
	@echo "make serve      serve the built book on http://localhost:$(PORT)"
	@echo "make notebooks  execute the chapters and bring them to their committed form"
	@echo "make pyodide    what the tests of Python in the page need (npm)"
	@echo "make lite       Jupyter in the browser, for the next make book"
	@echo "make test-lite, make test-binder: chapters run in that Jupyter, and as on Binder"
	@echo "make bench      the project against plain baselines, after make book"
	@echo "make lint, make test-library, make test-book: the parts of make test"
	@echo "make clean      remove what was built (clean-all: the virtual environment too)"

install: $(INSTALLED)

$(INSTALLED): $(REQUIREMENTS)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed, but $(PYTHON) is $$($(PYTHON) --version 2>&1)."; \
	  echo "Name another one: make book PYTHON=python3.11"; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -r requirements-dev.txt
	@touch $@

book: $(INSTALLED)
	$(BIN)/python tools/drop_stale_cache.py
	$(BIN)/jupyter-book build . -W -n --keep-going
	@echo
	@echo "The book is built. Open $(HTML)/index.html in a browser, or run 'make serve'."

serve:
	@test -f $(HTML)/index.html || { echo "Nothing to serve yet: run 'make book' first."; exit 1; }
	@echo "http://localhost:$(PORT)   (Ctrl-C stops)"
	@$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory $(HTML)

# One goal after the other, also under `make -j`: the parts share the build and the experiments' cache.
test:
	$(MAKE) --no-print-directory lint
	$(MAKE) --no-print-directory test-library
	$(MAKE) --no-print-directory book
	$(MAKE) --no-print-directory test-book

lint: $(INSTALLED)
	$(BIN)/ruff check .

test-library: $(INSTALLED)
	$(PYTEST) tests $(foreach part,site browser lite binder,--ignore tests/$(part))

# The chapters under nbval, strict, and the built pages in a real browser.
test-book: $(INSTALLED)
	$(PYTEST) $(NBVAL) book
	$(PYTEST) tests/browser tests/site

# What the tests of Python in the page answer its requests with; without it they are skipped. Needs npm.
pyodide: $(INSTALLED)
	$(BIN)/python tools/pyodide_files.py

# Jupyter in the reader's browser, with every chapter; `make book` then puts it beside the pages.
LITE_VENV := .venv-lite
lite: $(INSTALLED)
	$(PYTHON) -m venv $(LITE_VENV)
	$(LITE_VENV)/bin/python -m pip install --disable-pip-version-check --quiet -r lite/requirements.txt
	$(BIN)/python tools/build_lite.py $(LITE_VENV)/bin/python

# A chapter of each part, run in that Jupyter from top to bottom; minutes each, after `make pyodide lite`.
test-lite: $(INSTALLED)
	$(BIN)/python -m pytest tests/lite

# A start as on Binder: the files alone, a fresh environment from requirements.txt alone, JupyterLab, a chapter of each part.
test-binder: $(INSTALLED)
	$(BIN)/python -m pytest tests/binder

notebooks: $(INSTALLED)
	$(BIN)/python tools/normalize_notebooks.py --execute

$(BENCH_INSTALLED): $(INSTALLED) benchmarks/requirements.txt
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -r benchmarks/requirements.txt
	@touch $@

bench: book pyodide $(BENCH_INSTALLED)
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf _build .cache .pytest_cache .ruff_cache .hypothesis

clean-all: clean
	rm -rf $(VENV) $(LITE_VENV) *.egg-info
