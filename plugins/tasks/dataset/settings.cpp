#include "settings.h"

namespace drift::dataset {

std::vector<Parameter> Settings::parameters() {
  return {paths("training_files", "files to train on: .json (an array of objects), .jsonl or .parquet"),
          paths("held_out_files", "files to evaluate on"),
          {"held_out_share", 0.0, "or this share of the questions of training_files, chosen by a hash; 0: none",
           between(0, 1)},
          paths("dedupe_against_files", "further evaluation sets that training questions must not be in"),
          {"overlap", "refuse",
           "training questions that are also in an evaluation set: refuse the run, drop them, allow them",
           one_of({"refuse", "drop", "allow"})},
          {"question_column", "question",
           "column of the question, a text or a list of messages; a|b: the first that is there"},
          {"question_template", "", "the question made of several columns: {column}, {column.0}, {column:signature}"},
          {"reference_column", "ground_truth_answer", "column of the right answer; a|b as above"},
          {"reference", "column", "what the reward gets: that column, or the entire record as JSON",
           one_of({"column", "record"})},
          {"answer_after", "", "the right answer is what follows the last of these marks in its column"},
          {"answer_boxed", false, "the right answer is in the last \\boxed{} of its column"},
          {"data_type", "", "type of records that do not state one; empty: no requirement",
           one_of({"", "math", "sudoku", "countdown", "code_function", "code_stdio"})},
          {"id_column", "", "column of the records' names; empty: FILE:RECORD"},
          {"prefix_column", "prefix", "column of the first words of the response; records without it have none"},
          {"prefix_template", "", "those words made of several columns"},
          {"demonstration_column", "", "column of a response to imitate in pretraining; empty: none"},
          {"skip_bad", false, "leave bad records out instead of refusing the file"},
          {"limit", 0, "train on the first N items that the filters leave, 0 = all", at_least(0)},
          {"minimum_characters", 0, "leave out shorter training questions", at_least(0)},
          {"maximum_characters", 0, "leave out longer training questions, 0 = none", at_least(0)},
          {"solved_share_column", "", "column with the share of responses that solve a training item"},
          path("solved_share_file", "",
               "or JSON Lines with `id` and `solved` of every response, as drift eval writes them"),
          {"solved_share_low", 0.0, "leave out training items with a smaller share", between(0, 1)},
          {"solved_share_high", 1.0, "leave out training items with a larger share", between(0, 1)},
          {"shuffle", true, "training items in a new random order in every epoch; false: as in the files"},
          {"parquet_mib", 512,
           "most MiB that the columns in use of a Parquet file may take decompressed; a small file can hold very much",
           between(1, 1 << 20)}};
}

Settings Settings::from(const Parameters& params) {
  const auto text = [&](const char* name) { return params.get<std::string>(name); };
  const auto files = [&](const char* name) { return params.get<std::vector<std::string>>(name); };
  Settings settings;
  settings.training_files = files("training_files");
  settings.held_out_files = files("held_out_files");
  settings.dedupe_against_files = files("dedupe_against_files");
  settings.held_out_share = params.get<double>("held_out_share");
  const std::string overlap = text("overlap");
  settings.overlap = overlap == "refuse" ? Overlap::kRefuse : overlap == "drop" ? Overlap::kDrop : Overlap::kAllow;
  settings.question_column = text("question_column");
  settings.question_template = text("question_template");
  settings.reference_column = text("reference_column");
  settings.reference = text("reference");
  settings.answer_after = text("answer_after");
  settings.answer_boxed = params.get<bool>("answer_boxed");
  settings.data_type = text("data_type");
  settings.id_column = text("id_column");
  settings.prefix_column = text("prefix_column");
  settings.prefix_template = text("prefix_template");
  settings.demonstration_column = text("demonstration_column");
  settings.skip_bad = params.get<bool>("skip_bad");
  settings.limit = params.get<std::int64_t>("limit");
  settings.minimum_characters = params.get<std::int64_t>("minimum_characters");
  settings.maximum_characters = params.get<std::int64_t>("maximum_characters");
  settings.solved_share_column = text("solved_share_column");
  settings.solved_share_file = text("solved_share_file");
  settings.solved_share_low = params.get<double>("solved_share_low");
  settings.solved_share_high = params.get<double>("solved_share_high");
  settings.shuffle = params.get<bool>("shuffle");
  settings.parquet_mib = params.get<std::int64_t>("parquet_mib");
  return settings;
}

}  // namespace drift::dataset
