#pragma once

// Writes and judges the responses of many cells with one model, and continues where an earlier attempt stopped.

#include <core/eval/cell.h>
#include <core/eval/cell_summary.h>
#include <core/eval/record_file.h>
#include <core/io/folder_lock.h>
#include <core/report/terminal.h>
#include <core/sweep/identity.h>
#include <core/text/tokenizer.h>

#include <drift/model.h>
#include <drift/registry.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace drift {

/// A cell and its checked configuration.
struct PlannedCell {
  EvaluationCell cell;
  RunConfig config;
};

class Evaluation {
 public:
  enum class Use {
    kAnswer,  ///< where there is a folder, its cells are locked against other processes as long as the object lives
    kLook,    ///< others may be answering them; run() must not be called
  };

  /// Makes every part of every cell but the model, encodes every prompt, and compares with what `folder` already holds.
  /// @param cells   at least one; their [model] must be the same
  /// @param folder  where records are kept; empty: nowhere
  /// @throws ConfigError with the mistakes of all cells, those that another process answers among them
  Evaluation(RunHost& host, std::vector<PlannedCell> cells, const std::filesystem::path& folder,
             Use use = Use::kAnswer);

  /// Identifies the checkpoint; empty if there is no folder.
  const std::string& model_checksum() const { return checkpoint_checksum_; }

  /// Responses that are still to be written or judged.
  std::int64_t missing() const;

  /// The names of the cells that they are in.
  std::vector<std::string> unfinished() const;

  /// Cell by cell, until all is there or SIGINT or SIGTERM came; the batch at hand is finished then. The model is
  /// opened if a response is missing.
  /// @return the signal, or 0
  int run(Terminal& terminal);

  /// In the order of the cells.
  std::vector<CellSummary> summaries() const;

 private:
  struct Work {
    PlannedCell plan;
    std::int64_t wanted = 0;         ///< responses
    CellSettings settings;           ///< where there is a file
    std::optional<FolderLock> lock;  ///< where there is a folder to write into
    std::optional<RecordFile> file;
    std::vector<ResponseRecord> kept;  ///< if there is no file

    const std::vector<ResponseRecord>& records() const { return file ? file->records() : kept; }
    std::int64_t answered() const { return static_cast<std::int64_t>(records().size()); }
    std::int64_t unjudged() const;
    bool finished() const { return answered() >= wanted && unjudged() == 0; }
  };
  struct Parts;

  void check(Work& work, Identity& identity);
  void check_settings(const Work& work) const;
  void begin(Work& work) const;
  void judge_again(Work& work, const Parts& parts) const;
  void answer(Work& work, const Model* model, const std::string& title, Terminal& terminal) const;

  RunHost& host_;
  EvaluationFolder folder_;
  Use use_;
  std::filesystem::path checkpoint_;
  std::string checkpoint_checksum_;
  Tokenizer tokenizer_;
  ModelShapes shapes_;
  std::vector<Work> cells_;
};

}  // namespace drift
