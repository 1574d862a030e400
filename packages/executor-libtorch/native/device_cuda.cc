#include "device_cuda.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>
#include <c10/core/Allocator.h>
#include <c10/core/InferenceMode.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "fault.h"

namespace slice {
namespace {

/** Per accelerator beyond its cap, for workspaces of cuBLAS and for what the allocator keeps in pieces that nobody can use. */
constexpr std::uint64_t SLACK_BYTES = 256u << 20;

/** Which accelerator an allocation counts on. LibTorch's allocator serves all accelerators of a device, and reports each allocation and each free to the thread that makes it. */
class Meter {
 public:
  static Meter& instance() {
    static auto* meter = new Meter();
    return *meter;
  }

  void allocated(void* data, std::uint64_t bytes, const std::shared_ptr<MemoryPool>& pool) {
    const std::lock_guard<std::mutex> lock(mutex_);
    // Freed by a thread of somebody else, which nobody heard of: it cannot be allocated twice.
    forget(data);
    if (pool == nullptr) return;
    pool->note(bytes);
    blocks_.emplace(data, Block{pool, bytes});
  }

  void freed(void* data) {
    const std::lock_guard<std::mutex> lock(mutex_);
    forget(data);
  }

 private:
  struct Block {
    std::shared_ptr<MemoryPool> pool;
    std::uint64_t bytes;
  };

  void forget(void* data) {
    const auto found = blocks_.find(data);
    if (found == blocks_.end()) return;
    found->second.pool->give(found->second.bytes);
    blocks_.erase(found);
  }

  std::mutex mutex_;
  std::unordered_map<void*, Block> blocks_;
};

class Reporter final : public c10::MemoryReportingInfoBase {
 public:
  /** Null: what the thread allocates is nobody's, and what it frees is heard of. */
  explicit Reporter(std::shared_ptr<MemoryPool> pool) : pool_(std::move(pool)) {}

  // The totals are signed in LibTorch 1 and unsigned in 2: one of the two overrides.
  void reportMemoryUsage(void* data, std::int64_t bytes, std::int64_t, std::int64_t, c10::Device device) { report(data, bytes, device); }
  void reportMemoryUsage(void* data, std::int64_t bytes, std::size_t, std::size_t, c10::Device device) { report(data, bytes, device); }
  bool memoryProfilingEnabled() const override { return true; }

 private:
  void report(void* data, std::int64_t bytes, c10::Device device) {
    if (!device.is_cuda()) return;
    if (bytes >= 0) Meter::instance().allocated(data, static_cast<std::uint64_t>(bytes), pool_);
    else Meter::instance().freed(data);
  }

  const std::shared_ptr<MemoryPool> pool_;
};

/** The caps of all accelerators on one device, as the fraction of it that LibTorch's allocator may take. */
class Fractions {
 public:
  static Fractions& instance() {
    static auto* fractions = new Fractions();
    return *fractions;
  }

  void add(int index, std::uint64_t capBytes) { change(index, [&](Caps& caps) { caps.bytes.insert(capBytes); }); }
  void remove(int index, std::uint64_t capBytes) {
    change(index, [&](Caps& caps) { caps.bytes.erase(caps.bytes.find(capBytes)); });
  }

 private:
  struct Caps {
    std::multiset<std::uint64_t> bytes;
  };

  template <typename Change>
  void change(int index, const Change& apply) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Caps& caps = caps_[index];
    apply(caps);
    const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(index));
    std::size_t freeBytes = 0;
    std::size_t totalBytes = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&freeBytes, &totalBytes));
    double wanted = 0;
    for (const std::uint64_t bytes : caps.bytes) wanted += static_cast<double>(bytes) + static_cast<double>(SLACK_BYTES);
    const double fraction = caps.bytes.empty() ? 1.0 : std::min(1.0, wanted / static_cast<double>(totalBytes));
    c10::cuda::CUDACachingAllocator::setMemoryFraction(fraction, static_cast<c10::DeviceIndex>(index));
  }

  std::mutex mutex_;
  std::map<int, Caps> caps_;
};

