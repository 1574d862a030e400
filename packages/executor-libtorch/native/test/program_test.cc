#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <cstdio>

#include "../fault.h"
#include "check.h"

using namespace slice;
using namespace slice::test;

namespace {

std::string output(const std::string& value, const std::string& shape, const std::string& more = "", const std::string& dtype = "float32") {
  return R"({"name":"out","value":)" + value + R"(,"dtype":")" + dtype + R"(","shape":)" + shape + more + "}";
}

const std::string VALUE = R"({"value":"y"})";

std::vector<float> runOne(const Program& program, std::vector<at::Tensor> inputs, Device& device, std::vector<double> symbols = {}) {
  Invocation invocation{device, std::move(inputs), std::move(symbols), {}};
  return numbersOf(program.run(invocation).at(0), device);
}

/** A program of one call whose result has the shape of its only input, [2, 3]. */
std::shared_ptr<const Program> unary(const std::string& call) { return program(call, output(VALUE, "[2,3]"), 1); }

/** Whether a program has a way to write an argument of the type. */
bool isWritable(const c10::TypePtr& type) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType: return true;
    case c10::TypeKind::ListType: return isWritable(type->castRaw<c10::ListType>()->getElementType());
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::NumberType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
    case c10::TypeKind::ScalarTypeType:
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
    case c10::TypeKind::DeviceObjType: return true;
    default: return false;
  }
}

}  // namespace

TEST("program: nearly every ATen operator takes only what a program can give it") {
  std::size_t all = 0;
  std::string others;
  std::size_t othersCount = 0;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op.has_value() || name.name.rfind("aten::", 0) != 0) continue;
    all++;
    bool isCallable = true;
    for (const c10::Argument& argument : op->schema().arguments()) {
      isCallable = isCallable && (argument.default_value().has_value() || isWritable(argument.real_type()));
    }
    if (isCallable) continue;
    othersCount++;
    others += " " + name.name + "." + name.overload_name;
  }
  std::printf("        %zu of %zu ATen operators; not:%s\n", all - othersCount, all, others.c_str());
  EXPECT(all > 1500);
  EXPECT(othersCount * 50 < all);
}

