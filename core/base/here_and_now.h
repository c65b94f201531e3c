#pragma once

#include <cstdint>
#include <string>

namespace drift {

/// The name of this machine. Of other ranks' machines: core/ranks.
std::string host_name();

double seconds_since_1970();

/// A time as strftime() writes it, of Greenwich or of this machine's place.
std::string time_text(const char* format, std::int64_t seconds_since_1970, bool utc);

}  // namespace drift
