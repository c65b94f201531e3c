#pragma once

// What readers of sections with lists and tables of their own ([sweep], [suite]) share.

#include <core/config/document.h>

#include <toml++/toml.h>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// Reads values of one file and collects every mistake on the way.
class SectionReader {
 protected:
  /// @param document  the file as load_document read it
  SectionReader(std::filesystem::path file, const ConfigDocument& document)
      : file_(std::move(file)), document_(document) {}

  Diagnostic place(const toml::source_region& region, const std::string& message) const;
  Diagnostic& mistake(const toml::source_region& region, const std::string& message);

  /// Every key of `table` must be one of `known`.
  void check_keys(const toml::table& table, const std::string& where, const std::vector<std::string>& known);

  /// Empty if it is not there or (reported) no text, or an empty one.
  std::string text(const toml::table& table, const char* key);

  const std::filesystem::path file_;
  const ConfigDocument& document_;
  std::vector<Diagnostic> mistakes_;
};

}  // namespace drift
