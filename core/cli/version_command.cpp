#include <core/cli/load_run.h>
#include <core/io/json.h>

#include <drift/abi.h>

#include <nlohmann/json.hpp>

#include <iostream>

namespace drift {
namespace {

int print_version(const bool& json) {
  if (json) {
    const nlohmann::ordered_json facts = {
        {"version", DRIFT_VERSION},
        {"core_abi", std::to_string(DRIFT_ABI_MAJOR) + "." + std::to_string(DRIFT_ABI_MINOR)},
        {"libtorch", TORCH_VERSION},
        {"compiler", DRIFT_BUILD_COMPILER},
        {"platform", DRIFT_BUILD_PLATFORM},
        {"build_type", DRIFT_BUILD_TYPE}};
    std::cout << json_text(facts, 1) << "\n";
    return 0;
  }
  std::cout << "drift " DRIFT_VERSION "\n"
            << "core ABI " << DRIFT_ABI_MAJOR << "." << DRIFT_ABI_MINOR << "\n"
            << "LibTorch " TORCH_VERSION "\n"
            << "built by " DRIFT_BUILD_COMPILER " for " DRIFT_BUILD_PLATFORM ", " DRIFT_BUILD_TYPE "\n";
  return 0;
}

int print_sdk_prefix(const bool&) {
  const std::filesystem::path prefix = program_path().parent_path().parent_path();
  if (!std::filesystem::exists(prefix / DRIFT_CMAKE_FOLDER)) {
    throw Error("no SDK beside this program: " + (prefix / DRIFT_CMAKE_FOLDER).string() + " is missing",
                "cmake --install BUILD_FOLDER --prefix FOLDER, then FOLDER/bin/drift sdk --prefix");
  }
  std::cout << prefix.string() << "\n";
  return 0;
}

}  // namespace

Command version_command() {
  return make_command<bool>(
      {"version", "version, core ABI and LibTorch of this program", "Prints what a bug report should say.", "version"},
      print_version, [](OptionList& list, bool& json) { list.add_switch("json", "print JSON instead of text", json); });
}

Command sdk_command() {
  return make_command<bool>({"sdk", "where the SDK for plugins is",
                             "Prints the folder that a plugin's CMake build takes as CMAKE_PREFIX_PATH:\n"
                             "cmake -B build -DCMAKE_PREFIX_PATH=$(drift sdk --prefix)",
                             "sdk --prefix"},
                            print_sdk_prefix, [](OptionList& list, bool& prefix) {
                              list.add_switch("prefix", "print the folder", prefix).required = true;
                            });
}

}  // namespace drift
