#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "addon_engine.h"
#include "addon_runtime.h"
#include "direct.h"
#include "dtype.h"
#include "fault.h"

namespace slice {
namespace {

template <typename Number>
std::vector<Number> numbersOf(const Napi::Value& value) {
  const auto list = value.As<Napi::Array>();
  std::vector<Number> numbers;
  for (std::uint32_t at = 0; at < list.Length(); at++)
    numbers.push_back(static_cast<Number>(list.Get(at).As<Napi::Number>().DoubleValue()));
  return numbers;
}

DeclaredInput inputOf(const Napi::Value& value) {
  if (value.IsNumber()) return {value.As<Napi::Number>().Int32Value(), 0, {}};
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

/** A loop on a thread of its own. */
class DirectWorker : public Napi::AsyncWorker {
 public:
  DirectWorker(Napi::Env env, const Napi::Object& spec) : Napi::AsyncWorker(env), deferred_(Napi::Promise::Deferred::New(env)) {
    const auto capBytes = static_cast<std::uint64_t>(spec.Get("capBytes").As<Napi::Number>().DoubleValue());
    device_ = makeDevice(spec.Get("device").As<Napi::String>().Utf8Value(), "direct", capBytes);
    const auto weights = spec.Get("weights").As<Napi::Array>();
    for (std::uint32_t at = 0; at < weights.Length(); at++) weights_.push_back(weightsOf(weights.Get(at)));
    const auto steps = spec.Get("steps").As<Napi::Array>();
    for (std::uint32_t at = 0; at < steps.Length(); at++) steps_.push_back(stepOf(steps.Get(at).As<Napi::Object>()));
    repeat_ = spec.Get("repeat").As<Napi::Number>().Int32Value();
  }

  Napi::Promise promise() const { return deferred_.Promise(); }

  void Execute() override {
    try {
      result_ = runDirect(*device_, weights_, steps_, repeat_);
    } catch (...) {
      fault_.emplace(currentFault());
    }
  }

  void OnOK() override {
    const Napi::Env env = Env();
    if (fault_) {
      Napi::Error error = Napi::Error::New(env, fault_->what());
      error.Set("code", fault_->code);
      deferred_.Reject(error.Value());
      return;
    }
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
    deferred_.Resolve(found);
  }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<Device> device_;
  std::vector<std::shared_ptr<const WeightsSource>> weights_;
  std::vector<DirectStep> steps_;
  int repeat_ = 1;
  DirectResult result_;
  std::optional<Fault> fault_;
};

Napi::Value direct(const Napi::CallbackInfo& info) {
  return guarded(info.Env(), [&]() -> Napi::Value {
    auto worker = std::make_unique<DirectWorker>(info.Env(), info[0].As<Napi::Object>());
    const Napi::Promise promise = worker->promise();
    worker->Queue();
    worker.release();  // It deletes itself.
    return promise;
  });
}

}  // namespace

void initDirect(Napi::Env env, Napi::Object exports) { exports.Set("runDirect", Napi::Function::New(env, direct)); }

}  // namespace slice
