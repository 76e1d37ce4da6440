# `make run` serves the app, `make check` takes a minute or two, `make test` runs everything that must hold,
# `make test-all` runs for hours. `make audit` wants the network,
# or a database: `make audit DATABASE=all.zip`.
.DELETE_ON_ERROR:
.PHONY: run run-hashed hashes check test prepared suite test-all mutants lint format audit sbom wheel clean

PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3.13 || command -v python3.14 || command -v python3)
VENV   := .venv
S3_SERVER := $(VENV)/s3-server/.installed
# Without bytecode on disk each of the suite's hundreds of processes compiles the product again.
unexport PYTHONDONTWRITEBYTECODE
BIN    := $(VENV)/bin
# pip compiles one of 29,000 files after the other; this does so on every processor, and the product's files too,
# which parsers behind their walls would compile at each start. Files that no Python can compile are passed over.
COMPILE = @$(BIN)/python -m compileall -qq -j 0 $(VENV)/lib rag storage ui api || true
PIP    := $(BIN)/python -m pip install --disable-pip-version-check --no-compile --constraint constraints.txt

run: $(VENV)/.installed
	$(BIN)/streamlit run app.py

# The same, from files with the hashes of constraints-hashed.txt only. An index that serves builds of its own
# (of torch, often) is refused, so this is not how `make run` installs. The hashed file holds every package of
# the tests and the extras, too, but on Linux no torch. `make hashes` makes it, in a quarter of an hour.
run-hashed: $(VENV)/bin/python constraints-hashed.txt
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes --no-deps \
		--requirement constraints-hashed.txt
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable .
	$(BIN)/footnote model fetch
	touch $(VENV)/.installed
	$(BIN)/streamlit run app.py

hashes: $(VENV)/bin/python
	$(BIN)/python scripts/hash_pins.py

# Each file runs in one process. One that dies is not started again: pytest-xdist then waits for it for ever.
PYTEST := $(BIN)/pytest --dist loadfile --no-loadscope-reorder --max-worker-restart=0

check: $(VENV)/.installed-tests $(S3_SERVER) lint
	$(PYTEST) --numprocesses 2 -m "not slow and not integration"

# Three processes for two cores: tests with a browser wait for it half of the time.
# The types are checked meanwhile, on one processor.
test:
	@$(MAKE) --no-print-directory --jobs 3 prepared
	@$(MAKE) --no-print-directory --jobs 2 lint suite

# What the tests need: three installations side by side.
prepared: $(VENV)/.installed-tests $(S3_SERVER) tesseract

suite:
	$(PYTEST) --numprocesses 3

test-all: prepared lint
	$(PYTEST) --numprocesses 3 -m "" --hypothesis-profile=long

# A hundred changes to the code, one at a time: at least .95 of them must fail a test. Takes hours.
mutants: $(VENV)/.installed-tests $(S3_SERVER)
	$(BIN)/python benchmarks/mutants.py

lint: $(VENV)/.installed-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed-tests
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Check that every pinned version has a wheel for each supported Python, then ask the advisory database about it.
# A package that cannot be checked fails the audit. SECURITY.md gives the reason for each accepted advisory.
ACCEPTED := CVE-2026-45829 CVE-2026-45833
ifdef DATABASE
# Without a network: DATABASE is a zip of OSV JSON, as OSV publishes it for PyPI.
audit: $(VENV)/.installed-tests
	$(BIN)/python scripts/audit_offline.py $(DATABASE) $(addprefix --accept ,$(ACCEPTED))
else
audit: $(VENV)/audit/bin/pip-audit
	$(VENV)/audit/bin/python scripts/check_wheels.py
	$< --strict --no-deps --disable-pip --progress-spinner off --requirement constraints.txt \
		$(addprefix --ignore-vuln ,$(ACCEPTED))
endif

$(VENV)/audit/bin/pip-audit: $(VENV)/bin/python
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip==26.3 pip-audit==2.10.1

# The bill of materials of what is installed, as CycloneDX JSON.
sbom: $(VENV)/.installed-tests
	$(BIN)/python scripts/sbom.py --output sbom.json

# The wheel; the same sources give the same bytes.
wheel: $(VENV)/.installed-tests
	$(BIN)/python scripts/build_wheel.py

clean:
	rm -rf $(VENV)

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14) and "Footnote needs Python 3.11 to 3.14: make run PYTHON=/path/to/python3.13")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python constraints.txt pyproject.toml
	@echo "Installing Footnote's packages (a few minutes, once)"
	$(PIP) --editable '.[sentence-transformers]'
	$(COMPILE)
	@echo "Preparing the embedding model (once)"
	$(BIN)/footnote model fetch
	touch $@

$(VENV)/.installed-tests: $(VENV)/.installed
	@echo "Installing the tests' packages (once)"
	$(PIP) --editable '.[test]'
	$(COMPILE)
	@echo "Fetching the tests' language model (491 MB, once)"
	$(BIN)/footnote model fetch qwen2.5-coder-0.5b
	touch $@

# The tests' S3 server, moto. It needs other versions than Footnote does, so it has an environment of its own.
$(S3_SERVER): tests/s3-server.txt $(VENV)/bin/python
	@echo "Installing the tests' S3 server (once)"
	$(PYTHON) -m venv $(VENV)/s3-server
	$(VENV)/s3-server/bin/python -m pip install --quiet --disable-pip-version-check --no-compile \
		--require-hashes --no-deps --requirement tests/s3-server.txt
	touch $@

# The browser tests drive Debian's Chromium; elsewhere install any Chromium as `chromium`.
.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null \
		&& SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo) \
		&& $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends chromium fonts-noto-cjk >/dev/null \
		|| { echo "The browser tests need chromium: install it and run make test again."; exit 1; }; }

# Text in scans is recognised by Tesseract; where it cannot be installed, its tests are skipped and say so.
# After Chromium: one of apt's runs at a time.
.PHONY: tesseract
tesseract: chromium
	@command -v tesseract >/dev/null || { command -v apt-get >/dev/null \
		&& SUDO=$$([ "$$(id -u)" = 0 ] || echo sudo) \
		&& $$SUDO apt-get update -qq && $$SUDO apt-get install -y -qq --no-install-recommends \
			tesseract-ocr tesseract-ocr-osd tesseract-ocr-kor tesseract-ocr-jpn fonts-noto-cjk >/dev/null \
		|| echo "Tesseract could not be installed: the tests that recognise text are skipped."; }
