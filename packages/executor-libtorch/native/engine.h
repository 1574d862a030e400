#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "device.h"
#include "engine_state.h"
#include "fault.h"
#include "program.h"
#include "weights.h"

namespace slice {

/** What happened, in the order in which it did. What `a` to `d` are depends on the kind. */
struct LogEntry {
  enum Kind {
    /** `number` is the issue. */
    started = 1,
    /** a: observed ns, b: bytes of its outputs, c: its peak, d: what was declared for it, e: how many tensors it fetched. */
    done = 2,
    /** a: observed ns, b: index of its fault. */
    failed = 3,
    /** `number` is the transfer; a: observed ns. */
    moved = 4,
    /** a: observed ns, b: index of its fault. */
    moveFailed = 5,
    /** `number` is the accelerator; a: the probe, b: 1 when healthy. */
    probed = 6,
    /** Nothing is left of what was under way on the accelerator when it was lost. */
    emptied = 7,
  };
  double kind;
  double number;
  double atNs;
  double a;
  double b;
  double c;
  double d;
  double e;
};

struct EngineAccelerator {
  std::shared_ptr<Device> device;
  std::int64_t capacityBytes;
  std::int64_t baselineBytes;
  std::int64_t granularityBytes;
  bool present;
};

/** What an operator computes; nothing where it has no program. */
struct Kernel {
  std::shared_ptr<const Program> program;
  /** Names of weights, as numbers, in declared order. */
  std::vector<std::int64_t> weights;
};

/** A tensor that a program handed out. */
struct FetchedBy {
  std::int64_t issueNumber;
  Fetched fetched;
};

/** Weights that the core may take: loaded; or not, where the account has no room for them, so that the core refuses them, or the device has none for now. */
struct WeightsOffer {
  std::shared_ptr<const WeightSet> set;
  std::shared_ptr<const WeightsSource> source;
  std::uint64_t declaredBytes = 0;
};

struct EngineOptions {
  /** JavaScript is asked for more when an accelerator has fewer operators than this that can start without it. */
  int lookahead = 4;
  /** It hears of everything at the latest after this time. */
  std::int64_t reportNs = 1'000'000;
  /** Of `monotonicNs`, where its time begins. */
  std::int64_t epochNs = 0;
  /** Wakes JavaScript; from any thread, without the lock. */
  std::function<void()> ring;
};

/** Nanoseconds of the clock by which everything is measured. */
std::int64_t monotonicNs();

/**
 * Runs operators and transfers on their accelerators, each on a thread of its own, and resolves dependencies between two turns of JavaScript.
 * Whoever ends something does what follows, under one lock: account, contents, consumers, the next starts; and writes it to the log.
 *
 * Between `lock` and `unlock`, on one thread, nothing happens by itself; everything marked "locked" is for then.
 */
class Engine {
 public:
  Engine(std::vector<EngineAccelerator> accelerators, EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  double nowNs() const;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  /** Takes up to `most` entries out of the log, from its beginning. Locked. */
  std::size_t drain(LogEntry* into, std::size_t most);
  /** The fault of a number in the log; once. Locked, like all that follows. */
  Fault takeFault(std::int64_t number);
  std::vector<FetchedBy> takeFetched();
  bool hasFetched() const { return !fetched_.empty(); }
  std::size_t logged() const { return log_.size(); }
  /** Whether something happens or will be reported without anything more being said. */
  bool inFlight() const;
  /** Throws what broke one of its threads. */
  void checkWhole() const;

  EngineState& state() { return state_; }
  /** Takes a receive buffer and its memory; where an operator that runs there leaves none, when that has ended. */
  void receive(std::int64_t transfer, std::int64_t bytes);
  void send(std::int64_t transfer);
  void lose(int accelerator);
  void probe(int accelerator, std::int64_t probe);
  /** Starts what can, in index order. */
  void startIdle(double nowNs);
  /** The operator of this number fails when it runs, or waits until it is let go; for tests. */
  void rehearse(std::int64_t issueNumber, bool fails);
  void letGo(std::int64_t issueNumber);
  void rehearseTransfer(std::int64_t transfer) { failingTransfers_.insert(transfer); }
  void feed(std::int64_t instance, Feeds feeds);
  void unfeed(std::int64_t instance);
  /** Whether the account has room for so many bytes of weights, beside those that are offered. */
  bool hasRoomForWeights(int accelerator, std::int64_t bytes);
  /** Weights that are there from the moment at which the core takes them; dropped with the next batch that does not. */
  void offerWeights(int accelerator, std::int64_t weights, WeightsOffer offer);
  /** Whether an operator runs there: until it has ended, the device may have less room than the account. */
  bool isRunning(int accelerator) const { return lanes_.at(static_cast<std::size_t>(accelerator))->running != nullptr; }
  /** The core has taken them. */
  void takeWeights(int accelerator, std::int64_t weights);
  void dropOffers();
  int addKernel(Kernel kernel);
  /** Copies with contents, on all accelerators. */
  std::size_t liveTensors();

  /** On the host: contents of a copy that is there, undefined where it is not. Waits while its buffer grows. Not locked. */
  at::Tensor read(std::int64_t tensor, int accelerator);

  Device& device(int accelerator) { return *lanes_.at(static_cast<std::size_t>(accelerator))->device; }

  /** Ends what waits, lets what runs end, and frees everything. Not locked; a second call does nothing. */
  void close();

 private:
  struct Move {
    std::int64_t transfer;
    std::int64_t tensor;
    int source;
    int destination;
    at::Tensor from;
    at::Tensor to;
  };
  /** One accelerator: its device and its threads. */
  struct Lane {
    std::shared_ptr<Device> device;
    std::condition_variable wake;
    std::condition_variable wakeCopy;
    /** What was started and is not taken up yet; several only after a loss. */
    std::deque<std::shared_ptr<EngineOperator>> started;
    std::deque<std::int64_t> probes;
    std::deque<Move> moves;
    std::unordered_map<std::int64_t, std::shared_ptr<const WeightSet>> weights;
    std::unordered_map<std::int64_t, WeightsOffer> offers;
    /** Weights that the core has taken and that are not loaded: before the first operator that reads them. */
    std::unordered_map<std::int64_t, WeightsOffer> unloaded;
    /** Transfers whose receive buffers the account has room for and the device has not, while an operator takes more than it declared. */
    std::vector<std::int64_t> awaited;
    /** Tells the program that runs to end, for nobody waits for it. */
    std::atomic<bool> stop{false};
    /** Why its worker cannot use the device: its operators fail with it. */
    std::optional<Fault> unusable;
    /** What its threads are doing. */
    std::shared_ptr<EngineOperator> running;
    bool isMoving = false;
    int movesFrom = -1;
    /** Accelerators that were lost while the move was under way. */
    std::vector<int> moveLostWith;
    bool isProbing = false;
    bool isProbeLost = false;
    /** Operators, moves and probes under way that were lost with it. */
    int orphans = 0;
    std::thread worker;
    std::thread copier;
  };
  struct Outcome;

  using Lock = std::unique_lock<std::mutex>;
  void startThreads();
  /** Ends the threads that were started. */
  void join();
  void work(int accelerator);
  void copyInto(int accelerator);
  void report();
  void run(Lane& lane, const std::shared_ptr<EngineOperator>& entry, Lock& lock);
  void finish(EngineOperator& entry, Outcome outcome);
  void loadTaken(Lane& lane, const std::vector<std::int64_t>& names, const EngineOperator& entry, Lock& lock);
  std::vector<at::Tensor> inputsOf(const EngineOperator& entry);
  void growAliases(Lane& lane, const EngineOperator& entry, Lock& lock);
  /** A larger buffer under every tensor that lives in it; gives the lock back while data are copied. */
  void grow(Lane& lane, const at::Tensor& tensor, std::int64_t bytes, Lock& lock);
  at::Tensor value(std::int64_t tensor, int accelerator);
  void sent(const void* storage);
  /** Memory for a receive buffer; or why there is none. */
  std::optional<Fault> takeBuffer(const EngineTransfer& taken);
  /** The operator that others waited for has ended, and the next one has not begun. */
  void takeAwaited(Lane& lane);
  /** The first that has its buffer, or has to do without one. */
  std::deque<Move>::iterator nextMove(Lane& lane);
  void move(Lane& lane, Move job, Lock& lock);
  void finishMove(std::int64_t transfer, const Fault* fault, double observedNs);
  void answer(Lane& lane, int accelerator, std::int64_t probe, Lock& lock);
  void begin(const std::shared_ptr<EngineOperator>& entry, double nowNs);
  void orphanEnded(int accelerator);
  /** Nothing of what was under way on a lost accelerator is left there. */
  void emptied(int accelerator);
  void write(LogEntry entry);
  double keepFault(Fault fault);
  /** What is being handled ends a thread of an accelerator: a bug, after which nothing here can be relied on. For `catch (...)` only. */
  void breakDown(Lock& lock);
  /** Whether JavaScript has to hear of what an accelerator did. */
  bool isToBeTold(int accelerator);
  /** Wakes it, once until it has drained the log; gives the lock back for that. */
  void ring(Lock& lock);

  std::mutex mutex_;
  const EngineOptions options_;
  EngineState state_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Kernel> kernels_;
  std::unordered_map<std::int64_t, std::shared_ptr<const Feeds>> feeds_;
  std::unordered_set<std::int64_t> failing_;
  std::unordered_set<std::int64_t> failingTransfers_;
  std::unordered_set<std::int64_t> held_;
  std::condition_variable letGo_;
  /** Storages that are being sent or read; they do not grow until that is done. */
  std::unordered_map<const void*, int> sending_;
  /** Storages that grow; they are not sent or read until that is done. */
  std::unordered_set<const void*> growing_;
  /** One of either is done. */
  std::condition_variable sent_;
  std::deque<LogEntry> log_;
  std::unordered_map<std::int64_t, Fault> faults_;
  std::int64_t nextFault_ = 0;
  std::vector<FetchedBy> fetched_;
  double oldestNs_ = 0;
  /** Operators and transfers under way, orphans and probes. */
  int under_ = 0;
  bool rung_ = false;
  bool closing_ = false;
  std::optional<Fault> broken_;
  std::condition_variable busy_;
  std::thread reporter_;
};

}  // namespace slice
