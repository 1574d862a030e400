#pragma once

#include <ATen/core/Tensor.h>

namespace slice {

/** Whether its elements are what lies in its buffer: LibTorch negates, conjugates and leaves out zeros by a mark on the tensor. */
inline bool isPlain(const at::Tensor& tensor) { return !tensor.is_neg() && !tensor.is_conj() && !tensor._is_zerotensor(); }

}  // namespace slice
