#include <ATen/ops/alias.h>
#include <ATen/ops/clone.h>
#include <c10/core/MemoryFormat.h>

#include <cmath>
#include <optional>

#include "dtype.h"
#include "fault.h"
#include "marks.h"
#include "program.h"
#include "program_compiled.h"
#include "program_guard.h"
#include "script.h"

namespace slice {
namespace {

using Source = CompiledArgument::Source;
using Number = CompiledArgument::Number;
using Kind = CompiledCall::Kind;

constexpr double WHOLE_MAX = 9007199254740991.0;

std::size_t slot(int index) { return static_cast<std::size_t>(index); }

/** One run: the values that are alive. */
class Run {
 public:
  Run(const CompiledProgram& program, Invocation& invocation) : program_(program), invocation_(invocation), values_(program.valueCount) {}

  std::vector<at::Tensor> outputs() {
    prepare();
    for (const CompiledCall& call : program_.calls) {
      if (invocation_.stop != nullptr && *invocation_.stop) throw Fault(code::STOPPED, program_.name + " was told to end");
      try {
        carryOut(call);
      } catch (...) {
        const Fault fault = currentFault();
        throw Fault(fault.code, call.label + ": " + fault.what());
      }
    }
    std::vector<at::Tensor> outputs;
    outputs.reserve(program_.outputs.size());
    for (const CompiledOutput& output : program_.outputs) {
      c10::IValue value = evaluate(output.value);
      if (!value.isTensor()) throw Fault(code::OUTPUT_MISMATCH, nameOf(output) + " is no tensor, but " + value.tagKind());
      outputs.push_back(std::move(value).toTensor());
    }
    values_.clear();
    for (std::size_t index = 0; index < outputs.size(); index++) finish(program_.outputs[index], outputs[index]);
    invocation_.inputs.clear();
    return outputs;
  }

 private:
  void prepare() {
    takeWentOver();
    if (invocation_.inputs.size() < program_.inputCount) {
      throw Fault(code::PROGRAM_INVALID, program_.name + " reads " + std::to_string(program_.inputCount) + " inputs, and " +
                                             std::to_string(invocation_.inputs.size()) + " are there");
    }
    if (invocation_.symbols.size() != program_.symbols.size()) {
      throw Fault(code::PROGRAM_INVALID, program_.name + " takes " + std::to_string(program_.symbols.size()) + " values of symbols, got " +
                                             std::to_string(invocation_.symbols.size()));
    }
    weights_.reserve(program_.weightNames.size());
    for (const std::string& name : program_.weightNames) {
      const at::Tensor* found = nullptr;
      for (const WeightSet* set : invocation_.weights) {
        if (found == nullptr && set != nullptr) found = set->find(name);
      }
      if (found == nullptr) throw Fault(code::WEIGHTS_MISSING, program_.name + " reads the weight \"" + name + "\", which its weights do not have");
      weights_.push_back(found);
    }
    keepContinued();
    if (program_.writes) guard_.emplace(program_, weights_, invocation_.inputs);
  }

  /** The program has its own handles of these, so that nothing it does to them (`aten::set_`, `aten::resize_`) moves the operator's tensor. */
  void keepContinued() {
    continued_.resize(program_.inputCount);
    for (const CompiledOutput& output : program_.outputs) {
      if (output.aliases < 0 || continued_[slot(output.aliases)].defined()) continue;
      at::Tensor& input = invocation_.inputs[slot(output.aliases)];
      if (!input.defined()) continue;
      // Others may be reading the buffer.
      if (program_.writes && input.storage().resizable()) input.storage().unsafeGetStorageImpl()->set_resizable(false);
      continued_[slot(output.aliases)] = input;
      if (program_.writes) input = at::alias(input);
    }
  }

  void carryOut(const CompiledCall& call) {
    switch (call.kind) {
      case Kind::Operator: return callOperator(call);
      case Kind::Feed: return feed(call);
      case Kind::Fetch: return fetch(call);
      case Kind::Script: return callScript(call);
    }
  }

  void callOperator(const CompiledCall& call) {
    pushArguments(call);
    if (!call.written.empty()) guard_->check(call, stack_);
    call.op->callBoxed(stack_);
    if (call.unpacksList) unpack(call);
    keepResults(call);
    MemoryPool& memory = invocation_.device.memory();
    if (memory.usedBytes() > memory.capBytes()) {
      throw Fault(code::OUT_OF_MEMORY, memory.name() + ": " + std::to_string(memory.usedBytes()) + " of " + std::to_string(memory.capBytes()) + " bytes in use");
    }
  }

