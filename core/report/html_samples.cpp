#include <core/report/html_samples.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <vector>

namespace drift {
namespace {

constexpr int kShades = 8;
constexpr double kUnsure = 0.9;             // below: underlined
constexpr double kVeryUnsure = 0.5;         // below: underlined twice
constexpr std::size_t kLongestFilmed = 64;  // tokens of a response that is shown forward by forward
constexpr int kMostFrames = 12;
constexpr std::size_t kLongestRun = 3;  // equal special tokens in a row; more are shown once

struct Token {
  std::string text;
  int step;  // -1: never committed
  double probability;
};

struct Sample {
  std::vector<Token> tokens;
  int last_step = 0;
};

Sample parse_tokens(const nlohmann::json& sample) {
  Sample parsed;
  const auto& steps = sample.at("commit_step");
  const auto probabilities = sample.find("commit_probability");
  for (std::size_t at = 0; at < sample.at("tokens").size(); ++at) {
    Token token{sample["tokens"][at].get<std::string>(), steps.at(at).get<int>(), 1};
    if (probabilities != sample.end() && probabilities->at(at).is_number())
      token.probability = probabilities->at(at).get<double>();
    parsed.last_step = std::max(parsed.last_step, token.step);
    parsed.tokens.push_back(std::move(token));
  }
  return parsed;
}

bool is_special(const std::string& text) { return text.size() > 2 && text.front() == '<' && text.back() == '>'; }

// "<|endoftext|>" -> "endoftext"
std::string special_name(const std::string& text) {
  const std::size_t begin = text.find_first_not_of("<|"), end = text.find_last_not_of(">|");
  return begin == std::string::npos || end < begin ? text : text.substr(begin, end - begin + 1);
}

std::string shade(int step, int last_step) {
  return "k" + std::to_string(last_step == 0 ? 0 : (step * (kShades - 1) + last_step / 2) / last_step);
}

std::string with_line_breaks(const std::string& escaped) {
  std::string html;
  for (const char c : escaped) {
    if (c == '\n')
      html += "↵<br/>";
    else
      html += c;
  }
  return html;
}

std::string tile(const Token& token, int last_step, std::size_t repeated) {
  const bool committed = token.step >= 0;
  std::string classes = committed ? "t " + shade(token.step, last_step) : "t never";
  if (committed && token.probability < kUnsure) classes += token.probability < kVeryUnsure ? " unsure very" : " unsure";
  const std::string title =
      committed ? "step " + std::to_string(token.step + 1) + ", probability " + format_decimal(token.probability, 3)
                : std::string("never committed");
  std::string body, breaks;
  if (is_special(token.text)) {
    classes += " special";
    body = escape_html(special_name(token.text)) + (repeated > 1 ? " ×" + std::to_string(repeated) : "");
  } else {
    // Line breaks within the token break the tile; those at its end come after the tile and its number.
    const std::size_t end = token.text.find_last_not_of('\n') + 1;
    body = with_line_breaks(escape_html(token.text.substr(0, end)));
    for (std::size_t at = end; at < token.text.size(); ++at) body += "↵", breaks += "<br/>";
  }
  if (committed) body += "<sub>" + std::to_string(token.step + 1) + "</sub>";
  return "<span class=\"" + classes + "\" title=\"" + escape_html(title) + "\">" + body + "</span>" + breaks;
}

std::string laid_out(const Sample& sample) {
  std::string html = "<div class=\"tokens\">";
  for (std::size_t at = 0; at < sample.tokens.size();) {
    const Token& token = sample.tokens[at];
    std::size_t end = at + 1;
    while (is_special(token.text) && end < sample.tokens.size() && sample.tokens[end].text == token.text) ++end;
    const std::size_t run = end - at > kLongestRun ? end - at : 1;
    html += tile(token, sample.last_step, run);
    at += run;
  }
  return html + "</div>";
}

// The response after each forward: committed tokens are highlighted, masked ones are dots.
std::string film(const Sample& sample) {
  if (sample.tokens.size() > kLongestFilmed || sample.last_step == 0 || sample.last_step >= kMostFrames) return {};
  std::string html = "<h4>after each forward</h4><div class=\"film\">";
  for (int step = 0; step <= sample.last_step; ++step) {
    html += "<figure><pre>";
    for (const Token& token : sample.tokens) {
      const bool committed = token.step >= 0 && token.step <= step;
      if (is_special(token.text)) continue;
      if (token.text == "\n") {
        html += "\n";  // the lines keep their places from the start
      } else if (!committed) {
        html += "·";
      } else {
        const std::string text = escape_html(token.text);
        html += token.step == step ? "<b>" + text + "</b>" : text;
      }
    }
    html += "</pre><figcaption>" + std::to_string(step + 1) + "</figcaption></figure>";
  }
  return html + "</div>";
}

std::string verdict(const nlohmann::json& sample) {
  const bool solved = sample.value("solved", false);
  std::string html =
      std::string("<h3><span class=\"verdict ") + (solved ? "solved\">✓ solved" : "failed\">✗ failed") + "</span>";
  if (const auto reward = sample.find("reward"); reward != sample.end() && reward->is_number()) {
    html += " <span>reward " + format_decimal(reward->get<double>(), 2) + "</span>";
  }
  if (sample.contains("step")) html += " <span>after step " + escape_html(json_text(sample["step"])) + "</span>";
  if (const std::string reason = sample.value("reason", std::string()); !reason.empty())
    html += " <span>" + escape_html(reason) + "</span>";
  return html + "</h3>";
}

std::string legend() {
  std::string html = "<p class=\"legend\"><span>committed early ";
  for (int number = 0; number < kShades; ++number) html += "<i class=\"k" + std::to_string(number) + "\"></i>";
  html +=
      " late; the small number is the forward</span><span><u class=\"unsure\">underlined</u>: at less than 90 % "
      "probability</span>"
      "<span><u class=\"unsure very\">twice</u>: less than 50 %</span><span>↵ line break</span></p>";
  return html;
}

}  // namespace

std::string html_samples(const nlohmann::json& samples) {
  if (samples.empty()) return {};
  std::string html = legend() + "<div class=\"samples\">";
  for (const nlohmann::json& sample : samples) {
    const Sample parsed = parse_tokens(sample);
    html += "<article>" + verdict(sample) + "<div class=\"pair\"><div><h4>prompt</h4><pre>" +
            escape_html(sample.value("prompt", std::string())) + "</pre></div><div><h4>response</h4>" +
            laid_out(parsed) + "</div></div>" + film(parsed) + "</article>\n";
  }
  return html + "</div>";
}

}  // namespace drift
