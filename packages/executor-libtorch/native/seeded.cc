#include "seeded.h"

#include <ATen/ops/fill.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include "dtype.h"
#include "fault.h"

namespace slice {
namespace {

/** The finalizer of SplitMix64. */
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBu;
  return bits ^ bits >> 31;
}

/** FNV-1a of 64 bits. */
std::uint64_t hashOf(const std::string& name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char character : name) hash = (hash ^ static_cast<unsigned char>(character)) * 0x100000001B3u;
  return hash;
}

constexpr std::uint64_t GOLDEN = 0x9E3779B97F4A7C15u;
/** Mean and standard deviation of the sum of four numbers drawn evenly from 0 … 65535. */
constexpr double SUM_MEAN = 131070.0;
constexpr double SUM_STD = 37837.22723720648;

template <typename Element>
void fill(const at::Tensor& tensor, std::uint64_t key, double scale) {
  auto* data = static_cast<Element*>(tensor.data_ptr());
  const std::int64_t count = tensor.numel();
  for (std::int64_t index = 0; index < count; index++) {
    const std::uint64_t bits = mixed(key + static_cast<std::uint64_t>(index) * GOLDEN);
    const auto sum = static_cast<double>((bits & 0xFFFFu) + (bits >> 16 & 0xFFFFu) + (bits >> 32 & 0xFFFFu) + (bits >> 48));
    data[index] = static_cast<Element>((sum - SUM_MEAN) * scale);
  }
}

}  // namespace

void fillSeeded(const at::Tensor& tensor, std::uint64_t seed, const std::string& name, double std) {
  const std::uint64_t key = mixed(seed * GOLDEN + 1) ^ hashOf(name);
  const double scale = std / SUM_STD;
  switch (tensor.scalar_type()) {
    case at::ScalarType::Double: return fill<double>(tensor, key, scale);
    case at::ScalarType::Float: return fill<float>(tensor, key, scale);
    case at::ScalarType::Half: return fill<c10::Half>(tensor, key, scale);
    case at::ScalarType::BFloat16: return fill<c10::BFloat16>(tensor, key, scale);
    default:
      throw Fault(code::WEIGHTS_INVALID, "random numbers are float64, float32, float16 or bfloat16, not " + dtypeName(tensor.scalar_type()));
  }
}

void fillWith(const at::Tensor& tensor, double value) {
  at::Tensor target = tensor;
  at::fill_(target, value);
}

}  // namespace slice
