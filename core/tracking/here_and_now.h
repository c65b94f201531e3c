#pragma once

#include <string>

namespace drift {

std::string host_name();

double seconds_since_1970();

}  // namespace drift
