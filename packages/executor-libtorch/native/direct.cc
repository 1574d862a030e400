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

void checkGoesOn(const std::atomic<bool>& stop) {
  if (stop) throw Fault(code::STOPPED, "the loop was told to end");
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

DirectResult DirectLoop::run(int repeat, const std::atomic<bool>& stop) {
  const auto scope = device_->enter();
  load(stop);
  const std::size_t slotCount = slotsOf(steps_);
  DirectResult result;
  result.stepNs.resize(steps_.size());
  result.peakBytes.resize(steps_.size());
  for (int round = 0; round < repeat; round++) runOnce(std::vector<at::Tensor>(slotCount), result, stop);
  return result;
}

void DirectLoop::load(const std::atomic<bool>& stop) {
  while (sets_.size() < sources_.size()) {
    checkGoesOn(stop);
    sets_.push_back(sources_[sets_.size()]->load(*device_));
  }
}

void DirectLoop::runOnce(std::vector<at::Tensor> slots, DirectResult& result, const std::atomic<bool>& stop) const {
  MemoryPool& memory = device_->memory();
  result.fetched.clear();
  const std::int64_t beganNs = monotonicNs();
  std::int64_t sinceNs = beganNs;
  for (std::size_t at = 0; at < steps_.size(); at++) {
    checkGoesOn(stop);
    const DirectStep& step = steps_[at];
    const std::uint64_t usedBytes = memory.usedBytes();
    memory.resetPeak();
    Invocation invocation{*device_, inputsOf(step, at, slots, *device_), step.symbols, {}, &step.feeds, &result.fetched, &stop};
    for (const std::size_t set : step.weights) {
      if (set >= sets_.size()) refuse(at, "reads weights that the loop does not have");
      invocation.weights.push_back(sets_[set].get());
    }
    std::vector<at::Tensor> outputs = step.program->run(invocation);
    device_->wait();
    keepOutputs(step, at, outputs, slots);
    const std::int64_t nowNs = monotonicNs();
    result.stepNs[at] = static_cast<double>(nowNs - sinceNs);
    result.peakBytes[at] = static_cast<double>(memory.peakBytes() - std::min(usedBytes, memory.peakBytes()));
    sinceNs = nowNs;
  }
  result.loopNs.push_back(static_cast<double>(sinceNs - beganNs));
}

}  // namespace slice
