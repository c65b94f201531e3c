#pragma once

// Reading what a run writes for TensorBoard and for Weights & Biases, without their packages.

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace drift::test {

/// Sorted.
std::vector<std::filesystem::path> files_under(const std::filesystem::path& folder);

/// The contents of TFRecords. A wrong length or checksum fails the test.
std::vector<std::string> tf_records(const std::string& file);

/// The only run-ID.wandb in the only offline-run-TIME-ID of this folder.
std::filesystem::path offline_log(const std::filesystem::path& folder);

/// All of its records. What is damaged fails the test.
std::vector<std::string> logged_records(const std::filesystem::path& log);

/// Number of the field that a record of Weights & Biases holds beside its own number.
int record_type(const std::string& record);

/// The rows of a run's history, in their order.
std::vector<nlohmann::json> history_of(const std::filesystem::path& log);

}  // namespace drift::test
