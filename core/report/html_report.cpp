#include <core/io/json.h>
#include <core/report/html_report.h>

#include <core/base/here_and_now.h>
#include <core/io/atomic.h>
#include <core/record/estimate.h>
#include <core/record/metrics_reader.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/html_parts.h>
#include <core/report/html_replay.h>
#include <core/report/page_files.h>
#include <core/report/plot.h>
#include <core/report/profile.h>
#include <core/report/step_quantities.h>
#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <type_traits>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

// Searching the names of ordered objects takes time that grows with the square of their number.
template <class JsonType>
constexpr std::size_t kLongest = std::is_same_v<JsonType, Json> ? 256'000 : 16'000'000;

// `use` gets the parsed file; an error that it finds is the file's.
template <class JsonType>
void with_json(const std::filesystem::path& path, const std::function<void(JsonType&)>& use) {
  if (!std::filesystem::exists(path)) return;
  const std::string hint = "remove the file to write the report without it";
  try {
    JsonType value = parse_json<JsonType>(read_whole_file(path, kLongest<JsonType>), path.string(), hint);
    use(value);
  } catch (const nlohmann::json::exception& error) {
    throw Error("cannot read " + path.string() + ": " + json_problem(error), hint);
  }
}

// ---- The first screen ----

constexpr int kPhaseBar = 20;  // columns

// "60 steps in 0:58 (start 0:20, training 0:22, evaluation 0:15), peak memory 412 MiB"
std::string cost_line(const Json& summary) {
  const double steps = json_number(summary, "steps"), memory = json_number(summary, "peak_memory_mib");
  std::string text = std::isnan(steps) ? "" : format_integer(std::llround(steps)) + (steps == 1 ? " step" : " steps");
  const std::string time =
      format_run_times(json_number(summary, "total_seconds"), json_number(summary, "start_seconds"),
                       json_number(summary, "seconds"), json_number(summary, "evaluation_seconds"));
  if (!time.empty()) text += (text.empty() ? "" : " in ") + time;
  if (!std::isnan(memory)) text += (text.empty() ? "" : ", ") + ("peak memory " + format_decimal(memory, 0) + " MiB");
  return text.empty() ? "" : "<p class=\"lead\">" + text + "</p>";
}

std::string held_out_card(const Json& held_out, const std::string& cost) {
  const double before = json_number(held_out, "before"), after = json_number(held_out, "after");
  const double before_error = json_number(held_out, "before_standard_error"),
               after_error = json_number(held_out, "standard_error");
  if (std::isnan(before) && std::isnan(after)) return {};
  std::string result = std::isnan(before) ? "" : format_percent(before) + " %";
  if (!std::isnan(after)) result += (result.empty() ? "<b>" : " → <b>") + format_percent(after) + " %</b>";
  std::string errors = std::isnan(before_error) ? "" : format_percent(before_error);
  if (!std::isnan(after_error)) errors += (errors.empty() ? "" : " and ") + format_percent(after_error);
  const double items = json_number(held_out, "items");
  return "<div class=\"card\"><h3>Held-out accuracy, before and after</h3><p class=\"result\">" + result + "</p>" +
         "<p class=\"lead\">" +
         (std::isnan(items) ? "" : format_integer(std::llround(items)) + " items that the run never trains on") +
         (errors.empty() ? "" : "; standard error " + errors + " points") + "</p>" + cost + "</div>";
}

// Where nothing was held out: what training itself tells.
std::string training_card(const std::vector<StepRecord>& steps) {
  if (steps.empty()) return "<div class=\"card\"><h3>No step is finished yet</h3></div>";
  const bool rewarded = std::ranges::any_of(steps, [](const StepRecord& step) { return !std::isnan(step.reward); });
  const char* name = rewarded ? "reward" : "loss";
  const std::vector<double> values = values_of(steps, name);
  const std::size_t tenth = std::max<std::size_t>(1, steps.size() / 10);
  const double first = mean_of_known(std::span(values).first(tenth)),
               last = mean_of_known(std::span(values).last(tenth));
  return std::string("<div class=\"card\"><h3>Training ") + name +
         ", first and last tenth of the steps</h3><p class=\"result\">" + format_adaptive(first) + " → <b>" +
         format_adaptive(last) + "</b></p><p class=\"lead\">" + format_integer(static_cast<long long>(steps.size())) +
         " steps</p></div>";
}

std::string profile_card(const std::vector<StepRecord>& steps) {
  const std::vector<PhaseShare> shares = phase_shares(steps);
  return shares.empty() ? ""
                        : "<div class=\"card\"><h3>Where the time of a step goes</h3>" +
                              to_html(phase_table(shares, kPhaseBar)) + "</div>";
}

// ---- The page ----

// When the run last wrote what the page shows, in seconds since the epoch.
std::int64_t last_sign_of(const std::filesystem::path& run_folder) {
  std::int64_t latest = 0;
  for (const char* file : {"metrics.jsonl", "summary.json"}) {
    struct stat found {};
    if (::stat((run_folder / file).c_str(), &found) == 0) latest = std::max<std::int64_t>(latest, found.st_mtim.tv_sec);
  }
  return latest;
}

