#!/usr/bin/env bash
# Fetches the source package llama-cpp-python 0.3.36 and prints the path of its archive on stdout: the benchmark builds the
# peer from it, and the tests read the chat templates in it.
#
# pip downloads it (77 MB). To do so pip fetches the package's build back end and asks it for the package's name; nothing is
# built or installed. The archive is kept in ${XDG_CACHE_HOME:-~/.cache}/amphora/sources if its SHA-256 is the pinned one;
# one that is there already is only checked again.
set -euo pipefail

readonly name=llama_cpp_python-0.3.36.tar.gz
readonly sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
readonly cache="${XDG_CACHE_HOME:-$HOME/.cache}/amphora/sources"

die() { printf 'fetch-peer-source: %s\n' "$*" >&2; exit 1; }
is_right() { [[ -f "$1" ]] && printf '%s  %s\n' "$sha256" "$1" | sha256sum --check --status; }

if ! is_right "$cache/$name"; then
  python3 -m pip --version > /dev/null 2>&1 || die "needs python3 with pip (Debian package python3-pip)"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/download-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  printf 'fetch-peer-source: fetching llama-cpp-python 0.3.36 (77 MB, a minute or two)\n' >&2
  python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-binary :all: --dest "$work" \
    llama-cpp-python==0.3.36 >&2 || die "pip could not download llama-cpp-python 0.3.36"
  is_right "$work/$name" || die "$name does not have the SHA-256 $sha256; it was thrown away"
  mv -f "$work/$name" "$cache/$name"
fi
printf '%s\n' "$cache/$name"
