#include <cmath>
#include <limits>
#include <sstream>

#include "dtype.h"
#include "fault.h"
#include "program_scope.h"

namespace slice {
namespace {

using Source = CompiledArgument::Source;
using Number = CompiledArgument::Number;

/** Doubles hold whole numbers exactly up to here. */
constexpr double WHOLE_MAX = 9007199254740991.0;

/** An argument of a schema: its type as kernels see it (an element type is an int), and as it is written. */
struct Expected {
  c10::TypePtr type;
  c10::TypePtr written;
  /** A list of this length may be given as one number, or -1. */
  int length = -1;
};

/** Symbolic integers are plain ones here. */
c10::TypePtr plain(const c10::TypePtr& type) {
  return type->kind() == c10::TypeKind::SymIntType ? c10::TypePtr(c10::IntType::get()) : type;
}

CompiledArgument constant(c10::IValue value) {
  CompiledArgument argument;
  argument.constant = std::move(value);
  return argument;
}

/** A JSON number, or the numbers that JSON does not have. */
bool readNumber(const Json& json, double& number) {
  if (json.is(Json::Kind::Number)) {
    number = json.number;
    return true;
  }
  const Json* named = json.find("number");
  if (named == nullptr || json.members.size() != 1 || !named->is(Json::Kind::String)) return false;
  if (named->text == "Infinity") number = std::numeric_limits<double>::infinity();
  else if (named->text == "-Infinity") number = -std::numeric_limits<double>::infinity();
  else if (named->text == "-0") number = -0.0;
  else if (named->text == "NaN") number = std::numeric_limits<double>::quiet_NaN();
  else return false;
  return true;
}

bool isWhole(double number) { return std::trunc(number) == number && std::abs(number) <= WHOLE_MAX; }

c10::IValue scalarOf(double number) {
  // -0 is no whole number: it would lose its sign.
  if (isWhole(number) && !(number == 0 && std::signbit(number))) return c10::IValue(static_cast<std::int64_t>(number));
  return c10::IValue(number);
}

std::string describe(const Json& json) {
  if (json.is(Json::Kind::String)) return "\"" + json.text + "\"";
  if (json.is(Json::Kind::Bool)) return json.boolean ? "true" : "false";
  double number = 0;
  if (readNumber(json, number)) {
    std::ostringstream text;
    text << number;
    return text.str();
  }
  if (json.is(Json::Kind::Object) && json.members.size() == 1) {
    const Json& inner = json.members[0].second;
    return json.members[0].first + (inner.is(Json::Kind::String) ? " \"" + inner.text + "\"" : std::string());
  }
  return json.kindName();
}

/** Checks one argument against its type. */
class ArgumentCheck {
 public:
  ArgumentCheck(ProgramScope& scope, std::string where, std::string schema)
      : scope_(scope), where_(std::move(where)), schema_(std::move(schema)) {}

  CompiledArgument check(const Json& json, const Expected& expected) {
    if (const auto* optional = expected.type->castRaw<c10::OptionalType>()) {
      if (json.is(Json::Kind::Null)) return constant(c10::IValue());
      const auto* written = expected.written->castRaw<c10::OptionalType>();
      return check(json, {optional->getElementType(), written ? written->getElementType() : optional->getElementType(), expected.length});
    }
    CompiledArgument argument;
    c10::TypePtr type;
    if (scope_.resolve(json, argument, type, where_)) {
      if (argument.source == Source::Symbol) symbol(json, argument, expected);
      else if (type && !type->isSubtypeOf(*expected.type) && !isNumber(type, expected.type)) {
        fail(json, expected, " of the type " + type->annotation_str());
      }
      return argument;
    }
    return json.is(Json::Kind::Array) ? list(json, expected) : literal(json, expected);
  }

 private:
  [[noreturn]] void fail(const Json& json, const Expected& expected, const std::string& more = "") const {
    throw Fault(code::WRONG_ARGUMENT, where_ + " takes " + expected.written->annotation_str() + ", and is " + describe(json) + more + "; " + schema_);
  }

  static bool isNumber(const c10::TypePtr& type, const c10::TypePtr& expected) {
    const auto kind = type->kind();
    return expected->kind() == c10::TypeKind::NumberType &&
           (kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType || kind == c10::TypeKind::BoolType);
  }

  void symbol(const Json& json, CompiledArgument& argument, const Expected& expected) const {
    switch (expected.written->kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType: argument.number = Number::Int; return;
      case c10::TypeKind::FloatType: argument.number = Number::Float; return;
      case c10::TypeKind::NumberType: argument.number = Number::Scalar; return;
      case c10::TypeKind::ListType:
        if (expected.length > 0) {
          argument = repeated(argument, expected);
          return;
        }
        fail(json, expected);
      default: fail(json, expected);
    }
  }

