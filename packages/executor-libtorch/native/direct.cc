#include "direct.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "engine.h"

namespace slice {
namespace {

std::vector<at::Tensor> inputsOf(const DirectStep& step, const std::vector<at::Tensor>& slots, const Device& device) {
  std::vector<at::Tensor> inputs;
  inputs.reserve(step.inputs.size());
  for (const DeclaredInput& input : step.inputs) {
    if (input.at >= 0) inputs.push_back(slots.at(static_cast<std::size_t>(input.at)));
    else inputs.push_back(at::empty(input.shape, at::TensorOptions().dtype(static_cast<at::ScalarType>(input.dtype)).device(device.target())));
  }
  return inputs;
}

std::size_t slotsOf(const std::vector<DirectStep>& steps) {
  std::size_t count = 0;
  for (const DirectStep& step : steps)
    for (const std::size_t slot : step.outputs) count = std::max(count, slot + 1);
  return count;
}

}  // namespace

DirectResult runDirect(Device& device, const std::vector<std::shared_ptr<const WeightsSource>>& sources, const std::vector<DirectStep>& steps,
                       int repeat) {
  const auto scope = device.enter();
  std::vector<std::shared_ptr<const WeightSet>> sets;
  for (const auto& source : sources) sets.push_back(source->load(device));
  DirectResult result;
  result.stepNs.resize(steps.size());
  result.peakBytes.resize(steps.size());
  for (int round = 0; round < repeat; round++) {
    std::vector<at::Tensor> slots(slotsOf(steps));
    result.fetched.clear();
    const std::int64_t beganNs = monotonicNs();
    std::int64_t sinceNs = beganNs;
    for (std::size_t at = 0; at < steps.size(); at++) {
      const DirectStep& step = steps[at];
      const std::uint64_t usedBytes = device.memory().usedBytes();
      device.memory().resetPeak();
      Invocation invocation{device, inputsOf(step, slots, device), step.symbols, {}, &step.feeds, &result.fetched};
      for (const std::size_t set : step.weights) invocation.weights.push_back(sets.at(set).get());
      std::vector<at::Tensor> outputs = step.program->run(invocation);
      device.wait();
      for (std::size_t output = 0; output < step.outputs.size(); output++) slots[step.outputs[output]] = std::move(outputs.at(output));
      for (const std::size_t slot : step.drop) slots.at(slot) = at::Tensor();
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
