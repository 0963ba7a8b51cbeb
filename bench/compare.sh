#!/usr/bin/env bash
# The table of `make bench`: amphora against llama.cpp, same bits, same machine, same run.
#   bench/compare.sh [gemma|qwen …] [-- options of compare.py]
# The peer and the models lie in the cache folder. The peer's files are made by its own quantize tool from the model's F16
# form; ours are converted from that same F16 file with the same types per tensor.
set -euo pipefail
cd "$(dirname "$0")/.."

models=()
while (( $# > 0 )) && [[ "$1" != -- ]]; do models+=("$1"); shift; done
(( $# > 0 )) && shift
(( ${#models[@]} > 0 )) || models=(gemma)

readonly amphora="$PWD/build/release/amphora"
readonly work="${XDG_CACHE_HOME:-$HOME/.cache}/amphora/bench"
peer=$(bench/peers/build.sh)
mkdir -p "$work"

for model in "${models[@]}"; do
  source=$(scripts/fetch-models.sh "$model")
  f16="$work/$model-f16.gguf"
  [[ -f "$f16" ]] || "$peer/llama-quantize" --allow-requantize "$source" "$f16" F16 >/dev/null 2>&1
  for type in Q8_0 Q4_0; do
    [[ -f "$work/$model-$type.gguf" ]] || "$peer/llama-quantize" "$f16" "$work/$model-$type.gguf" "$type" >/dev/null 2>&1
  done
  # Below 8 bits our conversion keeps embedding and head at 8 bits by itself, as the peer's Q4_0 does.
  for type in q8 q4t; do
    "$amphora" convert "$f16" -o "$work/$model-$type.cmf" --quant "$type" --quiet
  done
  python3 bench/compare.py --amphora "$amphora" --peer "$peer" --name "$model" \
    --pair q8 "$work/$model-q8.cmf" "$work/$model-Q8_0.gguf" \
    --pair q4 "$work/$model-q4t.cmf" "$work/$model-Q4_0.gguf" "$@"
done
