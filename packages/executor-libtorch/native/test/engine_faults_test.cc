#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <mutex>
#include <thread>

#include "../engine.h"
#include "../fault.h"
#include "check.h"

using namespace slice;
using namespace slice::test;

namespace {

constexpr std::int64_t CAPACITY_BYTES = 1 << 20;

/** An accelerator on the CPU that does what its case wants when its threads enter it, or wait for it. */
class OddDevice final : public Device {
 public:
  OddDevice(std::function<void()> onEnter, std::function<void()> onWait)
      : Device(at::Device(at::kCPU), std::make_shared<MemoryPool>("odd", CAPACITY_BYTES)),
        inner_(makeDevice("cpu", "inner", CAPACITY_BYTES)),
        onEnter_(std::move(onEnter)),
        onWait_(std::move(onWait)) {}

  std::unique_ptr<DeviceScope> enter() override {
    onEnter_();
    return inner_->enter();
  }
  void wait() override { onWait_(); }

 private:
  const std::shared_ptr<Device> inner_;
  const std::function<void()> onEnter_;
  const std::function<void()> onWait_;
};

std::unique_ptr<Engine> engineOf(const std::vector<std::shared_ptr<Device>>& devices, std::function<void()> ring = [] {}) {
  std::vector<EngineAccelerator> all;
  for (const auto& device : devices) all.push_back({device, CAPACITY_BYTES, 0, 1, true});
  EngineOptions options;
  options.epochNs = monotonicNs();
  options.ring = std::move(ring);
  return std::make_unique<Engine>(std::move(all), std::move(options));
}

template <typename Condition>
void waitUntil(const Condition& condition) {
  for (int round = 0; round < 60'000; round++) {
    if (condition()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw std::runtime_error("it did not come");
}

std::vector<LogEntry> drained(Engine& engine) {
  LogEntry entries[16];
  const std::lock_guard<Engine> lock(engine);
  const std::size_t count = engine.drain(entries, 16);
  return {entries, entries + count};
}

void nothing() {}

/** Of this process. */
std::size_t addressBytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

TEST("engine: where the system starts no more threads it is not made, and those that were started end") {
  pthread_attr_t usual;
  pthread_getattr_default_np(&usual);
  pthread_attr_t large;
  pthread_attr_init(&large);
  pthread_attr_setstacksize(&large, std::size_t{64} << 20);
  pthread_setattr_default_np(&large);
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit small = before;
  // Room for a few of the 129.
  small.rlim_cur = addressBytes() + (std::size_t{512} << 20);
  std::vector<std::shared_ptr<Device>> devices;
  for (int at = 0; at < 64; at++) devices.push_back(std::make_shared<OddDevice>(nothing, nothing));
  setrlimit(RLIMIT_AS, &small);
  std::string found;
  try {
    engineOf(devices);
  } catch (const Fault& fault) {
    found = fault.code;
  }
  setrlimit(RLIMIT_AS, &before);
  pthread_setattr_default_np(&usual);
  EXPECT_SAME(found, std::string(code::DEVICE_UNAVAILABLE));
  engineOf({std::make_shared<OddDevice>(nothing, nothing)})->close();
}

TEST("engine: operators of a device that its thread cannot use fail, and it is not healthy") {
  const std::thread::id own = std::this_thread::get_id();
  const auto refuse = [&] {
    if (std::this_thread::get_id() != own) throw Fault(code::DEVICE_UNAVAILABLE, "it is broken");
  };
  const std::unique_ptr<Engine> engine = engineOf({std::make_shared<OddDevice>(refuse, nothing)});
  auto issued = std::make_shared<EngineOperator>();
  issued->issueNumber = 1;
  issued->accelerator = 0;
  issued->kernel = engine->addKernel({program(R"({"op":"aten::ones","args":[[4]],"results":["y"]})", "", 0), {}});
  issued->instance = 1;
  issued->rank = 0;
  issued->activated = true;
  issued->workspaceBytes = 0;
  {
    const std::lock_guard<Engine> lock(*engine);
    engine->state().issue(issued, engine->nowNs());
    engine->startIdle(engine->nowNs());
    engine->probe(0, 5);
  }
  std::vector<LogEntry> heard;
  waitUntil([&] {
    for (const LogEntry& entry : drained(*engine)) heard.push_back(entry);
    return heard.size() >= 3;
  });
  bool hasFailed = false;
  bool isHealthy = true;
  for (const LogEntry& entry : heard) {
    if (entry.kind == LogEntry::failed) {
      hasFailed = true;
      const std::lock_guard<Engine> lock(*engine);
      EXPECT_SAME(engine->takeFault(static_cast<std::int64_t>(entry.b)).code, std::string(code::DEVICE_UNAVAILABLE));
    }
    if (entry.kind == LogEntry::probed) isHealthy = entry.b == 1;
  }
  EXPECT(hasFailed);
  EXPECT(!isHealthy);
  engine->close();
}

TEST("engine: a probe that an accelerator is lost with is answered by nobody, and the accelerator is empty when it has ended") {
  std::mutex mutex;
  std::condition_variable changed;
  bool isProbing = false;
  bool isLetGo = false;
  const auto wait = [&] {
    std::unique_lock<std::mutex> lock(mutex);
    isProbing = true;
    changed.notify_all();
    changed.wait(lock, [&] { return isLetGo; });
  };
  std::atomic<int> rings{0};
  const std::unique_ptr<Engine> engine = engineOf({std::make_shared<OddDevice>(nothing, wait)}, [&] { rings++; });
  {
    const std::lock_guard<Engine> lock(*engine);
    engine->probe(0, 5);
  }
  {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return isProbing; });
  }
  {
    const std::lock_guard<Engine> lock(*engine);
    engine->lose(0);
    EXPECT(engine->inFlight());
    EXPECT_SAME(engine->logged(), 0u);
  }
  const int ringsBefore = rings;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    isLetGo = true;
    changed.notify_all();
  }
  waitUntil([&] { return rings > ringsBefore; });
  const std::vector<LogEntry> heard = drained(*engine);
  EXPECT_SAME(heard.size(), 1u);
  EXPECT_SAME(static_cast<int>(heard.at(0).kind), static_cast<int>(LogEntry::emptied));
  {
    const std::lock_guard<Engine> lock(*engine);
    EXPECT(!engine->inFlight());
  }
  engine->close();
}

