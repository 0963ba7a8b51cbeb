#!/usr/bin/env bash
# Formatting and static analysis of all sources; fails on the first kind of finding.
set -euo pipefail
cd "$(dirname "$0")/.."

git ls-files '*.cc' '*.h' | xargs clang-format-19 --dry-run --Werror
cmake --preset clang >/dev/null
# Benchmarks and fuzz targets are in builds of their own, neon*.cc in those for another processor.
git ls-files 'src/*.cc' | grep -v '_bench\.cc$\|_fuzz\.cc$\|/neon' | xargs -P "$(nproc)" -n 4 clang-tidy-19 -p build/clang --quiet
