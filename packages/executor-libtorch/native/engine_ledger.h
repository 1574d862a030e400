#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace slice {

/** Storage of one or more copies; grows, and goes with the last of them. */
struct LedgerBuffer {
  /** Rounded up to the granularity. */
  std::int64_t bytes = 0;
  int copies = 0;
};

/** A tensor on an accelerator: what the account knows of it, and its contents. */
struct LedgerCopy {
  /** Null while it is only expected. */
  std::shared_ptr<LedgerBuffer> buffer;
  bool present = false;
  int uses = 0;
  int sends = 0;
  bool held = true;
  /** Undefined before it is written; a receive buffer before its transfer has ended. */
  at::Tensor value;
};

/**
 * What is on one accelerator, in declared bytes, and its contents: the native twin of gmg's ResidencyLedger, by the rules of "Memory" in
 * docs/execution-model.md. The master's instructions have been checked before they get here. Contents go with their copy, at once.
 */
class EngineLedger {
 public:
  EngineLedger(std::int64_t capacityBytes, std::int64_t baselineBytes, std::int64_t granularityBytes);

  bool has(std::int64_t tensor) const { return copies_.count(tensor) != 0; }
  bool isPresent(std::int64_t tensor) const;
  /** Null when it is not there in any state. */
  LedgerCopy* find(std::int64_t tensor);

  void expect(std::int64_t tensor);
  /** `aliases` −1: a buffer of its own. False when it does not fit, and then nothing has changed. */
  bool allocate(std::int64_t tensor, std::int64_t bytes, std::int64_t aliases);
  void markPresent(std::int64_t tensor);
  void addUse(std::int64_t tensor);
  void endUse(std::int64_t tensor);
  void addSend(std::int64_t tensor);
  void endSend(std::int64_t tensor);
  void hold(std::int64_t tensor);
  void release(std::int64_t tensor);
  void abandon(std::int64_t tensor);
  bool beginWorkspace(std::int64_t bytes);
  void endWorkspace(std::int64_t bytes);
  /** Once per name. False when they do not fit. */
  bool loadWeights(std::int64_t weights, std::int64_t bytes);
  void loseEverything();

  std::int64_t usedBytes() const { return usedBytes_; }
  std::int64_t freeBytes() const { return capacityBytes_ - usedBytes_; }
  /** Up to the granularity. */
  std::int64_t rounded(std::int64_t bytes) const;
  std::size_t copies() const { return copies_.size(); }
  /** Copies with contents. */
  std::size_t values() const;

 private:
  bool take(std::int64_t bytes);
  LedgerCopy& at(std::int64_t tensor);
  void freeIfUnneeded(std::int64_t tensor, const LedgerCopy& copy);

  const std::int64_t capacityBytes_;
  const std::int64_t baselineBytes_;
  const std::int64_t granularityBytes_;
  std::int64_t usedBytes_;
  std::unordered_map<std::int64_t, LedgerCopy> copies_;
  std::unordered_map<std::int64_t, std::int64_t> weights_;
};

}  // namespace slice
