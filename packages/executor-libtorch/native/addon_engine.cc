#include "addon_engine.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "addon_runtime.h"
#include "device_cuda.h"
#include "engine.h"
#include "engine_batch.h"
#include "memory.h"

namespace slice {
namespace {

/** Where the time of this process's addon begins, so that numbers stay exact. */
const std::int64_t processEpochNs = monotonicNs();

std::int64_t wholeOf(const Napi::Value& value) { return value.As<Napi::Number>().Int64Value(); }
int indexOf(const Napi::Value& value) { return value.As<Napi::Number>().Int32Value(); }

EngineAccelerator acceleratorOf(const Napi::Object& spec) {
  const std::int64_t capacityBytes = wholeOf(spec.Get("capacityBytes"));
  const std::int64_t baselineBytes = wholeOf(spec.Get("baselineBytes"));
  const std::string target = spec.Get("device").As<Napi::String>().Utf8Value();
  const std::string name = spec.Get("name").As<Napi::String>().Utf8Value();
  auto device = makeDevice(target, name, static_cast<std::uint64_t>(capacityBytes - baselineBytes));
  return {std::move(device), capacityBytes, baselineBytes, wholeOf(spec.Get("granularityBytes")), spec.Get("present").ToBoolean().Value()};
}

void checkWeights(std::uint64_t bytes, std::uint64_t declaredBytes) {
  if (bytes <= declaredBytes) return;
  throw Fault(code::WEIGHTS_INVALID, "they take " + std::to_string(bytes) + " bytes, and the template declares " + std::to_string(declaredBytes) +
                                         "; declare what they take");
}

constexpr std::size_t LOG_STRIDE = 8;

/** The engine as JavaScript has it. All of it is called from the thread of its environment. */
class EngineWrap : public Napi::ObjectWrap<EngineWrap> {
 public:
  static Napi::Function define(Napi::Env env) {
    return DefineClass(env, "Engine",
                       {
                           InstanceMethod<&EngineWrap::drain>("drain"),
                           InstanceMethod<&EngineWrap::lock>("lock"),
                           InstanceMethod<&EngineWrap::unlock>("unlock"),
                           InstanceMethod<&EngineWrap::commit>("commit"),
                           InstanceMethod<&EngineWrap::takeFault>("takeFault"),
                           InstanceMethod<&EngineWrap::takeFetched>("takeFetched"),
                           InstanceMethod<&EngineWrap::addKernel>("addKernel"),
                           InstanceMethod<&EngineWrap::loadWeights>("loadWeights"),
                           InstanceMethod<&EngineWrap::feed>("feed"),
                           InstanceMethod<&EngineWrap::unfeed>("unfeed"),
                           InstanceMethod<&EngineWrap::read>("read"),
                           InstanceMethod<&EngineWrap::rehearse>("rehearse"),
                           InstanceMethod<&EngineWrap::usedBytes>("usedBytes"),
                           InstanceMethod<&EngineWrap::memory>("memory"),
                           InstanceMethod<&EngineWrap::liveTensors>("liveTensors"),
                           InstanceMethod<&EngineWrap::close>("close"),
                       });
  }

  explicit EngineWrap(const Napi::CallbackInfo& info) : Napi::ObjectWrap<EngineWrap>(info) {
    const Napi::Env env = info.Env();
    guarded(env, [&]() -> Napi::Value {
      const auto spec = info[0].As<Napi::Object>();
      std::vector<EngineAccelerator> accelerators;
      const auto list = spec.Get("accelerators").As<Napi::Array>();
      for (std::uint32_t at = 0; at < list.Length(); at++) accelerators.push_back(acceleratorOf(list.Get(at).As<Napi::Object>()));
      EngineOptions options;
      options.lookahead = static_cast<int>(std::min<std::int64_t>(wholeOf(spec.Get("lookahead")), std::numeric_limits<int>::max()));
      options.reportNs = wholeOf(spec.Get("reportNs"));
      options.epochNs = processEpochNs + wholeOf(spec.Get("epochNs"));
      doorbell_ = Napi::ThreadSafeFunction::New(env, info[1].As<Napi::Function>(), "slicescheduler", 0, 1);
      doorbell_.Unref(env);
      options.ring = [bell = doorbell_] { bell.NonBlockingCall(); };
      try {
        engine_ = std::make_unique<Engine>(std::move(accelerators), std::move(options));
      } catch (...) {
        doorbell_.Abort();
        throw;
      }
      napi_add_env_cleanup_hook(env, &EngineWrap::cleanUp, this);
      return env.Undefined();
    });
  }

  ~EngineWrap() override { shut(); }

 private:
  static void cleanUp(void* self) {
    auto* wrap = static_cast<EngineWrap*>(self);
    wrap->isHooked_ = false;
    wrap->shut();
  }

