#pragma once

#include <memory>
#include <string>

#include "device.h"

namespace slice {

// In device_cuda.cc where the build has CUDA (WITH_CUDA), and in device_cuda_none.cc where it has not.

int cudaDevices();
/** While it lives, the count of an accelerator hears of what the calling thread frees; threads that work for an accelerator hear by themselves. */
std::unique_ptr<DeviceScope> cudaHearing();
std::shared_ptr<Device> makeCudaDevice(int index, std::shared_ptr<MemoryPool> memory);
/** Ordered with the copies into the device, not with its operators. */
at::Tensor cudaEmptyLike(const at::Tensor& tensor, Device& device);
/** At least one of the two is a CUDA device. */
void cudaCopy(const at::Tensor& source, Device& from, const at::Tensor& destination, Device& to);
void cudaCopyFromHost(const void* data, std::size_t bytes, const at::Tensor& destination);
void cudaCopyToHost(const at::Tensor& source, void* data);

}  // namespace slice
