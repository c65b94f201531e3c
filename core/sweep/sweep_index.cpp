#include <core/sweep/sweep_index.h>

#include <core/io/atomic.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "cells.json";

}  // namespace

std::string IndexedRun::title() const {
  std::error_code ignored;
  return name.empty() ? fs::weakly_canonical(folder, ignored).filename().string() : name;
}

void write_sweep_index(const SweepPlan& plan, const fs::path& sweep) {
  nlohmann::ordered_json index;
  for (std::size_t cell = 0; cell < plan.cells.size(); ++cell) {
    auto runs = nlohmann::ordered_json::array();
    for (const SeedRun& seed : plan.seeds[cell])
      runs.push_back({{"seed", seed.seed}, {"folder", "runs/" + plan.runs[seed.run].key}});
    index["cells"].push_back({{"cell", plan.cells[cell].label},
                              {"baseline", plan.cells[baseline_of(plan, cell)].label},
                              {"runs", std::move(runs)}});
  }
  write_file_atomically(sweep / kIndex, json_text(index, 1) + "\n");
}

std::vector<IndexedRun> read_sweep_index(const fs::path& sweep) {
  const fs::path file = sweep / kIndex;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  std::vector<IndexedRun> runs;
  const nlohmann::json index = read_json_object(file);
  try {
    for (const nlohmann::json& cell : index.at("cells")) {
      const auto label = cell.at("cell").get<std::string>();
      for (const nlohmann::json& run : cell.at("runs")) {
        const std::string seed = cell["runs"].size() > 1 ? ", seed " + run.at("seed").dump() : "";
        runs.push_back({sweep / run.at("folder").get<std::string>(), label, cell.at("baseline"), label + seed});
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(file.string() + ": " + json_problem(error), "drift sweep FILE --report writes it again");
  }
  return runs;
}

}  // namespace drift
