#!/usr/bin/env bash
# Fetches the chat templates of published models that the tests render: those that come with llama.cpp's sources.
#
# They belong to models with licences of their own, so they are not in this repository; scripts/templates.sha256 lists them
# with their sums. They are taken out of the archive that scripts/fetch-peer-source.sh gets, and go to
# ${XDG_CACHE_HOME:-~/.cache}/amphora/templates; what is there already is only checked again. Exit status 1 if something could
# not be had; the rest is kept all the same.
set -euo pipefail
cd "$(dirname "$0")"

readonly sums=$PWD/templates.sha256
readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/amphora/templates"

say() { printf 'fetch-templates: %s\n' "$*" >&2; }
# Names of the listed files that the folder $1 does not hold as they should be.
wrong_in() { (cd "$1" && sha256sum --check --quiet "$sums" 2> /dev/null || true) | sed -n 's/: FAILED.*//p'; }

mkdir -p "$cache"
if [[ -z "$(wrong_in "$cache")" ]]; then
  say "all $(wc -l < "$sums") templates are already there"
  exit 0
fi

archive=$(./fetch-peer-source.sh) || { say "missing: $(wrong_in "$cache" | tr '\n' ' '); the tests that need them say so and are skipped"; exit 1; }
work=$(mktemp -d "$cache/unpack-XXXXXX")
trap 'rm -rf "$work"' EXIT
tar -xzf "$archive" -C "$work" --strip-components=5 --wildcards '*/vendor/llama.cpp/models/templates/*.jinja'
missing=$(wrong_in "$work")
while read -r _ name; do
  grep -qxF "$name" <<< "$missing" || mv -f "$work/$name" "$cache/$name"
done < "$sums"
if [[ -n "$missing" ]]; then
  say "not kept, for the archive does not hold the pinned ones: $(tr '\n' ' ' <<< "$missing")"
  exit 1
fi
say "$(wc -l < "$sums") templates: $cache"
