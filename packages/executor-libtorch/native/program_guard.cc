#include "program_guard.h"

#include <algorithm>

#include "fault.h"

namespace slice {
namespace {

using Source = CompiledArgument::Source;

/** An operator that writes to arguments which its schema does not mark. */
struct Unmarked {
  const char* name;
  std::vector<const char*> arguments;
  /** The argument without which it does not write, or null. */
  const char* onlyIf;
};

const std::vector<Unmarked>& unmarked() {
  static const std::vector<const char*> statistics{"running_mean", "running_var"};
  static const std::vector<Unmarked> all{
      {"aten::batch_norm", statistics, "training"},
      {"aten::native_batch_norm", statistics, "training"},
      {"aten::_batch_norm_impl_index", statistics, "training"},
      {"aten::cudnn_batch_norm", statistics, "training"},
      {"aten::miopen_batch_norm", statistics, "training"},
      {"aten::instance_norm", statistics, "use_input_stats"},
      {"aten::batch_norm_update_stats", statistics, nullptr},
      {"aten::batch_norm_gather_stats", statistics, nullptr},
      {"aten::batch_norm_gather_stats_with_counts", statistics, nullptr},
      {"aten::rrelu_with_noise", {"noise"}, "training"},
      {"aten::_cudnn_rnn_flatten_weight", {"weight_arr"}, nullptr},
  };
  return all;
}

bool isFalse(const c10::FunctionSchema& schema, const std::vector<CompiledArgument>& arguments, const char* name) {
  const auto index = schema.argumentIndexWithName(name);
  if (!index) return false;
  const CompiledArgument& argument = arguments[static_cast<std::size_t>(*index)];
  return argument.source == Source::Constant && argument.constant.isBool() && !argument.constant.toBool();
}

bool isMarked(const c10::AliasInfo* info) {
  if (info == nullptr) return false;
  const auto& items = info->containedTypes();
  return info->isWrite() || std::any_of(items.begin(), items.end(), [](const c10::AliasInfo& item) { return isMarked(&item); });
}

bool isText(const c10::TypePtr& type) {
  const auto* optional = type->castRaw<c10::OptionalType>();
  return (optional == nullptr ? type : optional->getElementType())->kind() == c10::TypeKind::StringType;
}

std::string nameOf(const CompiledCall& call, int argument) {
  return "argument \"" + call.op->schema().arguments()[static_cast<std::size_t>(argument)].name() + "\" is written to, and ";
}

std::string ofWeight(const CompiledProgram& program, int weight) {
  return "the weight \"" + program.weightNames[static_cast<std::size_t>(weight)] + "\" or a view of it: clone it first";
}

std::string ofInput(int input) {
  return "input " + std::to_string(input) + " or a view of it, which no output aliases: declare that, or clone it first";
}

}  // namespace

std::vector<int> writtenArguments(const c10::FunctionSchema& schema, const std::vector<CompiledArgument>& arguments) {
  const Unmarked* rule = nullptr;
  for (const Unmarked& each : unmarked()) {
    if (schema.name() == each.name && (each.onlyIf == nullptr || !isFalse(schema, arguments, each.onlyIf))) rule = &each;
  }
  std::vector<int> written;
  for (std::size_t index = 0; index < schema.arguments().size(); index++) {
    const c10::Argument& argument = schema.arguments()[index];
    const auto isNamed = [&](const char* name) { return argument.name() == name; };
    const bool isUnmarked = rule != nullptr && std::any_of(rule->arguments.begin(), rule->arguments.end(), isNamed);
    if (isUnmarked || isMarked(argument.alias_info())) written.push_back(static_cast<int>(index));
  }
  return written;
}

void checkWritten(const CompiledCall& call, const ProgramScope& scope) {
  const CompiledProgram& program = scope.program();
  for (const int argument : call.written) {
    const Origin origin = scope.originOf(call.arguments[static_cast<std::size_t>(argument)]);
    const std::string where = call.label + ", " + nameOf(call, argument) + "may be ";
    if (!origin.weights.empty()) throw Fault(code::WRONG_ARGUMENT, where + ofWeight(program, *origin.weights.begin()));
    for (const int input : origin.inputs) {
      if (!program.continues(input)) throw Fault(code::WRONG_ARGUMENT, where + ofInput(input));
    }
  }
}

void checkTouchesNoFiles(const c10::FunctionSchema& schema, const std::string& where) {
  for (const c10::Argument& argument : schema.arguments()) {
    if (!isText(argument.type()) || argument.name().find("file") == std::string::npos) continue;
    throw Fault(code::PROGRAM_INVALID, where + " opens a file (its argument \"" + argument.name() +
                                           "\"), which programs may not: give it as weights, or as host data");
  }
}

WriteGuard::WriteGuard(const CompiledProgram& program, const std::vector<const at::Tensor*>& weights, const std::vector<at::Tensor>& inputs)
    : program_(program), weights_(weights) {
  inputs_.reserve(inputs.size());
  for (const at::Tensor& input : inputs) {
    if (input.defined() && input.has_storage()) inputs_.push_back(input.storage().getWeakStorageImpl());
    else inputs_.emplace_back(c10::intrusive_ptr<c10::StorageImpl>());
  }
}

void WriteGuard::check(const CompiledCall& call, const std::vector<c10::IValue>& arguments) const {
  for (const int argument : call.written) checkValue(arguments.at(static_cast<std::size_t>(argument)), call, argument);
}

void WriteGuard::checkValue(const c10::IValue& value, const CompiledCall& call, int argument) const {
  if (value.isTensor()) checkTensor(value.toTensor(), call, argument);
  if (!value.isList()) return;
  for (const c10::IValue& item : value.toListRef()) checkValue(item, call, argument);
}

void WriteGuard::checkTensor(const at::Tensor& tensor, const CompiledCall& call, int argument) const {
  if (!tensor.defined()) return;
  if (tensor.layout() == at::kSparse) {
    checkTensor(tensor._indices(), call, argument);
    checkTensor(tensor._values(), call, argument);
    return;
  }
  if (tensor.layout() != at::kStrided || !tensor.has_storage() || tensor.is_nested()) {
    throw Fault(code::WRONG_ARGUMENT, nameOf(call, argument) + "has no one buffer: only dense and COO tensors can be written in place");
  }
  const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  for (std::size_t weight = 0; weight < weights_.size(); weight++) {
    if (weights_[weight]->storage().unsafeGetStorageImpl() != storage) continue;
    throw Fault(code::WRONG_ARGUMENT, nameOf(call, argument) + "is " + ofWeight(program_, static_cast<int>(weight)));
  }
  int read = -1;
  for (std::size_t input = 0; input < inputs_.size(); input++) {
    if (inputs_[input]._unsafe_get_target() != storage) continue;
    // One tensor may be several inputs, and an output continue one of them.
    if (program_.continues(static_cast<int>(input))) return;
    read = static_cast<int>(input);
  }
  if (read >= 0) throw Fault(code::WRONG_ARGUMENT, nameOf(call, argument) + "is " + ofInput(read));
  for (const ScriptModule* module : scripts_) {
    if (isOfScript(*module, storage)) throw Fault(code::WRONG_ARGUMENT, nameOf(call, argument) + "is a tensor of the module: clone it first");
  }
}

}  // namespace slice
