#include <core/lab/claims/claims_page.h>

#include <core/io/json.h>
#include <core/report/format.h>
#include <core/report/html.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

using Json = nlohmann::ordered_json;

std::string with_error(const Estimate& value) {
  if (value.count == 0) return "-";
  return format_adaptive(value.mean) + (std::isnan(value.error) ? "" : " ± " + format_adaptive(value.error));
}

std::vector<const PublishedNumber*> published_of(const Claim& claim, const std::string& setting,
                                                 const std::string& quantity) {
  std::vector<const PublishedNumber*> found;
  for (const PublishedNumber& one : claim.published) {
    if (one.setting == setting && one.quantity == quantity) found.push_back(&one);
  }
  return found;
}

std::string published_text(const std::vector<const PublishedNumber*>& numbers) {
  std::string text;
  for (const PublishedNumber* one : numbers)
    text += (text.empty() ? "" : "; ") + print_text("%g", one->value) + (one->of.empty() ? "" : " (" + one->of + ")");
  return text;
}

/// Bars of the measured and the published numbers, in one unit.
std::string bars(const ClaimResult& result, const std::string& quantity) {
  struct Bar {
    std::string name, shown;
    double value;
    bool published;
  };
  std::vector<Bar> all;
  for (const MeasuredQuantity& one : result.measured) {
    if (one.quantity != quantity) continue;
    const Estimate value = estimate(one.values);
    all.push_back({one.setting.empty() ? "measured" : one.setting, with_error(value), value.mean, false});
    for (const PublishedNumber* number : published_of(result.claim, one.setting, quantity))
      all.push_back({"published" + (number->of.empty() ? "" : ", " + number->of), print_text("%g", number->value),
                     number->value, true});
  }
  double longest = 0;
  for (const Bar& bar : all) longest = std::fmax(longest, std::abs(bar.value));
  std::string html = "<table>";
  for (const Bar& bar : all) {
    const double width = longest > 0 && std::isfinite(bar.value) ? 100 * std::abs(bar.value) / longest : 0;
    html += std::string("<tr") + (bar.published ? " class=\"published\"" : "") + "><td>" + escape_html(bar.name) +
            "</td><td class=\"number\">" + escape_html(bar.shown) +
            "</td><td class=\"bar\"><i style=\"width:" + print_text("%.1f", width) + "%\"></i></td></tr>";
  }
  return html + "</table>";
}

/// A line where the settings have a place on an axis.
std::string line_chart(const ClaimResult& result, const std::string& quantity) {
  std::vector<std::pair<double, Estimate>> points;
  for (const ClaimSetting& setting : result.claim.settings) {
    const MeasuredQuantity* const measured = result.find(setting.name, quantity);
    if (setting.x && measured != nullptr) points.emplace_back(*setting.x, estimate(measured->values));
  }
  if (points.size() < 2) return {};
  std::ranges::sort(points, {}, [](const auto& point) { return point.first; });
  Chart chart{.title = spoken_name(quantity), .note = "band: standard error", .x_name = "setting", .points = true};
  Series series{.name = quantity};
  for (const auto& [x, value] : points) {
    chart.x.push_back(x);
    series.y.push_back(value.mean);
    series.low.push_back(value.mean - value.error), series.high.push_back(value.mean + value.error);
  }
  chart.series.push_back(std::move(series));
  return svg_chart(chart);
}

std::string claim_html(const ClaimResult& result, const QuantityDoc& doc) {
  const Claim& claim = result.claim;
  std::string html =
      "<p>" + escape_html(claim.statement) + " <span class=\"lead\">" + escape_html(claim.source) + ".</span></p>";
  if (!claim.note.empty()) html += "<p class=\"lead\">" + escape_html(claim.note) + "</p>";
  if (!result.reason.empty()) html += "<p>" + escape_html(result.reason) + "</p>";
  html += "<div class=\"charts\">";
  for (const std::string& quantity : claim.quantities) {
    if (!result.has(quantity)) continue;
    html += "<figure><figcaption><b>" + escape_html(spoken_name(quantity)) + "</b> <small>" +
            escape_html(doc(claim.measure, quantity)) + "</small></figcaption>" + bars(result, quantity) + "</figure>" +
            line_chart(result, quantity);
  }
  for (const Chart& chart : result.charts) html += svg_chart(chart);
  html += "</div>";
  if (!result.table.rows.empty()) html += "<h3>Tokens of the highest entropy</h3>" + to_html(result.table);
  return html_section(claim.title, html, "claim wide", verdict_name(result.verdict()));
}

