#include "tests/support/support.h"

#include <drift/error.h>
#include <drift/params.h>

namespace drift::params_test {

const std::vector<Parameter> kSpecs = {{"k", 4, "steps", at_least(1)},
                                       {"tau", 1.0, "temperature", or_infinite(at_least(0))},
                                       {"norm", "sample", "normaliser", one_of({"sample", "token"})},
                                       {"keep", true, "keep"}};

TEST(Parameters, DefaultsAndValuesAndAnIntegerWhereANumberIsDeclared) {
  const Parameters params(kSpecs, {{"k", std::int64_t{8}}});
  EXPECT_EQ(params.get<std::int64_t>("k"), 8);
  EXPECT_EQ(params.get<double>("tau"), 1.0);
  EXPECT_EQ(params.get<std::string>("norm"), "sample");
  EXPECT_TRUE(params.get<bool>("keep"));
  EXPECT_EQ(Parameters(kSpecs, {{"tau", std::int64_t{2}}}).get<double>("tau"), 2.0);
}

TEST(Parameters, RefusesUnknownWrongTypeAndOutOfRange) {
  EXPECT_THROW(Parameters(kSpecs, {{"kk", std::int64_t{8}}}), Error);
  EXPECT_THROW(Parameters(kSpecs, {{"k", 8.5}}), Error);
  EXPECT_THROW(Parameters(kSpecs, {{"k", std::int64_t{0}}}), Error);
  EXPECT_THROW(Parameters(kSpecs, {{"tau", std::nan("")}}), Error);
  EXPECT_THROW(Parameters(kSpecs, {{"norm", std::string("tokens")}}), Error);
  EXPECT_NO_THROW(Parameters(kSpecs, {{"tau", INFINITY}}));
}

enum class Fruit { kApple, kPear };
constexpr Choices<Fruit, 2> kFruits{{{"apple", Fruit::kApple}, {"pear", Fruit::kPear}}};

TEST(Parameters, AChoiceIsBoundToItsEnumerator) {
  const std::vector<Parameter> specs = {{"fruit", kFruits, Fruit::kPear, "what is eaten"}};
  EXPECT_EQ(Parameters(specs).get("fruit", kFruits), Fruit::kPear);
  EXPECT_EQ(Parameters(specs, {{"fruit", std::string("apple")}}).get("fruit", kFruits), Fruit::kApple);
  EXPECT_THROW(Parameters(specs, {{"fruit", std::string("plum")}}), Error);
  EXPECT_EQ(specs[0].allowed.describe(), "apple | pear");
  constexpr Choices<Fruit, 1> kOther{{{"apple", Fruit::kApple}}};
  EXPECT_THROW(Parameters(specs).get("fruit", kOther), Error) << "a text that the author forgot";
}

TEST(Parameters, ListsHoldNumbers) {
  const std::vector<Parameter> specs = {{"weights", std::vector<double>{1, 0.5}, "of the terms", between(0, 1)},
                                        {"sizes", std::vector<std::int64_t>{8}, "of the blocks", at_least(1)}};
  const Parameters given(specs, {{"weights", std::vector<std::int64_t>{0, 1}}, {"sizes", std::vector<std::string>{}}});
  EXPECT_EQ(given.get<std::vector<double>>("weights"), (std::vector<double>{0, 1})) << "integers serve as numbers";
  EXPECT_TRUE(given.get<std::vector<std::int64_t>>("sizes").empty()) << "an empty list is a list of anything";
  EXPECT_THROW(Parameters(specs, {{"weights", std::vector<double>{0.5, 1.5}}}), Error) << "each number is in the range";
  EXPECT_THROW(Parameters(specs, {{"sizes", std::vector<double>{0.5}}}), Error);
  EXPECT_THROW(Parameters(specs, {{"sizes", std::vector<std::string>{"8"}}}), Error);
  EXPECT_EQ(to_toml(std::vector<double>{1, 0.5}), "[1.0, 0.5]");
  EXPECT_EQ(to_toml(std::vector<std::int64_t>{8, 4}), "[8, 4]");
  EXPECT_EQ(type_name(std::vector<double>{}), "list of numbers");
}

TEST(Parameters, ChoicesAlsoApplyToTextsOfAList) {
  const std::vector<Parameter> specs = {{"parts", std::vector<std::string>{}, "parts", one_of({"a", "b"})}};
  EXPECT_NO_THROW(Parameters(specs, {{"parts", std::vector<std::string>{"b", "a"}}}));
  EXPECT_THROW(Parameters(specs, {{"parts", std::vector<std::string>{"b", "c"}}}), Error);
}

TEST(Parameters, APathSaysThatItIsOne) {
  EXPECT_TRUE(path("table", "", "file of the weights").is_path);
  EXPECT_TRUE(paths("tables", "files of the weights").is_path);
  EXPECT_FALSE(Parameter("path", "", "a text with that name").is_path);
}

TEST(Parameters, AnAuthorsMistakeIsNamed) {
  const Parameters params(kSpecs);
  EXPECT_THROW(params.get<double>("missing"), Error);
  EXPECT_THROW(params.get<double>("k"), Error);
}

TEST(Parameters, WritesTomlAndDescribesRanges) {
  EXPECT_EQ(to_toml(Parameter::Value(1.0)), "1.0");
  EXPECT_EQ(to_toml(Parameter::Value(1e-6)), "1e-6");
  EXPECT_EQ(to_toml(Parameter::Value(INFINITY)), "inf");
  EXPECT_EQ(to_toml(Parameter::Value(std::string("a\"b\n"))), "\"a\\\"b\\n\"");
  EXPECT_EQ(to_toml(Parameter::Value(std::string("\x1b[2J \x7f \xc2\x9b é \xc2\xa0"))),
            "\"\\u001B[2J \\u007F \\u009B é \xc2\xa0\"")
      << "none of what acts on a terminal";
  EXPECT_EQ(to_toml(Parameter::Value(std::vector<std::string>{"a", "b"})), "[\"a\", \"b\"]");
  EXPECT_EQ(at_least(1).describe(), ">= 1");
  EXPECT_EQ(between(0, 1).describe(), "[0, 1]");
  EXPECT_EQ(or_infinite(at_least(0)).describe(), ">= 0 or inf");
  EXPECT_EQ(one_of({"a", "b"}).describe(), "a | b");
}

}  // namespace drift::params_test
