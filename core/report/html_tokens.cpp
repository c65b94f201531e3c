#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/html_tokens.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace drift {
namespace {

constexpr int kShades = 8;
constexpr double kUnsure = 0.9;         // below: underlined
constexpr double kVeryUnsure = 0.5;     // below: underlined twice
constexpr std::size_t kLongestRun = 3;  // equal special tokens in a row; more are shown once

// "<|endoftext|>" -> "endoftext"
std::string special_name(const std::string& text) {
  const std::size_t begin = text.find_first_not_of("<|"), end = text.find_last_not_of(">|");
  return begin == std::string::npos || end < begin ? text : text.substr(begin, end - begin + 1);
}

std::string shade(int step, int last_step) {
  return "k" + std::to_string(last_step == 0 ? 0 : (step * (kShades - 1) + last_step / 2) / last_step);
}

/// Line breaks as arrows, each followed by `behind`.
std::string with_arrows(const std::string& text, const std::string& behind) {
  std::string shown;
  for (const char c : text) {
    if (c == '\n')
      shown += "↵" + behind;
    else
      shown += c;
  }
  return shown;
}

/// "step 3, probability 0.812; next: “4” 0.101, “7” 0.020"
std::string title_of(const ShownToken& token) {
  if (token.step < 0) return "never committed";
  std::string title =
      "step " + std::to_string(token.step + 1) + ", probability " + format_decimal(token.probability, 3);
  for (const RunnerUp& next : token.runners_up) {
    title += (&next == &token.runners_up.front() ? "; runners-up: “" : ", “") + with_arrows(next.text, "") + "” " +
             format_decimal(next.probability, 3);
  }
  return title;
}

std::string tile(const ShownToken& token, int last_step, std::size_t repeated, TokenRuns runs) {
  const bool committed = token.step >= 0;
  std::string classes = committed ? "t " + shade(token.step, last_step) : "t never";
  if (committed && token.probability < kUnsure) classes += token.probability < kVeryUnsure ? " unsure very" : " unsure";
  std::string body, breaks;
  if (is_special_token(token.text)) {
    classes += " special";
    body = escape_html(special_name(token.text)) + (repeated > 1 ? " ×" + std::to_string(repeated) : "");
  } else {
    // Line breaks within the token break the tile; those at its end come after the tile and its number.
    const std::size_t end = token.text.find_last_not_of('\n') + 1;
    body = with_arrows(escape_html(token.text.substr(0, end)), "<br/>");
    for (std::size_t at = end; at < token.text.size(); ++at) body += "↵", breaks += "<br/>";
  }
  if (committed) body += "<sub>" + std::to_string(token.step + 1) + "</sub>";
  return "<span class=\"" + classes + "\"" +
         (runs == TokenRuns::kEach ? " data-step=\"" + std::to_string(token.step) + "\"" : "") + " title=\"" +
         escape_html(title_of(token)) + "\">" + body + "</span>" + breaks;
}

}  // namespace

ShownResponse parse_response(const nlohmann::json& sample) {
  ShownResponse parsed;
  const auto& steps = sample.at("commit_step");
  const auto probabilities = sample.find("commit_probability"), runners_up = sample.find("runners_up");
  for (std::size_t at = 0; at < sample.at("tokens").size(); ++at) {
    ShownToken token{sample["tokens"][at].get<std::string>(), steps.at(at).get<int>(), 1};
    if (probabilities != sample.end() && probabilities->at(at).is_number())
      token.probability = probabilities->at(at).get<double>();
    if (runners_up != sample.end()) {
      for (const auto& next : runners_up->at(at))
        token.runners_up.push_back({next.at("token").get<std::string>(), next.at("probability").get<double>()});
    }
    parsed.last_step = std::max(parsed.last_step, token.step);
    parsed.tokens.push_back(std::move(token));
  }
  return parsed;
}

bool is_special_token(const std::string& text) { return text.size() > 2 && text.front() == '<' && text.back() == '>'; }

std::string html_tokens(const ShownResponse& response, TokenRuns runs) {
  const auto& tokens = response.tokens;
  std::string html = "<div class=\"tokens\">";
  for (std::size_t at = 0; at < tokens.size();) {
    std::size_t end = at + 1;
    while (is_special_token(tokens[at].text) && end < tokens.size() && tokens[end].text == tokens[at].text) ++end;
    const std::size_t run = runs == TokenRuns::kOnce && end - at > kLongestRun ? end - at : 1;
    html += (at > 0 ? "<wbr/>" : "") + tile(tokens[at], response.last_step, run, runs);  // lines break between tiles
    at += run;
  }
  return html + "</div>";
}

std::string html_tokens_legend() {
  std::string html = "<p class=\"legend\"><span>committed early ";
  for (int number = 0; number < kShades; ++number) html += "<i class=\"k" + std::to_string(number) + "\"></i>";
  html +=
      " late; the small number is the forward</span><span><u class=\"unsure\">underlined</u>: at less than 90 % "
      "probability</span>"
      "<span><u class=\"unsure very\">twice</u>: less than 50 %</span><span>↵ line break</span></p>";
  return html;
}

}  // namespace drift
