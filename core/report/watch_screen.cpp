#include <core/report/watch_screen.h>

#include <core/base/quote.h>
#include <core/report/format.h>
#include <core/report/profile.h>
#include <core/report/step_quantities.h>
#include <core/report/terminal.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace drift {
namespace {

using Lines = std::vector<std::string>;

constexpr int kProfileColumns = 48, kNarrowestCurve = 40, kWatchedPhaseBar = 12;
constexpr std::size_t kStepsOfProfile = 20;
constexpr int kCurveRows = 11, kSnapshotSamples = 2, kSampleRows = 6;  // where the rows are not limited
constexpr int kUnlimited = 1 << 20;
constexpr const char* kResponseLabel = "  response  ";

void append(Lines& lines, const Lines& more) { lines.insert(lines.end(), more.begin(), more.end()); }

// ---- Curve and profile ----

Lines curve_lines(const WatchedRun& run, const WatchView& view, int columns, int rows) {
  const std::string metric = shown_metric(run, view);
  Lines curve = text_chart(metric_chart(run.steps, metric), columns, rows - 1, view.unicode);
  if (curve.empty()) return {};
  const std::vector<std::string> all = watched_metrics(run);
  const auto place = std::ranges::find(all, metric) - all.begin() + 1;
  curve.insert(curve.begin(), styled(on_one_line(metric), Style::kStrong, view.color) + "  " +
                                  format_adaptive(last_watched(run, metric)) + "  " +
                                  styled("metric " + std::to_string(place) + " of " + std::to_string(all.size()),
                                         Style::kFaint, view.color));
  return curve;
}

Lines profile_lines(const WatchedRun& run, const WatchView& view) {
  const std::size_t count = std::min(run.steps.size(), kStepsOfProfile);
  std::vector<PhaseShare> shares =
      phase_shares({run.steps.end() - static_cast<std::ptrdiff_t>(count), run.steps.end()});
  std::erase_if(shares, [](const PhaseShare& share) { return share.mean_seconds <= 0; });
  if (shares.empty()) return {};
  Lines lines = {styled("a step's time", Style::kStrong, view.color)};
  std::istringstream text(to_text(phase_table(shares, kWatchedPhaseBar, view.unicode)));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Beside each other where there is room, else the profile below.
Lines curve_and_profile(const WatchedRun& run, const WatchView& view, int rows) {
  const Lines profile = profile_lines(run, view);
  const bool beside = !profile.empty() && view.columns >= kNarrowestCurve + kProfileColumns + 2;
  const int columns = beside ? view.columns - kProfileColumns - 2 : view.columns;
  Lines lines = curve_lines(run, view, columns, rows);
  if (!beside) {
    append(lines, profile);
    return lines;
  }
  lines.resize(std::max(lines.size(), std::min(profile.size(), static_cast<std::size_t>(rows))));
  for (std::size_t i = 0; i < lines.size() && i < profile.size(); ++i)
    lines[i] = aligned(lines[i], static_cast<std::size_t>(columns) + 2, false) + profile[i];
  return lines;
}

// ---- Alarms and responses ----

/// A text from a file in lines of a width, cut between words where there are any; no more lines than can be shown.
Lines wrapped(const std::string& text, int columns) {
  constexpr std::size_t kMostLines = 200, kNear = 4096;  // bytes that a line may have
  Lines lines;
  std::istringstream parts(printable(text));
  for (std::string part; lines.size() < kMostLines && std::getline(parts, part);) {
    std::ranges::replace(part, '\t', ' ');
    std::string_view rest = part;
    do {
      std::string piece = truncate_to_width(rest.substr(0, kNear), std::max(1, columns));
      const std::size_t space = rest.rfind(' ', piece.size());
      const bool cut = piece.size() < rest.size(), between = cut && space != rest.npos && space > 0;
      if (between) piece.resize(space);
      rest.remove_prefix(piece.size() + (between ? 1 : 0));
      lines.push_back(std::move(piece));
    } while (!rest.empty() && lines.size() < kMostLines);
  }
  return lines;
}

/// The last ones that there is room for: what was found, and what to try.
Lines alarm_lines(const WatchedRun& run, const WatchView& view, int most) {
  Lines lines;
  for (auto alarm = run.alarms.rbegin(); alarm != run.alarms.rend(); ++alarm) {
    const std::string title = "step " + std::to_string(alarm->step) + ": " + alarm->doc->title;
    Lines text = wrapped(title + ": " + on_one_line(alarm->found) + ". Try: " + alarm->doc->advice, view.columns - 2);
    if (std::ssize(lines) + std::ssize(text) + 1 > most) break;
    for (std::string& line : text) line.insert(0, "  ");
    if (text[0].starts_with("  " + title))
      text[0] = "  " + styled(title, Style::kWarning, view.color) + text[0].substr(title.size() + 2);
    lines.insert(lines.begin(), text.begin(), text.end());
  }
  if (!lines.empty()) lines.insert(lines.begin(), styled("alarms", Style::kStrong, view.color));
  return lines;
}

/// The end of a text on one line: questions stand at the end of prompts.
std::string tail(const std::string& text, int columns, bool unicode) {
  std::string line = on_one_line(text);
  line.erase(line.find_last_not_of(' ') + 1);
  const std::string mark = unicode ? "…" : "...";
  int excess = display_width(line) - std::max(columns, 8);
  if (excess <= 0) return line;
  excess += display_width(mark);
  return mark + line.substr(truncate_to_width(line, excess).size());
}

Lines sample_lines(const WatchedSample& sample, const WatchView& view) {
  const char* mark = !view.unicode ? "" : sample.solved ? "✓ " : "✗ ";
  std::string verdict = styled(std::string(mark) + (sample.solved ? "solved" : "failed"),
                               sample.solved ? Style::kAccent : Style::kWarning, view.color);
  if (!std::isnan(sample.reward)) verdict += "  reward " + format_decimal(sample.reward, 2);
  verdict += "  after step " + std::to_string(sample.step);
  if (!sample.reason.empty()) verdict += "  " + on_one_line(sample.reason);
  const int columns = view.columns - display_width(kResponseLabel);
  Lines lines = {verdict, "  prompt    " + tail(sample.prompt, columns, view.unicode)};
  const Lines response = wrapped(sample.response, columns);
  const std::string under(static_cast<std::size_t>(display_width(kResponseLabel)), ' ');
  for (std::size_t i = 0; i < response.size(); ++i) lines.push_back((i == 0 ? kResponseLabel : under) + response[i]);
  if (lines.size() > kSampleRows) {
    lines.resize(kSampleRows);
    lines.back() = under + (view.unicode ? "…" : "...");
  }
  return lines;
}

/// Whole responses, as many as there is room for.
Lines samples_of(const WatchedRun& run, const WatchView& view, int most) {
  Lines lines;
  const std::size_t count = run.samples.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Lines sample = sample_lines(run.samples[(view.sample + i) % count], view);
    if (view.rows == 0 && i == kSnapshotSamples) break;
    if (std::ssize(lines) + std::ssize(sample) + 1 > most) break;
    if (lines.empty())
      lines.push_back(
          styled("responses of the last evaluation", Style::kStrong, view.color) + "  " +
          styled(std::to_string(view.sample % count + 1) + " of " + std::to_string(count), Style::kFaint, view.color));
    append(lines, sample);
  }
  return lines;
}

/// What is wrong with the run or its files.
Lines trouble_lines(const WatchedRun& run, const WatchView& view) {
  Lines lines;
  const auto add = [&](const std::string& what, const std::string& text) {
    lines.push_back(styled(what, Style::kWarning, view.color) + " " + on_one_line(text));
  };
  if (run.state == WatchedState::kFailed && !run.error.empty()) add("error:", run.error);
  if (run.state == WatchedState::kLost) add("lost:", "no process works on the run, and it has not said how it ended");
  if (!run.trouble.empty()) add("warning:", run.trouble);
  if (run.unreadable > 0)
    add("warning:", std::to_string(run.unreadable) + " lines of metrics.jsonl are not the metrics of a step");
  return lines;
}

/// A block below others, after an empty line.
void add_block(Lines& lines, const Lines& block) {
  if (block.empty()) return;
  lines.emplace_back();
  append(lines, block);
}

}  // namespace

