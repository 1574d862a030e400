#include "device.h"

#include <ATen/Parallel.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <charconv>
#include <cstring>

#include "device_cuda.h"
#include "dtype.h"
#include "fault.h"
#include "marks.h"

namespace slice {
namespace {

class CpuScope final : public DeviceScope {
 public:
  explicit CpuScope(const std::shared_ptr<MemoryPool>& pool) : pool_(pool) {
    // Several accelerators share the cores: with more threads each they only get in each other's way.
    thread_local const bool isAlone = (at::set_num_threads(1), true);
    (void)isAlone;
  }

 private:
  PoolScope pool_;
  c10::InferenceMode inference_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(std::shared_ptr<MemoryPool> memory) : Device(at::Device(at::kCPU), std::move(memory)) {}
  std::unique_ptr<DeviceScope> enter() override { return std::make_unique<CpuScope>(pool()); }
  void wait() override {}
};

void checkContiguous(const at::Tensor& tensor, const char* what) {
  if (!tensor.is_contiguous()) throw Fault(code::COPY_MISMATCH, std::string(what) + " of a copy is not contiguous");
}

}  // namespace

std::shared_ptr<Device> makeDevice(const std::string& target, const std::string& name, std::uint64_t capBytes) {
  auto memory = std::make_shared<MemoryPool>(name, capBytes);
  if (target == "cpu") return std::make_shared<CpuDevice>(std::move(memory));
  const std::string prefix = "cuda:";
  int index = -1;
  const char* end = target.data() + target.size();
  if (target.compare(0, prefix.size(), prefix) == 0 &&
      std::from_chars(target.data() + prefix.size(), end, index).ptr == end && index >= 0) {
    const int count = cudaDevices();
    if (count > 0 && index >= count) {
      throw Fault(code::DEVICE_UNAVAILABLE, name + " is to be on " + target + ", and there are " + std::to_string(count) + " CUDA devices");
    }
    return makeCudaDevice(index, std::move(memory));
  }
  throw Fault(code::DEVICE_UNAVAILABLE, name + " is to be on \"" + target + "\"; there are \"cpu\", \"cuda:0\" and so on");
}

int cudaDeviceCount() { return cudaDevices(); }

at::Tensor emptyLike(const at::Tensor& tensor, Device& device) {
  if (!device.target().is_cpu()) return cudaEmptyLike(tensor, device);
  return at::empty(tensor.sizes(), tensor.options().device(device.target()));
}

void copy(const at::Tensor& source, Device& from, const at::Tensor& destination, Device& to) {
  if (source.scalar_type() != destination.scalar_type() || source.numel() != destination.numel()) {
    throw Fault(code::COPY_MISMATCH, std::to_string(source.numel()) + " elements of " + dtypeName(source.scalar_type()) + " on " + from.name() +
                                         " into a buffer for " + std::to_string(destination.numel()) + " of " +
                                         dtypeName(destination.scalar_type()) + " on " + to.name());
  }
  checkContiguous(source, "the source");
  checkContiguous(destination, "the destination");
  if (source.nbytes() == 0) return;
  if (from.target().is_cpu() && to.target().is_cpu()) {
    std::memcpy(destination.data_ptr(), source.data_ptr(), source.nbytes());
  } else {
    cudaCopy(source, from, destination, to);
  }
}

void copyFromHost(const void* data, std::size_t bytes, const at::Tensor& destination, Device& device) {
  checkContiguous(destination, "the destination");
  if (bytes != destination.nbytes()) {
    throw Fault(code::COPY_MISMATCH, std::to_string(bytes) + " bytes of the host into a buffer of " + std::to_string(destination.nbytes()) +
                                         " on " + device.name());
  }
  if (bytes == 0) return;
  if (device.target().is_cpu()) {
    std::memcpy(destination.data_ptr(), data, bytes);
  } else {
    cudaCopyFromHost(data, bytes, destination);
  }
}

at::Tensor toHost(const at::Tensor& tensor, Device& device) {
  PoolScope host(nullptr);
  at::Tensor copy = at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
  if (tensor.numel() == 0) return copy;
  if (device.target().is_cpu()) copy.copy_(tensor);
  else cudaCopyToHost(isPlain(tensor) ? tensor.contiguous() : at::clone(tensor, at::MemoryFormat::Contiguous), copy.data_ptr());
  return copy;
}

}  // namespace slice
