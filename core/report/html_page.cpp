#include <core/report/html_page.h>

#include <core/report/html.h>
#include <core/report/page_files.h>

namespace drift {

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
