#include <drift/error.h>
#include <drift/params.h>

#include <gmock/gmock.h>

#include <cmath>

namespace drift::params_test {
namespace {

const ParamSpecs kSpecs = {{"k", 4, "steps", at_least(1)},
                           {"tau", 1.0, "temperature", or_infinite(at_least(0))},
                           {"norm", "sample", "normaliser", one_of({"sample", "token"})},
                           {"keep", true, "keep"}};

TEST(Params, DefaultsAndValues) {
  const Params params(kSpecs, {{"k", std::int64_t{8}}});
  EXPECT_EQ(params.get<std::int64_t>("k"), 8);
  EXPECT_EQ(params.get<double>("tau"), 1.0);
  EXPECT_EQ(params.get<std::string>("norm"), "sample");
  EXPECT_TRUE(params.get<bool>("keep"));
}

TEST(Params, AnIntegerServesWhereANumberIsDeclared) {
  EXPECT_EQ(Params(kSpecs, {{"tau", std::int64_t{2}}}).get<double>("tau"), 2.0);
}

TEST(Params, RefusesUnknownWrongTypeAndOutOfRange) {
  EXPECT_THROW(Params(kSpecs, {{"kk", std::int64_t{8}}}), Error);
  EXPECT_THROW(Params(kSpecs, {{"k", 8.5}}), Error);
  EXPECT_THROW(Params(kSpecs, {{"k", std::int64_t{0}}}), Error);
  EXPECT_THROW(Params(kSpecs, {{"tau", std::nan("")}}), Error);
  EXPECT_THROW(Params(kSpecs, {{"norm", std::string("tokens")}}), Error);
  EXPECT_NO_THROW(Params(kSpecs, {{"tau", INFINITY}}));
}

enum class Fruit { kApple, kPear };
constexpr Choices<Fruit, 2> kFruits{{{"apple", Fruit::kApple}, {"pear", Fruit::kPear}}};

TEST(Params, AChoiceIsBoundToItsEnumerator) {
  const ParamSpecs specs = {{"fruit", kFruits, Fruit::kPear, "what is eaten"}};
  EXPECT_EQ(Params(specs).get("fruit", kFruits), Fruit::kPear);
  EXPECT_EQ(Params(specs, {{"fruit", std::string("apple")}}).get("fruit", kFruits), Fruit::kApple);
  EXPECT_THROW(Params(specs, {{"fruit", std::string("plum")}}), Error);
  EXPECT_EQ(specs[0].range.describe(), "apple | pear");
  constexpr Choices<Fruit, 1> kOther{{{"apple", Fruit::kApple}}};
  EXPECT_THROW(Params(specs).get("fruit", kOther), Error) << "a text that the author forgot";
}

TEST(Params, ListsHoldNumbers) {
  const ParamSpecs specs = {{"weights", std::vector<double>{1, 0.5}, "of the terms", between(0, 1)},
                            {"sizes", std::vector<std::int64_t>{8}, "of the blocks", at_least(1)}};
  const Params given(specs, {{"weights", std::vector<std::int64_t>{0, 1}}, {"sizes", std::vector<std::string>{}}});
  EXPECT_EQ(given.get<std::vector<double>>("weights"), (std::vector<double>{0, 1})) << "integers serve as numbers";
  EXPECT_TRUE(given.get<std::vector<std::int64_t>>("sizes").empty()) << "an empty list is a list of anything";
  EXPECT_THROW(Params(specs, {{"weights", std::vector<double>{0.5, 1.5}}}), Error) << "each number is in the range";
  EXPECT_THROW(Params(specs, {{"sizes", std::vector<double>{0.5}}}), Error);
  EXPECT_THROW(Params(specs, {{"sizes", std::vector<std::string>{"8"}}}), Error);
  EXPECT_EQ(to_toml(std::vector<double>{1, 0.5}), "[1.0, 0.5]");
  EXPECT_EQ(to_toml(std::vector<std::int64_t>{8, 4}), "[8, 4]");
  EXPECT_EQ(type_name(std::vector<double>{}), "list of numbers");
}

TEST(Params, ChoicesAlsoApplyToTextsOfAList) {
  const ParamSpecs specs = {{"parts", std::vector<std::string>{}, "parts", one_of({"a", "b"})}};
  EXPECT_NO_THROW(Params(specs, {{"parts", std::vector<std::string>{"b", "a"}}}));
  EXPECT_THROW(Params(specs, {{"parts", std::vector<std::string>{"b", "c"}}}), Error);
}

TEST(Params, APathSaysThatItIsOne) {
  EXPECT_TRUE(path("table", "", "file of the weights").is_path);
  EXPECT_TRUE(paths("tables", "files of the weights").is_path);
  EXPECT_FALSE(ParamSpec("path", "", "a text with that name").is_path);
}

TEST(Params, AnAuthorsMistakeIsNamed) {
  const Params params(kSpecs);
  EXPECT_THROW(params.get<double>("missing"), Error);
  EXPECT_THROW(params.get<double>("k"), Error);
}

TEST(Params, WritesToml) {
  EXPECT_EQ(to_toml(ParamValue(1.0)), "1.0");
  EXPECT_EQ(to_toml(ParamValue(1e-6)), "1e-6");
  EXPECT_EQ(to_toml(ParamValue(INFINITY)), "inf");
  EXPECT_EQ(to_toml(ParamValue(std::string("a\"b\n"))), "\"a\\\"b\\n\"");
  EXPECT_EQ(to_toml(ParamValue(std::string("\x1b[2J \x7f \xc2\x9b é \xc2\xa0"))),
            "\"\\u001B[2J \\u007F \\u009B é \xc2\xa0\"")
      << "none of what acts on a terminal";
  EXPECT_EQ(to_toml(ParamValue(std::vector<std::string>{"a", "b"})), "[\"a\", \"b\"]");
}

TEST(Params, DescribesRanges) {
  EXPECT_EQ(at_least(1).describe(), ">= 1");
  EXPECT_EQ(between(0, 1).describe(), "[0, 1]");
  EXPECT_EQ(or_infinite(at_least(0)).describe(), ">= 0 or inf");
  EXPECT_EQ(one_of({"a", "b"}).describe(), "a | b");
}

}  // namespace
}  // namespace drift::params_test
