// The main function of every test program. `PROGRAM NAME` runs the tests of the source file NAME.cpp, as ctest does;
// without a name all tests of the program run, in one process.

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <string>

namespace {

using Visit = std::function<void(const std::string& test, const std::string& file)>;

void for_each_test(const Visit& visit) {
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const auto& test = *suite.GetTestInfo(j);
      visit(std::string(suite.name()) + "." + test.name(), std::filesystem::path(test.file()).stem());
    }
  }
}

/// Takes the tests of all other files out of GoogleTest's filter.
bool keep_tests_of(const std::string& name) {
  std::set<std::string> kept;
  for_each_test([&](const auto& test, const auto& file) {
    if (file == name) kept.insert(test);
  });
  auto& filter = testing::GTEST_FLAG(filter);
  char separator = filter.find('-') == std::string::npos ? '-' : ':';
  std::string twice;
  for_each_test([&](const auto& test, const auto& file) {
    if (file == name) return;
    if (kept.count(test) > 0) twice = test;
    filter += separator + test;
    separator = ':';
  });
  if (kept.empty()) std::cerr << "no test of this program is in " << name << ".cpp\n";
  if (!twice.empty()) std::cerr << twice << " is in " << name << ".cpp and in another file\n";
  return !kept.empty() && twice.empty();
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc > 1 && !keep_tests_of(argv[1])) return 1;
  return RUN_ALL_TESTS();
}