TEST("engine: a buffer does not grow while it is read") {
  std::function<void()> onRead = nothing;
  const std::thread::id own = std::this_thread::get_id();
  const auto enter = [&] {
    if (std::this_thread::get_id() == own) onRead();
  };
  const std::unique_ptr<Engine> engine = engineOf({std::make_shared<OddDevice>(enter, nothing)});
  const auto run = [&](std::int64_t number, const std::string& call, int length, std::vector<IssuedInput> inputs, std::int64_t aliases) {
    const std::string output = R"({"name":"y","value":{"value":"y"},"dtype":"float32","shape":[)" + std::to_string(length) + "]" +
                               (aliases < 0 ? "" : R"(,"aliases":0)") + "}";
    auto issued = std::make_shared<EngineOperator>();
    issued->issueNumber = number;
    issued->accelerator = 0;
    issued->kernel = engine->addKernel({program(call, output, static_cast<int>(inputs.size())), {}});
    issued->instance = 1;
    issued->rank = 0;
    issued->activated = true;
    issued->workspaceBytes = 0;
    if (!inputs.empty()) issued->declared.push_back({0, 0, {}});
    issued->inputs = std::move(inputs);
    issued->outputs = {{number, length * 4, aliases}};
    const std::lock_guard<Engine> lock(*engine);
    engine->state().issue(issued, engine->nowNs());
    engine->startIdle(engine->nowNs());
  };
  int ended = 0;
  const auto hear = [&] {
    for (const LogEntry& entry : drained(*engine)) {
      if (entry.kind == LogEntry::failed || entry.kind == LogEntry::done) ended++;
      EXPECT(entry.kind != LogEntry::failed);
    }
    return ended;
  };
  run(1, R"({"op":"aten::ones","args":[[4]],"results":["y"]})", 4, {}, -1);
  waitUntil([&] { return hear() == 1; });
  onRead = [&] {
    run(2, R"({"op":"aten::as_strided","args":[{"input":0},[8],[1]],"results":["y"]})", 8, {{1, -1, 0}}, 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_SAME(hear(), 1);
  };
  const at::Tensor found = engine->read(1, 0);
  onRead = nothing;
  const auto host = makeDevice("cpu", "host", MemoryPool::NO_CAP);
  EXPECT_SAME(numbersOf(found, *host), (std::vector<float>{1, 1, 1, 1}));
  waitUntil([&] { return hear() == 2; });
  EXPECT_SAME(engine->read(2, 0).numel(), 8);
  engine->close();
}

TEST("engine: what breaks one of its threads is told, in words, and the engine still closes") {
  std::atomic<int> rings{0};
  const std::unique_ptr<Engine> engine = engineOf({std::make_shared<OddDevice>(nothing, nothing)}, [&] { rings++; });
  auto issued = std::make_shared<EngineOperator>();
  issued->issueNumber = 1;
  issued->accelerator = 0;
  issued->kernel = engine->addKernel({program(R"({"op":"aten::ones","args":[[4]],"results":["y"]})", R"({"name":"y","value":{"value":"y"},"dtype":"float32","shape":[4]})", 0), {}});
  issued->instance = 1;
  issued->rank = 0;
  issued->activated = true;
  issued->workspaceBytes = 0;
  issued->outputs = {{7, 16, -1}};
  {
    const std::lock_guard<Engine> lock(*engine);
    engine->checkWhole();
    engine->state().issue(issued, engine->nowNs());
    engine->startIdle(engine->nowNs());
    // As no instruction does.
    engine->state().queue(0).ledger.abandon(7);
  }
  waitUntil([&] {
    const std::lock_guard<Engine> lock(*engine);
    try {
      engine->checkWhole();
      return false;
    } catch (const Fault& fault) {
      EXPECT_SAME(fault.code, std::string("INVARIANT_BROKEN"));
      EXPECT(std::string(fault.what()).find("no copy of tensor 7") != std::string::npos);
      return true;
    }
  });
  waitUntil([&] { return rings > 0; });
  engine->close();
}
