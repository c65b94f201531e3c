// Every public header compiles alone and without a warning, as the first thing that a plugin's author includes.

#include <tests/support/support.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

namespace drift {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> public_headers() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(test::source_dir() / "core" / "include" / "drift")) {
    names.push_back(file.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(PublicHeaders, CompileAlone) {
  const std::string torch = std::string(std::getenv("DRIFT_LIBTORCH_ROOT")) + "/include";
  const std::string compile = std::string(std::getenv("CXX")) +
                              " -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I" +
                              (test::source_dir() / "core" / "include").string() + " -isystem " + torch + " ";
  const test::TemporaryFolder folder;
  const auto source = folder.path() / "alone.cpp";
  ASSERT_GT(public_headers().size(), 10u);
  for (const std::string& name : public_headers()) {
    test::write_file(source, "#include <drift/" + name + ">\n");
    const auto start = std::chrono::steady_clock::now();
    const auto result = test::run_command(compile + source.string());
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(result.status, 0) << "drift/" << name << "\n" << result.error;
    std::cout << "drift/" << name << "  " << seconds.count() << " s\n";
  }
}

// drift/pure.h and drift/pure.hpp ask for less than the others: an older language, and nothing but the compiler.
TEST(PublicHeaders, OfPlainArraysCompileWithoutLibTorch) {
  const std::string options =
      " -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I" + (test::source_dir() / "core" / "include").string() + " ";
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "alone.c", "#include <drift/pure.h>\n");
  test::write_file(folder.path() / "alone.cpp", "#include <drift/pure.hpp>\n");
  for (const char* compiler : {"gcc", "g++", "clang", "clang++"}) {
    if (test::run_command(std::string("command -v ") + compiler).status != 0) continue;
    const bool is_c = std::string(compiler) == "gcc" || std::string(compiler) == "clang";
    const std::string file = is_c ? " -std=c99 " + (folder.path() / "alone.c").string()
                                  : " -std=c++17 " + (folder.path() / "alone.cpp").string();
    const auto result = test::run_command(compiler + options + file);
    EXPECT_EQ(result.status, 0) << compiler << "\n" << result.error;
  }
}

}  // namespace
}  // namespace drift
