#pragma once

#include <drift/params.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift::dataset {

enum class Overlap { kRefuse, kDrop, kAllow };

/// The parameters of the task.
struct Settings {
  std::vector<std::string> training_files, held_out_files, dedupe_against_files;
  double held_out_share = 0;
  std::string question_column, question_template;
  std::string reference, reference_column, answer_after;
  bool answer_boxed = false;
  std::string data_type, id_column, prefix_column, prefix_template, demonstration_column;
  bool skip_bad = false;
  Overlap overlap = Overlap::kRefuse;
  std::int64_t limit = 0, minimum_characters = 0, maximum_characters = 0;
  std::string solved_share_column, solved_share_file;
  double solved_share_low = 0, solved_share_high = 1;
  bool shuffle = true;
  std::int64_t parquet_mib = 0;

  static std::vector<Parameter> parameters();
  static Settings from(const Parameters& params);
};

}  // namespace drift::dataset
