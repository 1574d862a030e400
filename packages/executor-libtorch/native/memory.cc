#include "memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace slice {
namespace {

// `allocate` was const, and `copy_data` was not there, before LibTorch 2.
#if TORCH_VERSION_MAJOR >= 2
#define SLICE_ALLOCATE_CONST
#else
#define SLICE_ALLOCATE_CONST const
#endif

/** Stands before the data, so that any thread can free them and the right pool is credited. */
struct BlockHeader {
  std::shared_ptr<MemoryPool> pool;
  std::uint64_t bytes;
};

/** Data are aligned as LibTorch's own allocator aligns them. */
constexpr std::size_t ALIGNMENT_BYTES = 64;
static_assert(sizeof(BlockHeader) <= ALIGNMENT_BYTES, "the header must fit before aligned data");

thread_local std::shared_ptr<MemoryPool> currentPool;
thread_local bool wentOver = false;
thread_local AllocationGauge* currentGauge = nullptr;

const std::shared_ptr<MemoryPool>& sharedHostPool() {
  // Never destroyed: tensors in static storage of others may outlive it.
  static const auto* pool = new std::shared_ptr<MemoryPool>(std::make_shared<MemoryPool>("host", MemoryPool::NO_CAP));
  return *pool;
}

BlockHeader* headerOf(void* data) { return reinterpret_cast<BlockHeader*>(static_cast<char*>(data) - ALIGNMENT_BYTES); }

void freeBlock(void* data) {
  if (data == nullptr) return;
  BlockHeader* header = headerOf(data);
  header->pool->give(header->bytes);
  header->~BlockHeader();
  std::free(header);
}

/** LibTorch's own exception, without the stack that LibTorch 1 would write out at once: running out of memory is an ordinary end of an operator here. */
template <typename Error>
[[noreturn]] void refuse(std::string message) {
  wentOver = true;
  if constexpr (std::is_constructible_v<Error, std::string, std::string>) throw Error(std::move(message), std::string());
  else throw Error({__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, std::move(message));
}

[[noreturn]] void refuseFor(const MemoryPool& pool, std::uint64_t bytes) {
  refuse<c10::OutOfMemoryError>(c10::str(pool.name(), ": ", bytes, " bytes asked for, ", pool.usedBytes(), " of ", pool.capBytes(), " in use"));
}

struct PoolAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) SLICE_ALLOCATE_CONST override {
    if (bytes == 0) return {nullptr, nullptr, &freeBlock, c10::Device(c10::DeviceType::CPU)};
    const std::shared_ptr<MemoryPool>& pool = currentPool ? currentPool : sharedHostPool();
    if (!pool->take(bytes)) refuseFor(*pool, bytes);
    void* block = nullptr;
    if (bytes > SIZE_MAX - ALIGNMENT_BYTES || posix_memalign(&block, ALIGNMENT_BYTES, bytes + ALIGNMENT_BYTES) != 0) {
      pool->give(bytes);
      refuse<c10::OutOfMemoryError>(c10::str("the host has no ", bytes, " bytes for ", pool->name()));
    }
    new (block) BlockHeader{pool, bytes};
    void* data = static_cast<char*>(block) + ALIGNMENT_BYTES;
    return {data, data, &freeBlock, c10::Device(c10::DeviceType::CPU)};
  }

  c10::DeleterFnPtr raw_deleter() const override { return &freeBlock; }

#if TORCH_VERSION_MAJOR >= 2
  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    std::memcpy(destination, source, bytes);
  }
#endif
};

}  // namespace

void MemoryPool::give(std::uint64_t bytes) {
  usedBytes_.fetch_sub(bytes, std::memory_order_relaxed);
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  AllocationGauge::count(*this, -static_cast<std::int64_t>(bytes));
}

bool MemoryPool::add(std::uint64_t bytes, std::uint64_t limitBytes, std::uint64_t blocks) {
  std::uint64_t used = usedBytes_.load(std::memory_order_relaxed);
  do {
    if (used > limitBytes || bytes > limitBytes - used) return false;
  } while (!usedBytes_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  blocks_.fetch_add(blocks, std::memory_order_relaxed);
  AllocationGauge::count(*this, static_cast<std::int64_t>(bytes));
  std::uint64_t peak = peakBytes_.load(std::memory_order_relaxed);
  while (peak < used + bytes && !peakBytes_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

void installAllocator() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Above LibTorch's own (0), and never destroyed, since every tensor's deleter is in it.
    c10::SetCPUAllocator(new PoolAllocator(), 100);
  });
}

MemoryPool& hostPool() { return *sharedHostPool(); }

bool takeWentOver() {
  const bool was = wentOver;
  wentOver = false;
  return was;
}

c10::DataPtr growBlock(MemoryPool& pool, const c10::DataPtr& old, std::uint64_t oldBytes, std::uint64_t bytes) {
  c10::Allocator& allocator = *c10::GetAllocator(c10::DeviceType::CPU);
  BlockHeader* header = old.get_deleter() == &freeBlock && old.get() != nullptr ? headerOf(old.get()) : nullptr;
  if (header == nullptr || header->pool.get() != &pool || header->bytes > bytes) {
    c10::DataPtr larger = allocator.allocate(bytes);
    if (oldBytes > 0) std::memcpy(larger.get(), old.get(), oldBytes);
    return larger;
  }
  c10::DataPtr larger;
  {
    const PoolScope onHost(nullptr);
    larger = allocator.allocate(bytes);
  }
  const std::uint64_t addedBytes = bytes - header->bytes;
  if (!pool.takeMore(addedBytes)) refuseFor(pool, addedBytes);
  std::memcpy(larger.get(), old.get(), oldBytes);
  std::swap(headerOf(larger.get())->pool, header->pool);
  sharedHostPool()->giveSome(addedBytes);
  return larger;
}

AllocationGauge::AllocationGauge(const MemoryPool& pool) : pool_(pool), outer_(currentGauge) { currentGauge = this; }

AllocationGauge::~AllocationGauge() { currentGauge = outer_; }

void AllocationGauge::count(const MemoryPool& pool, std::int64_t bytes) {
  AllocationGauge* gauge = currentGauge;
  if (gauge == nullptr || &gauge->pool_ != &pool) return;
  gauge->bytes_ += bytes;
  gauge->peakBytes_ = std::max(gauge->peakBytes_, gauge->bytes_);
}

PoolScope::PoolScope(std::shared_ptr<MemoryPool> pool) : outer_(std::move(currentPool)) { currentPool = std::move(pool); }

PoolScope::~PoolScope() { currentPool = std::move(outer_); }

}  // namespace slice
