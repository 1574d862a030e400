#include "block_cache.h"

#include <cstdlib>
#include <new>

namespace slice {
namespace {

/** Capacities between two powers of two: so many, evenly spaced. */
constexpr unsigned STEP_BITS = 3;

unsigned highestBit(std::size_t bytes) { return 63U - static_cast<unsigned>(__builtin_clzll(bytes)); }

}  // namespace

std::size_t BlockCache::capacityFor(std::size_t bytes) {
  if (bytes < LEAST_BYTES || bytes > SIZE_MAX / 2) return bytes;
  const std::size_t step = std::size_t{1} << (highestBit(bytes) - STEP_BITS);
  return (bytes + step - 1) / step * step;
}

std::size_t BlockCache::classOf(std::size_t capacity) {
  const unsigned high = highestBit(capacity);
  return (std::size_t{high} << STEP_BITS) | ((capacity >> (high - STEP_BITS)) & ((1U << STEP_BITS) - 1));
}

void* BlockCache::take(std::size_t capacity) {
  if (capacity < LEAST_BYTES || bytes() < capacity) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  Kept* kept = newestAlike_[classOf(capacity)];
  if (kept == nullptr || kept->capacity != capacity) return nullptr;
  unlink(*kept);
  return kept;
}

void BlockCache::put(void* block, std::size_t capacity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Kept*& alike = newestAlike_[classOf(capacity)];
  Kept* kept = new (block) Kept{capacity, newest_, nullptr, alike, nullptr};
  if (newest_ != nullptr) newest_->newer = kept;
  else oldest_ = kept;
  if (alike != nullptr) alike->newerAlike = kept;
  newest_ = kept;
  alike = kept;
  bytes_ += capacity;
}

void BlockCache::trim(std::uint64_t mostBytes) {
  Kept* freed = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (bytes() > mostBytes) {
      Kept* kept = oldest_;
      unlink(*kept);
      kept->older = freed;
      freed = kept;
    }
  }
  // The system takes its time, and nobody has to wait for it.
  while (freed != nullptr) {
    Kept* next = freed->older;
    std::free(freed);
    freed = next;
  }
}

void BlockCache::unlink(Kept& kept) {
  (kept.older != nullptr ? kept.older->newer : oldest_) = kept.newer;
  (kept.newer != nullptr ? kept.newer->older : newest_) = kept.older;
  if (kept.olderAlike != nullptr) kept.olderAlike->newerAlike = kept.newerAlike;
  (kept.newerAlike != nullptr ? kept.newerAlike->olderAlike : newestAlike_[classOf(kept.capacity)]) = kept.olderAlike;
  bytes_ -= kept.capacity;
}

}  // namespace slice
