#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/rollout/judge.h>

#include <algorithm>
#include <deque>

namespace drift {
namespace {

struct RewardOptions {
  std::string name;
  std::filesystem::path in;
  bool json = false;
  ConfigOptions config;
};

struct Record {
  TaskItem item;
  std::string response;
  bool truncated = false;
};

/// A record of the file: as it is parsed, and as it is written.
struct Line {
  const nlohmann::json& object;
  std::string_view text;

  bool has(const char* key) const { return object.contains(key) && !object[key].is_null(); }
  /// A text as it is; everything else as it is written, so that a number keeps its digits. Empty if there is none.
  std::string value(const char* key) const {
    if (!has(key)) return {};
    return object[key].is_string() ? object[key].get<std::string>() : std::string(json_source(text, key));
  }
  /// A list of numbers as one of texts: written as it is, [3, 4] is an interval.
  std::string reference() const {
    nlohmann::json list = object["reference"];
    if (!list.is_array() || !std::ranges::all_of(list, &nlohmann::json::is_number)) return value("reference");
    for (nlohmann::json& one : list) one = one.dump();
    return list.dump();
  }
};

/// What a record of a dataset holds besides the response is what its reward judges by.
Record record_of(const Line& line, std::size_t number) {
  const nlohmann::json& object = line.object;
  Record record;
  if (!object.contains("response")) throw Error("`response` is missing");
  if (!object["response"].is_string()) throw Error("`response` is not a text");
  record.response = object["response"].get<std::string>();
  if (object.contains("truncated") && !object["truncated"].is_boolean())
    throw Error("`truncated` is not true or false");
  record.truncated = object.value("truncated", false);
  record.item.id = line.has("id") ? line.value("id") : std::to_string(number);
  record.item.prompt = line.value("question");
  record.item.response_prefix = line.value("prefix");
  record.item.reference =
      line.has("reference") ? line.reference() : replace_json_value(line.text, {"response"}, "null");
  return record;
}

std::deque<Record> read_records(const std::filesystem::path& path) {
  std::deque<Record> records;  // requests point into it
  for_each_json_line(path, R"(every line is one JSON object: {"response": …, "reference": …}    (docs/data.md))",
                     [&](const nlohmann::json& object, std::string_view text) {
                       records.push_back(record_of({object, text}, records.size() + 1));
                     });
  if (records.empty()) throw Error(path.string() + " holds no record");
  return records;
}

void print_table(const std::deque<Record>& records, const std::vector<Judgement>& judgements) {
  TextTable table{{"record", "score", "verdict", "reason"}, {false, true}};
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Judgement& judgement = judgements[i];
    const std::string verdict = judgement.solved ? "solved" : std::string(status_name(judgement.status));
    table.rows.push_back({records[i].item.id, format_decimal(judgement.value, 3), verdict, judgement.reason});
  }
  std::cout << to_text(table);
}

void print_json(const std::deque<Record>& records, const std::vector<Judgement>& judgements, const Judge& judge) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Judgement& judgement = judgements[i];
    Json line = {{"id", records[i].item.id},
                 {"score", judgement.value},
                 {"solved", judgement.solved},
                 {"status", status_name(judgement.status)},
                 {"reason", judgement.reason}};
    for (std::size_t r = 0; judgement.parts.size() > 1 && r < judgement.parts.size(); ++r)
      line["parts"][judge.labels()[r]] = {{"score", judgement.parts[r].value}, {"reason", judgement.parts[r].reason}};
    std::cout << json_text(line) << "\n";
  }
}

void print_means(std::vector<Judgement> judgements, const Judge& judge) {
  const std::size_t not_judged = std::erase_if(
      judgements, [](const Judgement& judgement) { return judgement.status == RewardStatus::kInfrastructure; });
  if (not_judged > 0) std::cout << print_text("%zu records could not be judged\n", not_judged);
  if (judgements.empty()) return;
  const auto count = static_cast<double>(judgements.size());
  double value = 0, solved = 0;
  for (const Judgement& judgement : judgements) {
    value += judgement.value;
    solved += judgement.solved ? 1 : 0;
  }
  std::cout << print_text("%zu records: mean score %.4f, solved %.0f (%.2f %%)\n", judgements.size(), value / count,
                          solved, 100 * solved / count);
  TextTable parts;
  for (std::size_t r = 0; judge.labels().size() > 1 && r < judge.labels().size(); ++r) {
    double part = 0;
    for (const Judgement& judgement : judgements) part += judgement.parts[r].value;
    parts.rows.push_back({judge.labels()[r], print_text("mean %.4f, weight %g", part / count, judge.weights()[r])});
  }
  std::cout << to_text(parts, /*unicode=*/true, "  ");
}

int judge_records(const RewardOptions& options) {
  ConfigOptions config = options.config;
  config.overrides.push_back({options.name, "reward.name", options.name, /*literal=*/true});
  const LoadedRun run = load_run(config, ConfigPurpose::kJudge);
  const Judge judge(run.host(), run.config);
  const auto records = read_records(options.in);
  std::vector<RewardRequest> requests;
  for (const Record& record : records) requests.push_back({record.response, &record.item, record.truncated});
  const auto judgements = judge.judge(requests, BadReference::kNotJudged);
  if (options.json) {
    print_json(records, judgements, judge);
  } else {
    print_table(records, judgements);
    print_means(judgements, judge);
  }
  const bool judged = std::ranges::none_of(
      judgements, [](const Judgement& judgement) { return judgement.status == RewardStatus::kInfrastructure; });
  return judged ? 0 : 1;
}

}  // namespace

Command reward_command() {
  return make_command<RewardOptions>(
      {"reward", "judge stored responses",
       "A record is {\"response\": …, \"reference\": …}, or a response beside the fields of a dataset's record.\n"
       "Prints score, verdict and reason of each. --set reward.KEY=VALUE sets a parameter of the reward. A file\n"
       "with [reward.added.LABEL] sections adds further rewards. Exit status 1 if a response could not be\n"
       "judged.",
       R"(reward math --in /dev/stdin <<< '{"response": "\\boxed{0.5}", "reference": "\\frac{1}{2}"}')"},
      judge_records, [](OptionList& list, RewardOptions& options) {
        list.argument("NAME", options.name).candidates = "reward.name";
        list.add("in", "FILE.jsonl", "JSON Lines: a record on each line", options.in).required = true;
        list.add_switch("json", "print JSON instead of text", options.json);
        add_config(list, options.config);
      });
}

}  // namespace drift
