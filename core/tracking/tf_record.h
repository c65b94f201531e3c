#pragma once

// TFRecord, the frames of event files: length (8 bytes), its checksum (4), the contents, their checksum (4).

#include <core/tracking/logged_record.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

std::string tf_record(std::string_view content);

/// The records in front of the first one that is damaged or was cut off.
std::vector<LoggedRecord> read_tf_records(std::string_view file);

}  // namespace drift