Lines watch_lines(const std::vector<WatchedRun>& runs, const WatchView& view) {
  const bool limited = view.rows > 0;
  const int rows = limited ? view.rows - 1 : kUnlimited;  // the last one is about keys
  Lines lines = watched_table(runs, view, static_cast<std::size_t>(std::max(limited ? rows / 3 : kUnlimited, 1)));
  if (view.run < runs.size()) {
    const WatchedRun& run = runs[view.run];
    const auto rest = [&] { return rows - static_cast<int>(lines.size()) - 1; };
    add_block(lines, trouble_lines(run, view));
    add_block(lines, curve_and_profile(run, view, limited ? std::clamp(rest() * 2 / 5, 6, 18) : kCurveRows));
    add_block(lines, alarm_lines(run, view, limited ? rest() / 2 : kUnlimited));
    add_block(lines, samples_of(run, view, rest()));
  }
  if (limited) {
    lines.resize(static_cast<std::size_t>(std::max(0, rows)));
    const std::string keys = view.unicode ? "q quit   ↑ ↓ run   m metric   ← → response"
                                          : "q quit   up, down: run   m metric   left, right: response";
    lines.push_back(styled(keys, Style::kFaint, view.color));
  }
  for (std::string& line : lines) line = truncate_to_width(line, view.columns);
  return lines;
}

}  // namespace drift
