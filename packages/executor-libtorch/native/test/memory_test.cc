#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <mutex>
#include <thread>

#include "../fault.h"
#include "check.h"

using namespace slice;
using namespace slice::test;

namespace {

at::Tensor bytesOn(Device& device, std::int64_t bytes) { return at::empty({bytes}, at::TensorOptions(at::kByte).device(device.target())); }

}  // namespace

TEST("memory: what a device allocates counts on it, to the byte, and what it frees too") {
  if (!onCpu()) return;
  const auto device = accelerator("a", 1000);
  const auto scope = device->enter();
  at::Tensor one = bytesOn(*device, 601);
  EXPECT_SAME(device->memory().usedBytes(), 601u);
  at::Tensor other = bytesOn(*device, 399);
  EXPECT_SAME(device->memory().usedBytes(), 1000u);
  EXPECT_SAME(device->memory().blocks(), 2u);
  one.reset();
  EXPECT_SAME(device->memory().usedBytes(), 399u);
  EXPECT_SAME(device->memory().peakBytes(), 1000u);
  device->memory().resetPeak();
  EXPECT_SAME(device->memory().peakBytes(), 399u);
}

TEST("memory: one byte over the cap is refused, and nothing has changed") {
  if (!onCpu()) return;
  const auto device = accelerator("a", 1000);
  const auto scope = device->enter();
  const at::Tensor most = bytesOn(*device, 1000);
  EXPECT_FAULT(code::OUT_OF_MEMORY, "a: 1 bytes asked for, 1000 of 1000 in use", try { bytesOn(*device, 1); } catch (...) { throw currentFault(); });
  EXPECT_SAME(device->memory().usedBytes(), 1000u);
  EXPECT_SAME(device->memory().blocks(), 1u);
  const at::Tensor nothing = bytesOn(*device, 0);
  EXPECT_SAME(device->memory().blocks(), 1u);
}

TEST("memory: a tensor is credited to its own pool, whoever frees it") {
  if (!onCpu()) return;
  const auto one = accelerator("one");
  const auto other = accelerator("other");
  at::Tensor tensor;
  std::thread([&] {
    const auto scope = one->enter();
    tensor = bytesOn(*one, 4096);
  }).join();
  EXPECT_SAME(one->memory().usedBytes(), 4096u);
  std::thread([&] {
    const auto scope = other->enter();
    tensor.reset();
  }).join();
  EXPECT_SAME(one->memory().usedBytes(), 0u);
  EXPECT_SAME(other->memory().peakBytes(), 0u);
}

TEST("memory: a tensor may outlive its device; scopes nest, and end with the host's pool") {
  if (!onCpu()) return;
  at::Tensor tensor;
  {
    const auto device = accelerator("gone");
    const auto scope = device->enter();
    tensor = bytesOn(*device, 64);
    const auto inner = accelerator("inner");
    {
      const auto innerScope = inner->enter();
      const at::Tensor short_lived = bytesOn(*inner, 32);
      EXPECT_SAME(inner->memory().usedBytes(), 32u);
    }
    const at::Tensor again = bytesOn(*device, 16);
    EXPECT_SAME(device->memory().usedBytes(), 80u);
  }
  const std::uint64_t before = hostPool().usedBytes();
  const at::Tensor onHost = at::empty({10}, at::TensorOptions(at::kByte));
  EXPECT_SAME(hostPool().usedBytes(), before + 10);
  tensor.reset();
  EXPECT_SAME(hostPool().usedBytes(), before + 10);
}

