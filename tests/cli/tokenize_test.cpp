// `drift tokenize`: ids and pieces of a text, and back.

#include <tests/support/program.h>

namespace drift::tokenize_test {

using namespace test;
using namespace testing;

class Tokenize : public Test, public ProgramFolder {
 protected:
  CommandResult tokenize(const std::string& arguments) {
    return run_command(program().string() + " tokenize " + tokenizer_ + " " + arguments);
  }
  std::string file(const std::string& content) {
    write("in.jsonl", content);
    return path("in.jsonl").string();
  }

  const std::string tokenizer_ = (source_dir() / "assets" / "sudoku-llada").string();
};

TEST_F(Tokenize, ShowsIdsAndPieces) {
  const auto result = tokenize("--text '<|startoftext|>1\n20'");
  EXPECT_THAT(result, prints());
  EXPECT_EQ(result.output,
            "id  piece\n"
            " 2  \"<|startoftext|>\"  special\n"
            " 6  \"1\"\n"
            " 4  \"\\n\"\n"
            " 7  \"2\"\n"
            " 5  \"0\"\n");
}

TEST_F(Tokenize, ReadsStandardInput) {
  const std::string command = program().string() + " tokenize " + tokenizer_;
  EXPECT_EQ(run_command("printf '12' | " + command + " --json").output, "{\"ids\":[6,7],\"pieces\":[\"1\",\"2\"]}\n");
  EXPECT_EQ(tokenize("</dev/null").output, "id  piece\n");
  EXPECT_EQ(run_command("printf '1' | " + command + "/tokenizer.json").output, "id  piece\n 6  \"1\"\n");
}

TEST_F(Tokenize, Decodes) {
  EXPECT_EQ(tokenize("--decode 2,6,7,3").output, "12\n");
  EXPECT_EQ(tokenize("--decode '2, 6, 7, 3' --keep-special").output, "<|startoftext|>12<|sep|>\n");
  EXPECT_EQ(tokenize("--decode 6,4 --json").output, "{\"text\":\"1\\n\"}\n");
  EXPECT_THAT(tokenize("--decode 6,23"),
              fails(StartsWith("error: the token id 23 is outside the vocabulary of 23 tokens\n")));
}

TEST_F(Tokenize, TakesManyTexts) {
  const std::string texts = file("{\"text\": \"1+2\", \"level\": 3}\n\n{\"text\": \"\"}\r\n{\"text\": \"<|mask|>\"}");
  EXPECT_EQ(tokenize("--in " + texts + " --json").output,
            "{\"ids\":[6,15,7],\"pieces\":[\"1\",\"+\",\"2\"]}\n"
            "{\"ids\":[],\"pieces\":[]}\n"
            "{\"ids\":[1],\"pieces\":[\"<|mask|>\"]}\n");
  EXPECT_EQ(tokenize("--in " + texts).output,
            "id  piece\n 6  \"1\"\n15  \"+\"\n 7  \"2\"\n\nid  piece\n\nid  piece\n 1  \"<|mask|>\"  special\n");
  const std::string ids = file("{\"ids\": [6, 1]}\n{\"ids\": []}\n");
  EXPECT_EQ(tokenize("--in " + ids + " --decode").output, "1\n\n");
  EXPECT_EQ(tokenize("--decode --in " + ids + " --json --keep-special").output,
            "{\"text\":\"1<|mask|>\"}\n{\"text\":\"\"}\n");
}

TEST_F(Tokenize, NamesTheRecordThatIsWrong) {
  const auto error_of = [&](const std::string& line, const std::string& options) {
    const std::string path = file("{\"text\": \"1\", \"ids\": [6]}\n" + line + "\n");
    const auto result = tokenize("--in " + path + " " + options);
    EXPECT_THAT(result, fails(StartsWith("error: " + path + ":2: ")));
    return result.error.substr(0, result.error.find('\n'));
  };
  EXPECT_THAT(error_of("{\"text\": \"1\"", ""), HasSubstr("the line is not a JSON object: line 1, column"));
  EXPECT_THAT(error_of("[1]", ""), HasSubstr("the line is not a JSON object"));
  EXPECT_THAT(error_of("{\"Text\": \"1\"}", ""), HasSubstr("`text` is missing"));
  EXPECT_THAT(error_of("{\"text\": 1}", ""), HasSubstr("`text` is not a text"));
  EXPECT_THAT(error_of("{\"text\": \"a\"}", ""), HasSubstr("the vocabulary has no token for `a`"));
  EXPECT_THAT(error_of("{\"text\": \"1\"}", "--decode"), HasSubstr("`ids` is missing"));
  EXPECT_THAT(error_of("{\"ids\": [1, -1]}", "--decode"), HasSubstr("`ids` is not a list of token ids"));
  EXPECT_THAT(error_of("{\"ids\": [99999999999]}", "--decode"), HasSubstr("`ids` is not a list of token ids"));
  EXPECT_THAT(error_of("{\"ids\": [99]}", "--decode"), HasSubstr("token id 99 is outside"));
  EXPECT_THAT(tokenize("--in missing.jsonl").error, StartsWith("error: cannot read missing.jsonl\n"));
}

TEST_F(Tokenize, MistakesOfTheCommandLine) {
  const auto error_of = [&](const std::string& options) {
    const auto result = tokenize(options);
    EXPECT_THAT(result, mistake()) << options;
    return result.error;
  };
  EXPECT_THAT(error_of("--decode 1,x"),
              StartsWith("error: --decode expects whole numbers from 0, such as 2,17,5, found `x`\n"));
  EXPECT_THAT(error_of("--decode"), StartsWith("error: --decode expects token ids, or a file of them\n"));
  EXPECT_THAT(error_of("--text 1 --in file"), HasSubstr("expects one of --text, --in and the ids of --decode"));
  EXPECT_THAT(error_of("--decode 1 --in file"), HasSubstr("expects one of --text, --in and the ids of --decode"));
  EXPECT_THAT(error_of("--in file --decode --text 1"), HasSubstr("expects one of"));
  EXPECT_THAT(run_command(program().string() + " tokenize nowhere --text 1"),
              fails(StartsWith("error: cannot use the tokenizer nowhere/tokenizer.json: the file cannot be opened\n")));
}

TEST_F(Tokenize, ShowsBytesThatAreNotCharacters) {
  write("tokenizer.json",
        R"({"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"Ã": 0, "©": 1, "\"": 2}},
                             "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}})");
  const auto result = drift("tokenize tokenizer.json --text 'é\"'");
  EXPECT_EQ(result.output, "id  piece\n 0  \"\\xC3\"\n 1  \"\\xA9\"\n 2  \"\\\"\"\n");
}

}  // namespace drift::tokenize_test
