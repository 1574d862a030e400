#include "direct.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "engine.h"
#include "fault.h"

namespace slice {
namespace {

[[noreturn]] void refuse(std::size_t step, const std::string& what) {
  throw Fault(code::PROGRAM_INVALID, "step " + std::to_string(step) + " " + what);
}

std::vector<at::Tensor> inputsOf(const DirectStep& step, std::size_t number, const std::vector<at::Tensor>& slots, const Device& device) {
  std::vector<at::Tensor> inputs;
  inputs.reserve(step.inputs.size());
  for (const DeclaredInput& input : step.inputs) {
    if (input.at < 0) {
      inputs.push_back(at::empty(input.shape, at::TensorOptions().dtype(static_cast<at::ScalarType>(input.dtype)).device(device.target())));
      continue;
    }
    const auto slot = static_cast<std::size_t>(input.at);
    if (slot >= slots.size() || !slots[slot].defined()) refuse(number, "reads slot " + std::to_string(slot) + ", which is empty");
    inputs.push_back(slots[slot]);
  }
  return inputs;
}

std::size_t slotsOf(const std::vector<DirectStep>& steps) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < steps.size(); at++) {
    for (const std::size_t slot : steps[at].outputs) {
      if (slot >= DIRECT_SLOTS_MAX) refuse(at, "writes a slot that is no number below " + std::to_string(DIRECT_SLOTS_MAX));
      count = std::max(count, slot + 1);
    }
  }
  return count;
}

void keepOutputs(const DirectStep& step, std::size_t number, std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& slots) {
  if (step.outputs.size() > outputs.size()) {
    refuse(number, "names " + std::to_string(step.outputs.size()) + " slots, and has " + std::to_string(outputs.size()) + " outputs");
  }
  for (std::size_t output = 0; output < step.outputs.size(); output++) slots[step.outputs[output]] = std::move(outputs[output]);
  for (const std::size_t slot : step.drop) {
    if (slot >= slots.size()) refuse(number, "drops a slot that no step writes");
    slots[slot] = at::Tensor();
  }
}

}  // namespace

DirectResult runDirect(Device& device, const std::vector<std::shared_ptr<const WeightsSource>>& sources, const std::vector<DirectStep>& steps,
                       int repeat, const std::atomic<bool>& stop) {
  const auto scope = device.enter();
  std::vector<std::shared_ptr<const WeightSet>> sets;
  for (const auto& source : sources) {
    if (stop) return {};
    sets.push_back(source->load(device));
  }
  const std::size_t slotCount = slotsOf(steps);
  DirectResult result;
  result.stepNs.resize(steps.size());
  result.peakBytes.resize(steps.size());
  for (int round = 0; round < repeat; round++) {
    std::vector<at::Tensor> slots(slotCount);
    result.fetched.clear();
    const std::int64_t beganNs = monotonicNs();
    std::int64_t sinceNs = beganNs;
    for (std::size_t at = 0; at < steps.size(); at++) {
      if (stop) return result;
      const DirectStep& step = steps[at];
      const std::uint64_t usedBytes = device.memory().usedBytes();
      device.memory().resetPeak();
      Invocation invocation{device, inputsOf(step, at, slots, device), step.symbols, {}, &step.feeds, &result.fetched};
      for (const std::size_t set : step.weights) {
        if (set >= sets.size()) refuse(at, "reads weights that the loop does not have");
        invocation.weights.push_back(sets[set].get());
      }
      std::vector<at::Tensor> outputs = step.program->run(invocation);
      device.wait();
      keepOutputs(step, at, outputs, slots);
      const std::int64_t nowNs = monotonicNs();
      result.stepNs[at] = static_cast<double>(nowNs - sinceNs);
      result.peakBytes[at] = static_cast<double>(device.memory().peakBytes() - std::min(usedBytes, device.memory().peakBytes()));
      sinceNs = nowNs;
    }
    result.loopNs.push_back(static_cast<double>(sinceNs - beganNs));
  }
  return result;
}

}  // namespace slice
