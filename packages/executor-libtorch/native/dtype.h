#pragma once

#include <c10/core/ScalarType.h>

#include <string>

namespace slice {

/** The element type by gmg's name. Throws DTYPE_UNSUPPORTED: a name unknown to gmg, or one that this LibTorch does not have ("float8" before 2.1). */
at::ScalarType dtypeOf(const std::string& name);
/** Whether gmg has a name for it. */
bool isNamed(at::ScalarType type);
/** gmg's name; LibTorch's own for what gmg does not have. */
std::string dtypeName(at::ScalarType type);

}  // namespace slice
