# Everything needs only Python 3.11+ and make. `make help` lists the targets.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
PEERS := .venv-peers
KB_PEERS := .venv-kb-peers
CLIENTS := tests/clients/node
CASE_STORIES := $(patsubst %,tests/stories/test_%.py,cases moving_cases waiting learning shortcuts files edits)
# Whoever has told Python to keep no bytecode has every process of the tests compile everything anew.
unexport PYTHONDONTWRITEBYTECODE
BENCH_KEPT := --figures bench/figures.json --plot docs/images/loop-bench.svg
UV_COMPILE := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.DEFAULT_GOAL := help
.PHONY: help install demo test test-conversations test-browser pictures test-clients test-long test-both test-local-slack test-kills check types layers contracts format lock manifest wheel bench-ingress bench-prompt bench-answer bench-load bench-streams bench-page bench-handover bench-actions bench-desk bench-erase bench-age bench-search bench-loop bench-loop-peers bench-kb bench-kb-peers \
	eval-retrieval eval-actions eval-claims eval-conversations eval-danger train-danger mutants prose shape chaos chaos-short chaos-points chaos-actions chaos-kb clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(VENV)/.runtime: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Frontdesk needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked packages into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.lock
	@echo "Installing the development tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

install: $(VENV)/.runtime  ## the environment with the locked packages and the frontdesk command

demo: $(VENV)/.runtime  ## start the local Slack, the stand-in model, the shop and Frontdesk; open the page's address (SHOP=house or SHOP=shopify for another shop)
	@exec $(BIN)/python -m demo $(if $(SHOP),--shop $(SHOP))

test: $(VENV)/.dev  ## every test that needs only Python, six files at a time: most of them wait
	$(PYTEST) tests --workers 6

test-local-slack: $(VENV)/.dev  ## the local Slack by itself: what it accepts, refuses, delivers and limits
	$(PYTEST) local_slack/tests --workers 4

test-kills: $(VENV)/.dev  ## kill Frontdesk a few times on both databases, where something was done and not noted yet
	$(PYTEST) -m chaos tests/chaos/test_kills.py tests/chaos/test_fleet_kills.py --workers 2

test-conversations: $(VENV)/.dev  ## play a third of the conversations of make eval-conversations; most must pass
	$(PYTEST) -m conversations tests/evals

test-browser: $(VENV)/.dev  ## the page in headless Chromium (Debian: apt-get install chromium)
	$(PYTEST) -m "browser and not long" tests/browser local_slack/tests/page --workers 2

pictures: $(VENV)/.dev  ## walk the journeys of the documents in headless Chromium and take their pictures again (Debian: chromium fonts-inter)
	$(PYTEST) -m browser tests/browser/test_staff_guide.py tests/browser/test_page_pictures.py tests/browser/test_moving_picture.py
	cp build/screenshots/staff-*.png build/screenshots/page-*.png build/screenshots/demo-*.webp docs/images/

$(CLIENTS)/node_modules/.ready: $(CLIENTS)/package-lock.json
	@echo "Installing Slack's clients for Node into $(CLIENTS)/node_modules ..."
	@cd $(CLIENTS) && npm ci --loglevel=error --ignore-scripts
	@touch $@

test-clients: $(VENV)/.dev $(CLIENTS)/node_modules/.ready  ## Slack's clients for Node in the local Slack (needs Node 20 and npm)
	$(PYTEST) -m clients tests/clients

test-both: $(VENV)/.dev  ## all on Postgres that make test tries on SQLite, and cases in a fleet (half an hour)
	$(PYTEST) -m "twin and not long" --workers 4
	STORIES_ON=postgres $(PYTEST) tests/stories --workers 2
	STORIES_ON=fleet $(PYTEST) $(CASE_STORIES) --workers 2

test-long: $(VENV)/.dev  ## what takes its time: benches in their smallest form, damage, a Chroma server, a fleet, many examples
	HYPOTHESIS_PROFILE=long $(PYTEST) -m "(long or hypothesis) and not browser" --workers 2

