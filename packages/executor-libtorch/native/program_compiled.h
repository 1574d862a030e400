#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <vector>

namespace slice {

/** Where an argument of a call comes from. */
struct CompiledArgument {
  enum class Source {
    /** `constant` */
    Constant,
    /** `index` into the values of the run */
    Value,
    /** `index` into the operator's inputs */
    Input,
    /** `index` into the weight names */
    Weight,
    /** `index` into the symbols, as the `number` that the schema takes */
    Symbol,
    /** the device that runs it */
    OwnDevice,
    /** a list of `elementType`, of `items` */
    List,
  };
  enum class Number { Int, Float, Scalar };

  Source source = Source::Constant;
  int index = -1;
  /** Nothing reads the value or input afterwards, so the run hands it over. */
  bool isLast = false;
  Number number = Number::Scalar;
  c10::IValue constant;
  c10::TypePtr elementType;
  std::vector<CompiledArgument> items;
};

struct CompiledDimension {
  /** Index into the symbols, or -1. */
  int symbol = -1;
  std::int64_t size = 0;
};

/** A declared type and shape, which a run is checked against. */
struct CompiledTensor {
  at::ScalarType dtype = at::ScalarType::Undefined;
  std::vector<CompiledDimension> shape;
};

struct CompiledCall {
  enum class Kind { Operator, Feed, Fetch, Script };

  Kind kind = Kind::Operator;
  /** "call 3, aten::mm", for messages. */
  std::string label;
  std::optional<c10::OperatorHandle> op;
  /** Of the feed, of what is fetched, of the module. */
  std::string name;
  std::string method;
  /** What is fed. */
  CompiledTensor fed;
  /** As the schema orders them. */
  std::vector<CompiledArgument> arguments;
  /** Indices of the arguments that it writes to. */
  std::vector<int> written;
  /** For each result the value it becomes, or -1 where nobody reads it. */
  std::vector<int> results;
  /** The one result is a list, and its items are the results. */
  bool unpacksList = false;
};

struct CompiledOutput {
  std::string name;
  CompiledArgument value;
  CompiledTensor declared;
  /** Index of the input whose buffer it continues, or -1. */
  int aliases = -1;
};

struct CompiledProgram {
  std::string name;
  std::vector<std::string> symbols;
  std::vector<std::string> weightNames;
  std::vector<std::string> feedNames;
  std::vector<CompiledCall> calls;
  std::vector<CompiledOutput> outputs;
  std::size_t valueCount = 0;
  std::size_t inputCount = 0;
  /** Whether any call writes to an argument. */
  bool writes = false;

  /** Whether an output is this input, written in place. */
  bool continues(int input) const {
    for (const CompiledOutput& output : outputs) {
      if (output.aliases == input) return true;
    }
    return false;
  }
};

}  // namespace slice
