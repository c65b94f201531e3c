#pragma once

// A table of texts, and the forms that it is written in.

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// Cells of text, laid out by the functions below. to_text() also takes rows alone, and rows of different lengths.
struct TextTable {
  std::vector<std::string> titles = {};
  std::vector<bool> is_number = {};  ///< of every column: aligned to the right
  std::vector<std::vector<std::string>> rows = {};

  /// Lines of headings above the titles, the outermost first, each with a text for every column: neighbours of the same
  /// text share one heading; an empty text has none.
  std::vector<std::vector<std::string>> headings = {};
  std::set<std::size_t> rules = {};                               ///< rows that a rule stands before
  std::set<std::pair<std::size_t, std::size_t>> emphasised = {};  ///< cells (row, column) that stand out
};

/// Lines up in a terminal; emphasised cells end with an asterisk.
/// @param unicode  else "+-" for "±" and "Delta" for "Δ"
/// @param indent   what every line begins with
std::string to_text(const TextTable& table, bool unicode = true, const std::string& indent = "");
/// RFC 4180, except for plain line feeds as line ends. A column's headings come before its title.
std::string to_csv(const TextTable& table);
/// A `tabular` that needs no package: every special character escaped, emphasised cells in bold.
std::string to_latex(const TextTable& table);
std::string to_markdown(const TextTable& table);
/// A <table>, emphasised cells in bold.
std::string to_html(const TextTable& table);

}  // namespace drift
