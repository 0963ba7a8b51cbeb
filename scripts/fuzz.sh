#!/usr/bin/env bash
# Builds the fuzz targets and runs each on its corpus.
#   scripts/fuzz.sh SECONDS [TARGET …]
# New inputs that matter stay in build/fuzz/corpora; a crash is kept in build/fuzz/crashes and ends the script.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds="${1:-60}"
shift || true
cmake --preset fuzz >/dev/null
mapfile -t known < <(find src -name '*_fuzz.cc' -printf '%f\n' | sed 's/\.cc$//' | sort)
targets=("$@")
(( ${#targets[@]} > 0 )) || targets=("${known[@]}")
cmake --build --preset fuzz --target "${targets[@]}"
mkdir -p build/fuzz/crashes
for target in "${targets[@]}"; do
  printf '== %s for %s s\n' "$target" "$seconds"
  mkdir -p "build/fuzz/corpora/$target" "tests/corpora/$target"
  "build/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/crashes/$target-" "build/fuzz/corpora/$target" "tests/corpora/$target"
done
