#include <core/base/here_and_now.h>
#include <core/cli/load_run.h>
#include <core/io/file_error.h>
#include <core/report/full_screen.h>
#include <core/report/terminal.h>
#include <core/report/watch_screen.h>
#include <core/report/watched_run.h>
#include <core/sweep/compared_run.h>

#include <drift/error.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <set>

namespace drift {
namespace {

constexpr double kShortestPause = 0.05;

struct WatchOptions {
  std::vector<fs::path> runs;
  double every = 1;
  bool once = false;
};

/// Every run that the arguments name. A sweep's may begin while it is watched.
class Watch {
 public:
  explicit Watch(std::vector<fs::path> arguments) : arguments_(std::move(arguments)) {}

  const std::vector<WatchedRun>& look() {
    const double now = seconds_since_1970();
    std::set<fs::path> seen;
    runs_.clear();
    for (const fs::path& argument : arguments_) {
      const fs::path folder = argument.lexically_normal();
      std::vector<IndexedRun> begun = begun_runs(folder);
      if (begun.empty()) begun = {{folder}};  // a run, or one that is still to come
      for (const IndexedRun& found : begun) {
        if (!seen.insert(found.folder).second) continue;
        const auto known = known_.try_emplace(found.folder, RunWatch(found.folder, recorded_settings),
                                              WatchedRun{.name = found.title()});
        auto& [watch, run] = known.first->second;
        watch.look(run, now);
        runs_.push_back(run);
      }
    }
    return runs_;
  }

 private:
  std::vector<fs::path> arguments_;
  std::map<fs::path, std::pair<RunWatch, WatchedRun>> known_;  ///< by folder
  std::vector<WatchedRun> runs_;
};

int print_once(Watch& watch, const TerminalOptions& terminal, const std::vector<fs::path>& arguments) {
  for (const fs::path& argument : arguments) {
    if (!is_there(argument))
      throw Error("there is no folder " + argument.string(),
                  "name a run's folder, such as runs/quickstart; on a terminal `drift watch` waits for it");
  }
  WatchView view;
  view.unicode = terminal.unicode;
  view.color = terminal.color;
  if (terminal.columns) view.columns = terminal.columns();
  for (const std::string& line : watch_lines(watch.look(), view)) std::cout << line << "\n";
  return 0;
}

template <class Count>
void step_round(std::size_t& place, int by, Count count) {
  const auto all = static_cast<std::ptrdiff_t>(count);
  if (all > 0) place = static_cast<std::size_t>((static_cast<std::ptrdiff_t>(place) % all + by + all) % all);
}

void obey(Key key, WatchView& view, const std::vector<WatchedRun>& runs) {
  const std::size_t before = view.run;
  if (key == Key::kUp) step_round(view.run, -1, runs.size());
  if (key == Key::kDown) step_round(view.run, 1, runs.size());
  if (view.run != before) view.sample = 0;
  if (view.run >= runs.size()) return;
  const WatchedRun& run = runs[view.run];
  if (key == Key::kLeft) step_round(view.sample, -1, run.samples.size());
  if (key == Key::kRight) step_round(view.sample, 1, run.samples.size());
  if (key != Key::kMetric) return;
  const std::vector<std::string> metrics = watched_metrics(run);
  const auto shown = std::ranges::find(metrics, view.metric);
  auto place = static_cast<std::size_t>(shown == metrics.end() ? 0 : shown - metrics.begin());
  step_round(place, 1, metrics.size());
  if (!metrics.empty()) view.metric = metrics[place];
}

int watch_live(Watch& watch, const TerminalOptions& terminal, double every) {
  using Clock = std::chrono::steady_clock;
  const auto seconds_since = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  WatchView view;
  view.unicode = terminal.unicode;
  view.color = terminal.color;
  FullScreen screen;
  while (screen.signal() == 0) {
    const auto& runs = watch.look();
    view.run = std::min(view.run, runs.size() - 1);
    // Looking takes no more than half of the time, however slow the folder is.
    const auto looked = Clock::now();
    for (double rest = every; rest > 0 && screen.signal() == 0; rest = every - seconds_since(looked)) {
      const ScreenSize size = screen.size();
      view.columns = size.columns;
      view.rows = size.rows;
      screen.draw(watch_lines(runs, view));
      const Key key = screen.wait(rest);
      if (key == Key::kQuit) return 0;
      obey(key, view, runs);
    }
  }
  return 128 + screen.signal();
}

int watch(const WatchOptions& options) {
  Watch watch(options.runs);
  const TerminalOptions terminal = detect_terminal(1);
  if (options.once || !terminal.is_terminal) return print_once(watch, terminal, options.runs);
  return watch_live(watch, terminal, std::max(options.every, kShortestPause));
}

}  // namespace

Command watch_command() {
  return make_command<WatchOptions>(
      {"watch", "runs in the terminal while they go on",
       "A line for each run, and of the chosen one a curve, the seconds of each phase, the alarms and responses\n"
       "of the last evaluation. Only reads the folders, so it works on any machine that sees them. A RUN is the\n"
       "folder of a run, which need not be there yet, of a sweep, or of several runs. Keys: q quits, up and down\n"
       "choose the run, m the metric of the curve, left and right the response. Without a terminal it prints\n"
       "once and ends.",
       "watch runs/quickstart"},
      watch, [](OptionList& list, WatchOptions& options) {
        list.repeated_argument("RUN", options.runs);
        list.add("every", "SECONDS", "how often it looks", options.every);
        list.add_switch("once", "print once and end, on a terminal too", options.once);
      });
}

}  // namespace drift
