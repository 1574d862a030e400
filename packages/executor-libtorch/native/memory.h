#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "block_cache.h"

namespace c10 {
class DataPtr;
}

namespace slice {

/**
 * The memory of one accelerator: bytes as they were asked for, without rounding. Any thread may use it. On the CPU its cap is enforced with
 * each allocation; see `Device` for CUDA. It keeps large blocks that were freed, which count as free.
 */
class MemoryPool {
 public:
  static constexpr std::uint64_t NO_CAP = UINT64_MAX;

  MemoryPool(std::string name, std::uint64_t capBytes) : name_(std::move(name)), capBytes_(capBytes) {}

  const std::string& name() const { return name_; }
  std::uint64_t capBytes() const { return capBytes_; }
  std::uint64_t usedBytes() const { return usedBytes_.load(std::memory_order_relaxed); }
  /** Largest `usedBytes` since the last `resetPeak`. */
  std::uint64_t peakBytes() const { return peakBytes_.load(std::memory_order_relaxed); }
  /** Allocations that have not been freed. */
  std::uint64_t blocks() const { return blocks_.load(std::memory_order_relaxed); }
  void resetPeak() { peakBytes_.store(usedBytes(), std::memory_order_relaxed); }
  /** Freed and kept for allocations to come: together with `usedBytes` at most the cap, and at most twice what was ever in use. */
  std::uint64_t keptBytes() const { return kept_.bytes(); }
  /** Gives them back to the system. */
  void dropKept() { kept_.trim(0); }

  /** Counts an allocation, or returns false and changes nothing when it would go over the cap. */
  bool take(std::uint64_t bytes) { return add(bytes, capBytes_); }
  /** Counts one that is there already, over the cap or not. */
  void note(std::uint64_t bytes) { add(bytes, NO_CAP); }
  void give(std::uint64_t bytes);
  /** A block that is counted already grows by so many bytes: as `take`. */
  bool takeMore(std::uint64_t bytes) { return add(bytes, capBytes_, 0); }
  /** It has shrunk by so many. */
  void giveSome(std::uint64_t bytes) { usedBytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  /** Memory for a block that is not counted yet: of `BlockCache::capacityFor`, kept or null. */
  void* takeKept(std::size_t capacity) { return kept_.take(capacity); }
  /** Memory of one that is not counted any more; frees it where it is too much to keep. */
  void keep(void* block, std::size_t capacity);

 private:
  /** A process has one pool without a cap, and what it needs for a moment it need not keep for ever. */
  static constexpr std::uint64_t KEPT_MOST_WITHOUT_CAP = 64u << 20;

  bool add(std::uint64_t bytes, std::uint64_t limitBytes, std::uint64_t blocks = 1);
  /** Gives back what is kept beyond what may be. */
  void settleKept();

  const std::string name_;
  const std::uint64_t capBytes_;
  std::atomic<std::uint64_t> usedBytes_{0};
  std::atomic<std::uint64_t> peakBytes_{0};
  /** As `peakBytes`, and never reset. */
  std::atomic<std::uint64_t> mostBytes_{0};
  std::atomic<std::uint64_t> blocks_{0};
  BlockCache kept_;
};

/**
 * Makes the counting allocator LibTorch's CPU allocator, for the whole process; once, and before the first tensor of an accelerator.
 * A thread that works for no pool allocates from `hostPool`.
 */
void installAllocator();

/** CPU memory that belongs to no accelerator: host data fed and fetched, what LibTorch keeps by itself. Without a cap. */
MemoryPool& hostPool();

/**
 * Whether an allocation of the calling thread went over its cap since the last call of this function. For `currentFault`, and to forget
 * what somebody else has handled.
 */
bool takeWentOver();

/**
 * A larger block of a pool on the CPU, with the same contents; `old` is the caller's to free. While data are copied the larger one counts on the host, and
 * afterwards the old one: the pool needs room for the difference alone. (Memory that the pool does not know is replaced by a whole block of it.) Within
 * the pool's scope. Throws LibTorch's out-of-memory; then nothing has changed.
 */
c10::DataPtr growBlock(MemoryPool& pool, const c10::DataPtr& old, std::uint64_t oldBytes, std::uint64_t bytes);

/** What the calling thread has allocated of a pool since it began, and not freed itself; whatever other threads do. Nests; ends on the thread it began on. */
class AllocationGauge {
 public:
  explicit AllocationGauge(const MemoryPool& pool);
  ~AllocationGauge();
  AllocationGauge(const AllocationGauge&) = delete;
  AllocationGauge& operator=(const AllocationGauge&) = delete;

  /** The most that it was. */
  std::uint64_t peakBytes() const { return static_cast<std::uint64_t>(peakBytes_); }

 private:
  friend class MemoryPool;
  static void count(const MemoryPool& pool, std::int64_t bytes);

  const MemoryPool& pool_;
  AllocationGauge* const outer_;
  std::int64_t bytes_ = 0;
  std::int64_t peakBytes_ = 0;
};

/** While it lives, CPU allocations of the calling thread count on this pool; null: on the host's. Nests; ends on the thread it began on. */
class PoolScope {
 public:
  explicit PoolScope(std::shared_ptr<MemoryPool> pool);
  ~PoolScope();
  PoolScope(const PoolScope&) = delete;
  PoolScope& operator=(const PoolScope&) = delete;

 private:
  std::shared_ptr<MemoryPool> outer_;
};

}  // namespace slice