  /** Also when the process or the worker ends with work under way: what runs ends, and nothing calls JavaScript any more. */
  void shut() {
    if (!engine_) return;
    if (isLocked_) {
      isLocked_ = false;
      engine_->unlock();
    }
    engine_->close();
    doorbell_.Abort();
    if (isHooked_) napi_remove_env_cleanup_hook(Env(), &EngineWrap::cleanUp, this);
    isHooked_ = false;
    engine_.reset();
  }

  Engine& engine() {
    if (!engine_) throw Fault("CLOSED", "the native engine is closed");
    return *engine_;
  }

  template <typename Body>
  auto locked(Body body) {
    const auto hearing = cudaHearing();
    const std::unique_lock<Engine> lock = isLocked_ ? std::unique_lock<Engine>() : std::unique_lock<Engine>(engine());
    return body(engine());
  }

  /** drain(into: Float64Array): number of entries, of 8 numbers each. */
  Napi::Value drain(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      auto into = info[0].As<Napi::Float64Array>();
      static_assert(sizeof(LogEntry) == LOG_STRIDE * sizeof(double), "the log is read as doubles");
      auto* entries = static_cast<LogEntry*>(static_cast<void*>(into.Data()));
      const std::size_t most = into.ElementLength() / LOG_STRIDE;
      const std::size_t count = locked([&](Engine& it) { return it.drain(entries, most); });
      return Napi::Number::New(info.Env(), static_cast<double>(count));
    });
  }

