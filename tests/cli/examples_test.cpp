// The examples of --help work as printed, from the root of the repository and in the order of `drift --help`.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <cctype>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;

/// What looks like the root of the repository with a build in it, and is not.
class Root {
 public:
  Root() {
    for (const fs::directory_entry& entry : fs::directory_iterator(test::source_dir())) {
      const std::string name = entry.path().filename();
      if (name != "build" && name != "runs") fs::create_symlink(entry.path(), folder_.path() / name);
    }
    fs::create_directory(folder_.path() / "build");
    fs::create_symlink(test::build_dir(), folder_.path() / "build/release");
  }

  test::CommandResult run(const std::string& command) const {
    test::write_file(folder_.path() / "command.sh", "export PATH=build/release/bin:$PATH\n" + command + "\n");
    return test::run_command("cd " + folder_.path().string() + " && bash command.sh");
  }

 private:
  test::TemporaryFolder folder_;
};

/// The commands between "example: " and the end of the help or an empty line.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> examples;
  std::istringstream lines(help);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    inside = line.starts_with("example: ") || (inside && line.starts_with("         drift "));
    if (inside) examples.push_back(line.substr(9));
  }
  return examples;
}

TEST(Examples, WorkAsPrinted) {
  const Root root;
  std::istringstream overview(root.run("drift --help").output);
  std::vector<std::string> commands = examples_in(overview.str());
  ASSERT_EQ(commands, std::vector<std::string>{"drift train configs/quickstart.toml"});
  for (std::string line; std::getline(overview, line);) {
    if (!line.starts_with("  ")) continue;
    std::istringstream words(line);
    std::string name, word;
    // The name is one or two small words; two spaces or a word in capitals follow.
    words >> name >> word;
    if (line.find("  " + name + " " + word) == 0 && std::islower(static_cast<unsigned char>(word[0])))
      name += " " + word;
    const auto own = examples_in(root.run("drift help " + name).output);
    ASSERT_FALSE(own.empty()) << name;
    commands.insert(commands.end(), own.begin(), own.end());
  }
  ASSERT_GT(commands.size(), 22u);
  for (const std::string& command : commands) {
    const auto result = root.run(command);
    EXPECT_EQ(result.status, 0) << command << "\n" << result.output << result.error;
    EXPECT_NE(result.output, "") << command;
  }
}

}  // namespace
}  // namespace drift