  /** `int[2]` takes one number for both. */
  static CompiledArgument repeated(CompiledArgument item, const Expected& expected) {
    CompiledArgument argument;
    argument.source = Source::List;
    argument.elementType = plain(expected.type->castRaw<c10::ListType>()->getElementType());
    item.number = argument.elementType->kind() == c10::TypeKind::FloatType ? Number::Float : Number::Int;
    argument.items.assign(static_cast<std::size_t>(expected.length), item);
    return argument;
  }

  CompiledArgument list(const Json& json, const Expected& expected) {
    const auto* type = expected.type->castRaw<c10::ListType>();
    if (type == nullptr) fail(json, expected);
    const auto* written = expected.written->castRaw<c10::ListType>();
    const Expected item{type->getElementType(), written ? written->getElementType() : type->getElementType()};
    CompiledArgument argument;
    argument.source = Source::List;
    argument.elementType = plain(item.type);
    bool isConstant = true;
    for (const Json& element : json.items) {
      argument.items.push_back(check(element, item));
      isConstant = isConstant && argument.items.back().source == Source::Constant;
    }
    if (!isConstant) return argument;
    c10::impl::GenericList values(argument.elementType);
    values.reserve(argument.items.size());
    for (CompiledArgument& element : argument.items) values.push_back(std::move(element.constant));
    return constant(c10::IValue(std::move(values)));
  }

  CompiledArgument literal(const Json& json, const Expected& expected) {
    double number = 0;
    const bool isNumeric = readNumber(json, number);
    switch (expected.written->kind()) {
      case c10::TypeKind::IntType:
      case c10::TypeKind::SymIntType:
        if (isNumeric && isWhole(number)) return constant(c10::IValue(static_cast<std::int64_t>(number)));
        break;
      case c10::TypeKind::FloatType:
        if (isNumeric) return constant(c10::IValue(number));
        break;
      case c10::TypeKind::NumberType:
        if (isNumeric) return constant(scalarOf(number));
        if (json.is(Json::Kind::Bool)) return constant(c10::IValue(json.boolean));
        break;
      case c10::TypeKind::BoolType:
        if (json.is(Json::Kind::Bool)) return constant(c10::IValue(json.boolean));
        break;
      case c10::TypeKind::StringType:
        if (json.is(Json::Kind::String)) return constant(c10::IValue(json.text));
        break;
      case c10::TypeKind::ScalarTypeType: return elementType(json, expected);
      case c10::TypeKind::MemoryFormatType: return named(json, expected, {"contiguous", "preserve", "channels_last", "channels_last_3d"});
      case c10::TypeKind::LayoutType: return named(json, expected, {"strided"});
      case c10::TypeKind::DeviceObjType: fail(json, expected, " (leave it out: it is the accelerator that runs the operator)");
      case c10::TypeKind::ListType: return onlyNumber(json, expected);
      default: break;
    }
    fail(json, expected);
  }

  CompiledArgument onlyNumber(const Json& json, const Expected& expected) {
    double number = 0;
    if (expected.length <= 0 || !readNumber(json, number)) fail(json, expected);
    const c10::TypePtr type = plain(expected.type->castRaw<c10::ListType>()->getElementType());
    const Expected item{type, type};
    return repeated(check(json, item), expected);
  }

  CompiledArgument elementType(const Json& json, const Expected& expected) const {
    const Json* name = json.find("dtype");
    if (name == nullptr || !name->is(Json::Kind::String)) fail(json, expected, " (write { dtype: \"float32\" })");
    return constant(c10::IValue(static_cast<std::int64_t>(dtypeOf(name->text))));
  }

  CompiledArgument named(const Json& json, const Expected& expected, const std::vector<std::string>& names) const {
    std::string all;
    for (std::size_t index = 0; index < names.size(); index++) {
      if (json.is(Json::Kind::String) && json.text == names[index]) return constant(c10::IValue(static_cast<std::int64_t>(index)));
      all += (index == 0 ? "\"" : "\", \"") + names[index];
    }
    fail(json, expected, " (there are " + all + "\")");
  }

