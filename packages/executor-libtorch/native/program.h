#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "device.h"
#include "weights.h"

namespace slice {

/** Host data of one instance by name, in the host's memory. */
using Feeds = std::unordered_map<std::string, at::Tensor>;

/** A tensor that a program handed out, copied to the host. */
struct Fetched {
  std::string name;
  at::Tensor tensor;
};

/** One run of a program. */
struct Invocation {
  /** Where; the calling thread is in its scope. */
  Device& device;
  /** The operator's inputs in declared order. The run drops each after its last use, so hand them over rather than keep them. */
  std::vector<at::Tensor> inputs;
  /** Values of `Program::symbols()`, in that order. */
  std::vector<double> symbols;
  /** The operator's weights on this device; a name is looked up in one after another. */
  std::vector<const WeightSet*> weights;
  /** Null: none. */
  const Feeds* feeds = nullptr;
  /** Receives what the program fetches; null: dropped. */
  std::vector<Fetched>* fetched = nullptr;
  /** Ends the run between two calls when it becomes true; null: never. */
  const std::atomic<bool>* stop = nullptr;
};

struct CompiledProgram;

/** A list of calls with its names resolved and its arguments checked. Immutable; any number of threads may run it at a time. */
class Program {
 public:
  /**
   * Reads the form that the TypeScript package lowers programs to (src/programs/lower.ts), and checks it against the schemas of this LibTorch:
   * UNKNOWN_OPERATOR, WRONG_ARGUMENT, PROGRAM_INVALID, DTYPE_UNSUPPORTED, JSON_INVALID.
   */
  static std::shared_ptr<const Program> compile(const std::string& json);
  ~Program();

  /**
   * Runs it and returns its outputs, in declared order, each contiguous with storage of its own, except one that continues its input's.
   * On CUDA the kernels may still be running: `Device::wait` before anybody else reads them.
   * Throws OUT_OF_MEMORY, OPERATOR_FAILED, OUTPUT_MISMATCH, WRONG_ARGUMENT, DTYPE_UNSUPPORTED, FEED_MISSING, WEIGHTS_MISSING, STOPPED; then everything it
   * allocated is freed, and nothing was written but the inputs that an output continues.
   */
  std::vector<at::Tensor> run(Invocation& invocation) const;

  /** Expressions whose values a run takes. */
  const std::vector<std::string>& symbols() const;
  /** Names of weights and of feeds that a run looks up. */
  const std::vector<std::string>& weightNames() const;
  const std::vector<std::string>& feedNames() const;
  /** Inputs that a run needs at least. */
  std::size_t inputCount() const;

 private:
  explicit Program(std::unique_ptr<const CompiledProgram> compiled);
  const std::unique_ptr<const CompiledProgram> compiled_;
};

}  // namespace slice
