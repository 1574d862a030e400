#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "device.h"
#include "engine_state.h"
#include "program.h"
#include "weights.h"

namespace slice {

/** One operator of a loop. */
struct DirectStep {
  std::shared_ptr<const Program> program;
  /** `at` is a slot that an earlier step wrote. */
  std::vector<DeclaredInput> inputs;
  /** Slots for its outputs. */
  std::vector<std::size_t> outputs;
  std::vector<double> symbols;
  /** Indices in the loop's weights. */
  std::vector<std::size_t> weights;
  Feeds feeds;
  /** Slots that are emptied afterwards. */
  std::vector<std::size_t> drop;
};

struct DirectResult {
  /** Around the whole loop, per repetition. */
  std::vector<double> loopNs;
  /** Of the last repetition. */
  std::vector<double> stepNs;
  std::vector<double> peakBytes;
  std::vector<Fetched> fetched;
};

/** Slots are numbered below this. */
inline constexpr std::size_t DIRECT_SLOTS_MAX = 1'000'000;

/**
 * Runs steps one after the other in the calling thread, with nothing between them: what a scheduler is compared with. Returns after the
 * step that runs when `stop` becomes true. Throws PROGRAM_INVALID for slots and weights that are not there, and what programs and weights throw.
 */
DirectResult runDirect(Device& device, const std::vector<std::shared_ptr<const WeightsSource>>& weights, const std::vector<DirectStep>& steps,
                       int repeat, const std::atomic<bool>& stop);

}  // namespace slice
