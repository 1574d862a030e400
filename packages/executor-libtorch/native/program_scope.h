#pragma once

#include <ATen/core/jit_type.h>

#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "json.h"
#include "program_compiled.h"

namespace slice {

/** Weights and inputs that a value may be a view of. */
struct Origin {
  std::set<int> weights;
  std::set<int> inputs;

  void add(const Origin& other) {
    weights.insert(other.weights.begin(), other.weights.end());
    inputs.insert(other.inputs.begin(), other.inputs.end());
  }
};

/** What the calls of a program can refer to so far, while it is compiled. */
class ProgramScope {
 public:
  explicit ProgramScope(CompiledProgram& program) : program_(program) {}

  /** Throws PROGRAM_INVALID when there is a value of the name. `type` is null where only the run knows it. */
  int define(const std::string& name, c10::TypePtr type, Origin origin, const std::string& where);

  /**
   * Resolves `{ value }`, `{ input }`, `{ weight }` and `{ symbol }`; false when it is none of these.
   * `type` is what it has: null where only the run knows it, and for a symbol.
   */
  bool resolve(const Json& json, CompiledArgument& argument, c10::TypePtr& type, const std::string& where);

  Origin originOf(const CompiledArgument& argument) const;
  const CompiledProgram& program() const { return program_; }

 private:
  int weight(const std::string& name);

  CompiledProgram& program_;
  std::unordered_map<std::string, int> values_;
  std::vector<c10::TypePtr> types_;
  std::vector<Origin> origins_;
};

/** The member, which has to be a whole number from 0 to `limit` - 1. Throws PROGRAM_INVALID. */
int wholeNumber(const Json& json, std::size_t limit, const std::string& what);

/** Looks an operator up by "aten::add.Tensor". Throws UNKNOWN_OPERATOR with names that are near. */
c10::OperatorHandle findOperator(const std::string& name, const std::string& where);

/**
 * The arguments of a call as the schema orders them. Throws WRONG_ARGUMENT, with the schema, for what cannot be right whatever a run brings.
 * Devices that are left out are the one that runs it.
 */
std::vector<CompiledArgument> checkArguments(const Json& call, const c10::FunctionSchema& schema, ProgramScope& scope, const std::string& where);

/** An argument of which no schema tells the type: a tensor, a number, a string, a list of one kind. */
CompiledArgument checkFree(const Json& json, ProgramScope& scope, const std::string& where);

/** One that has to be a tensor. */
CompiledArgument checkTensor(const Json& json, ProgramScope& scope, const std::string& where);

}  // namespace slice
