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

/** A loop on a thread of its own, which ends between two steps when the process or the worker does. Deletes itself. */
class DirectLoop {
 public:
  ~DirectLoop() {
    const std::lock_guard<std::mutex> lock(allMutex());
    all().erase(this);
  }

  static Napi::Promise start(Napi::Env env, const Napi::Object& spec) {
    auto loop = std::unique_ptr<DirectLoop>(new DirectLoop(env, spec));
    const Napi::Promise promise = loop->deferred_.Promise();
    loop.release()->begin();
    return promise;
  }

  /** When the process exits: nothing of LibTorch may go while a step runs. */
  static void stopAll() {
    const std::lock_guard<std::mutex> lock(allMutex());
    for (DirectLoop* loop : all()) loop->stop_ = true;
    for (DirectLoop* loop : all()) {
      if (loop->thread_.joinable()) loop->thread_.join();
    }
  }

 private:
  DirectLoop(Napi::Env env, const Napi::Object& spec) : env_(env), deferred_(Napi::Promise::Deferred::New(env)) {
    const auto capBytes = static_cast<std::uint64_t>(spec.Get("capBytes").As<Napi::Number>().DoubleValue());
    device_ = makeDevice(spec.Get("device").As<Napi::String>().Utf8Value(), "direct", capBytes);
    const auto weights = spec.Get("weights").As<Napi::Array>();
    for (std::uint32_t at = 0; at < weights.Length(); at++) weights_.push_back(weightsOf(weights.Get(at)));
    const auto steps = spec.Get("steps").As<Napi::Array>();
    for (std::uint32_t at = 0; at < steps.Length(); at++) steps_.push_back(stepOf(steps.Get(at).As<Napi::Object>()));
    repeat_ = spec.Get("repeat").As<Napi::Number>().Int32Value();
    done_ = Napi::ThreadSafeFunction::New(env, Napi::Function::New(env, [](const Napi::CallbackInfo&) {}), "slicescheduler direct", 0, 1);
  }

  static std::mutex& allMutex() {
    static auto* mutex = new std::mutex();
    return *mutex;
  }
  static std::set<DirectLoop*>& all() {
    static auto* loops = new std::set<DirectLoop*>();
    return *loops;
  }

  void begin() {
    try {
      napi_add_env_cleanup_hook(env_, &DirectLoop::cleanUp, this);
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
      result_ = runDirect(*device_, weights_, steps_, repeat_, stop_);
    } catch (...) {
      fault_.emplace(currentFault());
    }
    if (!stop_) done_.BlockingCall(this, [](Napi::Env env, Napi::Function, DirectLoop* loop) { loop->settle(env); });
  }

  /** The environment ends first: nobody is told any more. */
  static void cleanUp(void* self) {
    const std::unique_ptr<DirectLoop> loop(static_cast<DirectLoop*>(self));
    loop->stop_ = true;
    if (loop->thread_.joinable()) loop->thread_.join();
    loop->done_.Abort();
  }

  void settle(Napi::Env env) {
    const std::unique_ptr<DirectLoop> self(this);
    if (thread_.joinable()) thread_.join();
    napi_remove_env_cleanup_hook(env, &DirectLoop::cleanUp, this);
    done_.Release();
    const Napi::HandleScope scope(env);
    try {
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

  Napi::Env env_;
  Napi::Promise::Deferred deferred_;
  Napi::ThreadSafeFunction done_;
  std::shared_ptr<Device> device_;
  std::vector<std::shared_ptr<const WeightsSource>> weights_;
  std::vector<DirectStep> steps_;
  int repeat_ = 1;
  DirectResult result_;
  std::optional<Fault> fault_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

Napi::Value direct(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value { return DirectLoop::start(info.Env(), info[0].As<Napi::Object>()); });
}

}  // namespace

void initDirect(Napi::Env env, Napi::Object exports) {
  // Registered after LibTorch was loaded, so it comes before LibTorch's own end.
  static const bool isRegistered = std::atexit(&DirectLoop::stopAll) == 0;
  (void)isRegistered;
  exports.Set("runDirect", Napi::Function::New(env, direct));
}

}  // namespace slice
