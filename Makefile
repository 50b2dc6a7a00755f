# All targets work in a fresh clone with Rust, Python 3.11 or later and a C compiler. Python packages go into .venv.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
BIN := .venv/bin
HEARTBEAT := $(PYTHON) packaging/heartbeat.py
export VIRTUAL_ENV := $(CURDIR)/.venv
# The build backend is packaging/backend.py, which calls maturin.
export MATURIN_NO_MISSING_BUILD_BACKEND_WARNING := 1
# Without kept bytecode each process of pytest compiles all tests and packages anew: 12 s more of processor time for collection.
unexport PYTHONDONTWRITEBYTECODE

# The core for `make run` and for tests is built quickly; tests/test_fingerprints.py holds its fingerprints to those of the release
# build, which the wheel, `make peers` and `make bench` use.
PROFILE ?= quick
# How the core of a wheel is built: release, with a profile of itself if llvm-profdata is installed (faster, with the same results), or
# quick, as `make build` does, since to optimise across crates takes five minutes of processor time.
CORE ?= release
BUILD_release = $(BIN)/python bench/guided.py build --release
BUILD_quick = $(BIN)/maturin build --profile quick
# The further words of tests/wheel.sh: a quick core is larger, and its wheel is tried without libraries for figures and fluid models.
TRY_quick = 4500000 core
ifeq ($(BUILD_$(CORE)),)
$(error CORE=$(CORE): expected release or quick)
endif

.PHONY: run sweep build release test test-rust test-python landing lint papers kernel docs notebooks gallery judged site types thorough repository suites \
    new-algorithm counts soak wheel wheels loom oldest-rust live nightly attack soak-attach mutants generated bench peers advisories audit-tools locks \
    clean

# The first example: web-search traffic over the 192 servers of the DX paper, under DCTCP and under DX.
run: build
	$(BIN)/shallows compare scenarios/websearch-tree.toml --cc dctcp --cc dx@ns-2-multi-hop --out results/websearch-tree

# The sweep of docs/sweeps.md: loads up to 30 %, below the saturation of the uplinks, ten seeds each. Minutes.
sweep: build
	$(BIN)/shallows sweep scenarios/websearch-tree.toml --cc dctcp --cc dx@ns-2-multi-hop \
	    --over traffic.0.load=0.05:0.3:0.05 --seeds 10 --baseline dctcp \
	    --metric slowdown_p99 --metric queue_mean_pkt --plot --out results/websearch-sweep

# The tests before a commit, on all cores: three to four minutes on two cores once everything is built. `.ci/run` runs the others too.
test: test-rust test-python

test-rust:
	$(HEARTBEAT) cargo test --locked --workspace --quiet

test-python: build .venv/test-ready
	$(HEARTBEAT) $(BIN)/python -m pytest --numprocesses auto

# `make test-python`, `make thorough` and the tests of `make papers` in one session, which collects them once.
landing: build .venv/test-ready
	$(HEARTBEAT) $(BIN)/python -m pytest --numprocesses auto -m "not kernel and not types and not repository and not nightly"

# The files that have tests of a mark: to collect the others takes 18 s of processor time. tests/conftest.py holds marks to this.
marked = $(shell grep --recursive --files-with-matches --include='test_*.py' 'mark\.$(1)\b' tests)

# Real TCP in real time, on an otherwise idle machine, as root: two to three minutes.
kernel: build .venv/test-ready
	$(BIN)/python -m pytest $(call marked,kernel) -m "kernel and not nightly"

# Tests with a browser, and the cheapest of those that `make test` leaves out (tests/suites.py).
thorough: build .venv/test-ready
	$(BIN)/python -m pytest --numprocesses auto -m "thorough and not repository and not nightly"

# Measures the processor time of all tests that `make test`, `make thorough` and `make nightly` divide, or of those of some files:
# SUITES="tests/test_why.py". Commit tests/processor_times.txt.
suites: build .venv/test-ready
	$(BIN)/python -m pytest --measure --numprocesses auto $(SUITES)

# Tests of the repository: the Makefile and its markers, bench, the gallery, links of pages, the search of the site, how a release is made.
repository: build .venv/test-ready
	$(BIN)/python -m pytest $(call marked,repository) -m "repository and not nightly"

# A type checker over users' programs.
types: build .venv/lint-ready
	$(BIN)/python -m pytest $(call marked,types) -m types

# Every claim of the five papers in quick mode, with one seed of each figure; a figure whose seed gives another sample than on file is
# measured whole, and `make nightly` measures all. Claims that do not hold are printed; a band that is on the other side than on file,
# or another verdict, is an error. Then the tests that take seconds each.
papers: build .venv/test-ready
	$(BIN)/python -m validation report --quick --witness
ifndef IN_LANDING
	$(BIN)/python -m pytest --numprocesses auto $(call marked,paper) -m "paper and not nightly"
endif

# The program of the kernel world. Needs Linux, clang, libelf-dev, zlib1g-dev and libbpf-dev; only running it needs root.
live: .venv/ready
	cargo build --locked --profile $(PROFILE) --package shallows-live --features bpf
	install target/$(PROFILE)/shallows-live $(BIN)/shallows-live

