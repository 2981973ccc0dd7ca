# Every target builds with the same profile and the same selection of packages and targets. With fewer of them (`-p`, or
# binaries alone) cargo leaves out features that only tests ask of shared crates, and builds DataFusion a second time.
CARGO ?= cargo
PYTHON ?= python3
PYTHON312 ?= python3.12
TARGET := $(or $(CARGO_TARGET_DIR),target)
VENV := .venv
DEMO := $(TARGET)/demo
BENCH_ARGS ?=
FUZZ_SECONDS ?= 600
# Real text without secrets: sources of crates, Python's library; and cases where they are laid beside the checkout.
SECRET_TEXTS = --texts $(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src \
  --texts $$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_paths()["stdlib"])') \
  $(if $(wildcard ../shared/cases/real),--texts ../shared/cases/real) \
  $(if $(wildcard ../shared/cases/secret-probes.jsonl),--probes ../shared/cases/secret-probes.jsonl)

.DEFAULT_GOAL := help
.PHONY: help demo test bench bench-secrets recall check-trainers fuzz fixtures fmt lint doc deny build skips

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name says; do printf 'make %-15s %s\n' "$$name" "$$says"; done

build:
	@[ -x $(TARGET)/debug/trace-lake ] || echo 'building; the first time takes about ten minutes on two cores'
	$(CARGO) build --workspace --bins --examples

demo: build ## build, then sync, check and export the demo traces into a lake of your own
	@sh fixtures/demo.sh $(TARGET)/debug/trace-lake $(DEMO)

test: ## run all tests, and say which services they had to do without
	@$(MAKE) --no-print-directory skips
	$(CARGO) test --workspace --no-fail-fast
	@$(MAKE) --no-print-directory skips

skips:
	@[ -n "$$TRACE_LAKE_TEST_S3" ] || echo 'SKIPPED: tests on S3; TRACE_LAKE_TEST_S3 names no endpoint (see README.md)'
	@[ -n "$$TRACE_LAKE_TEST_PYTHON" ] || echo 'SKIPPED: tests with Python engines; TRACE_LAKE_TEST_PYTHON names no python (see README.md)'

bench: $(VENV)/duckdb ## measure the release binary beside its peers; BENCH_ARGS="--mb 100 --rounds 1" is quick
	$(CARGO) build --workspace --bins --release
	$(TARGET)/release/lake-benches --verdicts 100000
	$(TARGET)/release/lake-benches --binary $(TARGET)/release/trace-lake --python $(VENV)/bin/python $(BENCH_ARGS)

bench-secrets: $(VENV)/scanners ## measure the secret scan: recall, false findings on real text, speed beside two scanners
	$(CARGO) build --workspace --bins --release
	$(TARGET)/release/bench-secrets $(SECRET_TEXTS) --binary $(TARGET)/release/trace-lake \
	  --kingfisher $(VENV)/bin/kingfisher --betterleaks $(VENV)/bin/betterleaks $(BENCH_ARGS)

recall: build ## show what the secret scan finds and finds wrongly, with the build of the tests; CI runs it
	$(TARGET)/debug/bench-secrets --strict --untimed $(SECRET_TEXTS)

$(VENV)/scanners: .ci/scanners.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement .ci/scanners.txt
	@touch $@

# The one version of duckdb that the requirements of .ci name.
$(VENV)/duckdb: .ci/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet "$$(grep '^duckdb==' .ci/requirements.txt)"
	@touch $@

check-trainers: build $(VENV)-trainers/installed ## give the demo sets to the trainers' own loaders; installs several GB, takes Python 3.12
	@.ci/check-trainers $(TARGET)/debug/trace-lake $(VENV)-trainers/bin/python $(TRAINER_ARGS)

$(VENV)-trainers/installed: .ci/trainers.txt .ci/trainers-alone.txt
	$(PYTHON312) -m venv $(VENV)-trainers
	$(VENV)-trainers/bin/pip install --quiet --requirement .ci/trainers.txt
	$(VENV)-trainers/bin/pip install --quiet --no-deps --requirement .ci/trainers-alone.txt
	@touch $@

fuzz: ## throw odd envelopes, statements, trust files and ledgers at their readers; FUZZ_SECONDS=600
	TRACE_LAKE_FUZZ_SECONDS=$(FUZZ_SECONDS) $(CARGO) test --workspace --test it -- --ignored --nocapture fuzz::for_a_while

fixtures: build ## write the fixtures anew; the same bytes each time
	$(TARGET)/debug/fixtures fixtures

fmt: ## format the sources
	$(CARGO) fmt --all

lint: ## look at format and clippy, with warnings as errors
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings

doc: ## build the documentation of the crates, with warnings as errors
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps --lib --bins --examples

deny: ## look at licences, sources and bans of all dependencies; installs cargo-deny from crates.io if it is missing
	@command -v cargo-deny >/dev/null || { echo 'cargo-deny is missing; installing it from crates.io'; $(CARGO) install --locked cargo-deny; }
	$(CARGO) deny check bans licenses sources
