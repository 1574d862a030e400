#include "addon_runtime.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/version.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "dtype.h"

namespace slice {
namespace {

// Tell what an External of this addon holds.
constexpr napi_type_tag PROGRAM_TAG = {0x53c19c1f2f7b4a01, 0x9d41f0a95d3c7e11};
constexpr napi_type_tag WEIGHTS_TAG = {0x53c19c1f2f7b4a02, 0x9d41f0a95d3c7e12};

constexpr double BYTES_MAX = 9007199254740991.0;

template <typename Held>
Napi::Value external(Napi::Env env, std::shared_ptr<Held> held, const napi_type_tag& tag) {
  auto value = Napi::External<std::shared_ptr<Held>>::New(env, new std::shared_ptr<Held>(std::move(held)),
                                                          [](Napi::Env, std::shared_ptr<Held>* owned) { delete owned; });
  value.TypeTag(&tag);
  return value;
}

template <typename Held>
std::shared_ptr<Held> held(const Napi::Value& value, const napi_type_tag& tag, const char* what) {
  if (!value.IsExternal() || !value.As<Napi::External<std::shared_ptr<Held>>>().CheckTypeTag(&tag)) {
    throw Napi::TypeError::New(value.Env(), std::string("a ") + what + " of this addon is expected");
  }
  return *value.As<Napi::External<std::shared_ptr<Held>>>().Data();
}

std::string textArgument(const Napi::CallbackInfo& info, std::size_t index) {
  if (info.Length() <= index || !info[index].IsString()) throw Napi::TypeError::New(info.Env(), "a string is expected");
  return info[index].As<Napi::String>().Utf8Value();
}

Napi::Array stringsToJs(Napi::Env env, const std::vector<std::string>& texts) {
  Napi::Array array = Napi::Array::New(env, texts.size());
  for (std::uint32_t index = 0; index < texts.size(); index++) array.Set(index, texts[index]);
  return array;
}

Napi::Value compileProgram(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    std::shared_ptr<const Program> program = Program::compile(textArgument(info, 0));
    Napi::Object result = Napi::Object::New(env);
    result.Set("weightNames", stringsToJs(env, program->weightNames()));
    result.Set("feedNames", stringsToJs(env, program->feedNames()));
    result.Set("program", external<const Program>(env, std::move(program), PROGRAM_TAG));
    return result;
  });
}

Napi::Value openWeights(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const bool allowScripts = info.Length() > 1 && info[1].ToBoolean().Value();
    std::shared_ptr<const WeightsSource> source = WeightsSource::parse(textArgument(info, 0), allowScripts);
    Napi::Object result = Napi::Object::New(env);
    result.Set("bytes", Napi::Number::New(env, static_cast<double>(source->bytes())));
    result.Set("source", external<const WeightsSource>(env, std::move(source), WEIGHTS_TAG));
    return result;
  });
}

/** A whole program on a device of its own, for tests and for trying programs out: outputs and what it fetched. */
Napi::Value runProgram(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  return guarded(env, [&]() -> Napi::Value {
    const std::shared_ptr<const Program> program = programOf(info[0]);
    const Napi::Object options = info[1].As<Napi::Object>();
    const double cap = options.Get("capBytes").IsNumber() ? options.Get("capBytes").As<Napi::Number>().DoubleValue() : BYTES_MAX;
    const std::shared_ptr<Device> device = makeDevice(options.Get("device").ToString().Utf8Value(), "trial", static_cast<std::uint64_t>(cap));
    const auto scope = device->enter();
    std::vector<std::shared_ptr<const WeightSet>> sets;
    Invocation invocation{*device, {}, {}, {}};
    const Napi::Array sources = options.Get("weights").As<Napi::Array>();
    for (std::uint32_t index = 0; index < sources.Length(); index++) {
      sets.push_back(weightsOf(sources.Get(index))->load(*device));
      invocation.weights.push_back(sets.back().get());
    }
    const Napi::Array inputs = options.Get("inputs").As<Napi::Array>();
    for (std::uint32_t index = 0; index < inputs.Length(); index++) {
      const at::Tensor host = hostTensorOf(inputs.Get(index));
      at::Tensor input = emptyLike(host, *device);
      copyFromHost(host.data_ptr(), host.nbytes(), input, *device);
      invocation.inputs.push_back(std::move(input));
    }
    const Napi::Array symbols = options.Get("symbols").As<Napi::Array>();
    for (std::uint32_t index = 0; index < symbols.Length(); index++) invocation.symbols.push_back(symbols.Get(index).ToNumber().DoubleValue());
    const Feeds feeds = feedsOf(options.Get("feeds"));
    std::vector<Fetched> fetched;
    invocation.feeds = &feeds;
    invocation.fetched = &fetched;
    const std::vector<at::Tensor> outputs = program->run(invocation);
    Napi::Array outputsToJs = Napi::Array::New(env, outputs.size());
    for (std::uint32_t index = 0; index < outputs.size(); index++) outputsToJs.Set(index, tensorToJs(env, toHost(outputs[index], *device)));
    Napi::Object fetchedToJs = Napi::Object::New(env);
    for (const Fetched& one : fetched) fetchedToJs.Set(one.name, tensorToJs(env, one.tensor));
    Napi::Object result = Napi::Object::New(env);
    result.Set("outputs", outputsToJs);
    result.Set("fetched", fetchedToJs);
    result.Set("peakBytes", Napi::Number::New(env, static_cast<double>(device->memory().peakBytes())));
    return result;
  });
}

