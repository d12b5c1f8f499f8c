# The verbs of Rackwise; plain `make` lists them. Wants python3 >= 3.11 and nothing else.
# Tests run in an order drawn from ORDER: `make test ORDER=7` is another one.
PYTHON ?= python3
PROFILE ?=
KAFKA ?= 1
KAFKA_VERSION ?=
LINE ?=
ORDER ?= 36
SECONDS ?= 60
export HYPOTHESIS_PROFILE := $(if $(filter exhaustive,$(PROFILE)),exhaustive,deterministic)
export KAFKA KAFKA_VERSION
BIN := .venv/bin
PYTEST := pytest --durations=15 --randomly-seed=$(ORDER)
CORE := tests/core src/rackwise/core
SOLVER := tests/solver
CONNECT := $(if $(filter exhaustive,$(PROFILE)),spark and not kafka and not long,connect)
SERVER := server and not spark and not long
MAKEFLAGS += --no-print-directory

.DEFAULT_GOAL := help
.PHONY: docs help venv minimal server-assignor demo live only test lane-spark lane-core lane-rest test-spark test-connect test-lines test-core test-solver test-rest test-kafka test-kafka-adapters test-kafka-cli test-kafka-rest long fuzz sbom check bench golden lock

help:
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18

venv:
	@$(PYTHON) requirements/locks.py install .venv dev.txt

minimal:
	@$(PYTHON) requirements/locks.py install build/minimal minimal.txt

server-assignor: venv ## the jar of the server-side assignors for brokers, and its SHA-512
	@$(BIN)/python server-assignor/server_jar.py

demo: venv ## the main job on bundled data, no broker needed; ends with a report
	@$(BIN)/python examples/demo.py

docs: ## the docs site in build/site, with search; every link is checked
	@$(PYTHON) requirements/locks.py install build/docs-venv docs.txt
	@NO_MKDOCS_2_WARNING=1 build/docs-venv/bin/mkdocs build --strict --quiet --clean
	@echo build/site/index.html

live: venv ## the same on real Kafka brokers; a repair there and back; one that loses its disk
	@$(BIN)/python examples/live.py
	@$(BIN)/python examples/planning/there_and_back.py
	@$(BIN)/python examples/identity/live.py

test: venv minimal ## all suites, real Kafka and Spark among them
	@$(BIN)/python -m coverage erase
	@$(BIN)/python tests/side_by_side.py "$(MAKE) -k lane-spark" "$(MAKE) -k lane-core" "$(MAKE) -k lane-rest"
	@$(BIN)/python -m coverage combine --quiet
	@$(BIN)/python -m coverage report

# Three lanes run at the same time; they share no port, no folder and no cache. Two of them end with
# tests on brokers, which mostly wait: the other lanes use the processors meanwhile.
lane-spark: test-spark test-kafka-cli
lane-core: test-core test-kafka-adapters test-kafka-rest
lane-rest: test-solver test-rest test-connect

test-spark:
	$(BIN)/python -m $(PYTEST) -o cache_dir=.pytest_cache/spark -m "spark and not long"

# On Spark Connect: one case of every function of the pipeline, or all of them.
test-connect:
	RACKWISE_SPARK=connect $(BIN)/python -m $(PYTEST) -o cache_dir=.pytest_cache/connect -m "$(CONNECT)" tests/pipeline

# On Spark 4.0, 4.1 and 4.3, or on LINE.
test-lines:
	$(BIN)/python tests/spark_lines/run.py $(LINE)

# The coverage of core is that of its own tests, which run once, where numpy is all there is, and of
# the solver's. The other tests run without coverage, which makes them a half slower.
test-core:
	build/minimal/bin/python -m coverage run -p -m $(PYTEST) -o cache_dir=.pytest_cache/core -m "not long" $(CORE)

test-solver:
	$(BIN)/python -m coverage run -p -m $(PYTEST) -o cache_dir=.pytest_cache/solver -m "not server and not long" $(SOLVER)

test-rest:
	$(BIN)/python -m $(PYTEST) -m "not server and not long" $(CORE:%=--ignore=%) --ignore=$(SOLVER)

# Two at the same time: most of it waits for brokers. Either starts brokers of its own: Kafka 4.4, or
# 4.3 with `make test-kafka KAFKA_VERSION=4.3`, and Kafka 3.9 on ZooKeeper.
test-kafka:
	@$(BIN)/python tests/side_by_side.py "$(MAKE) -k test-kafka-adapters test-kafka-rest" "$(MAKE) test-kafka-cli"

test-kafka-adapters:
	$(BIN)/python -m $(PYTEST) -o cache_dir=.pytest_cache/adapters -m "$(SERVER)" tests/adapters

test-kafka-cli:
	$(BIN)/python -m $(PYTEST) -o cache_dir=.pytest_cache/commands -m "$(SERVER)" tests/cli

test-kafka-rest:
	$(BIN)/python -m $(PYTEST) -o cache_dir=.pytest_cache/servers -m "$(SERVER)" --ignore=tests/adapters --ignore=tests/cli

only: venv ## the tests of one capability: make only CAP=planning
	@$(BIN)/python tests/only.py $(CAP)

long: venv ## what is too long for every change: brokers and racks killed under load, bytes counted
	@$(BIN)/python -m $(PYTEST) -m long
	@$(MAKE) fuzz
	@$(MAKE) test-kafka KAFKA_VERSION=4.3
	@$(MAKE) test-lines

fuzz: venv ## broken inputs for every reader and forged plans for the proof, SECONDS each (60)
	@$(BIN)/python tests/fuzz/run.py --seconds $(SECONDS)

sbom: venv ## a software bill of materials (CycloneDX) of all packages and jars, build/sbom.json
	@$(BIN)/python requirements/sbom.py build/sbom.json

check: venv ## format, lint, types, contracts, spelling, locks; changes no file
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache
	@$(BIN)/codespell src tests docs examples requirements deploy *.md Makefile Containerfile
	@$(PYTHON) requirements/locks.py check

bench: venv ## pairs and ratios; fails where a gate is missed
	@$(BIN)/python tests/bench/run.py

golden: venv ## asks upstream Java again; fails where a frozen answer changed
	@$(BIN)/python tests/oracle/golden.py
	@$(BIN)/python tests/golden_levels.py

lock: ## resolves the locked dependencies anew (wants uv)
	@$(PYTHON) requirements/locks.py compile
