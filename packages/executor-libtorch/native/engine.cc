#include "engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "device_cuda.h"
#include "memory.h"

namespace slice {

std::int64_t monotonicNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Engine::Engine(std::vector<EngineAccelerator> accelerators, EngineOptions options) : options_(std::move(options)) {
  for (EngineAccelerator& each : accelerators) {
    state_.add(EngineLedger(each.capacityBytes, each.baselineBytes, each.granularityBytes), each.present);
    lanes_.push_back(std::make_unique<Lane>());
    lanes_.back()->device = std::move(each.device);
  }
  try {
    startThreads();
  } catch (...) {
    close();
    const Fault fault = currentFault();
    throw Fault(code::DEVICE_UNAVAILABLE, "the system starts no more threads (" + std::string(fault.what()) + "), and " + std::to_string(lanes_.size()) +
                                              " accelerators take " + std::to_string(lanes_.size() * 2 + 1) + ": give the process more, or have fewer accelerators");
  }
}

void Engine::startThreads() {
  for (int at = 0; at < static_cast<int>(lanes_.size()); at++) {
    lanes_[static_cast<std::size_t>(at)]->worker = std::thread([this, at] { work(at); });
    lanes_[static_cast<std::size_t>(at)]->copier = std::thread([this, at] { copyInto(at); });
  }
  reporter_ = std::thread([this] { report(); });
}

void Engine::join() {
  for (const auto& lane : lanes_) {
    if (lane->worker.joinable()) lane->worker.join();
    if (lane->copier.joinable()) lane->copier.join();
  }
  if (reporter_.joinable()) reporter_.join();
}

Engine::~Engine() { close(); }

void Engine::close() {
  const auto hearing = cudaHearing();
  {
    const Lock lock(mutex_);
    if (closing_) return;
    closing_ = true;
    busy_.notify_all();
    letGo_.notify_all();
    sent_.notify_all();
    for (const auto& lane : lanes_) {
      lane->stop = true;
      lane->wake.notify_all();
      lane->wakeCopy.notify_all();
    }
  }
  join();
  const Lock lock(mutex_);
  for (int at = 0; at < state_.count(); at++) state_.lose(at);
  for (const auto& lane : lanes_) {
    lane->started.clear();
    lane->moves.clear();
    lane->weights.clear();
    lane->offers.clear();
    lane->unloaded.clear();
    lane->device->memory().dropKept();
  }
  kernels_.clear();
  feeds_.clear();
  fetched_.clear();
}

double Engine::nowNs() const { return static_cast<double>(monotonicNs() - options_.epochNs); }

std::size_t Engine::drain(LogEntry* into, std::size_t most) {
  const std::size_t count = std::min(most, log_.size());
  std::copy_n(log_.begin(), count, into);
  log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(count));
  if (log_.empty()) rung_ = false;
  return count;
}

Fault Engine::takeFault(std::int64_t number) {
  const auto found = faults_.find(number);
  if (found == faults_.end()) return Fault("INVARIANT_BROKEN", "there is no fault of this number; a bug of this package");
  const Fault fault = found->second;
  faults_.erase(found);
  return fault;
}

std::vector<FetchedBy> Engine::takeFetched() { return std::exchange(fetched_, {}); }

bool Engine::inFlight() const { return under_ > 0 || !log_.empty(); }

int Engine::addKernel(Kernel kernel) {
  kernels_.push_back(std::move(kernel));
  return static_cast<int>(kernels_.size()) - 1;
}

void Engine::feed(std::int64_t instance, Feeds feeds) {
  Feeds all;
  const auto found = feeds_.find(instance);
  if (found != feeds_.end()) all = *found->second;
  for (auto& [name, tensor] : feeds) all[name] = std::move(tensor);
  feeds_[instance] = std::make_shared<const Feeds>(std::move(all));
}

void Engine::unfeed(std::int64_t instance) { feeds_.erase(instance); }

bool Engine::hasRoomForWeights(int accelerator, std::int64_t bytes) {
  const EngineLedger& ledger = state_.queue(accelerator).ledger;
  std::int64_t wanted = ledger.rounded(bytes);
  for (const auto& offered : lanes_.at(static_cast<std::size_t>(accelerator))->offers)
    wanted += ledger.rounded(static_cast<std::int64_t>(offered.second.declaredBytes));
  return wanted <= ledger.freeBytes();
}