TEST("memory: threads that allocate and free each other's tensors leave nothing behind, and never pass the cap") {
  if (!onCpu()) return;
  constexpr std::uint64_t CAP = 100'000;
  const auto device = accelerator("shared", CAP);
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> refused{0};
  for (std::uint64_t seed = 1; seed <= 4; seed++) {
    threads.emplace_back([&, seed] {
      const auto scope = device->enter();
      Random random(seed);
      std::vector<at::Tensor> held;
      for (int step = 0; step < 2000; step++) {
        if (held.size() > 4 || (!held.empty() && random.below(3) == 0)) held.erase(held.begin() + static_cast<long>(random.below(held.size())));
        try {
          held.push_back(bytesOn(*device, 1 + static_cast<std::int64_t>(random.below(60'000))));
        } catch (const c10::OutOfMemoryError&) {
          refused++;
        }
        if (device->memory().usedBytes() > CAP) throw std::runtime_error("over the cap");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_SAME(device->memory().usedBytes(), 0u);
  EXPECT_SAME(device->memory().blocks(), 0u);
  EXPECT(device->memory().peakBytes() <= CAP);
  EXPECT(refused > 0);
}

TEST("memory: a large block that was freed is the next of about its size, counted as it was asked for") {
  if (!onCpu()) return;
  const auto device = accelerator("a", 10 << 20);
  const auto scope = device->enter();
  at::Tensor tensor = bytesOn(*device, 3'000'000);
  const void* data = tensor.data_ptr();
  EXPECT_SAME(device->memory().keptBytes(), 0u);
  // Whoever frees it.
  std::thread([&] { tensor.reset(); }).join();
  EXPECT_SAME(device->memory().usedBytes(), 0u);
  EXPECT_SAME(device->memory().blocks(), 0u);
  EXPECT(device->memory().keptBytes() >= 3'000'000u);
  const AllocationGauge gauge(device->memory());
  const at::Tensor next = bytesOn(*device, 2'900'000);
  EXPECT(next.data_ptr() == data);
  EXPECT_SAME(device->memory().usedBytes(), 2'900'000u);
  EXPECT_SAME(device->memory().keptBytes(), 0u);
  EXPECT_SAME(gauge.peakBytes(), 2'900'000u);
  const at::Tensor other = bytesOn(*device, 2'900'000);
  EXPECT(other.data_ptr() != data);
}

TEST("memory: what is kept goes before it and what is in use pass the cap, the oldest first") {
  if (!onCpu()) return;
  constexpr std::uint64_t CAP = 4'000'000;
  const auto device = accelerator("a", CAP);
  MemoryPool& memory = device->memory();
  const auto scope = device->enter();
  at::Tensor older = bytesOn(*device, 1 << 20);
  at::Tensor newer = bytesOn(*device, 1 << 19);
  const void* newerData = newer.data_ptr();
  { const at::Tensor most = bytesOn(*device, 2'000'000); }
  memory.dropKept();
  older.reset();
  newer.reset();
  EXPECT_SAME(memory.keptBytes(), (1u << 20) + (1u << 19));
  const at::Tensor large = bytesOn(*device, 3'000'000);
  EXPECT_SAME(memory.keptBytes(), 1u << 19);
  EXPECT(bytesOn(*device, 1 << 19).data_ptr() == newerData);
  const at::Tensor rest = bytesOn(*device, 1'000'000);
  EXPECT_SAME(memory.usedBytes(), CAP);
  EXPECT_SAME(memory.keptBytes(), 0u);
}

TEST("memory: a refused allocation gives nothing back, and no more is kept than twice what was in use") {
  if (!onCpu()) return;
  const auto device = accelerator("a", 100 << 20);
  MemoryPool& memory = device->memory();
  const auto scope = device->enter();
  { const at::Tensor first = bytesOn(*device, 1 << 20); }
  EXPECT_FAULT(code::OUT_OF_MEMORY, "", try { bytesOn(*device, 101 << 20); } catch (...) { throw currentFault(); });
  EXPECT_SAME(memory.keptBytes(), 1u << 20);
  for (std::int64_t bytes = 1 << 20; bytes >= 1 << 18; bytes -= 1 << 16) bytesOn(*device, bytes);
  EXPECT(memory.keptBytes() > 1u << 20);
  EXPECT(memory.keptBytes() <= 2u << 20);
}

TEST("memory: kept blocks do not keep their pool") {
  if (!onCpu()) return;
  std::weak_ptr<MemoryPool> pool;
  at::Tensor last;
  {
    const auto device = accelerator("a");
    const auto scope = device->enter();
    pool = device->pool();
    bytesOn(*device, 1 << 20);
    last = bytesOn(*device, 1 << 19);
  }
  EXPECT_SAME(pool.lock()->keptBytes(), 1u << 20);
  last.reset();
  EXPECT(pool.expired());
}

TEST("memory: threads that allocate and free each other's large tensors never pass the cap with what is kept") {
  if (!onCpu()) return;
  constexpr std::uint64_t CAP = 4 << 20;
  const auto device = accelerator("shared", CAP);
  std::mutex mutex;
  std::vector<at::Tensor> shared;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 4; seed++) {
    threads.emplace_back([&, seed] {
      const auto scope = device->enter();
      Random random(seed);
      for (int step = 0; step < 1000; step++) {
        at::Tensor tensor;
        try {
          tensor = bytesOn(*device, (128 << 10) + static_cast<std::int64_t>(random.below(1 << 20)));
        } catch (const c10::OutOfMemoryError&) {
          takeWentOver();
        }
        const std::lock_guard<std::mutex> lock(mutex);
        if (tensor.defined()) {
          shared.push_back(tensor);
        }
        if (shared.size() > 3) shared.erase(shared.begin() + static_cast<long>(random.below(shared.size())));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT(device->memory().usedBytes() + device->memory().keptBytes() <= CAP);
  shared.clear();
  EXPECT_SAME(device->memory().usedBytes(), 0u);
  EXPECT_SAME(device->memory().blocks(), 0u);
  EXPECT(device->memory().keptBytes() <= CAP);
}

TEST("copy: data arrive in the buffer that is there, and nothing is allocated") {
  const auto from = accelerator("from");
  const auto to = accelerator("to");
  at::Tensor source;
  at::Tensor destination;
  {
    const auto scope = from->enter();
    source = tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, *from);
    from->wait();
  }
  {
    const auto scope = to->enter();
    destination = emptyLike(source, *to);
    to->wait();
  }
  const std::uint64_t before = to->memory().usedBytes();
  copy(source, *from, destination, *to);
  EXPECT_SAME(to->memory().usedBytes(), before);
  const auto scope = to->enter();
  EXPECT_SAME(numbersOf(destination, *to), (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST("copy: another size, another type, and what is not contiguous are refused") {
  const auto device = accelerator("a");
  const auto scope = device->enter();
  const at::Tensor six = tensorOf({1, 2, 3, 4, 5, 6}, {2, 3}, *device);
  const at::Tensor four = tensorOf({1, 2, 3, 4}, {2, 2}, *device);
  EXPECT_FAULT(code::COPY_MISMATCH, "6 elements of float32", copy(six, *device, four, *device));
  const at::Tensor integers = at::empty({6}, at::TensorOptions(at::kInt).device(device->target()));
  EXPECT_FAULT(code::COPY_MISMATCH, "int32", copy(six, *device, integers, *device));
  EXPECT_FAULT(code::COPY_MISMATCH, "not contiguous", copy(six.transpose(0, 1), *device, six, *device));
  EXPECT_FAULT(code::COPY_MISMATCH, "5 bytes", copyFromHost("12345", 5, six, *device));
}

TEST("devices: names that are none, and devices that are not there") {
  EXPECT_FAULT(code::DEVICE_UNAVAILABLE, "\"tpu\"", makeDevice("tpu", "a", 1));
  EXPECT_FAULT(code::DEVICE_UNAVAILABLE, "\"cuda:\"", makeDevice("cuda:", "a", 1));
  EXPECT_FAULT(code::DEVICE_UNAVAILABLE, "\"cuda:-1\"", makeDevice("cuda:-1", "a", 1));
  EXPECT_FAULT(code::DEVICE_UNAVAILABLE, "", makeDevice("cuda:999", "a", 1));
}
