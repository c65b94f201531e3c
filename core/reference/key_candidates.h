#pragma once

// What may be typed where a run's file is changed: keys, and the values of those that have a list of values.

#include <drift/registry.h>

#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A word that may be typed, and what it is, in one line.
struct Candidate {
  std::string word;
  std::string doc;
};

/// Every key that --set takes: "train.steps". Without those of families, whose sections the user names.
std::vector<Candidate> key_candidates(const Registry& registry);

/// The values of a key: names of components or presets, choices, true and false. Empty for a number, a path, and what
/// is not known.
std::vector<Candidate> value_candidates(const Registry& registry, std::string_view key);

/// Every section that `drift config docs` takes.
std::vector<Candidate> section_candidates();

/// Algorithms, components and plugins.
std::vector<Candidate> name_candidates(const Registry& registry);

}  // namespace drift
