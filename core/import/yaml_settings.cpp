#include <core/base/quote.h>
#include <core/import/foreign_settings.h>

#include <drift/error.h>

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <regex>

namespace drift {
namespace {

constexpr std::size_t kMostValues = 2'000;  ///< aliases can make very many of a short text
constexpr int kDeepestMapping = 50;

class YamlReader {
 public:
  YamlReader(const std::string& name, ForeignSettings& settings) : name_(name), settings_(settings) {}

  void read(const YAML::Node& node, const std::string& key, int depth) {
    if (depth > kDeepestMapping) fail(node, "settings are nested too deep");
    if (node.IsMap()) {
      for (const auto& entry : node) {
        if (!entry.first.IsScalar()) fail(entry.first, "a key is not a text");
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
  static bool is_plain(const YAML::Node& list) {
    for (const auto& element : list) {
      if (!element.IsScalar()) return false;
    }
    return true;
  }

  ForeignValue value_of(const YAML::Node& node, const std::string& key) const {
    ForeignValue value;
    value.origin = name_ + ":" + std::to_string(line_) + " " + key;
    value.is_list = node.IsSequence();
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
  int line_ = 1;  ///< of the last key: null has no place of its own
};

/// "${optimizer.params.learning_rate}", as OmegaConf writes another key's value.
void replace_references(ForeignSettings& settings) {
  static const std::regex reference(R"(\$\{([A-Za-z0-9_.]+)\})");
  for (auto& [key, value] : settings.values) {
    std::smatch match;
    for (int turn = 0; turn < 8 && value.texts.size() == 1 && std::regex_match(value.texts[0], match, reference);
         ++turn) {
      const ForeignValue* named = settings.find(match[1].str());
      if (named == nullptr) throw Error(value.origin + ": there is no key " + quoted_name(match[1].str()));
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
