# One command each. `make demo` runs the main job, `make check` is what CI runs.
PYTHON ?= python3
BIN := .venv/bin
UV := $(BIN)/uv pip

.PHONY: demo check check-all format lint types layers test test-slow bench bench-peers soak lock clean
.DEFAULT_GOAL := check

# The environment, from the hashed lock; made again when the lock or the project's metadata changes.
.venv/ready: requirements/uv.txt requirements/dev.txt pyproject.toml
	@echo "callboard: setting up .venv"
	$(PYTHON) -m venv --clear .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	$(UV) install --quiet --require-hashes -r requirements/dev.txt
	$(UV) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: .venv/ready
	@$(BIN)/python examples/demo/run.py

check: .venv/ready lint types layers test

check-all: check test-slow

format: .venv/ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: .venv/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/ready
	$(BIN)/pyright

layers: .venv/ready
	$(BIN)/lint-imports --no-cache

test: .venv/ready
	$(BIN)/python -m pytest -m "not slow"

test-slow: .venv/ready
	$(BIN)/python -m pytest -m slow

bench: .venv/ready
	@$(BIN)/python benchmarks/gate.py
	@$(BIN)/python benchmarks/registration.py
	@$(BIN)/python benchmarks/imports.py
	@$(BIN)/python benchmarks/rounds.py

# The same rows for other frameworks, each in an environment of its own under build/peers.
bench-peers: .venv/ready
	@$(BIN)/python benchmarks/peers/run.py

# One million calls of every outcome; flat memory, or it fails.
soak: .venv/ready
	@$(BIN)/python benchmarks/soak.py

# Writes the locks anew; no index address goes into them.
lock: .venv/ready
	$(UV) compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --output-file requirements/dev.txt
	$(UV) compile requirements/uv.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --output-file requirements/uv.txt

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
