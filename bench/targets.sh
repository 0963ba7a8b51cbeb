#!/usr/bin/env bash
# The table of `make bench`: every speed target, amphora against llama.cpp on the same machine in the same run.
#   bench/targets.sh [options of targets.py]
# The peer and the models lie in the cache folder. The peer's files are made by its own quantize tool from the model's F16
# form; ours are converted from that same F16 file with the same types per tensor.
set -euo pipefail
cd "$(dirname "$0")/.."

models=gemma,qwen
amphora="$PWD/build/release/amphora"
previous=
for word in "$@"; do
  case "$previous" in
    --models) models=$word ;;
    --amphora) amphora=$word ;;
  esac
  case "$word" in
    --models=*) models=${word#*=} ;;
    --amphora=*) amphora=${word#*=} ;;
    -h | --help) exec python3 bench/targets.py --help ;;
  esac
  previous=$word
done

readonly work="${XDG_CACHE_HOME:-$HOME/.cache}/amphora/bench"
peer=$(bench/peers/build.sh)
mkdir -p "$work"

quantize() { # source, target, type: the target appears when it is whole
  [[ -f "$2" ]] && return
  if ! "$peer/llama-quantize" --allow-requantize "$1" "$2.part" "$3" >/dev/null 2>&1; then
    printf 'targets: llama-quantize could not make %s\n' "$2" >&2
    exit 1
  fi
  mv "$2.part" "$2"
}

for model in ${models//,/ }; do
  source=$(scripts/fetch-models.sh "$model")
  f16="$work/$model-f16.gguf"
  quantize "$source" "$f16" F16
  for type in Q8_0 Q4_0; do quantize "$f16" "$work/$model-$type.gguf" "$type"; done
  # With the encoder that users get: it decides the quality, not the speed. Below 8 bits our conversion keeps embedding and head at 8 bits by itself, as the peer's Q4_0 does.
  for type in q8 q4t q4 q4tp q1 q1t q8_2f vbit:4.5 f16 bf16; do
    file="$work/$model-${type/:/}.cmf"
    if [[ ! -f "$file" || "$amphora" -nt "$file" ]]; then
      "$amphora" convert "$f16" -o "$file" --quant "$type" --quiet
    fi
  done
done
python3 bench/targets.py --amphora "$amphora" --peer "$peer" --work "$work" "$@"
