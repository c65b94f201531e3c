#include <core/report/run_display.h>

#include <core/base/quote.h>

#include <core/base/log.h>
#include <core/record/estimate.h>
#include <core/report/format.h>
#include <core/report/text_table.h>

#include <drift/params.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace drift {
namespace {

constexpr double kSecondsBetweenRows = 20;
constexpr int kRowsBetweenTitles = 30;

struct Column {
  const char* title;
  int width;
  int rank;  // if the table is too wide, the highest rank is removed first
  bool train;
  bool pretrain;
  double (*value)(const StepRecord& step);  // a row shows its mean over some steps; none: the seconds that are left
  std::string (*text)(double value, const StepRecord& last);
};

std::string step_text(double, const StepRecord& last) { return std::to_string(last.step); }
std::string held_out_text(double, const StepRecord& last) {
  return last.held_out ? format_percent(last.held_out->accuracy) + "%" : "";
}
std::string live_text(double live, const StepRecord& last) {
  return std::isnan(live) ? "-" : format_decimal(live, 0) + "/" + std::to_string(last.groups);
}
std::string percent_text(double fraction, const StepRecord&) {
  return std::isnan(fraction) ? "-" : format_percent(fraction) + "%";
}
std::string rate_text(double rate, const StepRecord&) {
  return std::isnan(rate) ? "-" : to_toml(std::stod(print_text("%.2g", rate)));
}
std::string decimal_text(double value, const StepRecord&) { return format_decimal(value, 3); }
std::string adaptive_text(double value, const StepRecord&) { return format_adaptive(value); }
std::string count_text(double value, const StepRecord&) { return format_count(value); }
std::string seconds_text(double value, const StepRecord&) { return format_seconds(value); }
std::string left_text(double value, const StepRecord&) { return format_duration(value); }

double rollout_seconds(const StepRecord& step) { return step.seconds ? step.seconds->rollout : kUnknown; }
// The gradient, and what it needs of other policies.
double update_seconds(const StepRecord& step) {
  return step.seconds ? step.seconds->update + step.seconds->old + step.seconds->reference : kUnknown;
}

using Step = StepRecord;
const Column kTable[] = {
    {"step", 5, 0, true, true, nullptr, step_text},
    {"reward", 6, 1, true, false, [](const Step& step) { return step.reward; }, decimal_text},
    {"solved", 6, 1, true, false, [](const Step& step) { return step.solved; }, percent_text},
    {"held-out", 8, 3, true, true, nullptr, held_out_text},
    {"loss", 8, 2, true, true, [](const Step& step) { return step.loss; }, adaptive_text},
    {"kl", 7, 7, true, false, [](const Step& step) { return step.value("loss/kl"); }, adaptive_text},
    {"live", 5, 4, true, false, [](const Step& step) { return step.value("live_groups"); }, live_text},
    {"utility", 7, 8, true, false, [](const Step& step) { return step.value("loss/token_utility"); }, decimal_text},
    {"grad", 6, 9, true, true, [](const Step& step) { return step.grad_norm; }, count_text},
    {"lr", 7, 5, false, true, [](const Step& step) { return step.learning_rate; }, rate_text},
    {"rollout", 7, 6, true, false, rollout_seconds, seconds_text},
    {"update", 7, 6, true, false, update_seconds, seconds_text},
    {"tokens/s", 9, 5, true, true, [](const Step& step) { return step.tokens_per_second; }, count_text},
    {"left", 7, 0, true, true, nullptr, left_text},
};
constexpr int kGap = 1;

std::vector<int> columns_that_fit(const RunPlan& plan, int available) {
  std::vector<int> chosen;
  int width = 0;
  for (int index = 0; index < static_cast<int>(std::size(kTable)); ++index) {
    const Column& column = kTable[index];
    if (!(plan.kind == RunKind::kTrain ? column.train : column.pretrain)) continue;
    if (column.title == std::string_view("held-out") && !plan.evaluates) continue;
    chosen.push_back(index);
    width += column.width + kGap;
  }
  while (available > 0 && width > available && chosen.size() > 2) {
    const auto last =
        std::max_element(chosen.begin(), chosen.end(), [](int a, int b) { return kTable[a].rank < kTable[b].rank; });
    width -= kTable[*last].width + kGap;
    chosen.erase(last);
  }
  return chosen;
}

std::string right_aligned(const std::string& text, int width) {
  return std::string(kGap, ' ') + aligned(text, static_cast<std::size_t>(width), true);
}

// About ten rows a run, at round numbers.
std::int64_t round_interval(std::int64_t steps) {
  for (std::int64_t unit = 1;; unit *= 10) {
    for (const std::int64_t interval : {unit, 2 * unit, unit >= 10 ? unit * 5 / 2 : 5 * unit, 5 * unit}) {
      if (interval * 10 >= steps) return interval;
    }
  }
}

// Over the steps of which it is known.
double mean_of(const std::vector<StepRecord>& steps, double (*value)(const StepRecord&)) {
  std::vector<double> values;
  for (const StepRecord& step : steps) values.push_back(value(step));
  return mean_of_known(values);
}

std::string join_header(const Terminal& terminal, const std::vector<std::string>& parts) {
  const std::string separator = terminal.unicode() ? " · " : " | ";
  std::string text;
  int width = 0;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const int added = display_width(part) + 3;
    if (!text.empty()) {
      const bool wraps = terminal.columns() > 0 && width + added > terminal.columns();
      text += wraps ? "\n  " : separator;
      if (wraps) width = 2;
    }
    text += part;
    width += added;
  }
  return text;
}

}  // namespace

