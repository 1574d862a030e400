#pragma once

#include <cstddef>

#include "engine.h"

namespace slice {

/**
 * Carries out a batch of instructions that the core has taken, written as numbers by src/native/batch.ts: each a code, then its fields.
 * The lock is held. Throws INVARIANT_BROKEN for anything else.
 */
void carryOut(Engine& engine, const double* batch, std::size_t length, double nowNs);

}  // namespace slice
