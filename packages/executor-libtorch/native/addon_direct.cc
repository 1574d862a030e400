#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "addon_engine.h"
#include "addon_runtime.h"
#include "direct.h"
#include "dtype.h"
#include "fault.h"

namespace slice {
namespace {

constexpr double WHOLE_MAX = 9007199254740991.0;

/** Numbers as they are given. A whole one that is no size becomes one that no list is as long as. */
template <typename Number>
std::vector<Number> numbersOf(const Napi::Value& value) {
  const auto list = value.As<Napi::Array>();
  std::vector<Number> numbers;
  for (std::uint32_t at = 0; at < list.Length(); at++) {
    const double number = list.Get(at).As<Napi::Number>().DoubleValue();
    const bool isOfKind = std::is_floating_point_v<Number> || (number >= 0 && number < WHOLE_MAX && std::trunc(number) == number);
    numbers.push_back(isOfKind ? static_cast<Number>(number) : std::numeric_limits<Number>::max());
  }
  return numbers;
}

/** What is no slot becomes one that is never there. */
int slotOf(double number) {
  return number >= 0 && number < static_cast<double>(DIRECT_SLOTS_MAX) && std::trunc(number) == number ? static_cast<int>(number) : std::numeric_limits<int>::max();
}

DeclaredInput inputOf(const Napi::Value& value) {
  if (value.IsNumber()) return {slotOf(value.As<Napi::Number>().DoubleValue()), 0, {}};
  const auto empty = value.As<Napi::Object>();
  const int dtype = static_cast<int>(dtypeOf(empty.Get("dtype").As<Napi::String>().Utf8Value()));
  return {-1, dtype, numbersOf<std::int64_t>(empty.Get("shape"))};
}

DirectStep stepOf(const Napi::Object& spec) {
  DirectStep step;
  step.program = programOf(spec.Get("program"));
  const auto inputs = spec.Get("inputs").As<Napi::Array>();
  for (std::uint32_t at = 0; at < inputs.Length(); at++) step.inputs.push_back(inputOf(inputs.Get(at)));
  step.outputs = numbersOf<std::size_t>(spec.Get("outputs"));
  step.symbols = numbersOf<double>(spec.Get("symbols"));
  step.weights = numbersOf<std::size_t>(spec.Get("weights"));
  step.drop = numbersOf<std::size_t>(spec.Get("drop"));
  step.feeds = feedsOf(spec.Get("feeds"));
  return step;
}

Napi::Array arrayOf(Napi::Env env, const std::vector<double>& numbers) {
  auto array = Napi::Array::New(env, numbers.size());
  for (std::size_t at = 0; at < numbers.size(); at++) array.Set(static_cast<std::uint32_t>(at), numbers[at]);
  return array;
}

/** A loop, and whether its runs are to end. */
struct OpenLoop {
  DirectLoop loop;
  std::atomic<bool> stop{false};
};

/** A run of a loop on a thread of its own, which ends between two calls when the loop is closed, or the process or the worker ends. Deletes itself. */
class DirectRun {
 public:
  ~DirectRun() {
    const std::lock_guard<std::mutex> lock(allMutex());
    all().erase(this);
  }

  static Napi::Promise start(Napi::Env env, std::shared_ptr<OpenLoop> open, int repeat) {
    auto run = std::unique_ptr<DirectRun>(new DirectRun(env, std::move(open), repeat));
    const Napi::Promise promise = run->deferred_.Promise();
    run.release()->begin();
    return promise;
  }

  /** When the process exits: nothing of LibTorch may go while a step runs. */
  static void stopAll() {
    const std::lock_guard<std::mutex> lock(allMutex());
    for (DirectRun* run : all()) run->silence();
    for (DirectRun* run : all()) {
      if (run->thread_.joinable()) run->thread_.join();
    }
  }

 private:
  DirectRun(Napi::Env env, std::shared_ptr<OpenLoop> open, int repeat)
      : env_(env),
        deferred_(Napi::Promise::Deferred::New(env)),
        done_(Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "slicescheduler direct", 0, 1)),
        open_(std::move(open)),
        repeat_(repeat) {}

  static std::mutex& allMutex() {
    static auto* mutex = new std::mutex();
    return *mutex;
  }
  static std::set<DirectRun*>& all() {
    static auto* runs = new std::set<DirectRun*>();
    return *runs;
  }

  void begin() {
    try {
      napi_add_env_cleanup_hook(env_, &DirectRun::cleanUp, this);
      const std::lock_guard<std::mutex> lock(allMutex());
      all().insert(this);
      thread_ = std::thread([this] { work(); });
    } catch (...) {
      // No thread was to be had.
      fault_.emplace(currentFault());
      settle(env_);
    }
  }

