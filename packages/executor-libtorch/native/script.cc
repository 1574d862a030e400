#include "script.h"

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <unordered_set>

#include "fault.h"

namespace slice {

struct ScriptModule {
  torch::jit::Module module;
  /** Of its parameters and buffers, when it was loaded. */
  std::unordered_set<const void*> storages;
};

namespace {

torch::jit::Module read(const std::string& path, Device& device) {
  if (!device.target().is_cpu()) return torch::jit::load(path, device.target());
  // What the reader keeps beside the tensors (sources, for its messages) is not the accelerator's.
  const torch::jit::Module onHost = [&] {
    PoolScope host(nullptr);
    return torch::jit::load(path, at::kCPU);
  }();
  return onHost.deepcopy();
}

}  // namespace

std::shared_ptr<ScriptModule> loadScript(const std::string& path, Device& device) {
  try {
    if (path.find('\0') != std::string::npos) throw Fault(code::SCRIPT_INVALID, "the path has a NUL character in it");
    auto loaded = std::make_shared<ScriptModule>(ScriptModule{read(path, device), {}});
    loaded->module.eval();
    const auto keep = [&](const at::Tensor& tensor) {
      if (tensor.defined() && tensor.has_storage()) loaded->storages.insert(tensor.storage().unsafeGetStorageImpl());
    };
    for (const at::Tensor& tensor : loaded->module.parameters()) keep(tensor);
    for (const at::Tensor& tensor : loaded->module.buffers()) keep(tensor);
    return loaded;
  } catch (...) {
    const Fault fault = currentFault();
    throw Fault(fault.code == code::OUT_OF_MEMORY ? fault.code : std::string(code::SCRIPT_INVALID), path + ": " + fault.what());
  }
}

std::uint64_t scriptBytes(const ScriptModule& module) {
  std::unordered_set<const void*> seen;
  std::uint64_t bytes = 0;
  const auto add = [&](const at::Tensor& tensor) {
    if (tensor.defined() && tensor.has_storage() && seen.insert(tensor.storage().unsafeGetStorageImpl()).second) bytes += tensor.storage().nbytes();
  };
  for (const at::Tensor& tensor : module.module.parameters()) add(tensor);
  for (const at::Tensor& tensor : module.module.buffers()) add(tensor);
  return bytes;
}

bool isOfScript(const ScriptModule& module, const void* storage) { return module.storages.count(storage) > 0; }

std::vector<c10::IValue> callMethod(ScriptModule& module, const std::string& method, std::vector<c10::IValue> arguments) {
  const auto found = module.module.find_method(method);
  if (!found) throw Fault(code::SCRIPT_INVALID, "the module has no method \"" + method + "\"");
  c10::IValue result = (*found)(std::move(arguments));
  std::vector<c10::IValue> results;
  if (result.isTuple()) results = result.toTupleRef().elements().vec();
  else results.push_back(std::move(result));
  return results;
}

}  // namespace slice
