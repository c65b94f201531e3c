#include <core/text/chat.h>

#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace drift {
namespace {

// The white space that templates trim: Python's, as UTF-8.
constexpr std::string_view kSpaceTexts[] = {" ",
                                            "\t",
                                            "\n",
                                            "\v",
                                            "\f",
                                            "\r",
                                            "\x1C",
                                            "\x1D",
                                            "\x1E",
                                            "\x1F",
                                            "\xC2\x85",
                                            "\xC2\xA0",
                                            "\xE1\x9A\x80",
                                            "\xE2\x80\x80",
                                            "\xE2\x80\x81",
                                            "\xE2\x80\x82",
                                            "\xE2\x80\x83",
                                            "\xE2\x80\x84",
                                            "\xE2\x80\x85",
                                            "\xE2\x80\x86",
                                            "\xE2\x80\x87",
                                            "\xE2\x80\x88",
                                            "\xE2\x80\x89",
                                            "\xE2\x80\x8A",
                                            "\xE2\x80\xA8",
                                            "\xE2\x80\xA9",
                                            "\xE2\x80\xAF",
                                            "\xE2\x81\x9F",
                                            "\xE3\x80\x80"};

std::string_view trimmed(std::string_view text) {
  const auto strip = [&](const auto& starts_or_ends, const auto& remove) {
    for (;;) {
      const auto* space = std::find_if(std::begin(kSpaceTexts), std::end(kSpaceTexts), starts_or_ends);
      if (space == std::end(kSpaceTexts)) return;
      remove(space->size());
    }
  };
  strip([&](std::string_view space) { return text.starts_with(space); }, [&](std::size_t n) { text.remove_prefix(n); });
  strip([&](std::string_view space) { return text.ends_with(space); }, [&](std::size_t n) { text.remove_suffix(n); });
  return text;
}

std::string replaced(std::string_view text, std::string_view placeholder, std::string_view value) {
  std::string result;
  for (std::size_t found; (found = text.find(placeholder)) != std::string_view::npos;) {
    result.append(text.substr(0, found)).append(value);
    text.remove_prefix(found + placeholder.size());
  }
  return result.append(text);
}

}  // namespace

std::vector<ChatTurn> read_turns(const std::string& json, const std::string& whose) {
  std::vector<ChatTurn> turns;
  if (json.empty()) return turns;
  const std::string where = "the earlier turns of " + whose,
                    hint = R"(they are a list of {"role": "user", "content": "…"})";
  try {
    for (const auto& turn : parse_json(json, where, hint))
      turns.push_back({turn.at("role").get<std::string>(), turn.at("content").get<std::string>()});
  } catch (const nlohmann::json::exception& error) {
    throw Error(where + ": " + json_problem(error), hint);
  }
  return turns;
}

std::vector<PromptPart> chat_parts(const ChatFormat& format, const std::vector<ChatTurn>& turns,
                                   std::string_view reply_prefix) {
  std::vector<PromptPart> parts = {{format.opening}};
  const auto add = [&](const ChatTurn& turn) {
    parts.back().text += replaced(format.turn_begin, "{role}", turn.role);
    if (turn.is_plain) parts.push_back({{}, true});
    parts.back().text += format.trims_text ? trimmed(turn.text) : turn.text;
    if (turn.is_plain) parts.emplace_back();
    parts.back().text += format.turn_end;
  };
  const bool has_system = !turns.empty() && turns.front().role == "system";
  if (!has_system && !format.default_system.empty()) add({"system", format.default_system});
  for (const ChatTurn& turn : turns) add(turn);
  parts.back().text.append(format.reply_begin).append(reply_prefix);
  return parts;
}

std::string fill_instruction(std::string_view instruction, std::string_view question) {
  constexpr std::string_view place = "{question}";
  const auto has = [&](std::string_view braces) { return instruction.find(braces) != std::string_view::npos; };
  if (!has("{{") && !has("}}")) return replaced(instruction, place, question);
  std::string text;
  for (std::size_t i = 0; i < instruction.size(); ++i) {
    const std::string_view rest = instruction.substr(i);
    const bool is_brace = rest.starts_with("{{") || rest.starts_with("}}");
    if (rest.starts_with(place)) {
      text += question;
      i += place.size() - 1;
    } else if (is_brace || (rest[0] != '{' && rest[0] != '}')) {
      text += rest[0];
      i += is_brace;
    } else {
      throw Error("[prompt] instruction has single braces beside {{ or }}", "write {{ and }} for all of them");
    }
  }
  return text;
}

}  // namespace drift
