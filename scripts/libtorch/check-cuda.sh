#!/usr/bin/env bash
# Compiles the CUDA device of the native backend where CUDA's headers are (no GPU, no CUDA build of LibTorch needed), and says so where they are not.
# CUDA_HOME: where CUDA is. TORCH_PREFIX: a LibTorch other than the system's.
set -eu
cd "$(dirname "$0")/../.."
cuda=${CUDA_HOME:-/usr/local/cuda}
if [ ! -f "$cuda/include/cuda_runtime_api.h" ]; then
  echo "skipped: no CUDA headers in $cuda (set CUDA_HOME)"
  exit 0
fi
include=${TORCH_PREFIX:-/usr}/include
if [ ! -f "$include/c10/cuda/CUDAStream.h" ]; then
  echo "skipped: no LibTorch headers in $include (npm run setup:libtorch, or set TORCH_PREFIX)"
  exit 0
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# A LibTorch that was built without CUDA has all headers but this generated one.
if [ ! -f "$include/c10/cuda/impl/cuda_cmake_macros.h" ]; then
  mkdir -p "$out/c10/cuda/impl"
  printf '#pragma once\n#define C10_CUDA_BUILD_SHARED_LIBS\n' >"$out/c10/cuda/impl/cuda_cmake_macros.h"
fi
includes=()
if [ -n "${TORCH_PREFIX:-}" ]; then includes=(-isystem "$include"); fi
for source in device_cuda device; do
  "${CXX:-g++}" -std="${SLICE_CXX_STD:-c++17}" -DWITH_CUDA -D_GLIBCXX_USE_CXX11_ABI="${TORCH_CXX11_ABI:-1}" -Wall -Wextra -Wno-stringop-overflow -Wno-array-bounds \
    -isystem "$out" "${includes[@]}" -isystem "$include/torch/csrc/api/include" -isystem "$cuda/include" \
    -c "packages/executor-libtorch/native/$source.cc" -o "$out/$source.o"
done
echo "the CUDA device compiles: $(sed -n 's/^#define CUDART_VERSION *//p' "$cuda/include/cuda_runtime_api.h" | head -n 1) (CUDA), $(sed -n 's/^#define TORCH_VERSION_\(MAJOR\|MINOR\) //p' "$include/torch/csrc/api/include/torch/version.h" | paste -sd. -) (LibTorch)"
