#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <string>
#include <vector>

#include "program_compiled.h"
#include "program_scope.h"
#include "script.h"

namespace slice {

/** Indices of the arguments that a call writes to: what the schema says, and what it should have said (the running statistics of a batch norm). */
std::vector<int> writtenArguments(const c10::FunctionSchema& schema, const std::vector<CompiledArgument>& arguments);

/** Throws WRONG_ARGUMENT when what the call writes to is, by the schemas of the calls before it, a weight or an input that no output continues. */
void checkWritten(const CompiledCall& call, const ProgramScope& scope);

/** Throws PROGRAM_INVALID for an operator that opens files by name. */
void checkTouchesNoFiles(const c10::FunctionSchema& schema, const std::string& where);

/**
 * What one run may not write to: its weights, and the inputs that no output continues. It compares storages, since many operators
 * return an argument itself although their schema does not say so (`aten::dropout`, `aten::type_as`).
 */
class WriteGuard {
 public:
  WriteGuard(const CompiledProgram& program, const std::vector<const at::Tensor*>& weights, const std::vector<at::Tensor>& inputs);

  /** The parameters and buffers of a module that was called. */
  void add(const ScriptModule& module) { scripts_.push_back(&module); }
  /** Before the call. Throws WRONG_ARGUMENT. */
  void check(const CompiledCall& call, const std::vector<c10::IValue>& arguments) const;

 private:
  void checkValue(const c10::IValue& value, const CompiledCall& call, int argument) const;
  void checkTensor(const at::Tensor& tensor, const CompiledCall& call, int argument) const;

  const CompiledProgram& program_;
  const std::vector<const at::Tensor*>& weights_;
  /** Weak, so that an input is freed at its last use, and no later storage gets its address. */
  std::vector<c10::weak_intrusive_ptr<c10::StorageImpl>> inputs_;
  std::vector<const ScriptModule*> scripts_;
};

}  // namespace slice
