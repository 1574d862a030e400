#!/usr/bin/env bash
# Builds the native core with its plain C++ test (no Node) and runs it on the CPU. Says so where there is no LibTorch.
# TORCH_PREFIX: a LibTorch other than the system's. SANITIZE=1: with the address and undefined-behaviour sanitizers. BUILD_DIR: kept and reused, else a temporary one.
set -eu
cd "$(dirname "$0")/../../packages/executor-libtorch/native/test"
if [ ! -f "${TORCH_PREFIX:-/usr}/include/torch/csrc/api/include/torch/version.h" ]; then
  echo "skipped: no LibTorch (npm run setup:libtorch, or set TORCH_PREFIX)"
  exit 0
fi
if [ -n "${BUILD_DIR:-}" ]; then
  out=$BUILD_DIR
else
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
make --no-print-directory -s -j"$(nproc)" BUILD="$out" ${SANITIZE:+SANITIZE=1}
# Each accelerator has one BLAS thread. What LibTorch and its libraries never free themselves is not this test's to find.
OPENBLAS_NUM_THREADS=1 ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}" "$out/native-test" cpu