  void pushArguments(const CompiledCall& call) {
    stack_.clear();
    stack_.reserve(call.arguments.size());
    for (const CompiledArgument& argument : call.arguments) stack_.push_back(evaluate(argument));
  }

  /** Results that nobody reads go at once. */
  void keepResults(const CompiledCall& call) {
    for (std::size_t index = 0; index < call.results.size(); index++) {
      if (call.results[index] >= 0) values_[slot(call.results[index])] = std::move(stack_.at(index));
    }
    stack_.clear();
  }

  void unpack(const CompiledCall& call) {
    auto list = std::move(stack_.at(0)).toList();
    if (list.size() != call.results.size()) {
      throw Fault(code::WRONG_ARGUMENT, "gave " + std::to_string(list.size()) + " results, and " + std::to_string(call.results.size()) + " are named");
    }
    stack_.clear();
    for (std::size_t index = 0; index < list.size(); index++) stack_.push_back(list.get(index));
  }

  void feed(const CompiledCall& call) {
    const auto found = invocation_.feeds == nullptr ? Feeds::const_iterator() : invocation_.feeds->find(call.name);
    if (invocation_.feeds == nullptr || found == invocation_.feeds->end()) {
      throw Fault(code::FEED_MISSING, "no such data were given for this instance");
    }
    const at::Tensor& host = found->second;
    const std::string difference = unlike(call.fed, host);
    if (!difference.empty()) throw Fault(code::FEED_MISMATCH, difference);
    at::Tensor tensor = emptyLike(host, invocation_.device);
    copyFromHost(host.data_ptr(), host.nbytes(), tensor, invocation_.device);
    if (!call.results.empty() && call.results[0] >= 0) values_[slot(call.results[0])] = std::move(tensor);
  }

  void fetch(const CompiledCall& call) {
    const c10::IValue value = evaluate(call.arguments[0]);
    if (!value.isTensor()) throw Fault(code::WRONG_ARGUMENT, "it is no tensor, but " + value.tagKind());
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) throw Fault(code::WRONG_ARGUMENT, "it is no tensor, but nothing");
    if (!isDense(tensor)) throw Fault(code::WRONG_ARGUMENT, c10::str("it is ", tensor.layout(), ", and only dense tensors are fetched: aten::to_dense"));
    if (!isNamed(tensor.scalar_type())) {
      throw Fault(code::DTYPE_UNSUPPORTED, "it is " + dtypeName(tensor.scalar_type()) + ", which is no element type of host data: convert it first");
    }
    if (invocation_.fetched != nullptr) invocation_.fetched->push_back({call.name, toHost(tensor, invocation_.device)});
  }

  void callScript(const CompiledCall& call) {
    ScriptModule* module = nullptr;
    for (const WeightSet* set : invocation_.weights) {
      if (module == nullptr && set != nullptr) module = set->findScript(call.name);
    }
    if (module == nullptr) throw Fault(code::WEIGHTS_MISSING, "the operator's weights have no such module");
    pushArguments(call);
    if (guard_) guard_->add(*module);
    std::vector<c10::IValue> results = callMethod(*module, call.method, std::move(stack_));
    if (results.size() < call.results.size()) {
      throw Fault(code::WRONG_ARGUMENT, "gave " + std::to_string(results.size()) + " results, and " + std::to_string(call.results.size()) + " are named");
    }
    stack_ = std::move(results);
    keepResults(call);
  }

  c10::IValue evaluate(const CompiledArgument& argument) {
    switch (argument.source) {
      case Source::Constant: return argument.constant;
      case Source::Value: return argument.isLast ? std::move(values_[slot(argument.index)]) : values_[slot(argument.index)];
      case Source::Input: {
        at::Tensor& input = invocation_.inputs[slot(argument.index)];
        return argument.isLast ? c10::IValue(std::move(input)) : c10::IValue(input);
      }
      case Source::Weight: return c10::IValue(*weights_[slot(argument.index)]);
      case Source::Symbol: return number(argument);
      case Source::OwnDevice: return c10::IValue(invocation_.device.target());
      case Source::List: break;
    }
    c10::impl::GenericList list(argument.elementType);
    list.reserve(argument.items.size());
    for (const CompiledArgument& item : argument.items) list.push_back(evaluate(item));
    return c10::IValue(std::move(list));
  }

