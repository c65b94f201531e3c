#include <core/base/log.h>

#include <core/base/quote.h>

#include <drift/error.h>

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

namespace drift {
namespace {

struct Log {
  std::mutex mutex;
  std::shared_ptr<spdlog::logger> logger;  // null while no log is open
  std::mutex listener_mutex;
  WarningListener listener;
  std::vector<std::string>* kept = nullptr;
};

Log& the_log() {
  static Log log;
  return log;
}

void warn_on_standard_error(const std::string& text) { std::fprintf(stderr, "warning: %s\n", printable(text).c_str()); }

void write(spdlog::level::level_enum level, const std::string& text) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  // string_view: a text with braces is not a format.
  const std::string line = printable(text);
  if (log.logger) log.logger->log(level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void open_log(const std::filesystem::path& path) {
  std::shared_ptr<spdlog::logger> logger;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
    throw Error("cannot write the log " + path.string() + ": it is no regular file", "move it away");
  try {
    logger =
        std::make_shared<spdlog::logger>("drift", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
  } catch (const spdlog::spdlog_ex& error) {
    throw Error("cannot write the log " + path.string() + ": " + error.what(), "choose a writable folder with --out");
  }
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %-7l %v");
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  // A log that cannot be written (a full disk) says so once and does not stop the run.
  logger->set_error_handler([said = false](const std::string& error) mutable {
    if (!said) warn_on_standard_error("the log is incomplete: " + error);
    said = true;
  });
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.logger = std::move(logger);
}

void close_log() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.logger.reset();
}

void log_info(const std::string& text) { write(spdlog::level::info, text); }
void log_error(const std::string& text) { write(spdlog::level::err, text); }

void log_warning(const std::string& text) {
  write(spdlog::level::warn, text);
  Log& log = the_log();
  const std::lock_guard lock(log.listener_mutex);
  log.listener ? log.listener(text) : warn_on_standard_error(text);
  if (log.kept != nullptr) log.kept->push_back(text);
}

void set_warning_listener(WarningListener listener) {
  Log& log = the_log();
  const std::lock_guard lock(log.listener_mutex);
  log.listener = std::move(listener);
}

KeptWarnings::KeptWarnings() {
  const std::lock_guard lock(the_log().listener_mutex);
  the_log().kept = &texts_;
}

KeptWarnings::~KeptWarnings() {
  const std::lock_guard lock(the_log().listener_mutex);
  the_log().kept = nullptr;
}

std::vector<std::string> KeptWarnings::take() {
  const std::lock_guard lock(the_log().listener_mutex);
  return std::exchange(texts_, {});
}

}  // namespace drift