check: $(VENV)/.dev  ## style, types, import contracts, documents against code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@$(MAKE) --no-print-directory --jobs 2 types layers contracts

types: $(VENV)/.dev
	$(BIN)/mypy

layers: $(VENV)/.dev
	$(BIN)/lint-imports

contracts: $(VENV)/.dev
	$(PYTEST) -m contract tests/contracts tests/shops

mutants: $(VENV)/.dev  ## plant 400 faults in the files that decide, and count those that tests find (an hour; ARGS="--faults 20 --only bot/desk/budgets.py"); last line is JSON
	@$(BIN)/python -m tools.mutants $(ARGS)

prose: $(VENV)/.dev  ## report stiff English in documents, locales, docstrings and comments
	@$(BIN)/python -m tools.prose

shape: $(VENV)/.dev  ## count what has grown large: constructors, classes, folders, functions
	@$(BIN)/python -m tools.shape

format: $(VENV)/.dev  ## format the code and sort the imports
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

lock:  ## pin every dependency again (needs uv)
	$(UV_COMPILE) pyproject.toml --group build --group demo -o requirements.lock
	$(UV_COMPILE) pyproject.toml --extra fleet --extra otel --group build -c requirements.lock -o requirements-fleet.lock
	$(UV_COMPILE) pyproject.toml --extra fleet --extra otel --extra mcp --group build --group demo --group dev -c requirements.lock -c requirements-fleet.lock -o requirements-dev.lock
	$(UV_COMPILE) bench/peers.in -o bench/peers.txt
	$(UV_COMPILE) bench/kb_peers.in -o bench/kb_peers.txt

manifest: $(VENV)/.runtime  ## write manifest.guests.yml from manifest.yml
	$(BIN)/python -m tools.guest_manifest

wheel: $(VENV)/.dev  ## build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

bench-loop: $(VENV)/.dev  ## what a turn costs next to a hand-written floor (5 minutes); last line is JSON
	@$(BIN)/python -m bench.loop $(BENCH_KEPT)

$(PEERS)/.ready: bench/peers.txt
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@echo "Installing the frameworks into $(PEERS) ..."
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/peers.txt
	@touch $@

bench-loop-peers: $(PEERS)/.ready  ## the same next to five frameworks, in an environment of their own (10 minutes)
	@$(PEERS)/bin/python -m bench.loop --pairs 3 --slow-pairs 2 $(BENCH_KEPT) \
		--clients ours agno autogen openai-agents langchain pydantic-ai

bench-prompt: $(VENV)/.dev  ## what the input of a conversation costs under three providers' caching rules (30 seconds); last line is JSON
	@$(BIN)/python -m bench.prompt

bench-ingress: $(VENV)/.dev  ## how soon events are acknowledged, in a burst and steadily (2 minutes); last line is JSON
	@$(BIN)/python -m bench.ingress

bench-answer: $(VENV)/.dev  ## what an answer costs beside a floor that stores nothing, on SQLite and in a fleet (3 minutes); last line is JSON
	@$(BIN)/python -m bench.answer

bench-load: $(VENV)/.dev  ## first words at 60% of what fills a core beside a floor, then 200 answers at once (4 minutes); last line is JSON
	@$(BIN)/python -m bench.load

bench-streams: $(VENV)/.dev  ## sixty answers at once in a workspace that keeps to Slack's limits (1 minute); last line is JSON
	@$(BIN)/python -m bench.streams

bench-page: $(VENV)/.dev  ## how soon the page of make demo can be used (1 minute); last line is JSON
	@$(BIN)/python -m bench.page

bench-handover: $(VENV)/.dev  ## how soon customers and staff read each other (1 minute); last line is JSON
	@$(BIN)/python -m bench.handover

bench-actions: $(VENV)/.dev  ## what a change of an order costs, and how soon a press is at the shop and told (6 minutes); last line is JSON
	@$(BIN)/python -m bench.actions

bench-desk: $(VENV)/.dev  ## a desk with 200 open cases and 50 people: claims, Home, queue, alarms (4 minutes); last line is JSON
	@$(BIN)/python -m bench.at_volume

