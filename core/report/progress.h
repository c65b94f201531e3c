#pragma once

// How far a counted piece of work is, and how long the rest will take.

#include <core/report/terminal.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace drift {

/// Speed as a moving average over the last reports.
class RateEstimator {
 public:
  /// `done` things are done at `now` seconds; neither ever falls.
  void update(std::int64_t done, double now);
  /// Things a second; NaN until two reports differ.
  double rate() const;
  /// Seconds until `total` are done; NaN while the rate is not known.
  double seconds_left(std::int64_t total) const;

 private:
  struct Report {
    std::int64_t done;
    double at;
  };
  std::deque<Report> reports_;
};

/// "2.9 steps/s", or "4.2 s/step" if one takes longer than a second; empty if not known.
std::string describe_rate(double rate, std::string_view singular);

constexpr int kWidestBar = 24;  // columns

/// A bar of `columns` columns: "━━━━━━──────", or "######......" without Unicode.
std::string progress_bar(const Terminal& terminal, std::int64_t done, std::int64_t total, int columns);
std::string progress_bar(bool unicode, bool color, std::int64_t done, std::int64_t total, int columns);

/// Progress of one counted piece of work (an evaluation, a long generation): the live line on a terminal, else a line
/// every ten seconds. Use from one thread.
class Progress {
 public:
  /// "eval", 400, "puzzle" -> eval ━━━━━━──── 120/400  38 puzzles/s  0:07 left
  /// @param begun  how many an earlier attempt had done
  Progress(Terminal& terminal, std::string what, std::int64_t total, std::string singular, std::int64_t begun = 0);
  /// Takes the live line away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::int64_t done);

 private:
  Terminal& terminal_;
  std::string what_;
  std::int64_t total_;
  std::string singular_;
  RateEstimator rate_;
  double printed_at_;
};

}  // namespace drift
