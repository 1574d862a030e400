#include "json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "fault.h"

namespace slice {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Json whole() {
    Json value = this->value(0);
    space();
    if (at_ != text_.size()) fail("something follows the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Fault(code::JSON_INVALID, "JSON, byte " + std::to_string(at_) + ": " + what);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) at_++;
  }

  void expect(char character) {
    if (peek() != character || at_ == text_.size()) fail(std::string("'") + character + "' is missing");
    at_++;
  }

  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) fail("a value is missing");
    at_ += expected.size();
  }

  Json value(int depth) {
    if (depth > JSON_DEPTH_MAX) fail("more than " + std::to_string(JSON_DEPTH_MAX) + " levels");
    space();
    Json json;
    switch (peek()) {
      case '{': object(json, depth); break;
      case '[': array(json, depth); break;
      case '"':
        json.kind = Json::Kind::String;
        json.text = string();
        break;
      case 't':
      case 'f':
        json.kind = Json::Kind::Bool;
        json.boolean = peek() == 't';
        word(json.boolean ? "true" : "false");
        break;
      case 'n': word("null"); break;
      default: number(json);
    }
    return json;
  }

  void object(Json& json, int depth) {
    json.kind = Json::Kind::Object;
    expect('{');
    space();
    if (peek() != '}') {
      for (;;) {
        space();
        std::string name = string();
        space();
        expect(':');
        json.members.emplace_back(std::move(name), value(depth + 1));
        space();
        if (peek() != ',') break;
        at_++;
      }
    }
    expect('}');
    distinct(json);
  }

  void distinct(const Json& json) const {
    std::vector<std::string_view> names;
    names.reserve(json.members.size());
    for (const auto& member : json.members) names.push_back(member.first);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) fail("\"" + std::string(*twice) + "\" occurs twice in one object");
  }

  void array(Json& json, int depth) {
    json.kind = Json::Kind::Array;
    expect('[');
    space();
    if (peek() != ']') {
      for (;;) {
        json.items.push_back(value(depth + 1));
        space();
        if (peek() != ',') break;
        at_++;
      }
    }
    expect(']');
  }

  void digits() {
    if (peek() < '0' || peek() > '9') fail("a value is missing");
    while (peek() >= '0' && peek() <= '9') at_++;
  }

  void number(Json& json) {
    const std::size_t start = at_;
    if (peek() == '-') at_++;
    if (peek() == '0') at_++;
    else digits();
    if (peek() == '.') {
      at_++;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      at_++;
      if (peek() == '+' || peek() == '-') at_++;
      digits();
    }
    json.kind = Json::Kind::Number;
    // from_chars knows no locale. A number too small for a double is refused like one too large.
    const char* end = text_.data() + at_;
    const auto result = std::from_chars(text_.data() + start, end, json.number);
    if (result.ec != std::errc() || result.ptr != end || !std::isfinite(json.number)) fail("a number outside doubles");
  }

  std::string string() {
    expect('"');
    std::string out;
    for (;;) {
      if (at_ == text_.size()) fail("a string does not end");
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '"') break;
      if (byte < 0x20) fail("a control character in a string");
      if (byte == '\\') escape(out);
      else if (byte < 0x80) out.push_back(text_[at_++]);
      else utf8(out);
    }
    at_++;
    return out;
  }

  /** Copies one character of several bytes, which has to be the shortest form and no surrogate. */
  void utf8(std::string& out) {
    const auto first = static_cast<unsigned char>(text_[at_]);
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || text_.size() - at_ < length) fail("no UTF-8");
    std::uint32_t character = first & (0xFFu >> (length + 1));
    for (std::size_t index = 1; index < length; index++) {
      const auto next = static_cast<unsigned char>(text_[at_ + index]);
      if ((next & 0xC0) != 0x80) fail("no UTF-8");
      character = character << 6 | (next & 0x3Fu);
    }
    const std::uint32_t least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
    if (character < least || character > 0x10FFFF || (character >= 0xD800 && character < 0xE000)) fail("no UTF-8");
    out.append(text_.substr(at_, length));
    at_ += length;
  }

  std::uint32_t hexadecimal() {
    if (text_.size() - at_ < 4) fail("an escape does not end");
    std::uint32_t unit = 0;
    const char* end = text_.data() + at_ + 4;
    const auto result = std::from_chars(text_.data() + at_, end, unit, 16);
    if (result.ec != std::errc() || result.ptr != end) fail("an escape of no four hexadecimal digits");
    at_ += 4;
    return unit;
  }

  void escape(std::string& out) {
    static constexpr std::string_view LETTERS = "\"\\/bfnrt";
    static constexpr std::string_view MEANINGS = "\"\\/\b\f\n\r\t";
    at_++;
    const char letter = peek();
    const std::size_t index = at_ < text_.size() ? LETTERS.find(letter) : std::string_view::npos;
    if (index != std::string_view::npos) {
      out.push_back(MEANINGS[index]);
      at_++;
      return;
    }
    if (letter != 'u') fail("an unknown escape");
    at_++;
    std::uint32_t character = hexadecimal();
    if (character >= 0xD800 && character < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      const std::uint32_t low = hexadecimal();
      if (low < 0xDC00 || low > 0xDFFF) fail("half a surrogate pair");
      character = 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00);
    } else if (character >= 0xD800 && character < 0xE000) {
      fail("half a surrogate pair");
    }
    append(out, character);
  }

  static void append(std::string& out, std::uint32_t character) {
    const auto tail = [&](int shift) { out.push_back(static_cast<char>(0x80 | (character >> shift & 0x3F))); };
    if (character < 0x80) {
      out.push_back(static_cast<char>(character));
    } else if (character < 0x800) {
      out.push_back(static_cast<char>(0xC0 | character >> 6));
      tail(0);
    } else if (character < 0x10000) {
      out.push_back(static_cast<char>(0xE0 | character >> 12));
      tail(6);
      tail(0);
    } else {
      out.push_back(static_cast<char>(0xF0 | character >> 18));
      tail(12);
      tail(6);
      tail(0);
    }
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view name) const {
  for (const auto& member : members) {
    if (member.first == name) return &member.second;
  }
  return nullptr;
}

const char* Json::kindName() const {
  switch (kind) {
    case Kind::Null: return "null";
    case Kind::Bool: return "a boolean";
    case Kind::Number: return "a number";
    case Kind::String: return "a string";
    case Kind::Array: return "a list";
    case Kind::Object: return "an object";
  }
  return "nothing";
}

Json parseJson(std::string_view text) { return Reader(text).whole(); }

}  // namespace slice
