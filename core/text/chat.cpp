#include <core/text/chat.h>

#include <core/base/quote.h>
#include <core/io/json.h>
#include <core/text/utf8.h>

#include <drift/error.h>

#include <unicode/uchar.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

namespace drift {
namespace {

// The white space that templates trim: Python's.
bool is_python_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)) != 0 || (c >= 0x1C && c <= 0x1F); }

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(length_at_begin(text, is_python_space));
  text.remove_suffix(length_at_end(text, is_python_space));
  return text;
}

/// What the format calls a role.
std::string role_name(const ChatFormat& format, const std::string& role) {
  std::istringstream names(format.roles);
  for (const char* ours : {"system", "user", "assistant"}) {
    std::string name;
    if (std::getline(names, name, ',') && role == ours) return name;
  }
  return role;
}

/// An earlier reply without the thinking that it began with.
std::string_view answer_of(std::string_view reply) {
  constexpr std::string_view kEnd = "</think>";
  const auto end = reply.rfind(kEnd);
  if (end == reply.npos) return reply;
  reply.remove_prefix(end + kEnd.size());
  reply.remove_prefix(std::min(reply.find_first_not_of('\n'), reply.size()));
  return reply;
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
                                   std::string_view reply_prefix, bool may_think) {
  std::vector<PromptPart> parts = {{format.opening}};
  const auto add = [&](const ChatTurn& turn, const std::string& suffix) {
    std::string_view text = turn.text;
    if (format.drops_thinking != 0 && turn.role == "assistant") text = answer_of(text);
    parts.back().text += replaced(format.turn_begin, "{role}", role_name(format, turn.role));
    if (turn.is_plain) parts.push_back({{}, true});
    parts.back().text += format.trims_text ? trimmed(text) : text;
    if (turn.is_plain) parts.emplace_back();
    parts.back().text.append(suffix).append(format.turn_end);
  };
  const bool has_system = !turns.empty() && turns.front().role == "system";
  if (!has_system && !format.default_system.empty()) add({"system", format.default_system}, {});
  for (const ChatTurn& turn : turns) add(turn, turn.role == "system" ? format.system_suffix : std::string());
  parts.back().text.append(format.reply_begin).append(may_think ? "" : format.no_thinking).append(reply_prefix);
  return parts;
}

std::string fill_instruction(std::string_view instruction, std::string_view question) {
  constexpr std::string_view place = "{question}";
  const auto has = [&](std::string_view braces) { return instruction.find(braces) != std::string_view::npos; };
  if (!has("{{") && !has("}}")) return replaced(std::string(instruction), place, question);
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