void Engine::offerWeights(int accelerator, std::int64_t weights, WeightsOffer offer) {
  lanes_.at(static_cast<std::size_t>(accelerator))->offers[weights] = std::move(offer);
}

void Engine::takeWeights(int accelerator, std::int64_t weights) {
  Lane& lane = *lanes_.at(static_cast<std::size_t>(accelerator));
  const auto found = lane.offers.find(weights);
  if (found == lane.offers.end()) return;
  if (found->second.set) lane.weights[weights] = std::move(found->second.set);
  else lane.unloaded[weights] = std::move(found->second);
  lane.offers.erase(found);
}

void Engine::dropOffers() {
  for (const auto& lane : lanes_) lane->offers.clear();
}

at::Tensor Engine::value(std::int64_t tensor, int accelerator) {
  const LedgerCopy* copy = state_.queue(accelerator).ledger.find(tensor);
  return copy == nullptr || !copy->present ? at::Tensor() : copy->value;
}

at::Tensor Engine::read(std::int64_t tensor, int accelerator) {
  Device& from = device(accelerator);
  Lock lock(mutex_);
  at::Tensor found = value(tensor, accelerator);
  if (!found.defined()) return found;
  const void* storage = found.storage().unsafeGetStorageImpl();
  sent_.wait(lock, [&] { return growing_.count(storage) == 0; });
  sending_[storage]++;
  lock.unlock();
  at::Tensor onHost;
  std::optional<Fault> fault;
  try {
    const auto scope = from.enter();
    onHost = toHost(found, from);
  } catch (...) {
    fault.emplace(currentFault());
  }
  lock.lock();
  sent(storage);
  found = at::Tensor();
  if (fault) throw Fault(*fault);
  return onHost;
}

std::size_t Engine::liveTensors() {
  std::size_t live = 0;
  for (int at = 0; at < state_.count(); at++) live += state_.queue(at).ledger.values();
  return live;
}

void Engine::rehearse(std::int64_t issueNumber, bool fails) { (fails ? failing_ : held_).insert(issueNumber); }

void Engine::letGo(std::int64_t issueNumber) {
  held_.erase(issueNumber);
  letGo_.notify_all();
}

void Engine::startIdle(double nowNs) {
  for (int at = 0; at < state_.count(); at++)
    if (const auto entry = state_.start(at)) begin(entry, nowNs);
}

void Engine::begin(const std::shared_ptr<EngineOperator>& entry, double nowNs) {
  Lane& lane = *lanes_[static_cast<std::size_t>(entry->accelerator)];
  lane.started.push_back(entry);
  if (under_++ == 0) busy_.notify_one();
  write({LogEntry::started, static_cast<double>(entry->issueNumber), nowNs, 0, 0, 0, 0, 0});
  lane.wake.notify_one();
}

void Engine::receive(std::int64_t transfer, std::int64_t bytes) {
  const EngineTransfer* taken = state_.receive(transfer, bytes);
  if (taken == nullptr) return;
  const std::optional<Fault> fault = takeBuffer(*taken);
  if (!fault) return;
  Lane& lane = *lanes_[static_cast<std::size_t>(taken->destination)];
  if (fault->code == code::OUT_OF_MEMORY && lane.running != nullptr) lane.awaited.push_back(transfer);
  // The account has it, but the device does not: the transfer fails when it is to begin.
  else faults_.emplace(-1 - transfer, *fault);
}

std::optional<Fault> Engine::takeBuffer(const EngineTransfer& taken) {
  const at::Tensor source = value(taken.tensor, taken.source);
  LedgerCopy* copy = state_.queue(taken.destination).ledger.find(taken.tensor);
  if (copy == nullptr || !source.defined()) return std::nullopt;
  Device& to = device(taken.destination);
  try {
    const auto scope = to.enter();
    copy->value = emptyLike(source, to);
    return std::nullopt;
  } catch (...) {
    return currentFault();
  }
}

void Engine::takeAwaited(Lane& lane) {
  for (const std::int64_t transfer : std::exchange(lane.awaited, {})) {
    const EngineTransfer* taken = state_.transfer(transfer);
    // It may have been cancelled.
    if (taken == nullptr) continue;
    if (const std::optional<Fault> fault = takeBuffer(*taken)) faults_.emplace(-1 - transfer, *fault);
  }
  lane.wakeCopy.notify_one();
}

