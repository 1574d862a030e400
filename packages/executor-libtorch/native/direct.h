#pragma once

#include <atomic>
#include <memory>
#include <utility>
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

/** Steps that run one after the other, with nothing between them: what a scheduler is compared with. */
class DirectLoop {
 public:
  DirectLoop(std::shared_ptr<Device> device, std::vector<std::shared_ptr<const WeightsSource>> weights, std::vector<DirectStep> steps)
      : device_(std::move(device)), sources_(std::move(weights)), steps_(std::move(steps)) {}

  /**
   * In the calling thread; not for several at a time. The first run loads the weights, which stay. Ends between two calls when `stop` becomes true, with
   * STOPPED. Throws PROGRAM_INVALID for slots and weights that are not there, and what programs and weights throw.
   */
  DirectResult run(int repeat, const std::atomic<bool>& stop);

 private:
  void load(const std::atomic<bool>& stop);
  void runOnce(std::vector<at::Tensor> slots, DirectResult& result, const std::atomic<bool>& stop) const;

  const std::shared_ptr<Device> device_;
  const std::vector<std::shared_ptr<const WeightsSource>> sources_;
  const std::vector<DirectStep> steps_;
  /** In the order of `sources_`, as far as they are loaded. */
  std::vector<std::shared_ptr<const WeightSet>> sets_;
};

}  // namespace slice
