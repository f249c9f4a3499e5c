# Every target sets up what it needs, once: a .venv beside the code, with the versions in constraints.txt.
# `make test-gpu PYTHON=python3` (or any other target) uses that interpreter and its packages, and sets up nothing.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-all test-gpu lint format bench docs clean

ifdef PYTHON
  python := PYTHONPATH=src$${PYTHONPATH:+:$$PYTHONPATH} $(PYTHON)
else
  python := .venv/bin/python
  core := .venv/core.stamp
  dev := .venv/dev.stamp
endif

pytest := OMP_NUM_THREADS=1 $(python) -m pytest
trainings := benchmarks/output_bias.py benchmarks/public_datasets.py benchmarks/scenes.py benchmarks/selection.py benchmarks/translation.py  # they take minutes to hours, or need data of your own
benchmarks := $(filter-out benchmarks/_% $(trainings), $(wildcard benchmarks/*.py))

help:  ## show this list
	@echo "seqloom: neural sequence models, from the RNN to the Transformer. Start with \`make demo\`."
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

demo: $(core)  ## train a translator of numbers from English to French (replaces runs/demo)
	@rm -rf runs/demo
	@$(python) -m seqloom.cli train translate --model gru-after --model.attention additive --model.dim 64 --model.hidden 128 \
	    --train.batch-tokens 1024 --train.steps 1000 --train.validate-every 250 --out runs/demo

test: $(dev)  ## run the tests, the doctests and the code in README and docs (about 5 minutes on two cores)
	CUDA_VISIBLE_DEVICES= $(pytest) -n 2 -m "not slow and not gpu"

test-all: $(dev)  ## run the same with the slow tests and many more random cases
	CUDA_VISIBLE_DEVICES= $(pytest) -n 2 -m "not gpu" --hypothesis-profile thorough

test-gpu: $(dev)  ## run the tests that need a CUDA device
	@$(python) -c "import torch; raise SystemExit(0 if torch.cuda.is_available() else \
	    f'No CUDA device here, or torch {torch.__version__} cannot use it: the GPU tests did not run.')"
	$(pytest) -m gpu

lint: $(dev)  ## check style, formatting, types and the order of imports between packages
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(python) -m mypy
	$(python) -c "from importlinter.cli import lint_imports_command; lint_imports_command(['--no-logo'])"

format: $(dev)  ## fix style and formatting where possible
	$(python) -m ruff check --fix
	$(python) -m ruff format

bench: $(dev)  ## run every speed benchmark, one after another
	@for file in $(benchmarks); do echo "== $$file"; $(python) $$file || exit 1; done

docs: $(dev)  ## run the code of the tour, draw its pictures, list the public names, build the pages in site/
	$(python) docs/execute.py docs/tour/*.md
	$(python) docs/reference.py
	$(python) docs/models.py
	$(python) -m mkdocs build --strict --quiet
	@echo "Open site/index.html"

clean:  ## remove what the other targets created, .venv included
	rm -rf .venv site dist build .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# demo needs the core dependencies only; everything else needs the dev extra, which includes them.
.venv/core.stamp: pyproject.toml constraints.txt
	$(call install,.)
	@touch $@

.venv/dev.stamp: pyproject.toml constraints.txt
	$(call install,.[dev])
	@touch .venv/core.stamp $@

define install
@python3 -c 'import sys; raise SystemExit(0 if sys.version_info >= (3, 11) else \
    f"seqloom needs Python 3.11 or newer; python3 here is {sys.version.split()[0]}.")'
@echo "Setting up .venv (once; torch is a large download) ..."
@python3 -m venv .venv
@.venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '$(1)'
endef
