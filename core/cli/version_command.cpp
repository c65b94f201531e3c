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

}  // namespace

Command version_command() {
  return make_command<bool>(
      {"version", "version, core ABI and LibTorch of this program", "Prints what a bug report should say.", "version"},
      print_version, [](OptionList& list, bool& json) { list.add_switch("json", "print JSON instead of text", json); });
}

}  // namespace drift