# What takes longer than a landing may: from the commit that is checked out, with a table of results in docs/nightly.md. Hours.
# NIGHTLY="soak attack" runs some of its parts.
nightly: build .venv/test-ready
	$(BIN)/python tests/nightly.py $(NIGHTLY)

# 500 kills of every writing command, 20 full disks, 200 bad folders, 200 changed tables and 100 large scenarios in a control group of
# 2 GB, from a seed that is printed: half an hour, as root.
# ATTACK="--seed 7 --kills 50" repeats the first fifty kills of a seed.
attack: build .venv/test-ready
	cd tests && ../$(BIN)/python -m attack $(ATTACK)

# Random mutations of one line, of which the fast suite should find nine in ten. MUTANTS="--seed 7" repeats or resumes a seed. Hours.
mutants: build .venv/test-ready
	$(BIN)/python tests/mutants.py $(MUTANTS)

# 200 random sequences of attach, rename, another namespace, kill -9 and detach. About three minutes, as root.
soak-attach: build live
	SHALLOWS_SOAK=1 $(BIN)/python -m pytest tests/test_kernel.py -m kernel -k random_orders

# Random scenarios, valid, damaged and hostile, for hours, from a new seed that is printed. SOAK_SECONDS=60 runs a minute,
# SOAK="--seed 7 --count 100" the first hundred of a seed, SOAK="--grammar lawful" valid ones, under every oracle of
# tests/soak/oracles.py, SOAK="--grammar schema" scenarios drawn from the JSON Schema.
SOAK_SECONDS ?= 14400
soak: build .venv/test-ready
	cd tests && ../$(BIN)/python -m soak --seconds $(SOAK_SECONDS) $(SOAK) --out ../results/soak

# Every order in which two threads can run between two barriers (loom): a minute, most of it for the build.
loom:
	RUSTFLAGS="--cfg loom" $(HEARTBEAT) cargo test --locked --quiet --package shallows-sim --lib --profile quick --target-dir target/loom loom

# Time per packet-hop and memory of the benchmark scenarios. bench/paired.py COMMIT compares with a commit.
bench: build
	$(BIN)/python bench/paired.py --rounds 3

# Instructions per packet-hop of the core of `make build` against bench/scenarios.toml. Needs valgrind, and says so if it is missing.
counts: build
	$(BIN)/python bench/instructions.py

