#include "engine_state.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace slice {

bool StartsBefore::operator()(const EngineOperator* a, const EngineOperator* b) const {
  return std::tie(a->rank, a->readyNs, a->issueNumber) < std::tie(b->rank, b->readyNs, b->issueNumber);
}

void EngineState::add(EngineLedger ledger, bool present) {
  queues_.push_back(EngineQueue{std::move(ledger), present});
  planned_.emplace_back();
  incoming_.emplace_back();
}

void EngineState::issue(std::shared_ptr<EngineOperator> issued, double nowNs) {
  EngineOperator& entry = *issued;
  EngineQueue& own = queue(entry.accelerator);
  if (!own.present) return;
  for (const IssuedInput& input : entry.inputs)
    if (!isAvailable(input, entry.accelerator)) return;
  for (const IssuedInput& input : entry.inputs) plan(input, entry.accelerator);
  for (const IssuedOutput& output : entry.outputs) own.ledger.expect(output.tensor);
  for (const IssuedInput& input : entry.inputs) {
    own.ledger.addUse(input.tensor);
    entry.uses.push_back(input.tensor);
    if (own.ledger.isPresent(input.tensor)) continue;
    entry.missing++;
    own.waiting[input.tensor].push_back(&entry);
  }
  operators_.emplace(entry.issueNumber, std::move(issued));
  if (entry.missing == 0) becomeReady(entry, nowNs);
  settle(entry);
}

bool EngineState::isAvailable(const IssuedInput& input, int accelerator) {
  if (queue(accelerator).ledger.has(input.tensor)) {
    auto& incoming = incoming_[static_cast<std::size_t>(accelerator)];
    const auto found = incoming.find(input.tensor);
    return found == incoming.end() || input.transfer < 0 || found->second == input.transfer;
  }
  if (input.transfer < 0) return false;
  if (input.transfer <= newestTransfer_ && transfers_.count(input.transfer) == 0) return false;
  return queue(input.source).ledger.has(input.tensor);
}

void EngineState::plan(const IssuedInput& input, int accelerator) {
  if (input.transfer < 0 || queue(accelerator).ledger.has(input.tensor)) return;
  queue(accelerator).ledger.expect(input.tensor);
  queue(input.source).ledger.addSend(input.tensor);
  transfers_.emplace(input.transfer, EngineTransfer{input.transfer, input.tensor, input.source, accelerator, TransferState::planned});
  planned_[static_cast<std::size_t>(input.source)][input.tensor].push_back(input.transfer);
  incoming_[static_cast<std::size_t>(accelerator)][input.tensor] = input.transfer;
  newestTransfer_ = std::max(newestTransfer_, input.transfer);
  if (queue(input.source).ledger.isPresent(input.tensor)) raise(input.tensor, input.source);
}

void EngineState::activate(std::int64_t issueNumber) {
  EngineOperator* entry = find(issueNumber);
  if (entry == nullptr || entry->activated) return;
  entry->activated = true;
  if (entry->missing == 0) queue(entry->accelerator).activated.insert(entry);
  settle(*entry);
}

void EngineState::rerank(std::int64_t issueNumber, std::int64_t rank) {
  EngineOperator* entry = find(issueNumber);
  if (entry == nullptr || entry->running) return;
  auto& activated = queue(entry->accelerator).activated;
  const bool wasActivated = activated.erase(entry) > 0;
  entry->rank = rank;
  if (wasActivated) activated.insert(entry);
}

void EngineState::withdraw(std::int64_t issueNumber) {
  const auto found = operators_.find(issueNumber);
  if (found == operators_.end() || found->second->running) return;
  const std::shared_ptr<EngineOperator> kept = found->second;
  EngineOperator& entry = *kept;
  EngineQueue& own = queue(entry.accelerator);
  own.activated.erase(&entry);
  stopWaiting(entry);
  remove(entry);
  loseOutputs(entry);
  auto& incoming = incoming_[static_cast<std::size_t>(entry.accelerator)];
  for (const IssuedInput& input : entry.inputs) {
    const auto coming = incoming.find(input.tensor);
    if (coming == incoming.end() || own.waiting.count(input.tensor) != 0) continue;
    if (transfers_.at(coming->second).state == TransferState::planned) cancel(coming->second);
  }
  cancelOnward(entry);
}

EngineTransfer* EngineState::receive(std::int64_t number, std::int64_t bytes) {
  EngineTransfer* entry = transfer(number);
  if (entry == nullptr || entry->state != TransferState::intent) return nullptr;
  if (!queue(entry->destination).ledger.allocate(entry->tensor, bytes, -1)) return nullptr;
  entry->state = TransferState::receiving;
  return entry;
}

EngineTransfer* EngineState::send(std::int64_t number) {
  EngineTransfer* entry = transfer(number);
  if (entry == nullptr || entry->state != TransferState::receiving) return nullptr;
  entry->state = TransferState::sending;
  return entry;
}

