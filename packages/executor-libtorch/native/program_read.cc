#include <algorithm>
#include <cmath>
#include <optional>

#include "dtype.h"
#include "fault.h"
#include "program.h"
#include "program_guard.h"
#include "program_scope.h"

namespace slice {
namespace {

using Source = CompiledArgument::Source;
using Kind = CompiledCall::Kind;

/** Calls, arguments and results of one program; a mistaken generator ends here. */
constexpr std::size_t CALLS_MAX = 100'000;

const Json& member(const Json& json, const char* name, Json::Kind kind, const std::string& where) {
  const Json* found = json.find(name);
  if (found == nullptr) throw Fault(code::PROGRAM_INVALID, where + " has no \"" + name + "\"");
  if (!found->is(kind)) throw Fault(code::PROGRAM_INVALID, where + ": \"" + name + "\" is " + found->kindName());
  return *found;
}

std::vector<std::string> strings(const Json& json, const std::string& where) {
  std::vector<std::string> texts;
  for (const Json& item : json.items) {
    if (!item.is(Json::Kind::String)) throw Fault(code::PROGRAM_INVALID, where + " has an item that is " + item.kindName());
    texts.push_back(item.text);
  }
  return texts;
}

void remember(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/** Reads one program. */
class ProgramReader {
 public:
  explicit ProgramReader(const Json& json) : json_(json) {}

  std::unique_ptr<const CompiledProgram> read() {
    const std::string where = "the program";
    program_->name = member(json_, "name", Json::Kind::String, where).text;
    program_->symbols = strings(member(json_, "symbols", Json::Kind::Array, where), "symbols");
    program_->inputCount = static_cast<std::size_t>(wholeNumber(member(json_, "inputs", Json::Kind::Number, where), 1 << 20, "the number of inputs"));
    const Json& outputs = member(json_, "outputs", Json::Kind::Array, where);
    for (const Json& output : outputs.items) declareOutput(output);
    const Json& calls = member(json_, "calls", Json::Kind::Array, where);
    if (calls.items.size() > CALLS_MAX) throw Fault(code::PROGRAM_INVALID, "more than " + std::to_string(CALLS_MAX) + " calls");
    for (const Json& call : calls.items) readCall(call);
    for (std::size_t index = 0; index < outputs.items.size(); index++) readOutputValue(outputs.items[index], program_->outputs[index]);
    markLastUses();
    return std::move(program_);
  }

 private:
  void declareOutput(const Json& json) {
    CompiledOutput output;
    output.name = member(json, "name", Json::Kind::String, "an output").text;
    const std::string where = "output \"" + output.name + "\"";
    output.declared = readDeclared(json, where);
    const Json* aliases = json.find("aliases");
    if (aliases != nullptr && !aliases->is(Json::Kind::Null)) {
      output.aliases = wholeNumber(*aliases, program_->inputCount, where + ": the index of the input that it continues");
    }
    program_->outputs.push_back(std::move(output));
  }

  CompiledTensor readDeclared(const Json& json, const std::string& where) const {
    CompiledTensor declared;
    declared.dtype = dtypeOf(member(json, "dtype", Json::Kind::String, where).text);
    for (const Json& dimension : member(json, "shape", Json::Kind::Array, where).items) {
      CompiledDimension compiled;
      const Json* symbol = dimension.find("symbol");
      if (symbol != nullptr) compiled.symbol = wholeNumber(*symbol, program_->symbols.size(), where + ": the index of a symbol");
      else compiled.size = wholeNumber(dimension, (1u << 31) - 1, where + ": a dimension");
      declared.shape.push_back(compiled);
    }
    return declared;
  }

  void readOutputValue(const Json& json, CompiledOutput& output) {
    const Json* value = json.find("value");
    const std::string where = "output \"" + output.name + "\"";
    if (value == nullptr) throw Fault(code::PROGRAM_INVALID, where + " has no value");
    output.value = checkTensor(*value, scope_, where);
  }

  void readCall(const Json& json) {
    CompiledCall call;
    const std::string number = "call " + std::to_string(program_->calls.size());
    if (!json.is(Json::Kind::Object)) throw Fault(code::PROGRAM_INVALID, number + " is " + json.kindName());
    if (json.find("op") != nullptr) {
      const std::string& name = member(json, "op", Json::Kind::String, number).text;
      call.label = number + ", " + name;
      readOperator(json, name, call);
    } else if (json.find("feed") != nullptr) {
      call.kind = Kind::Feed;
      call.name = member(json, "feed", Json::Kind::String, number).text;
      call.label = number + ", feed \"" + call.name + "\"";
      remember(program_->feedNames, call.name);
      call.fed = readDeclared(json, call.label);
      readResults(json, call, {c10::TensorType::get()}, {});
    } else if (json.find("fetch") != nullptr) {
      call.kind = Kind::Fetch;
      call.name = member(json, "fetch", Json::Kind::String, number).text;
      call.label = number + ", fetch \"" + call.name + "\"";
      const Json& arguments = member(json, "args", Json::Kind::Array, call.label);
      if (arguments.items.size() != 1) throw Fault(code::WRONG_ARGUMENT, call.label + " takes one tensor, got " + std::to_string(arguments.items.size()));
      call.arguments.push_back(checkTensor(arguments.items[0], scope_, call.label));
    } else {
      readScript(json, number, call);
    }
    program_->calls.push_back(std::move(call));
  }

  void readScript(const Json& json, const std::string& number, CompiledCall& call) {
    call.kind = Kind::Script;
    if (json.find("script") == nullptr) throw Fault(code::PROGRAM_INVALID, number + " is none of op, feed, fetch and script");
    call.name = member(json, "script", Json::Kind::String, number).text;
    const Json* method = json.find("method");
    call.method = method == nullptr ? "forward" : member(json, "method", Json::Kind::String, number).text;
    call.label = number + ", script \"" + call.name + "\"." + call.method;
    const Json* arguments = json.find("args");
    Origin origin;
    if (arguments != nullptr) {
      for (const Json& argument : member(json, "args", Json::Kind::Array, call.label).items) {
        call.arguments.push_back(checkFree(argument, scope_, call.label));
        origin.add(scope_.originOf(call.arguments.back()));
      }
    }
    const Json* results = json.find("results");
    readResults(json, call, std::vector<c10::TypePtr>(results == nullptr ? 0 : results->items.size()), {origin});
  }

  void readOperator(const Json& json, const std::string& name, CompiledCall& call) {
    call.op = findOperator(name, call.label);
    const c10::FunctionSchema& schema = call.op->schema();
    checkTouchesNoFiles(schema, call.label);
    call.arguments = checkArguments(json, schema, scope_, call.label);
    call.written = writtenArguments(schema, call.arguments);
    checkWritten(call, scope_);
    program_->writes = program_->writes || !call.written.empty();
    std::vector<c10::TypePtr> types;
    std::vector<Origin> origins;
    for (const c10::Argument& result : schema.returns()) {
      types.push_back(result.type());
      origins.push_back(originOf(result, schema, call));
    }
    const Json* results = json.find("results");
    const auto* list = types.size() == 1 ? types[0]->castRaw<c10::ListType>() : nullptr;
    if (list != nullptr && results != nullptr && results->items.size() > 1) {
      call.unpacksList = true;
      types.assign(results->items.size(), list->getElementType());
      origins.assign(results->items.size(), origins[0]);
    }
    readResults(json, call, types, origins);
  }

  /** A result that may be a view has its arguments' origins. */
  Origin originOf(const c10::Argument& result, const c10::FunctionSchema& schema, const CompiledCall& call) const {
    Origin origin;
    if (result.alias_info() == nullptr) return origin;
    for (std::size_t index = 0; index < schema.arguments().size(); index++) {
      const c10::AliasInfo* argument = schema.arguments()[index].alias_info();
      if (argument == nullptr) continue;
      const auto& sets = argument->beforeSets();
      for (const auto& set : result.alias_info()->beforeSets()) {
        if (sets.count(set) > 0 || argument->isWildcardBefore()) origin.add(scope_.originOf(call.arguments[index]));
      }
    }
    return origin;
  }

  void readResults(const Json& json, CompiledCall& call, const std::vector<c10::TypePtr>& types, const std::vector<Origin>& origins) {
    if (json.find("results") == nullptr) return;
    const Json& results = member(json, "results", Json::Kind::Array, call.label);
    if (results.items.size() > types.size()) {
      throw Fault(code::PROGRAM_INVALID, call.label + " has " + std::to_string(types.size()) + " results, and " +
                                             std::to_string(results.items.size()) + " are named");
    }
    for (std::size_t index = 0; index < results.items.size(); index++) {
      const Json& name = results.items[index];
      if (name.is(Json::Kind::Null)) {
        call.results.push_back(-1);
        continue;
      }
      if (!name.is(Json::Kind::String)) throw Fault(code::PROGRAM_INVALID, call.label + ": the name of a result is " + name.kindName());
      const Origin origin = origins.empty() ? Origin() : origins[std::min(index, origins.size() - 1)];
      call.results.push_back(scope_.define(name.text, types[index], origin, call.label));
    }
  }

  /** Walks backwards, so that the first use met is the last; a result that is not read is not kept. */
  void markLastUses() {
    std::vector<bool> valuesRead(program_->valueCount);
    std::vector<bool> inputsRead(program_->inputCount);
    // The storage of an input that an output continues is compared at the end.
    for (const CompiledOutput& output : program_->outputs) {
      if (output.aliases >= 0) inputsRead[static_cast<std::size_t>(output.aliases)] = true;
    }
    const auto mark = [&](CompiledArgument& argument, const auto& self) -> void {
      for (auto item = argument.items.rbegin(); item != argument.items.rend(); ++item) self(*item, self);
      if (argument.source != Source::Value && argument.source != Source::Input) return;
      std::vector<bool>& read = argument.source == Source::Value ? valuesRead : inputsRead;
      argument.isLast = !read[static_cast<std::size_t>(argument.index)];
      read[static_cast<std::size_t>(argument.index)] = true;
    };
    for (auto output = program_->outputs.rbegin(); output != program_->outputs.rend(); ++output) mark(output->value, mark);
    for (auto call = program_->calls.rbegin(); call != program_->calls.rend(); ++call) {
      for (int& result : call->results) {
        if (result >= 0 && !valuesRead[static_cast<std::size_t>(result)]) result = -1;
      }
      for (auto argument = call->arguments.rbegin(); argument != call->arguments.rend(); ++argument) mark(*argument, mark);
    }
  }

  const Json& json_;
  std::unique_ptr<CompiledProgram> program_ = std::make_unique<CompiledProgram>();
  ProgramScope scope_{*program_};
};

}  // namespace

std::shared_ptr<const Program> Program::compile(const std::string& json) {
  return std::shared_ptr<const Program>(new Program(ProgramReader(parseJson(json)).read()));
}

}  // namespace slice