# A wheel in dist/ for Linux with glibc 2.34 or later and Python 3.11 or later, and its package in target/release-package.
release: .venv/ready
	rm -rf dist target/release-package
	$(HEARTBEAT) $(BIN)/python packaging/backend.py $(BUILD_$(CORE)) --locked --out dist
	$(BIN)/python -m zipfile --extract dist/*.whl target/release-package

# What a release publishes, in dist/release: the source distribution, and wheels for Linux with glibc 2.28 or later on x86-64 and
# aarch64, which zig links. They have no profile. GitHub builds those for macOS too (.github/workflows/wheels.yml).
MACHINES ?= x86_64 aarch64
wheels: .venv/release-ready
	rm -rf dist/release
	$(BIN)/python packaging/backend.py $(BIN)/maturin sdist --out dist/release
	rustup target add $(MACHINES:%=%-unknown-linux-gnu)
	for machine in $(MACHINES); do \
	    PATH="$$PWD/$(BIN):$$PATH" $(HEARTBEAT) $(BIN)/python packaging/backend.py $(BIN)/maturin build --release --locked --zig \
	        --target $$machine-unknown-linux-gnu --compatibility manylinux_2_28 --out dist/release; \
	    needs=$$($(BIN)/auditwheel show dist/release/*_$$machine.whl); echo "$$needs"; \
	    grep -qE "\"manylinux_2_([0-9]|1[0-9]|2[0-8])_$$machine\"" <<< "$$needs"; \
	done
	tests/source.sh dist/release/*.tar.gz
	tests/wheel.sh dist/release/*_$$(uname -m).whl
	tests/examples.sh dist/release/*_$$(uname -m).whl

# Tries the wheel in an environment with Python alone, and holds its fingerprints to those of the other builds.
wheel: release .venv/test-ready
	tests/wheel.sh dist/*.whl $(TRY_$(CORE))
	PYTHONPATH=target/release-package $(BIN)/python -m pytest tests/test_fingerprints.py

# Known vulnerabilities of the locked dependencies, by the databases of RustSec and PyPI, or why they could not be asked (status 77).
# The first time this builds cargo-audit, for minutes.
CARGO_AUDIT = target/advisories/bin/cargo-audit
advisories: .venv/ready audit-tools
	$(BIN)/python tests/advisories.py .venv/advisories/bin/pip-audit $(CARGO_AUDIT) || test $$? = 77

audit-tools: .venv/advisories/ready $(CARGO_AUDIT)

.venv/advisories/ready: requirements-advisories.lock
	$(PYTHON) -m venv .venv/advisories
	.venv/advisories/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	touch $@

$(CARGO_AUDIT):
	cargo install --quiet --locked --version 0.22.2 --root target/advisories cargo-audit

# Documentation of the crates; a warning of rustdoc is an error.
docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet

# Shallows beside ns-3. Needs Debian's libns3-dev, and says so if it is missing.
peers: release .venv/test-ready
	PYTHONPATH=target/release-package $(BIN)/python bench/peers $(PEERS)

lint: .venv/lint-ready
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python validation tests bench packaging
	$(BIN)/ruff format --check python validation tests bench packaging
	$(BIN)/basedpyright
	$(BIN)/reuse lint --quiet

# The files that are generated from the core and from the models of a scenario: run it after a change of a key.
generated: build .venv/lint-ready
	$(BIN)/python packaging/contract.py
	$(BIN)/python packaging/crossing.py
	$(BIN)/python packaging/builders.py

# Adding an algorithm as CONTRIBUTING.md says edits only the files that it names.
new-algorithm: .venv/test-ready
	$(HEARTBEAT) $(BIN)/python tests/new_algorithm.py

# The oldest Rust that Cargo.toml allows.
oldest-rust:
	oldest=$$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml); \
	if rustup run "$$oldest" rustc --version || rustup toolchain install "$$oldest" --profile minimal; then \
	    CFLAGS=-O0 rustup run "$$oldest" cargo check --locked --workspace --target-dir target/oldest; \
	else echo "skipped: Rust $$oldest cannot be installed here, only $$(rustc --version) was tested"; fi

# The notebooks of docs/notebooks with their outputs, for readers without a kernel. Two minutes.
notebooks: build .venv/test-ready
	$(BIN)/python packaging/notebooks.py

# The gallery: its commands, its figures and its page.
gallery: build .venv/test-ready
	$(BIN)/python packaging/gallery.py

# Judges the algorithms that send over windows, and writes docs/judged.md. Three seeds are an estimated 7 G packet-hops, 30 minutes of
# processor time at the measured 4 million a second; interrupted, it goes on the next time on the same commit.
judged: build
	$(HEARTBEAT) $(BIN)/python packaging/judged.py

# The documentation site, in site/, with the documentation of the crates in site/rust; a broken link is an error.
site: build docs .venv/lint-ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	cp -r target/doc site/rust

# Builds the Rust core into the package; cargo skips what is up to date. PREBUILT=1 takes the core that is there, as targets side by
# side must: it is written anew each time.
build: .venv/ready
ifndef PREBUILT
	@$(HEARTBEAT) $(BIN)/maturin develop --profile $(PROFILE) --locked 2>&1 | tee .venv/build.log \
	    | grep --line-buffered -E '^( +(Compiling|Finished)|…)' \
	    || { cat .venv/build.log; exit 1; }
endif

# Packages for building and running, for tests, and for lint and the documentation site.
.venv/ready: requirements.lock requirements-uv.lock
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	$(call install,$<,180)

.venv/test-ready: requirements-test.lock .venv/ready
	$(call install,$<,165)

.venv/lint-ready: requirements-lint.lock .venv/test-ready
	$(call install,$<,105)

.venv/release-ready: requirements-release.lock .venv/ready
	$(call install,$<,110)

# uv takes 2 to 9 s for what takes pip 17 to 44. It does not read pip's settings: the index and the certificates are handed to it, and
# where it fails, pip tries.
INDEX = $(or $(PIP_INDEX_URL),$(shell $(BIN)/python -m pip config get global.index-url 2> /dev/null))
define install
@echo "Installing the packages of $(1): about $(2) MB, once"
UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet $(INDEX:%=--default-index %) --require-hashes -r $(1) \
    || $(BIN)/python -m pip install --disable-pip-version-check --no-compile --require-hashes -r $(1)
touch $@
endef

# The newest versions in the lock files; UPGRADE= adds only what pyproject.toml asks for and they lack.
UPGRADE ?= --upgrade
COMPILE = .venv/locks/bin/pip-compile $(UPGRADE) --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
    --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links
locks:
	$(PYTHON) -m venv .venv/locks && .venv/locks/bin/python -m pip install --quiet pip-tools
	echo uv | $(COMPILE) -o requirements-uv.lock -
	echo pip-audit | $(COMPILE) -o requirements-advisories.lock -
	printf 'build\ncibuildwheel\n' | $(COMPILE) -o requirements-wheels.lock -
	$(COMPILE) --build-deps-for editable --extra all -o requirements.lock pyproject.toml
	$(COMPILE) --build-deps-for editable --extra all --extra test -c requirements.lock -o requirements-test.lock pyproject.toml
	$(COMPILE) --build-deps-for editable --extra all --extra release -c requirements.lock -o requirements-release.lock pyproject.toml
	$(COMPILE) --build-deps-for editable --extra all --extra test --extra lint --extra docs -c requirements-test.lock -o requirements-lint.lock pyproject.toml
	sed -i '1i # Exact versions, with hashes: pip installs these and nothing else. Made from pyproject.toml by `make locks`.' \
	    requirements*.lock

clean:
	rm -rf .venv target results dist
