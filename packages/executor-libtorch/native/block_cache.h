#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace slice {

/**
 * Freed blocks that are kept for allocations to come: a fresh block of this size comes from the system, whose pages are not there until they are touched, and
 * writing to it takes many times as long as writing to one that was used before. Any thread may use it. Allocates nothing itself: its lists are in the blocks.
 */
class BlockCache {
 public:
  /** Smaller blocks are the allocator's, which keeps them warm by itself. */
  static constexpr std::size_t LEAST_BYTES = std::size_t{256} << 10;

  BlockCache() = default;
  ~BlockCache() { trim(0); }
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  /** What a block is allocated with for so many bytes: from `LEAST_BYTES` on up to an eighth more, so that it fits others of about its size. */
  static std::size_t capacityFor(std::size_t bytes);

  /** The newest block of exactly this capacity, or null. */
  void* take(std::size_t capacity);
  /** Keeps a block of `std::malloc` and its like, of at least `LEAST_BYTES`. */
  void put(void* block, std::size_t capacity);
  /** Frees the oldest, until it keeps so many bytes at most. */
  void trim(std::uint64_t mostBytes);
  /** What it keeps. */
  std::uint64_t bytes() const { return bytes_.load(); }

 private:
  /** At the beginning of a kept block. */
  struct Kept {
    std::size_t capacity;
    /** Among all. */
    Kept* older;
    Kept* newer;
    /** Among those of its capacity. */
    Kept* olderAlike;
    Kept* newerAlike;
  };

  static constexpr std::size_t CLASSES = 64 * 8;
  static std::size_t classOf(std::size_t capacity);
  void unlink(Kept& kept);

  std::mutex mutex_;
  std::array<Kept*, CLASSES> newestAlike_{};
  Kept* oldest_ = nullptr;
  Kept* newest_ = nullptr;
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace slice
