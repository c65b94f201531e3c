#include <core/report/html_live.h>

#include <core/base/here_and_now.h>
#include <core/report/format.h>

#include <sys/stat.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

constexpr double kShortestSilence = 600;  // seconds, or the number below of the longest step
constexpr double kLongestSteps = 10;

/// After which a run is no longer believed to go on.
double believed_silence(const std::vector<StepRecord>& steps) {
  double longest = 0;
  for (const StepRecord& step : steps) {
    const double trained = step.seconds ? step.seconds->total : 0,
                 evaluated = step.held_out ? step.held_out->seconds : 0;
    for (const double seconds : {trained, evaluated})
      longest = std::isnan(seconds) ? longest : std::max(longest, seconds);
  }
  return std::max(kShortestSilence, kLongestSteps * longest);
}

}  // namespace

std::string live_line(const std::vector<StepRecord>& steps, double written) {
  const std::string date = time_text("%F %T UTC", static_cast<std::int64_t>(written), /*utc=*/true);
  if (date.empty()) return {};
  const std::string step = steps.empty() ? "" : " after step " + std::to_string(steps.back().step);
  return "<p class=\"live\" data-written=\"" + format_decimal(written, 0) + "\" data-every=\"" +
         format_decimal(kSecondsBetweenPages, 0) + "\" data-silence=\"" + format_decimal(believed_silence(steps), 0) +
         "\">Written" + step + ", at " + date + "; the run had not ended.<output></output></p>\n";
}

double last_sign_of(const std::filesystem::path& run_folder) {
  double latest = 0;
  for (const char* file : {"metrics.jsonl", "summary.json"}) {
    struct stat found {};
    if (::stat((run_folder / file).c_str(), &found) == 0)
      latest = std::max(latest, static_cast<double>(found.st_mtim.tv_sec));
  }
  return latest;
}

// No less-than sign and no ampersand: the page is XML too. What cannot be stored is not kept: most browsers keep the
// place by themselves.
const char* const kLiveScript = R"js(
(() => {
  const live = document.querySelector('.live'), key = 'drift ' + location.pathname;
  const parts = [...document.querySelectorAll('details')];
  try {
    const kept = JSON.parse(sessionStorage.getItem(key));
    sessionStorage.removeItem(key);
    parts.forEach((part, i) => { part.open = kept.open[i] ?? part.open; });
    scrollTo(kept.x, kept.y);
  } catch { }
  if (!live) return;
  const silent = Date.now() / 1000 - live.dataset.written, note = live.querySelector('output');
  if (silent > live.dataset.silence) {
    note.textContent = ' Nothing has come for ' + Math.round(silent / 60) + ' minutes: the run may have ended without ' +
      'a word. This page no longer loads itself.';
    return;
  }
  note.textContent = ' This page loads itself every ' + live.dataset.every + ' s.';
  const again = () => {
    if (document.hidden || String(getSelection()) !== '') return setTimeout(again, 1000);
    try {
      const open = parts.map(part => part.open);
      sessionStorage.setItem(key, JSON.stringify({ x: scrollX, y: scrollY, open }));
    } catch { }
    location.reload();
  };
  setTimeout(again, 1000 * live.dataset.every);
})();
)js";

}  // namespace drift