TEST("program: arguments of every kind reach the kernel") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor x = tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, *device);
  const auto run = [&](const std::string& call) { return runOne(*unary(call), {x}, *device); };
  const std::vector<float> doubled{2, 4, 6, 8, 10, 12};
  EXPECT_SAME(run(R"({"op":"aten::mul.Scalar","args":[{"input":0},2],"results":["y"]})"), doubled);
  EXPECT_SAME(run(R"({"op":"aten::add.Tensor","args":[{"input":0},{"input":0}],"results":["y"]})"), doubled);
  EXPECT_SAME(run(R"({"op":"aten::add.Tensor","args":[{"input":0},{"input":0}],"kwargs":{"alpha":0},"results":["y"]})"),
             (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_SAME(run(R"({"op":"aten::flip","args":[{"input":0},[0,1]],"results":["y"]})"), (std::vector<float>{6, 5, 4, 3, 2, 1}));
  EXPECT_SAME(run(R"({"op":"aten::clamp","kwargs":{"self":{"input":0},"max":2.5},"results":["y"]})"),
             (std::vector<float>{1, 2, 2.5, 2.5, 2.5, 2.5}));
  EXPECT_SAME(run(R"({"op":"aten::sum.dim_IntList","args":[{"input":0},[1],true],"results":["s"]},
                   {"op":"aten::mul.Tensor","args":[{"input":0},{"value":"s"}],"results":["y"]})"),
             (std::vector<float>{6, 12, 18, 60, 75, 90}));
  EXPECT_SAME(run(R"({"op":"aten::div.Tensor_mode","args":[{"input":0},{"input":0}],"kwargs":{"rounding_mode":"floor"},"results":["y"]})"),
             (std::vector<float>{1, 1, 1, 1, 1, 1}));
  EXPECT_SAME(run(R"({"op":"aten::gt.Scalar","args":[{"input":0},4],"results":["m"]},
                   {"op":"aten::masked_fill.Scalar","args":[{"input":0},{"value":"m"},{"number":"-Infinity"}],"results":["f"]},
                   {"op":"aten::exp","args":[{"value":"f"}],"results":["e"]},{"op":"aten::sign","args":[{"value":"e"}],"results":["y"]})"),
             (std::vector<float>{1, 1, 1, 1, 0, 0}));
}

TEST("program: lists of tensors, optional tensors in lists, results that are lists, several results") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor x = tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, *device);
  const auto run = [&](const std::string& call, const std::string& shape) { return runOne(*program(call, output(VALUE, shape), 1), {x}, *device); };
  EXPECT_SAME(run(R"({"op":"aten::cat","args":[[{"input":0},{"input":0}],1],"results":["y"]})", "[2,6]"),
             (std::vector<float>{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_SAME(run(R"({"op":"aten::arange.start_step","args":[2,-1,-1],"kwargs":{"dtype":{"dtype":"int64"}},"results":["i"]},
                   {"op":"aten::index.Tensor","args":[{"input":0},[null,{"value":"i"}]],"results":["y"]})", "[2,3]"),
             (std::vector<float>{3, 2, 1, 6, 5, 4}));
  EXPECT_SAME(run(R"({"op":"aten::split.Tensor","args":[{"input":0},1],"results":["a","b"]},
                   {"op":"aten::sub.Tensor","args":[{"value":"b"},{"value":"a"}],"results":["y"]})", "[1,3]"), (std::vector<float>{3, 3, 3}));
  EXPECT_SAME(run(R"({"op":"aten::split.Tensor","args":[{"input":0},1],"results":["all"]},
                   {"op":"aten::cat","args":[{"value":"all"},1],"results":["y"]})", "[1,6]"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_SAME(run(R"({"op":"aten::max.dim","args":[{"input":0},1],"results":["y",null]})", "[2]"), (std::vector<float>{3, 6}));
  EXPECT_SAME(run(R"({"op":"aten::topk","args":[{"input":0},2],"results":[null,"i"]},
                   {"op":"aten::_to_copy","args":[{"value":"i"}],"kwargs":{"dtype":{"dtype":"float32"}},"results":["y"]})", "[2,2]"),
             (std::vector<float>{2, 1, 2, 1}));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "gave 2 results, and 3 are named",
              run(R"({"op":"aten::split.Tensor","args":[{"input":0},1],"results":["a","b","y"]})", "[1,3]"));
}

TEST("program: symbols are numbers of the kind that the schema takes") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor x = tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, *device);
  const auto narrow = program(R"({"op":"aten::slice.Tensor","args":[{"input":0},1,{"symbol":0},{"symbol":1}],"results":["s"]},
                                 {"op":"aten::mul.Scalar","args":[{"value":"s"},{"symbol":1}],"results":["y"]})",
                              output(VALUE, R"([2,{"symbol":2}])"), 1, R"("from","to","to - from")");
  EXPECT_SAME(runOne(*narrow, {x}, *device, {1, 3, 2}), (std::vector<float>{6, 9, 15, 18}));
  EXPECT_SAME(runOne(*narrow, {x}, *device, {0, 1, 1}), (std::vector<float>{1, 4}));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "from is 0.5", runOne(*narrow, {x}, *device, {0.5, 1, 1}));
  EXPECT_FAULT(code::PROGRAM_INVALID, "3 values of symbols", runOne(*narrow, {x}, *device, {0.5, 1}));
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "float32 [2, 2] is declared, and it is float32 [2, 1]", runOne(*narrow, {x}, *device, {0, 1, 2}));
  const auto full = program(R"({"op":"aten::full","args":[[{"symbol":0},2],{"symbol":1}],"kwargs":{"dtype":{"dtype":"float32"}},"results":["y"]})", output(VALUE, R"([{"symbol":0},2])"), 0, R"("n","v")");
  EXPECT_SAME(runOne(*full, {}, *device, {1, 7}), (std::vector<float>{7, 7}));
}

