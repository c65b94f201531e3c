#include <core/base/child_process.h>
#include <core/base/component_host.h>
#include <core/base/device.h>
#include <core/base/phase_timer.h>
#include <core/base/share_folder.h>
#include <core/base/thread_limits.h>
#include <core/boundary/made.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/kernels/product.h>
#include <core/ranks/launch.h>
#include <core/report/format.h>

#include <drift/abi.h>
#include <drift/reward.h>

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/ops/ones.h>
#include <c10/core/Device.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

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

Finding ok(const std::string& subject, const std::string& text) { return {State::kOk, subject, text, ""}; }
Finding note(const std::string& subject, const std::string& text, const std::string& remedy) {
  return {State::kNote, subject, text, remedy};
}

std::string first_program(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::string file = find_program(name); !file.empty()) return file;
  }
  return {};
}

Finding check_compiler() {
  const std::string compiler = first_program({"c++", "g++", "clang++"}), cmake = first_program({"cmake"});
  if (!compiler.empty() && !cmake.empty()) return ok("compiler", compiler + ", " + cmake);
  std::vector<std::string> missing;
  if (compiler.empty()) missing.emplace_back("no C++ compiler");
  if (cmake.empty()) missing.emplace_back("no cmake");
  return note("compiler", joined(missing), "only needed to build plugins: apt-get install g++ cmake ninja-build");
}

Finding check_libtorch() {
  Dl_info where{};
  // Any function of LibTorch shows which file was loaded.
  const bool found = dladdr(reinterpret_cast<void*>(&c10::DeviceTypeName), &where) != 0;
  return ok("LibTorch", std::string(TORCH_VERSION) + (found ? std::string(", ") + where.dli_fname : ""));
}

Finding check_cuda() {
  if (!built_with_cuda())
    return note("CUDA", "this build is without CUDA", "for --device cuda, install the CUDA Toolkit and build again");
  try {
    run_device("cuda");
  } catch (const Error& error) {
    return note("CUDA", std::string("this build is with CUDA, but ") + error.what(), error.hint());
  }
  return ok("CUDA", std::to_string(at::detail::getCUDAHooks().deviceCount()) + " GPU");
}

Finding check_threads() {
  std::string text = thread_limits().text();
  // How threads wait for each other: the launcher's choice, or the user's own.
  for (const char* variable : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (const char* value = std::getenv(variable)) text += std::string(", ") + variable + "=" + value;
  }
  return ok("threads", text);
}

/// GFLOP/s of a product of bfloat16 matrices, the best of a few.
double product_rate(kernels::Bfloat16Products products) {
  constexpr std::int64_t kRows = 512, kColumns = 3072, kInner = 1024;
  kernels::use_bfloat16_products(products);
  const auto x = at::ones({kRows, kInner}, at::kBFloat16), weight = at::ones({kColumns, kInner}, at::kBFloat16);
  double best = 0;
  for (int round = 0; round < 4; ++round) {
    const PhaseTimer timer;
    kernels::product(x, weight);
    best = std::max(best, 2e-9 * static_cast<double>(kRows * kColumns * kInner) / timer.seconds());
  }
  return best;
}

Finding check_products() {
  using enum kernels::Bfloat16Products;
  const auto measured = kernels::measured_bfloat16_products();
  const double native = product_rate(kNative), widened = product_rate(kWidened);
  kernels::use_bfloat16_products(measured);
  return ok("products", std::string("bfloat16 ") + (measured == kNative ? "native" : "widened to float32") + ": " +
                            kernels::processor_kind() + "; now native " + format_decimal(native, 0) +
                            " GFLOP/s, widened " + format_decimal(widened, 0) + "    (run.bfloat16_products)");
}

/// Several processes to a run; one needs none of it.
Finding check_ranks() {
  const TransportState state = transport_state();
  if (!state.problem.empty())
    return note("ranks", "one process to a run: " + state.problem,
                "for runs of several, install libopenmpi-dev and openmpi-bin, and build again");
  const std::string launcher = first_program({"mpirun", "srun"});
  return ok("ranks", state.text + (launcher.empty() ? ", no mpirun here" : ", " + launcher));
}

/// Makes each reward as a run would: one that needs something of the machine, a sandbox say, tries it.
/// One whose parameters follow from settings, a file say, is not made without them; it says what it finds here.
void check_rewards(const Registry& registry, std::vector<Finding>& findings) {
  RunHost host(registry);
  std::vector<std::string> ready;
  for (const ComponentEntry& entry : registry.components()) {
    if (entry.kind != ComponentKind::kReward) continue;
    const std::string name = "`" + entry.name + "`";
    try {
      if (entry.declaration) {
        with_declaration(entry, {});
        findings.push_back(ok("reward", name));
      } else {
        make_from_plugin<Reward>(host, entry, Parameters(entry.params));
        ready.push_back(entry.name);
      }
    } catch (const Error& error) {
      findings.push_back(
          note("reward", name + (entry.declaration ? ": " : " cannot be used here: ") + error.what(), error.hint()));
    }
  }
  if (!ready.empty()) findings.push_back(ok("rewards", joined(ready) + ": each can judge here"));
}

void check_plugins(std::vector<Finding>& findings) {
  const auto plugins = load_plugins(std::vector<std::filesystem::path>(), ForeignFiles::kTriedFirst);
  std::vector<std::string> names;
  for (const LoadedPlugin& plugin : plugins->loader.loaded()) names.push_back(plugin.name);
  findings.push_back(names.empty() ? Finding{State::kProblem, "plugins", "none found",
                                             "build them all (cmake --build), or set DRIFT_PLUGIN_PATH"}
                                   : ok("plugins", joined(names)));
  for (const RefusedPlugin& refused : plugins->loader.refused())
    findings.push_back({State::kProblem, "plugin", refused.message, ""});
  check_rewards(plugins->registry, findings);
}

/// Where `import drift_rl` finds the module. A wheel has put it in Python's path.
Finding check_module() {
  const std::filesystem::path prefix = program_path().parent_path().parent_path();
  if (std::filesystem::exists(prefix / "__init__.py"))
    return ok("Python", "drift_rl in " + prefix.parent_path().string());
  try {
    return ok("Python", "drift_rl in " + (share_folder() / "sdk/python").string() + "    (PYTHONPATH)");
  } catch (const Error& error) {
    return note("Python", error.what(), error.hint());
  }
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
  return ok("runs", std::filesystem::absolute("runs").string() + (folder == "runs" ? "" : " (made by the first run)"));
}

const char* state_name(State state) { return state == State::kOk ? "ok" : state == State::kNote ? "note" : "problem"; }

/// Nothing where there is no limit.
Json count(const std::optional<std::size_t>& limit) { return limit ? Json(*limit) : nullptr; }

Json json_of(const std::vector<Finding>& findings, bool healthy) {
  const ThreadLimits limits = thread_limits();
  Json json;
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
  std::vector<Finding> findings = {ok("drift", DRIFT_VERSION ", " + program_path().string()),
                                   check_compiler(),
                                   check_libtorch(),
                                   check_cuda(),
                                   check_threads(),
                                   check_products(),
                                   check_ranks(),
                                   check_module()};
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
