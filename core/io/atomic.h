#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

// Files and folders that appear under their name only when they are complete and safe on disk. Until then they are next
// to it as .NAME.tmp-PID. A failure removes the temporary, leaves what was there before as it was, and throws an Error.

namespace drift {

/// A file in the making.
class AtomicFile {
 public:
  /// @throws Error if the folder is missing or not writable.
  explicit AtomicFile(std::filesystem::path path);
  /// Removes the temporary unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t bytes);
  /// Flush to disk and move into place, over a file of that name if there is one.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// A folder in the making: fill path(), then publish().
class AtomicFolder {
 public:
  enum class Existing {
    kRefuse,   ///< a folder of that name must be missing or empty
    kReplace,  ///< it is exchanged for the new one, then removed
  };

  explicit AtomicFolder(std::filesystem::path path, Existing existing = Existing::kRefuse);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  /// Where to write.
  const std::filesystem::path& path() const { return temporary_; }
  /// Flush every file to disk and move the folder into place.
  void publish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

/// Point the symbolic link `link` at `target` (as written, so usually relative), whatever it pointed at before.
void replace_symlink_atomically(const std::filesystem::path& link, const std::filesystem::path& target);

/// Remove a folder so that it is either complete or gone under its name.
void remove_folder_atomically(const std::filesystem::path& path);

/// Remove temporaries that killed processes left in `folder`. Only for the one process that may write there.
void sweep_leftovers(const std::filesystem::path& folder);

/// Append to a file, which is made if it is not there; on disk when this returns. What does not fit leaves the file as
/// it was. @throws Error if it cannot be written.
void append_to_file(const std::filesystem::path& path, std::string_view bytes);

/// Call use(piece) for one piece of a file after another, until it says false. @throws Error if it cannot be read.
void for_each_piece(const std::filesystem::path& path, const std::function<bool(std::string_view)>& use);

/// The entire contents of a file. @throws Error if it cannot be read, or is larger than `limit` bytes.
std::string read_whole_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 30);

}  // namespace drift
