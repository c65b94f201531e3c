#pragma once

// A stream that people read: plain lines, and on a terminal one last line that is redrawn in place.

#include <functional>
#include <iosfwd>
#include <mutex>
#include <string>
#include <string_view>

namespace drift {

/// How a stream shows text. The default suits a file or a pipe.
struct TerminalOptions {
  bool is_terminal = false;  ///< the last line may be redrawn
  bool color = false;
  bool unicode = true;            ///< else ASCII only
  std::function<int()> columns;   ///< width at this moment; empty: unlimited
  std::function<double()> clock;  ///< monotonic seconds; empty: the machine's
};

/// What the stream of a file descriptor can do: a terminal or not (CI and TERM=dumb count as not), NO_COLOR, the
/// locale, the width.
TerminalOptions detect_terminal(int file_descriptor);

enum class Style { kPlain, kStrong, kFaint, kAccent, kWarning };

/// `text` in a style. Pad to the width first.
std::string styled(std::string_view text, Style style, bool color);

/// Thread-safe. The stream must outlive it.
class Terminal {
 public:
  Terminal(std::ostream& stream, TerminalOptions options);
  /// Takes the live line away.
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Print one line (or several, separated by newlines) above the live line.
  void print(std::string_view text);
  /// The same after "warning:".
  void print_warning(std::string_view text);

  /// Redraw the live line; empty takes it away. Does nothing if the stream is not a terminal. `text` is cut to the
  /// width; redrawn at most ten times a second unless `at_once`.
  void show_live(std::string_view text, bool at_once = false);

  /// `text` in a style, if the stream has colours. Pad to the width first.
  std::string styled(std::string_view text, Style style) const;

  bool is_terminal() const { return options_.is_terminal; }
  bool unicode() const { return options_.unicode; }
  bool color() const { return options_.color; }
  /// Columns, or 0 if unlimited.
  int columns() const { return options_.columns ? options_.columns() : 0; }
  double now() const { return options_.clock(); }

 private:
  void draw_live();
  void erase_live();

  std::ostream& stream_;
  TerminalOptions options_;
  std::mutex mutex_;
  std::string live_;
  double drawn_at_ = 0;
  bool drawn_ = false;
};

}  // namespace drift
