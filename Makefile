# study -> result -> figure, number file -> paper. `make paper` regenerates every figure and number.
PYTHON ?= python
RESULTS ?= results
PAPER ?= paper/simtrack.pdf

.PHONY: paper test check bench
paper: $(PAPER)

$(RESULTS)/%/result.nc $(RESULTS)/%/numbers.json &: studies/%/study.toml
	$(PYTHON) -m simtrack run studies/$* -o $(RESULTS)/$*

$(RESULTS)/%/figure.png: figures/%.py $(RESULTS)/%/result.nc
	$(PYTHON) figures/$*.py $(RESULTS)/$*/result.nc $@

$(PAPER): paper/main.typ paper/build.py $(RESULTS)/probe_calibration/numbers.json $(RESULTS)/probe_calibration/figure.png
	$(PYTHON) paper/build.py $(RESULTS) $@

.SECONDARY:

test:
	pytest

check:
	ruff check . && ruff format --check . && mypy && lint-imports

bench:
	for file in benchmarks/[!h]*.py; do $(PYTHON) $$file; done
