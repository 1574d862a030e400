/** What a program may not write to, hand out or open. */
#include <ATen/ops/empty.h>

#include <fstream>

#include "../fault.h"
#include "check.h"

using namespace slice;
using namespace slice::test;

namespace {

const std::string Y = R"({"name":"out","value":{"value":"y"},"dtype":"float32","shape":[4]})";
const std::string CONTINUED = R"({"name":"out","value":{"input":0},"dtype":"float32","shape":[4],"aliases":0})";

std::string call(const std::string& op, const std::string& arguments, const std::string& results = R"("y")") {
  return R"({"op":"aten::)" + op + R"(","args":[)" + arguments + R"(],"results":[)" + results + "]}";
}

/** A weight "w" of four fives, whatever an earlier case did. */
std::shared_ptr<const WeightSet> fives(Device& device) {
  return WeightsSource::parse(R"({"seed":1,"tensors":{"w":{"shape":[4],"dtype":"float32","fill":5}}})", false)->load(device);
}

/** Calls that give "t" without saying in their schema that it is their argument. */
std::vector<std::string> unsaid(const std::string& of) {
  return {
      call("dropout", of + ",0.1,false", R"("t")"),
      call("type_as", of + "," + of, R"("t")"),
      call("_unsafe_view", of + ",[2,2]", R"("t")"),
      call("dropout", of + ",0.1,false", R"("s")") + "," + call("slice.Tensor", R"({"value":"s"},0,1,3)", R"("t")"),
      call("empty.memory_format", "[4]", R"("t")") + "," + call("set_.source_Tensor", R"({"value":"t"},)" + of, "null"),
      std::string(R"({"op":"aten::zeros","args":[[1,4]],"kwargs":{"dtype":{"dtype":"int64"}},"results":["i"]})") + "," + call("_sparse_coo_tensor_unsafe", R"({"value":"i"},)" + of + ",[4]", R"("t")"),
  };
}

}  // namespace

TEST("guard: what no schema says to be a weight or an input is not written to either") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto weights = fives(*device);
  const std::string out = R"({"op":"aten::neg.out","args":[{"value":"t"}],"kwargs":{"out":{"value":"t"}}})";
  for (const std::string& write : {call("mul_.Scalar", R"({"value":"t"},7)", "null"), out}) {
    for (const std::string& source : unsaid(R"({"weight":"w"})")) {
      const auto compiled = program(source + "," + write + "," + call("ones", "[4]"), Y, 0);
      Invocation invocation{*device, {}, {}, {weights.get()}};
      EXPECT_FAULT(code::WRONG_ARGUMENT, "the weight \"w\"", compiled->run(invocation));
      EXPECT_SAME(numbersOf(*weights->find("w"), *device), (std::vector<float>{5, 5, 5, 5}));
    }
  }
  for (const std::string& source : unsaid(R"({"input":0})")) {
    const at::Tensor x = tensorOf({1, 2, 3, 4}, {4}, *device);
    Invocation invocation{*device, {x}, {}, {}};
    const auto compiled = program(source + "," + call("mul_.Scalar", R"({"value":"t"},7)", "null") + "," + call("ones", "[4]"), Y, 1);
    EXPECT_FAULT(code::WRONG_ARGUMENT, "input 0 or a view of it, which no output aliases", compiled->run(invocation));
    EXPECT_SAME(numbersOf(x, *device), (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST("guard: lists that are written to, and statistics that are updated without a mark") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto weights = fives(*device);
  EXPECT_FAULT(code::WRONG_ARGUMENT, "the weight \"w\"", program(call("_foreach_add_.Scalar", R"([{"weight":"w"}],1)", "") + "," + call("ones", "[4]"), Y, 0));
  const auto norm = [](const std::string& flag) {
    return call("ones", "[2,4]", R"("x")") + "," + call("batch_norm", R"({"value":"x"},null,null,{"weight":"w"},{"weight":"w"},)" + flag + ",0.1,1e-5,false", R"("n")") + "," +
           call("select.int", R"({"value":"n"},0,0)");
  };
  EXPECT_FAULT(code::WRONG_ARGUMENT, "\"running_mean\" is written to", program(norm("true"), Y, 0));
  Invocation invocation{*device, {}, {}, {weights.get()}};
  EXPECT_SAME(program(norm("false"), Y, 0)->run(invocation).size(), 1u);
}

TEST("guard: what is a program's own is written to, and one input twice where an output continues it") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto weights = fives(*device);
  const at::Tensor x = tensorOf({1, 2, 3, 4}, {4}, *device);
  const auto run = [&](const std::string& calls) {
    Invocation invocation{*device, {x}, {}, {weights.get()}};
    return numbersOf(program(calls, Y, 1)->run(invocation).at(0), *device);
  };
  EXPECT_SAME(run(call("dropout", R"({"weight":"w"},0.5,true)", R"("t")") + "," + call("zero_", R"({"value":"t"})")), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_SAME(run(call("mul.Tensor", R"({"weight":"w"},{"input":0})", R"("t")") + "," + call("dropout", R"({"value":"t"},0.1,false)", R"("s")") + "," +
                  call("neg_", R"({"value":"s"})")),
              (std::vector<float>{-5, -10, -15, -20}));
  Invocation twice{*device, {x, x}, {}, {}};
  const std::string write = call("dropout", R"({"input":1},0.1,false)", R"("t")") + "," + call("neg_", R"({"value":"t"})", "null");
  EXPECT(program(write, CONTINUED, 2)->run(twice).at(0).data_ptr() == x.data_ptr());
  EXPECT_SAME(numbersOf(x, *device), (std::vector<float>{-1, -2, -3, -4}));
  EXPECT_SAME(numbersOf(*weights->find("w"), *device), (std::vector<float>{5, 5, 5, 5}));
}

TEST("guard: an input that is continued stays where it is") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto weights = fives(*device);
  const at::Tensor x = tensorOf({1, 2, 3, 4}, {4}, *device);
  const void* buffer = x.data_ptr();
  const auto run = [&](const std::string& calls) {
    Invocation invocation{*device, {x}, {}, {weights.get()}};
    program(calls, CONTINUED, 1)->run(invocation);
  };
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "has to be that tensor", run(call("set_.source_Tensor", R"({"input":0},{"weight":"w"})", "null")));
  EXPECT_FAULT(code::OPERATOR_FAILED, "not resizable", run(call("resize_", R"({"input":0},[400])", "null")));
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "[2, 2]", run(call("resize_", R"({"input":0},[2,2])", "null")));
  EXPECT(x.data_ptr() == buffer && x.dim() == 1);
  EXPECT_SAME(numbersOf(x, *device), (std::vector<float>{1, 2, 3, 4}));
}

