#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "device.h"

namespace slice {

struct ScriptModule;
struct WeightsPlan;

/** Named tensors, and TorchScript modules, on one device. Immutable. Frees its memory when it goes. */
class WeightSet {
 public:
  WeightSet();
  ~WeightSet();
  /** Null when there is none of that name. */
  const at::Tensor* find(const std::string& name) const;
  ScriptModule* findScript(const std::string& name) const;
  /** Bytes of all its tensors, those of its modules included. */
  std::uint64_t bytes() const;

 private:
  friend class WeightsSource;
  std::unordered_map<std::string, at::Tensor> tensors_;
  std::unordered_map<std::string, std::shared_ptr<ScriptModule>> scripts_;
};

/** Where weights come from: seeded random numbers, a safetensors file, TorchScript files. Checked once, loaded on each device that needs them. */
class WeightsSource {
 public:
  /**
   * Reads the form that the TypeScript package lowers sources to (src/weights/lower.ts). A safetensors file is opened, and its header checked.
   * Throws WEIGHTS_INVALID, FILE_UNREADABLE, FILE_INVALID, DTYPE_UNSUPPORTED, SCRIPT_DENIED, JSON_INVALID.
   * @param allowScripts TorchScript files can hold code that runs when they are loaded or called.
   */
  static std::shared_ptr<const WeightsSource> parse(const std::string& json, bool allowScripts);
  ~WeightsSource();

  /** Loads them, within the device's scope. Throws OUT_OF_MEMORY, WEIGHTS_INVALID, FILE_UNREADABLE, FILE_INVALID, SCRIPT_INVALID; then nothing stays allocated. */
  std::shared_ptr<const WeightSet> load(Device& device) const;
  /** Bytes that loading takes; 0 for TorchScript, which tells it when it is loaded. */
  std::uint64_t bytes() const;

 private:
  explicit WeightsSource(std::unique_ptr<const WeightsPlan> plan);
  const std::unique_ptr<const WeightsPlan> plan_;
};

}  // namespace slice
