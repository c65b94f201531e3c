#pragma once

// Texts in a page, and the page around them.

#include <string>
#include <string_view>

namespace drift {

/// Text for element content and attribute values of a page that is both HTML and XML. Bytes that XML forbids become
/// U+FFFD.
std::string escape_html(std::string_view text);

/// "live_groups" -> "live groups".
std::string spoken_name(std::string_view key);

/// A titled part of a report; empty if the content is.
/// @param content  HTML
/// @param around   class of the element around the content, or empty
/// @param note     text next to the title, or empty
std::string html_section(std::string_view title, std::string_view content, std::string_view around = {},
                         std::string_view note = {});

/// A complete report: one file that needs no other, for screen (light and dark), phone and paper.
/// @param body    HTML
/// @param style   CSS beside that of all pages
/// @param script  without less-than sign and ampersand, which a page that is also XML cannot have; empty: that of
/// curves
std::string html_page(std::string_view title, std::string_view subtitle, std::string_view body,
                      std::string_view style = {}, std::string_view script = {});

}  // namespace drift
