#include "safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "fault.h"
#include "json.h"

namespace slice {
namespace {

constexpr double WHOLE_MAX = 9007199254740991.0;
constexpr std::size_t LENGTH_BYTES = 8;

struct FormatType {
  const char* name;
  std::uint64_t bytes;
  const char* dtype;
};

constexpr FormatType TYPES[] = {
    {"F64", 8, "float64"}, {"F32", 4, "float32"}, {"F16", 2, "float16"},   {"BF16", 2, "bfloat16"}, {"F8_E4M3", 1, "float8"},
    {"F8_E5M2", 1, ""},    {"I64", 8, "int64"},   {"I32", 4, "int32"},     {"I16", 2, "int16"},     {"I8", 1, "int8"},
    {"U64", 8, ""},        {"U32", 4, ""},        {"U16", 2, ""},          {"U8", 1, "uint8"},      {"BOOL", 1, "bool"},
    {"C64", 8, ""},
};

[[noreturn]] void fail(const std::string& what) { throw Fault(code::FILE_INVALID, "safetensors header: " + what); }

[[noreturn]] void failAbout(const std::string& name, const std::string& what) { fail("tensor \"" + name + "\" " + what); }

std::uint64_t whole(const Json& json, const std::string& name, const char* what) {
  if (!json.is(Json::Kind::Number) || json.number < 0 || json.number > WHOLE_MAX || std::trunc(json.number) != json.number) {
    failAbout(name, std::string("has a ") + what + " that is no whole number");
  }
  return static_cast<std::uint64_t>(json.number);
}

const Json& member(const Json& json, const std::string& name, const char* field, Json::Kind kind) {
  const Json* found = json.find(field);
  if (found == nullptr || !found->is(kind)) failAbout(name, std::string("has no ") + field);
  return *found;
}

/** Bytes of a tensor of that shape, or a fault when that is not what its place has. */
void checkSize(const std::string& name, const SafetensorsEntry& entry) {
  const FormatType* type = std::find_if(std::begin(TYPES), std::end(TYPES), [&](const FormatType& known) { return entry.dtype == known.name; });
  // Of a type that came after this was written only the place can be checked; it cannot be loaded.
  if (type == std::end(TYPES)) return;
  std::uint64_t bytes = type->bytes;
  for (const std::int64_t size : entry.shape) {
    if (size != 0 && bytes > static_cast<std::uint64_t>(WHOLE_MAX) / static_cast<std::uint64_t>(size)) failAbout(name, "is larger than 2^53 bytes");
    bytes *= static_cast<std::uint64_t>(size);
  }
  if (bytes != entry.endByte - entry.beginByte) {
    failAbout(name, "takes " + std::to_string(bytes) + " bytes by its type and shape, and " + std::to_string(entry.endByte - entry.beginByte) +
                        " by its offsets");
  }
}

SafetensorsEntry readEntry(const std::string& name, const Json& json, std::uint64_t dataStart, std::uint64_t dataBytes) {
  if (!json.is(Json::Kind::Object)) failAbout(name, std::string("is ") + json.kindName());
  SafetensorsEntry entry;
  entry.dtype = member(json, name, "dtype", Json::Kind::String).text;
  for (const Json& size : member(json, name, "shape", Json::Kind::Array).items) {
    entry.shape.push_back(static_cast<std::int64_t>(whole(size, name, "size")));
  }
  const Json& offsets = member(json, name, "data_offsets", Json::Kind::Array);
  if (offsets.items.size() != 2) failAbout(name, "has not two data_offsets");
  const std::uint64_t begin = whole(offsets.items[0], name, "data offset");
  const std::uint64_t end = whole(offsets.items[1], name, "data offset");
  if (begin > end || end > dataBytes) {
    failAbout(name, "lies at " + std::to_string(begin) + " to " + std::to_string(end) + " of " + std::to_string(dataBytes) + " bytes of data");
  }
  entry.beginByte = dataStart + begin;
  entry.endByte = dataStart + end;
  checkSize(name, entry);
  return entry;
}

/** The data are used up without a gap, and no byte twice. */
void checkPlaces(const std::unordered_map<std::string, SafetensorsEntry>& entries, std::uint64_t dataStart, std::uint64_t fileBytes) {
  std::vector<const std::pair<const std::string, SafetensorsEntry>*> inOrder;
  for (const auto& entry : entries) inOrder.push_back(&entry);
  std::sort(inOrder.begin(), inOrder.end(), [](const auto* one, const auto* other) {
    return one->second.beginByte != other->second.beginByte ? one->second.beginByte < other->second.beginByte
                                                            : one->second.endByte < other->second.endByte;
  });
  std::uint64_t at = dataStart;
  for (const auto* entry : inOrder) {
    if (entry->second.beginByte < at) failAbout(entry->first, "overlaps another");
    if (entry->second.beginByte > at) failAbout(entry->first, "begins after " + std::to_string(entry->second.beginByte - at) + " bytes of nothing");
    at = entry->second.endByte;
  }
  if (at != fileBytes) fail(std::to_string(fileBytes - at) + " bytes at the end belong to no tensor");
}

std::string systemWords() { return std::strerror(errno); }

}  // namespace

std::string safetensorsDtype(const std::string& dtype) {
  for (const FormatType& type : TYPES) {
    if (dtype == type.name) return type.dtype;
  }
  return "";
}

std::unordered_map<std::string, SafetensorsEntry> readSafetensorsHeader(const char* header, std::size_t headerBytes, std::uint64_t fileBytes) {
  const Json json = parseJson({header, headerBytes});
  if (!json.is(Json::Kind::Object)) fail(std::string("it is ") + json.kindName());
  const std::uint64_t dataStart = LENGTH_BYTES + headerBytes;
  if (fileBytes < dataStart) fail("the file ends before it");
  std::unordered_map<std::string, SafetensorsEntry> entries;
  for (const auto& named : json.members) {
    if (named.first == "__metadata__") {
      if (!named.second.is(Json::Kind::Object)) fail("__metadata__ is no object");
      continue;
    }
    entries.emplace(named.first, readEntry(named.first, named.second, dataStart, fileBytes - dataStart));
  }
  checkPlaces(entries, dataStart, fileBytes);
  return entries;
}

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  // The system would open what stands before it.
  if (path.find('\0') != std::string::npos) throw Fault(code::FILE_UNREADABLE, "a path has a NUL character in it: " + std::string(path.c_str()) + "\\0 …");
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile());
  file->path_ = path;
  // O_NONBLOCK: a pipe of that name must not hold this thread up.
  file->descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status {};
  if (file->descriptor_ < 0 || ::fstat(file->descriptor_, &status) != 0) throw Fault(code::FILE_UNREADABLE, path + ": " + systemWords());
  if (!S_ISREG(status.st_mode)) throw Fault(code::FILE_UNREADABLE, path + " is no file");
  file->bytes_ = static_cast<std::size_t>(status.st_size);
  if (file->bytes_ < LENGTH_BYTES) throw Fault(code::FILE_INVALID, path + " has " + std::to_string(file->bytes_) + " bytes, too few for safetensors");
  void* mapping = ::mmap(nullptr, file->bytes_, PROT_READ, MAP_PRIVATE, file->descriptor_, 0);
  if (mapping == MAP_FAILED) throw Fault(code::FILE_UNREADABLE, path + " cannot be mapped: " + systemWords());
  file->mapping_ = mapping;
  const auto* bytes = static_cast<const unsigned char*>(mapping);
  std::uint64_t headerBytes = 0;
  for (std::size_t index = LENGTH_BYTES; index-- > 0;) headerBytes = headerBytes << 8 | bytes[index];
  if (headerBytes > SAFETENSORS_HEADER_BYTES_MAX || headerBytes > file->bytes_ - LENGTH_BYTES) {
    throw Fault(code::FILE_INVALID, path + ": a header of " + std::to_string(headerBytes) + " bytes in a file of " + std::to_string(file->bytes_) + ", at most " +
                                        std::to_string(SAFETENSORS_HEADER_BYTES_MAX));
  }
  try {
    file->entries_ = readSafetensorsHeader(reinterpret_cast<const char*>(bytes) + LENGTH_BYTES, static_cast<std::size_t>(headerBytes), file->bytes_);
  } catch (const Fault& fault) {
    throw Fault(code::FILE_INVALID, path + ": " + fault.what());
  }
  return file;
}

SafetensorsFile::~SafetensorsFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

const SafetensorsEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found = entries_.find(name);
  return found == entries_.end() ? nullptr : &found->second;
}

const char* SafetensorsFile::data(const SafetensorsEntry& entry) const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || status.st_size < static_cast<off_t>(bytes_)) {
    throw Fault(code::FILE_INVALID, path_ + " has been cut short since it was opened");
  }
  return static_cast<const char*>(mapping_) + entry.beginByte;
}

}  // namespace slice
