#include <core/io/checkpoint.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <tests/support/support.h>

#include <sys/stat.h>

namespace drift::json_test {

using ::testing::HasSubstr;

std::string error_of(std::string_view text) {
  return test::error_of([&] { parse_json_object(text, "some.json"); });
}

TEST(JsonText, OnlyObjectsOfBoundedDepthAreRead) {
  EXPECT_EQ(parse_json_object(R"({"a": [1, {"b": null}]})", "file")["a"][0], 1);
  for (const char* text : {"", "{", "[]", "7", "{} {}", "{\"a\": nan}", "\"\xff\"", "{\"a\":\"\xff\"}"}) {
    EXPECT_THAT(error_of(text), HasSubstr("some.json is not a JSON object")) << text;
  }
  const auto nested = [](int levels) { return "{\"a\":" + std::string(levels, '[') + std::string(levels, ']') + "}"; };
  EXPECT_EQ(error_of(nested(63)), "");
  EXPECT_THAT(error_of(nested(65)), HasSubstr("some.json is nested deeper than 64 levels"));
  EXPECT_THAT(error_of(nested(1'000'000)), HasSubstr("nested deeper"));
  EXPECT_THAT(error_of("{\"a\":" + std::string(1'000'000, '[')), HasSubstr("nested deeper"));
}

TEST(JsonText, OtherValuesAreReadWithinTheSameBounds) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_EQ(parse_json("[1, 2]", "a.json").size(), 2u);
  EXPECT_EQ(json_text(parse_json<nlohmann::ordered_json>(R"({"b": 1, "a": 2})", "a.json")), R"({"b":1,"a":2})");
  for (const auto& bad : {std::pair(deep, "a.json is nested deeper than 64 levels"),
                          {"[1,", "a.json is not valid JSON: line 1, column 4"},
                          {"[1e999]", "a.json is not usable: number overflow"}})
    EXPECT_THAT(test::error_of([&] { parse_json(bad.first, "a.json"); }), HasSubstr(bad.second));
}

TEST(JsonText, WhatActsOnATerminalIsEscapedAndMeansTheSame) {
  const nlohmann::json value = {"\x1b[1m\x7f\u009b \u202e\u2066 \u2028", "naïve “数学”\n"};
  for (const int indent : {-1, 1}) {
    const std::string text = json_text(value, indent);
    EXPECT_THAT(text, HasSubstr(R"("\u001b[1m\u007f\u009b \u202e\u2066 \u2028")"));
    EXPECT_THAT(text, HasSubstr("naïve “数学”\\n"));
    EXPECT_EQ(nlohmann::json::parse(text), value);
  }
}

// No memory is taken for what it holds.
TEST(JsonFile, AFileLargerThanAnyCheckpointsIsRefusedBeforeItIsParsed) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "config.json";
  test::write_file(path, R"({"model_type": ")");
  std::filesystem::resize_file(path, 200'000'000);
  for (const auto& read : {+[](const std::filesystem::path& file) { read_json_object(file); },
                           +[](const std::filesystem::path& file) { read_config_json(file.parent_path()); }}) {
    EXPECT_EQ(test::what_of([&] { read(path); }), path.string() + " is larger than 16000000 bytes");
  }
}

TEST(JsonText, ANumberBeyondADoubleIsAnErrorWithItsPlace) {
  EXPECT_EQ(test::what_of([] { parse_json_object(R"({"a": 3e998})", "file.json"); }),
            "file.json is not usable: number overflow parsing '3e998'");
}

TEST(JsonFile, WhatIsNoRegularFileIsRefused) {
  const test::TemporaryFolder folder;
  const auto fifo = folder.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::filesystem::path& path : {fifo, std::filesystem::path("/dev/zero"), folder.path()}) {
    for (const auto& read :
         {+[](const std::filesystem::path& file) { read_json_object(file); },
          +[](const std::filesystem::path& file) { for_each_json_line(file, "a line", [](auto&, auto) {}); }}) {
      EXPECT_THAT(test::error_of([&] { read(path); }),
                  testing::AnyOf(HasSubstr("it is no regular file"), HasSubstr("it is a folder")));
    }
  }
}

TEST(JsonText, BracketsInTextsAreNotNesting) {
  const std::string brackets(200, '[');
  EXPECT_EQ(error_of("{\"" + brackets + "\\\"" + brackets + "\":\"" + brackets + "\\\\\"}"), "");
  EXPECT_THAT(error_of("{\"a\":\"\\\\\"," + brackets), HasSubstr("nested deeper"));
}

// Minutes would pass, were the effort to grow with the square of the number.
TEST(JsonText, MillionsOfEmptyMembersAreRead) {
  std::string text = "{\"a\":[{}";
  for (int i = 1; i < 4'000'000; ++i) text += ",{}";
  EXPECT_EQ(parse_json_object(text + "]}", "file")["a"].size(), 4'000'000U);
}

TEST(JsonText, AReplacedValueLeavesEveryOtherByteAsItWas) {
  const std::string text =
      " { \"x\" : 1,\n\t\"s\":\"a \\\"x\\\": {\", \"o\": {\"x\": [ 1, {\"x\": 2} ] , \"y\":-1.5e3}, \"l\": [\"x\"]} \n";
  EXPECT_EQ(replace_json_value(text, {"x"}, "\"new\""), " { \"x\" : \"new\"" + text.substr(10));
  const auto changed = [&](const std::vector<std::string_view>& keys) {
    return nlohmann::json::parse(replace_json_value(text, keys, "true"));
  };
  auto expected = nlohmann::json::parse(text);
  expected["o"]["y"] = true;
  EXPECT_EQ(changed({"o", "y"}), expected);
  expected = nlohmann::json::parse(text);
  expected["l"] = true;
  EXPECT_EQ(changed({"l"}), expected);
  expected = nlohmann::json::parse(text);
  expected["s"] = true;
  EXPECT_EQ(changed({"s"}), expected);
}

TEST(JsonText, AValueIsFoundAsItIsWritten) {
  const std::string text = R"( {"x" : 18446744073709551616.50, "a\u0062": [ 1.0,2 ],"o":{"y":1}, "x":-0.0E+07 } )";
  EXPECT_EQ(json_source(text, "x"), "-0.0E+07");
  EXPECT_EQ(json_source(text, "ab"), "[ 1.0,2 ]") << "the name is spelled otherwise";
  EXPECT_EQ(json_source(text, "y"), "");
  EXPECT_EQ(json_source("{}", "x"), "");
}

TEST(JsonText, WhereThereIsNoSuchValueNothingChangesAndOfTwoTheLastCounts) {
  for (const char* text : {"{}", "{ }", R"({"a":{"x":1}})", R"({"y":"x","z":["x",1]})", R"({"o":[{"x":1}]})"}) {
    EXPECT_EQ(replace_json_value(text, {"x"}, "2"), text);
    EXPECT_EQ(replace_json_value(text, {"o", "x"}, "2"), text);
  }
  EXPECT_EQ(replace_json_value(R"({"x":1,"x":2})", {"x"}, "3"), R"({"x":1,"x":3})");
}

}  // namespace drift::json_test
