#include "memory.h"

#include <sys/mman.h>

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
  // The last reference to the pool may be this one. A kept block has none, or the pool would never go.
  const std::shared_ptr<MemoryPool> pool = std::move(header->pool);
  const std::uint64_t bytes = header->bytes;
  header->~BlockHeader();
  pool->give(bytes);
  pool->keep(header, BlockCache::capacityFor(bytes));
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

/** Blocks from twice this size on lie in pages of this size where the system has them: their first use takes a fraction of the page faults. */
constexpr std::size_t HUGE_PAGE_BYTES = std::size_t{2} << 20;

/** From the system, or null. */
void* freshBlock(std::size_t capacity) {
  const bool isHuge = capacity >= 2 * HUGE_PAGE_BYTES;
  void* block = nullptr;
  if (capacity > SIZE_MAX - ALIGNMENT_BYTES || posix_memalign(&block, isHuge ? HUGE_PAGE_BYTES : ALIGNMENT_BYTES, capacity + ALIGNMENT_BYTES) != 0) return nullptr;
#ifdef MADV_HUGEPAGE
  // No more than a wish. Only whole pages: the end would take one more for a few bytes.
  if (isHuge) (void)madvise(block, capacity / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
#endif
  return block;
}

struct PoolAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) SLICE_ALLOCATE_CONST override {
    if (bytes == 0) return {nullptr, nullptr, &freeBlock, c10::Device(c10::DeviceType::CPU)};
    const std::shared_ptr<MemoryPool>& pool = currentPool ? currentPool : sharedHostPool();
    const std::size_t capacity = BlockCache::capacityFor(bytes);
    // Before it is counted: until it is both kept and in use, others would be given back for it.
    void* block = pool->takeKept(capacity);
    if (!pool->take(bytes)) {
      if (block != nullptr) pool->keep(block, capacity);
      refuseFor(*pool, bytes);
    }
    if (block == nullptr) block = freshBlock(capacity);
    if (block == nullptr) {
      // What is kept may be what is lacking.
      pool->dropKept();
      block = freshBlock(capacity);
    }
    if (block == nullptr) {
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

void raise(std::atomic<std::uint64_t>& mark, std::uint64_t bytes) {
  std::uint64_t before = mark.load(std::memory_order_relaxed);
  while (before < bytes && !mark.compare_exchange_weak(before, bytes, std::memory_order_relaxed)) {
  }
}

}  // namespace

void MemoryPool::give(std::uint64_t bytes) {
  usedBytes_.fetch_sub(bytes, std::memory_order_relaxed);
  blocks_.fetch_sub(1, std::memory_order_relaxed);
  AllocationGauge::count(*this, -static_cast<std::int64_t>(bytes));
}

void MemoryPool::keep(void* block, std::size_t capacity) {
  if (capacity < BlockCache::LEAST_BYTES) {
    std::free(block);
    return;
  }
  kept_.put(block, capacity);
  settleKept();
}

void MemoryPool::settleKept() {
  const std::uint64_t used = usedBytes_.load();
  const std::uint64_t most = std::min(capBytes_, mostBytes_.load() * 2);
  const std::uint64_t room = most - std::min(used, most);
  const std::uint64_t limit = capBytes_ == NO_CAP ? std::min(room, KEPT_MOST_WITHOUT_CAP) : room;
  if (keptBytes() > limit) kept_.trim(limit);
}

bool MemoryPool::add(std::uint64_t bytes, std::uint64_t limitBytes, std::uint64_t blocks) {
  std::uint64_t used = usedBytes_.load(std::memory_order_relaxed);
  do {
    if (used > limitBytes || bytes > limitBytes - used) return false;
  } while (!usedBytes_.compare_exchange_weak(used, used + bytes));
  blocks_.fetch_add(blocks, std::memory_order_relaxed);
  AllocationGauge::count(*this, static_cast<std::int64_t>(bytes));
  raise(peakBytes_, used + bytes);
  raise(mostBytes_, used + bytes);
  // Whoever counts or keeps last sees both.
  if (keptBytes() > 0) settleKept();
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
