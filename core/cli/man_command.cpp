#include <core/base/here_and_now.h>
#include <core/cli/man_page.h>
#include <core/config/nearest.h>
#include <core/io/atomic.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

namespace drift {
namespace {

struct ManOptions {
  std::string page = "drift";
  std::filesystem::path folder;
};

/// Of the page. Builds that must give the same files each time set SOURCE_DATE_EPOCH.
std::string today() {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  return time_text(
      "%Y-%m-%d", epoch == nullptr ? static_cast<std::int64_t>(seconds_since_1970()) : std::strtoll(epoch, nullptr, 10),
      /*utc=*/true);
}

std::string page_text(const std::string& wanted) {
  const std::string name = wanted == "drift" || wanted.starts_with("drift-") ? wanted : "drift-" + wanted;
  if (name == "drift") return man_overview(today());
  std::vector<std::string> names = {"drift"};
  for (const Command& command : all_commands()) {
    if (man_page_name(command) == name) return man_page(command, today());
    names.push_back(man_page_name(command));
  }
  throw UsageError("there is no manual page `" + wanted + "`", name_hint(name, names, "pages"));
}

int print_man(const ManOptions& options) {
  if (options.folder.empty()) {
    std::cout << page_text(options.page);
    return 0;
  }
  std::filesystem::create_directories(options.folder);
  write_file_atomically(options.folder / "drift.1", page_text("drift"));
  for (const Command& command : all_commands()) {
    const std::string name = man_page_name(command);
    write_file_atomically(options.folder / (name + ".1"), page_text(name));
  }
  return 0;
}

}  // namespace

Command man_command() {
  return make_command<ManOptions>(
      {"man", "the manual pages",
       "Prints a page in the format of man. PAGE is drift, the default, or a command with dashes between its words:\n"
       "plugin-info. To read it: drift man plugin-info | man -l -. An installed Drift has the pages where man looks\n"
       "for them: man drift-plugin-info.",
       "man plugin-info"},
      print_man, [](OptionList& list, ManOptions& options) {
        list.argument("PAGE", options.page, /*required=*/false);
        list.add("out", "FOLDER", "write all pages into this folder instead", options.folder);
      });
}

}  // namespace drift
