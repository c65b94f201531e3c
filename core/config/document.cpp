#include <core/base/limits.h>
#include <core/base/quote.h>
#include <core/base/share_folder.h>
#include <core/config/document.h>
#include <core/config/toml_layer.h>
#include <core/io/atomic.h>

#include <algorithm>
#include <utility>

namespace drift {
namespace {

class Loader {
 public:
  /// @param further  extended by the first file that is loaded, after those that it names
  explicit Loader(std::vector<ExtendedFile> further) : further_(std::move(further)) {}

  void load(const std::filesystem::path& file, const Diagnostic& asked_by) {
    std::error_code ignored;
    const auto identity = std::filesystem::weakly_canonical(file, ignored);
    if (const auto found = std::find(open_.begin(), open_.end(), identity); found != open_.end()) {
      Diagnostic mistake = asked_by;
      mistake.message = "`" + file.string() + "` extends itself";
      std::string chain;
      for (auto it = found; it != open_.end(); ++it) chain += it->filename().string() + " -> ";
      mistake.notes = {"the cycle: " + chain + identity.filename().string()};
      mistakes.push_back(mistake);
      return;
    }
    if (std::find(done_.begin(), done_.end(), identity) != done_.end()) return;

    if (open_.size() == kDeepestNesting) {
      mistakes.push_back(asked_by);
      mistakes.back().message = "files extend each other more than " + std::to_string(kDeepestNesting) + " deep";
      return;
    }
    std::string content;
    if (const std::string problem = read(file, content); !problem.empty()) {
      mistakes.push_back(asked_by);
      mistakes.back().message = problem;
      return;
    }
    const std::string shown = file.string();
    document.lines[shown] = split_lines(content);
    open_.push_back(identity);
    try {
      add(parse_toml(content, shown), file);
    } catch (const toml::parse_error& error) {
      const Origin origin{Origin::Kind::kFile, shown, {}, {}};
      mistakes.push_back(document.at(origin, toml_span(error.source()), toml_syntax_message(error)));
    }
    open_.pop_back();
    done_.push_back(identity);
  }

  ConfigDocument document;
  std::vector<Diagnostic> mistakes;

 private:
  /// What is in the way; empty if it was read.
  static std::string read(const std::filesystem::path& file, std::string& content) {
    std::error_code error;
    if (std::filesystem::file_size(file, error) > kLargestToml && !error)
      return "`" + file.string() + "` is larger than " + std::to_string(kLargestToml) + " bytes";
    try {
      content = read_whole_file(file, kLargestToml);
    } catch (const Error&) {
      return "cannot read `" + file.string() + "`";
    }
    return "";
  }

  void add(toml::table&& table, const std::filesystem::path& file) {
    extend(table, file);
    if (open_.size() == 1) {
      for (const ExtendedFile& extended : further_) load(extended.file, extended.asked_by);
    }
    table.erase("extends");
    const std::string former = table["paths_from"].value_or(std::string());
    table.erase("paths_from");
    ConfigLayer optional;
    if (const toml::table* own = table["optional"].as_table()) {
      optional = toml_layer(*own, file);
      table.erase("optional");
    }
    ConfigLayer& layer = document.layers.emplace_back(toml_layer(table, file));
    for (auto& [key, leaf] : optional.leaves) leaf.optional = true;
    layer.leaves.merge(optional.leaves);
    for (auto& [key, leaf] : layer.leaves) leaf.former_folder = former;
  }

  void extend(const toml::table& table, const std::filesystem::path& file) {
    const toml::node* node = table.get("extends");
    if (node == nullptr) return;
    const auto place = [&](const toml::node& at) {
      return document.at({Origin::Kind::kFile, file.string(), {}, {}}, toml_span(at.source()), "");
    };
    const auto names = toml_value(*node);
    if (!names || !std::holds_alternative<std::vector<std::string>>(*names)) {
      Diagnostic mistake = place(*node);
      mistake.message = "`extends` must be a list of files";
      mistake.notes = {"for example: extends = [\"models/base.toml\", \"tasks/task.toml\"]"};
      mistakes.push_back(mistake);
      return;
    }
    for (const toml::node& item : *node->as_array()) {
      load(extended_file(item.as_string()->get(), file), place(item));
    }
  }

  static std::filesystem::path extended_file(std::string_view name, const std::filesystem::path& file) {
    constexpr std::string_view kShipped = "drift:";
    if (name.starts_with(kShipped)) return share_folder() / name.substr(kShipped.size());
    return (file.parent_path() / name).lexically_normal();
  }

