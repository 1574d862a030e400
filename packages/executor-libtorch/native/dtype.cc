#include "dtype.h"

#include <torch/version.h>

#include "fault.h"

namespace slice {
namespace {

struct NamedType {
  const char* name;
  at::ScalarType type;
};

constexpr NamedType TYPES[] = {
    {"float64", at::ScalarType::Double},
    {"float32", at::ScalarType::Float},
    {"float16", at::ScalarType::Half},
    {"bfloat16", at::ScalarType::BFloat16},
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    {"float8", at::ScalarType::Float8_e4m3fn},
#endif
    {"int64", at::ScalarType::Long},
    {"int32", at::ScalarType::Int},
    {"int16", at::ScalarType::Short},
    {"int8", at::ScalarType::Char},
    {"uint8", at::ScalarType::Byte},
    {"bool", at::ScalarType::Bool},
};

}  // namespace

at::ScalarType dtypeOf(const std::string& name) {
  for (const NamedType& known : TYPES) {
    if (name == known.name) return known.type;
  }
  throw Fault(code::DTYPE_UNSUPPORTED, "LibTorch " TORCH_VERSION " has no element type \"" + name + "\" here");
}

bool isNamed(at::ScalarType type) {
  for (const NamedType& known : TYPES) {
    if (type == known.type) return true;
  }
  return false;
}

std::string dtypeName(at::ScalarType type) {
  for (const NamedType& known : TYPES) {
    if (type == known.type) return known.name;
  }
  return c10::toString(type);
}

}  // namespace slice
