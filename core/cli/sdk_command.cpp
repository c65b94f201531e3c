#include <core/base/share_folder.h>
#include <core/cli/load_run.h>
#include <core/cli/printing.h>
#include <core/config/toml_layer.h>
#include <core/io/atomic.h>

#include <drift/abi.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

namespace drift {
namespace {

int print_sdk_prefix(const bool&) {
  const fs::path prefix = program_path().parent_path().parent_path();
  if (!fs::exists(prefix / DRIFT_CMAKE_FOLDER)) {
    throw Error("no SDK beside this program: " + (prefix / DRIFT_CMAKE_FOLDER).string() + " is missing",
                "cmake --install BUILD_FOLDER --prefix FOLDER, then FOLDER/bin/drift sdk --prefix");
  }
  std::cout << prefix.string() << "\n";
  return 0;
}

// ---- sdk new ----

struct NewOptions {
  std::string kind, name;
  std::string language = "c++";
};

/// One entry of sdk/new_project/index.toml and its language's commands.
struct Project {
  std::string example, word;
  std::string shown, setup, build, test;
};

std::string text(const toml::table& table, std::string_view key) { return table.at(key).value_or(std::string()); }

/// @throws UsageError with what there is, where the index has no such project
Project find_project(const fs::path& index_file, const std::string& kind, const std::string& language) {
  const toml::table index = parse_toml(read_whole_file(index_file), index_file.string());
  std::vector<std::string> languages;  // of the kind
  for (const toml::node& node : *index.at("project").as_array()) {
    const toml::table& entry = *node.as_table();
    if (text(entry, "kind") != kind) continue;
    languages.push_back(text(entry, "language"));
    if (languages.back() != language) continue;
    const toml::table& commands = *index.at("language").as_table()->at(language).as_table();
    return {text(entry, "example"),  text(entry, "word"),     text(commands, "shown"),
            text(commands, "setup"), text(commands, "build"), text(commands, "test")};
  }
  throw UsageError("a " + kind + " cannot be written in " + language,
                   "languages of a " + kind + ": " + joined(languages));
}

/// my_loss -> MyLoss
std::string class_name(const std::string& name) {
  std::string made;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_') continue;
    const bool begins = i == 0 || name[i - 1] == '_';
    made += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[i]))) : name[i];
  }
  return made;
}

/// With the new name in place of the example's, also where it names a class.
std::string renamed(const std::string& in, const std::string& word, const std::string& name) {
  return replaced(replaced(in, word, name), class_name(word), class_name(name));
}

void check_name(const NewOptions& options) {
  static const std::regex good("[a-z][a-z0-9_]{0,49}");
  if (!std::regex_match(options.name, good)) {
    throw UsageError(quoted_name(options.name) + " cannot name a component",
                     "small letters, digits and _, beginning with a letter: my_" + options.kind);
  }
  const auto plugins = load_plugins();
  if (const LoadedPlugin* plugin = plugins->loader.find(options.name))
    throw UsageError("there is a plugin `" + options.name + "` already: " + plugin->path.string(),
                     "choose another name");
  for (const ComponentEntry& entry : plugins->registry.components()) {
    if (entry.name == options.name) {
      throw UsageError("there is a " + std::string(kind_name(entry.kind)) + " `" + options.name +
                           "` already, of the plugin `" + entry.plugin + "`",
                       "choose another name");
    }
  }
  if (fs::exists(options.name))
    throw Error("`" + options.name + "` exists already", "choose another name, or remove it");
}

/// Copies the example's files under their new names. @return the names, sorted
std::vector<std::string> copy_example(const fs::path& example, const fs::path& to, const Project& project,
                                      const std::string& name) {
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(example), end; entry != end; ++entry) {
    const std::string file = entry->path().lexically_relative(example).string();
    if (file == "build" || file == "runs" || entry->path().filename() == "__pycache__") {
      entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file() || file == "README.md") continue;
    files.push_back(renamed(file, project.word, name));
    fs::create_directories((to / files.back()).parent_path());
    write_file_atomically(to / files.back(), renamed(read_whole_file(entry->path()), project.word, name));
  }
  std::ranges::sort(files);
  return files;
}

