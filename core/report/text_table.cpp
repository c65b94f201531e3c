#include <core/report/text_table.h>

#include <core/base/quote.h>

#include <core/report/format.h>
#include <core/report/html.h>

#include <algorithm>
#include <functional>

namespace drift {
namespace {

/// Every row with `between` its cells, each cell as `cell` writes it.
std::string join(const std::vector<std::string>& row, std::string_view between,
                 const std::function<std::string(std::size_t)>& cell) {
  std::string text;
  for (std::size_t column = 0; column < row.size(); ++column) {
    if (column > 0) text += between;
    text += cell(column);
  }
  return text;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return "\"" + replaced(text, "\"", "\"\"") + "\"";
}

std::string latex_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\textbackslash{}"; break;
      case '~': out += "\\textasciitilde{}"; break;
      case '^': out += "\\textasciicircum{}"; break;
      case '<': out += "\\textless{}"; break;
      case '>': out += "\\textgreater{}"; break;
      case '&':
      case '%':
      case '$':
      case '#':
      case '_':
      case '{':
      case '}': out += std::string("\\") + c; break;
      default: out += c;
    }
  }
  return out;
}

/// Numbers are mathematics, for a minus sign of the right length.
std::string latex_number(const std::string& text) {
  const char* digits = text.starts_with('[') ? "+-.0123456789 [,]" : "+-.0123456789 ±";  // an interval has a comma
  const bool in_words = text.empty() || text.find_first_not_of(digits) != std::string::npos;
  const std::string cell = latex_cell(text);
  return in_words ? replaced(cell, " ± ", " $\\pm$ ") : "$" + replaced(cell, "±", "\\pm") + "$";
}

std::string latex_words(const std::string& text) {
  return replaced(replaced(latex_cell(text), "Δ", "$\\Delta$"), "±", "$\\pm$");
}

/// Columns [first, behind) under one heading.
struct Span {
  std::size_t first, behind;
  const std::string& text;
};

/// Of heading line `line`. A change of an outer heading also ends the inner ones.
std::vector<Span> spans_of(const TextTable& table, std::size_t line) {
  const std::vector<std::string>& headings = table.headings[line];
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::all_of(table.headings.begin(), table.headings.begin() + static_cast<std::ptrdiff_t>(line) + 1,
                       [&](const std::vector<std::string>& outer) { return outer[a] == outer[b]; });
  };
  std::vector<Span> spans;
  for (std::size_t first = 0, behind = 0; first < headings.size(); first = behind) {
    while (behind < headings.size() && same(first, behind)) ++behind;
    spans.push_back({first, behind, headings[first]});
  }
  return spans;
}

/// Whether a new group of columns begins at `column`: where a heading changes.
bool begins_group(const TextTable& table, std::size_t column) {
  return column > 0 && std::ranges::any_of(table.headings, [&](const std::vector<std::string>& line) {
           return line[column] != line[column - 1];
         });
}

/// Lays a table out in columns of one width.
class TextLayout {
 public:
  TextLayout(const TextTable& table, bool unicode, const std::string& indent)
      : table_(table), unicode_(unicode), indent_(indent) {
    std::size_t columns = table.titles.size();
    for (const auto& row : table.rows) columns = std::max(columns, row.size());
    for (std::size_t column = 0; column < columns; ++column) {
      marked_.push_back(std::ranges::any_of(table.emphasised, [&](const auto& cell) { return cell.second == column; }));
      std::size_t width = width_of(title(column));
      for (std::size_t row = 0; row < table.rows.size(); ++row) width = std::max(width, width_of(cell(row, column)));
      widths_.push_back(width);
    }
    for (std::size_t line = 0; line < table.headings.size(); ++line) {
      for (const Span& span : spans_of(table, line)) {
        const std::size_t wanted = width_of(shown(span.text)), there = width_between(span);
        if (wanted > there) widths_[span.behind - 1] += wanted - there;
      }
    }
  }

