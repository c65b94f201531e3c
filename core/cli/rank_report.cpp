#include <core/cli/rank_report.h>

#include <core/cli/command.h>
#include <core/cli/memory_check.h>
#include <core/report/format.h>
#include <core/report/text_table.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <iterator>

namespace drift {
namespace {

constexpr std::int64_t kCounts[] = {1, 8, 64, 512, 1024};

// Assumptions of docs/scale.md.
constexpr std::int64_t kGpusOfMachine = 8;
constexpr double kLinkInMachine = 450e9;
constexpr double kMemoryRate = 4.8e12;
constexpr double kLatency = 20e-6;
constexpr double kSpread = 0.3;

/// What `--shard` says, or else the run's own key; nothing if neither divides anything.
std::optional<Shard> asked_for(const std::string& option, const RunConfig& config) {
  if (option.empty()) return shard_of(config) == Shard::kNone ? std::nullopt : std::optional(shard_of(config));
  const auto shard = shard_named(option);
  if (!shard) throw UsageError("--shard is none, optimizer, gradients or parameters, not `" + option + "`");
  return shard;
}

/// "3.2 GB", "17 kB".
std::string moved_text(double bytes) {
  if (bytes == 0) return "-";
  for (const auto& [size, unit] : {std::pair{1e9, " GB"}, {1e6, " MB"}}) {
    if (bytes >= size) return format_count(bytes / size) + unit;
  }
  return format_count(bytes / 1e3) + " kB";
}

/// One line of RankSeconds or MovedBytes.
template <class Of>
struct Line {
  const char* name;
  double Of::*value;
};
constexpr Line<MovedBytes> kMoved[] = {{"weights in the rollout", &MovedBytes::rollout_weights},
                                       {"trajectories", &MovedBytes::trajectories},
                                       {"log-probabilities", &MovedBytes::log_probabilities},
                                       {"gradients", &MovedBytes::gradients},
                                       {"weights in the update", &MovedBytes::weights}};
constexpr Line<RankSeconds> kSeconds[] = {{"rollout", &RankSeconds::rollout},
                                          {"idle", &RankSeconds::idle},
                                          {"update", &RankSeconds::update},
                                          {"optimizer", &RankSeconds::optimizer},
                                          {"exchange", &RankSeconds::exchange}};

template <class Of>
nlohmann::ordered_json json_of(const Of& of, const Line<Of>* begin, const Line<Of>* end) {
  nlohmann::ordered_json json;
  for (const Line<Of>* line = begin; line != end; ++line) json[line->name] = of.*line->value;
  return json;
}

}  // namespace

RankReport::RankReport(const RankOptions& options, const RunConfig& config, const Model& shapes,
                       const TrainingPlan& plan, std::optional<std::int64_t> available)
    : options_(options),
      config_(config),
      shapes_(shapes),
      plan_(plan),
      work_(step_work(config, shapes, plan, options.forwards)),
      shard_(asked_for(options.shard, config).value_or(Shard::kParameters)) {
  if (options.link <= 0 || options.rate <= 0) throw UsageError("--link and --rate must be more than 0");
  if (asked_for(options.shard, config)) return;
  for (const auto& [shard, name] : kShards) {
    if (available && memory({options.count, shard}).device.bytes() > *available) continue;
    shard_ = shard;
    break;
  }
}

MemoryPlan RankReport::memory(const Sharding& ranks) const {
  return plan_memory(config_, shapes_, memory_work_of_rank(plan_.memory_work, ranks.count), ranks);
}

RankSeconds RankReport::seconds(const Sharding& ranks) const {
  RankMachine machine{options_.rate * 1e12, kMemoryRate, options_.link * 1e9, kLatency, kSpread};
  if (ranks.count <= kGpusOfMachine) machine.link = std::max(machine.link, kLinkInMachine);
  return rank_seconds(work_, ranks, machine);
}

std::string RankReport::by_shard() const {
  TextTable table{.titles = {"divided among " + format_integer(options_.count) + " ranks"},
                  .is_number = {false, true, true, true, true}};
  for (const auto& [shard, name] : kShards) table.titles.emplace_back(name);
  const auto add = [&](const std::string& name, const std::function<std::string(const Sharding&)>& cell) {
    std::vector<std::string> row{name};
    for (const auto& [shard, shard_name] : kShards) row.push_back(cell({options_.count, shard}));
    table.rows.push_back(std::move(row));
  };
  add("memory", [&](const Sharding& ranks) { return memory_text(memory(ranks).device.bytes()); });
  for (const auto& line : kMoved) {
    add(std::string("moved: ") + line.name,
        [&](const Sharding& ranks) { return moved_text(moved_bytes(work_, ranks).*line.value); });
  }
  for (const auto& line : kSeconds) {
    add(std::string("seconds: ") + line.name,
        [&](const Sharding& ranks) { return format_adaptive(seconds(ranks).*line.value); });
  }
  add("seconds of a step", [&](const Sharding& ranks) { return format_adaptive(seconds(ranks).total()); });
  return to_text(table, /*unicode=*/true, "  ");
}

std::string RankReport::by_count() const {
  TextTable table{
      .titles = {"ranks", "memory", "rollout", "idle", "update", "optimizer", "exchange", "step", "faster", "of ideal"},
      .is_number = std::vector<bool>(10, true)};
  const double alone = seconds({1, shard_}).total();
  for (const std::int64_t count : kCounts) {
    const Sharding ranks{count, shard_};
    const RankSeconds each = seconds(ranks);
    const double faster = alone / each.total();
    std::vector<std::string> row{format_integer(count), memory_text(memory(ranks).device.bytes())};
    for (const auto& line : kSeconds) row.push_back(format_adaptive(each.*line.value));
    row.push_back(format_seconds(each.total()));
    row.push_back(format_decimal(faster, 1));
    row.push_back(format_percent(faster / static_cast<double>(count)) + " %");
    table.rows.push_back(std::move(row));
  }
  return to_text(table, /*unicode=*/true, "  ");
}

std::string RankReport::text() const {
  return "\nranks, bytes and seconds of a step (formulas and assumptions: docs/scale.md)\n" + by_shard() +
         "\nshard = " + name_of(shard_) + "\n" + by_count() + "\nnote: a plan by formulas\n";
}

nlohmann::ordered_json RankReport::json() const {
  const auto entry = [&](const Sharding& ranks) {
    nlohmann::ordered_json json;
    json["memory"] = memory(ranks).device.bytes();
    json["moved"] = json_of(moved_bytes(work_, ranks), std::begin(kMoved), std::end(kMoved));
    const RankSeconds each = seconds(ranks);
    json["seconds"] = json_of(each, std::begin(kSeconds), std::end(kSeconds));
    json["seconds"]["total"] = each.total();
    return json;
  };
  nlohmann::ordered_json json;
  json["count"] = options_.count;
  json["shard"] = name_of(shard_);
  for (const auto& [shard, name] : kShards) json["by_shard"][name] = entry({options_.count, shard});
  for (const std::int64_t count : kCounts) json["by_count"][std::to_string(count)] = entry({count, shard_});
  return json;
}

}  // namespace drift
