#include "device_cuda.h"
#include "fault.h"

namespace slice {
namespace {

[[noreturn]] void refuse() {
  throw Fault(code::DEVICE_UNAVAILABLE, "this build drives no CUDA device: build it where a LibTorch with CUDA is, with TORCH_PREFIX");
}

}  // namespace

int cudaDevices() { return 0; }

std::unique_ptr<DeviceScope> cudaHearing() { return nullptr; }

std::shared_ptr<Device> makeCudaDevice(int, std::shared_ptr<MemoryPool>) { refuse(); }

at::Tensor cudaEmptyLike(const at::Tensor&, Device&) { refuse(); }

void cudaCopy(const at::Tensor&, Device&, const at::Tensor&, Device&) { refuse(); }

void cudaCopyFromHost(const void*, std::size_t, const at::Tensor&) { refuse(); }

void cudaCopyToHost(const at::Tensor&, void*) { refuse(); }

}  // namespace slice
