# Every target with a line: make help
PYTHON_BIN := .venv/bin/python
PACKAGES := shared/src $(wildcard algorithms/*/src) $(wildcard studies/*)
FRESH_EXAMPLES ?= 1
MARKS := not network and not benchmark and not audit
NETWORK := scripts/network
REPRODUCE = @PYTHONPATH=scripts:studies:tests/kits:tests/benchmarks:tests/reference:tests/differential OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON_BIN) -m reproduce $(if $(QUICK),--quick) $(ARGS)
# Compiled modules are kept, whatever the caller's environment says: every worker, container and command would compile the library and the tests anew.
unexport PYTHONDONTWRITEBYTECODE
.DEFAULT_GOAL := help
.PHONY: help setup demo test differential lint types store docs images network-up network-test network-down network-logs benchmark reproduce audit advisories lock clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | while IFS="$$(printf '\t')" read -r name text; do printf '  %-14s %s\n' "$$name" "$$text"; done

setup: ## Make .venv with the library, every algorithm, the command fedbayes and the test tools
	@scripts/bootstrap

demo: setup ## Private naive Bayes over five hospitals, embedded; writes a report and the result to out/
	@$(PYTHON_BIN) -m fedbayes.client demo

test: setup ## Run all tests but those of the dev network, the benchmarks and the audits
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON_BIN) -m pytest -n auto --dist worksteal -m "$(MARKS)" --durations=15 $(ARGS)

lint: setup ## Check style (ruff) and the layers of the packages (import-linter)
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@scripts/lint_imports

types: setup ## Check types (mypy, strict) of the library, the algorithms and what reproduces the papers
	@.venv/bin/mypy --strict $(PACKAGES) scripts/reproduce scripts/store_files.py

differential: setup ## Random federations and questions against pooled answers (N cases a function, SEED, ONLY=method.function, CASE=file again)
	@PYTHONPATH=tests/differential OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON_BIN) -m harness --cases $(or $(N),25) $(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(CASE),--case $(CASE)) $(ARGS)

store: setup ## Write every store file and the tables of arguments on the methods' pages from the declarations
	@$(PYTHON_BIN) scripts/store $(ARGS)

docs: setup ## Build the site into out/site: pages, executed notebooks, the library's reference; a warning is an error (Python 3.11 or later)
	@scripts/docs $(ARGS)

images: ## Build the base image and the image of every algorithm (needs Docker)
	@scripts/images

network-up: setup images ## Start the dev network: a vantage6 server and four nodes (needs Docker)
	@$(NETWORK) up

network-test: setup ## Run every method on the dev network and compare with the embedded federation
	@FEDBAYES_NETWORK=1 $(PYTHON_BIN) -m pytest tests/network -m network -p no:xdist -v -rP --durations=15 $(ARGS)

network-down: ## Stop the dev network and remove its containers, networks and volumes
	@$(NETWORK) down

network-logs: ## Show the logs of the server, the nodes and the algorithm containers
	@$(NETWORK) logs

benchmark: setup ## Measure times as ratios in one run
	@OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON_BIN) -m pytest tests -m benchmark -s $(ARGS)

reproduce: setup ## Every table and figure of the papers beside ours into docs/reproduction (reproduce-PAPER: one; QUICK=1: few repetitions, into out/)
	$(REPRODUCE)

reproduce-%: setup
	$(REPRODUCE) $*

audit: setup ## Gather long evidence, which make test leaves out
	@FRESH_EXAMPLES=$(FRESH_EXAMPLES) OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(PYTHON_BIN) -m pytest tests -n auto --dist worksteal -m audit --durations=100 $(ARGS)

advisories: setup ## Ask for known vulnerabilities of the images' Python dependencies (pip-audit; needs a package index)
	@scripts/advisories

lock: setup ## Resolve requirements.lock anew
	@scripts/lock

clean: ## Remove .venv, caches and out/
	rm -rf .venv .cache out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
