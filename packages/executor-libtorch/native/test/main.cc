#include <ATen/ops/empty.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <stdexcept>

#include "../fault.h"
#include "check.h"

namespace slice::test {

std::vector<std::string> targets{"cpu"};

namespace {

struct Registered {
  const char* name;
  void (*body)();
};

std::vector<Registered>& cases() {
  static std::vector<Registered> all;
  return all;
}

bool usedFolder = false;
/** Accelerators that the running case has made. */
std::size_t made = 0;

}  // namespace

Case::Case(const char* name, void (*body)()) { cases().push_back({name, body}); }

void failAt(const char* file, int line, const std::string& what) {
  const char* name = std::strrchr(file, '/');
  throw std::runtime_error(std::string(name == nullptr ? file : name + 1) + ":" + std::to_string(line) + ": " + what);
}

std::string requireFault(const char* file, int line, const std::string& code, const std::string& text, const std::function<void()>& body) {
  try {
    body();
  } catch (const Fault& fault) {
    const std::string message = fault.what();
    if (fault.code != code) failAt(file, line, "a fault " + fault.code + ", not " + code + ": " + message);
    if (message.find(text) == std::string::npos) failAt(file, line, "\"" + text + "\" is not in: " + message);
    return message;
  }
  failAt(file, line, "no fault, " + code + " is expected");
}

std::uint64_t Random::next() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return state_ * 0x2545F4914F6CDD1Du >> 11;
}

bool onCpu() {
  for (const std::string& target : targets) {
    if (target != "cpu") return false;
  }
  return true;
}

std::uint64_t countedBytes(const Device& device, std::uint64_t bytes) {
  constexpr std::uint64_t CUDA_GRANULE_BYTES = 512;
  return device.target().is_cpu() ? bytes : (bytes + CUDA_GRANULE_BYTES - 1) / CUDA_GRANULE_BYTES * CUDA_GRANULE_BYTES;
}

std::shared_ptr<Device> accelerator(const std::string& name, std::uint64_t capBytes) { return makeDevice(targets[made++ % targets.size()], name, capBytes); }

at::Tensor tensorOf(const std::vector<float>& numbers, const std::vector<std::int64_t>& shape, Device& device) {
  at::Tensor tensor = at::empty(shape, at::TensorOptions(at::kFloat).device(device.target()));
  copyFromHost(numbers.data(), numbers.size() * sizeof(float), tensor, device);
  return tensor;
}

std::vector<float> numbersOf(const at::Tensor& tensor, Device& device) {
  const at::Tensor host = toHost(tensor, device);
  const auto* data = static_cast<const float*>(host.data_ptr());
  return {data, data + host.numel()};
}

std::shared_ptr<const Program> program(const std::string& calls, const std::string& outputs, int inputs, const std::string& symbols) {
  return Program::compile(R"({"name":"test/op","inputs":)" + std::to_string(inputs) + R"(,"symbols":[)" + symbols + R"(],"calls":[)" + calls +
                          R"(],"outputs":[)" + outputs + "]}");
}

const std::string& folder() {
  static const std::string path = [] {
    std::string pattern = (std::filesystem::temp_directory_path() / "slice-native-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no folder for files");
    usedFolder = true;
    return pattern;
  }();
  return path;
}

int runAll() {
  int failed = 0;
  for (const Registered& each : cases()) {
    made = 0;
    try {
      each.body();
      std::printf("ok      %s\n", each.name);
    } catch (const std::exception& error) {
      failed++;
      std::printf("FAILED  %s\n        %s\n", each.name, error.what());
    }
    std::fflush(stdout);
  }
  if (usedFolder) std::filesystem::remove_all(folder());
  for (const std::string& target : targets) std::printf("%s ", target.c_str());
  std::printf(": %zu passed, %d failed\n", cases().size() - static_cast<std::size_t>(failed), failed);
  return failed == 0 && !cases().empty() ? 0 : 1;
}

}  // namespace slice::test

/** `native-test [cpu | cuda:0 | cpu cuda:0 …]` */
int main(int count, char** arguments) {
  if (count > 1) slice::test::targets.assign(arguments + 1, arguments + count);
  slice::installAllocator();
  return slice::test::runAll();
}