class Event {
 public:
  Event() { C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync)); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const c10::cuda::CUDAStream& stream) { C10_CUDA_CHECK(cudaEventRecord(event_, stream.stream())); }
  /** What is begun on the stream from now on waits for what was recorded. */
  void block(const c10::cuda::CUDAStream& stream) { C10_CUDA_CHECK(cudaStreamWaitEvent(stream.stream(), event_, 0)); }
  /** Sleeps until it has happened. */
  void wait() { C10_CUDA_CHECK(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/**
 * cuBLAS keeps a workspace per thread and stream, some ten megabytes, which LibTorch allocates when it is first used: here, so that it counts on no operator and
 * no accelerator. The slack has room for it.
 */
void warmUp(const c10::cuda::CUDAStream& stream) {
  thread_local std::set<std::pair<int, c10::StreamId>> warm;
  if (!warm.emplace(static_cast<int>(stream.device_index()), stream.id()).second) return;
  const c10::cuda::CUDAStreamGuard guard(stream);
  const c10::InferenceMode inference;
  const at::Tensor one = at::zeros({1, 1}, at::TensorOptions(at::kFloat).device(stream.device()));
  at::mm(one, one);
}

class CudaScope final : public DeviceScope {
 public:
  CudaScope(const c10::cuda::CUDAStream& stream, const std::shared_ptr<c10::DebugInfoBase>& reporter)
      : stream_(stream), reporting_(c10::DebugInfoKind::PROFILER_STATE, reporter), host_(nullptr) {}

 private:
  // Also makes the stream's device the current one.
  c10::cuda::CUDAStreamGuard stream_;
  c10::DebugInfoGuard reporting_;
  PoolScope host_;
  c10::InferenceMode inference_;
};

class HearingScope final : public DeviceScope {
 public:
  HearingScope() : reporting_(c10::DebugInfoKind::PROFILER_STATE, reporter()) {}

 private:
  static const std::shared_ptr<c10::DebugInfoBase>& reporter() {
    // Never destroyed: threads may end after everything static.
    static const auto* shared = new std::shared_ptr<c10::DebugInfoBase>(std::make_shared<Reporter>(nullptr));
    return *shared;
  }

  c10::DebugInfoGuard reporting_;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, std::shared_ptr<MemoryPool> memory)
      : Device(at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(index)), std::move(memory)),
        stream_(c10::cuda::getStreamFromPool(false, static_cast<c10::DeviceIndex>(index))),
        copyStream_(c10::cuda::getStreamFromPool(true, static_cast<c10::DeviceIndex>(index))),
        reporter_(std::make_shared<Reporter>(pool())) {
    if (isCapped()) Fractions::instance().add(index, pool()->capBytes());
  }

  ~CudaDevice() override {
    try {
      if (isCapped()) Fractions::instance().remove(target().index(), pool()->capBytes());
    } catch (...) {
      // A device that has failed; there is nothing left to limit.
    }
  }

  std::unique_ptr<DeviceScope> enter() override {
    warmUp(stream_);
    return std::make_unique<CudaScope>(stream_, reporter_);
  }

  void wait() override {
    const c10::cuda::CUDAGuard guard(target());
    Event ended;
    ended.record(stream_);
    ended.wait();
  }

  const c10::cuda::CUDAStream& stream() const { return stream_; }
  const c10::cuda::CUDAStream& copyStream() const { return copyStream_; }

 private:
  bool isCapped() const { return pool()->capBytes() != MemoryPool::NO_CAP; }

  const c10::cuda::CUDAStream stream_;
  const c10::cuda::CUDAStream copyStream_;
  const std::shared_ptr<c10::DebugInfoBase> reporter_;
};

CudaDevice* cudaOf(Device& device) { return device.target().is_cuda() ? static_cast<CudaDevice*>(&device) : nullptr; }