  /** lock(): entries in the log. */
  Napi::Value lock(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      if (isLocked_) throw Fault("INVARIANT_BROKEN", "the native engine is locked already; a bug of this package");
      engine().lock();
      isLocked_ = true;
      try {
        engine().checkWhole();
      } catch (...) {
        giveBack(info.Env());
        throw;
      }
      return Napi::Number::New(info.Env(), static_cast<double>(engine().logged()));
    });
  }

  Napi::Value unlock(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      if (isLocked_) giveBack(info.Env());
      return info.Env().Undefined();
    });
  }

  /** The process lives as long as something is under way. */
  void giveBack(Napi::Env env) {
    const bool isBusy = engine().inFlight();
    isLocked_ = false;
    engine().unlock();
    if (isBusy && !isBusy_) doorbell_.Ref(env);
    if (!isBusy && isBusy_) doorbell_.Unref(env);
    isBusy_ = isBusy;
  }

  /** commit(batch: Float64Array, length, nowNs): entries in the log; locked before, and not after. */
  Napi::Value commit(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      const auto hearing = cudaHearing();
      auto batch = info[0].As<Napi::Float64Array>();
      const double nowNs = info[2].As<Napi::Number>().DoubleValue();
      carryOut(engine(), batch.Data(), static_cast<std::size_t>(wholeOf(info[1])), nowNs);
      engine().startIdle(nowNs);
      const auto logged = static_cast<double>(engine().logged());
      giveBack(info.Env());
      return Napi::Number::New(info.Env(), logged);
    });
  }

  /** takeFault(number): [code, message]; locked. */
  Napi::Value takeFault(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      const Fault fault = locked([&](Engine& it) { return it.takeFault(wholeOf(info[0])); });
      const auto words = Napi::Array::New(info.Env(), 2);
      words.Set(0U, fault.code);
      words.Set(1U, fault.what());
      return words;
    });
  }

  /** takeFetched(): { issueNumber, name, dtype, shape, data }[], or undefined. */
  Napi::Value takeFetched(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      const auto fetched = locked([](Engine& it) { return it.takeFetched(); });
      if (fetched.empty()) return info.Env().Undefined();
      const auto list = Napi::Array::New(info.Env(), fetched.size());
      for (std::size_t at = 0; at < fetched.size(); at++) {
        Napi::Object tensor = tensorToJs(info.Env(), fetched[at].fetched.tensor);
        tensor.Set("issueNumber", static_cast<double>(fetched[at].issueNumber));
        tensor.Set("name", fetched[at].fetched.name);
        list.Set(static_cast<std::uint32_t>(at), tensor);
      }
      return list;
    });
  }

  /** addKernel(program, weights: number[]): number. */
  Napi::Value addKernel(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      Kernel kernel{programOf(info[0]), {}};
      const auto weights = info[1].As<Napi::Array>();
      for (std::uint32_t at = 0; at < weights.Length(); at++) kernel.weights.push_back(wholeOf(weights.Get(at)));
      const int index = locked([&](Engine& it) { return it.addKernel(std::move(kernel)); });
      return Napi::Number::New(info.Env(), index);
    });
  }

  /**
   * loadWeights(accelerator, name: number, source, declaredBytes): bytes; 0 where the account has no room for them, then the core refuses them, or the
   * device has none while an operator runs there, then they are loaded afterwards. They stay where the next batch takes them. Takes as long as reading them does; nothing else waits for it.
   */
  Napi::Value loadWeights(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      const int accelerator = indexOf(info[0]);
      const auto source = weightsOf(info[2]);
      const auto declaredBytes = static_cast<std::uint64_t>(wholeOf(info[3]));
      checkWeights(source->bytes(), declaredBytes);
      std::shared_ptr<const WeightSet> set;
      if (locked([&](Engine& it) { return it.hasRoomForWeights(accelerator, wholeOf(info[3])); })) {
        set = loaded(accelerator, *source);
        if (set) checkWeights(set->bytes(), declaredBytes);
      }
      const auto bytes = set ? static_cast<double>(set->bytes()) : 0.0;
      locked([&](Engine& it) { it.offerWeights(accelerator, wholeOf(info[1]), {std::move(set), source, declaredBytes}); });
      return Napi::Number::New(info.Env(), bytes);
    });
  }

  /** Null where an operator that runs there may be what leaves no room. */
  std::shared_ptr<const WeightSet> loaded(int accelerator, const WeightsSource& source) {
    Device& device = engine().device(accelerator);
    const auto scope = device.enter();
    try {
      return source.load(device);
    } catch (const Fault& fault) {
      if (fault.code != code::OUT_OF_MEMORY) throw;
      if (locked([&](Engine& it) { return it.isRunning(accelerator); })) return nullptr;
    }
    // It may have ended meanwhile.
    return source.load(device);
  }

  Napi::Value feed(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      Feeds feeds = feedsOf(info[1]);
      locked([&](Engine& it) { it.feed(wholeOf(info[0]), std::move(feeds)); });
      return info.Env().Undefined();
    });
  }

  Napi::Value unfeed(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      locked([&](Engine& it) { it.unfeed(wholeOf(info[0])); });
      return info.Env().Undefined();
    });
  }

  /** read(tensor, accelerator): { dtype, shape, data }, or undefined when it is not there. */
  Napi::Value read(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      if (isLocked_) throw Fault("INVARIANT_BROKEN", "a tensor is read while the native engine is locked; a bug of this package");
      const auto hearing = cudaHearing();
      const at::Tensor onHost = engine().read(wholeOf(info[0]), indexOf(info[1]));
      return onHost.defined() ? Napi::Value(tensorToJs(info.Env(), onHost)) : info.Env().Undefined();
    });
  }

  /** rehearse("fail" | "hold" | "letGo" | "failTransfer", number). */
  Napi::Value rehearse(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      const std::string what = info[0].As<Napi::String>().Utf8Value();
      const std::int64_t number = wholeOf(info[1]);
      locked([&](Engine& it) {
        if (what == "letGo") it.letGo(number);
        else if (what == "failTransfer") it.rehearseTransfer(number);
        else it.rehearse(number, what == "fail");
      });
      return info.Env().Undefined();
    });
  }

  /** usedBytes(into: Float64Array): what the account says of each accelerator. */
  Napi::Value usedBytes(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      auto into = info[0].As<Napi::Float64Array>();
      locked([&](Engine& it) {
        for (std::size_t at = 0; at < into.ElementLength(); at++)
          into[at] = static_cast<double>(it.state().queue(static_cast<int>(at)).ledger.usedBytes());
      });
      return info.Env().Undefined();
    });
  }

  /** memory(accelerator): what its device counts: { usedBytes, peakBytes, capBytes, blocks }. */
  Napi::Value memory(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      const int accelerator = indexOf(info[0]);
      const MemoryPool& pool = engine().device(accelerator).memory();
      auto found = Napi::Object::New(info.Env());
      found.Set("usedBytes", static_cast<double>(pool.usedBytes()));
      found.Set("peakBytes", static_cast<double>(pool.peakBytes()));
      found.Set("capBytes", static_cast<double>(pool.capBytes()));
      found.Set("blocks", static_cast<double>(pool.blocks()));
      return found;
    });
  }

  Napi::Value liveTensors(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      const auto live = locked([](Engine& it) { return it.liveTensors(); });
      return Napi::Number::New(info.Env(), static_cast<double>(live));
    });
  }

  Napi::Value close(const Napi::CallbackInfo& info) {
    return guarded(info.Env(), [&]() -> Napi::Value {
      shut();
      return info.Env().Undefined();
    });
  }

  std::unique_ptr<Engine> engine_;
  Napi::ThreadSafeFunction doorbell_;
  bool isLocked_ = false;
  bool isBusy_ = false;
  bool isHooked_ = true;
};

}  // namespace

void initEngine(Napi::Env env, Napi::Object exports) {
  installAllocator();
  exports.Set("Engine", EngineWrap::define(env));
  exports.Set("nowNs", Napi::Function::New(env, [](const Napi::CallbackInfo& info) -> Napi::Value {
    return Napi::Number::New(info.Env(), static_cast<double>(monotonicNs() - processEpochNs));
  }));
}

}  // namespace slice
