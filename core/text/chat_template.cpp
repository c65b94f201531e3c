#include <core/text/chat_template.h>

#include <core/io/file_error.h>
#include <core/io/json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <vector>

namespace drift {
namespace {

std::string template_of(const std::filesystem::path& folder) {
  if (const auto file = folder / "chat_template.jinja"; is_there(file)) return read_json_text(file);
  const auto file = folder / "tokenizer_config.json";
  if (!is_there(file)) return {};
  const auto json = read_json_object(file);
  const auto found = json.find("chat_template");
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// `<|im_start|>`, `</role>`: what stands in angle brackets, without blanks.
std::vector<std::string> marks_in(const std::string& text) {
  std::vector<std::string> marks;
  for (std::size_t begin = 0; (begin = text.find('<', begin)) != text.npos;) {
    const std::size_t end = text.find('>', begin);
    if (end == text.npos) break;
    const std::string mark = text.substr(begin, end + 1 - begin);
    const bool has_blanks = std::ranges::any_of(mark, [](unsigned char c) { return std::isspace(c) != 0; });
    if (!has_blanks) marks.push_back(mark);
    begin = has_blanks ? begin + 1 : end + 1;
  }
  return marks;
}

}  // namespace

std::string foreign_template(const std::filesystem::path& folder, const ChatFormat& format) {
  const std::string text = template_of(folder);
  if (text.empty()) return {};
  const auto has = [&](const std::string& words) { return text.find(words) != text.npos; };
  for (const std::string* part : {&format.turn_begin, &format.turn_end, &format.reply_begin}) {
    for (const std::string& mark : marks_in(*part)) {
      // Templates write the opening as a variable.
      if (!has(mark) && format.opening.find(mark) == format.opening.npos) return "it has no `" + mark + "`";
    }
  }
  if (!has(format.default_system)) return "it has no `" + format.default_system + "`";
  if (has("</think>") != (format.drops_thinking != 0))
    return has("</think>") ? "it takes thinking out of earlier replies" : "it leaves thinking in earlier replies";
  return {};
}

}  // namespace drift
