# The commands of tensorplane. `make help` lists them; settings are in Pulumi.<stack>.yaml.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STACK ?= dev
# Only where the caller named one: the embedded cluster is stopped without.
NAMED := $(if $(filter file,$(origin STACK)),,--stack $(STACK))
# Which part of the nightly tests, part/parts, and what their random choices follow from.
SHARD ?= 1/10
SEED ?= 1
# A context of your kubeconfig: use that cluster; nothing of a cluster is built or started here.
CONTEXT ?=
export TENSORPLANE_CONTEXT := $(CONTEXT)
# CI may have no HOME, which Go needs. The locale is for reading what programs say, and for printing more than ASCII.
export HOME := $(or $(HOME),$(shell echo ~))
export LC_ALL := C.UTF-8
# Of all checkouts together: without, a new one takes a minute of a processor.
export MYPY_CACHE_DIR := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tensorplane/mypy
# Programs start often here; without bytecode, each compiles its modules again.
unexport PYTHONDONTWRITEBYTECODE

# Two goals at once would install into the same environment.
.NOTPARALLEL:

.PHONY: help up down status volumes tiers why top preview drift purge catalog catalog-update tools test test-unit test-nightly test-report test-gpu lint types bench dist docs

help: ## List the commands.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# POLICIES=skip deploys without the policies; the stack's history records it, and `make status` says so.
# REFRESH=1 reads every resource first, and repairs what somebody changed outside of Pulumi.
up: $(VENV)/.bootstrapped ## Deploy a stack: build what is missing, start the embedded cluster if it is there: make up STACK=dev
	@$(BIN)/python -m tensorplane.cli up --stack $(STACK) $(if $(REFRESH),--refresh) \
		$(if $(POLICIES),--policies $(POLICIES))

down: $(VENV)/.bootstrapped ## Stop the embedded cluster. Data, tools and images stay.
	@$(BIN)/python -m tensorplane.cli down $(NAMED)

status: $(VENV)/.bootstrapped ## Show nodes, pods, volumes, queues and URLs of a stack's cluster: make status STACK=dev
	@$(BIN)/python -m tensorplane.cli status --stack $(STACK)

volumes: $(VENV)/.bootstrapped ## Show volumes, snapshots, mirrors and data left from deleted volumes: make volumes NAME=models
	@$(BIN)/python -m tensorplane.cli volumes --stack $(STACK) $(NAME) $(if $(JSON),--json)

tiers: $(VENV)/.stacks ## Show which queue gets which flavors: guaranteed, borrowable, never.
	@$(BIN)/python -m tensorplane.cli tiers --stack $(STACK) $(if $(JSON),--json)

why: $(VENV)/.stacks ## Tell why a job waits, and what would let it start: make why JOB=search
	@$(BIN)/python -m tensorplane.cli why --stack $(STACK) "$(JOB)" $(if $(JSON),--json)

top: $(VENV)/.stacks ## Show who has which accelerators, and how many jobs waited: make top HISTORY=12
	@$(BIN)/python -m tensorplane.cli top --stack $(STACK) --history $(or $(HISTORY),3) $(if $(JSON),--json)

purge: $(VENV)/.bootstrapped ## Stop the embedded cluster and delete its data (asks first).
	@$(BIN)/python -m tensorplane.cli purge $(NAMED)

preview: $(VENV)/.bootstrapped ## Show what `pulumi up` would change, with the policies' verdicts: make preview STACK=dev BASE=origin/main
	@$(BIN)/python -m tensorplane.cli preview --stack $(STACK) $(if $(BASE),--base "$(BASE)")

drift: tools ## Show what was changed outside of Pulumi; fails if there is any: make drift STACK=dev
	@$(BIN)/python -m tensorplane.cli drift --stack $(STACK)

# Filters: CLOUD, ACCELERATOR, KIND (gpu, tpu, cpu), MIN_MEMORY (GiB), REGION; WITHDRAWN=1 and JSON=1.
catalog: $(VENV)/.bootstrapped ## Show accelerators, machines and prices: make catalog CLOUD=eks ACCELERATOR=h100-80gb
	@$(BIN)/python -m tensorplane.cli catalog --cloud "$(CLOUD)" --accelerator "$(ACCELERATOR)" --kind "$(KIND)" \
		--min-memory $(or $(MIN_MEMORY),0) --region "$(REGION)" $(if $(WITHDRAWN),--withdrawn) $(if $(JSON),--json)

catalog-update: $(VENV)/.bootstrapped ## Renew the catalog's files: make catalog-update SNAPSHOTS=folder (docs/catalog.md)
	@$(BIN)/python -m tensorplane.components.catalog.update "$(SNAPSHOTS)"

