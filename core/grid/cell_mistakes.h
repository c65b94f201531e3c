#pragma once

#include <core/config/diagnostic.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace drift {

/// The mistakes of the many configurations that one file asks for, each mistake once.
class CellMistakes {
 public:
  /// @param cells  how many configurations there are
  explicit CellMistakes(std::size_t cells) : cells_(cells) {}

  /// What `action` finds wrong, in a ConfigError or in an Error, is a mistake of this cell.
  void collect(const std::string& cell, const std::function<void()>& action);

  bool empty() const { return found_.empty(); }
  /// @throws ConfigError with all of them; each says which cells it is in, unless it is in every one.
  void throw_if_any();

 private:
  struct Found {
    std::string text;
    Diagnostic diagnostic;
    std::vector<std::string> cells;
  };

  void add(const std::string& cell, const Diagnostic& diagnostic);
  std::string where(const std::vector<std::string>& cells) const;

  std::size_t cells_;
  std::vector<Found> found_;
};

}  // namespace drift