  std::string text() const {
    std::string text;
    for (std::size_t line = 0; line < table_.headings.size(); ++line) text += heading_line(line);
    if (!table_.titles.empty()) text += line([&](std::size_t column) { return title(column); });
    if (!table_.headings.empty()) text += rule();
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      if (table_.rules.contains(row)) text += rule();
      text += line([&](std::size_t column) { return cell(row, column); });
    }
    return text;
  }

 private:
  static std::size_t width_of(const std::string& text) { return static_cast<std::size_t>(display_width(text)); }

  std::string shown(const std::string& text) const {
    const std::string safe = printable(text);
    return unicode_ ? safe : replaced(replaced(safe, "±", "+-"), "Δ", "Delta");
  }
  std::string title(std::size_t column) const {
    if (column >= table_.titles.size()) return {};
    return shown(table_.titles[column]) + (marked_[column] && is_number(column) ? " " : "");
  }
  /// In a column with marked cells, the others keep the mark's place free, so that digits are aligned.
  std::string cell(std::size_t row, std::size_t column) const {
    if (column >= table_.rows[row].size()) return {};
    const std::string text = shown(table_.rows[row][column]);
    return marked_[column] ? text + (table_.emphasised.contains({row, column}) ? "*" : " ") : text;
  }

  bool is_number(std::size_t column) const { return column < table_.is_number.size() && table_.is_number[column]; }

  std::string separator(std::size_t column) const { return begins_group(table_, column) ? " | " : "  "; }

  std::size_t width_between(const Span& span) const {
    std::size_t width = widths_[span.first];
    for (std::size_t column = span.first + 1; column < span.behind; ++column)
      width += separator(column).size() + widths_[column];
    return width;
  }

  std::string finished(const std::string& line) const {
    return indent_ + line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  std::string line(const std::function<std::string(std::size_t)>& cell) const {
    std::string text;
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      if (column > 0) text += separator(column);
      text += aligned(cell(column), widths_[column], is_number(column));
    }
    return finished(text);
  }

  std::string heading_line(std::size_t line) const {
    std::string text;
    for (const Span& span : spans_of(table_, line)) {
      if (span.first > 0) text += separator(span.first);
      const std::string heading = shown(span.text);
      const std::size_t width = width_between(span);
      text += aligned(std::string((width - width_of(heading)) / 2, ' ') + heading, width, false);
    }
    return finished(text);
  }

  std::string rule() const { return finished(std::string(width_between({0, widths_.size(), indent_}), '-')); }

  const TextTable& table_;
  const bool unicode_;
  const std::string& indent_;
  std::vector<bool> marked_;  ///< columns in which a cell stands out
  std::vector<std::size_t> widths_;
};

/// Headings and title of a column in one.
std::string full_title(const TextTable& table, std::size_t column) {
  std::string text;
  for (const auto& line : table.headings) text += line[column].empty() ? "" : line[column] + " ";
  return text + table.titles[column];
}

std::string latex_heading_line(const TextTable& table, std::size_t line) {
  std::string text;
  for (const Span& span : spans_of(table, line)) {
    if (span.first > 0) text += " & ";
    if (span.text.empty()) {
      text += std::string(span.behind - span.first - 1, '&');
      continue;
    }
    const bool last = span.behind == table.titles.size();
    text += "\\multicolumn{" + std::to_string(span.behind - span.first) + "}{" + (last ? "c" : "c|") + "}{\\textbf{" +
            latex_words(span.text) + "}}";
  }
  return text + " \\\\\n";
}

}  // namespace

std::string to_text(const TextTable& table, bool unicode, const std::string& indent) {
  return TextLayout(table, unicode, indent).text();
}

std::string to_csv(const TextTable& table) {
  const auto line = [](const std::vector<std::string>& row) {
    return join(row, ",", [&](std::size_t column) { return csv_cell(row[column]); }) + "\n";
  };
  std::string text =
      join(table.titles, ",", [&](std::size_t column) { return csv_cell(full_title(table, column)); }) + "\n";
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string to_latex(const TextTable& table) {
  const std::string rule = "\\hline\n";
  std::string text = "\\begin{tabular}{";
  for (std::size_t column = 0; column < table.titles.size(); ++column)
    text += std::string(begins_group(table, column) ? "|" : "") + (table.is_number[column] ? "r" : "l");
  text += "}\n" + rule;
  for (std::size_t line = 0; line < table.headings.size(); ++line) text += latex_heading_line(table, line);
  text += join(table.titles, " & ", [&](std::size_t at) { return latex_words(table.titles[at]); }) + " \\\\\n" + rule;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const auto cell = [&](std::size_t column) {
      const std::string& plain = table.rows[row][column];
      const std::string cell = table.is_number[column] ? latex_number(plain) : latex_words(plain);
      return table.emphasised.contains({row, column}) ? "\\textbf{" + latex_words(plain) + "}" : cell;
    };
    if (table.rules.contains(row)) text += rule;
    text += join(table.rows[row], " & ", cell) + " \\\\\n";
  }
  return text + rule + "\\end{tabular}\n";
}

std::string to_markdown(const TextTable& table) {
  const auto line = [](const std::vector<std::string>& row) {
    std::string text = "|";
    for (const std::string& cell : row) text += " " + replaced(cell, "|", "\\|") + (cell.empty() ? "|" : " |");
    return text + "\n";
  };
  std::vector<std::string> titles, rule;
  for (std::size_t column = 0; column < table.titles.size(); ++column) {
    titles.push_back(full_title(table, column));
    rule.emplace_back(column < table.is_number.size() && table.is_number[column] ? "---:" : "---");
  }
  std::string text = line(titles) + line(rule);
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string to_html(const TextTable& table) {
  std::string html = table.titles.empty() ? "<table>" : "<table><tr>";
  for (std::size_t column = 0; column < table.titles.size(); ++column)
    html +=
        (table.is_number[column] ? "<th class=\"number\">" : "<th>") + escape_html(full_title(table, column)) + "</th>";
  if (!table.titles.empty()) html += "</tr>";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    html += "<tr>";
    for (std::size_t column = 0; column < table.rows[row].size(); ++column) {
      const std::string cell = escape_html(table.rows[row][column]);
      html += (table.is_number[column] ? "<td class=\"number\">" : "<td>") +
              (table.emphasised.contains({row, column}) ? "<b>" + cell + "</b>" : cell) + "</td>";
    }
    html += "</tr>";
  }
  return html + "</table>";
}

}  // namespace drift