TEST("guard: outputs have their elements in their buffers, whatever marks LibTorch knows") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto run = [&](const std::string& calls) {
    std::vector<Fetched> fetched;
    Invocation invocation{*device, {}, {}, {}, nullptr, &fetched};
    const auto outputs = program(calls + R"(,{"fetch":"y","args":[{"value":"y"}]})", Y, 0)->run(invocation);
    at::Tensor copied = emptyLike(outputs.at(0), *device);
    device->wait();
    copy(outputs[0], *device, copied, *device);
    EXPECT_SAME(numbersOf(fetched.at(0).tensor, *device), numbersOf(copied, *device));
    return numbersOf(copied, *device);
  };
  EXPECT_SAME(run(call("ones", "[4]", R"("x")") + "," + call("_neg_view", R"({"value":"x"})")), (std::vector<float>{-1, -1, -1, -1}));
  EXPECT_SAME(run(call("_efficientzerotensor", "[4]")), (std::vector<float>{0, 0, 0, 0}));
  const at::Tensor x = tensorOf({1, 2, 3, 4}, {4}, *device);
  Invocation negated{*device, {x}, {}, {}};
  const std::string view = R"({"name":"out","value":{"value":"y"},"dtype":"float32","shape":[4],"aliases":0})";
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "continues input 0", program(call("_neg_view", R"({"input":0})"), view, 1)->run(negated));
}

TEST("guard: what the host cannot hold fails the operator that hands it out") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const auto fetch = [&](const std::string& calls) {
    std::vector<Fetched> fetched;
    Invocation invocation{*device, {}, {}, {}, nullptr, &fetched};
    program(call("ones", "[4]") + "," + calls + R"(,{"fetch":"seen","args":[{"value":"z"}]})", Y, 0)->run(invocation);
  };
  EXPECT_FAULT(code::WRONG_ARGUMENT, "fetch \"seen\": it is Sparse", fetch(call("to_sparse", R"({"value":"y"})", R"("z")")));
  EXPECT_FAULT(code::DTYPE_UNSUPPORTED, "ComplexFloat", fetch(call("complex", R"({"value":"y"},{"value":"y"})", R"("z")")));
  Invocation sparse{*device, {}, {}, {}};
  EXPECT_FAULT(code::OUTPUT_MISMATCH, "is Sparse", program(call("ones", "[4]", R"("x")") + "," + call("to_sparse", R"({"value":"x"})"), Y, 0)->run(sparse));
  if (!onCpu()) return;
  EXPECT_FAULT(code::WRONG_ARGUMENT, "it is Mkldnn", fetch(call("to_mkldnn", R"({"value":"y"})", R"("z")")));
}

TEST("guard: a program opens no files") {
  const std::string path = folder() + "/made";
  EXPECT_FAULT(code::PROGRAM_INVALID, "opens a file", program(R"({"op":"aten::from_file","args":[")" + path + R"(",true,4],"results":["y"]})", Y, 0));
  EXPECT(!std::ifstream(path).good());
}
