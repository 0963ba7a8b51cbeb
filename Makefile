# Thin names for what people do most; each is a line or two of plain tools. `make help` lists them.
.PHONY: help setup build demo demo-chat test unit bench lint format fuzz clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

setup:           ## install the Debian packages (asks for sudo only if something is missing)
	@scripts/setup.sh

build: setup     ## build/release/amphora
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target amphora

demo: build      ## a real model: fetch, convert, verify, one answer (MODEL=path: your own)
	@scripts/demo.sh $(if $(MODEL),--model "$(MODEL)")

demo-chat: build ## the same with an instruction model, then a chat
	@scripts/demo.sh --chat $(if $(MODEL),--model "$(MODEL)")

test:            ## everything that the tests need, then all tests (ASan and UBSan, and the release program)
	@scripts/setup.sh --tests
	@scripts/test.sh

bench: setup     ## every speed target, against llama.cpp (builds it in the cache folder) and against tokenizers
	@scripts/setup.sh --developer
	@cmake --preset release >/dev/null && cmake --build --preset release --target amphora
	@bench/targets.sh
	@bench/tokenizer.sh

lint:            ## formatting and static analysis
	@scripts/setup.sh --developer
	@scripts/lint.sh

format:          ## rewrite the sources in the project's format
	@git ls-files '*.cc' '*.h' | xargs clang-format-19 -i

fuzz:            ## run every fuzz target for SECONDS (60)
	@scripts/setup.sh --developer
	@scripts/fuzz.sh $(or $(SECONDS),60)

clean:           ## remove build/
	rm -rf build
