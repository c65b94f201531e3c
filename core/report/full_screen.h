#pragma once

// The whole terminal as a page that is drawn again and again, with keys.

#include <string>
#include <vector>

namespace drift {

enum class Key { kNone, kQuit, kUp, kDown, kLeft, kRight, kMetric };

struct ScreenSize {
  int columns = 80, rows = 24;
};

/// Standard output and input as a full screen, from construction to destruction. What was there before is there again
/// afterwards, however the program ends: by a signal that ends programs, by one of a crash (which then takes its
/// course), while it is suspended (Ctrl-Z), but not by SIGKILL. One at a time.
class FullScreen {
 public:
  FullScreen();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  ScreenSize size() const;
  void draw(const std::vector<std::string>& lines);
  /// Wait for a key, at most so many seconds; less when the size has changed, or a signal has come.
  Key wait(double seconds);
  /// The signal that asks to end, or 0. A second one ends the process.
  int signal() const;

 private:
  std::string drawn_;  ///< what the terminal shows; empty: not known
};

}  // namespace drift
