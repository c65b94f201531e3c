#pragma once

#include <string>
#include <string_view>

namespace drift {

/// Text for element content and attribute values of a page that is HTML and XML at once. Bytes that XML forbids become
/// U+FFFD.
std::string escape_html(std::string_view text);

/// "live_groups" -> "live groups".
std::string spoken_name(std::string_view key);

}  // namespace drift
