#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../device.h"
#include "../program.h"

/** A test program without Node: cases register themselves, and main.cc runs them on the device that it is told. */
namespace slice::test {

/** "cpu", "cuda:0": where the accelerators of a case are, its first on the first, and around. */
extern std::vector<std::string> targets;
/** Whether all are on the CPU, where memory is counted and capped to the byte. */
bool onCpu();
/** What an allocation counts on a device: CUDA's allocator rounds up. */
std::uint64_t countedBytes(const Device& device, std::uint64_t bytes);

struct Case {
  Case(const char* name, void (*body)());
};

[[noreturn]] void failAt(const char* file, int line, const std::string& what);

/** Runs it, and requires a fault of the code whose message has the text in it. Returns the message. */
std::string requireFault(const char* file, int line, const std::string& code, const std::string& text, const std::function<void()>& body);

/** Numbers that are the same in each run of a seed. */
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }

 private:
  std::uint64_t state_;
};

/** An accelerator with a cap, on the next target. */
std::shared_ptr<Device> accelerator(const std::string& name, std::uint64_t capBytes = 1u << 30);

/** A float32 tensor of numbers, on the device, within its scope. */
at::Tensor tensorOf(const std::vector<float>& numbers, const std::vector<std::int64_t>& shape, Device& device);

/** Its float32 numbers, on the host. */
std::vector<float> numbersOf(const at::Tensor& tensor, Device& device);

/** A program over `inputs` tensors: calls and outputs in JSON, with symbols. */
std::shared_ptr<const Program> program(const std::string& calls, const std::string& outputs, int inputs, const std::string& symbols = "");

/** A folder for this run's files, made at first use and removed at the end. */
const std::string& folder();

}  // namespace slice::test

#define SLICE_JOIN_(one, other) one##other
#define SLICE_JOIN(one, other) SLICE_JOIN_(one, other)
#define TEST(name)                                                                               \
  static void SLICE_JOIN(body, __LINE__)();                                                      \
  static const slice::test::Case SLICE_JOIN(case_, __LINE__)(name, &SLICE_JOIN(body, __LINE__)); \
  static void SLICE_JOIN(body, __LINE__)()
#define EXPECT(condition)                                                       \
  do {                                                                         \
    if (!(condition)) slice::test::failAt(__FILE__, __LINE__, "not " #condition); \
  } while (false)
#define EXPECT_SAME(one, other)                                                                                          \
  do {                                                                                                                  \
    auto left_ = (one);                                                                                          \
    auto right_ = static_cast<decltype(left_)>(other);                                                            \
    if (!(left_ == right_)) slice::test::failAt(__FILE__, __LINE__, #one " is not " #other ": " + slice::test::shown(left_) + ", " + slice::test::shown(right_)); \
  } while (false)
#define EXPECT_FAULT(code, text, ...) slice::test::requireFault(__FILE__, __LINE__, code, text, [&] { __VA_ARGS__; })

namespace slice::test {

inline std::string shown(const std::string& text) { return text; }
template <typename Number>
std::string shown(const Number& number) {
  return std::to_string(number);
}
template <typename Item>
std::string shown(const std::vector<Item>& items) {
  std::string text = "[";
  for (const Item& item : items) text += shown(item) + " ";
  return text + "]";
}

}  // namespace slice::test
