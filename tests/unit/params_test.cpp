#include <drift/error.h>
#include <drift/params.h>

#include <gmock/gmock.h>

#include <cmath>

namespace drift {
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

TEST(Params, AnAuthorsMistakeIsNamed) {
  const Params params(kSpecs);
  EXPECT_THROW(params.get<double>("missing"), Error);
  EXPECT_THROW(params.get<double>("k"), Error);
}

TEST(Params, WritesToml) {
  EXPECT_EQ(to_toml(ParamValue(1.0)), "1.0");
  EXPECT_EQ(to_toml(ParamValue(1e-6)), "1e-06");
  EXPECT_EQ(to_toml(ParamValue(INFINITY)), "inf");
  EXPECT_EQ(to_toml(ParamValue(std::string("a\"b\n"))), "\"a\\\"b\\n\"");
  EXPECT_EQ(to_toml(ParamValue(std::vector<std::string>{"a", "b"})), "[\"a\", \"b\"]");
}

TEST(Params, DescribesRanges) {
  EXPECT_EQ(at_least(1).describe(), ">= 1");
  EXPECT_EQ(between(0, 1).describe(), "[0, 1]");
  EXPECT_EQ(or_infinite(at_least(0)).describe(), ">= 0 or inf");
  EXPECT_EQ(one_of({"a", "b"}).describe(), "a | b");
}

}  // namespace
}  // namespace drift