  std::vector<ExtendedFile> further_;
  std::vector<std::filesystem::path> open_, done_;
};

constexpr const char* kSetExample = "for example: --set train.steps=20";

Diagnostic flag_mistake(std::string message, std::string flag, TextSpan span, std::string note) {
  return {std::move(message), std::move(flag), span, {}, {}, {std::move(note)}};
}

/// `key = value` as one line of TOML; a value that is not TOML is text (--set model.path=runs/a).
ConfigLayer override_layer(const ConfigOverride& setting, std::vector<Diagnostic>& mistakes) {
  Origin origin{Origin::Kind::kCommandLine, setting.flag, {}, {}};
  const auto place = [&](const std::string& part) -> TextSpan {
    const auto found = setting.flag.rfind(part);
    if (part.empty() || found == std::string::npos) return {};
    return {0, static_cast<std::uint32_t>(found + 1), static_cast<std::uint32_t>(part.size())};
  };
  origin.key = place(setting.key);
  origin.value = place(setting.value);
  const auto parse = [&](const std::string& value) {
    const std::string line = setting.key + " = " + value;
    return toml_layer(
        parse_toml(line, "the command line"), [&](const toml::key&, const toml::node&) { return origin; },
        std::filesystem::current_path());
  };
  const std::string as_text = to_toml(Parameter::Value(setting.value));
  try {
    return parse(setting.literal ? as_text : setting.value);
  } catch (const toml::parse_error&) {
    // Not a value, or not a key: the second try tells which.
  }
  const bool broken =
      !setting.value.empty() && std::string_view("\"'[{").find(setting.value[0]) != std::string_view::npos;
  try {
    ConfigLayer layer = parse(as_text);
    if (!broken) return layer;
  } catch (const toml::parse_error&) {
    mistakes.push_back(flag_mistake("`" + setting.key + "` is not a key", setting.flag, origin.key, kSetExample));
    return {};
  }
  mistakes.push_back(flag_mistake("the value is not valid TOML", setting.flag, origin.value,
                                  "put texts in quotes and lists in brackets: [\"a\", \"b\"]"));
  return {};
}

ConfigLayer command_line_layer(const std::vector<ConfigOverride>& overrides, std::vector<Diagnostic>& mistakes) {
  ConfigLayer whole;
  for (const ConfigOverride& setting : overrides) {
    ConfigLayer one = override_layer(setting, mistakes);
    for (auto& [key, leaf] : one.leaves) {
      leaf.optional = setting.optional;
      whole.leaves[key] = std::move(leaf);
    }
    whole.tables.merge(one.tables);
  }
  return whole;
}

}  // namespace

std::string Origin::text() const {
  std::string out = kind == Kind::kDefault ? "default" : where;
  if (kind == Kind::kFile && key.line > 0) out += ":" + std::to_string(key.line);
  return on_one_line(out);  // it stands in a comment of the resolved file
}

std::filesystem::path ConfigLeaf::place_of(const std::filesystem::path& path) const {
  const auto place = (folder / path).lexically_normal();
  std::error_code ignored;
  if (former_folder.empty() || std::filesystem::exists(file_of(place), ignored)) return place;
  const auto former = (former_folder / path).lexically_normal();
  return std::filesystem::exists(file_of(former), ignored) ? former : place;
}

void ConfigLeaf::make_absolute(Parameter::Value& value) const {
  const auto absolute = [&](std::string& path) {
    if (!path.empty()) path = place_of(path).string();
  };
  if (auto* path = std::get_if<std::string>(&value)) absolute(*path);
  if (auto* paths = std::get_if<std::vector<std::string>>(&value)) std::ranges::for_each(*paths, absolute);
}

std::filesystem::path file_of(const std::filesystem::path& path) {
  const std::string text = path.string();
  const auto colon = text.rfind(':');
  std::error_code ignored;
  return colon == std::string::npos || std::filesystem::exists(path, ignored)
             ? path
             : std::filesystem::path(text.substr(0, colon));
}

ConfigOverride ConfigOverride::from_set(const std::string& assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw ConfigError({flag_mistake("--set expects KEY=VALUE", "--set " + assignment, {}, kSetExample)});
  }
  return {"--set " + assignment, assignment.substr(0, equals), assignment.substr(equals + 1), false};
}

Diagnostic ConfigDocument::at(const Origin& origin, const TextSpan& span, std::string message) const {
  Diagnostic diagnostic;
  diagnostic.message = std::move(message);
  diagnostic.file = origin.preset_file.empty() ? origin.where : origin.preset_file;
  diagnostic.span = span;
  const auto found = lines.find(diagnostic.file);
  if (span.line > 0 && found != lines.end()) {
    // One line of a megabyte and a hundred thousand mistakes in it must not become a hundred gigabytes.
    if (span.line <= found->second.size())
      diagnostic.source_line = found->second[span.line - 1].substr(0, kLongestShownLine + 1);
  }
  return diagnostic;
}

ConfigDocument load_document(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides,
                             const std::vector<ExtendedFile>& further) {
  Loader loader(further);
  loader.document.file = file.string();
  if (!file.empty()) {
    Diagnostic asked;
    asked.notes = {"expected a run's TOML file"};
    loader.load(file, asked);
  }
  loader.document.layers.push_back(command_line_layer(overrides, loader.mistakes));
  if (!loader.mistakes.empty()) throw ConfigError(std::move(loader.mistakes));
  return std::move(loader.document);
}

std::string_view section_of(std::string_view key) {
  const auto point = key.ends_with('"') ? key.rfind(".\"") : key.rfind('.');
  return point == std::string_view::npos ? std::string_view() : key.substr(0, point);
}

std::string_view name_of(std::string_view key) {
  const std::string_view section = section_of(key);
  return section.empty() ? key : key.substr(section.size() + 1);
}

bool is_plain_name(std::string_view name) {
  const auto fits = [](unsigned char c) { return c != '/' && c >= 0x20; };
  return std::ranges::all_of(name, fits) && name != "." && name != "..";
}

}  // namespace drift
