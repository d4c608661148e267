# make app    open the application (PORT=8501; HEADLESS=1 opens no browser)
# make test   every test, those in a real browser included
# make lint   ruff and mypy

PYTHON ?= python3
PORT ?= 8501
PYTEST_ARGS ?= --numprocesses auto --dist loadfile
BIN := .venv/bin
STAMP := .venv/.installed-by-make
CHROMIUM ?= /usr/bin/chromium

.DEFAULT_GOAL := help
.PHONY: help install app test lint

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Attention Atlas needs Python 3.11 or newer; choose one with: make install PYTHON=python3.12" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt --editable '.[dev,export]'
	@touch $@

app: $(STAMP)
	$(BIN)/atlas app --port $(PORT) $(if $(filter 1,$(HEADLESS)),--headless)

test: $(STAMP)
	@test -x $(CHROMIUM) || \
	  { echo "The browser tests need Chromium at $(CHROMIUM) (Debian: apt-get install chromium)." >&2; exit 1; }
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
