#include "engine_ledger.h"

#include <algorithm>
#include <string>

#include "fault.h"

namespace slice {

EngineLedger::EngineLedger(std::int64_t capacityBytes, std::int64_t baselineBytes, std::int64_t granularityBytes)
    : capacityBytes_(capacityBytes),
      baselineBytes_(baselineBytes),
      granularityBytes_(granularityBytes),
      usedBytes_(baselineBytes) {}

bool EngineLedger::isPresent(std::int64_t tensor) const {
  const auto found = copies_.find(tensor);
  return found != copies_.end() && found->second.present;
}

LedgerCopy* EngineLedger::find(std::int64_t tensor) {
  const auto found = copies_.find(tensor);
  return found == copies_.end() ? nullptr : &found->second;
}

void EngineLedger::expect(std::int64_t tensor) { copies_.emplace(tensor, LedgerCopy{}); }

bool EngineLedger::allocate(std::int64_t tensor, std::int64_t bytes, std::int64_t aliases) {
  LedgerCopy& copy = at(tensor);
  std::shared_ptr<LedgerBuffer> buffer = aliases < 0 ? nullptr : at(aliases).buffer;
  const std::int64_t addedBytes = std::max<std::int64_t>(rounded(bytes) - (buffer ? buffer->bytes : 0), 0);
  if (!take(addedBytes)) return false;
  if (!buffer) buffer = std::make_shared<LedgerBuffer>();
  buffer->bytes += addedBytes;
  buffer->copies++;
  copy.buffer = std::move(buffer);
  return true;
}

void EngineLedger::markPresent(std::int64_t tensor) {
  LedgerCopy& copy = at(tensor);
  copy.present = true;
  freeIfUnneeded(tensor, copy);
}

void EngineLedger::addUse(std::int64_t tensor) { at(tensor).uses++; }

void EngineLedger::endUse(std::int64_t tensor) {
  LedgerCopy& copy = at(tensor);
  copy.uses--;
  freeIfUnneeded(tensor, copy);
}

void EngineLedger::addSend(std::int64_t tensor) { at(tensor).sends++; }

void EngineLedger::endSend(std::int64_t tensor) {
  LedgerCopy& copy = at(tensor);
  copy.sends--;
  freeIfUnneeded(tensor, copy);
}

void EngineLedger::hold(std::int64_t tensor) { at(tensor).held = true; }

void EngineLedger::release(std::int64_t tensor) {
  LedgerCopy& copy = at(tensor);
  copy.held = false;
  freeIfUnneeded(tensor, copy);
}

void EngineLedger::abandon(std::int64_t tensor) {
  const LedgerCopy& copy = at(tensor);
  if (copy.buffer && --copy.buffer->copies == 0) usedBytes_ -= copy.buffer->bytes;
  copies_.erase(tensor);
}

bool EngineLedger::beginWorkspace(std::int64_t bytes) { return take(rounded(bytes)); }

void EngineLedger::endWorkspace(std::int64_t bytes) { usedBytes_ -= rounded(bytes); }

bool EngineLedger::loadWeights(std::int64_t weights, std::int64_t bytes) {
  if (weights_.count(weights) != 0) return true;
  if (!take(rounded(bytes))) return false;
  weights_.emplace(weights, bytes);
  return true;
}

void EngineLedger::loseEverything() {
  copies_.clear();
  weights_.clear();
  usedBytes_ = baselineBytes_;
}

std::size_t EngineLedger::values() const {
  return static_cast<std::size_t>(
      std::count_if(copies_.begin(), copies_.end(), [](const auto& each) { return each.second.value.defined(); }));
}

std::int64_t EngineLedger::rounded(std::int64_t bytes) const {
  return (bytes + granularityBytes_ - 1) / granularityBytes_ * granularityBytes_;
}

bool EngineLedger::take(std::int64_t bytes) {
  if (bytes > capacityBytes_ - usedBytes_) return false;
  usedBytes_ += bytes;
  return true;
}

LedgerCopy& EngineLedger::at(std::int64_t tensor) {
  const auto found = copies_.find(tensor);
  if (found == copies_.end())
    throw Fault("INVARIANT_BROKEN", "the native account has no copy of tensor " + std::to_string(tensor) + "; a bug of this package");
  return found->second;
}

void EngineLedger::freeIfUnneeded(std::int64_t tensor, const LedgerCopy& copy) {
  if (copy.present && !copy.held && copy.uses == 0 && copy.sends == 0) abandon(tensor);
}

}  // namespace slice