tools: $(VENV)/.bootstrapped ## Build or find the tools that previews and tests need.
	@$(BIN)/python -m tensorplane.cli tools

test: tools-test lint ## Everything: lint, types, unit, contract, policy and end-to-end tests, in groups side by side.
	@$(BIN)/python -m tests.groups

tools-test: $(VENV)/.bootstrapped
	@$(BIN)/python -m tensorplane.cli tools --all

test-unit: $(VENV)/.tested ## The unit tests alone: no engine, no cluster.
	@$(BIN)/python -m tests.groups stacks unit

# Shards are parts of what is counted, random, killed or slow (docs/testing.md). A shard that was stopped goes on.
test-nightly: tools-test ## The heavier counts, in shards: make test-nightly SHARD=1/10 SEED=2
	@TENSORPLANE_SEED=$(SEED) $(BIN)/python -m tests.nightly $(SHARD)

test-report: $(VENV)/.tested ## Write tests/report.tsv: each test, its claim and page, which command runs it, its seconds.
	@$(BIN)/python -m tests.report

# An environment of its own: TensorFlow's GPU build, NVIDIA's libraries, and what the training image has beside them. The
# link is that of images/cusolver.py.
test-gpu: ## Strategy, memory growth and mixed precision, on a machine with an NVIDIA GPU.
	@nvidia-smi -L >/dev/null 2>&1 || { echo "make test-gpu: no NVIDIA GPU answers to nvidia-smi; run it on a machine that has one" >&2; exit 1; }
	@if ! [ -e .venv-gpu/.ready ] || [ images/requirements/gpu.txt -nt .venv-gpu/.ready ]; then \
		python3 -m venv .venv-gpu; \
		grep -v '^tensorflow' images/requirements/training.txt >.venv-gpu/requirements.txt; \
		.venv-gpu/bin/pip install -q --no-deps -r .venv-gpu/requirements.txt -r images/requirements/gpu.txt; \
		.venv-gpu/bin/pip install -q pytest pytest-timeout; \
		ln -sf ../../cusolver/lib/libcusolver.so.11 .venv-gpu/lib/python3*/site-packages/nvidia/cusparse/lib/; \
		touch .venv-gpu/.ready; \
	fi
	@PYTHONPATH=runtime/tensorplane/archive_root:runtime .venv-gpu/bin/python -m pytest -m gpu --confcutdir tests/gpu tests/gpu

lint: $(VENV)/.tested ## Lint and formatting (ruff).
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: $(VENV)/.tested ## Types (mypy --strict).
	@$(BIN)/mypy
# The policy pack is a program of its own, whose modules are named from its folder.
	@cd policies && ../$(BIN)/mypy --config-file ../pyproject.toml --cache-dir $(MYPY_CACHE_DIR)/policies .

dist: $(VENV)/.tested ## Build the wheel into dist/: what `pip install tensorplane` installs.
	@$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@echo "install it with: pip install '$$(ls -t "$(CURDIR)"/dist/tensorplane-*.whl | head -1)'"

# REPOSITORY=https://HOST/OWNER/NAME and REF=v1.2.3: where links to files that are no pages lead; else into this checkout.
docs: .venv-docs/.ready ## Build the documentation into site/, with search. A link that leads nowhere is an error.
	@rm -rf site
# Everything anew: Sphinx tells the problems of a page only when it reads that page.
	@REPOSITORY="$(REPOSITORY)" REF="$(REF)" .venv-docs/bin/sphinx-build -q -E -W --keep-going -c docs -d .venv-docs/pages . site
	@echo site/index.html

.venv-docs/.ready: docs/requirements.txt
	@python3 -m venv .venv-docs
	@.venv-docs/bin/pip install --quiet --disable-pip-version-check -r docs/requirements.txt
	@touch $@

bench: tools-test ## Measure the figures: make bench, or make bench ONLY=name
	@$(BIN)/python -m bench $(ONLY)

# What `driver/` runs on: a small environment, there in seconds. It installs the rest beside its other work.
$(VENV)/.bootstrapped: core/requirements.txt core/bootstrap.sh
	@bash core/bootstrap.sh $(VENV)
	@touch $@

# What a stack's program and the commands about it run on.
$(VENV)/.stacks: $(VENV)/.bootstrapped requirements.txt
	@$(BIN)/python -m tensorplane.cli tools --python stacks
	@touch $@

$(VENV)/.tested: $(VENV)/.bootstrapped requirements.txt requirements-aks.txt tests/requirements.txt \
		$(wildcard plugins/cloud_models/requirements-*.txt)
	@$(BIN)/python -m tensorplane.cli tools --python tests
	@touch $@
