#include <core/report/format.h>
#include <core/report/html.h>
#include <core/sweep/sweep_table.h>

#include <algorithm>
#include <functional>

namespace drift {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string padded(const std::string& text, std::size_t width, bool to_the_right) {
  const std::string space(width - std::min(width, static_cast<std::size_t>(display_width(text))), ' ');
  return to_the_right ? space + text : text + space;
}

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
  const bool in_words = text.empty() || text.find_first_not_of("+-.0123456789 ±") != std::string::npos;
  const std::string cell = latex_cell(text);
  return in_words ? replaced(cell, " ± ", " $\\pm$ ") : "$" + replaced(cell, "±", "\\pm") + "$";
}

}  // namespace

std::string to_text(const TextTable& table, bool unicode) {
  const auto shown = [&](const std::string& text) { return unicode ? text : replaced(text, "±", "+-"); };
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < table.titles.size(); ++column) {
    auto width = static_cast<std::size_t>(display_width(shown(table.titles[column])));
    for (const auto& row : table.rows)
      width = std::max(width, static_cast<std::size_t>(display_width(shown(row[column]))));
    widths.push_back(width);
  }
  const auto line = [&](const std::vector<std::string>& row) {
    std::string text = join(row, "  ", [&](std::size_t column) {
      return padded(shown(row[column]), widths[column], table.is_number[column]);
    });
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line(table.titles);
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string to_csv(const TextTable& table) {
  const auto line = [](const std::vector<std::string>& row) {
    return join(row, ",", [&](std::size_t column) { return csv_cell(row[column]); }) + "\n";
  };
  std::string text = line(table.titles);
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string to_latex(const TextTable& table) {
  std::string text = "\\begin{tabular}{";
  for (const bool is_number : table.is_number) text += is_number ? 'r' : 'l';
  text += "}\n\\hline\n" + join(table.titles, " & ", [&](std::size_t at) { return latex_cell(table.titles[at]); }) +
          " \\\\\n\\hline\n";
  for (const auto& row : table.rows) {
    text += join(row, " & ",
                 [&](std::size_t column) {
                   return table.is_number[column] ? latex_number(row[column]) : latex_cell(row[column]);
                 }) +
            " \\\\\n";
  }
  return text + "\\hline\n\\end{tabular}\n";
}

std::string to_markdown(const TextTable& table) {
  const auto line = [](const std::vector<std::string>& row) {
    return "| " + join(row, " | ", [&](std::size_t column) { return replaced(row[column], "|", "\\|"); }) + " |\n";
  };
  std::string text = line(table.titles) + "|";
  for (const bool is_number : table.is_number) text += is_number ? "---:|" : "---|";
  text += "\n";
  for (const auto& row : table.rows) text += line(row);
  return text;
}

std::string to_html(const TextTable& table) {
  std::string html = "<table><tr>";
  for (std::size_t column = 0; column < table.titles.size(); ++column)
    html += (table.is_number[column] ? "<th class=\"number\">" : "<th>") + escape_html(table.titles[column]) + "</th>";
  html += "</tr>";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t column = 0; column < row.size(); ++column)
      html += (table.is_number[column] ? "<td class=\"number\">" : "<td>") + escape_html(row[column]) + "</td>";
    html += "</tr>";
  }
  return html + "</table>";
}

}  // namespace drift
