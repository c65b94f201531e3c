// A run's file, of any text: a document whose values can be written and read again, or mistakes that can be shown on a
// terminal.

#include <core/base/quote.h>
#include <core/config/document.h>
#include <core/config/toml_layer.h>
#include <tests/fuzz/fuzz.h>

#include <fstream>

namespace drift::toml_fuzzer {
namespace {

using drift::fuzz::require;

std::filesystem::path file_of(std::string_view text) {
  static const std::string file = drift::fuzz::temporary_file(".toml");
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

void write_and_read(const drift::ConfigLayer& layer) {
  std::string text;
  for (const auto& [key, leaf] : layer.leaves) {
    require(leaf.origin.text() == drift::on_one_line(leaf.origin.text()));
    if (leaf.value) text += key + " = " + leaf.text() + "\n";
  }
  require(text == drift::printable(text));
  const auto again = drift::toml_layer(drift::parse_toml(text, "again"), "again.toml");
  for (const auto& [key, leaf] : layer.leaves) {
    if (leaf.value) require(again.leaves.at(key).text() == leaf.text());
  }
}

}  // namespace

DRIFT_FUZZ_TARGET(toml) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find("extends") != text.npos) return 0;  // would read any file of the machine
  try {
    for (const drift::ConfigLayer& layer : drift::load_document(file_of(text), {}).layers) write_and_read(layer);
  } catch (const drift::ConfigError& error) {
    require(error.text(false) == drift::printable(error.text(false)));
  }
  return 0;
}

}  // namespace drift::toml_fuzzer