Napi::Value versions(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  Napi::Object result = Napi::Object::New(env);
  result.Set("torch", TORCH_VERSION);
#ifdef WITH_CUDA
  result.Set("cuda", true);
#else
  result.Set("cuda", false);
#endif
  result.Set("cudaDevices", Napi::Number::New(env, cudaDeviceCount()));
  result.Set("parallel", at::get_parallel_info());
  return result;
}

}  // namespace

std::shared_ptr<const Program> programOf(const Napi::Value& value) { return held<const Program>(value, PROGRAM_TAG, "program"); }

std::shared_ptr<const WeightsSource> weightsOf(const Napi::Value& value) {
  return held<const WeightsSource>(value, WEIGHTS_TAG, "weights source");
}

at::Tensor hostTensorOf(const Napi::Value& value) {
  const auto refuse = [](const std::string& what) { throw Fault(code::PROGRAM_INVALID, "host data: " + what); };
  if (!value.IsObject()) refuse("{ dtype, shape, data } is expected");
  const Napi::Object object = value.As<Napi::Object>();
  const at::ScalarType dtype = dtypeOf(object.Get("dtype").ToString().Utf8Value());
  const Napi::Value shape = object.Get("shape");
  if (!shape.IsArray()) refuse("shape is no list");
  std::vector<std::int64_t> sizes;
  double bytes = static_cast<double>(c10::elementSize(dtype));
  for (std::uint32_t index = 0; index < shape.As<Napi::Array>().Length(); index++) {
    const double size = shape.As<Napi::Array>().Get(index).ToNumber().DoubleValue();
    if (!(size >= 0) || size > BYTES_MAX || std::trunc(size) != size) refuse("a size of its shape is no whole number");
    sizes.push_back(static_cast<std::int64_t>(size));
    bytes *= size;
  }
  const Napi::Value data = object.Get("data");
  if (!data.IsTypedArray()) refuse("data is no typed array");
  const Napi::TypedArray array = data.As<Napi::TypedArray>();
  if (static_cast<double>(array.ByteLength()) != bytes) {
    refuse("its shape takes " + std::to_string(static_cast<std::uint64_t>(std::min(bytes, BYTES_MAX))) + " bytes, and " + std::to_string(array.ByteLength()) + " are given");
  }
  PoolScope onHost(nullptr);
  at::Tensor tensor = at::empty(sizes, at::TensorOptions(dtype));
  const char* source = static_cast<const char*>(array.ArrayBuffer().Data()) + array.ByteOffset();
  if (array.ByteLength() > 0) std::memcpy(tensor.data_ptr(), source, array.ByteLength());
  if (dtype == at::ScalarType::Bool) {
    for (std::size_t at = 0; at < array.ByteLength(); at++) {
      if (source[at] != 0 && source[at] != 1) refuse("a bool is neither 0 nor 1");
    }
  }
  return tensor;
}

Feeds feedsOf(const Napi::Value& value) {
  Feeds feeds;
  if (!value.IsObject()) return feeds;
  const Napi::Object object = value.As<Napi::Object>();
  const Napi::Array names = object.GetPropertyNames();
  for (std::uint32_t index = 0; index < names.Length(); index++) {
    const std::string name = names.Get(index).ToString().Utf8Value();
    feeds.emplace(name, hostTensorOf(object.Get(name)));
  }
  return feeds;
}

Napi::Object tensorToJs(Napi::Env env, const at::Tensor& tensor) {
  Napi::Object object = Napi::Object::New(env);
  object.Set("dtype", dtypeName(tensor.scalar_type()));
  Napi::Array shape = Napi::Array::New(env, static_cast<std::size_t>(tensor.dim()));
  for (std::uint32_t index = 0; index < tensor.dim(); index++) shape.Set(index, Napi::Number::New(env, static_cast<double>(tensor.size(index))));
  object.Set("shape", shape);
  Napi::ArrayBuffer data = Napi::ArrayBuffer::New(env, tensor.nbytes());
  if (tensor.nbytes() > 0) std::memcpy(data.Data(), tensor.data_ptr(), tensor.nbytes());
  object.Set("data", data);
  return object;
}

Napi::Error faultToJs(Napi::Env env, const Fault& fault) {
  Napi::Error error = Napi::Error::New(env, fault.what());
  error.Set("code", fault.code);
  return error;
}

Napi::Value guarded(Napi::Env env, const std::function<Napi::Value()>& body) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    throw faultToJs(env, currentFault());
  }
}

void initRuntime(Napi::Env env, Napi::Object exports) {
  installAllocator();
  exports.Set("compileProgram", Napi::Function::New(env, compileProgram, "compileProgram"));
  exports.Set("openWeights", Napi::Function::New(env, openWeights, "openWeights"));
  exports.Set("runProgram", Napi::Function::New(env, runProgram, "runProgram"));
  exports.Set("versions", Napi::Function::New(env, versions, "versions"));
}

}  // namespace slice
