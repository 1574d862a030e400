#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace slice {

/** Everything the core throws on purpose. Match on `code`; the message says what was asked, what was found and what to do. */
class Fault : public std::runtime_error {
 public:
  Fault(std::string faultCode, const std::string& message) : std::runtime_error(message), code(std::move(faultCode)) {}
  const std::string code;
};

/** Codes of faults; the same words stand in the TypeScript package's `LibtorchErrorCode`. */
namespace code {
/** No such operator in this LibTorch. */
inline constexpr const char* UNKNOWN_OPERATOR = "UNKNOWN_OPERATOR";
/** A call whose arguments are not those of the schema. */
inline constexpr const char* WRONG_ARGUMENT = "WRONG_ARGUMENT";
/** A program that is wrong in itself: an unknown value, an output that nothing makes. */
inline constexpr const char* PROGRAM_INVALID = "PROGRAM_INVALID";
/** An output unlike its declaration. */
inline constexpr const char* OUTPUT_MISMATCH = "OUTPUT_MISMATCH";
/** An allocation over the cap of its accelerator. */
inline constexpr const char* OUT_OF_MEMORY = "OUT_OF_MEMORY";
/** A kernel threw. */
inline constexpr const char* OPERATOR_FAILED = "OPERATOR_FAILED";
/** A run that was told to end: nobody waits for what comes of it, so JavaScript never sees this. */
inline constexpr const char* STOPPED = "STOPPED";
/** Host data that were not given for this instance. */
inline constexpr const char* FEED_MISSING = "FEED_MISSING";
/** Host data of another type or shape than the template declares. */
inline constexpr const char* FEED_MISMATCH = "FEED_MISMATCH";
/** Weights that are not there, or are not what was said. */
inline constexpr const char* WEIGHTS_MISSING = "WEIGHTS_MISSING";
inline constexpr const char* WEIGHTS_INVALID = "WEIGHTS_INVALID";
/** A file that cannot be read, or is not what its format says. */
inline constexpr const char* FILE_UNREADABLE = "FILE_UNREADABLE";
inline constexpr const char* FILE_INVALID = "FILE_INVALID";
/** TorchScript was not allowed, or its file does not load. */
inline constexpr const char* SCRIPT_DENIED = "SCRIPT_DENIED";
inline constexpr const char* SCRIPT_INVALID = "SCRIPT_INVALID";
/** An element type that this LibTorch does not have. */
inline constexpr const char* DTYPE_UNSUPPORTED = "DTYPE_UNSUPPORTED";
/** A device that is not there, or that this build does not drive. */
inline constexpr const char* DEVICE_UNAVAILABLE = "DEVICE_UNAVAILABLE";
/** A copy between tensors of different sizes. */
inline constexpr const char* COPY_MISMATCH = "COPY_MISMATCH";
/** A text for the core that is not what it reads. */
inline constexpr const char* JSON_INVALID = "JSON_INVALID";
}  // namespace code

/**
 * What is being handled, as a fault; for `catch (...)` only. An out-of-memory of LibTorch becomes OUT_OF_MEMORY, all else it throws
 * OPERATOR_FAILED, with the first lines of its message and without its stack of addresses.
 */
Fault currentFault();

}  // namespace slice
