#include <core/report/html_samples.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/html_tokens.h>

#include <nlohmann/json.hpp>

namespace drift {

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
            html_tokens(parsed, TokenRuns::kOnce) + "</div></div></article>\n";
  }
  return html + "</div>";
}

}  // namespace drift
