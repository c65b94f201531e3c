#pragma once

// A log of Weights & Biases (run-ID.wandb): LevelDB's log format with zip's checksum. Seven bytes of header, then
// blocks of 32 KiB, into which records are divided: checksum (4 bytes), length (2), part (1), bytes.

#include <core/tracking/logged_record.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// The first bytes of a log.
std::string record_log_header();

/// A record as it is written at this place of the file.
std::string framed_record(std::string_view record, std::size_t offset);

/// The records in front of the first one that is damaged or was cut off. Nothing if it is no log.
std::vector<LoggedRecord> read_record_log(std::string_view file);

}  // namespace drift