  ProgramScope& scope_;
  const std::string where_;
  const std::string schema_;
};

std::string textOf(const c10::FunctionSchema& schema) {
  std::ostringstream text;
  text << "schema: " << schema;
  return text.str();
}

/** What is left out: the device that runs it, the default, or a fault. */
CompiledArgument leftOut(const c10::Argument& argument, const std::string& where, const std::string& schema) {
  c10::TypePtr type = argument.type();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) type = optional->getElementType();
  if (type->kind() == c10::TypeKind::DeviceObjType) {
    CompiledArgument own;
    own.source = Source::OwnDevice;
    return own;
  }
  if (!argument.default_value()) throw Fault(code::WRONG_ARGUMENT, where + " is missing; " + schema);
  return constant(*argument.default_value());
}

const Json& emptyArray() {
  static const Json* empty = [] {
    auto* json = new Json();
    json->kind = Json::Kind::Array;
    return json;
  }();
  return *empty;
}

}  // namespace

std::vector<CompiledArgument> checkArguments(const Json& call, const c10::FunctionSchema& schema, ProgramScope& scope, const std::string& where) {
  const std::string text = textOf(schema);
  const Json* given = call.find("args");
  const Json& positional = given != nullptr ? *given : emptyArray();
  const Json* named = call.find("kwargs");
  if (!positional.is(Json::Kind::Array)) throw Fault(code::PROGRAM_INVALID, where + ": args is " + positional.kindName() + ", not a list");
  if (named != nullptr && !named->is(Json::Kind::Object)) throw Fault(code::PROGRAM_INVALID, where + ": kwargs is " + named->kindName());
  std::vector<CompiledArgument> arguments;
  std::size_t namedUsed = 0;
  std::size_t position = 0;
  for (const c10::Argument& argument : schema.arguments()) {
    const std::string here = where + ", argument \"" + argument.name() + "\"";
    const Json* byName = named != nullptr ? named->find(argument.name()) : nullptr;
    const Json* byPosition = !argument.kwarg_only() && position < positional.items.size() ? &positional.items[position] : nullptr;
    if (!argument.kwarg_only()) position++;
    if (byName != nullptr) namedUsed++;
    if (byName != nullptr && byPosition != nullptr) throw Fault(code::WRONG_ARGUMENT, here + " is given twice; " + text);
    const Json* json = byName != nullptr ? byName : byPosition;
    if (json == nullptr) {
      arguments.push_back(leftOut(argument, here, text));
      continue;
    }
    ArgumentCheck check(scope, here, text);
    arguments.push_back(check.check(*json, {argument.type(), argument.real_type(), argument.N().value_or(-1)}));
  }
  if (position < positional.items.size()) {
    throw Fault(code::WRONG_ARGUMENT, where + " takes at most " + std::to_string(position) + " positional arguments, got " +
                                          std::to_string(positional.items.size()) + "; " + text);
  }
  if (named != nullptr && namedUsed != named->members.size()) {
    for (const auto& member : named->members) {
      if (!schema.argumentIndexWithName(member.first)) {
        throw Fault(code::WRONG_ARGUMENT, where + " has no argument \"" + member.first + "\"; " + text);
      }
    }
  }
  return arguments;
}

CompiledArgument checkTensor(const Json& json, ProgramScope& scope, const std::string& where) {
  ArgumentCheck check(scope, where, "a tensor: { value }, { input } or { weight }");
  return check.check(json, {c10::TensorType::get(), c10::TensorType::get()});
}

CompiledArgument checkFree(const Json& json, ProgramScope& scope, const std::string& where) {
  CompiledArgument argument;
  c10::TypePtr type;
  if (scope.resolve(json, argument, type, where)) return argument;
  double number = 0;
  if (readNumber(json, number)) return constant(scalarOf(number));
  switch (json.kind) {
    case Json::Kind::Null: return constant(c10::IValue());
    case Json::Kind::Bool: return constant(c10::IValue(json.boolean));
    case Json::Kind::String: return constant(c10::IValue(json.text));
    case Json::Kind::Array: break;
    default: throw Fault(code::WRONG_ARGUMENT, where + " is " + describe(json) + ", which a module cannot be given");
  }
  // A list of a module is of tensors or of whole numbers; its first element tells which.
  argument.source = Source::List;
  argument.elementType = c10::TensorType::get();
  for (const Json& item : json.items) {
    argument.items.push_back(checkFree(item, scope, where));
    CompiledArgument& last = argument.items.back();
    if (last.source == Source::Symbol) last.number = Number::Int;
    const bool isInt = last.source == Source::Symbol || (last.source == Source::Constant && last.constant.isInt());
    if (argument.items.size() == 1 && isInt) argument.elementType = c10::IntType::get();
    const bool isTensor = last.source == Source::Value || last.source == Source::Input || last.source == Source::Weight;
    if (argument.elementType->kind() == c10::TypeKind::IntType ? !isInt : !isTensor) {
      throw Fault(code::WRONG_ARGUMENT, where + " is a list that is neither all tensors nor all whole numbers");
    }
  }
  return argument;
}

}  // namespace slice
