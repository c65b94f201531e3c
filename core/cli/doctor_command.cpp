#include <core/base/child_process.h>
#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/thread_limits.h>
#include <core/boundary/made.h>
#include <core/cli/load_run.h>
#include <core/io/json.h>
#include <core/kernels/product.h>
#include <core/ranks/launch.h>
#include <core/report/text_table.h>

#include <drift/abi.h>
#include <drift/reward.h>

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Device.h>
#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

namespace drift {
namespace {

enum class State { kOk, kNote, kProblem };

/// One line of the report; a problem says what to do.
struct Finding {
  State state = State::kOk;
  std::string subject;
  std::string text;
  std::string remedy;
};

std::string first_program(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string file = find_program(name); !file.empty()) return file;
  }
  return {};
}

Finding check_compiler() {
  const std::string compiler = first_program({"c++", "g++", "clang++"});
  const std::string cmake = first_program({"cmake"});
  if (!compiler.empty() && !cmake.empty()) return {State::kOk, "compiler", compiler + ", " + cmake, ""};
  const std::string missing = std::string(compiler.empty() ? "no C++ compiler" : "") +
                              (compiler.empty() && cmake.empty() ? ", " : "") + (cmake.empty() ? "no cmake" : "");
  return {State::kNote, "compiler", missing, "only needed to build plugins: apt-get install g++ cmake ninja-build"};
}

Finding check_libtorch() {
  Dl_info where{};
  // Any function of LibTorch shows which file was loaded.
  const bool found = dladdr(reinterpret_cast<void*>(&c10::DeviceTypeName), &where) != 0;
  return {State::kOk, "LibTorch", std::string(TORCH_VERSION) + (found ? std::string(", ") + where.dli_fname : ""), ""};
}

Finding check_cuda() {
  if (!built_with_cuda()) {
    return {State::kNote, "CUDA", "this build is without CUDA",
            "for --device cuda, install the CUDA Toolkit and build again"};
  }
  try {
    run_device("cuda");
  } catch (const Error& error) {
    return {State::kNote, "CUDA", std::string("this build is with CUDA, but ") + error.what(), error.hint()};
  }
  return {State::kOk, "CUDA", std::to_string(at::detail::getCUDAHooks().deviceCount()) + " GPU", ""};
}

Finding check_threads() {
  std::string text = thread_limits().text();
  // How threads wait for each other: the launcher's choice, or the user's own.
  for (const char* variable : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (const char* value = std::getenv(variable)) text += std::string(", ") + variable + "=" + value;
  }
  return {State::kOk, "threads", text, ""};
}

Finding check_products() {
  const bool native = kernels::bfloat16_products() == kernels::Bfloat16Products::kNative;
  return {State::kOk, "products", native ? "bfloat16 by AMX" : "bfloat16 widened to float32: this processor has no AMX",
          ""};
}

/// Several processes to a run; one needs none of it.
Finding check_ranks() {
  const TransportState state = transport_state();
  if (!state.problem.empty()) {
    return {State::kNote, "ranks", "one process to a run: " + state.problem,
            "for runs of several, install libopenmpi-dev and openmpi-bin, and build again"};
  }
  const std::string launcher = first_program({"mpirun", "srun"});
  return {State::kOk, "ranks", state.text + (launcher.empty() ? ", no mpirun here" : ", " + launcher), ""};
}

/// One whose parameters follow from settings, a file say, is not made without them; it says what it finds here.
Finding check_declaration(const ComponentEntry& entry) {
  try {
    with_declaration(entry, {});
    return {State::kOk, "reward", "`" + entry.name + "`", ""};
  } catch (const Error& error) {
    return {State::kNote, "reward", "`" + entry.name + "`: " + error.what(), error.hint()};
  }
}

/// Makes each reward as a run would: one that needs something of the machine, a sandbox say, tries it.
void check_rewards(const Registry& registry, std::vector<Finding>& findings) {
  std::string ready;
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind != ComponentKind::kReward) continue;
    if (entry.declaration) {
      findings.push_back(check_declaration(entry));
      continue;
    }
    try {
      make_from_plugin<Reward>(entry, Parameters(entry.params));
      ready += (ready.empty() ? "" : ", ") + entry.name;
    } catch (const Error& error) {
      findings.push_back(
          {State::kNote, "reward", "`" + entry.name + "` cannot be used here: " + error.what(), error.hint()});
    }
  }
  if (!ready.empty()) findings.push_back({State::kOk, "rewards", ready + ": each can judge here", ""});
}

