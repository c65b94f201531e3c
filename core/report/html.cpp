#include <core/report/html.h>

#include <core/base/characters.h>
#include <core/report/page_files.h>

#include <algorithm>
#include <cstdint>

namespace drift {
namespace {

bool is_forbidden(std::int32_t c) { return c < 0 || c == 0x7F || (c < 0x20 && c != '\n' && c != '\t'); }

}  // namespace

std::string escape_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for_each_character(text, [&](std::int32_t c, std::string_view character) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += is_forbidden(c) ? std::string_view("\uFFFD") : character;
    }
  });
  return out;
}

std::string spoken_name(std::string_view key) {
  std::string name(key);
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string html_section(std::string_view title, std::string_view content, std::string_view around,
                         std::string_view note) {
  if (content.empty()) return {};
  std::string html = "<h2>" + escape_html(title);
  if (!note.empty()) html += " <small>" + escape_html(note) + "</small>";
  html += "</h2>\n<div";
  if (!around.empty()) html += " class=\"" + escape_html(around) + "\"";
  return html.append(">").append(content).append("</div>\n");
}

std::string html_page(std::string_view title, std::string_view subtitle, std::string_view body, std::string_view style,
                      std::string_view script) {
  const std::string name = escape_html(title);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\"><head><meta charset=\"utf-8\"/>"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>" +
      name + " · Drift</title><style>" + kReportStyle + kMarkStyle + std::string(style) +
      "</style></head>\n<body>\n<header><h1>" + name + "</h1><p class=\"lead\">" + escape_html(subtitle) +
      "</p></header>\n";
  return html.append(body) + "<footer>Written by Drift. Everything is in this one file.</footer>\n<script>" +
         std::string(script.empty() ? kReportScript : script) + "</script>\n</body></html>\n";
}

}  // namespace drift
