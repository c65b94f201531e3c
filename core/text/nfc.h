#pragma once

#include <string>
#include <string_view>

namespace drift {

/// Unicode normalisation form C, by ICU.
/// @param text     valid UTF-8, less than 2 GiB
/// @param storage  holds the result if it differs from `text`
/// @return `text` itself if it is already in the form, else `storage`
std::string_view to_nfc(std::string_view text, std::string& storage);

}  // namespace drift
