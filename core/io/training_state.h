#pragma once

#include <drift/model.h>

#include <core/io/safetensors.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// The files besides the weights with which a run continues exactly: training_state.safetensors holds the tensors,
/// training_state.json the rest, and the size and checksum of every file of the checkpoint.
struct TrainingState {
  std::int64_t step = 0;  ///< finished training steps
  std::uint64_t seed = 0;
  std::map<std::string, std::string> settings;  ///< by key, as TOML: those that the numbers depend on
  std::map<std::string, std::string> values;
  std::vector<NamedTensor> tensors;  ///< those on the meta device have the values that `complete` brings
  /// Called while the state is written, where several processes have its tensors: they write theirs into the file
  /// (write_elements). Empty: this one has all.
  CompleteFile complete = {};
};

/// Write the state into a checkpoint's folder, as the last of its files: the checksums cover all that is there.
void write_training_state(const std::filesystem::path& folder, const TrainingState& state);

/// Compare a checkpoint's files with the checksums that it holds; one without training state holds none.
/// @throws Error that lists every file that is not what was written
void verify_checkpoint(const std::filesystem::path& folder);

/// Read it back, after every file has been compared with its checksum. The tensors share the mapped file.
/// @throws Error if the folder holds no training state, or that of another format version, or any file is missing or
/// not what was written: all such files are listed.
TrainingState read_training_state(const std::filesystem::path& folder);

}  // namespace drift