void EngineState::cancel(std::int64_t number) {
  const EngineTransfer* found = transfer(number);
  if (found == nullptr || found->state == TransferState::sending) return;
  const EngineTransfer entry = *found;
  forget(entry);
  if (entry.state == TransferState::planned) forgetPlanned(entry);
  queue(entry.source).ledger.endSend(entry.tensor);
  loseOnward(entry.tensor, entry.destination);
}

void EngineState::hold(std::int64_t tensor, int accelerator) {
  EngineLedger& ledger = queue(accelerator).ledger;
  if (ledger.has(tensor)) ledger.hold(tensor);
}

void EngineState::release(std::int64_t tensor, int accelerator) {
  EngineLedger& ledger = queue(accelerator).ledger;
  const LedgerCopy* copy = ledger.find(tensor);
  if (copy != nullptr && copy->held) ledger.release(tensor);
}

std::shared_ptr<EngineOperator> EngineState::lose(int accelerator) {
  EngineQueue& own = queue(accelerator);
  if (!own.present) return nullptr;
  own.present = false;
  std::vector<EngineTransfer> ended;
  for (const auto& [number, entry] : transfers_)
    if (entry.source == accelerator || entry.destination == accelerator) ended.push_back(entry);
  for (const EngineTransfer& entry : ended) {
    forget(entry);
    if (entry.source == accelerator) continue;
    if (entry.state == TransferState::planned) forgetPlanned(entry);
    queue(entry.source).ledger.endSend(entry.tensor);
  }
  planned_[static_cast<std::size_t>(accelerator)].clear();
  std::shared_ptr<EngineOperator> running = std::move(own.running);
  own.running = nullptr;
  own.activated.clear();
  own.waiting.clear();
  own.queued = 0;
  for (auto each = operators_.begin(); each != operators_.end();) {
    if (each->second->accelerator != accelerator) {
      ++each;
      continue;
    }
    each->second->lost = true;
    each = operators_.erase(each);
  }
  own.ledger.loseEverything();
  for (const EngineTransfer& entry : ended)
    if (entry.source == accelerator) loseOnward(entry.tensor, entry.destination);
  return running;
}

std::shared_ptr<EngineOperator> EngineState::start(int accelerator) {
  EngineQueue& own = queue(accelerator);
  while (own.running == nullptr && !own.activated.empty()) {
    EngineOperator* next = *own.activated.begin();
    own.activated.erase(own.activated.begin());
    const std::shared_ptr<EngineOperator> entry = operators_.at(next->issueNumber);
    bool fits = true;
    for (const IssuedOutput& output : entry->outputs)
      fits = fits && own.ledger.allocate(output.tensor, output.bytes, output.aliases);
    fits = fits && own.ledger.beginWorkspace(entry->workspaceBytes);
    if (fits) {
      entry->running = true;
      own.running = entry;
      settle(*entry);
      return entry;
    }
    urgent = true;
    remove(*entry);
    loseOutputs(*entry);
    cancelOnward(*entry);
  }
  return nullptr;
}

void EngineState::end(EngineOperator& ended, std::vector<at::Tensor> outputs, double nowNs) {
  leaveRunning(ended);
  EngineLedger& ledger = queue(ended.accelerator).ledger;
  for (std::size_t at = 0; at < ended.outputs.size(); at++) {
    const std::int64_t tensor = ended.outputs[at].tensor;
    if (LedgerCopy* copy = ledger.find(tensor)) copy->value = std::move(outputs[at]);
    ledger.markPresent(tensor);
  }
  for (const IssuedOutput& output : ended.outputs) arrived(output.tensor, ended.accelerator, nowNs);
  for (const IssuedOutput& output : ended.outputs) raise(output.tensor, ended.accelerator);
}

void EngineState::fail(EngineOperator& failed) {
  leaveRunning(failed);
  loseOutputs(failed);
  cancelOnward(failed);
  urgent = true;
}

bool EngineState::transferEnded(std::int64_t number, double nowNs) {
  const EngineTransfer* found = transfer(number);
  if (found == nullptr || found->state != TransferState::sending) return false;
  const EngineTransfer entry = *found;
  forget(entry);
  queue(entry.source).ledger.endSend(entry.tensor);
  queue(entry.destination).ledger.markPresent(entry.tensor);
  arrived(entry.tensor, entry.destination, nowNs);
  raise(entry.tensor, entry.destination);
  return true;
}

bool EngineState::transferFailed(std::int64_t number) {
  const EngineTransfer* found = transfer(number);
  if (found == nullptr || found->state != TransferState::sending) return false;
  const EngineTransfer entry = *found;
  forget(entry);
  queue(entry.source).ledger.endSend(entry.tensor);
  loseOnward(entry.tensor, entry.destination);
  urgent = true;
  return true;
}

EngineTransfer* EngineState::transfer(std::int64_t number) {
  const auto found = transfers_.find(number);
  return found == transfers_.end() ? nullptr : &found->second;
}

