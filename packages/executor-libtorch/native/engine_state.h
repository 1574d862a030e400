#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine_ledger.h"

namespace slice {

struct IssuedInput {
  std::int64_t tensor;
  /** −1: it is present or produced on the operator's accelerator. */
  std::int64_t transfer;
  int source;
};

struct IssuedOutput {
  std::int64_t tensor;
  std::int64_t bytes;
  /** −1: none. */
  std::int64_t aliases;
};

/** An input as the operator declares it: one of the issue's tensors, or one without elements that nothing was bound to. */
struct DeclaredInput {
  /** Index in the issue's inputs, or −1. */
  int at;
  /** Of the empty tensor where `at` is −1. */
  int dtype;
  std::vector<std::int64_t> shape;
};

/** An operator in a queue. */
struct EngineOperator {
  std::int64_t issueNumber;
  int accelerator;
  /** What it computes: an index of the engine's. */
  int kernel;
  std::int64_t instance;
  std::int64_t rank;
  bool activated;
  std::int64_t workspaceBytes;
  std::vector<IssuedInput> inputs;
  std::vector<IssuedOutput> outputs;
  std::vector<DeclaredInput> declared;
  std::vector<double> symbols;

  std::size_t missing = 0;
  double readyNs = -1;
  bool running = false;
  /** An input will never come. */
  bool stuck = false;
  /** Its accelerator was lost: what comes of it is nobody's. */
  bool lost = false;
  /** Whether it is among its queue's `queued`. */
  bool counted = false;
  /** Inputs whose pending use is counted. */
  std::vector<std::int64_t> uses;
};

enum class TransferState { planned, intent, receiving, sending };

struct EngineTransfer {
  std::int64_t transfer;
  std::int64_t tensor;
  int source;
  int destination;
  TransferState state;
};

/** Order among activated operators: rank, ready time, issue number. */
struct StartsBefore {
  bool operator()(const EngineOperator* a, const EngineOperator* b) const;
};

struct EngineQueue {
  EngineLedger ledger;
  /** Whether it is there; instructions about an absent one are ignored. */
  bool present;
  std::set<EngineOperator*, StartsBefore> activated{};
  /** By tensor, in the order of their issue numbers: who misses it. */
  std::unordered_map<std::int64_t, std::vector<EngineOperator*>> waiting{};
  std::shared_ptr<EngineOperator> running{};
  /** Allowed to run and not running or stuck: what it has to do before JavaScript must be asked. */
  int queued = 0;
};

/**
 * Queues, transfers and memory of all accelerators: the native twin of ExecutorCore between two turns of JavaScript. It takes instructions that
 * the core has taken, and ignores those that the core ignores. Not for several threads: its engine's lock is held.
 */
class EngineState {
 public:
  /** The master has to hear of something at once: intents were raised, or an operator did not fit. */
  bool urgent = false;

  void add(EngineLedger ledger, bool present);
  EngineQueue& queue(int accelerator) { return queues_.at(static_cast<std::size_t>(accelerator)); }
  int count() const { return static_cast<int>(queues_.size()); }

  void issue(std::shared_ptr<EngineOperator> issued, double nowNs);
  void activate(std::int64_t issueNumber);
  void rerank(std::int64_t issueNumber, std::int64_t rank);
  void withdraw(std::int64_t issueNumber);
  /** Takes the receive buffer in the account. Null when it is none, or does not fit. */
  EngineTransfer* receive(std::int64_t transfer, std::int64_t bytes);
  /** Null when there is none any more. */
  EngineTransfer* send(std::int64_t transfer);
  void cancel(std::int64_t transfer);
  void hold(std::int64_t tensor, int accelerator);
  void release(std::int64_t tensor, int accelerator);
  /** Returns the operator that ran, which is marked lost. */
  std::shared_ptr<EngineOperator> lose(int accelerator);
  void giveBack(int accelerator) { queue(accelerator).present = true; }

  /** The next operator of an idle accelerator begins to run; those that do not fit fail before. Null when none does. */
  std::shared_ptr<EngineOperator> start(int accelerator);
  /** The running operator has ended; `outputs` are the contents of its results. */
  void end(EngineOperator& ended, std::vector<at::Tensor> outputs, double nowNs);
  void fail(EngineOperator& failed);
  /** False when the transfer is there no more. */
  bool transferEnded(std::int64_t transfer, double nowNs);
  bool transferFailed(std::int64_t transfer);

  EngineTransfer* transfer(std::int64_t number);

 private:
  bool isAvailable(const IssuedInput& input, int accelerator);
  void plan(const IssuedInput& input, int accelerator);
  void raise(std::int64_t tensor, int source);
  void arrived(std::int64_t tensor, int accelerator, double nowNs);
  void becomeReady(EngineOperator& ready, double nowNs);
  void stopWaiting(EngineOperator& leaving);
  void remove(EngineOperator& leaving);
  void settle(EngineOperator& changed, bool isGone = false);
  void leaveRunning(EngineOperator& leaving);
  void loseOutputs(const EngineOperator& lost);
  /** A copy will not be written: its consumers are stuck. */
  void loseCopy(std::int64_t tensor, int accelerator);
  /** And the copies that were to be made of it are not made. */
  void loseOnward(std::int64_t tensor, int accelerator);
  void cancelOnward(const EngineOperator& lost);
  /** Takes out the planned transfers of a copy. */
  std::vector<EngineTransfer> cancelFrom(std::int64_t tensor, int source);
  void forgetPlanned(const EngineTransfer& entry);
  void forget(const EngineTransfer& entry);
  EngineOperator* find(std::int64_t issueNumber);

  std::vector<EngineQueue> queues_;
  std::unordered_map<std::int64_t, std::shared_ptr<EngineOperator>> operators_;
  std::unordered_map<std::int64_t, EngineTransfer> transfers_;
  /** By source and tensor. */
  std::vector<std::unordered_map<std::int64_t, std::vector<std::int64_t>>> planned_;
  /** By destination and tensor. */
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> incoming_;
  std::int64_t newestTransfer_ = -1;
};

}  // namespace slice
