#include <core/io/file_error.h>

#include <drift/error.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace drift {
namespace {

std::string readable_bytes(std::uintmax_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1000 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string free_space(std::filesystem::path path) {
  std::error_code failed;
  while (!std::filesystem::is_directory(path, failed) && path.has_relative_path()) path = path.parent_path();
  const auto space = std::filesystem::space(path.empty() ? "." : path, failed);
  if (failed) return "";
  return std::string(" (").append(readable_bytes(space.available)).append(" free)");
}

std::string advice(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT: return "free some space, or write to another disk; what was there before is intact";
    case EFBIG: return "the file is larger than this file system or the shell's limit (ulimit -f) allows";
    case EACCES:
    case EPERM: return "change the permissions (ls -ld shows them), or choose another folder";
    case EROFS: return "the file system is mounted read-only: choose another folder";
    case ENOENT: return "check the path";
    case ENOTDIR: return "a part of this path is a file where a folder is needed";
    case EISDIR: return "this is a folder where a file is needed";
    case EIO: return "the disk reports an error: check the system's log (dmesg)";
    case EMFILE:
    case ENFILE: return "too many files are open: raise the limit (ulimit -n)";
    default: return "";
  }
}

}  // namespace

std::vector<std::filesystem::path> entries_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  std::error_code failed;
  std::filesystem::directory_iterator entry(folder, failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed))
    entries.push_back(entry->path());
  if (failed) throw_file_error("read", folder, failed.value());
  std::ranges::sort(entries);
  return entries;
}

void create_folder(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) throw_file_error("create folder", path, failed.value());
}

void throw_file_error(std::string_view action, const std::filesystem::path& path, int error_number) {
  std::string what =
      "cannot " + std::string(action) + " " + path.string() + ": " + std::generic_category().message(error_number);
  if (error_number == ENOSPC || error_number == EDQUOT) what += free_space(path);
  if (const auto lost = lost_link(path); !lost.empty()) throw Error(what + "; " + lost, kLostLinkAdvice);
  throw Error(what, advice(error_number));
}

std::string lost_link(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_symlink(path, failed) || std::filesystem::exists(path, failed)) return "";
  return path.filename().string() + " is a link to " + std::filesystem::read_symlink(path, failed).string() +
         ", which is not there";
}

bool is_there(const std::filesystem::path& path) {
  if (!lost_link(path).empty()) throw_file_error("read", path, ENOENT);
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

void require_regular_file(const std::filesystem::path& path) {
  // What the shell has opened for this process is meant.
  if (path == "/dev/stdin" || path.string().starts_with("/dev/fd/")) return;
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (failed || !std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return;
  const bool folder = std::filesystem::is_directory(status);
  throw Error("cannot read " + path.string() + ": it is " + (folder ? "a folder" : "no regular file"),
              folder ? "name a file in it" : "write what it gives into a file, and name that");
}

}  // namespace drift