  void work() {
    try {
      result_ = open_->loop.run(repeat_, open_->stop);
    } catch (...) {
      fault_.emplace(currentFault());
    }
    if (!isSilent_) done_.BlockingCall(this, [](Napi::Env env, Napi::Function, DirectRun* run) { run->settle(env); });
  }

  /** Nobody is told any more. */
  void silence() {
    isSilent_ = true;
    open_->stop = true;
  }

  /** The environment ends first. */
  static void cleanUp(void* self) {
    const std::unique_ptr<DirectRun> run(static_cast<DirectRun*>(self));
    run->silence();
    if (run->thread_.joinable()) run->thread_.join();
    run->done_.Abort();
  }

  void settle(Napi::Env env) {
    const std::unique_ptr<DirectRun> self(this);
    if (thread_.joinable()) thread_.join();
    napi_remove_env_cleanup_hook(env, &DirectRun::cleanUp, this);
    done_.Release();
    const Napi::HandleScope scope(env);
    try {
      if (fault_ && fault_->code == code::STOPPED) throw Fault("CLOSED", "the direct loop was closed while it ran");
      if (fault_) throw Fault(*fault_);
      deferred_.Resolve(resultToJs(env));
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    } catch (...) {
      deferred_.Reject(faultToJs(env, currentFault()).Value());
    }
  }

  Napi::Object resultToJs(Napi::Env env) const {
    auto found = Napi::Object::New(env);
    found.Set("loopNs", arrayOf(env, result_.loopNs));
    found.Set("stepNs", arrayOf(env, result_.stepNs));
    found.Set("peakBytes", arrayOf(env, result_.peakBytes));
    auto fetched = Napi::Array::New(env, result_.fetched.size());
    for (std::size_t at = 0; at < result_.fetched.size(); at++) {
      Napi::Object tensor = tensorToJs(env, result_.fetched[at].tensor);
      tensor.Set("name", result_.fetched[at].name);
      fetched.Set(static_cast<std::uint32_t>(at), tensor);
    }
    found.Set("fetched", fetched);
    return found;
  }

  const Napi::Env env_;
  const Napi::Promise::Deferred deferred_;
  Napi::ThreadSafeFunction done_;
  const std::shared_ptr<OpenLoop> open_;
  const int repeat_;
  DirectResult result_;
  std::optional<Fault> fault_;
  std::atomic<bool> isSilent_{false};
  std::thread thread_;
};

/** The loop as JavaScript has it; see src/native/addon.ts. */
class DirectLoopWrap : public Napi::ObjectWrap<DirectLoopWrap> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "DirectLoop", {InstanceMethod<&DirectLoopWrap::run>("run"), InstanceMethod<&DirectLoopWrap::close>("close")});
  }

  explicit DirectLoopWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<DirectLoopWrap>(info) {
    const Napi::Env env = info.Env();
    guarded(env, [&]() -> Napi::Value {
      const auto spec = info[0].As<Napi::Object>();
      const auto capBytes = static_cast<std::uint64_t>(spec.Get("capBytes").As<Napi::Number>().DoubleValue());
      auto device = makeDevice(spec.Get("device").As<Napi::String>().Utf8Value(), "direct", capBytes);
      std::vector<std::shared_ptr<const WeightsSource>> weights;
      const auto sources = spec.Get("weights").As<Napi::Array>();
      for (std::uint32_t at = 0; at < sources.Length(); at++) weights.push_back(weightsOf(sources.Get(at)));
      std::vector<DirectStep> steps;
      const auto list = spec.Get("steps").As<Napi::Array>();
      for (std::uint32_t at = 0; at < list.Length(); at++) steps.push_back(stepOf(list.Get(at).As<Napi::Object>()));
      open_ = std::shared_ptr<OpenLoop>(new OpenLoop{DirectLoop(std::move(device), std::move(weights), std::move(steps))});
      return env.Undefined();
    });
  }

  ~DirectLoopWrap() override = default;

 private:
  /** run(repeat): Promise; one at a time. */
  Napi::Value run(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      if (!open_) throw Fault("CLOSED", "the direct loop is closed");
      return DirectRun::start(info.Env(), open_, info[0].As<Napi::Number>().Int32Value());
    });
  }

  /** A run under way ends soon, and keeps what it needs until then. */
  Napi::Value close(const Napi::CallbackInfo& info) {
    if (open_) open_->stop = true;
    open_.reset();
    return info.Env().Undefined();
  }

  std::shared_ptr<OpenLoop> open_;
};

}  // namespace

void initDirect(Napi::Env env, Napi::Object exports) {
  // Registered after LibTorch was loaded, so it comes before LibTorch's own end.
  static const bool isRegistered = std::atexit(&DirectRun::stopAll) == 0;
  (void)isRegistered;
  exports.Set("DirectLoop", DirectLoopWrap::define(env));
  exports.Set("endDirectRuns", Napi::Function::New(env, [](const Napi::CallbackInfo&) { DirectRun::stopAll(); }));
}

}  // namespace slice
