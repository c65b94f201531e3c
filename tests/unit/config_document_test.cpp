#include "tests/support/support.h"

#include <core/config/document.h>
#include <core/config/nearest.h>

#include <tests/support/config_folder.h>

namespace drift::config_document_test {

using namespace testing;

class Document : public test::ConfigFolder {
 protected:
  std::string mistakes(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides = {}) const {
    return mistakes_in([&] { load_document(file, overrides); });
  }
};

/// The value that --set gives to `x.key`.
Parameter::Value value_of(const std::string& assignment) {
  const ConfigDocument document = load_document("", {ConfigOverride::from_set(assignment)});
  return document.layers.back().leaves.at("x.key").value.value();
}

TEST_F(Document, FilesKeepTheirOrderAndTheCommandLineComesLast) {
  write("a.toml", "x.key = 1\n");
  write("b.toml", "extends = [\"a.toml\"]\nx.key = 2\n");
  const auto file = write("c.toml", "extends = [\"a.toml\", \"b.toml\"]\nx.key = 3\n");
  const ConfigDocument document = load_document(file, {ConfigOverride::from_set("x.key=4")});
  ASSERT_EQ(document.layers.size(), 4u);  // a counts once
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(document.layers[i].leaves.at("x.key").value, Parameter::Value(std::int64_t(i + 1)));
}

TEST_F(Document, WhatShipsWithDriftIsExtendedFromAnywhere) {
  const auto file = write("run.toml", "extends = [\"drift:configs/quickstart.toml\"]\ntrain.steps = 3\n");
  const ConfigDocument document = load_document(file, {});
  EXPECT_GT(document.layers.size(), 2u) << "the quickstart and what it extends";
  EXPECT_TRUE(document.lines.contains(file.string()));
  EXPECT_THAT(mistakes(write("wrong.toml", "extends = [\"drift:configs/quickstrat.toml\"]\n")),
              AllOf(HasSubstr("cannot read `"), HasSubstr("share/drift/configs/quickstrat.toml`")));
}

TEST_F(Document, ValuesOfSetAreTomlOrElseText) {
  EXPECT_EQ(value_of("x.key=20"), Parameter::Value(std::int64_t{20}));
  EXPECT_EQ(value_of("x.key=1e-6"), Parameter::Value(1e-6));
  EXPECT_EQ(value_of("x.key=true"), Parameter::Value(true));
  EXPECT_EQ(value_of("x.key=\"20\""), Parameter::Value(std::string("20")));
  EXPECT_EQ(value_of("x.key=runs/a b"), Parameter::Value(std::string("runs/a b")));
  EXPECT_EQ(value_of("x.key=a=b"), Parameter::Value(std::string("a=b")));
  EXPECT_EQ(value_of("x.key=[\"a\"]"), Parameter::Value(std::vector<std::string>{"a"}));
}

TEST_F(Document, TheLastOverrideWins) {
  const ConfigDocument document =
      load_document("", {ConfigOverride::from_set("x.key=1"), {"--key 2", "x.key", "2", /*literal=*/false}});
  EXPECT_EQ(document.layers.back().leaves.at("x.key").value, Parameter::Value(std::int64_t{2}));
  EXPECT_EQ(document.layers.back().leaves.at("x.key").origin.text(), "--key 2");
}

TEST(ConfigOrigin, IsOneLineThatDoesNothingToATerminal) {
  const Origin hostile{Origin::Kind::kCommandLine, "--set x=\x1b[31m\xc2\x9b\n1\t2", {}, {}};
  EXPECT_EQ(hostile.text(), "--set x=\\x1b[31m\\x9b 1 2");
}

TEST_F(Document, BrokenSets) {
  EXPECT_THROW(ConfigOverride::from_set("train.steps"), ConfigError);
  EXPECT_EQ(mistakes("", {ConfigOverride::from_set("x.key=[1,")}), R"(error: the value is not valid TOML
  --> --set x.key=[1,
                  ^^^
   = put texts in quotes and lists in brackets: ["a", "b"]
)");
  EXPECT_THAT(mistakes("", {ConfigOverride::from_set("x..key=1")}), HasSubstr("`x..key` is not a key"));
}

TEST_F(Document, MistakesInFilesAreShownAtTheirPlace) {
  EXPECT_EQ(mistakes(write("run.toml", "[train]\nsteps = 08\n")),
            R"(error: not valid TOML: leading zeroes are prohibited
  --> run.toml:2:11
   |
 2 | steps = 08
   |           ^
)");
  EXPECT_THAT(mistakes(folder_.path() / "none.toml"), HasSubstr("error: cannot read `none.toml`"));
  EXPECT_EQ(mistakes(write("run.toml", "extends = [\"models/none.toml\"]\n")), R"(error: cannot read `models/none.toml`
  --> run.toml:1:12
   |
 1 | extends = ["models/none.toml"]
   |            ^^^^^^^^^^^^^^^^^^
)");
  write("a.toml", "extends = [\"b.toml\"]\n");
  const auto file = write("b.toml", "extends = [\"a.toml\"]\n");
  EXPECT_EQ(mistakes(file), R"(error: `b.toml` extends itself
  --> a.toml:1:12
   |
 1 | extends = ["b.toml"]
   |            ^^^^^^^^
   = the cycle: b.toml -> a.toml -> b.toml
)");
  EXPECT_THAT(mistakes(write("run.toml", "extends = \"a.toml\"\n")), HasSubstr("`extends` must be a list of files"));
}

TEST_F(Document, EverySyntaxErrorIsReported) {
  write("a.toml", "x = \n");
  const std::string text =
      mistakes(write("run.toml", "extends = [\"a.toml\", \"b.toml\"]\n"), {ConfigOverride::from_set("x=[")});
  EXPECT_THAT(text, HasSubstr("a.toml:1:"));
  EXPECT_THAT(text, HasSubstr("cannot read `b.toml`"));
  EXPECT_THAT(text, HasSubstr("--set x=["));
}

TEST_F(Document, DeepNestingIsAMistakeNotAnEndOfTheStack) {
  std::string key = "a";
  for (int i = 0; i < 18800; ++i) key += ".a";
  const std::string brackets(18800, '[');
  for (const std::string& text : {key + " = 1", "[" + key + "]", "[[" + key + "]]", "x = {" + key + " = 1}",
                                  "x = " + brackets, "\n# [[[ \"\ny = '.'\n" + key + " = 1"}) {
    EXPECT_THAT(mistakes(write("deep.toml", text)), HasSubstr("keys and values go deeper than 64 levels"))
        << text.substr(0, 20);
  }
  EXPECT_NE(mistakes("", {ConfigOverride::from_set(key + "=1")}), "no mistake");
  for (const std::string& text :
       {"x = [{b = \"\"\"q\"\"\"\" , " + key + " = 1}]", "x = [{b = \'\'\'q\'\'\'\'\', " + key + " = 1}]"}) {
    EXPECT_THAT(mistakes(write("quotes.toml", text)), HasSubstr("deeper than 64")) << "quotes before the closing ones";
  }
  const std::string half = key.substr(0, 2 * 40 - 1);
  EXPECT_THAT(mistakes(write("both.toml", "x = {" + half + " = {" + half + " = 1}}")), HasSubstr("deeper than 64"));
  EXPECT_THAT(mistakes(write("key.toml", half + " = [{" + half + " = 1}]")), HasSubstr("deeper than 64"));
  EXPECT_EQ(mistakes(write("beside.toml", "x = {" + half + " = 1, y." + half + " = [{}, {}]}\n" + half + " = 1")),
            "no mistake");

  const std::string points(200, '.');
  const auto file = write("shallow.toml", "a.b = 1 # " + points + "\nx = '" + points + "'\ny = \"\"\"\n" + points +
                                              "\n\\\"" + points + "\"\"\"\nz = [1.5, 2.5, [3.5]]\n");
  EXPECT_EQ(mistakes(file), "no mistake") << "points in texts and comments are no keys";
}

TEST_F(Document, AChainOfThousandsOfFilesIsAMistake) {
  for (int i = 0; i < 4500; ++i)
    write(std::to_string(i) + ".toml", "extends = [\"" + std::to_string(i + 1) + ".toml\"]\n");
  EXPECT_THAT(mistakes(folder_.path() / "0.toml"), HasSubstr("files extend each other more than 64 deep"));
}

TEST_F(Document, OfManyMistakesTheFirstTwentyAreShownAndOfLongNamesAPart) {
  std::string list;
  for (int i = 0; i < 100000; ++i) list += "\"m" + std::to_string(i) + ".toml\",";
  const std::string text = mistakes(write("many.toml", "extends = [" + list + "]\n"));
  EXPECT_THAT(text, HasSubstr("and 99980 more mistakes"));
  EXPECT_LT(text.size(), 10000u);
  const std::string file = write("long.toml", "a = 1\n[\"" + std::string(2'000'000, 'k') + "\"\n").string();
  EXPECT_LT(mistakes(file).size(), 20'000u);
  EXPECT_LT(mistakes("", {ConfigOverride::from_set(std::string(100'000, 'k') + ".=1")}).size(), 20'000u);
}

TEST_F(Document, AFileLargerThanAnyConfigurationIsNotRead) {
  const auto file = write("large.toml", "a = 1\n");
  std::filesystem::resize_file(file, std::uintmax_t{1} << 40);
  EXPECT_THAT(mistakes(file), HasSubstr("large.toml` is larger than 4194304 bytes"));
}

TEST(NearestName, SuggestsOnlyWhatIsNear) {
  const std::vector<std::string> names = {"steps", "group_size", "learning_rate", "std"};
  EXPECT_EQ(nearest_name("stpes", names), "steps");
  EXPECT_EQ(nearest_name("groupsize", names), "group_size");
  EXPECT_EQ(nearest_name("learning-rate", names), "learning_rate");
  EXPECT_EQ(nearest_name("banana", names), "");
  EXPECT_EQ(nearest_name("", names), "");
}

}  // namespace drift::config_document_test