TEST("program: unknown names are told with what is near") {
  const auto compile = [](const std::string& op) { unary(R"({"op":")" + op + R"(","args":[{"input":0}],"results":["y"]})"); };
  EXPECT_FAULT(code::UNKNOWN_OPERATOR, "aten::relu", compile("aten::rellu"));
  EXPECT_FAULT(code::UNKNOWN_OPERATOR, "aten::add.Tensor", compile("aten::add"));
  EXPECT_FAULT(code::UNKNOWN_OPERATOR, "aten::add.Tensor", compile("aten::add.Tensorr"));
  EXPECT_FAULT(code::UNKNOWN_OPERATOR, "aten::mm", compile("mm"));
  EXPECT_FAULT(code::UNKNOWN_OPERATOR, "\"\"", compile(""));
}

TEST("program: wrong arguments are refused when it is compiled, with the schema") {
  const auto compile = [](const std::string& call) { unary(call); };
  const std::string schema = "schema: aten::";
  EXPECT_FAULT(code::WRONG_ARGUMENT, "argument \"mat2\" is missing", compile(R"({"op":"aten::mm","args":[{"input":0}],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, schema, compile(R"({"op":"aten::mm","args":[{"input":0},3],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "at most 2 positional", compile(R"({"op":"aten::mm","args":[{"input":0},{"input":0},1],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "no argument \"beta\"", compile(R"({"op":"aten::mm","args":[{"input":0},{"input":0}],"kwargs":{"beta":1},"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "given twice", compile(R"({"op":"aten::mm","args":[{"input":0},{"input":0}],"kwargs":{"mat2":{"input":0}},"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "takes int", compile(R"({"op":"aten::softmax.int","args":[{"input":0},0.5],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "takes int", compile(R"({"op":"aten::softmax.int","args":[{"input":0},"0"],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "is true", compile(R"({"op":"aten::softmax.int","args":[{"input":0},true],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "write { dtype:", compile(R"({"op":"aten::softmax.int","args":[{"input":0},0,6],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "leave it out", compile(R"({"op":"aten::zeros","args":[[2,3]],"kwargs":{"device":"cpu"},"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "takes Tensor", compile(R"({"op":"aten::cat","args":[[{"input":0},2]],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "of the type", compile(R"({"op":"aten::split.Tensor","args":[{"input":0},1],"results":["l"]},
                                                             {"op":"aten::relu","args":[{"value":"l"}],"results":["y"]})"));
  EXPECT_FAULT(code::DTYPE_UNSUPPORTED, "float12", compile(R"({"op":"aten::softmax.int","args":[{"input":0},0,{"dtype":"float12"}],"results":["y"]})"));
}

TEST("program: what is wrong in itself is refused when it is compiled") {
  const auto compile = [](const std::string& call) { unary(call); };
  EXPECT_FAULT(code::PROGRAM_INVALID, "no earlier call has the result \"z\"", compile(R"({"op":"aten::relu","args":[{"value":"z"}],"results":["y"]})"));
  EXPECT_FAULT(code::PROGRAM_INVALID, "no earlier call has the result \"y\"", compile(R"({"op":"aten::relu","args":[{"input":0}]})"));
  EXPECT_FAULT(code::PROGRAM_INVALID, "below 1", compile(R"({"op":"aten::relu","args":[{"input":1}],"results":["y"]})"));
  EXPECT_FAULT(code::PROGRAM_INVALID, "already", compile(R"({"op":"aten::relu","args":[{"input":0}],"results":["y"]},{"op":"aten::relu","args":[{"input":0}],"results":["y"]})"));
  EXPECT_FAULT(code::PROGRAM_INVALID, "1 results, and 2 are named", compile(R"({"op":"aten::relu","args":[{"input":0}],"results":["y","z"]})"));
  EXPECT_FAULT(code::PROGRAM_INVALID, "none of op, feed, fetch and script", compile(R"({"run":"x"})"));
  EXPECT_FAULT(code::PROGRAM_INVALID, "call 0 is a number", compile("3"));
  EXPECT_FAULT(code::JSON_INVALID, "byte", compile("{"));
}

TEST("program: 1,500 mutations of a program compile or are refused") {
  const std::string whole =
      R"({"name":"t","inputs":2,"symbols":["n","m"],"calls":[{"op":"aten::slice.Tensor","args":[{"input":0},0,{"symbol":0},null,1],"results":["s"]},)"
      R"({"op":"aten::cat","args":[[{"value":"s"},{"input":1},{"weight":"w"}],0],"results":["c"]},{"feed":"x","results":["x"],"dtype":"int64","shape":[{"symbol":1}]},)"
      R"({"op":"aten::_to_copy","args":[{"value":"c"}],"kwargs":{"dtype":{"dtype":"float32"}},"results":["y"]},{"fetch":"f","args":[{"value":"y"}]},)"
      R"({"script":"b","method":"f","args":[{"value":"y"},[1,{"symbol":0}]],"results":["z",null]}],)"
      R"("outputs":[{"name":"o","value":{"value":"y"},"dtype":"float32","shape":[{"symbol":0},4],"aliases":null}]})";
  Program::compile(whole);
  Random random(7);
  int compiled = 0;
  int refused = 0;
  for (int round = 0; round < 1500; round++) {
    std::string text = whole;
    for (std::uint64_t change = 0; change <= random.below(2); change++) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0: text[at] = static_cast<char>('!' + random.below(90)); break;
        case 1: text[at] = static_cast<char>('0' + random.below(10)); break;
        case 2: text.erase(at, 1 + random.below(6)); break;
        default: text.insert(at, text.substr(random.below(text.size()), random.below(12)));
      }
    }
    try {
      Program::compile(text);
      compiled++;
    } catch (const Fault&) {
      refused++;
    }
  }
  EXPECT(compiled > 0 && refused > 0);
}

TEST("program: a weight, and an input that no output continues, cannot be written to, nor views of them") {
  const auto compile = [](const std::string& call) { unary(call); };
  EXPECT_FAULT(code::WRONG_ARGUMENT, "the weight \"w\"", compile(R"({"op":"aten::add_.Scalar","args":[{"weight":"w"},1],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "no output aliases", compile(R"({"op":"aten::add_.Scalar","args":[{"input":0},1],"results":["y"]})"));
  EXPECT_FAULT(code::WRONG_ARGUMENT, "no output aliases", compile(R"({"op":"aten::slice.Tensor","args":[{"input":0},1,0,1],"results":["v"]},
                                                                   {"op":"aten::view","args":[{"value":"v"},[2]],"results":["u"]},
                                                                   {"op":"aten::fill_.Scalar","args":[{"value":"u"},1],"results":["y"]})"));
  compile(R"({"op":"aten::clone","args":[{"input":0}],"results":["c"]},{"op":"aten::add_.Scalar","args":[{"value":"c"},1],"results":["y"]})");
}

TEST("program: an output continues its input only as that input itself, written in place") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor cache = tensorOf({0, 0, 0, 0}, {4}, *device);
  const at::Tensor item = tensorOf({7}, {1}, *device);
  const std::string write = R"({"op":"aten::slice.Tensor","args":[{"input":0},0,{"symbol":0},{"symbol":1}],"results":["s"]},
                               {"op":"aten::copy_","args":[{"value":"s"},{"input":1}]})";
  const auto inPlace = program(write, output(R"({"input":0})", "[4]", R"(,"aliases":0)"), 2, R"("at","at + 1")");
  Invocation invocation{*device, {cache, item}, {2, 3}, {}};
  const std::vector<at::Tensor> outputs = inPlace->run(invocation);
  EXPECT(outputs[0].data_ptr() == cache.data_ptr());
  EXPECT_SAME(numbersOf(cache, *device), (std::vector<float>{0, 0, 7, 0}));
  const auto copied = program(R"({"op":"aten::clone","args":[{"input":0}],"results":["y"]})", output(VALUE, "[4]", R"(,"aliases":0)"), 1);
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "continues input 0", runOne(*copied, {cache}, *device));
  // The engine has enlarged the buffer when an output is larger than its input.
  const at::Tensor large = tensorOf({1, 2, 3, 4, 5, 6, 7, 8}, {8}, *device);
  const auto strided = program(R"({"op":"aten::as_strided","args":[{"input":0},[8],[1]],"results":["y"]})", output(VALUE, "[8]", R"(,"aliases":0)"), 1);
  EXPECT_SAME(runOne(*strided, {large.narrow(0, 0, 4)}, *device).size(), 8u);
  EXPECT_SAME(runOne(*strided, {large.narrow(0, 0, 0)}, *device).size(), 8u);
  const auto another = program(R"({"op":"aten::cat","args":[[{"input":0},{"input":0}]],"results":["y"]})", output(VALUE, "[8]", R"(,"aliases":0)"), 1);
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "aten::as_strided where it is larger", runOne(*another, {large.narrow(0, 0, 4)}, *device));
  const auto first = program(R"({"op":"aten::ones","args":[[8]],"results":["y"]})", output(VALUE, "[8]", R"(,"aliases":0)"), 1);
  EXPECT_SAME(runOne(*first, {tensorOf({}, {0}, *device)}, *device).size(), 8u);
}

TEST("program: an output that is a view, an input or a weight is copied, so that it has storage of its own") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor x = tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, *device);
  const auto outputsOf = [&](const std::string& calls, const std::string& outputs) {
    Invocation invocation{*device, {x}, {}, {}};
    return program(calls, outputs, 1)->run(invocation);
  };
  const std::string column = R"({"op":"aten::select.int","args":[{"input":0},1,1],"results":["y"]})";
  const at::Tensor selected = outputsOf(column, output(VALUE, "[2]"))[0];
  EXPECT_SAME(selected.storage().nbytes(), 8u);
  EXPECT_SAME(numbersOf(selected, *device), (std::vector<float>{2, 5}));
  EXPECT(outputsOf("", output(R"({"input":0})", "[2,3]"))[0].data_ptr() != x.data_ptr());
  const std::string large = R"({"op":"aten::zeros","args":[[100]],"results":["z"]},{"op":"aten::slice.Tensor","args":[{"value":"z"},0,0,5],"results":["y"]})";
  EXPECT_SAME(outputsOf(large, output(VALUE, "[5]"))[0].storage().nbytes(), 20u);
  const std::string expanded = R"({"op":"aten::zeros","args":[[1]],"results":["z"]},{"op":"aten::expand","args":[{"value":"z"},[3]],"results":["y"]})";
  EXPECT_SAME(outputsOf(expanded, output(VALUE, "[3]"))[0].storage().nbytes(), 12u);
  const std::string twice = R"({"op":"aten::relu","args":[{"input":0}],"results":["y"]})";
  const auto both = outputsOf(twice, output(VALUE, "[2,3]") + "," + output(VALUE, "[2,3]"));
  EXPECT(both[0].data_ptr() != both[1].data_ptr());
}

TEST("program: outputs of another type or shape are refused") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor x = tensorOf({1, 2}, {2}, *device);
  const std::string relu = R"({"op":"aten::relu","args":[{"input":0}],"results":["y"]})";
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "float16 [2] is declared, and it is float32 [2]", runOne(*program(relu, output(VALUE, "[2]", "", "float16"), 1), {x}, *device));
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "float32 [2, 1]", runOne(*program(relu, output(VALUE, "[2,1]"), 1), {x}, *device));
  EXPECT_FAULT(code::PROGRAM_INVALID, "reads 1 inputs", runOne(*program(relu, output(VALUE, "[2]"), 1), {}, *device));
}

TEST("program: results are dropped after their last use, so that a chain takes two buffers, however long it is") {
  if (!onCpu()) return;
  const auto device = accelerator("a");
  const auto scope = device->enter();
  std::string chain = R"({"op":"aten::zeros","args":[[1000]],"results":["v0"]})";
  for (int index = 1; index <= 20; index++) {
    chain += R"(,{"op":"aten::relu","args":[{"value":"v)" + std::to_string(index - 1) + R"("}],"results":["v)" + std::to_string(index) + R"("]})";
  }
  const auto compiled = program(chain, output(R"({"value":"v20"})", "[1000]"), 0);
  device->memory().resetPeak();
  Invocation invocation{*device, {}, {}, {}};
  const auto outputs = compiled->run(invocation);
  EXPECT_SAME(device->memory().peakBytes(), 8000u);
  EXPECT_SAME(device->memory().usedBytes(), 4000u);
}

TEST("program: an operator that goes over the cap leaves the count as it was") {
  if (!onCpu()) return;
  const auto device = accelerator("a", 10'000);
  const auto scope = device->enter();
  const at::Tensor x = tensorOf(std::vector<float>(1000), {1000}, *device);
  const auto large = program(R"({"op":"aten::relu","args":[{"input":0}],"results":["a"]},{"op":"aten::cat","args":[[{"value":"a"},{"value":"a"}]],"results":["y"]})",
                             output(VALUE, "[2000]"), 1);
  EXPECT_FAULT(code::OUT_OF_MEMORY, "call 1, aten::cat: a: 8000 bytes asked for, 8000 of 10000 in use", runOne(*large, {x}, *device));
  EXPECT_SAME(device->memory().usedBytes(), 4000u);
  EXPECT_SAME(device->memory().blocks(), 1u);
}

TEST("program: what a kernel throws is told with its call, and nothing stays allocated") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor x = tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, *device);
  const std::uint64_t before = device->memory().usedBytes();
  const auto wrong = program(R"({"op":"aten::relu","args":[{"input":0}],"results":["a"]},{"op":"aten::mm","args":[{"value":"a"},{"value":"a"}],"results":["y"]})",
                             output(VALUE, "[2,3]"), 1);
  const std::string message = EXPECT_FAULT(code::OPERATOR_FAILED, "call 1, aten::mm", runOne(*wrong, {x}, *device));
  EXPECT(message.find("0x") == std::string::npos && message.find("frame #") == std::string::npos);
  EXPECT_SAME(device->memory().usedBytes(), before);
}

TEST("program: data are fed and fetched") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto compiled = program(R"({"feed":"x","results":["x"],"dtype":"float32","shape":[2]},{"op":"aten::neg","args":[{"value":"x"}],"results":["y"]},{"fetch":"seen","args":[{"value":"y"}]})",
                                output(VALUE, "[2]"), 0);
  EXPECT_SAME(compiled->feedNames(), (std::vector<std::string>{"x"}));
  const auto host = makeDevice("cpu", "host", MemoryPool::NO_CAP);
  const Feeds feeds{{"x", tensorOf({1, -2}, {2}, *host)}};
  const Feeds wrong{{"x", tensorOf({1, -2, 3}, {3}, *host)}};
  std::vector<Fetched> fetched;
  Invocation invocation{*device, {}, {}, {}, &feeds, &fetched};
  const auto outputs = compiled->run(invocation);
  EXPECT_SAME(fetched.size(), 1u);
  EXPECT_SAME(fetched[0].name, "seen");
  EXPECT_SAME(numbersOf(fetched[0].tensor, *host), (std::vector<float>{-1, 2}));
  Invocation without{*device, {}, {}, {}};
  EXPECT_FAULT(code::FEED_MISSING, "feed \"x\"", compiled->run(without));
  Invocation mismatched{*device, {}, {}, {}, &wrong};
  EXPECT_FAULT(code::FEED_MISMATCH, "float32 [2] is declared, and it is float32 [3]", compiled->run(mismatched));
}

TEST("program: it computes what LibTorch computes when called directly, whichever thread runs it") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  Random random(5);
  std::vector<float> numbers(48 * 48);
  for (float& number : numbers) number = static_cast<float>(random.below(1000)) / 1000.0f - 0.5f;
  const at::Tensor x = tensorOf(numbers, {48, 48}, *device);
  const auto square = program(R"({"op":"aten::mm","args":[{"input":0},{"input":0}],"results":["y"]})", output(VALUE, "[48,48]"), 1);
  EXPECT_SAME(runOne(*square, {x}, *device), numbersOf(at::mm(x, x), *device));
}

TEST("program: one that is told to end does so before its next call") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto one = program(R"({"op":"aten::ones","args":[[4]],"results":["y"]})", "", 0);
  std::atomic<bool> stop{false};
  Invocation invocation{*device, {}, {}, {}};
  invocation.stop = &stop;
  one->run(invocation);
  stop = true;
  EXPECT_FAULT(code::STOPPED, "told to end", one->run(invocation));
}