RunDisplay::RunDisplay(Terminal& terminal) : terminal_(terminal) {
  set_warning_listener([this](const std::string& text) { terminal_.print_warning(text); });
}

RunDisplay::~RunDisplay() {
  set_warning_listener({});
  terminal_.show_live({}, true);
}

void RunDisplay::header(const RunHeader& header) {
  std::string model = header.model;
  if (header.parameters > 0) model += " " + format_parameters(header.parameters) + " parameters";
  if (!header.data_type.empty()) model += " " + header.data_type;
  std::string device = header.device;
  if (header.threads > 0) {
    device += header.ranks > 1 ? ", " + std::to_string(header.ranks) + " ranks of " : ", ";
    device += count_of(header.threads, "thread");
  }
  terminal_.print(
      join_header(terminal_, {terminal_.styled("drift " + header.version, Style::kStrong), header.algorithm, model,
                              header.task, device, header.run_folder.empty() ? "" : "run " + header.run_folder,
                              header.resumed_at > 0 ? "resumed after step " + std::to_string(header.resumed_at) : ""}));
}

void RunDisplay::begin(const RunPlan& plan) {
  plan_ = plan;
  columns_ = columns_that_fit(plan, terminal_.columns());
  row_every_ = round_interval(plan.steps);
  printed_at_ = terminal_.now();
  done_ = plan.first_step - 1;
  rate_.update(done_, printed_at_);
  print_titles();
  redraw({}, true);
}

void RunDisplay::step(const StepRecord& step) {
  const double now = terminal_.now();
  if (step.step < plan_.first_step) rate_ = {};  // the time of the evaluation before the first step tells nothing
  rate_.update(step.step, now);
  done_ = step.step;
  last_reward_ = step.reward;
  pending_.push_back(step);
  const bool due = step.step % row_every_ == 0 || step.step == plan_.steps || step.held_out ||
                   now - printed_at_ >= kSecondsBetweenRows;
  if (due) print_row();
  redraw({}, due);
}

void RunDisplay::activity(std::string_view what, std::int64_t done, std::int64_t total) {
  redraw(std::string(what) + " " + std::to_string(done) + "/" + std::to_string(total), false);
}

void RunDisplay::message(std::string_view text) { terminal_.print(printable(text)); }