  c10::IValue number(const CompiledArgument& argument) const {
    const double value = invocation_.symbols[slot(argument.index)];
    if (argument.number == Number::Float) return c10::IValue(value);
    if (std::trunc(value) == value && std::abs(value) <= WHOLE_MAX) return c10::IValue(static_cast<std::int64_t>(value));
    if (argument.number == Number::Scalar) return c10::IValue(value);
    throw Fault(code::WRONG_ARGUMENT, program_.symbols[slot(argument.index)] + " is " + std::to_string(value) + ", and has to be whole");
  }

  std::string nameOf(const CompiledOutput& output) const { return program_.name + ", output \"" + output.name + "\""; }

  static bool isDense(const at::Tensor& tensor) { return tensor.layout() == at::kStrided && tensor.has_storage() && !tensor.is_nested(); }

  /** What is wrong with a tensor, or "". */
  std::string unlike(const CompiledTensor& declared, const at::Tensor& tensor) const {
    std::vector<std::int64_t> shape;
    for (const CompiledDimension& dimension : declared.shape) {
      shape.push_back(dimension.symbol < 0 ? dimension.size : static_cast<std::int64_t>(invocation_.symbols[slot(dimension.symbol)]));
    }
    if (tensor.defined() && tensor.scalar_type() == declared.dtype && tensor.sizes() == at::IntArrayRef(shape)) return "";
    const std::string found = tensor.defined() ? c10::str(dtypeName(tensor.scalar_type()), " ", tensor.sizes()) : std::string("nothing");
    return c10::str(dtypeName(declared.dtype), " ", at::IntArrayRef(shape), " is declared, and it is ", found);
  }

  /** Checks an output against its declaration, and gives it storage of its own. */
  void finish(const CompiledOutput& output, at::Tensor& tensor) {
    if (tensor.defined() && !isDense(tensor)) throw Fault(code::OUTPUT_MISMATCH, c10::str(nameOf(output), " is ", tensor.layout(), ", and has to be dense"));
    const std::string difference = unlike(output.declared, tensor);
    if (!difference.empty()) throw Fault(code::OUTPUT_MISMATCH, nameOf(output) + ": " + difference);
    if (tensor.device() != invocation_.device.target()) {
      throw Fault(code::OUTPUT_MISMATCH, nameOf(output) + " is on " + tensor.device().str() + ", not on " + invocation_.device.name());
    }
    if (output.aliases >= 0 && continues(output, tensor)) return;
    const bool isOwn = tensor.use_count() == 1 && tensor.storage().use_count() == 1 && tensor.is_contiguous() &&
                       tensor.storage().nbytes() == tensor.nbytes() && isPlain(tensor);
    if (!isOwn) tensor = at::clone(tensor, c10::MemoryFormat::Contiguous);
  }

  /** Whether it is its input's buffer, which has to be so where there is one. */
  bool continues(const CompiledOutput& output, const at::Tensor& tensor) const {
    const at::Tensor& input = continued_[slot(output.aliases)];
    if (!input.defined() || input.storage().nbytes() == 0) return false;
    const bool isSame = tensor.storage().unsafeGetStorageImpl() == input.storage().unsafeGetStorageImpl() && tensor.is_contiguous() && isPlain(tensor) &&
                        tensor.storage_offset() == 0 && tensor.nbytes() <= tensor.storage().nbytes();
    if (isSame) return true;
    throw Fault(code::OUTPUT_MISMATCH, nameOf(output) + " continues input " + std::to_string(output.aliases) +
                                           ", and has to be that tensor, written in place (aten::copy_ into a slice; aten::as_strided where it is larger)");
  }

  const CompiledProgram& program_;
  Invocation& invocation_;
  std::vector<c10::IValue> values_;
  std::vector<const at::Tensor*> weights_;
  /** Per input that an output continues, the tensor as it was given. */
  std::vector<at::Tensor> continued_;
  /** Where the program writes to anything. */
  std::optional<WriteGuard> guard_;
  std::vector<c10::IValue> stack_;
};

}  // namespace

Program::Program(std::unique_ptr<const CompiledProgram> compiled) : compiled_(std::move(compiled)) {}

Program::~Program() = default;

std::vector<at::Tensor> Program::run(Invocation& invocation) const {
  try {
    return Run(*compiled_, invocation).outputs();
  } catch (const Fault&) {
    invocation.inputs.clear();
    throw;
  } catch (...) {
    invocation.inputs.clear();
    throw currentFault();
  }
}

const std::vector<std::string>& Program::symbols() const { return compiled_->symbols; }
const std::vector<std::string>& Program::weightNames() const { return compiled_->weightNames; }
const std::vector<std::string>& Program::feedNames() const { return compiled_->feedNames; }
std::size_t Program::inputCount() const { return compiled_->inputCount; }

}  // namespace slice
