#!/usr/bin/env bash
# Builds what the tests need and runs all of them: unit tests and command-line tests under ASan and UBSan, tests on real
# models with the release program. Ends with ctest's summary.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=$(nproc)
cmake --preset release >/dev/null
cmake --build --preset release --target amphora
cmake --preset debug -DAMPHORA_RELEASE_PROGRAM="$PWD/build/release/amphora" >/dev/null
cmake --build --preset debug

# Tests on published vocabularies and templates say themselves which they could not run; those on real models fail without them.
scripts/fetch-tokenizers.sh || printf 'test: not every published tokenizer could be fetched; see above\n' >&2
scripts/fetch-templates.sh || printf 'test: not every published chat template could be fetched; see above\n' >&2
scripts/fetch-models.sh gemma >/dev/null || printf 'test: the Gemma model could not be fetched; its tests will fail\n' >&2
scripts/fetch-models.sh qwen >/dev/null || printf 'test: the Qwen model could not be fetched; its tests will fail\n' >&2

ctest --test-dir build/debug --output-on-failure --parallel "$jobs" --no-tests=error