void EngineState::raise(std::int64_t tensor, int source) {
  auto& planned = planned_[static_cast<std::size_t>(source)];
  const auto found = planned.find(tensor);
  if (found == planned.end()) return;
  for (const std::int64_t number : found->second) transfers_.at(number).state = TransferState::intent;
  planned.erase(found);
  urgent = true;
}

void EngineState::arrived(std::int64_t tensor, int accelerator, double nowNs) {
  auto& waiting = queue(accelerator).waiting;
  const auto found = waiting.find(tensor);
  if (found == waiting.end()) return;
  const std::vector<EngineOperator*> consumers = std::move(found->second);
  waiting.erase(found);
  for (EngineOperator* consumer : consumers)
    if (--consumer->missing == 0) becomeReady(*consumer, nowNs);
}

void EngineState::becomeReady(EngineOperator& ready, double nowNs) {
  ready.readyNs = nowNs;
  if (ready.activated) queue(ready.accelerator).activated.insert(&ready);
}

void EngineState::stopWaiting(EngineOperator& leaving) {
  auto& waiting = queue(leaving.accelerator).waiting;
  for (const IssuedInput& input : leaving.inputs) {
    const auto found = waiting.find(input.tensor);
    if (found == waiting.end()) continue;
    auto& others = found->second;
    others.erase(std::remove(others.begin(), others.end(), &leaving), others.end());
    if (others.empty()) waiting.erase(found);
  }
}

/** The caller keeps the operator alive. */
void EngineState::remove(EngineOperator& leaving) {
  settle(leaving, true);
  operators_.erase(leaving.issueNumber);
  EngineLedger& ledger = queue(leaving.accelerator).ledger;
  for (const std::int64_t tensor : leaving.uses) ledger.endUse(tensor);
  leaving.uses.clear();
}

void EngineState::settle(EngineOperator& changed, bool isGone) {
  const bool counts = changed.activated && !changed.running && !changed.stuck && !isGone;
  if (counts != changed.counted) queue(changed.accelerator).queued += counts ? 1 : -1;
  changed.counted = counts;
}

void EngineState::leaveRunning(EngineOperator& leaving) {
  EngineQueue& own = queue(leaving.accelerator);
  own.running = nullptr;
  own.ledger.endWorkspace(leaving.workspaceBytes);
  remove(leaving);
}

void EngineState::loseOutputs(const EngineOperator& lost) {
  for (const IssuedOutput& output : lost.outputs) loseCopy(output.tensor, lost.accelerator);
}

void EngineState::loseCopy(std::int64_t tensor, int accelerator) {
  EngineQueue& own = queue(accelerator);
  own.ledger.abandon(tensor);
  const auto found = own.waiting.find(tensor);
  if (found == own.waiting.end()) return;
  for (EngineOperator* consumer : found->second) {
    consumer->uses.erase(std::remove(consumer->uses.begin(), consumer->uses.end(), tensor), consumer->uses.end());
    consumer->stuck = true;
    settle(*consumer);
  }
  own.waiting.erase(found);
}

void EngineState::loseOnward(std::int64_t tensor, int accelerator) {
  std::vector<std::pair<std::int64_t, int>> lost{{tensor, accelerator}};
  while (!lost.empty()) {
    const auto [copy, on] = lost.back();
    lost.pop_back();
    for (const EngineTransfer& onward : cancelFrom(copy, on)) lost.emplace_back(onward.tensor, onward.destination);
    loseCopy(copy, on);
  }
}

void EngineState::cancelOnward(const EngineOperator& lost) {
  for (const IssuedOutput& output : lost.outputs)
    for (const EngineTransfer& onward : cancelFrom(output.tensor, lost.accelerator))
      loseOnward(onward.tensor, onward.destination);
}

std::vector<EngineTransfer> EngineState::cancelFrom(std::int64_t tensor, int source) {
  auto& planned = planned_[static_cast<std::size_t>(source)];
  const auto found = planned.find(tensor);
  std::vector<EngineTransfer> cancelled;
  if (found == planned.end()) return cancelled;
  for (const std::int64_t number : found->second) cancelled.push_back(transfers_.at(number));
  planned.erase(found);
  for (const EngineTransfer& entry : cancelled) forget(entry);
  return cancelled;
}

void EngineState::forgetPlanned(const EngineTransfer& entry) {
  auto& planned = planned_[static_cast<std::size_t>(entry.source)];
  const auto found = planned.find(entry.tensor);
  if (found == planned.end()) return;
  auto& others = found->second;
  others.erase(std::remove(others.begin(), others.end(), entry.transfer), others.end());
  if (others.empty()) planned.erase(found);
}

void EngineState::forget(const EngineTransfer& entry) {
  incoming_[static_cast<std::size_t>(entry.destination)].erase(entry.tensor);
  transfers_.erase(entry.transfer);
}

EngineOperator* EngineState::find(std::int64_t issueNumber) {
  const auto found = operators_.find(issueNumber);
  return found == operators_.end() ? nullptr : found->second.get();
}

}  // namespace slice