// The text has null for what is not finite.
Json estimate_json(const Estimate& value) {
  return {{"mean", value.mean}, {"standard_error", value.error}, {"count", value.count}};
}

Json claim_json(const ClaimResult& result) {
  const Claim& claim = result.claim;
  Json json = {{"name", claim.name},
               {"title", claim.title},
               {"statement", claim.statement},
               {"source", claim.source},
               {"verdict", verdict_name(result.verdict())},
               {"reason", result.reason}};
  json["expected"] = Json::array();
  for (const JudgedExpectation& one : result.judged) {
    json["expected"].push_back({{"text", one.expectation.text()},
                                {"verdict", verdict_name(one.verdict)},
                                {"margin", estimate_json(one.margin)},
                                {"p", one.p},
                                {"p_holm", one.corrected_p}});
  }
  json["measured"] = Json::array();
  for (const MeasuredQuantity& one : result.measured) {
    Json measured = {{"setting", one.setting}, {"quantity", one.quantity}};
    measured.update(estimate_json(estimate(one.values)));
    measured["values"] = one.values;
    json["measured"].push_back(std::move(measured));
  }
  json["published"] = Json::array();
  for (const PublishedNumber& one : claim.published)
    json["published"].push_back(
        {{"setting", one.setting}, {"quantity", one.quantity}, {"of", one.of}, {"value", one.value}});
  json["tokens"] = Json::array();
  for (const auto& row : result.table.rows) json["tokens"].push_back(row);
  return json;
}

constexpr const char* kClaimsStyle =
    ".claim .bar i { min-width: 1px; } .published td { color: var(--soft); } "
    ".published .bar i { background: var(--s5); } .claim figcaption { flex-wrap: wrap; } "
    ".claim table { margin: 0.4rem 0; }";

}  // namespace

TextTable claims_table(const ClaimsReport& report) {
  TextTable table{{"claim", "verdict", "expected", "margin", "p (Holm)"}, {false, false, false, true, true}, {}};
  for (const ClaimResult& result : report.results) {
    if (result.judged.empty()) table.rows.push_back({result.claim.name, verdict_name(result.verdict()), "", "", ""});
    bool first = true;
    for (const JudgedExpectation& one : result.judged) {
      table.rows.push_back({first ? result.claim.name : "", verdict_name(one.verdict), one.expectation.text(),
                            with_error(one.margin), format_p(one.corrected_p)});
      first = false;
    }
  }
  return table;
}

TextTable numbers_table(const ClaimResult& result, const std::string& quantity) {
  TextTable table{{quantity, "measured", "published"}, {false, true, false}, {}};
  for (const MeasuredQuantity& one : result.measured) {
    if (one.quantity != quantity) continue;
    table.rows.push_back({one.setting, with_error(estimate(one.values)),
                          published_text(published_of(result.claim, one.setting, quantity))});
  }
  return table;
}

std::string claims_html(const ClaimsReport& report, const QuantityDoc& doc) {
  std::string facts = "<dl>";
  for (const auto& [name, value] : report.facts)
    facts += "<div><dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd></div>";
  std::string body =
      html_section("Measured on", facts + "</dl>") +
      html_section("Verdicts", to_html(claims_table(report)), "wide", sentence_of_verdicts(report.results));
  for (const ClaimResult& result : report.results) body += claim_html(result, doc);
  return html_page("Claims: " + report.paper, report.checkpoint, body, kClaimsStyle);
}

std::string claims_json(const ClaimsReport& report) {
  Json json = {{"paper", report.paper}, {"checkpoint", report.checkpoint}};
  for (const auto& [name, value] : report.facts) json["facts"][name] = value;
  json["level"] = kClaimLevel;
  json["claims"] = Json::array();
  for (const ClaimResult& result : report.results) json["claims"].push_back(claim_json(result));
  return json_text(json, 1) + "\n";
}

}  // namespace drift
