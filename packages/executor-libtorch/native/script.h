#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device.h"

namespace slice {

struct ScriptModule;

/**
 * Loads a TorchScript file onto a device, within its scope. Such a file holds code: load only what you would also run. Throws SCRIPT_INVALID, OUT_OF_MEMORY.
 */
std::shared_ptr<ScriptModule> loadScript(const std::string& path, Device& device);

/** Bytes of its parameters and buffers. */
std::uint64_t scriptBytes(const ScriptModule& module);

/** Whether it is the storage of one of its parameters and buffers. Any thread. */
bool isOfScript(const ScriptModule& module, const void* storage);

/** Its result, or the items of a tuple. One thread at a time. Throws SCRIPT_INVALID when there is no such method. */
std::vector<c10::IValue> callMethod(ScriptModule& module, const std::string& method, std::vector<c10::IValue> arguments);

}  // namespace slice
