#pragma once

#include <napi.h>

#include <functional>
#include <memory>

#include "fault.h"
#include "program.h"
#include "weights.h"

namespace slice {

/** Installs the counting allocator, and adds what src/programs/native-runtime.ts declares to the exports. */
void initRuntime(Napi::Env env, Napi::Object exports);

/** What `compileProgram` and `openWeights` returned. Throws a TypeError for anything else. */
std::shared_ptr<const Program> programOf(const Napi::Value& value);
std::shared_ptr<const WeightsSource> weightsOf(const Napi::Value& value);

/** `{ name: { dtype, shape, data } }` with data in a typed array, copied into the host's memory. Throws PROGRAM_INVALID, DTYPE_UNSUPPORTED. */
Feeds feedsOf(const Napi::Value& value);
/** One `{ dtype, shape, data }`, likewise. */
at::Tensor hostTensorOf(const Napi::Value& value);
/** `{ dtype, shape, data }`, where data is an ArrayBuffer of its own. `tensor` is contiguous in the host's memory. */
Napi::Object tensorToJs(Napi::Env env, const at::Tensor& tensor);

/** A fault as a JavaScript Error with its `code`. */
Napi::Error faultToJs(Napi::Env env, const Fault& fault);

/** Runs it; whatever it throws becomes a JavaScript Error, with the `code` of a fault. */
Napi::Value guarded(Napi::Env env, const std::function<Napi::Value()>& body);

}  // namespace slice
