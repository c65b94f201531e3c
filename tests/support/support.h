#pragma once

// What several tests need: paths, temporary folders, commands, errors, and benchmark data that may be missing. Tests
// get GoogleMock, JSON and the usual headers of the standard library from here, those of tensors from tensors.h.

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drift::test {

/// The project's own tree.
std::filesystem::path source_dir();
/// The build tree the test belongs to.
std::filesystem::path build_dir();
/// The program under test.
std::filesystem::path program();

/// A file of data/, the folder of the source tree that scripts/fetch_data fills. Tests that read one are named after
/// NAME_DATA in their CMakeLists.txt, and begin with
///   if (const auto missing = test::missing_data({"MATH500.json"}); !missing.empty()) GTEST_SKIP() << missing;
std::filesystem::path data_file(const std::string& name);
/// Why a test that reads these files cannot run; empty if all are there.
std::string missing_data(const std::vector<std::string>& names);

/// Why a test that needs a pseudo-terminal cannot run; empty if one can be had.
std::string missing_terminal();

/// A fresh folder, removed with everything in it when the object goes.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The results of a finished command.
struct CommandResult {
  int status = 0;      ///< exit status; 128 + signal when killed
  std::string output;  ///< standard output
  std::string error;   ///< standard error
};
void PrintTo(const CommandResult& result, std::ostream* out);

/// Whether the program prints more than ASCII here. Tests of what it prints run in both kinds of locale.
bool in_utf8_locale();

/// Run a shell command and wait for it.
CommandResult run_command(const std::string& command);

/// What the Error says that `action` ends with, and its hint; empty if it ends with none.
std::string error_of(const std::function<void()>& action);
/// The same without the hint; "no error" if it ends with none.
std::string what_of(const std::function<void()>& action);

/// What is in a folder, by name.
std::set<std::string> names_in(const std::filesystem::path& folder);

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& content);

}  // namespace drift::test