void check_plugins(std::vector<Finding>& findings) {
  const auto plugins = load_plugins(std::vector<std::filesystem::path>(), ForeignFiles::kTriedFirst);
  std::string names;
  for (const LoadedPlugin& plugin : plugins->loader.loaded()) names += (names.empty() ? "" : ", ") + plugin.name;
  if (names.empty()) {
    findings.push_back(
        {State::kProblem, "plugins", "none found", "build them all (cmake --build), or set DRIFT_PLUGIN_PATH"});
  } else {
    findings.push_back({State::kOk, "plugins", names, ""});
  }
  for (const RefusedPlugin& refused : plugins->loader.refused()) {
    findings.push_back({State::kProblem, "plugin", refused.message, ""});
  }
  check_rewards(plugins->registry, findings);
}

/// A file can be written where runs go, or where their folder would be made.
Finding check_runs_folder() {
  std::error_code ignored;
  const std::string folder = std::filesystem::is_directory("runs", ignored) ? "runs" : ".";
  std::string name = folder + "/.drift-doctor-XXXXXX";
  const int file = mkstemp(name.data());
  if (file < 0) {
    return {State::kProblem, "runs",
            "cannot write into " + std::filesystem::absolute(folder).lexically_normal().string(),
            "work in a folder that you may write to, or name one: --out FOLDER"};
  }
  close(file);
  unlink(name.c_str());
  return {State::kOk, "runs",
          std::filesystem::absolute("runs").string() + (folder == "runs" ? "" : " (made by the first run)"), ""};
}

const char* state_name(State state) { return state == State::kOk ? "ok" : state == State::kNote ? "note" : "problem"; }

/// Nothing where there is no limit.
nlohmann::ordered_json count(const std::optional<std::size_t>& limit) {
  return limit ? nlohmann::ordered_json(*limit) : nullptr;
}

nlohmann::ordered_json json_of(const std::vector<Finding>& findings, bool healthy) {
  const ThreadLimits limits = thread_limits();
  nlohmann::ordered_json json;
  json["healthy"] = healthy;
  json["threads"] = {{"used", limits.threads()},
                     {"processors", limits.machine},
                     {"affinity", limits.affinity},
                     {"quota", count(limits.quota)},
                     {"omp_num_threads", count(limits.omp_num_threads)}};
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"state", state_name(finding.state)},
                                {"subject", finding.subject},
                                {"text", finding.text},
                                {"remedy", finding.remedy}});
  }
  return json;
}

int examine(const bool& json) {
  std::vector<Finding> findings = {{State::kOk, "drift", DRIFT_VERSION ", " + program_path().string(), ""}};
  findings.push_back(check_compiler());
  findings.push_back(check_libtorch());
  findings.push_back(check_cuda());
  findings.push_back(check_threads());
  findings.push_back(check_products());
  findings.push_back(check_ranks());
  check_plugins(findings);
  findings.push_back(check_runs_folder());

  const bool healthy = std::ranges::count(findings, State::kProblem, &Finding::state) == 0;
  if (json) {
    std::cout << json_text(json_of(findings, healthy), 1) << "\n";
    return healthy ? 0 : 1;
  }
  TextTable table;
  for (const Finding& finding : findings) {
    table.rows.push_back({state_name(finding.state), finding.subject, finding.text});
    if (!finding.remedy.empty()) table.rows.push_back({"", "", "= " + finding.remedy});
  }
  std::cout << to_text(table)
            << (healthy ? "Everything that is needed works.\n" : "There are problems: see the lines that say so.\n");
  return healthy ? 0 : 1;
}

}  // namespace

Command doctor_command() {
  return make_command<bool>(
      {"doctor", "what works here, what does not, and what to do",
       "Checks the compiler, LibTorch, CUDA, threads, matrix products, plugins, what rewards need (a sandbox)\n"
       "and the runs folder. Exit status 1 if there is a problem. --json: the findings, each with its state, and\n"
       "what limits the threads.",
       "doctor"},
      examine, [](OptionList& list, bool& json) { list.add_switch("json", "print JSON instead of text", json); });
}

}  // namespace drift