/** Lets each of two devices reach the other's memory, where they can; otherwise copies go over the host. */
void enablePeers(int one, int other) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> seen;
  const std::lock_guard<std::mutex> lock(mutex);
  if (one == other || !seen.emplace(one, other).second) return;
  int canReach = 0;
  C10_CUDA_CHECK(cudaDeviceCanAccessPeer(&canReach, one, other));
  if (canReach == 0) return;
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(one));
  const cudaError_t result = cudaDeviceEnablePeerAccess(other, 0);
  if (result == cudaErrorPeerAccessAlreadyEnabled) (void)cudaGetLastError();
  else C10_CUDA_CHECK(result);
}

void begin(const at::Tensor& source, const at::Tensor& destination, const c10::cuda::CUDAStream& stream) {
  void* to = destination.data_ptr();
  const void* from = source.data_ptr();
  if (source.is_cuda() && destination.is_cuda()) {
    C10_CUDA_CHECK(cudaMemcpyPeerAsync(to, destination.get_device(), from, source.get_device(), source.nbytes(), stream.stream()));
  } else {
    const cudaMemcpyKind kind = destination.is_cuda() ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    C10_CUDA_CHECK(cudaMemcpyAsync(to, from, source.nbytes(), kind, stream.stream()));
  }
}

}  // namespace

int cudaDevices() { return static_cast<int>(c10::cuda::device_count()); }

std::unique_ptr<DeviceScope> cudaHearing() { return std::make_unique<HearingScope>(); }

std::shared_ptr<Device> makeCudaDevice(int index, std::shared_ptr<MemoryPool> memory) {
  if (cudaDevices() == 0) throw Fault(code::DEVICE_UNAVAILABLE, memory->name() + " is to be on a CUDA device, and this machine has none");
  return std::make_shared<CudaDevice>(index, std::move(memory));
}

at::Tensor cudaEmptyLike(const at::Tensor& tensor, Device& device) {
  CudaDevice& owner = *cudaOf(device);
  const c10::cuda::CUDAStreamGuard guard(owner.copyStream());
  at::Tensor buffer = at::empty(tensor.sizes(), tensor.options().device(device.target()));
  // Freed, it is not given to the next copy before the operators that read it have ended.
  if (buffer.nbytes() > 0) c10::cuda::CUDACachingAllocator::recordStream(buffer.storage().data_ptr(), owner.stream());
  return buffer;
}

void cudaCopy(const at::Tensor& source, Device& from, const at::Tensor& destination, Device& to) {
  CudaDevice* sender = cudaOf(from);
  CudaDevice* receiver = cudaOf(to);
  CudaDevice& driver = receiver != nullptr ? *receiver : *sender;
  if (sender != nullptr && receiver != nullptr) {
    enablePeers(from.target().index(), to.target().index());
    enablePeers(to.target().index(), from.target().index());
  }
  const c10::cuda::CUDAGuard guard(driver.target());
  const c10::cuda::CUDAStream& stream = driver.copyStream();
  // Nothing to wait for: the source is complete, and the buffer is the copy stream's own (`cudaEmptyLike`), so operators on both go on meanwhile.
  // Should the wait fail, their memory is not given to others while data still move.
  if (source.is_cuda()) c10::cuda::CUDACachingAllocator::recordStream(source.storage().data_ptr(), stream);
  if (destination.is_cuda()) c10::cuda::CUDACachingAllocator::recordStream(destination.storage().data_ptr(), stream);
  begin(source, destination, stream);
  Event done;
  done.record(stream);
  if (receiver != nullptr) done.block(receiver->stream());
  done.wait();
}

void cudaCopyFromHost(const void* data, std::size_t bytes, const at::Tensor& destination) {
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(destination.device().index());
  C10_CUDA_CHECK(cudaMemcpyAsync(destination.data_ptr(), data, bytes, cudaMemcpyHostToDevice, stream.stream()));
  // The host's data may go as soon as this returns.
  C10_CUDA_CHECK(cudaStreamSynchronize(stream.stream()));
}

void cudaCopyToHost(const at::Tensor& source, void* data) {
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(source.device().index());
  C10_CUDA_CHECK(cudaMemcpyAsync(data, source.data_ptr(), source.nbytes(), cudaMemcpyDeviceToHost, stream.stream()));
  C10_CUDA_CHECK(cudaStreamSynchronize(stream.stream()));
}

}  // namespace slice
