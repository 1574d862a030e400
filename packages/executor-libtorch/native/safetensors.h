#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace slice {

/** Bytes of a header; real ones have a few megabytes at most. */
constexpr std::size_t SAFETENSORS_HEADER_BYTES_MAX = 16u << 20;

/** One tensor of a safetensors file, as its header says; everything is checked against the file. */
struct SafetensorsEntry {
  /** The format's name: "F32", "BF16", … */
  std::string dtype;
  std::vector<std::int64_t> shape;
  /** From the beginning of the file. */
  std::uint64_t beginByte = 0;
  std::uint64_t endByte = 0;
};

/** gmg's name of an element type of the format, or "" for one that gmg does not have. */
std::string safetensorsDtype(const std::string& dtype);

/**
 * Checks a header of a file of `fileBytes`; `header` is what stands between the eight bytes of its length and the data. Throws FILE_INVALID (JSON_INVALID where it
 * is no JSON), without a word about the file's name. Every tensor has a place within the file that fits its type and shape, none overlaps another, and none of
 * the data is left over.
 */
std::unordered_map<std::string, SafetensorsEntry> readSafetensorsHeader(const char* header, std::size_t headerBytes, std::uint64_t fileBytes);

/**
 * A safetensors file, memory-mapped for as long as this lives. Threads may share it. The file must not be cut short meanwhile: that is noticed before each read, but during
 * one it ends the process, as with any mapped file. Replacing it by another (rename) is no harm.
 */
class SafetensorsFile {
 public:
  /** Throws FILE_UNREADABLE, FILE_INVALID. */
  static std::shared_ptr<const SafetensorsFile> open(const std::string& path);
  ~SafetensorsFile();
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  /** Null when the file has no tensor of that name. */
  const SafetensorsEntry* find(const std::string& name) const;
  /** Where an entry's bytes are; they may be at an odd address. Throws FILE_INVALID when the file is shorter than it was. */
  const char* data(const SafetensorsEntry& entry) const;

 private:
  SafetensorsFile() = default;

  std::string path_;
  int descriptor_ = -1;
  void* mapping_ = nullptr;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, SafetensorsEntry> entries_;
};

}  // namespace slice
