#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace slice {

/**
 * Fills a contiguous CPU tensor with pseudo-random numbers about 0: what a name and a seed give is the same everywhere, whatever else is filled
 * (bell-shaped: four uniform numbers added; within ±3.5 standard deviations; tested to the bit by src/weights/seeded.ts). Floating-point types only: others throw WEIGHTS_INVALID.
 */
void fillSeeded(const at::Tensor& tensor, std::uint64_t seed, const std::string& name, double std);

/** Fills a contiguous CPU tensor with one number, rounded to its type. */
void fillWith(const at::Tensor& tensor, double value);

}  // namespace slice
