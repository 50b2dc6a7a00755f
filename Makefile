# Everything runs from a fresh clone with Rust, Python 3.11+ and a C compiler. Python lives in .venv.

PYTHON ?= python3
BIN := .venv/bin
export VIRTUAL_ENV := $(CURDIR)/.venv

.PHONY: run test live bench lint build clean

# The main job: web-search traffic over the 192 servers of the DX paper, under DCTCP and under DX.
run: build
	$(BIN)/shallows compare scenarios/websearch-tree.toml --cc dctcp --cc dx@ns-2-multi-hop --out results/websearch-tree

test: build
	cargo test --locked --workspace --quiet
	$(BIN)/python -m pytest

# The kernel world's program: needs Linux, clang, libelf-dev, zlib1g-dev and libbpf-dev; root only to run it.
live: .venv/ready
	cargo build --locked --release --package shallows-live --features bpf
	install target/release/shallows-live $(BIN)/shallows-live

bench: build
	$(BIN)/python bench/speed.py

lint: .venv/ready
	cargo fmt --check
	rustfmt --check --edition 2024 crates/cc/src/*/*.rs
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check python tests bench
	$(BIN)/ruff format --check python tests bench

# Builds the Rust core into the package; cargo knows when there is nothing to do.
build: .venv/ready
	@$(BIN)/maturin develop --release --locked > .venv/build.log 2>&1 || { cat .venv/build.log; exit 1; }

.venv/ready: requirements.lock
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	touch $@

clean:
	rm -rf .venv target results
