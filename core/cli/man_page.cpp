#include <core/base/quote.h>
#include <core/cli/man_page.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace drift {
namespace {

/// Text as roff reads it: nothing in it is a request, and a dash is one that can be copied.
std::string roff(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0xC0) {  // UTF-8, which roff wants by its number
      const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
      unsigned point = byte & (0xFFU >> (length + 1));
      for (std::size_t i = 1; i < length && at + i < text.size(); ++i)
        point = point << 6U | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
      char name[16];
      std::snprintf(name, sizeof name, "\\[u%04X]", point);
      out += name;
      at += length;
      continue;
    }
    const bool begins_line = out.empty() || out.back() == '\n';
    switch (text[at]) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      case '\'': out += "\\(aq"; break;
      case '"': out += "\\(dq"; break;
      case '.': out += begins_line ? "\\&." : "."; break;
      default: out += text[at];
    }
    ++at;
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string heading(const std::string& command, const std::string& date) {
  std::string title = command;
  std::ranges::transform(title, title.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return ".TH " + roff(title) + " 1 " + date + " \"drift " DRIFT_VERSION "\" \"Drift\"\n.nh\n";
}

/// Lines that run on until one begins with an option or with spaces, which is shown as it is.
std::string paragraphs(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  bool as_it_is = false, begun = false;
  for (std::string line; std::getline(lines, line);) {
    const bool indented = line.starts_with("  ");
    if (indented != as_it_is) out += indented ? ".PP\n.nf\n" : ".fi\n";
    const bool new_paragraph = line.empty() || line.starts_with("--") || (as_it_is && !indented);
    if (new_paragraph && begun && !indented) out += ".PP\n";
    as_it_is = indented;
    if (line.empty()) continue;
    out += roff(line) + "\n";
    begun = true;
  }
  return out + (as_it_is ? ".fi\n" : "");
}

std::string option_text(const Option& option) {
  std::ostringstream text;
  text << ".TP\n" << bold("--" + option.name);
  if (!option.value.empty()) text << (option.value_is_optional ? " [" : " ") << italic(option.value);
  text << (option.value_is_optional ? "]\n" : "\n");
  text << roff(doc_of(option)) << "\n";
  return text.str();
}

std::string options_text(const Command& command) {
  std::string own, settings;
  for (const Option& option : command.options.options()) (option.is_setting ? settings : own) += option_text(option);
  own += ".TP\n" + bold("--help") + "\nprint a summary of this page\n";
  return ".SH OPTIONS\n" + own + (settings.empty() ? "" : ".SS Changes to the TOML file\n" + settings);
}

std::string exit_status() {
  return ".SH EXIT STATUS\n0; 1 if something went wrong; 2 if the command line or the configuration is wrong; 128 + "
         "the "
         "signal\\(aqs number for a run that a signal stopped.\n";
}

std::string example_text(const std::string& example) {
  std::string text = ".SH EXAMPLES\n.nf\n";
  std::istringstream lines(example);
  for (std::string line; std::getline(lines, line);) text += roff("drift " + line) + "\n";
  return text + ".fi\n";
}

/// The other commands with the same first word, and the overview.
std::string see_also(const Command& command) {
  std::string text = ".SH SEE ALSO\n" + bold("drift") + "(1)";
  const std::string first = command.name.substr(0, command.name.find(' '));
  for (const Command& other : all_commands()) {
    if (other.name != command.name && (other.name == first || other.name.starts_with(first + " ")))
      text += ", " + bold(man_page_name(other)) + "(1)";
  }
  return text + "\n";
}

}  // namespace

std::string man_page_name(const Command& command) { return "drift-" + replaced(command.name, " ", "-"); }

std::string man_page(const Command& command, const std::string& date) {
  const std::string name = man_page_name(command);
  std::string synopsis = bold("drift " + command.name);
  for (const Argument& argument : command.options.argument_list())
    synopsis += argument.required ? " " + italic(argument.name) : " [" + italic(argument.name) + "]";
  return heading(name, date) + ".SH NAME\n" + roff(name) + " \\- " + roff(command.summary) + "\n.SH SYNOPSIS\n" +
         synopsis + " [options]\n.SH DESCRIPTION\n" + paragraphs(command.help) + options_text(command) + exit_status() +
         example_text(command.example) + see_also(command);
}

std::string man_overview(const std::string& date) {
  std::string commands, pages;
  for (const Command& command : all_commands()) {
    commands += ".TP\n" + bold(man_page_name(command)) + "(1)\n" + roff(command.summary) + "\n";
    pages += (pages.empty() ? "" : ", ") + bold(man_page_name(command)) + "(1)";
  }
  return heading("drift", date) +
         ".SH NAME\ndrift \\- reinforcement learning for masked diffusion language models\n.SH SYNOPSIS\n" +
         bold("drift") + " " + italic("COMMAND") + " [options]\n.br\n" + bold("drift help") + " " +
         italic("COMMAND|KEY|METRIC|NAME") +
         "\n.SH DESCRIPTION\nEach command has a page of its own. What a key of a run\\(aqs file, a metric, an "
         "algorithm, "
         "a component or a plugin is, drift help says.\n.SH COMMANDS\n" +
         commands + exit_status() + example_text("train configs/quickstart.toml") + ".SH SEE ALSO\n" + pages + "\n";
}

}  // namespace drift