void Engine::send(std::int64_t transfer) {
  const EngineTransfer* begun = state_.send(transfer);
  if (begun == nullptr) return;
  Lane& lane = *lanes_[static_cast<std::size_t>(begun->destination)];
  lane.moves.push_back({transfer, begun->tensor, begun->source, begun->destination, value(begun->tensor, begun->source), at::Tensor()});
  if (under_++ == 0) busy_.notify_one();
  lane.wakeCopy.notify_one();
}

void Engine::lose(int accelerator) {
  Lane& lane = *lanes_.at(static_cast<std::size_t>(accelerator));
  if (!state_.queue(accelerator).present) return;
  state_.lose(accelerator);
  lane.weights.clear();
  lane.unloaded.clear();
  lane.awaited.clear();
  lane.stop = true;
  // What has not begun does not; what is under way is nobody's from now on.
  under_ -= static_cast<int>(lane.started.size() + lane.probes.size());
  lane.started.clear();
  lane.probes.clear();
  if (lane.running != nullptr) lane.orphans++;
  if (lane.isProbing) {
    lane.isProbeLost = true;
    lane.orphans++;
  }
  for (int to = 0; to < state_.count(); to++) {
    Lane& destination = *lanes_[static_cast<std::size_t>(to)];
    for (auto job = destination.moves.begin(); job != destination.moves.end();) {
      const bool isLost = job->source == accelerator || to == accelerator;
      if (isLost) under_--;
      job = isLost ? destination.moves.erase(job) : job + 1;
    }
    if (!destination.isMoving || (destination.movesFrom != accelerator && to != accelerator)) continue;
    destination.moveLostWith.push_back(accelerator);
    lane.orphans++;
  }
  letGo_.notify_all();
  sent_.notify_all();
  if (lane.orphans == 0) emptied(accelerator);
}

void Engine::orphanEnded(int accelerator) {
  if (--lanes_[static_cast<std::size_t>(accelerator)]->orphans > 0) return;
  emptied(accelerator);
  state_.urgent = true;
}

void Engine::emptied(int accelerator) {
  device(accelerator).memory().dropKept();
  write({LogEntry::emptied, static_cast<double>(accelerator), nowNs(), 0, 0, 0, 0, 0});
}

void Engine::probe(int accelerator, std::int64_t probe) {
  if (!state_.queue(accelerator).present) return;
  Lane& lane = *lanes_[static_cast<std::size_t>(accelerator)];
  lane.probes.push_back(probe);
  if (under_++ == 0) busy_.notify_one();
  lane.wake.notify_one();
}

void Engine::checkWhole() const {
  if (broken_) throw Fault(*broken_);
}

void Engine::breakDown(Lock& lock) {
  const Fault fault = currentFault();
  if (!lock.owns_lock()) lock.lock();
  if (closing_ || broken_) return;
  broken_.emplace("INVARIANT_BROKEN", "a thread of the native engine ended: " + fault.code + ": " + fault.what());
  // The process does not end before it has heard of it.
  under_++;
  lock.unlock();
  options_.ring();
  lock.lock();
}

void Engine::write(LogEntry entry) {
  if (log_.empty()) oldestNs_ = entry.atNs;
  log_.push_back(entry);
}

double Engine::keepFault(Fault fault) {
  faults_.emplace(nextFault_, std::move(fault));
  return static_cast<double>(nextFault_++);
}

bool Engine::isToBeTold(int accelerator) {
  const EngineQueue& own = state_.queue(accelerator);
  const bool isLow = own.running == nullptr || own.queued < options_.lookahead;
  const bool isOld = nowNs() - oldestNs_ >= static_cast<double>(options_.reportNs);
  const bool isUrgent = std::exchange(state_.urgent, false);
  return isUrgent || isLow || isOld || !fetched_.empty();
}

void Engine::ring(Lock& lock) {
  if (rung_ || closing_ || log_.empty()) return;
  rung_ = true;
  lock.unlock();
  options_.ring();
  lock.lock();
}

void Engine::report() {
  const auto patience = std::chrono::nanoseconds(options_.reportNs);
  Lock lock(mutex_);
  while (!closing_) {
    if (under_ == 0) busy_.wait(lock, [this] { return closing_ || under_ > 0; });
    else busy_.wait_for(lock, patience);
    if (!log_.empty() && nowNs() - oldestNs_ >= static_cast<double>(options_.reportNs)) ring(lock);
  }
}

}  // namespace slice