/// The commands at the top of run.toml: "#   drift train run.toml".
std::string run_commands(const fs::path& run_file) {
  static const std::regex command("^#   (drift .*)$", std::regex::multiline);
  const std::string content = read_whole_file(run_file);
  std::string commands;
  for (std::sregex_iterator at(content.begin(), content.end(), command), end; at != end; ++at)
    commands += (commands.empty() ? "" : "\n") + (*at)[1].str();
  return commands;
}

std::string purpose_of(const std::string& file, const std::string& name) {
  if (file == "CMakeLists.txt") return "builds the plugin and its test";
  if (file == "run.toml") return "a training run that uses it";
  if (file.starts_with("presets/")) return "settings of the algorithm under a name";
  if (file.find("test") != std::string::npos && file.find(name) != std::string::npos) return "its test";
  if (file.starts_with(name)) return "the source";
  return "data of run.toml";
}

int write_new_project(const NewOptions& options) {
  const fs::path share = share_folder(), templates = share / "sdk/new_project";
  Project project = find_project(templates / "index.toml", options.kind, options.language);
  for (std::string* commands : {&project.setup, &project.build, &project.test})
    *commands = replaced(replaced(*commands, "{NAME}", options.name), "{LIBTORCH}", TORCH_VERSION);
  check_name(options);

  AtomicFolder folder(options.name);
  const std::vector<std::string> files =
      copy_example(share / "sdk/examples" / project.example, folder.path(), project, options.name);
  std::string table;
  for (const std::string& file : files)
    table += (table.empty() ? "| `" : "\n| `") + file + "` | " + purpose_of(file, options.name) + " |";
  const std::string run = run_commands(folder.path() / "run.toml");
  const auto filled = [&](std::string content) {
    const std::map<std::string, std::string> values = {
        {"NAME", options.name},   {"KIND", options.kind},    {"LANGUAGE", project.shown}, {"EXAMPLE", project.example},
        {"SETUP", project.setup}, {"BUILD", project.build},  {"TEST", project.test},      {"RUN", run},
        {"FILES", table},         {"VERSION", DRIFT_VERSION}};
    for (const auto& [key, value] : values) content = replaced(content, "{" + key + "}", value);
    return content;
  };
  write_file_atomically(folder.path() / "README.md", filled(read_whole_file(templates / "README.md")));
  fs::create_directories(folder.path() / ".github/workflows");
  write_file_atomically(folder.path() / ".github/workflows/test.yml",
                        filled(read_whole_file(templates / "workflow.yml")));
  folder.publish();

  std::cout << options.name << ": a " << options.kind << " in " << project.shown
            << ". It begins as a copy of the example " << project.example << " and works as it is:\n\n  cd "
            << options.name << "\n";
  for (const std::string& commands : {project.build, project.test, run}) {
    if (!commands.empty()) std::cout << "  " << replaced(commands, "\n", "\n  ") << "\n";
  }
  return 0;
}

}  // namespace

Command sdk_command() {
  return make_command<bool>({"sdk", "where the SDK for plugins is",
                             "Prints the folder that a plugin's CMake build takes as CMAKE_PREFIX_PATH:\n"
                             "cmake -B build -DCMAKE_PREFIX_PATH=$(drift sdk --prefix)",
                             "sdk --prefix"},
                            print_sdk_prefix, [](OptionList& list, bool& prefix) {
                              list.add_switch("prefix", "print the folder", prefix).required = true;
                            });
}

Command sdk_new_command() {
  return make_command<NewOptions>(
      {"sdk new", "begin a plugin of your own",
       "Writes a small project into the folder NAME: a component that works, its test, a training run that uses\n"
       "it, a build file, a README and a workflow for continuous integration. KIND is loss, masking, reward,\n"
       "rollout, model, task or algorithm (a masking strategy, a loss and presets). docs/sdk.md is the tutorial.",
       "sdk new loss my_loss"},
      write_new_project, [](OptionList& list, NewOptions& options) {
        list.argument("KIND", options.kind).choices = {"loss",  "masking", "reward",   "rollout",
                                                       "model", "task",    "algorithm"};
        list.argument("NAME", options.name);
        list.add("language", "LANGUAGE", "c++, c or python; default: c++", options.language).choices = {"c++", "c",
                                                                                                        "python"};
      });
}

}  // namespace drift
