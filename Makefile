# What is run before every commit (make), what is run now and then (make all), and what is written by machine.
PYTHON ?= python

.PHONY: default check format lint types docs test all accept index

default: check test

check: format lint types docs

format:
	$(PYTHON) -m ruff format --check .

lint:
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy
	$(PYTHON) -m mypy checks/*/__init__.py

docs:
	$(PYTHON) -m pytest -q tests/test_docs.py

test:
	$(PYTHON) -m pytest

# The slow tests too: every program of every probed check, the kills, the measurements.
all: check
	$(PYTHON) -m pytest -m ""

# Stores the outputs that tests compare with stored ones as they are now; read the diff.
accept:
	$(PYTHON) -m pytest -m "" --accept

# Writes the index of the checks and the README's tables.
index:
	$(PYTHON) tests/generate.py