// For the head of a page of a run that goes on.
std::string live_line(const std::vector<StepRecord>& steps, std::int64_t written) {
  const std::string date = time_text("%F %T UTC", written, /*utc=*/true);
  const std::string step = steps.empty() ? "" : " after step " + std::to_string(steps.back().step);
  const std::string every = format_decimal(kSecondsBetweenPages, 0);
  return "<p class=\"live\" data-every=\"" + every + "\">Written" + step + ", at " + date +
         "; the run had not ended. This page loads itself every " + every + " s.</p>\n";
}

// Links to pages beside the report that replay responses to the same items.
std::string replay_links(const std::filesystem::path& run_folder) {
  std::string links;
  for (const auto& [file, text] :
       {std::pair("replay_before.html", "before training"), std::pair("replay_after.html", "after training")}) {
    if (!std::filesystem::exists(run_folder / file)) continue;
    links += (links.empty() ? "" : ", ") + ("<a href=\"" + std::string(file) + "\">") + text + "</a>";
  }
  return links.empty() ? "" : "<p>Replays of the first held-out items: " + links + "</p>";
}

std::string curves_note(std::size_t steps) {
  const std::size_t bucket = chart_bucket(steps), window = smoothing_window(steps);
  std::string note;
  if (bucket > 1) note = "each point is the mean of " + std::to_string(bucket) + " steps";
  if (window > bucket)
    note += (note.empty() ? "" : "; ") + ("bold lines: moving mean of " + std::to_string(window) + " steps");
  return note;
}

// What ran, in one line: in the summary's words, if it has them.
std::string subtitle(const Json& summary) {
  std::string text;
  // "method" names the algorithm and the parts that are not its own.
  const char* what = summary.contains("method") ? "method" : "algorithm";
  for (const char* key : {what, "model", "task", "device"}) {
    if (const auto found = summary.find(key); found != summary.end() && found->is_string())
      text += (text.empty() ? "" : " · ") + found->get<std::string>();
  }
  return text;
}

// What went wrong where, what it means and what to try.
std::string alarm_list(const std::vector<Alarm>& alarms) {
  std::string html;
  for (const Alarm& alarm : alarms)
    html += "<dt>step " + std::to_string(alarm.step) + ": " + escape_html(alarm.doc->title) + "</dt><dd>" +
            escape_html(alarm.found) + "</dd><dd class=\"lead\">" + escape_html(alarm.lesson()) + "</dd>";
  return html.empty() ? "" : "<dl>" + html + "</dl>";
}

}  // namespace

void write_report(const std::filesystem::path& run_folder, const AlarmLimits& limits) {
  const std::vector<StepRecord> steps = read_metrics(run_folder / "metrics.jsonl");
  const std::vector<Alarm> alarms = alarms_of(steps, limits);
  Json summary = Json::object();
  std::string plugins, samples, settings;
  with_json<Json>(run_folder / "summary.json", [&](Json& file) {
    file.get_ref<const Json::object_t&>();  // throws if it is something else
    summary = file;
  });
  with_json<Json>(run_folder / "plugins.json", [&](Json& file) { plugins = html_rows(file); });
  with_json<nlohmann::json>(run_folder / "samples.json", [&](nlohmann::json& file) { samples = html_samples(file); });
  if (const auto config = run_folder / "config.toml"; std::filesystem::exists(config))
    settings = "<pre>" + escape_html(read_whole_file(config)) + "</pre>";
  const HtmlInspector inspector = html_inspector(run_folder / "inspect");
  const bool inspects = !inspector.body.empty(), goes_on = summary.value("status", Json()) == "unfinished";
  std::string hero = held_out_card(summary.value("held_out", Json::object()), cost_line(summary));
  if (hero.empty()) hero = training_card(steps);
  const std::string body =
      (goes_on ? live_line(steps, last_sign_of(run_folder)) : "") + "<div class=\"hero\">" + hero +
      profile_card(steps) + "</div>\n" +
      html_section("Alarms", alarm_list(alarms), "card alarms", "marked in the curves") +
      html_section("Curves", html_curves(steps, summary, alarms), "charts", curves_note(steps.size())) +
      html_section("Responses and the order in which they were written",
                   samples.empty() ? "" : replay_links(run_folder) + samples) +
      html_section("Groups of a step, token by token", inspector.body, {}, inspector.note) +
      html_section("The run", html_facts(summary)) + html_section("Settings", settings) +
      html_section("Plugins", plugins);
  const std::string script = std::string(kReportScript) + (inspects ? kInspectorScript : "") + kLiveScript;
  write_file_atomically(run_folder / "report.html",
                        html_page(std::filesystem::weakly_canonical(run_folder).filename().string(), subtitle(summary),
                                  body, inspects ? kInspectorStyle : "", script));
}

}  // namespace drift
