#pragma once

#include <string>
#include <string_view>

namespace drift {

/// Text for element content and attribute values of a page that is both HTML and XML. Bytes that XML forbids become
/// U+FFFD.
std::string escape_html(std::string_view text);

/// "live_groups" -> "live groups".
std::string spoken_name(std::string_view key);

}  // namespace drift
