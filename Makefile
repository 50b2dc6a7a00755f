# Everything runs from a fresh clone with Rust, Python 3.11+ and a C compiler. Python lives in .venv.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= python3
BIN := .venv/bin
export VIRTUAL_ENV := $(CURDIR)/.venv
# The build backend is packaging/backend.py, which calls maturin.
export MATURIN_NO_MISSING_BUILD_BACKEND_WARNING := 1

.PHONY: site parts run sweep test kernel thorough types papers wheel docs soak soak-saving soak-attach live loom bench counts peers lint build locks clean

# The main job: web-search traffic over the 192 servers of the DX paper, under DCTCP and under DX. Its core is built with a
# profile of itself where llvm-profdata is at hand: faster, the same results.
run: .venv/ready
	@$(BIN)/python bench/guided.py develop --release --locked
	$(BIN)/shallows compare scenarios/websearch-tree.toml --cc dctcp --cc dx@ns-2-multi-hop --out results/websearch-tree

# Web search over the 192 servers again: loads 0.2 to 0.8, ten seeds each, means with intervals. Minutes.
sweep: build
	$(BIN)/shallows sweep scenarios/websearch-tree.toml --cc dctcp --cc dx@ns-2-multi-hop \
	    --over traffic.0.load=0.2:0.8:0.1 --seeds 10 --baseline dctcp \
	    --metric slowdown_p99 --metric queue_mean_pkt --plot --out results/websearch-sweep

# On all cores: less than three minutes on two, once all is built. Four targets have the rest: `kernel`, `thorough`, `types` and
# `papers`.
test: build .venv/test-ready
	cargo test --locked --workspace --quiet
	$(BIN)/python -m pytest --numprocesses auto -m "not kernel and not thorough and not paper and not types"

# Real TCP in real time, so with nothing beside it: three minutes, and root.
kernel: build .venv/test-ready
	$(BIN)/python -m pytest -m kernel

# More cases of what `make test` holds for some: every example on two, three, four and eight threads, ns-3 beside it, kills.
thorough: build .venv/test-ready
	$(BIN)/python -m pytest --numprocesses auto -m thorough

# What a type checker says of users' programs.
types: build .venv/lint-ready
	$(BIN)/python -m pytest -m types

# Every claim of five papers in quick mode, into results/papers.html; then the tests that take seconds each.
papers: build .venv/test-ready
	$(BIN)/shallows papers report --quick
	$(BIN)/python -m pytest --numprocesses auto -m paper

# The kernel world's program: needs Linux, clang, libelf-dev, zlib1g-dev and libbpf-dev; root only to run it.
live: .venv/ready
	cargo build --locked --release --package shallows-live --features bpf
	install target/release/shallows-live $(BIN)/shallows-live

# Kills, full disks and simultaneous runs while results are saved: 500, 20 and 50; a sweep of 1,000 runs killed ten times, and one
# on Dask. About twelve minutes.
soak-saving: build .venv/test-ready
	SHALLOWS_SOAK=1 $(BIN)/python -m pytest tests/test_saving.py
	SHALLOWS_SOAK=1 $(BIN)/python -m pytest tests/test_sweeps.py -k killed

# 200 random orders of attach, rename, another namespace, kill -9 and detach. About three minutes; needs root.
soak-attach: build live
	SHALLOWS_SOAK=1 $(BIN)/python -m pytest tests/test_kernel.py -k random_orders

# Random scenarios, lawful, bent and hostile, for hours, from a new seed that it prints: SOAK_SECONDS=60 for a minute,
# SOAK="--seed 7 --count 100" for the first hundred of a seed.
SOAK_SECONDS ?= 14400
soak: build .venv/test-ready
	cd tests && ../$(BIN)/python -m soak --seconds $(SOAK_SECONDS) $(SOAK) --out ../results/soak

# Two threads between windows, in every order in which they may go on (loom): a minute, most of it to build.
loom:
	RUSTFLAGS="--cfg loom" cargo test --locked --quiet --package shallows-sim --lib --release --target-dir target/loom loom

bench: build
	$(BIN)/python bench/paired.py --rounds 3

# Instructions a packet-hop against those on file: needs valgrind, and says so where there is none.
counts: build
	$(BIN)/python bench/instructions.py

# A wheel for every Linux since glibc 2.34 and Python 3.11 in dist/, and what tests/wheel.sh tries with it where there is
# nothing but Python. Without what debuggers want, which is most of its size; names of functions stay, for backtraces.
wheel: export CARGO_PROFILE_RELEASE_STRIP = debuginfo
wheel: .venv/ready
	rm -rf dist
	$(BIN)/python packaging/backend.py $(BIN)/python bench/guided.py build --release --locked --out dist
	tests/wheel.sh dist/*.whl

# What rustdoc makes of the crates, without a warning.
docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet

# Beside ns-3, in one run: needs Debian's libns3-dev, and says so where it is missing.
peers: build
	$(BIN)/python bench/peers

lint: .venv/lint-ready
	cargo fmt --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests bench packaging
	$(BIN)/ruff format --check python tests bench packaging
	$(BIN)/basedpyright
	$(BIN)/reuse lint --quiet

# The parts of a scenario in Python, from its models: after a change of a key.
parts: build .venv/lint-ready
	$(BIN)/python packaging/parts.py

# The documentation site, in site/; a broken link fails it.
site: build .venv/lint-ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

# Builds the Rust core into the package; cargo knows when there is nothing to do.
build: .venv/ready
	@$(BIN)/maturin develop --release --locked 2>&1 | tee .venv/build.log | grep -E '^ +(Compiling|Finished)' \
	    || { cat .venv/build.log; exit 1; }

# What building and running need, then what tests, then what lint and the documentation site need.
.venv/ready: requirements.lock
	$(PYTHON) -m venv .venv
	$(call install,$<,180)

.venv/test-ready: requirements-test.lock .venv/ready
	$(call install,$<,165)

.venv/lint-ready: requirements-lint.lock .venv/test-ready
	$(call install,$<,105)

define install
@echo "Installing what $(1) names: about $(2) MB, once"
$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r $(1) | sed '/already satisfied/d'
touch $@
endef

# The newest versions of everything in the locks; with UPGRADE= only what pyproject.toml asks for and they lack.
UPGRADE ?= --upgrade
COMPILE = .venv/locks/bin/pip-compile $(UPGRADE) --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
    --no-annotate --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --build-deps-for editable --extra all
locks:
	$(PYTHON) -m venv .venv/locks && .venv/locks/bin/python -m pip install --quiet pip-tools
	$(COMPILE) -o requirements.lock pyproject.toml
	$(COMPILE) --extra test -c requirements.lock -o requirements-test.lock pyproject.toml
	$(COMPILE) --extra test --extra lint --extra docs -c requirements-test.lock -o requirements-lint.lock pyproject.toml
	sed -i '1i # Exact versions, with hashes: pip installs these and nothing else. Made from pyproject.toml by `make locks`.' \
	    requirements*.lock

clean:
	rm -rf .venv target results dist
