#include <core/base/quote.h>
#include <core/cli/command.h>
#include <core/import/import_run.h>
#include <core/io/atomic.h>

#include <iostream>
#include <optional>

namespace drift {
namespace {

namespace fs = std::filesystem;

struct ImportOptions {
  fs::path file;
  std::vector<std::string> words;
  std::string from;
  std::int64_t devices = 0;
  fs::path out;
  bool replace = false;
};

std::string command_of(const ImportOptions& options) {
  std::string text = "drift config import " + options.file.string();
  if (!options.from.empty()) text += " --from " + options.from;
  if (options.devices > 0) text += " --devices " + std::to_string(options.devices);
  if (!options.words.empty()) text += " --";
  for (const std::string& word : options.words) text += " " + word;
  return text;
}

std::string counted(std::size_t count, const std::string& what) { return std::to_string(count) + " " + what; }

int import_config(const ImportOptions& options) {
  if (std::error_code ignored; !options.out.empty() && !options.replace && fs::exists(options.out, ignored))
    throw UsageError("`" + options.out.string() + "` exists already", "choose another name, or replace it: --replace");
  const ForeignSettings settings = read_foreign_settings(options.file, options.words);
  const std::vector<ImportTable> tables = shipped_import_tables();
  const ImportTable& table = table_for(tables, settings, options.from);
  const ImportedRun run =
      import_run(table, settings, options.devices > 0 ? std::optional(options.devices) : std::nullopt);
  const std::string text = toml_of(run, table, settings, command_of(options));
  if (options.out.empty()) {
    std::cout << text << std::flush;
  } else {
    write_file_atomically(options.out, text);
  }
  for (const std::string& remark : run.remarks) std::cerr << "warning: " << printable(remark) << "\n";
  for (const LeftOut& one : run.unknown)
    std::cerr << "warning: not known, and so not imported: " << printable(one.what) << "\n";
  for (const std::string& what : run.needed) std::cerr << "warning: the run still needs " << printable(what) << "\n";
  // The result is what standard output has: the TOML, or what became of it.
  (options.out.empty() ? std::cerr : std::cout)
      << table.title << ": " << counted(run.values.size(), "values imported, ")
      << counted(run.left_out.size(), "without a counterpart, ") << counted(run.unknown.size(), "not known")
      << (options.out.empty() ? "" : ": " + printable(options.out.string())) << "\n";
  return 0;
}

}  // namespace

Command config_import_command() {
  return make_command<ImportOptions>(
      {"config import", "the configuration of another program as TOML",
       "FILE is YAML or a shell script that starts a training; WORDs after -- are added to its command. The TOML has "
       "the\n"
       "origin of every value, and at its end what has no counterpart, and why. Whose file it is shows in its keys.\n"
       "docs/migration.md lists the programs.",
       "config import tests/golden/imports/ml-diffucoder/run.sh --out imported.toml"},
      import_config, [](OptionList& list, ImportOptions& options) {
        list.argument("FILE", options.file);
        list.repeated_argument("WORD", options.words, /*required=*/false);
        list.add("from", "PROGRAM", "whose configuration it is", options.from);
        list.add_custom("devices", "N", "devices it ran on; default: what the file or the program says",
                        [&options](const std::string& text) { read_value("--devices", text, options.devices); });
        list.add("out", "FILE.toml", "where the TOML goes; default: standard output", options.out);
        list.add_switch("replace", "replace that file if it exists", options.replace);
      });
}

}  // namespace drift
