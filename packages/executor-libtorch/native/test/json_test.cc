#include <cmath>

#include "../fault.h"
#include "../json.h"
#include "check.h"

using namespace slice;
using namespace slice::test;

TEST("json: values of every kind") {
  const Json json = parseJson(R"( {"a": [1, -2.5e3, true, null, "x\n\u00e9\ud83d\ude00é"], "b": {}} )");
  EXPECT_SAME(json.members.size(), 2u);
  const Json& list = *json.find("a");
  EXPECT_SAME(list.items.size(), 5u);
  EXPECT_SAME(list.items[1].number, -2500.0);
  EXPECT(list.items[2].boolean && list.items[3].is(Json::Kind::Null));
  EXPECT_SAME(list.items[4].text, "x\n\xC3\xA9\xF0\x9F\x98\x80\xC3\xA9");
  EXPECT(json.find("c") == nullptr);
}

TEST("json: what is none is refused with its place") {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "[1 2]", "tru", "nul", "01", "1.", ".5", "+1", "-", "1e", "1e999", "NaN", "'a'", "\"a", "\"\\x\"",
                           "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\t\"", "1 2", "{\"a\":1,\"a\":2}", "{1:2}", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"",
                           "\"\xF5\x80\x80\x80\"", "\"\xC3\"", "[", "\x01"}) {
    EXPECT_FAULT(code::JSON_INVALID, "byte", parseJson(text));
  }
  EXPECT_FAULT(code::JSON_INVALID, "levels", parseJson(std::string(1000, '[')));
  EXPECT_FAULT(code::JSON_INVALID, "follows", parseJson(std::string("1\0", 2)));
}

TEST("json: 20,000 mutations of a text are read or refused") {
  const std::string whole = R"({"layer.0":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"é":{"x":[true,false,null,-1.5e-3,"\u00e9\n"]}})";
  Random random(11);
  int read = 0;
  for (int round = 0; round < 20'000; round++) {
    std::string text = whole;
    for (std::uint64_t change = 0; change <= random.below(3); change++) {
      const std::size_t at = random.below(text.size());
      switch (random.below(3)) {
        case 0: text[at] = static_cast<char>(random.below(256)); break;
        case 1: text.erase(at, 1 + random.below(4)); break;
        default: text.insert(at, text.substr(random.below(text.size()), random.below(8)));
      }
      if (text.empty()) break;
    }
    try {
      parseJson(text);
      read++;
    } catch (const Fault& fault) {
      EXPECT_SAME(fault.code, code::JSON_INVALID);
    }
  }
  EXPECT(read > 0 && read < 20'000);
}
