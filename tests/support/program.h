#pragma once

// What the program printed and how it ended, as one expectation:
//
//     EXPECT_THAT(drift("trian"), mistake("did you mean `drift train`?"));
//     ASSERT_THAT(drift("plugin list"), prints("rldf", Not(HasSubstr("rldff"))));
//
// A text stands somewhere in what was printed; a matcher is of all of it.

#include <tests/support/support.h>

namespace drift::test {

inline testing::Matcher<std::string> said(const char* text) { return testing::HasSubstr(text); }
inline testing::Matcher<std::string> said(const std::string& text) { return testing::HasSubstr(text); }
inline testing::Matcher<std::string> said(const testing::Matcher<std::string>& matcher) { return matcher; }

template <class... Texts>
testing::Matcher<CommandResult> ended(int status, std::string CommandResult::*stream, const Texts&... texts) {
  const std::vector<testing::Matcher<std::string>> all = {said(texts)...};
  return testing::AllOf(testing::Field("status", &CommandResult::status, status),
                        testing::Field(stream, testing::AllOfArray(all)));
}

/// It did its work: exit status 0, and this is on standard output.
template <class... Texts>
testing::Matcher<CommandResult> prints(const Texts&... texts) {
  return ended(0, &CommandResult::output, texts...);
}
/// It did its work, and this is on standard error.
template <class... Texts>
testing::Matcher<CommandResult> warns(const Texts&... texts) {
  return ended(0, &CommandResult::error, texts...);
}
/// Exit status 1, with what was found on standard output.
template <class... Texts>
testing::Matcher<CommandResult> finds(const Texts&... texts) {
  return ended(1, &CommandResult::output, texts...);
}
/// Exit status 1 and an error.
template <class... Texts>
testing::Matcher<CommandResult> fails(const Texts&... texts) {
  return ended(1, &CommandResult::error, texts...);
}
/// The command line or the configuration is wrong: exit status 2, an error, and nothing on standard output.
template <class... Texts>
testing::Matcher<CommandResult> mistake(const Texts&... texts) {
  return testing::AllOf(ended(2, &CommandResult::error, texts...),
                        testing::Field("output", &CommandResult::output, testing::IsEmpty()));
}

/// The objects of JSON Lines.
inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> objects;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  return objects;
}
/// What a command has printed as JSON Lines, or as one value.
inline std::vector<nlohmann::json> printed_lines(const CommandResult& result) {
  EXPECT_THAT(result, prints());
  return json_lines(result.output);
}
inline nlohmann::json printed_json(const CommandResult& result) {
  EXPECT_THAT(result, prints());
  return nlohmann::json::parse(result.output, nullptr, /*allow_exceptions=*/false);
}

/// A folder where the program runs.
class ProgramFolder {
 public:
  std::filesystem::path path() const { return folder_.path(); }
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  std::string read(const std::string& name) const { return read_file(path(name)); }
  void write(const std::string& name, const std::string& content) const { write_file(path(name), content); }

  nlohmann::json read_json(const std::string& name) const { return nlohmann::json::parse(read(name)); }

  /// The complete shell command: `cd folder && VARIABLES drift ARGUMENTS`.
  std::string command(const std::string& arguments, const std::string& variables = "") const {
    return "cd " + path().string() + " && " + variables + " " + program().string() + " " + arguments;
  }
  CommandResult drift(const std::string& arguments, const std::string& variables = "") const {
    return run_command(command(arguments, variables));
  }
  /// What an evaluation keeps of a cell, but for how long it took.
  std::vector<nlohmann::json> responses_in(const std::string& out, const std::string& cell) const {
    auto responses = json_lines(read(out + "/responses/" + cell + ".jsonl"));
    for (auto& response : responses) response.erase("seconds");
    return responses;
  }

 private:
  TemporaryFolder folder_;
};

/// A path of the project's tree.
inline std::string source(const std::string& path) { return (source_dir() / path).string(); }

}  // namespace drift::test
