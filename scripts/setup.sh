#!/usr/bin/env bash
# Installs the Debian packages that amphora needs, and nothing that is there already.
#   scripts/setup.sh              what building and the demo need
#   scripts/setup.sh --tests      also what fetches the tests' vocabularies
#   scripts/setup.sh --developer  also what lint, fuzzing and benchmarks need
set -euo pipefail
cd "$(dirname "$0")"

lists=(packages.txt)
case "${1:-}" in
  "") ;;
  --tests) lists+=(packages-tests.txt) ;;
  --developer) lists+=(packages-tests.txt packages-developer.txt) ;;
  *) printf 'usage: scripts/setup.sh [--tests | --developer]\n' >&2; exit 2 ;;
esac

mapfile -t wanted < <(grep -hv '^#' "${lists[@]}" | grep .)
missing=()
for package in "${wanted[@]}"; do
  # npm comes with other packages of Node.js too, and Debian's would collide with those.
  [[ "$package" == npm ]] && command -v npm >/dev/null && continue
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ "$status" == "install ok installed" ]] || missing+=("$package")
done
if (( ${#missing[@]} == 0 )); then
  printf 'setup: all %d packages are installed\n' "${#wanted[@]}" >&2
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  printf 'setup: no apt-get here; install the equivalents of: %s\n' "${missing[*]}" >&2
  exit 1
fi
as_root=()
if (( EUID != 0 )); then
  as_root=(sudo)
  printf 'setup: installing packages needs root; sudo may ask for your password\n' >&2
fi
printf 'setup: installing %s\n' "${missing[*]}" >&2
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
printf 'setup: done\n' >&2
