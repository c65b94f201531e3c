#include <core/config/diagnostic.h>

#include <core/base/limits.h>
#include <core/base/quote.h>

#include <unicode/utf8.h>

#include <algorithm>
#include <string_view>

namespace drift {
namespace {

constexpr const char* kRed = "\033[1;31m";
constexpr const char* kBlue = "\033[1;34m";
constexpr const char* kBold = "\033[1m";

/// What goes before the caret: as wide as `line` up to `column`, tabs kept so that the caret is below its text.
std::string indent(std::string_view line, std::uint32_t column) {
  std::string out;
  std::uint32_t at = 1;
  for (std::size_t i = 0; i < line.size() && at < column; ++i) {
    if (U8_IS_TRAIL(line[i])) continue;  // inside a UTF-8 character
    out += line[i] == '\t' ? '\t' : ' ';
    ++at;
  }
  return out;
}

Diagnostic printable(Diagnostic diagnostic) {
  for (std::string* text : {&diagnostic.message, &diagnostic.file, &diagnostic.source_line, &diagnostic.label})
    *text = drift::printable(without_long_lines(*text));
  for (std::string& note : diagnostic.notes) note = drift::printable(without_long_lines(note));
  return diagnostic;
}

std::string join_texts(const std::vector<Diagnostic>& diagnostics, bool colour) {
  std::string text;
  for (std::size_t i = 0; i < std::min(diagnostics.size(), kMostMistakes); ++i) {
    if (!text.empty()) text += '\n';
    text += render(diagnostics[i], colour);
  }
  if (diagnostics.size() > kMostMistakes)
    text += "\nand " + std::to_string(diagnostics.size() - kMostMistakes) + " more mistakes\n";
  return text;
}

}  // namespace

std::string render(const Diagnostic& written, bool colour) {
  const Diagnostic diagnostic = printable(written);
  const auto paint = [&](const char* code, const std::string& text) { return colour ? code + text + "\033[0m" : text; };
  const std::string number = std::to_string(diagnostic.span.line);
  const std::size_t width = std::max<std::size_t>(2, number.size());
  const std::string margin(width, ' ');
  const std::string caret(std::clamp<std::size_t>(diagnostic.span.length, 1, kLongestShownLine), '^');
  const std::string label = diagnostic.label.empty() ? "" : " " + diagnostic.label;

  std::string out = paint(kRed, "error") + ": " + paint(kBold, diagnostic.message) + "\n";
  if (diagnostic.span.line > 0) {
    const std::string where = diagnostic.file + ":" + number + ":" + std::to_string(diagnostic.span.column);
    out += margin + paint(kBlue, "-->") + " " + where + "\n";
    if (diagnostic.source_line.size() <= kLongestShownLine) {
      out += margin + paint(kBlue, " |") + "\n";
      out +=
          paint(kBlue, std::string(width - number.size(), ' ') + number + " |") + " " + diagnostic.source_line + "\n";
      out += margin + paint(kBlue, " |") + " " + indent(diagnostic.source_line, diagnostic.span.column) +
             paint(kRed, caret + label) + "\n";
    } else if (!diagnostic.label.empty()) {
      out += margin + paint(kBlue, " =") + " " + diagnostic.label + "\n";
    }
  } else if (!diagnostic.file.empty()) {
    out += margin + paint(kBlue, "-->") + " " + diagnostic.file + "\n";
    if (diagnostic.span.column > 0) {
      out += margin + "    " + indent(diagnostic.file, diagnostic.span.column) + paint(kRed, caret + label) + "\n";
    } else if (!diagnostic.label.empty()) {
      out += margin + paint(kBlue, " =") + " " + diagnostic.label + "\n";
    }
  }
  for (const std::string& note : diagnostic.notes) out += margin + paint(kBlue, " =") + " " + note + "\n";
  return out;
}

ConfigError::ConfigError(std::vector<Diagnostic> diagnostics)
    : Error(join_texts(diagnostics, false)), diagnostics_(std::move(diagnostics)) {}

std::string ConfigError::text(bool colour) const { return join_texts(diagnostics_, colour); }

}  // namespace drift
