#pragma once

#include <napi.h>

namespace slice {

/** Adds what src/direct/native-direct.ts declares to the exports. */
void initDirect(Napi::Env env, Napi::Object exports);

}  // namespace slice
