#include <napi.h>

#include "addon_engine.h"
#include "addon_runtime.h"

namespace {

Napi::Object init(Napi::Env env, Napi::Object exports) {
  slice::initRuntime(env, exports);
  slice::initEngine(env, exports);
  slice::initDirect(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(slice, init)
