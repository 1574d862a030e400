#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "memory.h"

namespace slice {

/** What the calling thread has switched to; switches back when it goes. Ends on the thread it began on, innermost first. */
class DeviceScope {
 public:
  virtual ~DeviceScope() = default;
};

/**
 * One accelerator: virtual on the CPU (memory of its own within a cap, whichever threads work for it), or a CUDA device, which several may
 * share. Use it through a shared pointer; tensors may outlive it.
 *
 * The cap on CUDA: LibTorch's allocator there serves all accelerators of a device, so an operator is refused after the call that went over,
 * not before it.
 */
class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const std::string& name() const { return memory_->name(); }
  at::Device target() const { return target_; }
  MemoryPool& memory() const { return *memory_; }
  const std::shared_ptr<MemoryPool>& pool() const { return memory_; }

  /**
   * While the scope lives the calling thread works for this device: what it allocates counts here, kernels run on the device's stream with
   * one BLAS thread, and nothing records gradients. Needed around everything below and around `Program::run`.
   */
  virtual std::unique_ptr<DeviceScope> enter() = 0;
  /** Returns when everything that was begun on the device's stream has ended; at once on the CPU. Throws what failed there. */
  virtual void wait() = 0;

 protected:
  Device(at::Device target, std::shared_ptr<MemoryPool> memory) : target_(target), memory_(std::move(memory)) {}

 private:
  const at::Device target_;
  const std::shared_ptr<MemoryPool> memory_;
};

/**
 * @param target "cpu", or "cuda:0" and so on.
 * @param capBytes What its tensors may take together.
 * Throws DEVICE_UNAVAILABLE when this build or this machine does not have it.
 */
std::shared_ptr<Device> makeDevice(const std::string& target, const std::string& name, std::uint64_t capBytes);

/** CUDA devices that this build can use here. */
int cudaDeviceCount();

/**
 * A buffer to receive a tensor into: of the same element type and shape, contiguous and uninitialised. Throws OUT_OF_MEMORY. Within the
 * device's scope. What is copied into it is ordered with other copies, not with the device's operators.
 */
at::Tensor emptyLike(const at::Tensor& tensor, Device& device);

/**
 * Copies contiguous data of equal size and type into a preallocated buffer (of `emptyLike`), and returns when they are there. `source` must be complete
 * (its operator waited for). Any thread; on the CPU no scope is needed. Allocates nothing on either device. Between CUDA devices it is a
 * peer copy on a stream of its own, so operators on both go on meanwhile. Throws COPY_MISMATCH.
 */
void copy(const at::Tensor& source, Device& from, const at::Tensor& destination, Device& to);

/** From contiguous host data; on CUDA on the device's stream. Within the device's scope. Throws COPY_MISMATCH. */
void copyFromHost(const void* data, std::size_t bytes, const at::Tensor& destination, Device& device);

/** A contiguous copy in the host's own memory; waits for the device's stream. Within the device's scope. */
at::Tensor toHost(const at::Tensor& tensor, Device& device);

}  // namespace slice
