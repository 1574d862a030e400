#include "weights.h"

#include <ATen/ops/empty.h>

#include <cmath>
#include <optional>
#include <vector>

#include "dtype.h"
#include "fault.h"
#include "json.h"
#include "safetensors.h"
#include "script.h"
#include "seeded.h"

namespace slice {
namespace {

constexpr double WHOLE_MAX = 9007199254740991.0;

[[noreturn]] void fail(const std::string& what) { throw Fault(code::WEIGHTS_INVALID, what); }

const Json& required(const Json& json, const char* name, Json::Kind kind, const std::string& where) {
  const Json* found = json.find(name);
  if (found == nullptr || !found->is(kind)) fail(where + " has no \"" + name + "\"" + (found == nullptr ? "" : std::string(", but ") + found->kindName()));
  return *found;
}

double finite(const Json& json, const std::string& where) {
  if (!json.is(Json::Kind::Number)) fail(where + " is " + json.kindName() + ", not a number");
  return json.number;
}

}  // namespace

/** One tensor to make: from the file, random, or of one number. */
struct PlannedTensor {
  std::string name;
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::vector<std::int64_t> shape;
  std::uint64_t bytes = 0;
  const SafetensorsEntry* entry = nullptr;
  double std = 0;
  std::optional<double> fill;
};

struct PlannedScript {
  std::string name;
  std::string path;
};

struct WeightsPlan {
  std::shared_ptr<const SafetensorsFile> file;
  std::uint64_t seed = 0;
  std::vector<PlannedTensor> tensors;
  std::vector<PlannedScript> scripts;
};

namespace {

void setSize(PlannedTensor& planned) {
  std::uint64_t bytes = c10::elementSize(planned.dtype);
  for (const std::int64_t size : planned.shape) {
    if (size != 0 && bytes > static_cast<std::uint64_t>(WHOLE_MAX) / static_cast<std::uint64_t>(size)) {
      fail("weight \"" + planned.name + "\" is larger than 2^53 bytes");
    }
    bytes *= static_cast<std::uint64_t>(size);
  }
  planned.bytes = bytes;
}

PlannedTensor fromFile(const std::string& name, const Json& json, const SafetensorsFile& file) {
  if (!json.is(Json::Kind::String)) fail("weight \"" + name + "\" is to be named in " + file.path() + ", and is " + json.kindName());
  const SafetensorsEntry* entry = file.find(json.text);
  if (entry == nullptr) fail(file.path() + " has no tensor \"" + json.text + "\" for the weight \"" + name + "\"");
  const std::string dtype = safetensorsDtype(entry->dtype);
  if (dtype.empty()) throw Fault(code::DTYPE_UNSUPPORTED, file.path() + ": \"" + json.text + "\" is of the type " + entry->dtype + ", which is not read");
  PlannedTensor planned;
  planned.name = name;
  planned.dtype = dtypeOf(dtype);
  planned.shape = entry->shape;
  planned.entry = entry;
  setSize(planned);
  return planned;
}

PlannedTensor drawn(const std::string& name, const Json& json) {
  const std::string where = "weight \"" + name + "\"";
  PlannedTensor planned;
  planned.name = name;
  planned.dtype = dtypeOf(required(json, "dtype", Json::Kind::String, where).text);
  for (const Json& size : required(json, "shape", Json::Kind::Array, where).items) {
    const double number = finite(size, where + ": a size");
    if (number < 0 || number > WHOLE_MAX || std::trunc(number) != number) fail(where + " has a size that is no whole number");
    planned.shape.push_back(static_cast<std::int64_t>(number));
  }
  setSize(planned);
  if (const Json* fill = json.find("fill")) {
    planned.fill = finite(*fill, where + ": fill");
    return planned;
  }
  if (!c10::isFloatingType(planned.dtype)) fail(where + " is " + dtypeName(planned.dtype) + ": give it a fill, random numbers are floating-point");
  planned.std = finite(required(json, "std", Json::Kind::Number, where), where);
  if (planned.std < 0) fail(where + " has a negative std");
  return planned;
}

/** Memory of a bool other than 0 and 1 is undefined behaviour wherever it is read. */
void checkBools(const char* data, const PlannedTensor& planned, const std::string& path) {
  if (planned.dtype != at::ScalarType::Bool) return;
  for (std::uint64_t at = 0; at < planned.bytes; at++) {
    if (data[at] != 0 && data[at] != 1) {
      throw Fault(code::FILE_INVALID, path + ": the weight \"" + planned.name + "\" is bool, and its byte " + std::to_string(at) + " is neither 0 nor 1");
    }
  }
}

void make(const at::Tensor& host, const PlannedTensor& planned, std::uint64_t seed) {
  if (planned.fill) fillWith(host, *planned.fill);
  else fillSeeded(host, seed, planned.name, planned.std);
}

at::Tensor load(const PlannedTensor& planned, const WeightsPlan& plan, Device& device) {
  at::Tensor tensor = at::empty(planned.shape, at::TensorOptions(planned.dtype).device(device.target()));
  if (planned.entry != nullptr) {
    const char* data = plan.file->data(*planned.entry);
    checkBools(data, planned, plan.file->path());
    copyFromHost(data, planned.bytes, tensor, device);
  } else if (device.target().is_cpu()) {
    make(tensor, planned, plan.seed);
  } else {
    PoolScope onHost(nullptr);
    const at::Tensor host = at::empty(planned.shape, at::TensorOptions(planned.dtype));
    make(host, planned, plan.seed);
    copyFromHost(host.data_ptr(), host.nbytes(), tensor, device);
  }
  return tensor;
}

}  // namespace

WeightSet::WeightSet() = default;
WeightSet::~WeightSet() = default;

const at::Tensor* WeightSet::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

ScriptModule* WeightSet::findScript(const std::string& name) const {
  const auto found = scripts_.find(name);
  return found == scripts_.end() ? nullptr : found->second.get();
}

std::uint64_t WeightSet::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& named : tensors_) bytes += named.second.nbytes();
  for (const auto& named : scripts_) bytes += scriptBytes(*named.second);
  return bytes;
}

