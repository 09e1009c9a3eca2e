# Every target works on a fresh machine that has Python 3.11 or newer, make and a package registry.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: install demo test lint bench

install: .venv/installed-all

demo: .venv/installed
	$(BIN)/panfocus demo

test: .venv/installed-all
	$(BIN)/python -m pytest

lint: .venv/installed-all
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/installed-all
	$(BIN)/python -m benchmarks

.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/installed-all: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint,bench]'
	touch $@
