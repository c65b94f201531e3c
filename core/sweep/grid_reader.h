#pragma once

// What the readers of [sweep] and [suite] share.

#include <core/sweep/grid.h>

#include <toml++/toml.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace drift {

/// Reads a grid's section and collects every mistake on the way.
class GridReader {
 protected:
  /// Fills in what every grid has. @throws ConfigError if the file cannot be read or has no such section; `hint` says
  /// what the section is for.
  GridReader(Grid& grid, const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides,
             const char* section, const char* hint);

  const toml::table& section() const { return *section_; }
  bool has_mistakes() const { return !mistakes_.empty(); }
  /// @throws ConfigError if there are any
  void throw_mistakes();

  Diagnostic& mistake(const toml::source_region& region, const std::string& message);
  Diagnostic& mistake(const Origin& origin, const std::string& message);
  /// One of the file as a whole.
  Diagnostic& mistake(const std::string& message);
  /// `name` is none of those that are known; `what` stands before their list.
  void unknown_name(const toml::source_region& region, const std::string& message, const std::string& name,
                    const std::string& what, const std::vector<std::string>& known);

  /// Every key of `table` must be one of `known`.
  void check_keys(const toml::table& table, const std::string& where, const std::vector<std::string>& known);

  /// Empty if it is not there or (reported) no text, or an empty one.
  std::string text(const toml::table& table, const char* key);
  /// The same where it must be there: "this axis has no name".
  std::string text(const toml::table& table, const char* key, const std::string& what, const char* example);

  /// A list of at least one item, all of which fit. Null if it is not there or (reported) no such list.
  const toml::array* list(const toml::table& table, const char* key, bool (*fits)(const toml::node&),
                          const char* message, const char* note);
  /// A list of tables. Empty if it is (reported) none.
  std::vector<const toml::table*> tables(const toml::table& table, const char* key, const char* message,
                                         const std::vector<std::string>& notes);

  /// The section's key `slurm`, where it is there.
  void read_slurm();

  const ConfigDocument& document() const { return document_; }

  /// A file that counts from the folder of the grid's own.
  ExtendedFile file_at(const std::string& name, const toml::source_region& region) const;
  /// A value of a configuration's key, "algorithm.masking.k". @param key  where it is written
  GridValue key_value(const std::string& path, const toml::key& key, const toml::node& node) const;

 private:
  Grid& grid_;
  ConfigDocument document_;
  toml::table root_;
  const toml::table* section_ = nullptr;
  std::vector<Diagnostic> mistakes_;
};

/// The value itself: a text without quotes.
std::string value_name(const Parameter::Value& value);

}  // namespace drift
