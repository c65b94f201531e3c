#pragma once

// What a preset must hold, derived from an original's own configuration file:
// tests/golden/presets/ALGORITHM/PRESET.toml.
//
//     extends = ["train.toml"]                      # as the original's script goes over its common file
//     [original]
//     source = "repository commit file"
//     devices = 8                                   # on which it runs; inherited
//     [values]
//     num_generations = 6                           # the original's own names and values, retyped

#include "tests/support/support.h"

#include <drift/params.h>

namespace drift::test {

/// A configuration file of an original, over those that it extends.
class Original {
 public:
  explicit Original(const std::filesystem::path& fixture);

  std::int64_t integer(const std::string& key) const;
  double number(const std::string& key) const;  ///< an integer is one, too
  std::string text(const std::string& key) const;
  bool flag(const std::string& key) const;
  bool has(const std::string& key) const { return values_.contains(key); }

  std::int64_t devices() const { return devices_; }
  const std::string& source() const { return source_; }
  /// Values of the file itself, not of those it extends, that no rule has asked for: misspelt, or without a meaning.
  std::vector<std::string> unread() const;

 private:
  template <class T>
  const T& value(const std::string& key) const;

  std::map<std::string, Parameter::Value> values_;
  std::set<std::string> own_;
  std::int64_t devices_ = 0;
  std::string source_;
  mutable std::set<std::string> read_;
};

using Settings = std::map<std::string, Parameter::Value>;

/// The settings of the run's TOML that follow from an original of this algorithm. A key `note.…` is there where the
/// preset needs such a note, whatever its text.
Settings derived_settings(const std::string& algorithm, const Original& original);

}  // namespace drift::test
