#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slice {

/** A JSON value. Objects keep the order of their members; no name occurs twice. */
class Json {
 public:
  enum class Kind { Null, Bool, Number, String, Array, Object };

  Kind kind = Kind::Null;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<Json> items;
  std::vector<std::pair<std::string, Json>> members;

  bool is(Kind other) const { return kind == other; }
  /** Null when it is no object, or has no such member. Linear in the members. */
  const Json* find(std::string_view name) const;
  /** The kind in words, for messages. */
  const char* kindName() const;
};

/** Values inside one another. */
constexpr int JSON_DEPTH_MAX = 64;

/**
 * Reads one value, with white space around it, and nothing after it. Throws JSON_INVALID with the position in bytes: wrong syntax, wrong
 * UTF-8, a name twice in one object, a number outside doubles, more than JSON_DEPTH_MAX levels. Memory is at most about 100 bytes per byte of text.
 */
Json parseJson(std::string_view text);

}  // namespace slice
