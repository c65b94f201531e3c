#pragma once

// A response in a terminal while it is written: drawn over itself after every forward.

#include <core/report/terminal.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace drift {

/// A response between two forwards.
struct DenoisingState {
  struct Position {
    std::string text;       ///< of the token; not read where it is masked
    std::int64_t age = -1;  ///< forwards since it was committed, 0 = in the last one; -1: masked
  };
  std::vector<Position> positions;
  std::int64_t forwards = 0;  ///< so far
};

class DenoisingView {
 public:
  /// The stream must outlive it.
  DenoisingView(std::ostream& stream, TerminalOptions options);

  /// Draw over what was drawn before. The latest commits stand out, and then fade.
  void show(const DenoisingState& state);

 private:
  std::ostream& stream_;
  TerminalOptions options_;
  double begun_;
  std::size_t lines_ = 0;  ///< that are drawn
};

/// The lines that show() draws: the response, cut where it is wider than `columns`, and what is done so far. Of a long
/// response, those around the latest commits.
/// @param seconds  since the first forward began
std::vector<std::string> denoising_lines(const DenoisingState& state, const TerminalOptions& options, int columns,
                                         double seconds);

}  // namespace drift
