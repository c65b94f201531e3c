#include <core/config/section_reader.h>

#include <core/config/nearest.h>
#include <core/config/toml_layer.h>

#include <algorithm>

namespace drift {

Diagnostic SectionReader::place(const toml::source_region& region, const std::string& message) const {
  return document_.at({Origin::Kind::kFile, file_.string(), {}, {}}, toml_span(region), message);
}

Diagnostic& SectionReader::mistake(const toml::source_region& region, const std::string& message) {
  return mistakes_.emplace_back(place(region, message));
}

void SectionReader::check_keys(const toml::table& table, const std::string& where,
                               const std::vector<std::string>& known) {
  for (auto&& [key, node] : table) {
    const std::string name(key.str());
    if (std::ranges::count(known, name) > 0) continue;
    Diagnostic& wrong = mistake(key.source(), "unknown key `" + name + "` in " + where);
    wrong.label = did_you_mean(name, known);
    wrong.notes = {"keys of " + where + ": " + joined(known)};
  }
}

std::string SectionReader::text(const toml::table& table, const char* key) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  if (const auto* value = node->as_string(); value != nullptr && !value->get().empty()) return value->get();
  mistake(node->source(), "`" + std::string(key) + "` must be a text in quotes, not an empty one");
  return {};
}

}  // namespace drift
