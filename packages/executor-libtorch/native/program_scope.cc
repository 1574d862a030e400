#include "program_scope.h"

#include <algorithm>
#include <cmath>

#include "fault.h"

namespace slice {
namespace {

using Source = CompiledArgument::Source;

constexpr std::size_t NEAR_MAX = 4;
constexpr std::size_t DISTANCE_MAX = 3;

/** Edits between two names; more than `limit` is `limit + 1`. */
std::size_t distance(const std::string& one, const std::string& other, std::size_t limit) {
  if ((one.size() > other.size() ? one.size() - other.size() : other.size() - one.size()) > limit) return limit + 1;
  std::vector<std::size_t> row(other.size() + 1);
  for (std::size_t column = 0; column < row.size(); column++) row[column] = column;
  for (std::size_t at = 1; at <= one.size(); at++) {
    std::size_t diagonal = row[0];
    row[0] = at;
    for (std::size_t column = 1; column < row.size(); column++) {
      const std::size_t replaced = diagonal + (one[at - 1] == other[column - 1] ? 0 : 1);
      diagonal = row[column];
      row[column] = std::min({replaced, row[column] + 1, row[column - 1] + 1});
    }
  }
  return std::min(row.back(), limit + 1);
}

std::string fullName(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

/** Overloads of the name, else names that differ in little. */
std::string nearNames(const std::string& base) {
  const std::string withNamespace = base.find("::") == std::string::npos ? "aten::" + base : base;
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const c10::OperatorName& known : c10::Dispatcher::singleton().getAllOpNames()) {
    const std::size_t edits = distance(withNamespace, known.name, DISTANCE_MAX);
    if (edits <= DISTANCE_MAX) found.emplace_back(edits, fullName(known));
  }
  std::sort(found.begin(), found.end());
  std::string text;
  for (std::size_t index = 0; index < found.size() && index < NEAR_MAX * (found[0].first == 0 ? 4 : 1); index++) {
    if (found[0].first == 0 && found[index].first > 0) break;
    text += (index == 0 ? "; near it: " : ", ") + found[index].second;
  }
  return text;
}

}  // namespace

int wholeNumber(const Json& json, std::size_t limit, const std::string& what) {
  if (!json.is(Json::Kind::Number) || std::trunc(json.number) != json.number || json.number < 0 || json.number >= static_cast<double>(limit)) {
    throw Fault(code::PROGRAM_INVALID, what + " has to be a whole number below " + std::to_string(limit) +
                                           (json.is(Json::Kind::Number) ? ", got " + std::to_string(json.number) : std::string(", got ") + json.kindName()));
  }
  return static_cast<int>(json.number);
}

int ProgramScope::define(const std::string& name, c10::TypePtr type, Origin origin, const std::string& where) {
  const int slot = static_cast<int>(types_.size());
  if (!values_.emplace(name, slot).second) throw Fault(code::PROGRAM_INVALID, where + ": there is a value \"" + name + "\" already");
  types_.push_back(std::move(type));
  origins_.push_back(std::move(origin));
  program_.valueCount = types_.size();
  return slot;
}

bool ProgramScope::resolve(const Json& json, CompiledArgument& argument, c10::TypePtr& type, const std::string& where) {
  if (!json.is(Json::Kind::Object) || json.members.size() != 1) return false;
  const std::string& kind = json.members[0].first;
  const Json& inner = json.members[0].second;
  const auto name = [&]() -> const std::string& {
    if (!inner.is(Json::Kind::String)) throw Fault(code::PROGRAM_INVALID, where + ": " + kind + " names something, and is " + inner.kindName());
    return inner.text;
  };
  if (kind == "value") {
    const auto found = values_.find(name());
    if (found == values_.end()) throw Fault(code::PROGRAM_INVALID, where + ": no earlier call has the result \"" + inner.text + "\"");
    argument.source = Source::Value;
    argument.index = found->second;
    type = types_[static_cast<std::size_t>(found->second)];
  } else if (kind == "input") {
    argument.source = Source::Input;
    argument.index = wholeNumber(inner, program_.inputCount, where + ": the index of an input");
    type = c10::TensorType::get();
  } else if (kind == "weight") {
    argument.source = Source::Weight;
    argument.index = weight(name());
    type = c10::TensorType::get();
  } else if (kind == "symbol") {
    argument.source = Source::Symbol;
    argument.index = wholeNumber(inner, program_.symbols.size(), where + ": the index of a symbol");
  } else {
    return false;
  }
  return true;
}

int ProgramScope::weight(const std::string& name) {
  std::vector<std::string>& names = program_.weightNames;
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) names.push_back(name);
  return static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
}

Origin ProgramScope::originOf(const CompiledArgument& argument) const {
  Origin origin;
  if (argument.source == Source::Weight) origin.weights.insert(argument.index);
  if (argument.source == Source::Input) origin.inputs.insert(argument.index);
  if (argument.source == Source::Value) origin = origins_[static_cast<std::size_t>(argument.index)];
  for (const CompiledArgument& item : argument.items) origin.add(originOf(item));
  return origin;
}

c10::OperatorHandle findOperator(const std::string& name, const std::string& where) {
  const std::size_t dot = name.find('.', name.find("::") == std::string::npos ? 0 : name.find("::"));
  const std::string base = name.substr(0, dot);
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  const auto found = c10::Dispatcher::singleton().findSchema({base, overload});
  if (found.has_value()) return *found;
  throw Fault(code::UNKNOWN_OPERATOR, where + ": this LibTorch has no operator \"" + name + "\"" + nearNames(base));
}

}  // namespace slice
