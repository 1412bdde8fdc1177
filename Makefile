# The names in this file are a promise (docs/development.md); .ci/run uses them too.
# Works with GNU make 3.81 and any POSIX shell, so also on macOS.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; \
	done)
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
CONFORMANCE := $(VENV)/.conformance
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
ARGS ?=
# Processes that share the test suite; 0 runs it in one, for a debugger.
JOBS ?= 2

.PHONY: help run test check audit format conformance bench soak clean

help:
	@echo "make run          install what is needed and serve the default fabric (ARGS='--port 0')"
	@echo "make test         the whole test suite (ARGS='tests/fabric -x')"
	@echo "make check        format, lint, types, import layers, audit; no tests"
	@echo "make audit        known vulnerabilities of the dependencies"
	@echo "make format       rewrite the code in the project's format"
	@echo "make conformance  DMTF validators over TLS"
	@echo "make bench        measure; make soak: the long versions of the tests"

run: $(RUNTIME)
	@exec $(BIN)/redfish-fm serve $(ARGS)

test: $(DEV)
	@$(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal $(ARGS)

check: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict redfish_fm
	$(BIN)/lint-imports
	$(BIN)/python -m tests.audit

# Known vulnerabilities of the runtime dependencies; says so where no database can be reached.
audit: $(DEV)
	@$(BIN)/python -m tests.audit

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

conformance: $(CONFORMANCE)
	@$(BIN)/python -m tests.conformance $(ARGS)

bench: $(DEV)
	@if [ -f tests/bench/__main__.py ]; then $(BIN)/python -m tests.bench $(ARGS); \
	else echo "bench: tests/bench can not be run yet; nothing was measured"; fi

# pytest answers 5 when no test is marked soak.
soak: $(DEV)
	@$(BIN)/python -m pytest -q -m soak --timeout 14400 tests $(ARGS); code=$$?; \
	if [ $$code -eq 5 ]; then echo "soak: no test is marked soak yet"; else exit $$code; fi

clean:
	rm -rf $(VENV) dist build .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# A venv whose creation broke off has a python but no pip: it is made anew.
$(BIN)/pip:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none found in PATH." >&2; exit 1; }
	@rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "No venv could be made. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(RUNTIME): pyproject.toml | $(BIN)/pip
	@echo "installing redfish-fm into $(VENV) ..." >&2
	@$(PIP) --editable .
	@touch $@

$(DEV): pyproject.toml $(RUNTIME)
	@echo "installing the development tools into $(VENV) ..." >&2
	@$(PIP) --editable '.[dev]'
	@touch $@

$(CONFORMANCE): pyproject.toml $(DEV)
	@echo "installing the DMTF validators into $(VENV) ..." >&2
	@$(PIP) --editable '.[conformance]'
	@touch $@
