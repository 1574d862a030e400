/** What the threads of an accelerator do. */
#include <ATen/Functions.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "device_cuda.h"
#include "engine.h"
#include "memory.h"

namespace slice {

struct Engine::Outcome {
  std::vector<at::Tensor> outputs;
  std::vector<Fetched> fetched;
  std::optional<Fault> fault;
  double observedNs = 1;
  double outputBytes = 0;
  double peakBytes = 0;
};

namespace {

double sinceNs(std::int64_t startNs) { return static_cast<double>(std::max<std::int64_t>(monotonicNs() - startNs, 1)); }

double outputBytesOf(const EngineOperator& entry, const std::vector<at::Tensor>& outputs) {
  double bytes = 0;
  for (std::size_t at = 0; at < outputs.size(); at++)
    if (entry.outputs[at].aliases < 0) bytes += static_cast<double>(outputs[at].nbytes());
  return bytes;
}

double declaredBytesOf(const EngineOperator& entry) {
  double bytes = static_cast<double>(entry.workspaceBytes);
  for (const IssuedOutput& output : entry.outputs)
    if (output.aliases < 0) bytes += static_cast<double>(output.bytes);
  return bytes;
}

/** A storage of more bytes with the same contents: the account has room for the difference alone, and on the CPU that is all it takes. */
void growOnHost(c10::StorageImpl& storage, std::int64_t bytes, Device& device) {
  c10::DataPtr larger = growBlock(device.memory(), storage.data_ptr(), static_cast<std::uint64_t>(storage.nbytes()), static_cast<std::uint64_t>(bytes));
  c10::DataPtr old = storage.set_data_ptr(std::move(larger));
  storage.set_nbytes(static_cast<std::size_t>(bytes));
  old.clear();
}

/** Elsewhere both are there for a moment, and have to fit within the cap. */
void growOnDevice(const at::Tensor& tensor, std::int64_t bytes, Device& device) {
  at::Storage storage = tensor.storage();
  const auto oldBytes = static_cast<std::int64_t>(storage.nbytes());
  const auto options = at::TensorOptions().dtype(at::kByte).device(device.target());
  MemoryPool& memory = device.memory();
  if (memory.usedBytes() + static_cast<std::uint64_t>(bytes) > memory.capBytes())
    throw Fault(code::OUT_OF_MEMORY, memory.name() + ": a buffer of " + std::to_string(oldBytes) + " bytes grows to " + std::to_string(bytes) + ", both are there while it does, and " +
                                         std::to_string(memory.usedBytes()) + " of " + std::to_string(memory.capBytes()) + " are in use");
  const at::Tensor before = at::empty({0}, options).set_(storage, 0, {oldBytes}, {1});
  const at::Tensor after = at::empty({bytes}, options);
  if (oldBytes > 0) after.narrow(0, 0, oldBytes).copy_(before);
  device.wait();
  at::Storage grown = after.storage();
  at::DataPtr data = grown.set_data_ptr(at::DataPtr(nullptr, device.target()));
  grown.set_nbytes(0);
  at::DataPtr old = storage.set_data_ptr(std::move(data));
  storage.set_nbytes(static_cast<std::size_t>(bytes));
  old.clear();
}

}  // namespace

void Engine::work(int accelerator) {
  Lane& lane = *lanes_[static_cast<std::size_t>(accelerator)];
  std::unique_ptr<DeviceScope> scope;
  try {
    scope = lane.device->enter();
  } catch (...) {
    lane.unusable.emplace(currentFault());
  }
  Lock lock(mutex_);
  try {
    for (;;) {
      lane.wake.wait(lock, [&] { return closing_ || !lane.started.empty() || !lane.probes.empty(); });
      if (closing_) return;
      if (!lane.probes.empty()) {
        const std::int64_t probe = lane.probes.front();
        lane.probes.pop_front();
        answer(lane, accelerator, probe, lock);
        continue;
      }
      const std::shared_ptr<EngineOperator> entry = std::move(lane.started.front());
      lane.started.pop_front();
      run(lane, entry, lock);
    }
  } catch (...) {
    breakDown(lock);
  }
}

void Engine::run(Lane& lane, const std::shared_ptr<EngineOperator>& entry, Lock& lock) {
  lane.running = entry;
  letGo_.wait(lock, [&] { return closing_ || entry->lost || held_.count(entry->issueNumber) == 0; });
  // One without a number cannot run, and fails.
  const Kernel kernel = entry->kernel < 0 ? Kernel{} : kernels_.at(static_cast<std::size_t>(entry->kernel));
  Outcome outcome;
  std::vector<std::shared_ptr<const WeightSet>> weights;
  std::shared_ptr<const Feeds> feeds;
  Invocation invocation{*lane.device, {}, entry->symbols, {}, nullptr, &outcome.fetched};
  try {
    if (lane.unusable) throw Fault(*lane.unusable);
    growAliases(lane, *entry, lock);
    loadTaken(lane, kernel.weights, *entry, lock);
    if (!entry->lost) invocation.inputs = inputsOf(*entry);
    for (const std::int64_t name : kernel.weights) {
      const auto found = lane.weights.find(name);
      if (found != lane.weights.end()) weights.push_back(found->second);
    }
    const auto fed = feeds_.find(entry->instance);
    if (fed != feeds_.end()) feeds = fed->second;
  } catch (...) {
    outcome.fault.emplace(currentFault());
  }
  const bool fails = failing_.erase(entry->issueNumber) > 0;
  const bool isToRun = !closing_ && !entry->lost && !outcome.fault;
  lane.stop = !isToRun;
  invocation.stop = &lane.stop;
  lock.unlock();
  for (const auto& set : weights) invocation.weights.push_back(set.get());
  invocation.feeds = feeds.get();
  const AllocationGauge gauge(lane.device->memory());
  const std::int64_t startNs = monotonicNs();
  try {
    if (fails || (isToRun && !kernel.program)) throw Fault(code::OPERATOR_FAILED, "it was told to fail");
    if (isToRun) outcome.outputs = kernel.program->run(invocation);
    if (!lane.unusable) lane.device->wait();
    if (isToRun && outcome.outputs.size() != entry->outputs.size())
      throw Fault(code::OUTPUT_MISMATCH, "its program returns " + std::to_string(outcome.outputs.size()) + " outputs, and it was issued with " +
                                             std::to_string(entry->outputs.size()));
  } catch (...) {
    outcome.fault.emplace(currentFault());
    outcome.outputs.clear();
  }
  outcome.observedNs = sinceNs(startNs);
  outcome.peakBytes = static_cast<double>(gauge.peakBytes());
  outcome.outputBytes = outputBytesOf(*entry, outcome.outputs);
  invocation.inputs.clear();
  weights.clear();
  lock.lock();
  lane.running = nullptr;
  under_--;
  if (closing_) return;
  if (entry->lost) {
    outcome.outputs.clear();
    orphanEnded(entry->accelerator);
  } else finish(*entry, std::move(outcome));
  takeAwaited(lane);
  if (isToBeTold(entry->accelerator)) ring(lock);
}

void Engine::finish(EngineOperator& entry, Outcome outcome) {
  const double endNs = nowNs();
  const auto number = static_cast<double>(entry.issueNumber);
  if (outcome.fault) {
    write({LogEntry::failed, number, endNs, outcome.observedNs, keepFault(std::move(*outcome.fault)), 0, 0, 0});
    state_.fail(entry);
  } else {
    const auto fetched = static_cast<double>(outcome.fetched.size());
    for (Fetched& each : outcome.fetched) fetched_.push_back({entry.issueNumber, std::move(each)});
    write({LogEntry::done, number, endNs, outcome.observedNs, outcome.outputBytes, outcome.peakBytes, declaredBytesOf(entry), fetched});
    state_.end(entry, std::move(outcome.outputs), endNs);
  }
  if (!closing_) startIdle(endNs);
}

void Engine::loadTaken(Lane& lane, const std::vector<std::int64_t>& names, const EngineOperator& entry, Lock& lock) {
  for (const std::int64_t name : names) {
    const auto found = lane.unloaded.find(name);
    if (entry.lost || closing_ || found == lane.unloaded.end()) continue;
    const WeightsOffer offer = found->second;
    lock.unlock();
    std::shared_ptr<const WeightSet> set;
    std::string why;
    try {
      set = offer.source->load(*lane.device);
      if (set->bytes() > offer.declaredBytes) why = "they take " + std::to_string(set->bytes()) + " bytes, more than was declared";
    } catch (...) {
      const Fault fault = currentFault();
      why = fault.code + ": " + fault.what();
    }
    lock.lock();
    if (!why.empty()) throw Fault(code::WEIGHTS_MISSING, "its weights could not be loaded: " + why);
    if (entry.lost || closing_) return;
    lane.weights[name] = std::move(set);
    lane.unloaded.erase(name);
  }
}

std::vector<at::Tensor> Engine::inputsOf(const EngineOperator& entry) {
  EngineLedger& ledger = state_.queue(entry.accelerator).ledger;
  std::vector<at::Tensor> inputs;
  inputs.reserve(entry.declared.size());
  for (const DeclaredInput& declared : entry.declared) {
    if (declared.at >= 0) {
      const LedgerCopy* copy = ledger.find(entry.inputs.at(static_cast<std::size_t>(declared.at)).tensor);
      inputs.push_back(copy == nullptr ? at::Tensor() : copy->value);
    } else {
      const auto type = static_cast<at::ScalarType>(declared.dtype);
      inputs.push_back(at::empty(declared.shape, at::TensorOptions().dtype(type).device(device(entry.accelerator).target())));
    }
  }
  return inputs;
}

void Engine::growAliases(Lane& lane, const EngineOperator& entry, Lock& lock) {
  for (const IssuedOutput& output : entry.outputs) {
    if (output.aliases < 0) continue;
    for (;;) {
      if (entry.lost || closing_) return;
      LedgerCopy* copy = state_.queue(entry.accelerator).ledger.find(output.aliases);
      if (copy == nullptr || !copy->value.defined()) break;
      const at::Tensor value = copy->value;
      if (static_cast<std::int64_t>(value.storage().nbytes()) >= output.bytes) break;
      if (sending_.count(value.storage().unsafeGetStorageImpl()) == 0) {
        grow(lane, value, output.bytes, lock);
        break;
      }
      sent_.wait(lock);
    }
  }
}

void Engine::grow(Lane& lane, const at::Tensor& tensor, std::int64_t bytes, Lock& lock) {
  c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  growing_.insert(storage);
  lock.unlock();
  std::optional<Fault> fault;
  try {
    takeWentOver();
    if (lane.device->target().is_cpu()) growOnHost(*storage, bytes, *lane.device);
    else growOnDevice(tensor, bytes, *lane.device);
  } catch (...) {
    fault.emplace(currentFault());
  }
  lock.lock();
  growing_.erase(storage);
  sent_.notify_all();
  if (fault) throw Fault(*fault);
}

void Engine::sent(const void* storage) {
  if (--sending_[storage] == 0) sending_.erase(storage);
  sent_.notify_all();
}

void Engine::copyInto(int accelerator) {
  const auto hearing = cudaHearing();
  Lane& lane = *lanes_[static_cast<std::size_t>(accelerator)];
  Lock lock(mutex_);
  try {
    for (;;) {
      lane.wakeCopy.wait(lock, [&] { return closing_ || nextMove(lane) != lane.moves.end(); });
      if (closing_) return;
      const auto next = nextMove(lane);
      Move job = std::move(*next);
      lane.moves.erase(next);
      if (const LedgerCopy* copy = state_.queue(accelerator).ledger.find(job.tensor)) job.to = copy->value;
      move(lane, std::move(job), lock);
    }
  } catch (...) {
    breakDown(lock);
  }
}

std::deque<Engine::Move>::iterator Engine::nextMove(Lane& lane) {
  return std::find_if(lane.moves.begin(), lane.moves.end(), [&](const Move& job) {
    return std::find(lane.awaited.begin(), lane.awaited.end(), job.transfer) == lane.awaited.end();
  });
}

void Engine::move(Lane& lane, Move job, Lock& lock) {
  const void* storage = job.from.defined() ? job.from.storage().unsafeGetStorageImpl() : nullptr;
  lane.isMoving = true;
  lane.movesFrom = job.source;
  sent_.wait(lock, [&] { return growing_.count(storage) == 0; });
  sending_[storage]++;
  std::optional<Fault> fault;
  if (failingTransfers_.erase(job.transfer) > 0) fault.emplace(code::OPERATOR_FAILED, "it was told to fail");
  const auto refused = faults_.find(-1 - job.transfer);
  if (refused != faults_.end()) {
    fault.emplace(refused->second);
    faults_.erase(refused);
  }
  lock.unlock();
  const std::int64_t startNs = monotonicNs();
  try {
    if (!fault) copy(job.from, device(job.source), job.to, device(job.destination));
  } catch (...) {
    fault.emplace(currentFault());
  }
  const double observedNs = sinceNs(startNs);
  lock.lock();
  job.from = at::Tensor();
  job.to = at::Tensor();
  sent(storage);
  lane.isMoving = false;
  under_--;
  const std::vector<int> lostWith = std::exchange(lane.moveLostWith, {});
  for (const int lost : lostWith) orphanEnded(lost);
  if (lostWith.empty()) finishMove(job.transfer, fault ? &*fault : nullptr, observedNs);
  ring(lock);
}

void Engine::finishMove(std::int64_t transfer, const Fault* fault, double observedNs) {
  const double endNs = nowNs();
  const auto number = static_cast<double>(transfer);
  if (fault != nullptr) {
    if (state_.transferFailed(transfer)) write({LogEntry::moveFailed, number, endNs, observedNs, keepFault(*fault), 0, 0, 0});
  } else if (state_.transferEnded(transfer, endNs)) write({LogEntry::moved, number, endNs, observedNs, 0, 0, 0, 0});
  if (!closing_) startIdle(endNs);
}

void Engine::answer(Lane& lane, int accelerator, std::int64_t probe, Lock& lock) {
  lane.isProbing = true;
  lock.unlock();
  bool healthy = false;
  try {
    if (lane.unusable) throw Fault(*lane.unusable);
    const at::Tensor one = at::ones({1}, at::TensorOptions().dtype(at::kFloat).device(lane.device->target()));
    const at::Tensor two = at::add(one, one);
    lane.device->wait();
    healthy = toHost(two, *lane.device).item<float>() == 2.0F;
  } catch (...) {
    // It is not.
  }
  lock.lock();
  under_--;
  lane.isProbing = false;
  if (std::exchange(lane.isProbeLost, false)) orphanEnded(accelerator);
  else write({LogEntry::probed, static_cast<double>(accelerator), nowNs(), static_cast<double>(probe), healthy ? 1.0 : 0.0, 0, 0, 0});
  ring(lock);
}

}  // namespace slice
