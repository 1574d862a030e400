#include "fault.h"

#include <c10/util/Exception.h>

#include <new>

#include "memory.h"

namespace slice {
namespace {

constexpr std::size_t MESSAGE_CHARACTERS_MAX = 600;

/** Without the stack that LibTorch appends, and without what follows after a few lines. */
std::string shortened(std::string message) {
  const std::size_t stack = message.find("\nException raised from");
  if (stack != std::string::npos) message.resize(stack);
  if (message.size() > MESSAGE_CHARACTERS_MAX) {
    message.resize(MESSAGE_CHARACTERS_MAX);
    message += " …";
  }
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return message;
}

Fault faultOf(const char* otherwise, const std::string& message) {
  // TorchScript's interpreter rethrows an out-of-memory as something else, so the allocator's own word counts.
  return Fault(takeWentOver() ? code::OUT_OF_MEMORY : otherwise, shortened(message));
}

}  // namespace

Fault currentFault() {
  try {
    throw;
  } catch (const Fault& fault) {
    takeWentOver();
    return fault;
  } catch (const c10::OutOfMemoryError& error) {
    return faultOf(code::OUT_OF_MEMORY, error.what_without_backtrace());
  } catch (const c10::Error& error) {
    return faultOf(code::OPERATOR_FAILED, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return faultOf(code::OUT_OF_MEMORY, "the process has no memory left");
  } catch (const std::exception& error) {
    return faultOf(code::OPERATOR_FAILED, error.what());
  } catch (...) {
    return faultOf(code::OPERATOR_FAILED, "something that is no exception was thrown");
  }
}

}  // namespace slice
