#pragma once

#include <napi.h>

namespace slice {

/** Adds the class `Engine` and `nowNs` to the exports; see src/native/addon.ts. */
void initEngine(Napi::Env env, Napi::Object exports);

/** Adds the class `DirectLoop`; see src/direct.ts. */
void initDirect(Napi::Env env, Napi::Object exports);

}  // namespace slice
