#include "engine_batch.h"

#include <iterator>
#include <string>
#include <utility>

#include "dtype.h"

namespace slice {
namespace {

/** The same numbers stand in src/native/batch.ts. */
enum Code {
  issue = 1,
  activate = 2,
  rerank = 3,
  withdraw = 4,
  activateRecv = 5,
  activateSend = 6,
  cancelTransfer = 7,
  hold = 8,
  release = 9,
  lose = 10,
  giveBack = 11,
  loadWeights = 12,
  probe = 14,
};

/** In the order of gmg's DTYPES. */
constexpr const char* DTYPES[] = {"float64", "float32", "float16", "bfloat16", "float8", "int64", "int32", "int16", "int8", "uint8", "bool"};

class Reader {
 public:
  Reader(const double* batch, std::size_t length) : next_(batch), end_(batch + length) {}
  bool isAtEnd() const { return next_ == end_; }
  double real() {
    if (isAtEnd()) throw Fault("INVARIANT_BROKEN", "a batch for the native engine ends within an instruction; a bug of this package");
    return *next_++;
  }
  std::int64_t whole() { return static_cast<std::int64_t>(real()); }
  int index() { return static_cast<int>(real()); }
  std::size_t size() { return static_cast<std::size_t>(real()); }

 private:
  const double* next_;
  const double* const end_;
};

std::shared_ptr<EngineOperator> readOperator(Reader& reader) {
  auto issued = std::make_shared<EngineOperator>();
  issued->issueNumber = reader.whole();
  issued->accelerator = reader.index();
  issued->kernel = reader.index();
  issued->instance = reader.whole();
  issued->rank = reader.whole();
  issued->activated = reader.real() != 0;
  issued->workspaceBytes = reader.whole();
  issued->inputs.resize(reader.size());
  for (IssuedInput& input : issued->inputs) {
    input.tensor = reader.whole();
    input.transfer = reader.whole();
    input.source = reader.index();
  }
  issued->outputs.resize(reader.size());
  for (IssuedOutput& output : issued->outputs) {
    output.tensor = reader.whole();
    output.bytes = reader.whole();
    output.aliases = reader.whole();
  }
  issued->declared.resize(reader.size());
  for (DeclaredInput& declared : issued->declared) {
    declared.at = reader.index();
    if (declared.at >= 0) continue;
    declared.dtype = static_cast<int>(dtypeOf(DTYPES[reader.size() % std::size(DTYPES)]));
    declared.shape.resize(reader.size());
    for (std::int64_t& dimension : declared.shape) dimension = reader.whole();
  }
  issued->symbols.resize(reader.size());
  for (double& value : issued->symbols) value = reader.real();
  return issued;
}

}  // namespace

void carryOut(Engine& engine, const double* batch, std::size_t length, double nowNs) {
  EngineState& state = engine.state();
  for (Reader reader(batch, length); !reader.isAtEnd();) {
    const int kind = reader.index();
    // The order in which arguments are evaluated is not fixed, so they are read before they are used.
    switch (kind) {
      case issue:
        state.issue(readOperator(reader), nowNs);
        break;
      case activate:
        state.activate(reader.whole());
        break;
      case rerank: {
        const std::int64_t number = reader.whole();
        state.rerank(number, reader.whole());
        break;
      }
      case withdraw:
        state.withdraw(reader.whole());
        break;
      case activateRecv: {
        const std::int64_t number = reader.whole();
        engine.receive(number, reader.whole());
        break;
      }
      case activateSend:
        engine.send(reader.whole());
        break;
      case cancelTransfer:
        state.cancel(reader.whole());
        break;
      case hold: {
        const std::int64_t tensor = reader.whole();
        state.hold(tensor, reader.index());
        break;
      }
      case release: {
        const std::int64_t tensor = reader.whole();
        state.release(tensor, reader.index());
        break;
      }
      case lose:
        engine.lose(reader.index());
        break;
      case giveBack:
        state.giveBack(reader.index());
        break;
      case loadWeights: {
        const int accelerator = reader.index();
        const std::int64_t name = reader.whole();
        const std::int64_t bytes = reader.whole();
        if (state.queue(accelerator).present && state.queue(accelerator).ledger.loadWeights(name, bytes)) engine.takeWeights(accelerator, name);
        break;
      }
      case probe: {
        const int accelerator = reader.index();
        engine.probe(accelerator, reader.whole());
        break;
      }
      default:
        throw Fault("INVARIANT_BROKEN", "the native engine has no instruction " + std::to_string(kind) + "; a bug of this package");
    }
  }
  engine.dropOffers();
}

}  // namespace slice
