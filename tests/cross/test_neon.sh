#!/usr/bin/env bash
# The NEON kernels on a machine without NEON: builds the kernels for AArch64 and runs their unit tests under QEMU, where
# NEON is held to the bits of the scalar variant. It tells whether the results are right, and nothing about speed.
#   tests/cross/test_neon.sh BUILD_FOLDER
set -euo pipefail

source=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: tests/cross/test_neon.sh BUILD_FOLDER}

die() { printf 'test_neon: %s\n' "$*" >&2; exit 1; }
# need COMMAND|FILE PACKAGE
need() {
  command -v "$1" >/dev/null || [[ -f "$1" ]] || die "needs $1: install the Debian package $2 (scripts/setup.sh --tests)"
}
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
need qemu-aarch64 qemu-user
need /usr/src/googletest/CMakeLists.txt googletest

cmake -S "$source" -B "$build" -G Ninja --toolchain "$source/../../cmake/aarch64.cmake" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$build" --target kernels_test

# run PROCESSOR ARGUMENT...: what the tests print is shown and kept in $build/PROCESSOR.log.
run() {
  qemu-aarch64 -cpu "$1" -L /usr/aarch64-linux-gnu "$build/kernels_test" "${@:2}" 2>&1 | tee "$build/$1.log"
}
# Fails unless the tests of PROCESSOR's log ran; prints their number.
count() {
  local passed
  passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\?\.$/\1/p' "$build/$1.log")
  (( ${passed:-0} > 0 )) || die "no test ran on processor $1"
  printf 'test_neon: %s tests passed on processor %s\n' "$passed" "$1"
}

# All tests where there are dot products.
run max
if grep 'NOT RUN' "$build/max.log"; then die "QEMU's processor max should run every variant"; fi
# Where there are none the variant says so, and no shared code has their instructions.
run cortex-a57 --gtest_filter='Variants.*:Elementwise.*:Matmul.*Scalar*'
grep -q 'NOT RUN: variant neon' "$build/cortex-a57.log" || die "neon should not run on processor cortex-a57"
count max
count cortex-a57
