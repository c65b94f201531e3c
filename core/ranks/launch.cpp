#include <core/ranks/launch.h>

#include <core/ranks/devices.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <dlfcn.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kShownFacts = 4;

/// The value of an environment variable as a number, 0 if it is not one.
int number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

/// How many processes a launcher has started for this run, by the environment that it gives to each; 1 if there is
/// none. A launcher of another MPI (PMI_SIZE) counts: its processes do not find each other, and are refused.
int launched_ranks() {
  int ranks = std::max(number_in("OMPI_COMM_WORLD_SIZE"), number_in("PMI_SIZE"));
  // A batch script has Slurm's count of tasks too; what srun starts has a rank.
  if (std::getenv("PMIX_RANK") != nullptr)
    ranks = std::max({ranks, number_in("SLURM_STEP_NUM_TASKS"), number_in("SLURM_NTASKS")});
  return std::max(1, ranks);
}

/// Beside the library that this code is in.
fs::path transport_file() {
  Dl_info where{};
  ::dladdr(reinterpret_cast<void*>(&launched_rank), &where);
  return fs::path(where.dli_fname).parent_path() / "libdrift_mpi.so";
}

/// Global, since what MPI loads later looks for its symbols.
void* open_transport() { return ::dlopen(transport_file().c_str(), RTLD_NOW | RTLD_GLOBAL); }

std::string why_not_open() {
  if (!fs::exists(transport_file())) return "this build is without MPI";
  const char* const reason = ::dlerror();
  return reason == nullptr ? transport_file().filename().string() + " cannot be loaded" : reason;
}

/// "run.seed: 1 on rank 0 (a), rank 2 (b); 2 on rank 1 (a)"; empty if the ranks agree.
std::string disagreement(const Ranks& ranks, const std::string& name,
                         const std::vector<std::map<std::string, std::string>>& facts) {
  std::map<std::string, std::vector<std::int64_t>> ranks_of;
  for (std::size_t r = 0; r < facts.size(); ++r) {
    const auto found = facts[r].find(name);
    ranks_of[found == facts[r].end() ? "nothing" : found->second].push_back(static_cast<std::int64_t>(r));
  }
  if (ranks_of.size() == 1) return "";
  std::string text = name + ":";
  for (const auto& [value, having] : ranks_of) {
    text += (text.back() == ':' ? " " : "; ") + value + " on ";
    for (std::size_t i = 0; i < having.size() && i < kShownFacts; ++i)
      text += (i == 0 ? "" : ", ") + ranks.name(having[i]);
    if (having.size() > kShownFacts) text += " and " + std::to_string(having.size() - kShownFacts) + " more";
  }
  return text;
}

}  // namespace

int launched_rank() {
  return std::max({number_in("OMPI_COMM_WORLD_RANK"), number_in("PMI_RANK"), number_in("PMIX_RANK")});
}

std::string processes_apart() {
  for (const char* found : {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"}) {
    if (std::getenv(found) != nullptr) return "";
  }
  const int tasks = std::getenv("SLURM_PROCID") == nullptr ? 1 : number_in("SLURM_STEP_NUM_TASKS");
  const int workers = std::getenv("RANK") == nullptr ? 1 : number_in("WORLD_SIZE");  // of torchrun, and its kind
  if (std::max(tasks, workers) <= 1) return "";
  const std::string count = std::to_string(std::max(tasks, workers));
  const std::string instead = workers > 1 ? "mpirun -n " + count : "srun --mpi=pmix";
  return (workers > 1 ? "torchrun" : "srun") + (" has started " + count) +
         " processes, each of which is a run of its own: `" + instead + "` makes one run of them";
}

void require_one_process(const std::string& command) {
  if (launched_ranks() == 1) return;
  throw Error("a launcher has started " + std::to_string(launched_ranks()) + " processes; `drift " + command +
                  "` is one that does all of its work",
              "start it alone; `drift train` and `drift pretrain` share their work among such processes");
}

TransportState transport_state() {
  void* const library = open_transport();
  void* const describe = library == nullptr ? nullptr : ::dlsym(library, kDescribeTransport);
  if (describe == nullptr) return {"", why_not_open()};
  std::string text = reinterpret_cast<DescribeTransport>(describe)();
  text.resize(std::min({text.size(), text.find(','), text.find('\n')}));
  return {text + ", " + transport_file().string(), ""};
}

std::unique_ptr<Ranks> join_ranks(Ranks::Report report) {
  if (launched_ranks() == 1) return std::make_unique<Ranks>();
  void* const library = open_transport();
  void* const join = library == nullptr ? nullptr : ::dlsym(library, kJoinTransport);
  if (join == nullptr) {
    throw Error("a launcher has started " + std::to_string(launched_ranks()) +
                    " processes, which cannot find each other: " + why_not_open(),
                "install MPI (libopenmpi-dev) and build again, or start one process");
  }
  std::unique_ptr<Transport> transport(reinterpret_cast<JoinTransport>(join)());
  if (transport->size() != launched_ranks()) {
    const std::string found = std::to_string(transport.release()->size());  // MPI goes on until the process ends
    throw Error(
        "a launcher has started " + std::to_string(launched_ranks()) + " processes, of which MPI finds " + found,
        "use the launcher of the MPI that Drift was built with: " + transport_state().text);
  }
  auto ranks = std::make_unique<Ranks>(std::move(transport), std::move(report));
  choose_gpu(ranks->rank_on_host());
  return ranks;
}

void require_same_facts(Ranks& ranks, const Facts& facts) {
  const std::map<std::string, std::string> own(facts.begin(), facts.end());
  const auto gathered = ranks.gather_json(own);
  if (std::ranges::all_of(gathered, [&](const nlohmann::json& one) { return one == gathered.front(); })) return;
  std::vector<std::map<std::string, std::string>> all;
  std::set<std::string> names;
  for (const nlohmann::json& one : gathered) {
    one.get_to(all.emplace_back());
    for (const auto& [name, value] : all.back()) names.insert(name);
  }
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    if (std::string line = disagreement(ranks, name, all); !line.empty()) lines.push_back(std::move(line));
  }
  std::string text = "the processes of this run were not started alike";
  for (std::size_t i = 0; i < lines.size() && i < kShownFacts; ++i) text += "\n    " + lines[i];
  if (lines.size() > kShownFacts)
    text += "\n    and " + std::to_string(lines.size() - kShownFacts) + " other differences";
  throw Error(text, "give every rank the same file, options, program, plugins and number of processors");
}

int ranks_on_these_processors(Ranks& ranks) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  const std::string here = Ranks::host() + '\0' + std::string(reinterpret_cast<const char*>(&allowed), sizeof allowed);
  return static_cast<int>(std::ranges::count(ranks.all_gather(here), here));
}

}  // namespace drift