WeightsSource::WeightsSource(std::unique_ptr<const WeightsPlan> plan) : plan_(std::move(plan)) {}

WeightsSource::~WeightsSource() = default;

std::shared_ptr<const WeightsSource> WeightsSource::parse(const std::string& json, bool allowScripts) {
  const Json source = parseJson(json);
  auto plan = std::make_unique<WeightsPlan>();
  if (const Json* scripts = source.find("scripts")) {
    if (!allowScripts) {
      throw Fault(code::SCRIPT_DENIED, "TorchScript files can hold code that runs here: allow them only where you trust their origin, with allowTorchScript");
    }
    for (const auto& named : scripts->members) {
      if (!named.second.is(Json::Kind::String)) fail("script \"" + named.first + "\" is " + named.second.kindName() + ", not a path");
      plan->scripts.push_back({named.first, named.second.text});
    }
  } else {
    const Json* path = source.find("safetensors");
    if (path != nullptr && !path->is(Json::Kind::String)) fail(std::string("safetensors is ") + path->kindName() + ", not a path");
    if (path != nullptr) plan->file = SafetensorsFile::open(path->text);
    else plan->seed = static_cast<std::uint64_t>(std::min(std::max(required(source, "seed", Json::Kind::Number, "the source").number, 0.0), WHOLE_MAX));
    for (const auto& named : required(source, "tensors", Json::Kind::Object, "the source").members) {
      plan->tensors.push_back(plan->file ? fromFile(named.first, named.second, *plan->file) : drawn(named.first, named.second));
    }
  }
  return std::shared_ptr<const WeightsSource>(new WeightsSource(std::move(plan)));
}

std::shared_ptr<const WeightSet> WeightsSource::load(Device& device) const {
  try {
    takeWentOver();
    auto set = std::make_shared<WeightSet>();
    for (const PlannedTensor& planned : plan_->tensors) set->tensors_.emplace(planned.name, slice::load(planned, *plan_, device));
    for (const PlannedScript& script : plan_->scripts) set->scripts_.emplace(script.name, loadScript(script.path, device));
    device.wait();
    return set;
  } catch (...) {
    throw currentFault();
  }
}

std::uint64_t WeightsSource::bytes() const {
  std::uint64_t bytes = 0;
  for (const PlannedTensor& planned : plan_->tensors) bytes += planned.bytes;
  return bytes;
}

}  // namespace slice
