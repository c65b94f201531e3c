#include "tests/support/support.h"

#include <core/base/child_process.h>

#include <drift/error.h>

#include <pty.h>
#include <unistd.h>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace drift::test {
namespace {

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) throw std::runtime_error(std::string(name) + " is not set: run the tests through ctest");
  return value;
}

}  // namespace

std::filesystem::path source_dir() { return from_environment("DRIFT_SOURCE_DIR"); }
std::filesystem::path build_dir() { return from_environment("DRIFT_BUILD_DIR"); }
std::filesystem::path program() { return from_environment("DRIFT_BIN"); }

std::filesystem::path data_file(const std::string& name) { return source_dir() / "data" / name; }

std::string missing_data(const std::vector<std::string>& names) {
  // Without it, such a test would be skipped in an entry that passes.
  if (std::getenv("DRIFT_TEST_DATA") == nullptr)
    throw std::runtime_error("a test that reads data/ must be named after DATA in its CMakeLists.txt");
  for (const std::string& name : names) {
    if (!std::filesystem::exists(data_file(name))) return "data/" + name + " is not there: scripts/fetch_data";
  }
  return "";
}

std::string missing_terminal() {
  int own = -1, other = -1;
  if (::openpty(&own, &other, nullptr, nullptr, nullptr) != 0) return "no pseudo-terminal can be had here";
  ::close(own);
  ::close(other);
  return "";
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "drift-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot create " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

bool in_utf8_locale() { return from_environment("LC_ALL").string().ends_with("UTF-8"); }

CommandResult run_command(const std::string& command) {
  CommandOutput result = run({.arguments = {"/bin/sh", "-c", command}});
  return {result.end.status(), std::move(result.output), std::move(result.error)};
}

void PrintTo(const CommandResult& result, std::ostream* out) {
  *out << "exit status " << result.status << "\n" << result.output << result.error;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
}

std::string what_of(const std::function<void()>& action) {
  try {
    action();
    return "no error";
  } catch (const Error& error) {
    return error.what();
  }
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file << content;
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace drift::test
