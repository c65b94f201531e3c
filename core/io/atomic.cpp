#include <core/io/atomic.h>

#include <core/base/descriptor.h>
#include <core/io/file_error.h>

#include <drift/error.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryMark = ".tmp-";

fs::path folder_of(const fs::path& path) {
  const fs::path folder = path.parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

fs::path temporary_beside(const fs::path& path, const char* purpose = "") {
  return folder_of(path) /
         ("." + path.filename().string() + purpose + std::string(kTemporaryMark) + std::to_string(::getpid()));
}

/// A file that some process has open remains in its folder on NFS until it is closed, so the folder remains too. Its
/// name is that of a temporary: sweep_leftovers() removes it later.
void remove_tree(const fs::path& path) {
  std::error_code failed;
  fs::remove_all(path, failed);
  const bool in_use = failed == std::errc::directory_not_empty || failed == std::errc::device_or_resource_busy;
  if (failed && !in_use) throw_file_error("remove", path, failed.value());
}

bool is_temporary(const std::string& name) {
  const auto mark = name.rfind(kTemporaryMark);
  if (name.empty() || name[0] != '.' || mark == std::string::npos) return false;
  const auto digits = std::string_view(name).substr(mark + kTemporaryMark.size());
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// @return 0, or the errno of what failed
int write_all(int descriptor, const void* data, std::size_t bytes) {
  for (const char* next = static_cast<const char*>(data); bytes > 0;) {
    const ssize_t written = ::write(descriptor, next, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    next += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

bool is_empty_folder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(path, failed) && fs::is_empty(path, failed);
}

void flush_to_disk(const fs::path& path, bool is_folder) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_file_error("flush", path, errno);
  const int result = ::fsync(descriptor);
  const int error_number = errno;
  ::close(descriptor);
  // Some file systems cannot flush a folder and say EINVAL; they order the entries themselves.
  if (result != 0 && !(is_folder && error_number == EINVAL)) throw_file_error("flush", path, error_number);
}

void flush_tree(const fs::path& folder) {
  std::error_code failed;
  fs::recursive_directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (!entry->is_symlink()) flush_to_disk(entry->path(), entry->is_directory());
  }
  if (failed) throw_file_error("flush", folder, failed.value());
  flush_to_disk(folder, true);
}

void move_into_place(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw_file_error("write", to, errno);
  flush_to_disk(folder_of(to), true);
}

// Both folders exist; afterwards the new one has the name and the old one is gone.
void exchange_and_remove(const fs::path& fresh, const fs::path& path) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    flush_to_disk(folder_of(path), true);
  } else if (errno == EINVAL || errno == ENOSYS) {  // a file system that cannot exchange
    remove_folder_atomically(path);
    move_into_place(fresh, path);
    return;
  } else {
    throw_file_error("replace", path, errno);
  }
  remove_tree(fresh);
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), temporary_(temporary_beside(path_)) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw_file_error("write", path_, errno);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  const int error_number = write_all(descriptor_, data, bytes);
  if (error_number != 0) throw_file_error("write", path_, error_number);
}

void AtomicFile::commit() {
  // Within a folder that is not published yet, publish() flushes all files together: far fewer waits for the disk.
  const bool is_flushed_later = is_temporary(folder_of(path_).filename().string());
  if (!is_flushed_later && ::fsync(descriptor_) != 0) throw_file_error("write", path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) throw_file_error("write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw_file_error("write", path_, errno);
  temporary_.clear();
  if (!is_flushed_later) flush_to_disk(folder_of(path_), true);
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

AtomicFolder::AtomicFolder(fs::path path, Existing existing) {
  path_ = path.has_filename() ? std::move(path) : path.parent_path();
  std::error_code failed;
  fs::create_directories(folder_of(path_), failed);
  if (failed) throw_file_error("create", folder_of(path_), failed.value());
  if (existing == Existing::kRefuse && fs::exists(path_, failed) && !is_empty_folder(path_)) {
    throw Error("cannot create folder " + path_.string() + ": it exists and is not empty",
                "choose another name, or move it away first");
  }
  fs::path temporary = temporary_beside(path_);
  remove_tree(temporary);
  if (!fs::create_directory(temporary, failed)) throw_file_error("create", path_, failed.value());
  temporary_ = std::move(temporary);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

void AtomicFolder::publish() {
  flush_tree(temporary_);
  std::error_code failed;
  if (fs::is_directory(path_, failed) && !is_empty_folder(path_)) {
    exchange_and_remove(temporary_, path_);
  } else {
    move_into_place(temporary_, path_);
  }
  temporary_.clear();
}

void replace_symlink_atomically(const fs::path& link, const fs::path& target) {
  const fs::path temporary = temporary_beside(link);
  ::unlink(temporary.c_str());
  if (::symlink(target.c_str(), temporary.c_str()) != 0) throw_file_error("write link", link, errno);
  if (::rename(temporary.c_str(), link.c_str()) != 0) {
    const int error_number = errno;
    ::unlink(temporary.c_str());
    throw_file_error("write link", link, error_number);
  }
  flush_to_disk(folder_of(link), true);
}

void remove_folder_atomically(const fs::path& path) {
  const fs::path temporary = temporary_beside(path, ".removed");
  remove_tree(temporary);
  if (::rename(path.c_str(), temporary.c_str()) != 0) throw_file_error("remove", path, errno);
  remove_tree(temporary);
}

void sweep_leftovers(const fs::path& folder) {
  for (const fs::path& entry : entries_of(folder)) {
    if (is_temporary(entry.filename().string())) remove_tree(entry);
  }
}

void append_to_file(const fs::path& path, std::string_view bytes) {
  const int opened = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (opened < 0) throw_file_error("write", path, errno);
  const Descriptor file(opened, path.string());
  struct stat before {};
  if (::fstat(file.get(), &before) != 0) throw_file_error("write", path, errno);
  int error_number = write_all(file.get(), bytes.data(), bytes.size());
  if (error_number == 0) error_number = ::fdatasync(file.get()) == 0 ? 0 : errno;
  if (error_number != 0 && ::ftruncate(file.get(), before.st_size) != 0) error_number = errno;
  if (error_number != 0) throw_file_error("write", path, error_number);
}

void for_each_piece(const fs::path& path, const std::function<bool(std::string_view)>& use) {
  require_regular_file(path);
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) throw_file_error("read", path, errno);
  const Descriptor file(opened, path.string());
  std::vector<char> piece(1 << 16);
  for (;;) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error("read", path, errno);
    if (got == 0 || !use({piece.data(), static_cast<std::size_t>(got)})) return;
  }
}

std::string read_whole_file(const fs::path& path, std::size_t limit) {
  std::string content;
  for_each_piece(path, [&](std::string_view piece) {
    content += piece;
    return content.size() <= limit;
  });
  if (content.size() > limit) {
    throw Error(path.string() + " is larger than " + std::to_string(limit) + " bytes",
                "check that it is the right file");
  }
  return content;
}

}  // namespace drift
