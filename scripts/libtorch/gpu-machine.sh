#!/usr/bin/env bash
# Builds and tests the native core on a machine with NVIDIA GPUs: no network and no Node needed. LibTorch: TORCH_PREFIX (a folder with include/ and lib/), else the
# one of `python3 -c "import torch"`. CUDA_HOME: the toolkit, by default /usr/local/cuda. BUILD_DIR: kept and reused, else a temporary one.
# The same tests run on the CPU, on each of up to two GPUs, and mixed: CPU and GPU, GPU and GPU (peer copies).
set -eu
cd "$(dirname "$0")/../../packages/executor-libtorch/native/test"
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda}
if [ -z "${TORCH_PREFIX:-}" ]; then
  TORCH_PREFIX=$(python3 -c 'import torch; print(torch.__path__[0])' 2>/dev/null) || {
    echo "no LibTorch: set TORCH_PREFIX, or have a python3 that imports torch" >&2
    exit 1
  }
  TORCH_CXX11_ABI=${TORCH_CXX11_ABI:-$(python3 -c 'import torch; print(int(torch.compiled_with_cxx11_abi()))')}
  export TORCH_CXX11_ABI
fi
export TORCH_PREFIX
if [ ! -f "$CUDA_HOME/include/cuda_runtime_api.h" ]; then
  echo "no CUDA toolkit in $CUDA_HOME: set CUDA_HOME" >&2
  exit 1
fi
if ! ls "$TORCH_PREFIX"/lib/libtorch_cuda.so >/dev/null 2>&1; then
  echo "the LibTorch in $TORCH_PREFIX has no CUDA (lib/libtorch_cuda.so)" >&2
  exit 1
fi
gpus=$(nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null || true)
count=$(printf '%s' "$gpus" | grep -c . || true)
if [ "$count" -eq 0 ]; then
  echo "nvidia-smi sees no GPU" >&2
  exit 1
fi
printf 'LibTorch %s in %s\n%s\n' "$(sed -n 's/^#define TORCH_VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$TORCH_PREFIX/include/torch/csrc/api/include/torch/version.h" | paste -sd. -)" "$TORCH_PREFIX" "$gpus"
if [ -n "${BUILD_DIR:-}" ]; then
  out=$BUILD_DIR
else
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
make --no-print-directory -s -j"$(nproc)" BUILD="$out" WITH_CUDA=1 ${SLICE_CXX_STD:+CXXSTD=$SLICE_CXX_STD}
export OPENBLAS_NUM_THREADS=1 LD_LIBRARY_PATH="$TORCH_PREFIX/lib:$CUDA_HOME/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
failed=0
run() { # TARGET...
  printf '\n=== %s\n' "$*"
  "$out/native-test" "$@" || failed=1
}
run cpu
run cuda:0
run cpu cuda:0
run cuda:0 cpu
if [ "$count" -gt 1 ]; then
  run cuda:1
  run cuda:0 cuda:1
fi
exit "$failed"
