#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;  // PCRE2's compiled pattern

namespace drift {

/// A regular expression that cuts texts into the words that BPE works on. Immutable; safe to use from several threads.
class SplitPattern {
 public:
  /// @param pattern  as tokenizer files write it (Oniguruma, Ruby syntax); see translate_pattern
  /// @throws Error naming the pattern and what is wrong with it or not supported
  explicit SplitPattern(const std::string& pattern);

  /// Cuts each text: each match is a part, and so is the text between matches. Parts are never empty.
  /// @param texts  valid UTF-8, each processed separately
  /// @param parts  the parts, as views into the texts, are appended
  /// @throws Error if a match needs more steps or memory than any sensible pattern does
  void split(std::span<const std::string_view> texts, std::vector<std::string_view>& parts) const;

 private:
  class Matcher;
  std::string pattern_;
  std::shared_ptr<pcre2_real_code_8> code_;
};

/// The same pattern for PCRE2. Characters classes, groups, look-around, alternatives and repetition are taken over;
/// syntax that the two libraries read differently is rewritten (white space, scripts) or refused (intersections of
/// classes, anchors, word boundaries, possessive or lazy intervals).
/// @throws Error naming the construct and its place in the pattern
std::string translate_pattern(std::string_view pattern);

}  // namespace drift
