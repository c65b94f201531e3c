#include <core/base/limits.h>
#include <core/base/quote.h>
#include <core/import/foreign_settings.h>

#include <drift/error.h>

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace drift {
namespace {

constexpr std::size_t kMostValues = 2'000;
/// Bytes of texts and one for each node: aliases and references can make very many of a short file.
constexpr std::size_t kMostRead = 8'000'000;

std::size_t size_of(const std::vector<std::string>& texts) {
  std::size_t size = texts.size();
  for (const std::string& text : texts) size += text.size();
  return size;
}

class YamlReader {
 public:
  YamlReader(const std::string& name, ForeignSettings& settings) : name_(name), settings_(settings) {}

  void read(const YAML::Node& node, const std::string& key, int depth) {
    if (depth > kDeepestNesting) fail(node, "settings are nested too deep");
    spend(1, node);
    if (node.IsMap()) {
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) fail(entry.first, "a key is not a text");
        spend(entry.first.Scalar().size() + key.size(), node);
        const std::string own = on_one_line(entry.first.Scalar());
        line_ = entry.first.Mark().line + 1;
        read(entry.second, key.empty() ? own : key + "." + own, depth + 1);
      }
      return;
    }
    if (node.IsSequence() && !is_plain(node)) {
      std::size_t index = 0;
      for (const auto& element : node) read(element, key + "." + std::to_string(index++), depth + 1);
      return;
    }
    if (key.empty()) fail(node, "there are no keys in it");
    if (settings_.values.size() >= kMostValues) fail(node, "it has too many values");
    settings_.set(key, value_of(node, key));
  }

 private:
  bool is_plain(const YAML::Node& list) {
    for (const auto& element : list) {
      if (!element.IsScalar()) return false;
      spend(1 + element.Scalar().size(), list);
    }
    return true;
  }

  void spend(std::size_t bytes, const YAML::Node& node) {
    read_ += bytes;
    if (read_ > kMostRead) fail(node, "it is too much to read: aliases repeat a large part");
  }

  ForeignValue value_of(const YAML::Node& node, const std::string& key) {
    ForeignValue value;
    value.origin = name_ + ":" + std::to_string(line_) + " " + key;
    value.is_list = node.IsSequence();
    if (node.IsScalar()) spend(node.Scalar().size(), node);
    if (node.IsScalar()) value.texts.push_back(on_one_line(node.Scalar()));
    if (node.IsSequence()) {
      for (const auto& element : node) value.texts.push_back(on_one_line(element.Scalar()));
    }
    return value;
  }

  [[noreturn]] void fail(const YAML::Node& node, const std::string& what) const {
    throw Error(name_ + ":" + std::to_string(std::max(node.Mark().line, 0) + 1) + ": " + what);
  }

  const std::string& name_;
  ForeignSettings& settings_;
  std::size_t read_ = 0;
  int line_ = 1;  ///< of the last key: null has no place of its own
};

/// The key of "${optimizer.params.learning_rate}", as OmegaConf writes another key's value; empty for other texts.
std::string_view referenced_key(std::string_view text) {
  if (!text.starts_with("${") || !text.ends_with('}')) return {};
  const std::string_view key = text.substr(2, text.size() - 3);
  const bool is_key =
      std::ranges::all_of(key, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; });
  return is_key ? key : std::string_view();
}

void replace_references(ForeignSettings& settings) {
  std::size_t read = 0;
  for (auto& [key, value] : settings.values) {
    for (int turn = 0; turn < 8 && value.texts.size() == 1; ++turn) {
      const std::string_view other = referenced_key(value.texts[0]);
      if (other.empty()) break;
      const ForeignValue* named = settings.find(other);
      if (named == nullptr) throw Error(value.origin + ": there is no key " + quoted_name(other));
      read += size_of(named->texts);
      if (read > kMostRead) throw Error(value.origin + ": references repeat a large value too often");
      value.texts = named->texts;
      value.is_list = named->is_list;
    }
  }
}

}  // namespace

void add_yaml(const std::string& text, const std::string& name, ForeignSettings& settings) {
  try {
    YamlReader(name, settings).read(YAML::Load(text), "", 0);
  } catch (const YAML::Exception& error) {
    throw Error(name + ":" + std::to_string(error.mark.line + 1) + ": not valid YAML: " + printable(error.msg));
  }
  replace_references(settings);
}

}  // namespace drift
