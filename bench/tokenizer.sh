#!/usr/bin/env bash
# Encoding and loading against the Hugging Face `tokenizers` package, one thread each, in turn.
#   bench/tokenizer.sh [options of tokenizer.py]
# The package and the text (documentation and source code of Django, a pinned source package) lie in the cache folder.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/amphora/bench"
readonly python="$cache/tokenizers-0.23.3/bin/python"
readonly text_version=5.1.4

mkdir -p "$cache"
if [[ ! -x "$python" ]]; then
  python3 -m venv "$cache/tokenizers-0.23.3"
  "$python" -m pip install --quiet tokenizers==0.23.3
fi
if [[ ! -d "$cache/django-$text_version" ]]; then
  download=$(mktemp -d "$cache/download-XXXXXX")
  trap 'rm -rf "$download"' EXIT
  python3 -m pip download --quiet --no-deps --no-binary :all: --dest "$download" "Django==$text_version" >&2
  mkdir "$download/source"
  tar -xzf "$download"/[Dd]jango-*.tar.gz -C "$download/source" --strip-components=1
  mv "$download/source" "$cache/django-$text_version"
fi
scripts/fetch-tokenizers.sh qwen3 gemma3
cmake --preset release >/dev/null
cmake --build --preset release --target time_tokenizer >&2
"$python" bench/tokenizer.py --ours build/release/bench/time_tokenizer --text "$cache/django-$text_version" "$@"