bench-search: $(VENV)/.dev  ## how long a search among 50,000 cases takes, on SQLite and on Postgres (2 minutes); last line of each is JSON
	@$(BIN)/python -m bench.case_search
	@$(BIN)/python -m bench.case_search --postgres

bench-erase: $(VENV)/.dev  ## erase one customer of 500,000 messages while others write, on SQLite and on Postgres (4 minutes); last line of each is JSON
	@$(BIN)/python -m bench.erase
	@$(BIN)/python -m bench.erase --postgres

bench-age: $(VENV)/.dev  ## start, answer, Home, report, erasure and retention on 500,000 messages beside serving (8 minutes; ARGS="--messages 5000000"); last line is JSON
	@$(BIN)/python -m bench.age $(ARGS)

eval-claims: $(VENV)/.dev  ## how many true answers come through the claim guard, and how many false ones do not
	@$(BIN)/python -m evals.claims

eval-retrieval: $(VENV)/.dev  ## what a search finds on the data sets beside the checkout; last line is JSON
	@$(BIN)/python -m evals.retrieval

eval-conversations: $(VENV)/.dev  ## play conversations in the demo and judge what the customer reads; last line is JSON (ARGS="--only thanks --show")
	@$(BIN)/python -m evals.conversations $(ARGS)

eval-actions: $(VENV)/.dev  ## play changes of orders in the demo and compare the shop; last line is JSON (ARGS="--times 4")
	@$(BIN)/python -m evals.actions $(ARGS)

eval-danger: $(VENV)/.dev  ## how many sentences of people in danger are found, and how many others handed over; last line is JSON
	@$(BIN)/python -m evals.danger

train-danger: $(VENV)/.dev  ## learn the weights by which people in danger are found, from evals/danger (3 minutes)
	@$(BIN)/python -m evals.train_danger

bench-kb: $(VENV)/.dev  ## what builds, refreshes and searches of a big base cost (5 minutes); last line is JSON
	@$(BIN)/python -m bench.kb

$(KB_PEERS)/.ready: bench/kb_peers.txt
	@test -x $(KB_PEERS)/bin/python || $(PYTHON) -m venv $(KB_PEERS)
	@echo "Installing LangChain and LlamaIndex into $(KB_PEERS) ..."
	@$(KB_PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r bench/kb_peers.txt
	@touch $@

bench-kb-peers: $(VENV)/.dev $(KB_PEERS)/.ready  ## the builds next to LangChain's and LlamaIndex's, in an environment of their own
	@$(BIN)/python -m bench.kb --sizes --refresh 0 --peers $(KB_PEERS)/bin/python

chaos: $(VENV)/.dev  ## kill Frontdesk 200 times on SQLite and 100 times in a fleet on Postgres (an hour); a line of JSON each
	$(PYTEST) -m chaos tests/chaos/test_kills.py tests/chaos/test_controls.py tests/chaos/test_cases.py tests/chaos/test_fleet_kills.py \
		tests/ingest/test_fleet.py tests/stories/test_fleet_knowledge.py
	@$(BIN)/python -m tests.chaos.run

chaos-short: $(VENV)/.dev  ## the same for some minutes: about 40 kills on each engine (10 minutes); a line of JSON each
	@$(BIN)/python -m tests.chaos.run --kills 40 --minutes 3

chaos-points: $(VENV)/.dev  ## kill 20 times at each of six points, on SQLite and in a fleet (an hour); a line of JSON each
	@$(BIN)/python -m tests.chaos.run --points

chaos-actions: $(VENV)/.dev  ## kill Frontdesk while it changes orders: at random and at each point (an hour); a line of JSON
	@$(BIN)/python -m tests.chaos.actions

chaos-kb: $(VENV)/.dev  ## kill the builder and the serving process 50 times; every start serves a whole base
	$(PYTEST) -m chaos tests/chaos/test_knowledge.py

clean:  ## remove the environment and everything built
	rm -rf $(VENV) $(PEERS) $(KB_PEERS) $(CLIENTS)/node_modules evals/out dist build