void RunDisplay::print_titles() {
  std::string line;
  for (const int index : columns_) line += right_aligned(kTable[index].title, kTable[index].width);
  terminal_.print(terminal_.styled(line, Style::kFaint));
  rows_since_titles_ = 0;
}

void RunDisplay::print_row() {
  if (rows_since_titles_ == kRowsBetweenTitles) print_titles();
  const StepRecord& last = pending_.back();
  const double left = rate_.seconds_left(plan_.steps);
  std::string line;
  for (const int index : columns_) {
    const Column& column = kTable[index];
    const std::string text = column.text(column.value == nullptr ? left : mean_of(pending_, column.value), last);
    // Before the first step there is nothing but the evaluation.
    line += right_aligned(last.step == 0 && text == "-" ? "" : text, column.width);
  }
  terminal_.print(line);
  pending_.clear();
  printed_at_ = terminal_.now();
  ++rows_since_titles_;
}

void RunDisplay::redraw(std::string_view activity, bool at_once) {
  if (!terminal_.is_terminal()) return;
  const int bar = terminal_.columns() > 0 ? std::clamp(terminal_.columns() / 4, 4, kWidestBar) : kWidestBar;
  std::string line = std::to_string(done_) + "/" + std::to_string(plan_.steps) + "  " +
                     progress_bar(terminal_, done_, plan_.steps, bar) + "  " +
                     format_duration(rate_.seconds_left(plan_.steps)) + " left";
  if (const std::string rate = describe_rate(rate_.rate(), "step"); !rate.empty()) line += "  " + rate;
  if (!std::isnan(last_reward_)) line += "  reward " + format_decimal(last_reward_, 3);
  if (!activity.empty()) line += "  " + terminal_.styled(activity, Style::kFaint);
  terminal_.show_live(line, at_once);
}

void RunDisplay::close(const RunClosing& closing) {
  if (!pending_.empty()) print_row();
  terminal_.show_live({}, true);
  TextTable table;
  const auto line = [&](std::string_view label, const std::string& text) {
    table.rows.push_back({std::string(label), text});
  };
  if (closing.interrupted) {
    line("stopped", "after step " + std::to_string(closing.last_step) + " of " + std::to_string(plan_.steps));
  }
  if (const auto& known = closing.after ? closing.after : closing.before) {
    const std::string how = closing.decoding.empty() ? "" : ", " + closing.decoding;
    std::string text = format_integer(known->items) + " held-out items" + how + ":  ";
    std::string errors;
    if (closing.before) {
      text += format_percent(closing.before->accuracy) + " %" + (closing.after ? " -> " : " before");
      errors = format_percent(closing.before->standard_error);
    }
    if (closing.after) {
      text += format_percent(closing.after->accuracy) + " %";
      errors += (errors.empty() ? "" : ", ") + format_percent(closing.after->standard_error);
    }
    line("eval", text + "   (standard error " + errors + ")");
  }
  for (const auto& [text, count] : closing.warnings) line("warning", count_of(count, "time") + ": " + text);
  std::istringstream profile(closing.profile);
  for (std::string text, label = "profile"; std::getline(profile, text); label.clear()) line(label, text);
  std::string time =
      format_run_times(closing.total_seconds, closing.start_seconds, closing.seconds, closing.evaluation_seconds);
  if (!std::isnan(closing.peak_memory_mib))
    time += (time.empty() ? "" : ", ") + ("peak memory " + format_decimal(closing.peak_memory_mib, 0) + " MiB");
  if (!time.empty()) line("time", time);
  if (!closing.checkpoint.empty()) line("checkpoint", closing.checkpoint);
  if (!closing.report.empty()) line("report", closing.report);
  if (!closing.resume_command.empty()) line("continue", closing.resume_command);
  std::istringstream lines(to_text(table));
  std::string text;
  for (std::size_t row = 0; std::getline(lines, text); ++row) {
    const std::string& label = table.rows[row][0];
    terminal_.print(terminal_.styled(label, Style::kStrong) + text.substr(label.size()));
  }
}

}  // namespace drift
