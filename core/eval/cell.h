#pragma once

// One cell of an evaluation: a task, answered with so many positions and in one way of decoding.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace drift {

struct EvaluationCell {
  std::string task;         ///< as the table prints it
  std::int64_t length = 0;  ///< response positions
  std::string schedule;     ///< value of the rollout's `schedule`; empty where there is but one

  /// "task-256-dynamic": good for a file.
  std::string name() const;
};

/// Where an evaluation puts what it makes:
///
///     responses/CELL.jsonl  cells/CELL.json  table.{txt,csv,tex}  cells.csv
struct EvaluationFolder {
  std::filesystem::path path;

  std::filesystem::path responses(const std::string& cell) const { return path / "responses" / (cell + ".jsonl"); }
  std::filesystem::path settings(const std::string& cell) const { return path / "cells" / (cell + ".json"); }
};

/// What a cell's responses were made with.
struct CellSettings {
  std::string checkpoint;                     ///< its folder, for people
  std::string checkpoint_checksum;            ///< of weights, configuration and tokenizer
  std::int64_t responses = 0;                 ///< that the cell has when it is complete
  std::map<std::string, std::string> values;  ///< Identity::settings, of the responses
};

void write_settings(const std::filesystem::path& file, const CellSettings& settings);
/// @throws Error if it is no such file.
CellSettings read_settings(const std::filesystem::path& file);

}  // namespace drift
