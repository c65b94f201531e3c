#include <core/report/html_samples.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/html_tokens.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

constexpr std::size_t kLongestFilmed = 64;  // tokens of a response that is shown forward by forward
constexpr int kMostFrames = 12;

// The response after each forward: committed tokens are highlighted, masked ones are dots.
std::string film(const ShownResponse& sample) {
  if (sample.tokens.size() > kLongestFilmed || sample.last_step == 0 || sample.last_step >= kMostFrames) return {};
  std::string html = "<h4>after each forward</h4><div class=\"film\">";
  for (int step = 0; step <= sample.last_step; ++step) {
    html += "<figure><pre>";
    for (const ShownToken& token : sample.tokens) {
      const bool committed = token.step >= 0 && token.step <= step;
      if (is_special_token(token.text)) continue;
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

}  // namespace

std::string html_verdict(const nlohmann::json& sample) {
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

std::string html_samples(const nlohmann::json& samples) {
  if (samples.empty()) return {};
  std::string html = html_tokens_legend() + "<div class=\"samples\">";
  for (const nlohmann::json& sample : samples) {
    const ShownResponse parsed = parse_response(sample);
    html += "<article>" + html_verdict(sample) + "<div class=\"pair\"><div><h4>prompt</h4><pre>" +
            escape_html(sample.value("prompt", std::string())) + "</pre></div><div><h4>response</h4>" +
            html_tokens(parsed, TokenRuns::kOnce) + "</div></div>" + film(parsed) + "</article>\n";
  }
  return html + "</div>";
}

}  // namespace drift
