#include <core/report/html_replay.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>
#include <core/report/html_tokens.h>
#include <core/report/page_files.h>

#include <nlohmann/json.hpp>

namespace drift {
namespace {

/// What the reward said of a response, as far as it is there.
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

/// Prompt and response beside each other.
std::string article(const nlohmann::json& response, TokenRuns runs) {
  const ShownResponse parsed = parse_response(response);
  const bool replays = runs == TokenRuns::kEach;
  std::string html = replays ? "<article class=\"replay\">" : "<article>";
  if (const std::string name = response.value("name", std::string()); !name.empty())
    html += "<h3>" + escape_html(name) + "</h3>";
  if (response.contains("solved")) html += verdict(response);
  html += "<div class=\"pair\"><div><h4>prompt</h4><pre>" + escape_html(response.value("prompt", std::string())) +
          "</pre></div><div><h4>response</h4>" + html_tokens(parsed, runs) + "</div></div>";
  if (replays) {
    const std::string forwards = std::to_string(parsed.last_step + 1);
    html +=
        "<div class=\"controls\" hidden=\"hidden\"><button type=\"button\">▶ play</button>"
        "<input type=\"range\" min=\"0\" max=\"" +
        forwards + "\" value=\"" + forwards +
        "\" aria-label=\"forwards\"/><output></output></div><p class=\"detail\">Point at a token to see when it was "
        "committed, and how surely.</p>";
  }
  return html + "</article>\n";
}

std::string articles(const nlohmann::json& responses, TokenRuns runs) {
  std::string html =
      html_tokens_legend() + "<div class=\"samples" + (runs == TokenRuns::kEach ? " replays" : "") + "\">\n";
  for (const nlohmann::json& response : responses) html += article(response, runs);
  return html + "</div>\n";
}

}  // namespace

std::string html_samples(const nlohmann::json& samples) {
  return samples.empty() ? "" : articles(samples, TokenRuns::kOnce);
}

std::string html_replay(std::string_view title, std::string_view subtitle, const nlohmann::json& responses) {
  return html_page(title, subtitle, articles(responses, TokenRuns::kEach), kReplayStyle, kReplayScript);
}

}  // namespace drift
