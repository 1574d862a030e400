#include <chrono>
#include <thread>

#include "../engine.h"
#include "../fault.h"
#include "check.h"

using namespace slice;
using namespace slice::test;

namespace {

constexpr std::int64_t CAPACITY_BYTES = 1 << 20;

/** An engine with as many accelerators, which runs ahead, and what its log has told so far. */
class Bench {
 public:
  explicit Bench(int accelerators) {
    std::vector<EngineAccelerator> all;
    for (int index = 0; index < accelerators; index++) {
      devices_.push_back(accelerator("lane " + std::to_string(index), CAPACITY_BYTES));
      all.push_back({devices_.back(), CAPACITY_BYTES, 0, static_cast<std::int64_t>(countedBytes(*devices_.back(), 1)), true});
    }
    EngineOptions options;
    options.epochNs = monotonicNs();
    options.ring = [] {};
    engine = std::make_unique<Engine>(std::move(all), std::move(options));
  }

  ~Bench() { engine->close(); }

  /** Under the lock: instructions, and then what can start does. */
  template <typename Body>
  void say(const Body& body) {
    engine->lock();
    try {
      body();
      engine->startIdle(engine->nowNs());
    } catch (...) {
      engine->unlock();
      throw;
    }
    engine->unlock();
  }

  /** Waits for the word of an operator or a transfer, in the order in which they come. */
  LogEntry waitFor(LogEntry::Kind kind, std::int64_t number) {
    for (int round = 0; round < 60'000; round++) {
      engine->lock();
      LogEntry entries[16];
      const std::size_t count = engine->drain(entries, 16);
      engine->unlock();
      heard_.insert(heard_.end(), entries, entries + count);
      for (const LogEntry& entry : heard_) {
        if (entry.kind == kind && static_cast<std::int64_t>(entry.number) == number) return entry;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    throw std::runtime_error("nothing was heard of " + std::to_string(number));
  }

  Fault faultOf(const LogEntry& failed) {
    engine->lock();
    Fault fault = engine->takeFault(static_cast<std::int64_t>(failed.b));
    engine->unlock();
    return fault;
  }

  void issue(std::int64_t number, int accelerator, int kernel, std::vector<IssuedInput> inputs, std::vector<IssuedOutput> outputs) {
    auto issued = std::make_shared<EngineOperator>();
    issued->issueNumber = number;
    issued->accelerator = accelerator;
    issued->kernel = kernel;
    issued->instance = 1;
    issued->rank = 0;
    issued->activated = true;
    issued->workspaceBytes = 0;
    for (int at = 0; at < static_cast<int>(inputs.size()); at++) issued->declared.push_back({at, 0, {}});
    issued->inputs = std::move(inputs);
    issued->outputs = std::move(outputs);
    engine->state().issue(std::move(issued), engine->nowNs());
  }

  std::uint64_t usedBytes(int index) const { return devices_.at(static_cast<std::size_t>(index))->memory().usedBytes(); }

  std::uint64_t counted(int index, std::uint64_t bytes) const { return countedBytes(*devices_.at(static_cast<std::size_t>(index)), bytes); }

  std::unique_ptr<Engine> engine;

 private:
  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<LogEntry> heard_;
};

const std::string FOUR = R"({"name":"y","value":{"value":"y"},"dtype":"float32","shape":[4]})";

std::shared_ptr<const Program> ones() {
  return program(R"({"op":"aten::ones","args":[[4]],"results":["y"]})", FOUR, 0);
}

/** Doubles its input, and hands the result out. */
std::shared_ptr<const Program> doubled() {
  return program(R"({"op":"aten::mul.Scalar","args":[{"input":0},2],"results":["y"]},{"fetch":"seen","args":[{"value":"y"}]})", FOUR, 1);
}

}  // namespace

TEST("engine: dependencies are resolved between two turns of its caller, and memory goes when nobody needs it") {
  Bench bench(1);
  Engine& engine = *bench.engine;
  const int make = engine.addKernel({ones(), {}});
  const int twice = engine.addKernel({doubled(), {}});
  bench.say([&] {
    bench.issue(1, 0, make, {}, {{10, 16, -1}});
    bench.issue(2, 0, twice, {{10, -1, 0}}, {{11, 16, -1}});
    bench.issue(3, 0, twice, {{11, -1, 0}}, {{12, 16, -1}});
    for (const std::int64_t tensor : {10, 11}) engine.state().release(tensor, 0);
  });
  bench.waitFor(LogEntry::done, 3);
  bench.say([&] {
    const auto fetched = engine.takeFetched();
    EXPECT_SAME(fetched.size(), 2u);
    const auto host = makeDevice("cpu", "host", MemoryPool::NO_CAP);
    EXPECT_SAME(numbersOf(fetched[1].fetched.tensor, *host), (std::vector<float>{4, 4, 4, 4}));
    EXPECT_SAME(engine.liveTensors(), 1u);
    EXPECT_SAME(bench.usedBytes(0), bench.counted(0, 16));
    engine.state().release(12, 0);
    EXPECT_SAME(engine.liveTensors(), 0u);
    EXPECT_SAME(bench.usedBytes(0), 0u);
  });
}

TEST("engine: a tensor moves into the buffer that was taken for it, and its consumer starts by itself") {
  Bench bench(2);
  Engine& engine = *bench.engine;
  const int make = engine.addKernel({ones(), {}});
  const int twice = engine.addKernel({doubled(), {}});
  bench.say([&] {
    bench.issue(1, 0, make, {}, {{10, 16, -1}});
    bench.issue(2, 1, twice, {{10, 7, 0}}, {{11, 16, -1}});
  });
  bench.waitFor(LogEntry::done, 1);
  bench.say([&] {
    engine.receive(7, 16);
    EXPECT_SAME(bench.usedBytes(1), bench.counted(1, 16));
    engine.send(7);
  });
  bench.waitFor(LogEntry::moved, 7);
  bench.waitFor(LogEntry::done, 2);
  bench.say([&] {
    const auto fetched = engine.takeFetched();
    const auto host = makeDevice("cpu", "host", MemoryPool::NO_CAP);
    EXPECT_SAME(numbersOf(fetched.at(0).fetched.tensor, *host), (std::vector<float>{2, 2, 2, 2}));
    engine.state().release(10, 0);
    engine.state().release(10, 1);
    engine.state().release(11, 1);
    EXPECT_SAME(engine.liveTensors(), 0u);
  });
  EXPECT_SAME(bench.usedBytes(0) + bench.usedBytes(1), 0u);
}

TEST("engine: an operator that throws, and one that goes over the cap, fail alone") {
  Bench bench(1);
  Engine& engine = *bench.engine;
  const int make = engine.addKernel({ones(), {}});
  const int wrong = engine.addKernel({program(R"({"op":"aten::mm","args":[{"input":0},{"input":0}],"results":["y"]})", FOUR, 1), {}});
  const int large = engine.addKernel(
      {program(R"({"op":"aten::zeros","args":[[1000000]],"results":["z"]},{"op":"aten::slice.Tensor","args":[{"value":"z"},0,0,4],"results":["y"]})", FOUR, 0), {}});
  bench.say([&] {
    bench.issue(1, 0, make, {}, {{10, 16, -1}});
    bench.issue(2, 0, wrong, {{10, -1, 0}}, {{11, 16, -1}});
    bench.issue(3, 0, large, {}, {{12, 16, -1}});
    bench.issue(4, 0, make, {}, {{13, 16, -1}});
    for (const std::int64_t tensor : {10, 11, 12}) engine.state().release(tensor, 0);
  });
  bench.waitFor(LogEntry::done, 4);
  EXPECT_SAME(bench.faultOf(bench.waitFor(LogEntry::failed, 2)).code, code::OPERATOR_FAILED);
  EXPECT_SAME(bench.faultOf(bench.waitFor(LogEntry::failed, 3)).code, code::OUT_OF_MEMORY);
  EXPECT_SAME(bench.usedBytes(0), bench.counted(0, 16));
}

TEST("engine: closing it with work in flight frees everything") {
  Bench bench(2);
  Engine& engine = *bench.engine;
  const int make = engine.addKernel({ones(), {}});
  const int twice = engine.addKernel({doubled(), {}});
  bench.say([&] {
    std::int64_t issue = 1;
    for (; issue < 200; issue++) {
      const int at = static_cast<int>(issue % 2);
      bench.issue(issue, at, issue < 3 ? make : twice, issue < 3 ? std::vector<IssuedInput>{} : std::vector<IssuedInput>{{issue - 2, -1, at}}, {{issue, 16, -1}});
    }
  });
  engine.close();
  EXPECT_SAME(bench.usedBytes(0) + bench.usedBytes(1), 0u);
}
