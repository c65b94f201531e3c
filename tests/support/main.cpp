// The main function of every test program. `PROGRAM NAME` runs the tests of the source file NAME.cpp, as ctest does;
// without a name all tests of the program run, in one process.

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>
#include <iostream>
#include <set>
#include <string>

namespace {

using Visit = std::function<void(const std::string& suite, const std::string& file)>;

void for_each_suite(const Visit& visit) {
  const auto& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const auto& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j)
      visit(suite.name(), std::filesystem::path(suite.GetTestInfo(j)->file()).stem());
  }
}

/// Leaves the tests of one file in GoogleTest's filter. Suites are named, not tests: the filter is printed.
bool keep_tests_of(const std::string& name) {
  std::set<std::string> own, others;
  for_each_suite([&](const auto& suite, const auto& file) { (file == name ? own : others).insert(suite + ".*"); });
  auto& filter = testing::GTEST_FLAG(filter);
  const bool is_whole = filter == "*";
  if (is_whole) filter.clear();
  char separator = is_whole || filter.find('-') != std::string::npos ? ':' : '-';
  for (const std::string& suite : is_whole ? own : others) {
    if (!filter.empty()) filter += separator;
    filter += suite;
    separator = ':';
  }
  if (own.empty()) std::cerr << "no test of this program is in " << name << ".cpp\n";
  for (const std::string& suite : own) {
    if (others.count(suite) == 0) continue;
    std::cerr << suite << " is in " << name << ".cpp and in another file\n";
    return false;
  }
  return !own.empty();
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  if (argc > 1 && !keep_tests_of(argv[1])) return 1;
  return RUN_ALL_TESTS();
}
